"""Locally linear reconstruction against literal loops: NPE, NPPE."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.manifold import locally_linear_embedding

from nsse.methods import NPE, NPPE


def nearest(X, k):
    """The k nearest of every sample."""
    return [oracle.nearest_of(i, X, range(len(X)), k) for i in range(len(X))]


def up_to_sign(Y, Z, atol):
    np.testing.assert_allclose(Y * np.sign(np.sum(Y * Z, axis=0)), Z, atol=atol * np.abs(Z).max())


@pytest.mark.parametrize("k", [2, 5, 12, None])
def test_npe_is_the_papers_pencil(mixed, k):
    X, codes = mixed
    model = NPE(None, n_neighbors=k, reg=0).fit(X, codes)
    Z = X - X.mean(axis=0)
    values, V = eigh(oracle.residual_scatter(X, nearest(X, k)), Z.T @ Z)  # ascending, v'X'Xv = 1
    np.testing.assert_allclose(1 / model.eigenvalues_, values, rtol=1e-6)
    up_to_sign(model.components_.T, V, 1e-6)


def test_npe_of_as_many_features_as_it_takes_is_lle():
    """With n ≥ N any embedding is linear: that of scikit-learn's locally linear embedding."""
    X = np.random.default_rng(0).standard_normal((25, 40)) * 0.9 ** np.arange(40)
    model = NPE(2, n_neighbors=6, reg=1e-10).fit(X, np.arange(25) % 2)
    Y, _ = locally_linear_embedding(X, n_neighbors=6, n_components=2, eigen_solver="dense")
    assert subspace_angles(model.embedding_, Y).max() < 1e-4


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_nppe_is_the_pencil_of_powers(mixed, degree):
    X, codes = mixed
    model = NPPE(3, degree=degree, n_neighbors=5, reg=0).fit(X, codes)
    F = oracle.polynomial_features(X, degree)
    # Weights reconstruct the samples, not their powers.
    R = np.eye(len(X)) - oracle.reconstruction(X, nearest(X, 5))
    values, V = eigh((R @ F).T @ (R @ F), F.T @ F)
    np.testing.assert_allclose(1 / model.eigenvalues_, values[:3], rtol=1e-5)
    up_to_sign(model.embedding_, (F @ V)[:, :3], 1e-5)
    new = X[:7] + 0.1
    powers = np.hstack([(new - X.mean(axis=0)) ** q for q in range(1, degree + 1)])
    origin = np.hstack([((X - X.mean(axis=0)) ** q).mean(axis=0) for q in range(1, degree + 1)])
    up_to_sign(model.transform(new), ((powers - origin) @ V)[:, :3], 1e-4)


@pytest.mark.parametrize("n_features", [5, 60])
def test_nppe_of_degree_one_is_npe(make_blobs, n_features):
    X, codes = make_blobs((12, 9, 11), n_features=n_features)
    linear, one = NPE(3).fit(X, codes), NPPE(3, degree=1).fit(X, codes)
    np.testing.assert_allclose(one.transform(X + 0.3), linear.transform(X + 0.3), atol=1e-9)
    np.testing.assert_array_equal(one.predict(X + 0.3), linear.predict(X + 0.3))


def test_higher_powers_reach_lower_objectives(mixed):
    ratios = [NPPE(3, degree=degree, reg=0).fit(*mixed).eigenvalues_ for degree in (1, 2, 3)]
    assert np.all(np.diff(ratios, axis=0) > 0)  # constraint over objective
