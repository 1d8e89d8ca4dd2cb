"""Labels spread along a graph: the same as of the linear system, column by column."""

import numpy as np
import pytest
from scipy import sparse

from nsse.graphs import all_rows_affinity, mean_degree_laplacian
from nsse.kernels import squared_distances
from nsse.solvers import label_spread
from nsse.solvers.label_spread import PRICE, conjugate_gradients, spread_scores


def two_islands():
    """Rows in two places, far apart, and their Laplacian."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) + np.repeat([[0.0, 0.0], [90.0, 0.0]], [25, 15], axis=0)
    return mean_degree_laplacian(all_rows_affinity(squared_distances(X), 3))


@pytest.mark.parametrize("kappa", [0.1, 1.0, 30.0])
def test_scores_are_those_of_the_dense_system_in_units_of_their_own(kappa):
    L = two_islands()
    places, codes = np.array([3, 1, 30, 8, 33]), np.array([0, 1, 2, 1, 2])
    A = kappa * L.toarray() + PRICE * np.eye(40)
    B = np.zeros((40, 3))
    for place, code in zip(places, codes, strict=True):
        A[place, place] += 1.0
        B[place] = np.eye(3)[code] - np.bincount(codes) / 5
    F = np.linalg.solve(A, B)
    expected = (F - F.mean(axis=0)) / F.std(axis=0)
    found = spread_scores(L, places, codes, 3, kappa)
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_rows_that_no_label_reaches_have_no_score_and_do_not_count():
    L, places, codes = two_islands(), np.array([0, 5, 9]), np.array([0, 1, 0])
    found = spread_scores(L, places, codes, 2, 1.0)
    assert np.all(np.isneginf(found[25:]))
    alone = spread_scores(sparse.csr_array(L[:25, :25]), places, codes, 2, 1.0)
    reached = np.isfinite(found[:25, 0])
    np.testing.assert_allclose(found[:25][reached], alone[reached], atol=1e-6)
    np.testing.assert_allclose(alone[reached].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(alone[reached].std(axis=0), 1.0, atol=1e-9)


def test_a_system_that_takes_too_long_is_told(monkeypatch):
    A, B = sparse.csr_array(np.diag([1.0, 2.0, 5.0]) + 0.3), np.eye(3)[:, :2]
    np.testing.assert_allclose(A @ conjugate_gradients(A, B), B, atol=1e-5)
    np.testing.assert_array_equal(conjugate_gradients(A, np.zeros((3, 2))), 0.0)
    monkeypatch.setattr(label_spread, "MOST_STEPS", 1)
    with pytest.raises(np.linalg.LinAlgError, match="did not spread in 1 steps"):
        conjugate_gradients(A, B)
