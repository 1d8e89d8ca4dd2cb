"""Samples without a label: what they are, what they change, and what they leave alone."""

import numpy as np
import oracles_unlabeled
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from conftest import blobs_of
from nsse import NSSE
from nsse.graphs import PartlyLabeledGraph, ShiftedGraph, all_rows_affinity, gaussian_affinity
from nsse.kernels import squared_distances
from nsse.landmarks.smoothness import neighbor_graph
from nsse.solvers import Objective, Problem, solve_pencil
from nsse.solvers.factors import factorize, stacked_qr

DIGITS = load_digits(return_X_y=True)


def partly(counts=(12, 15, 11), n_features=4, n_labeled=4, seed=0, spread=1.2):
    """Samples in no order, their labels, and labels of which only some of every class are left."""
    blobs = blobs_of(counts, n_features, seed, spread)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(blobs.codes))
    X, y = blobs.X[order], blobs.codes[order]
    few = np.full(len(y), -1)
    for c in range(len(counts)):
        some = np.flatnonzero(y == c)[:n_labeled]
        few[some] = c
    return X, y, few


def few_digits(n_labeled=10, n_samples=700):
    X, y = DIGITS[0][:n_samples], DIGITS[1][:n_samples]
    few = np.full(n_samples, -1)
    for c in range(10):
        few[np.flatnonzero(y == c)[:n_labeled]] = c
    return X, y, few


# Oracles


@pytest.mark.parametrize("params", [{}, {"n_landmarks": 20}, {"sigma": None}])
def test_without_such_samples_it_is_supervised_to_the_bit(params):
    X, y, _ = partly()
    plain = NSSE(**params).fit(X, y)
    marked = NSSE(unlabeled=-1, mu4=3.0, **params).fit(X, y)
    np.testing.assert_array_equal(marked.coef_, plain.coef_)
    np.testing.assert_array_equal(marked.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(marked.transduction_, y)


def test_minus_one_is_a_label_unless_it_is_the_marker():
    X, _, few = partly()
    assert -1 in NSSE().fit(X, few).classes_
    assert -1 not in NSSE(unlabeled=-1).fit(X, few).classes_


@pytest.mark.parametrize("metric", ["euclidean", "within"])
def test_no_weight_and_centres_at_labelled_samples_is_supervised(metric):
    X, y, few = partly()
    own = np.flatnonzero(few >= 0)
    model = NSSE(unlabeled=-1, mu4=0.0, landmarks=own, metric=metric).fit(X, few)
    supervised = NSSE(metric=metric).fit(X[own], y[own])
    np.testing.assert_allclose(model.transform(X), supervised.transform(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), supervised.predict(X))
    assert model.objective_ == pytest.approx(supervised.objective_, rel=1e-9)
    assert model.sigma_ == pytest.approx(supervised.sigma_, rel=1e-12)


WEIGHTS = {"mu1": 0.7, "mu2": 0.4, "mu3": 0.3, "mu4": 2.5, "sigma": 1.7, "n_neighbors": 2}
LITERAL = WEIGHTS | {"length_unit": 1.0, "metric": "euclidean", "embedding_scale": "orthonormal"}


@pytest.mark.parametrize("counts", [(7, 8), (6, 5, 7)], ids=["two classes", "three"])
@pytest.mark.parametrize("centres", ["all samples", "some of them"])
def test_it_minimises_the_literal_objective(counts, centres):
    X, _, few = partly(counts, n_labeled=3, seed=3)
    labeled = few >= 0
    Z = X if centres == "all samples" else X[1::3]
    where = {} if centres == "all samples" else {"landmarks": np.arange(1, len(X), 3)}
    model = NSSE(unlabeled=-1, **LITERAL, **where).fit(X, few)
    C = model.coef_
    told = oracles_unlabeled.objective(X, few[labeled], labeled, C, Z=Z, **WEIGHTS)
    assert model.objective_ == pytest.approx(told, rel=1e-9)
    values, Y = oracles_unlabeled.solved(X, few[labeled], labeled, len(counts) - 1, Z=Z, **WEIGHTS)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-7)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(Y), atol=1e-7)
    assert sum(values) + 0.3 / 1.7**2 == pytest.approx(model.objective_, rel=1e-8)


