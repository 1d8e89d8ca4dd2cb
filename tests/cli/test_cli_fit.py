"""``nsse fit`` with augmentation, unlabelled samples and a search, on their way into the file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run, told, write_digits
from sklearn.datasets import load_iris

import nsse
from nsse import SmoothEmbedding
from nsse.augment import Images, usual_sets
from nsse.datasets import load_inputs
from nsse.unlabeled import GraphPenalty, LabelPropagation

pytest.importorskip("PIL")
pytest.importorskip("polars")


@pytest.fixture(scope="module")
def photos(tmp_path_factory, digit_images):
    """Six images each of three digits, and some more, as PNG files."""
    folder = tmp_path_factory.mktemp("photos")
    return write_digits(folder, digit_images, train=range(0, 36, 6), test=range(3, 40, 12))


@pytest.mark.slow
def test_named_augmentation_is_that_of_python(photos, tmp_path):
    path = tmp_path / "m.nsse"
    arguments = ("fit", photos / "train", "--out", path, "--size", "12x10", "--augment", "shift, mirror")
    result = told(*arguments)
    inputs = load_inputs(photos / "train", size=(12, 10))
    augment = Images((12, 10), rotate=None, mirror=True)
    same = SmoothEmbedding(augment=augment).fit(inputs.X, inputs.y)
    model = nsse.load(path)
    assert model.augment == augment
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert result["augmented"] == {"how": ["shift", "mirror"], "per_sample": 9}
    assert result["n_samples"] == 18
    assert "18 samples and 9 augmented of each" in run(*arguments).stdout
    assert "Error" in run("evaluate", path, photos / "test").stdout


@pytest.mark.slow
def test_auto_takes_what_helps_and_says_so(photos, tmp_path):
    path = tmp_path / "m.nsse"
    arguments = ("fit", photos / "train", "--out", path, "--size", "12x12", "--augment", "auto")
    result = told(*arguments)["augmented"]
    inputs = load_inputs(photos / "train", size=(12, 12))
    right = []
    for augment in usual_sets((12, 12)):
        model = SmoothEmbedding(augment=augment).fit(inputs.X, inputs.y)
        right.append(model.classes_[model._leave_one_out.argmax(axis=1)] == inputs.y)
    gains = np.mean(right, axis=1) - np.mean(right[0])
    best = 1 + int(gains[1:].argmax())
    error = np.std(np.subtract(right[best], right[0], dtype=float)) / np.sqrt(18)
    assert result["gain"] == pytest.approx(gains[best])
    assert result["gain_error"] == pytest.approx(error)
    chosen = usual_sets((12, 12))[best] if gains[best] > error else None
    assert nsse.load(path).augment == chosen
    line = run(*arguments).stdout.splitlines()[1]
    assert line.startswith("Chose no augmentation" if chosen is None else "Chose augmentation by ")


def write_table(path, X, labels):
    rows = [",".join([*map(str, row), label]) for row, label in zip(X, labels, strict=True)]
    path.write_text("\n".join(["a,b,c,d,kind", *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def tables(tmp_path):
    """Iris: five labelled flowers of every kind, the others without, in one table and in two."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    own = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(3)])
    rest = np.setdiff1d(np.arange(150), own)
    few = np.full(150, "", dtype=names.dtype)
    few[own] = names[own]
    write_table(tmp_path / "partly.csv", X, few)
    write_table(tmp_path / "own.csv", X[own], names[own])
    write_table(tmp_path / "others.csv", X[rest], names[rest])
    return tmp_path, X, names, few


@pytest.mark.parametrize(
    ("options", "unlabeled"),
    [((), GraphPenalty(marker="")), (("--centers", 40), LabelPropagation(marker=""))],
)
def test_empty_labels_are_refused_unless_they_are_named(options, unlabeled, tables):
    folder, X, names, few = tables
    out = folder / "m.nsse"
    arguments = (
        "fit",
        folder / "partly.csv",
        "--label",
        "kind",
        "--out",
        out,
        "--as-they-are",
        *options,
    )
    assert "kind" in run(*arguments, code=2).output
    assert not out.exists()
    result = told(*arguments, "--unlabeled-label", "")
    centers = options[1] if options else "auto"
    same = SmoothEmbedding(unlabeled=unlabeled, centers=centers).fit(X, few)
    model = nsse.load(out)[-1]
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-9)
    np.testing.assert_array_equal(model.transduction_, same.transduction_)
    np.testing.assert_array_equal(model.labels_, few)
    assert result["classes"] == ["setosa", "versicolor", "virginica"]
    assert result["unlabeled"]["n"] == 135
    assert np.mean(model.transduction_ == names) > 0.9
    lines = run(*arguments, "--unlabeled-label", "").stdout
    assert "150 samples in 3 classes, 135 of them without a label" in lines
    assert "135 of 150 samples had no label. The predicted labels have a median probability" in lines


def test_more_samples_from_a_place_of_their_own(tables):
    folder, X, _names, few = tables
    out = folder / "m.nsse"
    arguments = ("fit", folder / "own.csv", "--label", "kind", "--out", out, "--as-they-are")
    text = run(*arguments, "--unlabeled", folder / "others.csv").stdout
    assert "others.csv: 135 without labels." in text
    own = [np.flatnonzero(few == kind) for kind in np.unique(few) if kind]
    order = np.concatenate([*own, np.flatnonzero(few == "")])
    whole = SmoothEmbedding(unlabeled=GraphPenalty(marker="")).fit(X[order], few[order])
    assert np.mean(nsse.load(out)[-1].transduction_ == whole.transduction_) > 0.99


