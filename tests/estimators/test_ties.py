"""Where distances tie: the smallest index wins, whatever the units, the batch and the route."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import nsse
from nsse import LDE, NSSE, SUPLAP
from nsse.certificates import decision_of
from nsse.extensions import NearestSample, nearest_rows
from nsse.graphs import nearest
from nsse.kernels import squared_distances

UNITS = [1000.0, 1 / 3, 0.1, 7e-4, 2.0**20]


def on_a_grid(n_samples, n_features, n_values, seed=0):
    """Whole numbers: their squared distances are exact, and often equal."""
    return np.random.default_rng(seed).integers(0, n_values, (n_samples, n_features))


def contradictions(n_features, seed=0):
    """Samples that occur again and again, with any label."""
    X = on_a_grid(250, n_features, 2, seed).astype(float)
    return X, np.random.default_rng(seed + 1).integers(0, 3, 250)


def exact_squares(A, B):
    return ((A[:, np.newaxis] - B) ** 2).sum(axis=2)


def first_neighbors(D2, k):
    """By value and then by index, oneself left out: the definition, in exact arithmetic."""
    N = len(D2)
    return {
        (i, j) for i in range(N) for j in sorted(set(range(N)) - {i}, key=lambda j: (D2[i, j], j))[:k]
    }


@pytest.mark.parametrize("unit", [1.0, *UNITS])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_neighbors_are_taken_by_value_and_then_by_index(unit, offset):
    whole = on_a_grid(150, 3, 5)
    expected = first_neighbors(exact_squares(whole, whole), 4)
    everyone = np.arange(150)
    D2 = squared_distances((whole + offset) * unit)
    assert set(zip(*nearest(D2, everyone, everyone, 4), strict=True)) == expected


def test_neighbors_among_some_candidates():
    whole = on_a_grid(80, 2, 6)
    rows, candidates = np.arange(0, 80, 3), np.arange(0, 80, 2)
    D2 = exact_squares(whole, whole)
    expected = {
        (i, j) for i in rows for j in sorted(set(candidates) - {i}, key=lambda j: (D2[i, j], j))[:3]
    }
    found = nearest(squared_distances(whole / 3.0), rows, candidates, 3)
    assert set(zip(*found, strict=True)) == expected


def test_a_far_sample_does_not_make_others_tie():
    X = np.random.default_rng(0).normal(size=(60, 2))
    D2 = squared_distances(np.vstack([X, [[1e6, 0.0]]]))
    expected = first_neighbors(exact_squares(X, X), 3)
    rows = np.arange(60)
    assert set(zip(*nearest(D2, rows, rows, 3), strict=True)) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 3, 20], ids=lambda d: f"d={d}")
def test_the_reader_takes_the_same_for_a_point_alone(n_components, dtype):
    """Where one sample is clearly nearest no tie is looked for; of several the first is taken."""
    rng = np.random.default_rng(4)
    Y, Z = on_a_grid(120, n_components, 3, 1), on_a_grid(40, n_components, 4, 2) * 1.0
    Z[::2] += rng.normal(scale=0.1, size=Z[::2].shape)  # these tie with none
    reader = NearestSample().fit(Y.astype(dtype) / 3, np.arange(120) // 3)
    Z = Z.astype(dtype) / 3
    together = reader.predict(Z)
    np.testing.assert_array_equal([reader.predict(z[np.newaxis])[0] for z in Z], together)
    np.testing.assert_array_equal([reader.labels_of(z[np.newaxis])[0] for z in Z], together)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 3, 20], ids=lambda d: f"d={d}")  # trees, and none
@pytest.mark.parametrize("unit", [1.0, 1 / 3, 0.1, 1e-6])
def test_the_reader_takes_the_first_of_the_nearest(unit, n_components, dtype):
    Y, Z = on_a_grid(120, n_components, 3, 1), on_a_grid(70, n_components, 4, 2)
    y = np.random.default_rng(3).integers(0, 5, 120)
    first = exact_squares(Z, Y).argmin(axis=1)
    points, new = (Y * unit).astype(dtype), (Z * unit).astype(dtype)
    np.testing.assert_array_equal(nearest_rows(new, points), first)
    reader = NearestSample().fit(points, y)
    np.testing.assert_array_equal(reader.predict(new), y[first])
    np.testing.assert_array_equal(reader.predict_proba(new), np.eye(5)[y[first]])
    alone = [reader.predict(row[np.newaxis])[0] for row in new]
    np.testing.assert_array_equal(alone, y[first])


@pytest.mark.slow
@pytest.mark.parametrize("n_components", [None, 1])
def test_units_do_not_matter_on_iris(n_components):
    X, y = load_iris(return_X_y=True)
    # One component of iris is ill-conditioned, and says so.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = NSSE.as_published(n_components).fit(X[::2], y[::2])
        others = {unit: NSSE.as_published(n_components).fit(X[::2] * unit, y[::2]) for unit in UNITS}
    atol = 1e-8 * np.abs(here.embedding_).max()
    for unit, there in others.items():
        np.testing.assert_array_equal(there.predict(X[1::2] * unit), here.predict(X[1::2]))
        assert there.sigma_ == pytest.approx(here.sigma_ * unit, rel=1e-8)
        np.testing.assert_allclose(there.embedding_, here.embedding_, rtol=0, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        NSSE.as_published(),
        NSSE.as_published(1),
        NSSE.as_published(20),
        NSSE.as_published(2, n_landmarks=60),
        SUPLAP(2, sigma=1.0),
        LDE(2),
    ],
    ids=str,
)
def test_units_do_not_matter_where_labels_contradict(model):
    X, y = contradictions(6)
    expected = model.fit(X, y).predict(X)
    for unit in UNITS:
        np.testing.assert_array_equal(model.fit(X * unit, y).predict(X * unit), expected, f"{unit=}")


@pytest.mark.parametrize("n_components", [2, 20])
def test_a_sample_that_occurs_twice_gets_the_label_of_the_first(n_components):
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(75, 20)), (2, 1))
    y = rng.integers(0, 3, 150)
    model = NSSE.as_published(n_components).fit(X, y)
    together = model.predict(X)
    np.testing.assert_array_equal(together, np.tile(y[:75], 2))
    np.testing.assert_array_equal([model.predict(x[np.newaxis])[0] for x in X], together)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [2, 20])
def test_a_graph_in_onnx_takes_the_first(n_components, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y = contradictions(6)
    model = NSSE.as_published(n_components).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nsse.exports.PrecisionWarning)
        graph = nsse.to_onnx(model, dtype).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (label,) = session.run(["label"], {"X": X.astype(dtype)})
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.slow
def test_a_model_with_ties_is_saved_and_loaded(tmp_path):
    pytest.importorskip("skops")
    X, y = contradictions(6)
    model = NSSE.as_published(2).fit(X, y)
    nsse.save(model, tmp_path / "model.skops")
    loaded = nsse.load(tmp_path / "model.skops")
    assert type(loaded.classifier_) is NearestSample
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_nothing_is_certified_where_labels_contradict():
    """The first of two equal samples decides, but rounding elsewhere may not: no radius is claimed."""
    X, y = contradictions(4)
    model = NSSE.as_published(2).fit(X, y)
    assert decision_of(model).tie is not None
    np.testing.assert_array_equal(model.certified_radius(X), 0.0)