def test_all_samples_as_landmarks_are_the_exact_fit():
    X, _, few = partly((40, 35, 30), n_features=6)
    exact = NSSE(unlabeled=-1).fit(X, few)
    centres = NSSE(unlabeled=-1, landmarks=np.arange(len(X))).fit(X, few)
    np.testing.assert_allclose(centres.embedding_, exact.embedding_, atol=1e-7)
    np.testing.assert_array_equal(centres.transduction_, exact.transduction_)
    assert centres.classifier_.temperature == pytest.approx(exact.classifier_.temperature, rel=1e-5)


@pytest.mark.parametrize("params", [{}, {"class_weight": "balanced", "mu4": 5.0}])
def test_the_order_of_samples_does_not_matter(params):
    X, _, few = partly((20, 30, 25))
    order = np.random.default_rng(1).permutation(len(X))
    here = NSSE(unlabeled=-1, **params).fit(X, few)
    there = NSSE(unlabeled=-1, **params).fit(X[order], few[order])
    np.testing.assert_allclose(there.embedding_, here.embedding_[order], atol=1e-9)
    np.testing.assert_array_equal(there.transduction_, here.transduction_[order])


def test_chunks_do_not_matter():
    X, _, few = few_digits()
    params = {"unlabeled": -1, "landmarks": X[::9]}
    whole = NSSE(**params).fit(X, few)
    for size in (97, 350):
        cut = [(X[i : i + size], few[i : i + size]) for i in range(0, len(X), size)]
        blocks = NSSE(**params).fit_blocks(cut)
        np.testing.assert_array_equal(blocks.coef_, whole.coef_)
        np.testing.assert_array_equal(blocks.transduction_, whole.transduction_)


def test_dask_gives_the_model_of_the_array():
    da = pytest.importorskip("dask.array")
    X, _, few = few_digits()
    params = {"unlabeled": -1, "landmarks": X[::9]}
    whole = NSSE(**params).fit(X, few)
    lazy = NSSE(**params).fit(da.from_array(X, chunks=(123, -1)), da.from_array(few, chunks=200))
    np.testing.assert_array_equal(lazy.coef_, whole.coef_)


@pytest.mark.parametrize("counts", [(14, 9), (9, 12, 10)], ids=["two classes", "three"])
def test_the_temperature_is_that_of_labels_left_out(counts):
    """Each label is taken away by itself and the regression solved again, by least squares."""
    X, _, few = partly(counts, n_labeled=5)
    labeled = few >= 0
    mu2, mu4, sigma = 0.3, 4.0, 1.5
    params = {"mu2": mu2, "mu4": mu4, "sigma": sigma, "length_unit": 1.0, "metric": "euclidean"}
    model = NSSE(unlabeled=-1, **params).fit(X, few)
    K = oracles_unlabeled.kernel(X, X, sigma)
    W = oracles_unlabeled.neighbor_weights(X, 3)
    D = np.diag(W.sum(axis=1))
    L = (D - W) / (W.sum() / len(X))
    own, codes = np.flatnonzero(labeled), few[labeled]
    n, M = len(own), len(counts)
    pull = n / M
    penalty = mu2 / pull * np.eye(len(X)) + mu4 / pull * K @ L @ K
    features, constant = K, M == 2
    if constant:
        features = np.c_[K, np.ones(len(X))]
        penalty = np.block([[penalty, np.zeros((len(X), 1))], [np.zeros((1, len(X))), np.eye(1)]])
    scores = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        shares = np.bincount(codes[rest], minlength=M) / len(rest)
        targets = np.eye(M)[codes[rest]] - shares
        A = features[own[rest]]
        c = np.linalg.solve(A.T @ A + penalty, A.T @ targets)
        scores.append(shares + features[own[i]] @ c)
    from nsse.extensions import fitted_temperature

    expected = fitted_temperature(np.array(scores), codes, np.ones(n))
    assert model.classifier_.temperature == pytest.approx(expected, rel=1e-6)


