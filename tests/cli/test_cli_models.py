"""The commands on models: what they write is what Python computes, from every kind of data."""

from __future__ import annotations

import inspect
import json

import numpy as np
import polars
import pytest
from commands import rows_of, run, told
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse.certificates import risk_coverage
from nsse.datasets import load_dataset, load_inputs, write_images
from nsse.exports import read_header

COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """Two halves of the irises as tables, the second with its columns in another order."""
    folder = tmp_path_factory.mktemp("iris")
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for name, half, order in (("train", slice(0, None, 2), 1), ("test", slice(1, None, 2), -1)):
        columns = dict(zip(COLUMNS, X[half].T, strict=True)) | {"species": names[half]}
        polars.DataFrame(dict(list(columns.items())[::order])).write_csv(folder / f"{name}.csv")
    return folder, X[::2], names[::2], X[1::2], names[1::2]


@pytest.fixture(scope="module")
def fitted(iris):
    folder, *_ = iris
    path = folder / "iris.nsse"
    result = run("fit", folder / "train.csv", "--label", "species", "--out", path)
    return path, result


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Ten views each of three solids, and five more, as PNG files of 64 × 64."""
    folder = tmp_path_factory.mktemp("photos")
    data = load_dataset("objects", size=None)
    for part, views in (("train", range(0, 40, 4)), ("test", range(1, 40, 8))):
        write_images(data, [72 * solid + view for solid in (0, 15, 17) for view in views], folder / part)
    return folder


def test_fit_does_what_python_does(iris, fitted):
    _, X, y, X_new, _ = iris
    path, result = fitted
    model, same = nsse.load(path), nsse.NSSE().fit(X, y)
    np.testing.assert_array_equal(model.transform(X_new), same.transform(X_new))
    assert read_header(path).metadata == {
        "kind": "table",
        "columns": COLUMNS,
        "label": "species",
        "ignored": [],
    }
    lines = result.stdout.splitlines()
    assert lines[0].endswith("train.csv: 75 samples in 3 classes, 4 columns.")
    assert lines[1].startswith("Fitted NSSE: 2 dimensions, σ = ")
    assert lines[2].startswith(f"Wrote {path}, ")
    assert result.stderr == ""


def test_fit_passes_its_options_on(iris, tmp_path):
    folder, X, y, X_new, _ = iris
    common = ("fit", folder / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse")
    result = told(
        *common, "--n-components", 1, "--sigma", 0.7, "--standardize", "--ignore", "petal width"
    )
    same = make_pipeline(StandardScaler(), nsse.NSSE(1, sigma=0.7)).fit(X[:, :3], y)
    model = nsse.load(tmp_path / "m.nsse")
    np.testing.assert_array_equal(model.transform(X_new[:, :3]), same.transform(X_new[:, :3]))
    assert result["sigma_in_medians"] == pytest.approx(0.7)
    assert (result["n_components"], result["n_features"], result["n_samples"]) == (1, 3, 75)
    assert result["bytes"] == (tmp_path / "m.nsse").stat().st_size


def test_fit_takes_a_metric(iris, tmp_path):
    folder, X, y, X_new, _ = iris
    common = ("fit", folder / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse")
    told(*common, "--metric", "within", "--shrinkage", 0.3)
    same = nsse.NSSE(metric="within", shrinkage=0.3).fit(X, y)
    np.testing.assert_array_equal(nsse.load(tmp_path / "m.nsse").transform(X_new), same.transform(X_new))


@pytest.fixture(scope="module")
def tuned(iris, tmp_path_factory):
    """A model that `nsse fit --tune` chose, and the same one chosen in Python."""
    folder, X, y, *_ = iris
    path = tmp_path_factory.mktemp("tuned") / "m.nsse"
    common = ("fit", folder / "train.csv", "--label", "species", "--out", path, "--tune")
    result = told(*common, "--seed", 3)
    same = nsse.NSSECV(estimator=nsse.NSSE(random_state=3), random_state=3).fit(X, y)
    assert len(same.voters_) > 1
    return path, result, same


def test_fit_tunes_the_model_that_python_tunes(iris, tuned):
    path, result, same = tuned
    X_new = iris[3]
    assert (result["model"], result["parameters"]) == ("NSSECV", same.best_params_)
    assert result["validation_error"] == pytest.approx(1 - same.best_score_)
    assert (result["n_voters"], result["n_splits"]) == (len(same.voters_), same.n_splits_)
    model = nsse.load(path)
    np.testing.assert_array_equal(model.transform(X_new), same.transform(X_new))
    assert model.predict(X_new).tolist() == same.predict(X_new).tolist()


@pytest.mark.parametrize(
    ("options", "fixed"),
    [
        (("--metric", "euclidean"), {"metric": "euclidean"}),
        (("--metric", "within"), {"metric": "within"}),
        (("--metric", "within", "--shrinkage", 1), {"metric": "within", "shrinkage": 1.0}),
        (("--sigma", 0.7, "--n-components", 1), {"sigma": 0.7, "n_components": 1}),
    ],
)
def test_tuning_keeps_what_was_given(options, fixed, iris, tmp_path):
    folder, *_ = iris
    common = ("fit", folder / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse")
    run(*common, "--tune", *options)
    for voter in nsse.load(tmp_path / "m.nsse").voters_:
        assert {name: voter.get_params()[name] for name in fixed} == fixed


def test_what_was_chosen_is_said_in_words(iris, tmp_path):
    folder, *_ = iris
    common = ("fit", folder / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse", "--tune")
    (line,) = [line for line in run(*common).stdout.splitlines() if line.startswith("Chose ")]
    search = nsse.load(tmp_path / "m.nsse")
    best = search.best_estimator_
    metric = f"the within-class metric with shrinkage {best.shrinkage:g}, relevance {best.relevance:g}"
    reader = {"nearest": "the nearest neighbour", "scores": "the largest class score"}[best.classifier]
    assert line == (
        f"Chose {'Euclidean distances' if best.metric == 'euclidean' else metric}, "
        f"σ = {best.sigma:.3g} median distances, mu2 = {best.mu2:.3g}, labels by {reader}: "
        f"error {100 * (1 - search.best_score_):.1f} % on 16 validation splits. "
        f"The {len(search.voters_)} best vote on labels."
    )
    (line,) = [
        line for line in run(*common, "--landmarks", 20).stdout.splitlines() if line.startswith("Chose ")
    ]
    assert line.endswith("% on 16 validation splits. It labels alone.")


def test_every_command_takes_a_vote(iris, tuned, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="graphs are run in onnxruntime")
    folder, _, _, X_new, y_new = iris
    path, _, same = tuned
    labels = same.predict(X_new)
    predicted = told("predict", path, folder / "test.csv", "--ignore", "species")["predictions"]
    assert [row["label"] for row in predicted] == labels.tolist()
    np.testing.assert_allclose([row["radius"] for row in predicted], same.certified_radius(X_new))
    assert told("evaluate", path, folder / "test.csv")["n_wrong"] == np.sum(labels != y_new)
    assert told("info", path)["facts"]["n_voters"] == len(same.voters_)
    assert f"a vote of {len(same.voters_)} models" in run("info", path).stdout
    page = told("report", path, folder / "test.csv", "--out", tmp_path / "page.html")
    assert (page["n_shown"], page["live"]) == (75, True)
    graph = tmp_path / "m.onnx"
    outputs = told("export", path, "--onnx", graph, "--dtype", "float64")["outputs"]
    assert outputs[-2:] == ["label", "probabilities"]
    session = onnxruntime.InferenceSession(graph.read_bytes(), providers=["CPUExecutionProvider"])
    assert session.run(["label"], {"X": X_new})[0].tolist() == labels.tolist()


@pytest.mark.skipif(
    "n_landmarks" not in inspect.signature(nsse.NSSE).parameters, reason="this NSSE has no landmarks"
)
def test_fit_takes_landmarks(iris, tmp_path):
    folder, *_ = iris
    run(
        "fit",
        folder / "train.csv",
        "--label",
        "species",
        "--out",
        tmp_path / "m.nsse",
        "--landmarks",
        20,
    )
    assert nsse.load(tmp_path / "m.nsse").centers_.shape == (20, 4)


@pytest.mark.slow
def test_fit_says_when_columns_differ_in_spread(iris, tmp_path):
    _, X, y, *_ = iris
    polars.DataFrame({"a": 1000 * X[:, 0], "b": X[:, 1], "kind": y}).write_csv(tmp_path / "t.csv")
    common = ("fit", tmp_path / "t.csv", "--label", "kind", "--out", tmp_path / "m.nsse")
    assert "-fold: try --standardize." in run(*common).stdout
    assert "--standardize" not in run(*common, "--standardize").stdout


def test_fit_refuses_what_does_not_fit_into_memory(iris, tmp_path, monkeypatch):
    folder, *_ = iris
    monkeypatch.setattr("nsse.cli.fit.available_memory", lambda: 10**5)
    result = run("fit", folder / "train.csv", "--label", "species", "--out", tmp_path / "m.nsse", code=2)
    assert "fit into memory" in result.stderr
    assert "--landmarks" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_writes_labels_distances_and_radii(ending, iris, fitted, tmp_path):
    folder, X, y, X_new, _ = iris
    out = tmp_path / f"labels.{ending}"
    result = run("predict", fitted[0], folder / "test.csv", "--out", out)
    frame = getattr(polars, f"read_{ending}")(out)
    assert frame.columns == ["row", "label", "probability", "distance", "radius"]
    model = nsse.NSSE().fit(X, y)
    embedded = model.transform(X_new)
    brute = np.sqrt(((embedded[:, None] - model.embedding_) ** 2).sum(axis=2)).min(axis=1)
    assert frame["row"].to_list() == list(range(1, 76))
    assert frame["label"].to_list() == model.predict(X_new).tolist()
    np.testing.assert_allclose(frame["distance"], brute, rtol=1e-9)
    np.testing.assert_allclose(frame["probability"], model.predict_proba(X_new).max(axis=1), rtol=1e-9)
    np.testing.assert_allclose(frame["radius"], model.certified_radius(X_new), rtol=1e-12)
    assert f"Wrote {out}: 75 rows." in result.stdout


def test_evaluate_tells_how_good_probabilities_are(iris, fitted):
    folder, X, y, X_new, y_new = iris
    result = told("evaluate", fitted[0], folder / "test.csv")
    model = nsse.NSSE().fit(X, y)
    assert result["log_loss"] == pytest.approx(log_loss(y_new, model.predict_proba(X_new)), rel=1e-9)
    parts = result["reliability"]
    assert sum(part["n_samples"] for part in parts) == len(y_new)
    right = sum(part["n_samples"] * part["right"] for part in parts)
    assert right == pytest.approx((model.predict(X_new) == y_new).sum())
    for part in parts:
        assert part["from"] <= part["probability"] <= part["to"]
    assert (
        "how often labels of a probability are right"
        in run("evaluate", fitted[0], folder / "test.csv").stdout
    )


def test_predict_shows_or_tells_what_it_does_not_write(iris, fitted):
    folder, *_ = iris
    shown = run("predict", fitted[0], folder / "test.csv").stdout
    assert "… 55 more: write them with --out." in shown
    result = told("predict", fitted[0], folder / "test.csv")
    assert len(result["predictions"]) == 75
    assert sum(result["labels"].values()) == 75
    assert set(result["predictions"][0]) == {"row", "label", "probability", "distance", "radius"}


def test_radii_of_a_pipeline_hold_for_the_columns_as_they_are(iris, tmp_path):
    folder, X, y, X_new, _ = iris
    path = tmp_path / "m.nsse"
    run("fit", folder / "train.csv", "--label", "species", "--out", path, "--standardize")
    result = run("predict", path, folder / "test.csv", "--out", tmp_path / "l.csv")
    scaler = StandardScaler().fit(X)
    model = nsse.NSSE().fit(scaler.transform(X), y)
    written = rows_of(tmp_path / "l.csv")
    raw, scaled = ([float(row[name]) for row in written] for name in ("radius", "radius_scaled"))
    np.testing.assert_allclose(scaled, model.certified_radius(scaler.transform(X_new)), rtol=1e-9)
    # The same kernel in the columns as they are: A'diag(1/s) is what a change is multiplied by.
    in_metric = model.certified_radius(scaler.transform(X_new), units="metric")
    stretch = np.linalg.norm(np.diag(1 / scaler.scale_) @ model.metric_.transform(np.eye(X.shape[1])), 2)
    np.testing.assert_allclose(raw, in_metric / stretch, rtol=1e-9)
    assert "measured on the columns as they are" in result.stdout
    assert "below radius_scaled, measured on scaled columns" in result.stdout


def test_without_certificates_predict_says_why(blobs, tmp_path):
    np.save(tmp_path / "X.npy", blobs.X)
    unproved = nsse.NSSE(2, classifier=KNeighborsClassifier(3, weights="distance"))
    for model, reason in (
        (nsse.LFDA(2), "Nothing is proved about the map of LFDA"),
        (unproved, "`classifier` must "),
    ):
        nsse.save(model.fit(blobs.X, blobs.codes), tmp_path / "m.nsse")
        result = run("predict", tmp_path / "m.nsse", tmp_path / "X.npy", "--out", tmp_path / "l.csv")
        assert reason in result.stdout
        assert "radius" not in rows_of(tmp_path / "l.csv")[0]


@pytest.mark.slow
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


def test_evaluate_counts_mistakes(iris, fitted):
    folder, _, _, X_new, y_new = iris
    model = nsse.load(fitted[0])
    predicted = model.predict(X_new)
    result = told("evaluate", fitted[0], folder / "test.csv")
    assert result["error"] == pytest.approx(np.mean(predicted != y_new))
    classes = ["setosa", "versicolor", "virginica"]
    assert result["confusion"]["counts"] == [
        [int(np.sum((y_new == true) & (predicted == said))) for said in classes] for true in classes
    ]
    assert [entry["n_wrong"] for entry in result["per_class"]] == [
        int(np.sum(predicted[y_new == true] != true)) for true in classes
    ]
    curve = risk_coverage(model, X_new, y_new)
    for entry in result["risk_coverage"]:
        assert entry["error"] == pytest.approx(1 - curve.accuracy_at(entry["coverage"]))
    shown = run("evaluate", fitted[0], folder / "test.csv").stdout
    assert shown.startswith(f"Error {100 * result['error']:.1f} %: {result['n_wrong']} of 75 samples")
    assert "% without 10 %, " in shown


def test_evaluate_refuses_classes_that_the_model_does_not_know(iris, fitted, tmp_path):
    folder, *_ = iris
    text = (folder / "test.csv").read_text().replace("setosa", "tulip")
    (tmp_path / "t.csv").write_text(text)
    result = run("evaluate", fitted[0], tmp_path / "t.csv", code=2)
    assert "t.csv with tulip'. It knows setosa, versicolor, virginica." in result.stderr


def test_labels_that_look_like_numbers_are_compared_as_text_with_a_model_of_text(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((30, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 10, axis=0)
    frame = polars.DataFrame(
        {"a": points[:, 0], "b": points[:, 1], "kind": ["10"] * 10 + ["7"] * 10 + ["x"] * 10}
    )
    frame.write_csv(tmp_path / "all.csv")
    frame[:20].write_csv(tmp_path / "part.csv")
    run("fit", tmp_path / "all.csv", "--label", "kind", "--out", tmp_path / "m.nsse")
    assert told("evaluate", tmp_path / "m.nsse", tmp_path / "part.csv")["error"] == 0


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, 2)) + np.repeat([[0, 0], [9, 0]], 10, axis=0)
    kinds = ["[red]"] * 10 + [":smile:"] * 10
    columns = {"[bold]": points[:, 0], "b": points[:, 1], "kind": kinds}
    polars.DataFrame(columns).write_csv(tmp_path / "t.csv")
    run("fit", tmp_path / "t.csv", "--label", "kind", "--out", tmp_path / "m.nsse")
    for command in (("predict", tmp_path / "t.csv"), ("evaluate", tmp_path / "t.csv"), ("info",)):
        shown = run(command[0], tmp_path / "m.nsse", *command[1:]).stdout
        assert "[red]" in shown
        assert ":smile:" in shown or command[0] == "predict"


@pytest.mark.slow
def test_images_go_all_the_way(photos, tmp_path):
    path = tmp_path / "m.nsse"
    result = run("fit", photos / "train", "--out", path, "--size", "12x10", "--raw")
    assert "30 images in 3 classes, 12 x 10 grey levels." in result.stdout
    data = load_inputs(photos / "train", size=(12, 10), unit_norm=False)
    new = load_inputs(photos / "test", size=(12, 10), unit_norm=False)
    model = nsse.NSSE().fit(data.X, data.y)
    run("predict", path, photos / "test", "--out", tmp_path / "l.csv")
    rows = rows_of(tmp_path / "l.csv")
    assert [row["name"] for row in rows] == new.names
    assert [row["label"] for row in rows] == model.predict(new.X).tolist()
    error = told("evaluate", path, photos / "test")["error"]
    assert error == pytest.approx(np.mean(model.predict(new.X) != new.y))
    # Without labels: a folder without sub-folders, and one image.
    run("predict", path, photos / "test" / "mug", "--out", tmp_path / "mugs.csv")
    mugs = [{**row, "name": row["name"].removeprefix("mug/")} for row in rows if "mug/" in row["name"]]
    assert rows_of(tmp_path / "mugs.csv") == mugs
    one = told("predict", path, photos / "test" / "mug" / mugs[0]["name"])["predictions"]
    assert one == [
        {
            "name": mugs[0]["name"],
            "label": mugs[0]["label"],
            # Alone, a point is the same up to rounding.
            "probability": pytest.approx(float(mugs[0]["probability"]), rel=1e-9),
            "distance": pytest.approx(float(mugs[0]["distance"]), rel=1e-9),
            "radius": pytest.approx(float(mugs[0]["radius"]), rel=1e-9),
        }
    ]


@pytest.mark.slow
def test_arrays_go_all_the_way(blobs, tmp_path):
    np.savez(tmp_path / "d.npz", X=blobs.X.astype(np.float32), y=blobs.codes)
    run("fit", tmp_path / "d.npz", "--out", tmp_path / "m.nsse")
    model = nsse.NSSE().fit(blobs.X.astype(np.float32), blobs.codes)
    loaded = nsse.load(tmp_path / "m.nsse")
    assert loaded.centers_.dtype == np.float32
    result = told("predict", tmp_path / "m.nsse", tmp_path / "d.npz")["predictions"]
    assert [row["label"] for row in result] == model.predict(blobs.X.astype(np.float32)).tolist()
    assert told("evaluate", tmp_path / "m.nsse", tmp_path / "d.npz")["n_samples"] == len(blobs.X)


def test_models_saved_in_python_are_read_by_what_they_tell_themselves(iris, tmp_path):
    pandas = pytest.importorskip("pandas", reason="feature names come from a data frame")
    folder, X, y, X_new, y_new = iris
    path = tmp_path / "m.nsse"
    nsse.save(nsse.NSSE().fit(pandas.DataFrame(X, columns=COLUMNS), y), path)
    result = told("evaluate", path, folder / "test.csv", "--label", "species")
    assert result["error"] == pytest.approx(np.mean(nsse.NSSE().fit(X, y).predict(X_new) != y_new))


def test_info_reads_the_header_alone(iris, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("skops.io.loads", lambda *_, **__: pytest.fail("loaded the model"))
    path, _ = fitted
    result = told("info", path)
    assert result["facts"]["classes"] == ["setosa", "versicolor", "virginica"]
    assert result["facts"]["parameters"]["sigma"] == 0.65
    assert (result["facts"]["n_samples"], result["facts"]["n_components"]) == (75, 2)
    assert result["metadata"]["columns"] == COLUMNS
    assert (result["nsse"], result["bytes"]) == (nsse.__version__, path.stat().st_size)
    shown = run("info", path).stdout
    assert "75 samples, 4 features → 2 dimensions" in shown
    assert "setosa, versicolor, virginica" in shown


@pytest.mark.slow
def test_export_writes_a_graph_that_agrees(iris, fitted, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX: pip install 'nsse[onnx]'")
    pytest.importorskip("skl2onnx", reason="ONNX: pip install 'nsse[onnx]'")
    _, _, _, X_new, _ = iris
    result = told("export", fitted[0], "--onnx", tmp_path / "m.onnx", "--dtype", "float64")
    assert (result["outputs"], result["opset"]) == (["embedding", "label", "probabilities"], 17)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    embedding, label, _ = session.run(None, {"X": X_new})
    model = nsse.load(fitted[0])
    np.testing.assert_allclose(embedding, model.transform(X_new), atol=1e-9)
    assert label.tolist() == model.predict(X_new).tolist()


@pytest.mark.slow
def test_report_writes_a_page(photos, tmp_path):
    run("fit", photos / "train", "--out", tmp_path / "m.nsse")
    result = told("report", tmp_path / "m.nsse", photos / "test", "--out", tmp_path / "page.html")
    assert (result["n_train"], result["n_shown"]) == (30, 15)
    assert result["bytes"] == (tmp_path / "page.html").stat().st_size


@pytest.mark.slow
def test_datasets_lists_and_writes(tmp_path, monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    shown = run("datasets").stdout
    assert "https://cave.cs.columbia.edu/repository/COIL-20 → $NSSE_DATA/coil-20-proc" in shown
    assert [one["name"] for one in told("datasets")["datasets"]][:2] == ["digits", "objects"]
    out = tmp_path / "digits"
    result = told("datasets", "digits", "--out", out, "--train", 5)
    assert result == {"name": "digits", "out": str(out), "n_classes": 10, "train": 50, "test": 1747}
    assert sorted(path.name for path in out.iterdir()) == ["test", "train"]
    train, test = (load_inputs(out / part, size=None, unit_norm=False) for part in ("train", "test"))
    digits = load_dataset("digits")
    written = np.vstack([train.X, test.X])
    order = NearestNeighbors(n_neighbors=1).fit(written).kneighbors(digits.X)[0]
    assert order.max() < 8 * 0.5 / 255  # every digit is there, to half a grey level per pixel
    assert "name a new folder" in run("datasets", "digits", "--out", out, code=2).stderr


def test_voters_fitted_to_a_frame_take_plain_rows(iris, tmp_path):
    """Columns are compared by name once; no voter asks for them again."""
    pandas = pytest.importorskip("pandas")
    folder, X, y, X_new, _ = iris
    search = nsse.NSSECV(n_repeats=8, n_voters=3)
    search.fit(pandas.DataFrame(X, columns=COLUMNS), y)
    assert len(search.voters_) > 1
    nsse.save(search, tmp_path / "m.nsse")
    result = run("predict", tmp_path / "m.nsse", folder / "test.csv", "--ignore", "species", "--json")
    assert result.stderr.count("warning") == 0
    told_labels = [row["label"] for row in json.loads(result.stdout)["predictions"]]
    assert told_labels == search.predict(pandas.DataFrame(X_new, columns=COLUMNS)).tolist()


def test_help_names_the_defaults_that_nsse_has():
    shown = " ".join(run("fit", "--help").stdout.replace("│", " ").split())
    model = nsse.NSSE()
    assert f"(default: {model.shrinkage:g}; --tune chooses)" in shown
    assert f"(default: {model.sigma:g}; --tune chooses)" in shown
