"""The eigenmap solver: every route to the smallest eigenpairs gives the same ones."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh

from nsse.solvers import eigenmap
from nsse.solvers.eigenmap import normalized_eigenmap, smallest_eigenpairs

N, D = 120, 5


def with_spectrum(values, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    A = basis * values @ basis.T
    return (A + A.T) / 2


def ring(n):
    """Every sample joined with its two neighbours on a circle: double eigenvalues throughout."""
    rows = np.arange(n)
    W = sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n))
    return sparse.csr_array(W + W.T)


@pytest.fixture
def lanczos(monkeypatch):
    """Let Lanczos try small matrices, with all the restarts it wants; count where it was believed."""
    believed = []
    original = eigenmap._proven_lanczos

    def counted(*args):
        found = original(*args)
        believed.append(found is not None)
        return found

    monkeypatch.setattr(eigenmap, "LARGE", 50)
    monkeypatch.setattr(eigenmap, "PATIENCE", 0.01)
    monkeypatch.setattr(eigenmap, "_proven_lanczos", counted)
    return believed


def test_lanczos_finds_what_lapack_finds(lanczos):
    A = with_spectrum(np.linspace(-1.0, 3.0, N) ** 3)
    values, vectors = eigh(A, subset_by_index=(0, D - 1))
    found = smallest_eigenpairs(A, D)
    assert lanczos == [True]
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors, axis=0)), 1.0, atol=1e-8)


@pytest.mark.parametrize("copies", [2, 4, 7])
def test_no_copy_of_a_multiple_eigenvalue_is_missed(lanczos, copies):
    A = with_spectrum(np.r_[np.full(copies, -2.0), np.linspace(1.0, 3.0, N - copies)])
    expected = eigh(A, eigvals_only=True, subset_by_index=(0, D - 1))
    np.testing.assert_allclose(smallest_eigenpairs(A, D).eigenvalues, expected, atol=1e-9)


def test_a_missed_eigenvalue_is_noticed(lanczos, monkeypatch):
    A = with_spectrum(np.linspace(-1.0, 3.0, N))
    values, vectors = eigh(A)
    kept = [0, 1, 3, 4, 5, 6]
    monkeypatch.setattr(eigenmap, "eigsh", lambda *args, **kwargs: (values[kept], vectors[:, kept]))
    found = smallest_eigenpairs(A, D)
    assert lanczos == [False]
    np.testing.assert_allclose(found.eigenvalues, values[:D], atol=1e-12)


def test_sparse_and_dense_routes_agree(monkeypatch):
    W = ring(N)
    dense = normalized_eigenmap(W.toarray(), 4)
    monkeypatch.setattr(eigenmap, "LARGE", 50)
    by_lu = normalized_eigenmap(W, 4)
    np.testing.assert_allclose(by_lu.eigenvalues, dense.eigenvalues, atol=1e-10)
    # Pairs of equal eigenvalues: the spaces agree, single vectors need not.
    np.testing.assert_allclose(
        by_lu.vectors @ by_lu.vectors.T, dense.vectors @ dense.vectors.T, atol=1e-7
    )
    k = 2 * np.pi / N
    np.testing.assert_allclose(dense.eigenvalues, 1 - np.cos([k, k, 2 * k, 2 * k]), atol=1e-12)