def test_neighbours_by_panels_are_those_of_all_distances():
    X, _ = DIGITS
    X = X[:600].astype(np.float64)
    W = all_rows_affinity(squared_distances(X), 3)
    by_panels = neighbor_graph(X, 3)
    assert abs(W - by_panels).max() < 1e-12
    sparse_rows = neighbor_graph(sparse.csr_array(X), 3)
    assert abs(W - sparse_rows).max() < 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_the_root_is_that_of_s(weighted):
    """FF' = S: for a QR factorisation, which must give what a Cholesky factorisation does."""
    blobs = blobs_of((6, 5), 3)
    codes, rng = np.repeat([0, 1], [3, 2]), np.random.default_rng(0)
    X = blobs.X
    weights = rng.uniform(0.5, 2.0, 5) if weighted else None
    D2 = squared_distances(X)
    own = gaussian_affinity(D2[:5, :5], codes, 2, None, weights)
    labeled = ShiftedGraph.from_affinity(own, codes, 0.8, 0.5, weights)
    graph = PartlyLabeledGraph.of(labeled, all_rows_affinity(D2, 3), 1.7)
    A = rng.standard_normal((len(X), len(X)))
    root = graph.root_times(np.eye(len(X)))
    np.testing.assert_allclose(root.T @ root, graph.apply(np.eye(len(X))), atol=1e-10)
    np.testing.assert_allclose(graph.quadratic(A), A.T @ graph.apply(A), atol=1e-9)
    problem = Problem(D2, graph, Objective(0.8, 0.1, 0.1, 1, "classes"))
    kernel = problem.kernel(1.0)
    R, Q = factorize(kernel, graph, 0.1).R, stacked_qr(kernel.K, graph, 0.1).R
    np.testing.assert_allclose(np.triu(Q).T @ np.triu(Q), np.triu(R).T @ np.triu(R), atol=1e-9)


def test_the_slope_is_that_of_the_objective():
    X, _, few = partly()
    order = np.argsort(np.where(few < 0, 9, few), kind="stable")
    codes, D2 = few[order][few[order] >= 0], squared_distances(X[order])
    n = len(codes)
    own = gaussian_affinity(D2[:n, :n], codes, 2)
    graph = PartlyLabeledGraph.of(
        ShiftedGraph.from_affinity(own, codes, 1.0, 0.3), all_rows_affinity(D2, 3), 2.0
    )
    problem = Problem(D2, graph, Objective(1.0, 0.1, 0.2, 2, "classes"))
    h = 1e-4
    up, down = (solve_pencil(problem, 1.5 * np.exp(s)).excess for s in (h, -h))
    assert solve_pencil(problem, 1.5).slope == pytest.approx((up - down) / (2 * h), rel=1e-5)


# What a user sees


def test_labels_are_given_to_all_samples():
    X, y, few = few_digits()
    model = NSSE(unlabeled=-1).fit(X, few)
    unlabeled = few < 0
    np.testing.assert_array_equal(model.labels_, few)
    np.testing.assert_array_equal(model.transduction_[~unlabeled], y[~unlabeled])
    np.testing.assert_array_equal(model.transduction_[unlabeled], model.predict(X[unlabeled]))
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    assert model.embedding_.shape == (len(X), 9)
    wrong = np.mean(model.transduction_ != y)
    supervised = NSSE().fit(X[~unlabeled], y[~unlabeled])
    assert wrong < 0.6 * np.mean(supervised.predict(X) != y)


@pytest.mark.parametrize("classifier", ["nearest", LogisticRegression()])
def test_other_classifiers_know_labelled_samples_only(classifier):
    X, y, few = few_digits(n_samples=400)
    model = NSSE(unlabeled=-1, classifier=classifier).fit(X, few)
    assert set(model.classifier_.classes_) == set(range(10))
    assert np.mean(model.transduction_ != y) < 0.12


def test_words_are_labels_too():
    X, _, few = partly()
    names = np.array(["ant", "bee", "cat"])
    words = np.where(few < 0, "", names[few])
    model = NSSE(unlabeled="").fit(X, words)
    np.testing.assert_array_equal(model.classes_, names)
    np.testing.assert_array_equal(model.labels_, words)
    numbers = NSSE(unlabeled=-1).fit(X, few)
    np.testing.assert_array_equal(model.transduction_, names[numbers.transduction_])


