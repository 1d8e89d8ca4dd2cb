"""NSSE(spread=): labels along the graph of all samples, then a map of all of them."""

import numpy as np
import oracles_unlabeled
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

from conftest import blobs_of
from nsse import NSSE
from nsse.landmarks import ArrayRows, NeighborGraph
from nsse.solvers.label_spread import PRICE

DIGITS = load_digits(return_X_y=True)


def partly(counts=(22, 25, 21), seed=0):
    """Samples in no order, their labels, and labels of which four of every class are left."""
    blobs = blobs_of(counts, 4, seed, 1.2)
    order = np.random.default_rng(seed).permutation(len(blobs.codes))
    X, y = blobs.X[order], blobs.codes[order]
    few = np.full(len(y), -1)
    for c in range(len(counts)):
        few[np.flatnonzero(y == c)[:4]] = c
    return X, y, few


def few_digits(n_samples=700):
    X, y = DIGITS[0][:n_samples], DIGITS[1][:n_samples]
    few = np.full(n_samples, -1)
    for c in range(10):
        few[np.flatnonzero(y == c)[:10]] = c
    return X, y, few


def literal_labels(X, few, kappa):
    """By loops for the graph, and a dense system for the scores."""
    W = oracles_unlabeled.neighbor_weights(X, 3)
    own = np.flatnonzero(few >= 0)
    A = kappa * (np.diag(W.sum(axis=1)) - W) / (W.sum() / len(X)) + PRICE * np.eye(len(X))
    A[own, own] += 1.0
    M = few.max() + 1
    B = np.zeros((len(X), M))
    B[own] = np.eye(M)[few[own]] - np.bincount(few[own]) / len(own)
    F = np.linalg.solve(A, B)
    labels = ((F - F.mean(axis=0)) / F.std(axis=0)).argmax(axis=1)
    labels[own] = few[own]
    return labels


@pytest.mark.parametrize("params", [{}, {"landmarks": np.arange(0, 68, 2)}])
def test_it_is_nsse_of_the_labels_that_a_literal_definition_gives(params):
    X, _, few = partly()
    labels = literal_labels(X, few, 2.0)
    model = NSSE(unlabeled=-1, spread=2.0, metric="euclidean", **params).fit(X, few)
    plain = NSSE(metric="euclidean", **params).fit(X, labels)
    np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, few)
    np.testing.assert_array_equal(model.is_labeled_, few >= 0)
    hidden = few < 0
    np.testing.assert_array_equal(model.transduction_[hidden], plain.predict(X[hidden]))
    np.testing.assert_array_equal(model.transduction_[~hidden], few[~hidden])


def test_the_graph_is_in_the_metric_of_the_labelled_samples():
    X, _, few = partly()
    own = few >= 0
    metric = NSSE().fit(X[own], few[own]).metric_
    labels = literal_labels(metric.transform(X), few, 1.0)
    model = NSSE(unlabeled=-1, spread=1.0).fit(X, few)
    np.testing.assert_allclose(model.embedding_, NSSE().fit(X, labels).embedding_, atol=1e-10)


def test_without_samples_that_lack_a_label_it_is_supervised_to_the_bit():
    X, y, _ = partly()
    np.testing.assert_array_equal(NSSE(unlabeled=-1, spread=1.0).fit(X, y).coef_, NSSE().fit(X, y).coef_)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_order_of_samples_does_not_matter(class_weight):
    X, _, few = partly()
    order = np.random.default_rng(1).permutation(len(X))
    params = {"unlabeled": -1, "spread": 1.0, "class_weight": class_weight}
    here, there = NSSE(**params).fit(X, few), NSSE(**params).fit(X[order], few[order])
    np.testing.assert_allclose(there.embedding_, here.embedding_[order], atol=1e-8)
    np.testing.assert_array_equal(there.transduction_, here.transduction_[order])


def test_chunks_and_dask_do_not_matter():
    da = pytest.importorskip("dask.array")
    X, _, few = few_digits()
    params = {"unlabeled": -1, "spread": 1.0, "landmarks": X[::9]}
    whole = NSSE(**params).fit(X, few)
    for size in (97, 350):
        cut = [(X[i : i + size], few[i : i + size]) for i in range(0, len(X), size)]
        np.testing.assert_array_equal(NSSE(**params).fit_blocks(cut).coef_, whole.coef_)
    lazy = NSSE(**params).fit(da.from_array(X, chunks=(123, -1)), da.from_array(few, chunks=200))
    np.testing.assert_array_equal(lazy.coef_, whole.coef_)


def test_single_precision_and_sparse_rows():
    X, y, few = few_digits()
    params = {"unlabeled": -1, "spread": 1.0, "landmarks": np.arange(0, len(X), 2)}
    double = NSSE(**params).fit(X, few)
    single = NSSE(**params).fit(X.astype(np.float32), few)
    assert single.embedding_.dtype == np.float32
    assert np.mean(single.transduction_ != double.transduction_) < 0.01
    as_sparse = NSSE(**params).fit(sparse.csr_array(X), few)
    assert np.mean(as_sparse.transduction_ != double.transduction_) < 0.01
    assert np.mean(double.transduction_ != y) < 0.06


def test_units_of_the_samples_do_not_matter():
    X, _, few = partly()
    here, there = (NSSE(unlabeled=-1, spread=1.0).fit(s * X, few) for s in (1.0, 1e-8))
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-6)


def test_rows_that_no_path_joins_to_a_label_take_that_of_the_nearest():
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [50.0, 0.0], [60.0, 0.0]])
    X = np.repeat(middles, [20, 20, 20], axis=0) + rng.standard_normal((60, 2))
    graph = NeighborGraph.of(ArrayRows(X), np.array([0, 20]), 3)
    labels = graph.labels(np.array([0, 20]), np.array([0, 1]), 2, 1.0)
    # Islands make more islands; what matters is that the third, of which no row has a label, has one.
    np.testing.assert_array_equal(labels[40:], 1)
    np.testing.assert_array_equal(labels[:40], np.repeat([0, 1], 20))


def test_copies_are_made_of_all_samples():
    X, _, few = partly()
    made = lambda rows: [rows + 0.01, rows - 0.01]  # noqa: E731
    model = NSSE(unlabeled=-1, spread=1.0, invariances=made).fit(X, few)
    assert model.embedding_.shape[0] == len(X)
    assert model.n_landmarks_ == 3 * len(X)
    assert model.transduction_.shape == (len(X),)


def test_words_are_labels_too():
    X, _, few = partly()
    names = np.array(["ant", "bee", "cat"])
    model = NSSE(unlabeled="", spread=1.0).fit(X, np.where(few < 0, "", names[few]))
    numbers = clone(model).set_params(unlabeled=-1).fit(X, few)
    np.testing.assert_array_equal(model.transduction_, names[numbers.transduction_])


def test_the_graph_is_counted_in_the_memory():
    """All rows once more as they are measured, at least."""
    alone = NSSE(n_landmarks=2000).estimate_memory(60_000, 784)
    model = NSSE(n_landmarks=2000, unlabeled=-1, spread=1.0)
    assert alone + 4 * 60_000 * 784 <= model.estimate_memory(60_000, 784) < 3 * 2**30
