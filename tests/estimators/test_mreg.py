"""MReg: normal equations, objective, kernel ridge as its limit, and samples without a label."""

from __future__ import annotations

import numpy as np
import oracles_mreg as oracle
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from nsse import MReg
from nsse.graphs.unsupervised import neighbor_laplacian
from nsse.solvers.lap_rls import solve_lap_rls


def kernel(X, sigma):
    return np.exp(-cdist(X, X, "sqeuclidean") / sigma**2)


@pytest.fixture
def semi(make_blobs):
    """Thirty samples in three classes; every third has its label, the others -1."""
    X, codes = make_blobs((12, 10, 8))
    return X, np.where(np.arange(len(X)) % 3 == 0, codes, -1)


# The solver


@pytest.mark.parametrize("k", [4, None])
@pytest.mark.parametrize("normalized", [True, False])
def test_laplacian_is_the_definition(blobs, normalized, k):
    ours = neighbor_laplacian(cdist(blobs.X, blobs.X, "sqeuclidean"), k, None, normalized=normalized)
    expected = oracle.graph_laplacian(blobs.X, len(blobs.X) - 1 if k is None else k, normalized)
    np.testing.assert_allclose(ours.toarray(), expected, atol=1e-12)


def test_lonely_sample_has_no_laplacian():
    D2 = np.array([[0.0, 1.0, 1e9], [1.0, 0.0, 1e9], [1e9, 1e9, 0.0]])
    L = neighbor_laplacian(D2, 1, 1.0, normalized=True).toarray()
    np.testing.assert_allclose(L, [[1, -1, 0], [-1, 1, 0], [0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("normalized", [True, False])
def test_coefficients_solve_the_normal_equations(semi, normalized):
    X, y = semi
    weights = {"gamma_A": 1e-2, "gamma_I": 5.0}
    model = MReg(**weights, sigma=0.7, n_neighbors=4, normalized=normalized, unlabeled=-1).fit(X, y)
    K, L = kernel(X, model.sigma_), oracle.graph_laplacian(X, 4, normalized)
    for column, label in enumerate([0, 1, 2]):
        target = (y == label).astype(float)
        expected = oracle.lap_rls_coefficients(K, L, target, y != -1, **weights)
        np.testing.assert_allclose(model.coef_[:, column], expected, atol=1e-8)


def test_no_other_coefficients_have_a_smaller_objective(semi):
    X, y = semi
    weights = {"gamma_A": 1e-2, "gamma_I": 5.0}
    model = MReg(**weights, n_neighbors=4, unlabeled=-1).fit(X, y)
    K, L = kernel(X, model.sigma_), oracle.graph_laplacian(X, 4, True)
    target, alpha = (y == 1).astype(float), model.coef_[:, 1]

    def objective(a):
        return oracle.lap_rls_objective(a, K, L, target, y != -1, **weights)

    best = objective(alpha)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        for _ in range(5):
            assert objective(alpha + size * rng.standard_normal(len(alpha))) > best


def test_targets_of_samples_without_a_label_are_not_read(semi):
    X, y = semi
    K, L = kernel(X, 2.0), sparse.csr_array(oracle.graph_laplacian(X, 4, True))
    targets = np.random.default_rng(0).standard_normal((len(y), 2))
    other = np.where((y != -1)[:, np.newaxis], targets, np.nan)
    ours, theirs = (solve_lap_rls(K, L, t, y != -1, gamma_A=1e-3, gamma_I=1.0) for t in (targets, other))
    np.testing.assert_array_equal(ours, theirs)


def test_without_the_graph_it_is_kernel_ridge(blobs):
    model = MReg(gamma_A=1e-3, gamma_I=0.0, sigma=0.8).fit(*blobs)
    ridge = KernelRidge(alpha=1e-3 * len(blobs.X), kernel="rbf", gamma=model.sigma_**-2)
    ridge.fit(blobs.X, np.eye(4)[blobs.codes])
    new = blobs.X + 0.3
    np.testing.assert_allclose(model.coef_, ridge.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(model.transform(new), ridge.predict(new), atol=1e-8)


def test_graph_makes_scores_smooth(blobs):
    L = oracle.graph_laplacian(blobs.X, 5, True)
    spreads = []
    for gamma_I in (0.0, 10.0, 1000.0):
        f = MReg(gamma_I=gamma_I).fit(*blobs).embedding_
        spreads.append(np.trace(f.T @ L @ f))
    assert spreads[0] > spreads[1] > spreads[2]


# The estimator


def test_predicts_the_largest_score(blobs):
    names = np.array(["d", "c", "b", "a"])[blobs.codes]
    model = MReg().fit(blobs.X, names)
    scores = model.transform(blobs.X)
    assert scores.shape == (60, 4)
    np.testing.assert_array_equal(scores, model.embedding_)
    np.testing.assert_array_equal(model.predict(blobs.X), model.classes_[scores.argmax(axis=1)])
    assert model.score(blobs.X, names) > 0.95
    assert model.classifier_ is None
    assert not hasattr(model, "predict_proba")


def test_two_classes_have_two_scores(make_blobs):
    X, codes = make_blobs((10, 8))
    model = MReg(gamma_A=1e-9).fit(X, codes)
    np.testing.assert_allclose(model.embedding_.sum(axis=1), 1.0, atol=0.05)


def test_classifier_decides_where_one_is_given(semi):
    X, y = semi
    model = MReg(classifier=LogisticRegression(), unlabeled=-1).fit(X, y)
    labeled = y != -1
    expected = LogisticRegression().fit(model.embedding_[labeled], y[labeled])
    np.testing.assert_array_equal(model.predict(X), expected.predict(model.embedding_))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(model.embedding_))
    assert model.classes_.tolist() == [0, 1, 2]


def test_minus_one_is_a_label_unless_said_otherwise(make_blobs):
    X, codes = make_blobs((10, 10))
    y = 2 * codes - 1
    assert MReg().fit(X, y).classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="`y` must contain samples of at least 2 classes"):
        MReg(unlabeled=-1).fit(X, y)


def test_mark_may_be_a_string(semi):
    X, y = semi
    names = np.array(["a", "b", "c", "?"])[y]
    model = MReg(unlabeled="?").fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.coef_, MReg(unlabeled=-1).fit(X, y).coef_)
    assert model.n_labeled_ == 10


def test_samples_without_a_label_help():
    """Two moons with two labels each: the graph of the others carries the labels along."""
    X, codes = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    shown = np.concatenate([np.flatnonzero(codes == c)[:2] for c in (0, 1)])
    y[shown] = codes[shown]
    settings = {"sigma": 0.3, "gamma_A": 1e-6, "normalized": False}
    alone = MReg(**settings).fit(X[shown], codes[shown]).score(X, codes)
    carried = MReg(**settings, gamma_I=10.0, unlabeled=-1).fit(X, y).score(X, codes)
    assert carried > 0.97
    assert carried > alone + 0.05
