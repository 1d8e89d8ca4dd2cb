"""The commands on models: what they write is what Python computes, from every kind of data."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from commands import rows_of, run, told, write_digits
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.neighbors import NearestNeighbors

import nsse
from nsse import SmoothEmbedding
from nsse.certificates import risk_coverage, typicality
from nsse.datasets import load_dataset, load_inputs
from nsse.io import read_header

COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]
CLASSES = ["setosa", "versicolor", "virginica"]


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """Two halves of the irises as tables, the second with its columns in another order."""
    folder = tmp_path_factory.mktemp("iris")
    X, y = load_iris(return_X_y=True)
    names = np.array(CLASSES)[y]
    for name, half, order in (("train", slice(0, None, 2), 1), ("test", slice(1, None, 2), -1)):
        columns = dict(zip(COLUMNS, X[half].T, strict=True)) | {"species": names[half]}
        polars.DataFrame(dict(list(columns.items())[::order])).write_csv(folder / f"{name}.csv")
    return folder, X[::2], names[::2], X[1::2], names[1::2]


@pytest.fixture(scope="module")
def fitted(iris):
    folder, *_ = iris
    path = folder / "iris.nsse"
    return path, run("fit", folder / "train.csv", "--label", "species", "--as-they-are", "--out", path)


@pytest.fixture(scope="module")
def photos(tmp_path_factory, digit_images):
    """Ten images each of three digits, and five more, as PNG files."""
    folder = tmp_path_factory.mktemp("photos")
    return write_digits(folder, digit_images, train=range(0, 40, 4), test=range(1, 40, 8))


def fit(iris, out, *options):
    common = ("--label", "species", "--as-they-are", "--out", out)
    return told("fit", iris[0] / "train.csv", *common, *options)


@pytest.mark.slow
def test_the_error_is_named_for_what_it_is(tmp_path):
    """Of 300 samples 200 are left out, and a search has the error of its splits."""
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "digits.npz", X=X[:300], y=y[:300])
    alone = run("fit", tmp_path / "digits.npz", "--out", tmp_path / "a.nsse").stdout
    wrong = 100 * (1 - nsse.load(tmp_path / "a.nsse").leave_one_out_score_)
    assert f"300 samples (leave-one-out error {wrong:.1f} %, 200 of them left out)" in alone
    tuned = run("fit", tmp_path / "digits.npz", "--tune", "--out", tmp_path / "b.nsse").stdout
    search = nsse.load(tmp_path / "b.nsse")
    labels = search.classes_[search._leave_one_out.argmax(axis=1)]
    wrong = 100 * np.mean(labels != search._leave_one_out_labels)
    assert f"cross-validation error {wrong:.1f} %" in tuned
    assert "leave-one-out" not in tuned


def test_fit_does_what_python_does(iris, fitted):
    _, X, y, X_new, _ = iris
    path, result = fitted
    model, same = nsse.load(path), SmoothEmbedding().fit(X, y)
    np.testing.assert_array_equal(model.transform(X_new), same.transform(X_new))
    expected = {"kind": "table", "columns": COLUMNS, "label": "species", "ignored": []}
    expected["medians"] = dict(zip(COLUMNS, np.median(X, axis=0).tolist(), strict=True))
    assert read_header(path).metadata == expected
    lines = result.stdout.splitlines()
    assert lines[0].endswith("train.csv: 75 samples in 3 classes, 4 columns.")
    wrong = 100 * (1 - same.leave_one_out_score_)
    assert f"75 samples (leave-one-out error {wrong:.1f} %): 2 dimensions, σ = " in lines[1]
    assert lines[2].startswith(f"Wrote {path}, ")
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (("--n-components", 1, "--sigma", 0.7), {"n_components": 1, "sigma": 0.7}),
        (("--smoothness", 2, "--decision", "nearest"), {"smoothness": 2.0, "decision": "nearest"}),
        (("--metric", "euclidean"), {"metric": "euclidean"}),
        (("--metric", "within"), {"metric": "within"}),
        (("--centers", 20, "--seed", 3), {"centers": 20, "random_state": 3}),
        (("--centers", "all"), {"centers": None}),
        (("--centers", "auto"), {}),
    ],
)
def test_fit_passes_its_options_on(options, parameters, iris, tmp_path):
    _, X, y, X_new, _ = iris
    result = fit(iris, tmp_path / "m.nsse", *options)
    same = SmoothEmbedding(**parameters).fit(X, y)
    model = nsse.load(tmp_path / "m.nsse")
    np.testing.assert_array_equal(model.transform(X_new), same.transform(X_new))
    np.testing.assert_array_equal(model.predict(X_new), same.predict(X_new))
    assert result["sigma_in_medians"] == pytest.approx(same.sigma)
    assert (result["n_components"], result["n_samples"]) == (same.embedding_.shape[1], 75)
    assert result["bytes"] == (tmp_path / "m.nsse").stat().st_size


def test_columns_are_left_out_and_scaled(iris, tmp_path):
    _, X, y, X_new, _ = iris
    fit(iris, tmp_path / "m.nsse", "--standardize", "--drop", "petal width")
    same = SmoothEmbedding(standardize=True).fit(X[:, :3], y)
    model = nsse.load(tmp_path / "m.nsse")
    np.testing.assert_allclose(
        model.transform(X_new[:, :3]), same.transform(X_new[:, :3]), rtol=0, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
def test_numbers_of_a_table_are_scaled(iris, tmp_path):
    _, X, y, *_ = iris
    polars.DataFrame({"a": 1000 * X[:, 0], "b": X[:, 2], "kind": y}).write_csv(tmp_path / "t.csv")
    common = ("fit", tmp_path / "t.csv", "--label", "kind", "--out", tmp_path / "m.nsse")
    assert "Columns are divided by their standard deviations. Use --as-they-are" in run(*common).stdout
    assert nsse.load(tmp_path / "m.nsse")[-1].standardize
    assert "standard deviations" not in run(*common, "--as-they-are").stdout
    assert not nsse.load(tmp_path / "m.nsse")[-1].standardize
    np.savez(tmp_path / "t.npz", X=1000.0 * X, y=y)  # arrays are as their maker wants them
    run("fit", tmp_path / "t.npz", "--out", tmp_path / "m.nsse")
    assert isinstance(nsse.load(tmp_path / "m.nsse"), SmoothEmbedding)


def test_fit_refuses_what_does_not_fit_into_memory(iris, tmp_path, monkeypatch):
    for place in ("nsse._support.machine", "nsse.memory"):
        monkeypatch.setattr(f"{place}.WORTH_ASKING", 0)
    monkeypatch.setattr("nsse._support.machine.available_memory", lambda: 10**4)
    arguments = ("fit", iris[0] / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse")
    line = run(*arguments, code=2).stderr
    assert "of memory, and" in line
    assert "Pass a number of `--centers`" in line
    assert not list(tmp_path.iterdir())


def test_out_of_memory_is_told_in_words(iris, tmp_path, monkeypatch):
    def fail(*_):
        raise np._core._exceptions._ArrayMemoryError((10**6, 10**6), np.dtype(float))

    monkeypatch.setattr(SmoothEmbedding, "fit", fail)
    arguments = ("fit", iris[0] / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse")
    (line,) = run(*arguments, code=2).stderr.splitlines()
    assert line.startswith("nsse: out of memory (Unable to allocate 7.28 TiB")
    assert line.endswith("fewer --centers.")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_writes_labels_and_measures_of_trust(ending, iris, fitted, tmp_path):
    folder, X, y, X_new, _ = iris
    out = tmp_path / f"labels.{ending}"
    result = run("predict", fitted[0], folder / "test.csv", "--out", out)
    frame = getattr(polars, f"read_{ending}")(out)
    assert frame.columns == ["row", "label", "probability", "typicality", "distance", "radius"]
    model = SmoothEmbedding().fit(X, y)
    embedded = model.transform(X_new)
    brute = np.sqrt(((embedded[:, None] - model.embedding_) ** 2).sum(axis=2)).min(axis=1)
    assert frame["row"].to_list() == list(range(1, 76))
    assert frame["label"].to_list() == model.predict(X_new).tolist()
    np.testing.assert_allclose(frame["distance"], brute, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(frame["probability"], model.predict_proba(X_new).max(axis=1), rtol=1e-9)
    np.testing.assert_allclose(frame["typicality"], typicality(model, X_new), rtol=1e-12)
    np.testing.assert_allclose(frame["radius"], model.certified_radius(X_new), rtol=1e-12)
    assert f"Wrote {out}: 75 rows." in result.stdout


def test_samples_of_no_known_class_are_refused(tmp_path):
    X, y = load_iris(return_X_y=True)
    known = y < 2
    np.savez(tmp_path / "d.npz", X=X[known], y=y[known])
    np.savez(tmp_path / "new.npz", X=np.vstack([X[:10], X[:10] + 40]))
    run("fit", tmp_path / "d.npz", "--out", tmp_path / "m.nsse")
    arguments = ("predict", tmp_path / "m.nsse", tmp_path / "new.npz", "--refuse", 0.02)
    result = told(*arguments)
    p = np.array([row["typicality"] for row in result["predictions"]])
    labels = [row["label"] for row in result["predictions"]]
    assert [label is None for label in labels] == (p <= 0.02).tolist()
    assert labels[10:] == [None] * 10
    assert labels[:10].count(0) >= 9
    assert result["n_refused"] == labels.count(None)
    assert f"Refused {result['n_refused']} of 20: typicality up to 0.02." in run(*arguments).stdout
    run(*arguments, "--out", tmp_path / "o.csv")
    assert [row["label"] for row in rows_of(tmp_path / "o.csv")[10:]] == [""] * 10
    assert "`--refuse` must be above 0" in run(*arguments[:-1], 1, code=2).stderr


def test_predict_shows_or_tells_what_it_does_not_write(iris, fitted):
    folder, *_ = iris
    shown = run("predict", fitted[0], folder / "test.csv").stdout
    assert "… 55 more: write them with --out." in shown
    result = told("predict", fitted[0], folder / "test.csv")
    assert len(result["predictions"]) == 75
    assert sum(result["labels"].values()) == 75


def test_radii_of_a_pipeline_hold_for_the_columns_as_they_are(iris, tmp_path):
    folder, X, y, X_new, _ = iris
    path = tmp_path / "m.nsse"
    fit(iris, path, "--standardize")
    result = run("predict", path, folder / "test.csv", "--out", tmp_path / "l.csv")
    model = SmoothEmbedding(standardize=True).fit(X, y)
    written = rows_of(tmp_path / "l.csv")
    raw = [float(row["radius"]) for row in written]
    np.testing.assert_allclose(raw, model.certified_radius(X_new), rtol=1e-6)
    assert "measured on the columns as they are" in result.stdout


def test_without_certificates_predict_says_why(blobs, tmp_path):
    np.savez(tmp_path / "d.npz", X=blobs.X, y=blobs.codes)
    nsse.save(nsse.methods.NYS(2).fit(blobs.X, blobs.codes), tmp_path / "m.nsse")
    arguments = (tmp_path / "m.nsse", tmp_path / "d.npz")
    result = run("predict", *arguments, "--out", tmp_path / "l.csv")
    assert "No certified radii. " in result.stdout
    assert "radius" not in rows_of(tmp_path / "l.csv")[0]
    assert "No certified radii. " in run("evaluate", *arguments).stdout
    refused = run("predict", *arguments, "--refuse", "0.05", code=2).stderr
    assert "`MODEL` must contain leave-one-out scores" in refused


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_transform_writes_the_embedding(ending, iris, fitted, tmp_path):
    folder, _, _, X_new, _ = iris
    out = tmp_path / f"embedding.{ending}"
    result = told("transform", fitted[0], folder / "test.csv", "--out", out)
    assert result == {"n_samples": 75, "n_components": 2, "out": str(out)}
    expected = nsse.load(fitted[0]).transform(X_new)
    if ending == "npy":
        np.testing.assert_array_equal(np.load(out), expected)
        return
    frame = getattr(polars, f"read_{ending}")(out)
    assert frame.columns == ["row", "y1", "y2"]
    np.testing.assert_allclose(frame.select("y1", "y2").to_numpy(), expected, rtol=1e-12)


def test_evaluate_counts_mistakes_and_measures_probabilities(iris, fitted):
    folder, _, _, X_new, y_new = iris
    model = nsse.load(fitted[0])
    predicted = model.predict(X_new)
    result = told("evaluate", fitted[0], folder / "test.csv")
    assert result["error"] == pytest.approx(np.mean(predicted != y_new))
    counts = [
        [int(np.sum((y_new == true) & (predicted == label))) for label in CLASSES] for true in CLASSES
    ]
    assert result["confusion"]["counts"] == counts
    wrong = [int(np.sum(predicted[y_new == true] != true)) for true in CLASSES]
    assert [entry["n_wrong"] for entry in result["per_class"]] == wrong
    curve = risk_coverage(model, X_new, y_new)
    for entry in result["risk_coverage"]:
        assert entry["error"] == pytest.approx(1 - curve.accuracy_at(entry["coverage"]))
    largest = max(np.unique(y_new, return_counts=True)[1]) / len(y_new)
    assert result["error_of_largest_class"] == pytest.approx(1 - largest)
    shown = run("evaluate", fitted[0], folder / "test.csv").stdout
    assert f"the largest class here, has an error of {100 * (1 - largest):.1f} %." in shown
    assert shown.startswith(f"Error {100 * result['error']:.1f} %: {result['n_wrong']} of 75 samples")
    assert "% without 10 %, " in shown
    # How good probabilities are.
    assert result["log_loss"] == pytest.approx(log_loss(y_new, model.predict_proba(X_new)), rel=1e-9)
    parts = result["reliability"]
    assert sum(part["n_samples"] for part in parts) == len(y_new)
    right = sum(part["n_samples"] * part["right"] for part in parts)
    assert right == pytest.approx((predicted == y_new).sum())
    assert all(part["from"] <= part["probability"] <= part["to"] for part in parts)


@pytest.mark.slow
def test_evaluate_shows_the_worst_of_many_classes(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 4)
    X = rng.standard_normal((160, 3)) + rng.standard_normal((40, 3))[y]
    np.savez(tmp_path / "d.npz", X=X, y=y)
    run("fit", tmp_path / "d.npz", "--out", tmp_path / "m.nsse")
    result = told("evaluate", tmp_path / "m.nsse", tmp_path / "d.npz")
    shown = run("evaluate", tmp_path / "m.nsse", tmp_path / "d.npz").stdout
    worst = max(result["per_class"], key=lambda entry: entry["error"])
    assert "predicted as" in shown
    assert f" {100 * worst['error']:.1f} % " in shown
    assert "more with" in shown


def test_evaluate_refuses_classes_that_the_model_does_not_know(iris, fitted, tmp_path):
    folder, *_ = iris
    text = (folder / "test.csv").read_text().replace("setosa", "tulip")
    (tmp_path / "t.csv").write_text(text)
    result = run("evaluate", fitted[0], tmp_path / "t.csv", code=2)
    assert "t.csv with tulip. It knows setosa, versicolor, virginica." in result.stderr


def test_labels_that_look_like_numbers_are_compared_as_text_with_a_model_of_text(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((30, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 10, axis=0)
    kinds = ["10"] * 10 + ["7"] * 10 + ["x"] * 10
    frame = polars.DataFrame({"a": points[:, 0], "b": points[:, 1], "kind": kinds})
    frame.write_csv(tmp_path / "all.csv")
    frame[:20].write_csv(tmp_path / "part.csv")
    run("fit", tmp_path / "all.csv", "--label", "kind", "--out", tmp_path / "m.nsse")
    assert told("evaluate", tmp_path / "m.nsse", tmp_path / "part.csv")["error"] == 0


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, 2)) + np.repeat([[0, 0], [9, 0]], 10, axis=0)
    kinds = ["[red]"] * 10 + [":smile:"] * 10
    columns = {'"[bold]"': points[:, 0], "b": points[:, 1], "kind": kinds}
    polars.DataFrame(columns).write_csv(tmp_path / "t.csv")
    run("fit", tmp_path / "t.csv", "--label", "kind", "--out", tmp_path / "m.nsse")
    for command in (("predict", tmp_path / "t.csv"), ("evaluate", tmp_path / "t.csv"), ("info",)):
        shown = run(command[0], tmp_path / "m.nsse", *command[1:]).stdout
        assert "[red]" in shown
        assert ":smile:" in shown or command[0] == "predict"
    assert '"[bold]"' in shown


@pytest.mark.slow
def test_images_go_all_the_way(photos, tmp_path):
    path = tmp_path / "m.nsse"
    result = run("fit", photos / "train", "--out", path, "--size", "12x10", "--raw")
    assert "30 images in 3 classes, 12 x 10 gray levels." in result.stdout
    data = load_inputs(photos / "train", size=(12, 10), unit_norm=False)
    new = load_inputs(photos / "test", size=(12, 10), unit_norm=False)
    model = SmoothEmbedding().fit(data.X, data.y)
    run("predict", path, photos / "test", "--out", tmp_path / "l.csv")
    rows = rows_of(tmp_path / "l.csv")
    assert [row["name"] for row in rows] == new.names
    assert [row["label"] for row in rows] == model.predict(new.X).tolist()
    error = told("evaluate", path, photos / "test")["error"]
    assert error == pytest.approx(np.mean(model.predict(new.X) != new.y))
    # Without labels: a folder without sub-folders, and one image.
    run("predict", path, photos / "test" / "1", "--out", tmp_path / "mugs.csv")
    mugs = [{**row, "name": row["name"].removeprefix("1/")} for row in rows if "1/" in row["name"]]
    assert [row["label"] for row in rows_of(tmp_path / "mugs.csv")] == [row["label"] for row in mugs]
    (one,) = told("predict", path, photos / "test" / "1" / mugs[0]["name"])["predictions"]
    for name, value in one.items():
        same = mugs[0][name] if name in ("name", "label") else pytest.approx(float(mugs[0][name]))
        assert value == same


@pytest.mark.parametrize("model", [SmoothEmbedding(), nsse.NSSE()], ids=["names", "metadata"])
def test_models_saved_in_python_are_read_by_what_they_tell_themselves(model, iris, tmp_path):
    pandas = pytest.importorskip("pandas", reason="feature names come from a data frame")
    folder, X, y, X_new, y_new = iris
    has_names = isinstance(model, SmoothEmbedding)
    model.fit(pandas.DataFrame(X, columns=COLUMNS) if has_names else X, y)
    known = None if has_names else load_inputs(folder / "train.csv", "species").preparation
    nsse.save(model, tmp_path / "m.nsse", metadata=known)
    result = told("evaluate", tmp_path / "m.nsse", folder / "test.csv", "--label", "species")
    new = pandas.DataFrame(X_new, columns=COLUMNS) if has_names else X_new
    assert result["error"] == pytest.approx(np.mean(model.predict(new) != y_new))


def test_info_reads_the_header_alone(fitted, monkeypatch):
    monkeypatch.setattr("nsse.io.files.load", lambda *_, **__: pytest.fail("loaded the model"))
    path, _ = fitted
    result = told("info", path)
    assert result["facts"]["classes"] == CLASSES
    assert result["facts"]["parameters"]["sigma"] == 0.65
    assert (result["facts"]["n_samples"], result["facts"]["n_components"]) == (75, 2)
    assert result["metadata"]["columns"] == COLUMNS
    assert (result["nsse"], result["bytes"]) == (nsse.__version__, path.stat().st_size)
    shown = run("info", path).stdout
    assert "75 samples, 4 features → 2 dimensions" in shown
    assert "setosa, versicolor, virginica" in shown


def test_info_cuts_long_lists_short(tmp_path):
    pandas = pytest.importorskip("pandas", reason="data frames come from pandas")
    table = pandas.DataFrame(np.random.default_rng(0).normal(size=(20, 30))).add_prefix("gene_")
    table["label"] = ["a", "b"] * 10
    table.to_csv(tmp_path / "genes.csv", index=False)
    run("fit", tmp_path / "genes.csv", "--label", "label", "--out", tmp_path / "m.nsse")
    shown = " ".join(run("info", tmp_path / "m.nsse").stdout.split())
    assert "gene_11, … (18 more)]" in shown
    assert "… (18 more))" in shown  # medians
    assert "gene_12" not in shown


def test_export_writes_a_graph_that_agrees(iris, fitted, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX: pip install 'nsse[onnx]'")
    _, _, _, X_new, _ = iris
    result = told("export", fitted[0], "--onnx", tmp_path / "m.onnx", "--dtype", "float64")
    assert result["opset"] == 17
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    embedding, label = session.run(["embedding", "label"], {"X": X_new})
    model = nsse.load(fitted[0])
    np.testing.assert_allclose(embedding, model.transform(X_new), atol=1e-9)
    assert label.tolist() == model.predict(X_new).tolist()


@pytest.mark.slow
def test_datasets_lists_and_writes(tmp_path, monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    shown = run("datasets").stdout
    assert "https://cave.cs.columbia.edu/repository/COIL-20 → $NSSE_DATA/coil-20-proc" in shown
    assert [one["name"] for one in told("datasets")["datasets"]][:2] == ["digits", "coil20"]
    out = tmp_path / "digits"
    result = told("datasets", "digits", "--out", out, "--train", 5)
    assert result == {"name": "digits", "out": str(out), "n_classes": 10, "train": 50, "test": 1747}
    assert sorted(path.name for path in out.iterdir()) == ["test", "train"]
    train, test = (load_inputs(out / part, size=None, unit_norm=False) for part in ("train", "test"))
    written = np.vstack([train.X, test.X])
    distances = NearestNeighbors(n_neighbors=1).fit(written).kneighbors(load_dataset("digits").X)[0]
    assert distances.max() < 8 * 0.5 / 255  # every digit is there, to half a gray level per pixel
    assert "name a new folder" in run("datasets", "digits", "--out", out, code=2).stderr
    too_many = run("datasets", "digits", "--out", tmp_path / "more", "--train", 500, code=2)
    assert "`--train` must be smaller" in too_many.stderr


def test_help_names_the_defaults():
    shown = " ".join(run("fit", "--help", env={"COLUMNS": "200"}).stdout.replace("│", " ").split())
    model = SmoothEmbedding()
    assert f"(default: {model.sigma:g}; --tune chooses)" in shown
    assert f"(default: {model.smoothness:g}; --tune chooses)" in shown