def test_single_precision_and_sparse_rows():
    X, _, few = few_digits()
    exact = NSSE(unlabeled=-1).fit(X, few)
    as_sparse = NSSE(unlabeled=-1).fit(sparse.csr_array(X), few)
    np.testing.assert_allclose(as_sparse.embedding_, exact.embedding_, atol=1e-8)
    single = NSSE(unlabeled=-1, landmarks=np.arange(0, len(X), 2)).fit(X.astype(np.float32), few)
    double = NSSE(unlabeled=-1, landmarks=np.arange(0, len(X), 2)).fit(X, few)
    assert single.embedding_.dtype == np.float32
    assert np.mean(single.transduction_ != double.transduction_) < 0.01
    plain = {"unlabeled": -1, "metric": "euclidean", "n_landmarks": 100}
    NSSE(**plain).fit(sparse.csr_array(X), few)


def test_units_of_the_samples_do_not_matter():
    X, _, few = few_digits(n_samples=300)
    here, there = (NSSE(unlabeled=-1).fit(scale * X, few) for scale in (1.0, 1e3))
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-8)


def test_copies_are_rows_of_the_graph_too():
    X, _, few = partly((20, 20, 20))
    made = lambda rows: [rows + 0.01, rows - 0.01]  # noqa: E731
    model = NSSE(unlabeled=-1, invariances=made).fit(X, few)
    assert model.embedding_.shape[0] == len(X)
    assert model.n_landmarks_ == 3 * len(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    few_centers = NSSE(unlabeled=-1, invariances=made, n_landmarks=30).fit(X, few)
    assert few_centers.embedding_.shape[0] == len(X)
    assert np.mean(few_centers.transduction_ == model.transduction_) > 0.9


def test_the_objective_chooses_sigma_too():
    X, _, few = partly((20, 20, 20))
    joint = NSSE(unlabeled=-1, sigma=None).fit(X, few)
    for factor in (0.8, 1.25):
        near = joint.sigma_ / joint.length_unit_ * factor
        moved = NSSE(unlabeled=-1, sigma=near).fit(X, few)
        assert moved.objective_ >= joint.objective_ * (1 - 1e-9)
    alternating = NSSE(unlabeled=-1, sigma=None, solver="alternating").fit(X, few)
    assert alternating.objective_ >= joint.objective_ * (1 - 1e-6)


def test_radii_hold():
    X, _, few = partly((20, 20, 20))
    model = NSSE(unlabeled=-1).fit(X, few)
    radii = model.certified_radius(X)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.standard_normal(X.shape)
        step *= 0.999 * radii[:, np.newaxis] / np.linalg.norm(step, axis=1, keepdims=True)
        np.testing.assert_array_equal(model.predict(X + step), model.predict(X))
    assert np.median(radii) > 0


# What is refused


def test_a_marker_that_no_row_has_marks_nothing_but_must_be_of_the_kind():
    X, y, _ = partly()
    np.testing.assert_array_equal(NSSE(unlabeled=99).fit(X, y).transduction_, y)
    with pytest.raises(ValueError, match="`unlabeled` must be of the kind of the labels, numbers"):
        NSSE(unlabeled="-1").fit(X, y)
    with pytest.raises(ValueError, match="`unlabeled` must be of the kind of the labels, strings"):
        NSSE(unlabeled=-1).fit(X, np.array(["a", "b", "c"])[y])


def test_a_class_without_any_label_does_not_exist():
    X, _, few = partly()
    model = NSSE(unlabeled=-1).fit(X, np.where(few == 2, -1, few))
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert set(model.transduction_) <= {0, 1}


def test_the_graph_is_counted_in_the_memory():
    """All rows once more as they are measured, at least."""
    shape = (60_000, 784, 10)
    alone = NSSE(n_landmarks=2000).estimate_memory(*shape)
    with_graph = NSSE(n_landmarks=2000, unlabeled=-1).estimate_memory(*shape)
    assert with_graph >= alone + 4 * 60_000 * 784
    assert with_graph < 3 * 2**30
