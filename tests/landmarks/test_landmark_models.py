"""What a fitted model with landmarks shares with every other: bits, files, graphs, certificates."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import nsse
from nsse import NSSE, NSSECV
from nsse.landmarks import kept, moments


@pytest.fixture(scope="module")
def images():
    """Digits, 0 to 16."""
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module", params=[np.float32, np.float64, np.uint8], ids=lambda t: t.__name__)
def fitted(request, images):
    """A model of images in some type, and images it has not seen."""
    X, y = images[0].astype(request.param), images[1]
    model = NSSE.as_published(n_landmarks=150, classifier=KNeighborsClassifier(5)).fit(X[::2], y[::2])
    return model, X[1::2], y[1::2]


def test_embedding_is_the_map_at_the_samples_to_the_precision_of_the_fit(fitted, images):
    model, X, _ = fitted
    samples = images[0][::2].astype(X.dtype)
    scale = np.abs(model.embedding_).max()
    tolerance = 1e-5 if model.condition_.precision == "float32" else 0.0
    np.testing.assert_allclose(
        model.embedding_, model.transform(samples), rtol=0, atol=tolerance * scale
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", ["mixed", "sorted by class"])
def test_embedding_is_the_same_whether_kernel_rows_are_kept_or_not(images, order, monkeypatch):
    """Two routes: K̂C and what the references contribute, or distances computed once more."""
    X, y = images[0].astype(np.float32), images[1]
    if order != "mixed":
        X, y = X[np.argsort(y)], np.sort(y)
    monkeypatch.setattr(moments, "BLOCK_ROWS", 500)
    model = NSSE.as_published(n_landmarks=150, random_state=0)
    with_rows = model.fit(X, y).embedding_
    monkeypatch.setattr(kept, "KEPT_BYTES", 0)
    without = model.fit(X, y).embedding_
    assert not np.array_equal(with_rows, without)  # else both are the same route
    np.testing.assert_allclose(with_rows, without, rtol=0, atol=1e-5 * np.abs(without).max())


def test_memory_counts_the_rows_that_are_kept(monkeypatch):
    model = NSSE.as_published(n_landmarks=3000)
    held = model.estimate_memory(60_000, 784)
    of_too_many = model.estimate_memory(97_000, 784)
    monkeypatch.setattr(kept, "KEPT_BYTES", 0)
    assert held - model.estimate_memory(60_000, 784) == (60_000 - moments.BLOCK_ROWS) * 3000 * 4
    assert of_too_many == model.estimate_memory(97_000, 784)


def test_files(fitted, tmp_path):
    pytest.importorskip("skops", reason="model files need skops: pip install 'nsse[files]'")
    model, X, _ = fitted
    nsse.save(model, tmp_path / "model.nsse")
    again = nsse.load(tmp_path / "model.nsse")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.condition_ == model.condition_
    assert again.n_landmarks_ == 150


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_graphs(fitted, dtype):
    pytest.importorskip("skl2onnx", reason="ONNX needs skl2onnx: pip install 'nsse[onnx]'")
    runtime = pytest.importorskip("onnxruntime", reason="graphs are run in onnxruntime: 'nsse[onnx]'")
    model, X, _ = fitted
    graph = nsse.to_onnx(model, dtype)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    embedding, labels = session.run(["embedding", "label"], {"X": X.astype(dtype)})
    tolerance = 1e-12 if dtype is np.float64 and X.dtype != np.float32 else 1e-4
    scale = np.abs(model.embedding_).max()
    np.testing.assert_allclose(embedding, model.transform(X), rtol=0, atol=tolerance * scale)
    assert np.mean(labels == model.predict(X)) > 0.995


def test_no_label_changes_within_its_certified_radius(fitted):
    model, X, _ = fitted
    X = X[:60].astype(np.float64)
    radii, labels = model.certified_radius(X), model.predict(X)
    assert np.median(radii) > 0
    rng = np.random.default_rng(0)
    for x, radius, label in zip(X, radii, labels, strict=True):
        directions = np.vstack([rng.standard_normal((30, 64)), model.centers_[:30] - x])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        np.testing.assert_array_equal(model.predict(x + 0.999 * radius * directions), label)


def test_bounds_of_the_map_hold(fitted):
    """The largest slope found lies below every bound of it."""
    from nsse.certificates import lipschitz_bounds

    model, X, _ = fitted
    bounds = lipschitz_bounds(model, X[:40].astype(np.float64))
    assert 0 < bounds.empirical <= bounds.rkhs <= bounds.row_sum


def test_votes_do_not_depend_on_the_index(fitted, images):
    """scikit-learn's rule: a tree in few dimensions, all distances in many."""
    model, X, _ = fitted
    assert model.classifier_.algorithm == "auto"
    other = {
        name: KNeighborsClassifier(5, algorithm=name)
        .fit(model.embedding_, images[1][::2])
        .predict(model.transform(X))
        for name in ("kd_tree", "brute")
    }
    np.testing.assert_array_equal(other["kd_tree"], model.predict(X))
    np.testing.assert_array_equal(other["brute"], model.predict(X))


def test_chosen_models_too(digits, tmp_path):
    pytest.importorskip("skops", reason="model files need skops: pip install 'nsse[files]'")
    X, y = digits
    search = NSSECV(NSSE(n_landmarks=60), n_subsample=200, n_repeats=2)
    search.fit(X[::2], y[::2])
    nsse.save(search, tmp_path / "search.nsse")
    again = nsse.load(tmp_path / "search.nsse")
    np.testing.assert_array_equal(again.predict(X[1::2]), search.predict(X[1::2]))
    np.testing.assert_array_equal(again.certified_radius(X[1:40:2]), search.certified_radius(X[1:40:2]))
