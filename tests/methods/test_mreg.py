"""MReg: normal equations, left-out labels, kernel ridge as its limit, unlabelled samples."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge

from nsse.methods import MReg
from nsse.scores import fitted_temperature

WEIGHTS = {"gamma_A": 1e-2, "gamma_I": 5.0}


@pytest.fixture
def semi(make_blobs):
    """Thirty samples in three classes; every third has its label, the others -1."""
    X, codes = make_blobs((12, 10, 8))
    return X, np.where(np.arange(len(X)) % 3 == 0, codes, -1)


@pytest.mark.parametrize("k", [4, None])
@pytest.mark.parametrize("normalized", [True, False])
def test_coefficients_solve_the_normal_equations(semi, normalized, k):
    X, y = semi
    model = MReg(**WEIGHTS, sigma=0.7, n_neighbors=k, normalized=normalized, unlabeled=-1).fit(X, y)
    K, L = oracle.gaussian(X, X, model.sigma_), oracle.mreg_laplacian(X, k, normalized)
    for column in range(3):
        target = (y == column).astype(float)
        expected = oracle.lap_rls_coefficients(K, L, target, y != -1, **WEIGHTS)
        np.testing.assert_allclose(model.coef_[:, column], expected, atol=1e-8)


def test_temperature_comes_from_labels_that_were_left_out(semi):
    """Every labelled sample once more as an unlabelled one, the weights of all terms kept."""
    X, y = semi
    model = MReg(**WEIGHTS, n_neighbors=4, unlabeled=-1).fit(X, y)
    K, L = oracle.gaussian(X, X, model.sigma_), oracle.mreg_laplacian(X, 4, True)
    labeled = np.flatnonzero(y != -1)
    targets = np.eye(3)[np.maximum(y, 0)]
    values = []
    for i in labeled:
        others = (y != -1) & (np.arange(len(y)) != i)
        C = oracle.lap_rls_coefficients(K, L, targets, others, **WEIGHTS, n_labeled=len(labeled))
        values.append(K[i] @ C)
    expected = fitted_temperature(np.array(values), y[labeled], np.ones(len(labeled)))
    assert model.scores_.temperature == pytest.approx(expected, rel=1e-6)


def test_without_the_graph_it_is_kernel_ridge(blobs):
    model = MReg(gamma_A=1e-3, gamma_I=0.0, sigma=0.8).fit(*blobs)
    ridge = KernelRidge(alpha=1e-3 * len(blobs.X), kernel="rbf", gamma=model.sigma_**-2)
    ridge.fit(blobs.X, np.eye(4)[blobs.codes])
    new = blobs.X + 0.3
    np.testing.assert_allclose(model.coef_, ridge.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(model.transform(new), ridge.predict(new), atol=1e-8)


def test_lonely_samples_are_no_harm():
    """A width at which all weights of a sample underflow: it has no row in the Laplacian."""
    X = np.array([[0.0], [1.0], [2.0], [1e4]])
    model = MReg(beta=1.0, length_unit=1.0, n_neighbors=1).fit(X, [0, 0, 1, 1])
    assert np.all(np.isfinite(model.coef_))
    assert model.score(X, [0, 0, 1, 1]) == 1.0


def test_minus_one_is_a_label_unless_marked(make_blobs):
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
    with pytest.raises(ValueError, match=r"`unlabeled` must be a string, as the labels are\. Got -1"):
        MReg(unlabeled=-1).fit(X, names)


def test_unlabelled_samples_help():
    """Two moons with two labels each: the graph of the others carries the labels along."""
    X, codes = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    shown = np.concatenate([np.flatnonzero(codes == c)[:2] for c in (0, 1)])
    y[shown] = codes[shown]
    settings = {"sigma": 0.3, "gamma_A": 1e-6, "normalized": False}
    alone = MReg(**settings).fit(X[shown], codes[shown]).score(X, codes)
    carried = MReg(**settings, gamma_I=10.0, unlabeled=-1).fit(X, y).score(X, codes)
    assert carried > max(0.97, alone + 0.05)