def test_whole_numbers_have_a_number_for_a_mark(tmp_path):
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 10 == 0, y - 1, 7)  # labels -1, 0 and 1
    np.savez(tmp_path / "d.npz", X=X, y=few)
    run("fit", tmp_path / "d.npz", "--out", tmp_path / "m.nsse", "--unlabeled-label", "7")
    model = nsse.load(tmp_path / "m.nsse")
    assert model.classes_.tolist() == [-1, 0, 1]
    assert model.unlabeled.marker == -2
    assert np.mean(model.transduction_ == y - 1) > 0.85


def test_marks_and_columns_that_are_not_there(tables):
    folder, *_ = tables
    (folder / "wrong.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    arguments = ("fit", folder / "own.csv", "--label", "kind", "--out", folder / "m.nsse")
    for options, words in (
        (("--unlabeled-label", "x"), "`--unlabeled-label` must be the entry of some rows"),
        (("--unlabeled", folder / "wrong.csv"), "`--unlabeled` must have the columns of the model"),
    ):
        assert words in run(*arguments, *options, code=2).stderr
    assert not (folder / "m.nsse").exists()


def test_images_from_a_folder_and_from_one_beside_it(photos, tmp_path):
    out = tmp_path / "m.nsse"
    arguments = (
        "fit",
        photos / "train",
        "--out",
        out,
        "--size",
        "12x12",
        "--unlabeled",
        photos / "test",
    )
    assert told(*arguments)["unlabeled"]["n"] == 12
    model = nsse.load(out)
    np.testing.assert_array_equal(model.labels_[:18], load_inputs(photos / "train").y)
    np.testing.assert_array_equal(model.labels_[18:], "")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A model that `nsse fit --tune` chose, its samples, and the same one chosen in Python."""
    search = pytest.importorskip("nsse.search")
    folder = tmp_path_factory.mktemp("tuned")
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "d.npz", X=X[::2], y=y[::2])
    np.savez(folder / "new.npz", X=X[1::2], y=y[1::2])
    result = told("fit", folder / "d.npz", "--out", folder / "m.nsse", "--tune", "--seed", 3)
    same = search.SmoothEmbeddingCV(SmoothEmbedding(random_state=3), random_state=3)
    same.fit(X[::2], y[::2])
    return folder, result, same, X[1::2], y[1::2]


@pytest.mark.slow
def test_fit_tunes_the_model_that_python_tunes(tuned):
    folder, result, same, X_new, _ = tuned
    assert result["model"] == "SmoothEmbeddingCV"
    assert result["weights"] == same.weights_.tolist()
    model = nsse.load(folder / "m.nsse")
    np.testing.assert_array_equal(model.transform(X_new), same.transform(X_new))
    assert model.predict(X_new).tolist() == same.predict(X_new).tolist()


@pytest.mark.slow
def test_every_command_takes_an_ensemble(tuned, tmp_path):
    folder, _, same, X_new, y_new = tuned
    path, new = folder / "m.nsse", folder / "new.npz"
    labels = same.predict(X_new)
    predicted = told("predict", path, new)["predictions"]
    assert [row["label"] for row in predicted] == labels.tolist()
    np.testing.assert_allclose([row["radius"] for row in predicted], same.certified_radius(X_new))
    assert told("evaluate", path, new)["n_wrong"] == np.sum(labels != y_new)
    n_members = len(same.members_)
    assert f"{n_members} member{'s' * (n_members > 1)}, weights " in run("info", path).stdout
    assert told("report", path, new, "--out", tmp_path / "page.html")["n_shown"] == 75
    assert (
        "label" in told("export", path, "--onnx", tmp_path / "m.onnx", "--dtype", "float64")["outputs"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "fixed"),
    [
        (("--metric", "euclidean"), {"metric": "euclidean"}),
        (("--sigma", 0.7, "--n-components", 1), {"sigma": 0.7, "n_components": 1}),
        (("--smoothness", 1), {"smoothness": 1.0}),
    ],
)
def test_tuning_keeps_what_was_given(options, fixed, tuned, tmp_path):
    result = run("fit", tuned[0] / "d.npz", "--out", tmp_path / "m.nsse", "--tune", *options)
    assert "Chose " in result.stdout
    both = ("--tune", "--decision", "scores")
    assert "--tune" in run("fit", tuned[0] / "d.npz", "--out", tmp_path / "m", *both, code=2).stderr
    model = nsse.load(tmp_path / "m.nsse")
    parameters = getattr(model, "best_estimator_", model).get_params()
    assert {name: parameters[name] for name in fixed} == fixed


@pytest.mark.slow
def test_a_search_takes_augmentation_and_unlabelled_samples(photos, tables, tmp_path):
    pytest.importorskip("nsse.search")
    path = tmp_path / "m.nsse"
    for augment in ("mirror", "auto"):
        arguments = ("fit", photos / "train", "--out", path, "--size", "12x12", "--tune")
        assert "per_sample" in told(*arguments, "--augment", augment)["augmented"]
    arguments = ("fit", tables[0] / "partly.csv", "--label", "kind", "--out", path)
    options = ("--unlabeled-label", "", "--tune", "--standardize", "--json")
    assert json.loads(run(*arguments, *options).stdout)["unlabeled"]["n"] == 135
