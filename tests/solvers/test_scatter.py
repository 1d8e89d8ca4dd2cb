"""Principal axes: the fast route gives those of the singular values, and knows when it cannot."""

import numpy as np
import pytest

from nsse.solvers import scatter
from nsse.solvers.scatter import principal_coordinates


def samples(lengths, n_samples=60, seed=0):
    """Centred samples with given lengths along random orthonormal axes."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n_samples, len(lengths)))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((len(lengths), len(lengths))))[0]
    return U * lengths @ V


@pytest.fixture
def without_singular_values(monkeypatch):
    def never(X):
        raise AssertionError("singular values were computed")

    monkeypatch.setattr(scatter, "_from_singular_values", never)


def check(principal, X):
    """Literally: orthonormal axes that hold all of the centred samples, no scatter between two axes."""
    centred = X - X.mean(axis=0)
    r = len(principal.axes)
    assert r == np.linalg.matrix_rank(centred)
    np.testing.assert_allclose(principal.axes @ principal.axes.T, np.eye(r), atol=1e-13)
    size = np.abs(centred).max()
    np.testing.assert_allclose(principal.scores @ principal.axes, centred, atol=1e-12 * size)
    s = np.linalg.svd(centred, compute_uv=False)[:r]
    np.testing.assert_allclose(np.sqrt(principal.total), s, rtol=1e-5, atol=1e-13 * s[0])
    S = principal.scores.T @ principal.scores / np.outer(s, s)
    np.testing.assert_allclose(S, np.eye(r), atol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("weakest", [1e-1, 1e-3, 1e-4])
def test_axes_of_clear_lengths_need_no_singular_values(without_singular_values, weakest, scale):
    X = scale * samples(np.geomspace(1.0, weakest, 12))
    check(principal_coordinates(X, None, 0), X)


def test_features_that_depend_on_others_are_noticed(without_singular_values):
    X = samples(np.geomspace(1.0, 1e-4, 10))
    X = np.c_[X, X[:, :3] @ [1.0, -2.0, 0.5], X[:, 4], np.zeros(60), np.full(60, 0.1)]
    check(principal_coordinates(X, None, 0), X)


@pytest.mark.parametrize("weakest", [1e-6, 1e-8, 1e-11])
def test_axes_too_short_for_squares_are_kept(weakest):
    X = samples(np.r_[np.geomspace(1.0, 0.1, 8), weakest, 2 * weakest])
    assert scatter._from_covariance(X - X.mean(axis=0)) is None
    assert len(principal_coordinates(X, None, 0).axes) == 10


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1e90, 1e140])
def test_squares_that_over_or_underflow_do_no_harm(scale):
    X = samples(np.geomspace(1.0, 0.1, 5))
    one, other = principal_coordinates(X, 0.9, 0), principal_coordinates(scale * X, 0.9, 0)
    np.testing.assert_allclose(np.abs(np.sum(one.axes * other.axes, axis=1)), 1.0, atol=1e-10)


def test_more_features_than_samples():
    X = np.random.default_rng(0).standard_normal((8, 30))
    check(principal_coordinates(X, None, 0), X)


@pytest.mark.parametrize(("n_axes", "rank", "share"), [(6, 18, None), (7, 18, 0.3), (30, 18, 0.3)])
def test_axes_are_many_beside_a_third_of_the_rank(n_axes, rank, share):
    assert scatter.share_for_few(n_axes, rank) == share


@pytest.mark.parametrize("n_directions", [1, 3, 20])
def test_some_eigenvectors_are_the_first_of_all(n_directions):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 20))
    B, A = Z[:15].T @ Z[:15], Z.T @ Z
    principal = scatter.Principal(np.zeros(20), np.eye(20), Z)
    found = scatter.solve_scatter(B, A, principal, n_directions, None)
    V = found.directions
    assert V.shape == (20, n_directions)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(A, B)).real)[::-1]
    np.testing.assert_allclose(found.eigenvalues, np.maximum(expected[:n_directions], 0), atol=1e-10)
    np.testing.assert_allclose(B @ V, A @ V * found.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(V.T @ A @ V, np.eye(n_directions), atol=1e-10)
