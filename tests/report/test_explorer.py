"""Tests of the content of a report: points, labels, images, rows, the stored map, the file."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from given_ensembles import GivenEnsemble
from nsse import SmoothEmbedding
from nsse.affine import Affine
from nsse.augment import Images
from nsse.certificates import ConformalClassifier, certified_radius
from nsse.class_maps import left_out_coordinates
from nsse.methods import LFDA, NYS, SUPLAP
from nsse.pipelines import AffineStep
from nsse.report import Samples, write_report
from nsse.report.explorer import facts, live, pictures
from nsse.report.explorer.blocks import block, script_safe_json
from nsse.report.explorer.models import find
from nsse.unlabeled import GraphPenalty

IMAGES = {"kind": "images", "size": (8, 8), "unit_norm": False}


@pytest.fixture(scope="module")
def fitted(digits):
    return SmoothEmbedding(n_components=4).fit(digits.X[::2], digits.codes[::2])


@pytest.fixture(scope="module")
def samples(digits):
    return Samples(digits.X[1::2], digits.codes[1::2])


def data_of(path):
    """Return the data inside a page."""
    found = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found.group(1))


def unpacked(entry):
    kinds = {"f4": "<f4", "f8": "<f8", "u1": "u1", "u2": "<u2", "u4": "<u4"}
    raw = zlib.decompress(base64.b64decode(entry["data"]))
    return np.frombuffer(raw, dtype=kinds[entry["kind"]]).reshape(entry["shape"])


def test_points_labels_radii_and_probabilities_are_those_of_the_model(tmp_path, fitted, samples):
    summary = write_report(tmp_path / "r.html", fitted, samples)
    assert (summary.n_train, summary.n_shown, summary.live) == (100, 100, True)
    assert summary.bytes == (tmp_path / "r.html").stat().st_size
    data, X = data_of(tmp_path / "r.html"), samples.X
    for part, expected in (("train", left_out_coordinates(fitted)[0]), ("test", fitted.transform(X))):
        np.testing.assert_array_equal(unpacked(data[part]["embedding"]), expected.astype(np.float32))
    np.testing.assert_array_equal(unpacked(data["test"]["predicted"]), fitted.predict(X))
    radius = unpacked(data["radius"])
    np.testing.assert_array_equal(radius, certified_radius(fitted, X).astype(np.float32))
    said = unpacked(data["probabilities"]["predicted"])
    np.testing.assert_allclose(said, fitted.predict_proba(X).max(axis=1), rtol=1e-6)
    sets = ConformalClassifier(fitted).fit().predict_set(X)
    told = data["probabilities"]["sets"]
    np.testing.assert_array_equal(unpacked(told["sizes"]), sets.sum(axis=1))
    np.testing.assert_array_equal(unpacked(told["members"]), np.nonzero(sets)[1])
    held = 100 * sets[np.arange(100), samples.y].mean()
    assert f"{held:.1f} % of 100 test samples have their label" in data["panels"]["probabilities"][-1]


def test_page_asks_for_nothing_from_outside_and_is_the_same_each_time(tmp_path, fitted, samples):
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, fitted, samples)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name that is not fetched
    assert not re.search(r"\b(fetch|import|XMLHttpRequest|WebSocket|importScripts)\s*\(", text)
    assert "default-src 'none'" in text


def test_blocks_keep_their_numbers_and_json_cannot_end_a_script():
    values = np.random.default_rng(0).standard_normal((3, 4))
    np.testing.assert_array_equal(unpacked(block(values, "f8")), values)
    hostile = {"name": "</script><!--\u2028"}
    assert "<" not in script_safe_json(hostile)
    assert json.loads(script_safe_json(hostile)) == hostile


def test_labels_come_from_the_model_or_are_what_it_predicts(digits, samples):
    X, y = digits.X[::2], digits.codes[::2]
    kept = find(SmoothEmbedding().fit(X, y), samples)
    assert kept.knows_labels
    np.testing.assert_array_equal(kept.train.codes, y)
    predicted = find(SUPLAP().fit(X, y), samples)
    np.testing.assert_array_equal(predicted.train.codes, SUPLAP().fit(X, y).predict(X))
    notes = " ".join(facts.notes(predicted))
    assert predicted.knows_labels != ("does not store the labels" in notes)


def test_unlabelled_samples_have_the_label_they_were_given(tmp_path, digits, samples):
    y = digits.codes.copy()
    hidden = np.arange(len(y)) % 3 > 0
    y[hidden] = -1
    model = SmoothEmbedding(unlabeled=GraphPenalty(0.1)).fit(digits.X, y)
    findings = find(model, Samples(None))
    np.testing.assert_array_equal(findings.train.codes, model.transduction_)
    expected = np.where(hidden, model.predict_proba(digits.X).max(axis=1), 0.0)
    np.testing.assert_allclose(findings.train.certainty, expected, atol=1e-9)
    assert f"{hidden.sum()} of the 200 training samples had no label" in facts.notes(findings)[0]
    write_report(tmp_path / "r.html", model, samples)
    assert (unpacked(data_of(tmp_path / "r.html")["train"]["certainty"]) > 0).sum() == hidden.sum()


def test_unknown_labels_and_training_samples_are_told(fitted, samples, digits):
    y = np.where(samples.y == 3, 77, samples.y)
    findings = find(fitted, Samples(samples.X, y))
    assert findings.classes[-1] == "77"
    assert findings.wrong[y == 77].all()
    assert any(
        "1 class of the test samples is not in the training data" in note
        for note in facts.notes(findings)
    )
    X, y = np.vstack([samples.X, digits.X[:10:2]]), np.append(samples.y, digits.codes[:10:2])
    assert find(fitted, samples).seen.sum() == 0
    assert find(fitted, Samples(sparse.csr_array(X), y)).seen.sum() == 5
    said = facts.notes(find(fitted, Samples(X, y)))
    assert any("5 of the 105 test samples are training" in note for note in said)
    assert find(fitted, Samples(X, y)).calibration.n_samples == 100


def test_an_ensemble_is_drawn_and_certified_as_one_map(digits, samples, tmp_path):
    X, y = digits.X[::5], digits.codes[::5]
    augmented = SmoothEmbedding(augment=Images((8, 8)))
    models = [augmented, SmoothEmbedding(sigma=4.0), SmoothEmbedding(decision="nearest")]
    ensemble = GivenEnsemble(models, (1.0, 2.0, 5.0)).fit(X, y)
    model = make_pipeline("passthrough", ensemble)
    findings = find(model, samples)
    np.testing.assert_array_equal(findings.test.predicted, ensemble.predict(samples.X))
    np.testing.assert_array_equal(findings.test.embedding, ensemble.transform(samples.X))
    np.testing.assert_array_equal(findings.radius, certified_radius(ensemble, samples.X))
    np.testing.assert_allclose(findings.train.inputs, X, atol=1e-9)
    assert findings.per_sample == 1  # two members have no augmented samples
    assert "GivenEnsemble mislabels" in facts.finding(findings)
    assert "an ensemble of 3 members, in 9 dimensions" in facts.made_of(findings)
    assert "with weights that were fitted" in facts.probability_sentence(findings)
    assert write_report(tmp_path / "r.html", model, samples).live
    data = data_of(tmp_path / "r.html")
    assert [member["weight"] for member in data["live"]["members"]] == [1.0, 2.0, 5.0]
    assert len(data["why"]) == len(samples.X)
    assert all(3 <= len(entry["support"]) <= 4 for entry in data["why"])
    assert unpacked(data["alike"]).shape == (len(X) + len(samples.X), 8)


def test_members_of_weight_zero_are_not_in_the_page(digits, samples, tmp_path):
    X, y = digits.X[::5], digits.codes[::5]
    model = GivenEnsemble([SmoothEmbedding(sigma=1.0), SmoothEmbedding()], (0.0, 2.0)).fit(X, y)
    write_report(tmp_path / "r.html", model, samples)
    assert len(data_of(tmp_path / "r.html")["live"]["members"]) == 1


def test_wide_sparse_samples_are_never_made_dense(tmp_path, monkeypatch):
    X = sparse.random_array((40, 300_000), density=1e-4, rng=0, format="csr")
    y, toarray = np.arange(40) % 2, sparse.csr_array.toarray
    model = SmoothEmbedding().fit(X[:20], y[:20])

    def refused_beyond(self, *arguments, **keywords):
        assert np.prod(self.shape) <= 1_000_000, f"{self.shape} would be made dense"
        return toarray(self, *arguments, **keywords)

    monkeypatch.setattr(sparse.csr_array, "toarray", refused_beyond)
    assert not write_report(tmp_path / "r.html", model, Samples(X[20:], y[20:])).live
    data = data_of(tmp_path / "r.html")
    assert re.match(r"It takes \d+\.\d MB", data["without_live"])
    np.testing.assert_allclose(unpacked(data["rows"]["values"]), X[:, :24].toarray(), rtol=1e-6)


def test_without_labels_nothing_is_counted_as_a_mistake(tmp_path, fitted, samples):
    findings = find(fitted, Samples(samples.X))
    assert not findings.wrong.any()
    assert "without labels" in facts.finding(findings)
    write_report(tmp_path / "r.html", fitted, Samples(samples.X))
    _, charts = data_of(tmp_path / "r.html")["panels"]["radii"]
    assert [chart["title"] for chart in charts] == ["Certified radii of the test samples"]
    assert write_report(tmp_path / "r.html", fitted, Samples(None)).n_shown == 0


@pytest.mark.parametrize("kind", ["sparse", "float32", "grid", "linear", "factored"])
def test_models_in_all_their_forms(tmp_path, digits, samples, kind):
    X, y, shown, model = digits.X[::2], digits.codes[::2], samples, SmoothEmbedding(n_components=3)
    if kind == "sparse":
        X, shown = sparse.csr_array(X), Samples(sparse.csr_array(samples.X), samples.y)
    elif kind == "float32":
        X, shown = X.astype(np.float32), Samples(samples.X.astype(np.float32), samples.y)
    elif kind == "grid":
        scaled = make_pipeline(StandardScaler(), SmoothEmbedding())
        model = GridSearchCV(scaled, {"smoothembedding__sigma": [0.5, 1.0]}, cv=2)
    elif kind == "linear":
        model = LFDA(n_components=3)
    else:
        matrix, tail = sparse.csr_array(np.eye(64)[:, ::2]), np.eye(32, 20)
        affine = Affine(np.zeros(64), np.ones(64), np.zeros(20), matrix, tail=tail)
        model = make_pipeline(AffineStep(affine), model)
    summary = write_report(tmp_path / "r.html", model.fit(X, y), shown)
    assert (summary.n_train, summary.live) == (100, True)
    first = data_of(tmp_path / "r.html")["rows"]["first"]
    # A linear map stores no training samples, and a projection cannot be undone.
    assert first == (100 if kind in ("linear", "factored") else 0)
    if kind == "factored":
        (space,) = data_of(tmp_path / "r.html")["live"]["spaces"]
        whole = model[-1].map_.metric.after(affine).joined()
        np.testing.assert_allclose(unpacked(space["matrix"]), whole.matrix, rtol=1e-12)


@pytest.mark.parametrize("step", [Normalizer(), MinMaxScaler(clip=True)])
def test_other_steps_leave_radii_and_map_out_and_say_so(tmp_path, digits, samples, step):
    model = make_pipeline(step, SmoothEmbedding()).fit(digits.X[::2] + 0.01, digits.codes[::2])
    assert not write_report(tmp_path / "r.html", model, samples).live
    data, name = data_of(tmp_path / "r.html"), type(step).__name__
    for said in (data["without_live"], data["panels"]["radii"][0]):
        assert re.search(f"affine steps before the model, such as scalers; {name} is not one", said)
    with pytest.raises(ValueError, match=rf"`live` must not be True here.*{name} is not one"):
        write_report(tmp_path / "s.html", model, samples, live=True)
    assert not (tmp_path / "s.html").exists()


def test_a_map_of_another_kind_is_shown_without_radii_and_map(tmp_path, digits, samples):
    model = NYS().fit(digits.X[::2], digits.codes[::2])
    assert not write_report(tmp_path / "r.html", model, samples).live
    data = data_of(tmp_path / "r.html")
    assert data["radius"] is None
    assert "kernel or linear map; NYS has another kind" in data["panels"]["radii"][0]
    assert data["rows"]["first"] == 100  # only the test samples have rows


def test_auto_leaves_a_large_map_out_and_true_puts_it_in(tmp_path, monkeypatch, fitted, samples):
    monkeypatch.setattr(live, "LIVE_BYTES", 1000)
    assert not write_report(tmp_path / "r.html", fitted, samples).live
    assert "live=True puts it in" in data_of(tmp_path / "r.html")["without_live"]
    assert write_report(tmp_path / "r.html", fitted, samples, live=True).live
    assert not write_report(tmp_path / "r.html", fitted, samples, live=False).live


def test_pictures_are_the_samples_in_256_levels(tmp_path, digits, fitted, samples):
    write_report(tmp_path / "r.html", fitted, samples, preparation=IMAGES)
    shown = data_of(tmp_path / "r.html")["pictures"]
    expected = np.vstack([digits.X[::2], samples.X])
    np.testing.assert_allclose(unpacked(shown["levels"]) / 255.0, expected, atol=0.5 / 255 + 1e-9)
    assert not shown["stretched"]


def test_many_pictures_are_averaged_to_a_smaller_size(monkeypatch, tmp_path, fitted, samples):
    assert pictures.thumbnail_size((28, 28), 784 * 1000) == (28, 28)
    height, width = pictures.thumbnail_size((28, 28), 784 * 60_000)
    assert height * width * 60_000 <= pictures.PICTURE_BYTES
    monkeypatch.setattr(pictures, "PICTURE_BYTES", 200 * 16)
    write_report(tmp_path / "r.html", fitted, samples, preparation=IMAGES)
    shown = data_of(tmp_path / "r.html")["pictures"]
    assert (shown["height"], shown["width"]) == (4, 4)
    blocks_of_four = samples.X[0].reshape(4, 2, 4, 2).mean(axis=(1, 3)).ravel()
    np.testing.assert_allclose(unpacked(shown["levels"])[100] / 255, blocks_of_four, atol=1.01 / 255)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": "r.pdf"}, r"`path` must end in .html, .png, .svg. Got"),
        ({"preparation": {"kind": "sound"}}, r"`preparation` must be None or have a kind"),
        ({"preparation": {"kind": "images", "size": (5, 5)}}, r"must have a size of 64 levels"),
        ({"preparation": {"kind": "table", "columns": ["a"]}}, r"must name 64 columns. Got '1 names'"),
        ({"live": "yes"}, r"`live` must be True, False or"),
        ({"y": [1, 2]}, r"`samples.y` must hold one label per sample"),
        ({"y": ["one"] * 100}, r"`samples.y` must share labels with the model"),
        ({"names": ["a"]}, r"`samples.names` must hold one name per sample"),
    ],
)
def test_a_refusal_says_why_and_leaves_the_old_file(tmp_path, fitted, samples, change, words):
    change = dict(change)
    path = tmp_path / change.pop("path", "r.html")
    path.write_text("old")
    given = Samples(samples.X, change.pop("y", samples.y), change.pop("names", None))
    with pytest.raises(ValueError, match=words):
        write_report(path, fitted, given, **change)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_models_that_do_not_embed_are_refused(tmp_path, digits, samples):
    for model in (LogisticRegression(max_iter=500), PCA(2)):
        for name in ("r.html", "r.png"):
            with pytest.raises(TypeError, match=r"`model` must embed and predict"):
                write_report(tmp_path / name, model.fit(digits.X, digits.codes), samples)


def test_the_nearest_copy_of_a_training_sample_is_told(tmp_path, digits, fitted, samples):
    views = Images((8, 8), rotate=None, mirror=True)
    X, new = digits.X[::4], digits.X[1::4]
    model = SmoothEmbedding(augment=views).fit(X, digits.codes[::4])
    write_report(tmp_path / "r.html", model, Samples(new), preparation=IMAGES)
    data = data_of(tmp_path / "r.html")
    told = data["nearest"]
    assert told["names"] == ["as it is", *views.names]
    sample, copy = unpacked(told["sample"]), unpacked(told["copy"])
    distances = [model.transform(part) for part in [X, *views(X)]]
    for row, place in enumerate(model.transform(new)):
        all_of = np.array([np.sum((F - place) ** 2, axis=1) for F in distances])
        assert all_of[copy[row], int(sample[row])] <= all_of.min() * (1 + 1e-6)
    assert len(unpacked(data["pictures"]["levels"])) == len(X) + len(new)
    assert f", each with {len(views.names)} augmented" in (tmp_path / "r.html").read_text("utf-8")
    # The page does not name it without augmented samples, or if the centers are other rows.
    for other in (fitted, SmoothEmbedding(augment=views, centers=30).fit(X, digits.codes[::4])):
        write_report(tmp_path / "r.html", other, samples)
        assert data_of(tmp_path / "r.html")["nearest"] is None


def test_samples_of_an_unusual_size_have_no_live_map(tmp_path, digits):
    """A page computes slopes by their squares, which would overflow."""
    model = SmoothEmbedding().fit(digits.X[::2] * 1e-200, digits.codes[::2])
    shown = Samples(digits.X[1::2] * 1e-200, digits.codes[1::2])
    assert not write_report(tmp_path / "r.html", model, shown).live
    assert "too small or too large" in data_of(tmp_path / "r.html")["without_live"]
    with pytest.raises(ValueError, match=r"`live` must not be True here.*Rescale the samples"):
        write_report(tmp_path / "r.html", model, shown, live=True)


def test_training_samples_of_weight_zero_may_have_a_class_of_their_own(tmp_path, digits, samples):
    X, y = digits.X[::2], digits.codes[::2]
    model = SmoothEmbedding().fit(X, y, sample_weight=(y < 9).astype(float))
    for shown in (samples, Samples(None)):
        write_report(tmp_path / "r.html", model, shown)
        assert data_of(tmp_path / "r.html")["classes"][-1] == "9"


@pytest.mark.parametrize("samples", [np.eye(4), (np.eye(4), [0, 0, 1, 1]), None])
def test_what_is_not_samples_is_refused(samples, tmp_path):
    model = SmoothEmbedding().fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(TypeError, match=r"`samples` must be Samples .*Pass Samples\(X_new, y_new\)"):
        write_report(tmp_path / "r.html", model, samples)
