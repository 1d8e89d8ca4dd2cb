"""Locally linear reconstruction against literal loops: NPE, NPDE, NPPE, ESLLE."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.manifold import locally_linear_embedding

from nsse.methods import ESLLE, NPDE, NPE, NPPE


def nearest(X, k, codes=None):
    """The k nearest of every sample, of all or of its class."""
    codes = np.zeros(len(X)) if codes is None else codes
    return [oracle.nearest_of(i, X, np.flatnonzero(codes == codes[i]), k) for i in range(len(X))]


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


@pytest.mark.parametrize("k", [1, 3, None])
def test_npde_is_fishers_criterion_of_residuals(mixed, k):
    X, codes = mixed
    model = NPDE(n_neighbors=k, reg=0).fit(X, codes)
    residuals = oracle.residual_scatter(X, nearest(X, k, codes))
    values, V = eigh(oracle.between_scatter(X, codes), residuals)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-7)
    up_to_sign(model.components_.T, V[:, ::-1][:, :3], 1e-7)


def test_npde_has_no_more_coordinates_than_classes_less_one(mixed):
    with pytest.raises(ValueError, match=r"`n_components` must not exceed .*, 3\. Got 4"):
        NPDE(4).fit(*mixed)


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


@pytest.mark.parametrize(("k", "beta", "overlap"), [(4, None, 0.0), (16, 5.0, 0.0), (20, None, 1.0)])
def test_eslle_minimises_the_literal_objective(mixed, k, beta, overlap):
    X, codes = mixed
    model = ESLLE(3, n_neighbors=k, beta=beta, overlap=overlap, length_unit=1.0).fit(X, codes)
    D = oracle.class_dissimilarities(X, codes, beta, overlap)
    near = [
        sorted((j for j in range(len(X)) if j != i), key=lambda j: D[i, j])[:k] for i in range(len(X))
    ]
    M = oracle.lle_matrix(X, near)
    values, _ = eigh(M)
    Y = model.lle_embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(Y.sum(axis=0), 0.0, atol=1e-7)
    np.testing.assert_allclose(np.sort(model.eigenvalues_), values[1:4], atol=1e-11)
    assert np.trace(Y.T @ M @ Y) == pytest.approx(values[1:4].sum(), abs=1e-10)
    K = oracle.gaussian(X, X, model.sigma_)
    np.testing.assert_allclose(model.embedding_ + model.ridge * model.coef_, Y, atol=1e-8)
    np.testing.assert_allclose(model.embedding_, K @ model.coef_, atol=1e-9)


def test_classes_larger_than_their_neighbourhoods_are_points(make_blobs):
    """In the order of how far apart the means of the classes are, seen along the indicators."""
    X, codes = make_blobs((9, 8, 10, 7))
    model = ESLLE(n_neighbors=4).fit(X, codes)
    Y = model.lle_embedding_
    for c in range(4):
        np.testing.assert_allclose(np.ptp(Y[codes == c], axis=0), 0.0, atol=1e-7)
    spread = np.linalg.norm(X.T @ Y, axis=0)
    np.testing.assert_allclose((X.T @ Y).T @ (X.T @ Y), np.diag(spread**2), atol=1e-6 * spread[0] ** 2)
    assert np.all(np.diff(spread) <= 0)


@pytest.mark.parametrize(
    ("sizes", "k"), [((9, 8, 10), 5), ((9, 4, 1, 7), 3), ((3, 2, 1), 1), ((1, 7), 5)]
)
def test_neighbourhoods_of_eslle_stay_in_the_smallest_class_of_several(make_blobs, sizes, k):
    X, codes = make_blobs(sizes)
    one, other = ESLLE(1).fit(X, codes), ESLLE(1, n_neighbors=k).fit(X, codes)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
