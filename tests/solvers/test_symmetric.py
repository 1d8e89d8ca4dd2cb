"""Some eigenpairs of a small symmetric matrix, beside all of them."""

from __future__ import annotations

import numpy as np
import pytest

from nsse.solvers import symmetric
from nsse.solvers.symmetric import largest_eigenpairs


def matrix_of(values, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


SPECTRA = {
    "cliff": lambda n: np.concatenate([np.geomspace(1e3, 10.0, 9), np.linspace(0.5, 0.01, n - 9)]),
    "cluster": lambda n: np.concatenate([np.full(6, 2.0), np.linspace(1.0, 0.0, n - 6)]),
    "graded": lambda n: np.geomspace(1.0, 1e-15, n),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("n", [5, 71, 140, 451])
def test_the_largest_pairs_solve_the_problem(n, spectrum):
    values = np.sort(SPECTRA[spectrum](max(n, 12)))[::-1][:n]
    M, k = matrix_of(values), min(n, 12)
    half = np.asfortranarray(M)
    half[np.triu_indices(n, 1)] = np.nan  # never read
    found, V = largest_eigenpairs(half, k)
    np.testing.assert_allclose(found, values[:k], rtol=0, atol=1e-13 * values[0])
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(M @ V, V * found, atol=1e-12 * values[0])


def test_a_matrix_that_falls_apart_is_left_to_lapack():
    """Its tridiagonal form has zeros beside the diagonal: the parts must not take it for whole."""
    A, B = matrix_of(np.linspace(3.0, 1.0, 60)), matrix_of(np.linspace(4.0, 2.0, 40), 1)
    M = np.zeros((100, 100), order="F")
    M[:60, :60], M[60:, 60:] = A, B
    assert symmetric._by_parts(M.copy(order="F"), 10) is None
    found, V = largest_eigenpairs(M.copy(order="F"), 10)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(M)[:-11:-1], rtol=1e-12)
    np.testing.assert_allclose(M @ V, V * found, atol=1e-12)


def test_the_parts_agree_with_the_routine_for_all(monkeypatch):
    M = matrix_of(SPECTRA["cliff"](150))
    parts = largest_eigenpairs(np.asfortranarray(M), 14)
    monkeypatch.setattr(symmetric, "_by_parts", lambda M, n_pairs: None)
    values, V = largest_eigenpairs(np.asfortranarray(M), 14)
    np.testing.assert_allclose(parts[0], values, rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->j", parts[1], V)), 1.0, atol=1e-9)
