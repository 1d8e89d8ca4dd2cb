"""What a report is made of: points, labels, pictures, the stored map, the file."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from nsse import LFDA, NSSE, NSSECV, SUPLAP, IsoKRR
from nsse.certificates import FunctionSpace
from nsse.certificates.steps import scaling_of
from nsse.datasets import load_dataset
from nsse.invariances import Images
from nsse.report import Samples, write_report
from nsse.report.explorer import facts, live, pictures
from nsse.report.explorer.blocks import block, script_safe_json
from nsse.report.explorer.models import find, steps_and_judge


@pytest.fixture(scope="module")
def fitted(digits):
    return NSSE.as_published(n_components=4).fit(digits.X[::2], digits.codes[::2])


@pytest.fixture(scope="module")
def samples(digits):
    return Samples(digits.X[1::2], digits.codes[1::2])


def data_of(path):
    """The data inside a page."""
    found = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found.group(1))


def unpacked(entry):
    kinds = {"f4": "<f4", "f8": "<f8", "u1": "u1", "u2": "<u2"}
    raw = zlib.decompress(base64.b64decode(entry["data"]))
    return np.frombuffer(raw, dtype=kinds[entry["kind"]]).reshape(entry["shape"])


def test_summary_counts_points_and_bytes(tmp_path, fitted, samples):
    summary = write_report(tmp_path / "r.html", fitted, samples)
    assert (summary.n_train, summary.n_shown, summary.live) == (100, 100, True)
    assert summary.bytes == (tmp_path / "r.html").stat().st_size
    data = data_of(tmp_path / "r.html")
    np.testing.assert_array_equal(
        unpacked(data["train"]["embedding"]), fitted.embedding_.astype(np.float32)
    )
    np.testing.assert_array_equal(
        unpacked(data["test"]["embedding"]), fitted.transform(samples.X).astype(np.float32)
    )
    np.testing.assert_array_equal(unpacked(data["test"]["predicted"]), fitted.predict(samples.X))


def test_page_asks_for_nothing_from_outside(tmp_path, fitted, samples):
    write_report(tmp_path / "r.html", fitted, samples)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert not re.search(r"\b(fetch|import|XMLHttpRequest|WebSocket|importScripts)\s*\(", text)
    assert "default-src 'none'" in text


def test_the_same_input_gives_the_same_bytes(tmp_path, fitted, samples):
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, fitted, samples)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_blocks_keep_their_numbers_and_json_cannot_end_a_script():
    values = np.random.default_rng(0).standard_normal((3, 4))
    np.testing.assert_array_equal(unpacked(block(values, "f8")), values)
    hostile = {"name": "</script><!--\u2028"}
    text = script_safe_json(hostile)
    assert "<" not in text
    assert json.loads(text) == hostile


def test_labels_come_from_the_model_or_are_what_it_says(digits, samples):
    X, y = digits.X[::2], digits.codes[::2]
    for classifier in ("nearest", "scores", LogisticRegression(max_iter=500)):
        kept = find(NSSE.as_published(n_components=4, classifier=classifier).fit(X, y), samples)
        assert kept.knows_labels
        np.testing.assert_array_equal(kept.train.codes, y)
    model = SUPLAP(classifier=LogisticRegression(max_iter=500)).fit(X, y)
    said = find(model, samples)
    assert not said.knows_labels
    np.testing.assert_array_equal(said.train.codes, model.predict(X))
    assert any("does not keep the labels" in note for note in facts.notes(said))


def test_unknown_labels_are_mistakes_and_are_told(fitted, samples):
    y = np.where(samples.y == 3, 77, samples.y)
    findings = find(fitted, Samples(samples.X, y))
    assert findings.classes[-1] == "77"
    assert findings.wrong[y == 77].all()
    assert any("1 class of the test samples is unknown" in note for note in facts.notes(findings))


def test_training_samples_among_the_test_samples_are_told(fitted, samples, digits):
    X, y = np.vstack([samples.X, digits.X[:10:2]]), np.append(samples.y, digits.codes[:10:2])
    assert find(fitted, samples).n_seen == 0
    assert find(fitted, Samples(sparse.csr_array(X), y)).n_seen == 5
    assert any(
        "5 of the 105 test samples are training" in n for n in facts.notes(find(fitted, Samples(X, y)))
    )


@pytest.mark.slow
def test_wide_sparse_samples_are_never_made_dense(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    columns = np.column_stack([np.arange(40) % 2, rng.integers(2, 300_000, size=(40, 30))])
    rows = np.repeat(np.arange(40), columns.shape[1])
    values = rng.uniform(0.5, 1.0, size=columns.size)
    X = sparse.csr_array((values, (rows, columns.ravel())), shape=(40, 300_000))
    y = np.arange(40) % 2
    model = NSSE.as_published().fit(X[:20], y[:20])
    monkeypatch.setattr(type(X), "toarray", refused_beyond(1_000_000, type(X).toarray))
    assert not write_report(tmp_path / "r.html", model, Samples(X[20:], y[20:])).live
    data = data_of(tmp_path / "r.html")
    assert "It takes 24.0 MB" in data["without_live"]
    np.testing.assert_allclose(unpacked(data["rows"]["values"]), X[:, :24].toarray(), rtol=1e-6)


def refused_beyond(most, toarray):
    def checked(self, *arguments, **keywords):
        assert np.prod(self.shape) <= most, f"{self.shape} would be made dense"
        return toarray(self, *arguments, **keywords)

    return checked


def test_without_labels_nothing_is_counted_as_a_mistake(tmp_path, fitted, samples):
    findings = find(fitted, Samples(samples.X))
    assert not findings.wrong.any()
    assert "without labels" in facts.finding(findings)
    write_report(tmp_path / "r.html", fitted, Samples(samples.X))
    assert data_of(tmp_path / "r.html")["radii"]["risk"] is None


@pytest.mark.parametrize("kind", ["sparse", "float32", "search", "grid"])
def test_models_in_all_their_forms(tmp_path, digits, samples, kind):
    X, y = digits.X[::2], digits.codes[::2]
    shown = samples
    model = NSSE.as_published(n_components=3)
    if kind == "sparse":
        X, shown = sparse.csr_array(X), Samples(sparse.csr_array(samples.X), samples.y)
    elif kind == "float32":
        X, shown = X.astype(np.float32), Samples(samples.X.astype(np.float32), samples.y)
    elif kind == "search":
        model = NSSECV(n_repeats=2, n_voters=2)
    else:
        model = GridSearchCV(
            make_pipeline(StandardScaler(), NSSE.as_published()), {"nsse__mu2": [0.01, 0.1]}, cv=2
        )
    summary = write_report(tmp_path / "r.html", model.fit(X, y), shown)
    assert (summary.n_train, summary.live) == (100, True)


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (StandardScaler(with_mean=False),),
        (StandardScaler(with_std=False),),
        (MinMaxScaler((-1, 2)), MaxAbsScaler(), "passthrough", StandardScaler()),
    ],
)
def test_scalers_fold_into_one_step(digits, steps):
    model = make_pipeline(*steps, NSSE.as_published(n_components=3)).fit(digits.X, digits.codes)
    before, core = steps_and_judge(model)
    folded = scaling_of(before, core.n_features_in_)
    np.testing.assert_allclose(
        digits.X * folded.factor + folded.offset, model[:-1].transform(digits.X), atol=1e-12
    )
    np.testing.assert_allclose(folded.undone(core.centers_), digits.X, atol=1e-12)


@pytest.mark.parametrize("step", [Normalizer(), PCA(8), MinMaxScaler(clip=True)])
def test_other_steps_leave_the_map_out_and_say_so(tmp_path, digits, samples, step):
    model = make_pipeline(step, NSSE.as_published(n_components=3)).fit(
        digits.X[::2] + 0.01, digits.codes[::2]
    )
    assert not write_report(tmp_path / "r.html", model, samples).live
    assert "more than scale features" in data_of(tmp_path / "r.html")["without_live"]
    with pytest.raises(ValueError, match=r"`live` must not be True here.*more than scale features"):
        write_report(tmp_path / "s.html", model, samples, live=True)
    assert not (tmp_path / "s.html").exists()


def test_a_map_of_another_kind_is_shown_without_radii_and_pictures(tmp_path, digits, samples):
    model = LFDA(n_components=3).fit(digits.X[::2], digits.codes[::2])
    assert not write_report(tmp_path / "r.html", model, samples).live
    data = data_of(tmp_path / "r.html")
    assert data["radii"]["values"] is None
    assert "LFDA has no Gaussian map" in data["radii"]["reason"]
    assert data["rows"]["first"] == 100  # only the test samples have rows


def test_a_classifier_without_proofs_still_has_a_live_map(tmp_path, digits, samples):
    model = NSSE.as_published(n_components=3, classifier=RandomForestClassifier(5, random_state=0))
    model.fit(digits.X[::2], digits.codes[::2])
    assert write_report(tmp_path / "r.html", model, samples).live
    data = data_of(tmp_path / "r.html")
    assert data["live"]["decision"] is None
    assert "RandomForestClassifier" in data["radii"]["reason"]


def test_auto_leaves_a_large_map_out_and_true_puts_it_in(tmp_path, monkeypatch, fitted, samples):
    monkeypatch.setattr(live, "LIVE_BYTES", 1000)
    assert not write_report(tmp_path / "r.html", fitted, samples).live
    assert "live=True puts it in" in data_of(tmp_path / "r.html")["without_live"]
    assert write_report(tmp_path / "r.html", fitted, samples, live=True).live
    assert not write_report(tmp_path / "r.html", fitted, samples, live=False).live


@pytest.mark.parametrize(
    "model",
    [
        NSSE.as_published(n_components=4),
        SUPLAP(sigma=8.0),
        IsoKRR(n_components=4, sigma=6.0, alpha=1e-9),
    ],
)
def test_the_stored_map_is_off_by_no_more_than_proved(digits, model):
    model.fit(digits.X, digits.codes)
    f, largest = model.expansion_, np.abs(model.embedding_).max()
    single = live.StoredCenters.of(f, np.inf)  # any loss is allowed
    assert single.kind == "f4"
    stored = single.points.astype(np.float32).astype(np.float64)
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(50, 64)) - f.centers.shift

    def at(centers, x):
        d2 = ((x - centers) ** 2).sum(axis=1)
        return np.exp(-d2 / f.sigma**2) @ f.coef

    for x in [*rows, *single.points[::20]]:
        off = np.linalg.norm(at(stored, x) - at(single.points, x))
        assert off <= single.loss + FunctionSpace.of(f).rounding
    chosen = live.StoredCenters.of(f, largest)
    assert chosen.loss <= live.LARGEST_LOSS * largest
    assert (chosen.kind == "f4") == (single.loss <= live.LARGEST_LOSS * largest)


def test_pictures_are_the_samples_in_256_levels(tmp_path, digits, fitted, samples):
    prepared = {"kind": "images", "size": (8, 8), "unit_norm": False}
    write_report(tmp_path / "r.html", fitted, samples, preparation=prepared)
    shown = data_of(tmp_path / "r.html")["pictures"]
    expected = np.vstack([digits.X[::2], samples.X])
    np.testing.assert_allclose(unpacked(shown["levels"]) / 255.0, expected, atol=0.5 / 255 + 1e-9)
    assert not shown["stretched"]


def test_many_pictures_are_averaged_to_a_smaller_size(monkeypatch, tmp_path, fitted, samples):
    assert pictures.thumbnail_size((28, 28), 784 * 1000) == (28, 28)
    height, width = pictures.thumbnail_size((28, 28), 784 * 60_000)
    assert height * width * 60_000 <= pictures.PICTURE_BYTES
    monkeypatch.setattr(pictures, "PICTURE_BYTES", 200 * 16)
    prepared = {"kind": "images", "size": (8, 8), "unit_norm": False}
    write_report(tmp_path / "r.html", fitted, samples, preparation=prepared)
    shown = data_of(tmp_path / "r.html")["pictures"]
    assert (shown["height"], shown["width"]) == (4, 4)
    blocks_of_four = samples.X[0].reshape(4, 2, 4, 2).mean(axis=(1, 3)).ravel()
    np.testing.assert_allclose(unpacked(shown["levels"])[100] / 255, blocks_of_four, atol=1.01 / 255)


@pytest.mark.slow
def test_images_of_norm_one_are_as_bright_as_can_be():
    data = load_dataset("objects", size=(6, 6), unit_norm=True)
    grey = pictures.quantised(data.X[:5].reshape(-1, 6, 6), unit_norm=True)
    assert (grey.max(axis=(1, 2)) == 255).all()


def test_pixels_that_are_no_grey_levels_take_rows_not_pictures(tmp_path, digits, samples):
    model = NSSE.as_published(n_components=3).fit(16 * digits.X[::2], digits.codes[::2])
    prepared = {"kind": "images", "size": (8, 8)}
    write_report(tmp_path / "r.html", model, Samples(16 * samples.X, samples.y), preparation=prepared)
    data = data_of(tmp_path / "r.html")
    assert data["live"]["preparation"] == {"kind": "array"}
    assert data["pictures"]["stretched"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": "r.pdf"}, r"`path` must end in .html, .png, .svg. Got"),
        ({"preparation": {"kind": "sound"}}, r"`preparation` must be None or have a kind"),
        ({"preparation": {"kind": "images", "size": (5, 5)}}, r"must have a size of 64 levels"),
        ({"preparation": {"kind": "table", "columns": ["a"]}}, r"must name 64 columns. Got '1 names'"),
        ({"live": "yes"}, r"`live` must be True, False or \"auto\"|`live` must be True, False or"),
        ({"y": [1, 2]}, r"`samples.y` must hold one label per sample"),
        ({"y": ["one"] * 100}, r"`samples.y` must share labels with the model"),
        ({"names": ["a"]}, r"`samples.names` must hold one name per sample"),
    ],
)
def test_a_refusal_says_why_and_leaves_the_old_file(tmp_path, fitted, samples, change, words):
    path = tmp_path / change.pop("path", "r.html")
    path.write_text("old")
    given = Samples(samples.X, change.pop("y", samples.y), change.pop("names", None))
    with pytest.raises(ValueError, match=words):
        write_report(path, fitted, given, **change)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_models_that_do_not_embed_are_refused(tmp_path, digits, samples):
    for model in (LogisticRegression(max_iter=500), PCA(2)):
        model.fit(digits.X, digits.codes)
        with pytest.raises(TypeError, match=r"`model` must embed and predict"):
            write_report(tmp_path / "r.html", model, samples)


@pytest.mark.parametrize("search", [False, True])
def test_the_nearest_copy_of_a_training_sample_is_told(tmp_path, digits, search):
    views = Images((8, 8), rotate=None, mirror=True)
    model = NSSE(invariances=views)
    model = NSSECV(estimator=model, n_repeats=2, n_voters=3) if search else model
    X, y, new = digits.X[::4], digits.codes[::4], digits.X[1::4]
    model.fit(X, y)
    preparation = {"kind": "images", "size": [8, 8], "unit_norm": False}
    write_report(tmp_path / "r.html", model, Samples(new), preparation=preparation)
    data = data_of(tmp_path / "r.html")
    told = data["nearest"]
    assert told["names"] == ["as it is", *views.names]
    best = getattr(model, "best_estimator_", model)
    sample, copy = unpacked(told["sample"]), unpacked(told["copy"])
    for row, place in enumerate(best.transform(new)):
        distances = [np.sum((best.transform(part) - place) ** 2, axis=1) for part in [X, *views(X)]]
        found = distances[copy[row]][int(sample[row])]
        assert found <= np.min(distances) * (1 + 1e-9)  # a class that collapsed is near in many places
    assert len(unpacked(data["train"]["codes"])) == len(X)
    pictures = unpacked(data["pictures"]["levels"])
    assert len(pictures) == len(X) + len(new)
    assert f"{len(X)} samples and 9 copies of each" in (tmp_path / "r.html").read_text("utf-8")
    assert data["live"] is not None


def test_without_copies_no_nearest_one_is_told(tmp_path, fitted, samples):
    write_report(tmp_path / "r.html", fitted, samples)
    assert data_of(tmp_path / "r.html")["nearest"] is None


def test_landmarks_are_no_copies(tmp_path, digits):
    model = NSSE(invariances=Images((8, 8)), n_landmarks=30).fit(digits.X[::4], digits.codes[::4])
    write_report(tmp_path / "r.html", model, Samples(digits.X[1::4]))
    data = data_of(tmp_path / "r.html")
    assert data["nearest"] is None
    assert data["pictures"] is None
