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
    for restarts in (1, 1000):  # by factors, by products
        monkeypatch.setattr(eigenmap, "RESTARTS", restarts)
        found = normalized_eigenmap(W, 4)
        np.testing.assert_allclose(found.eigenvalues, dense.eigenvalues, atol=1e-10)
        # Pairs of equal eigenvalues: the spaces agree, single vectors need not.
        np.testing.assert_allclose(
            found.vectors @ found.vectors.T, dense.vectors @ dense.vectors.T, atol=1e-7
        )
    k = 2 * np.pi / N
    np.testing.assert_allclose(dense.eigenvalues, 1 - np.cos([k, k, 2 * k, 2 * k]), atol=1e-12)


# Sparse matrices


def signed_graph(n, seed=0):
    """L_w − 0.1 L_b of random sparse graphs, as SUPLAP has them: indefinite."""
    rng = np.random.default_rng(seed)
    L = []
    for weight in (1.0, -0.1):
        W = np.where(rng.random((n, n)) < 6 / n, rng.random((n, n)), 0.0)
        W = weight * np.triu(W, 1)
        W += W.T
        L.append(np.diag(W.sum(axis=1)) - W)
    return sparse.csr_array(L[0] + L[1])


@pytest.fixture
def small_is_large(monkeypatch):
    monkeypatch.setattr(eigenmap, "LARGE", 50)
    monkeypatch.setattr(eigenmap, "FEW", 0.5)


def forbid(monkeypatch, *names):
    def never(*args, **kwargs):
        raise AssertionError(f"{names} called")

    for name in names:
        monkeypatch.setattr(eigenmap, name, never)


@pytest.mark.parametrize(
    "others", [("_by_factors", "_proven_lanczos", "eigh"), ("_proven_lanczos", "eigh")]
)
def test_a_sparse_matrix_stays_sparse(small_is_large, monkeypatch, others):
    A = signed_graph(200)
    values, vectors = eigh(A.toarray())
    assert values[0] < -1e-3  # indefinite
    forbid(monkeypatch, *others)
    if "_by_factors" not in others:
        monkeypatch.setattr(eigenmap, "RESTARTS", 1)  # products give up
    found = smallest_eigenpairs(A, D)
    np.testing.assert_allclose(found.eigenvalues, values[:D], atol=1e-11)
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors[:, :D], axis=0)), 1.0, atol=1e-8)
    scale = np.abs(A.toarray()).sum(axis=1).max()
    assert found.gap == pytest.approx((values[D] - values[D - 1]) / scale, abs=1e-11)


@pytest.mark.parametrize("restarts", [1, 300])
def test_no_piece_of_a_sparse_graph_is_missed(small_is_large, monkeypatch, restarts):
    """Seven rings: the eigenvalue 0 seven times, one trivial, then 1 − cos(2π/30) fourteen times."""
    monkeypatch.setattr(eigenmap, "RESTARTS", restarts)
    W = sparse.csr_array(sparse.block_diag([ring(30)] * 7))
    found = normalized_eigenmap(W, 9)
    expected = np.r_[np.zeros(6), np.full(3, 1 - np.cos(2 * np.pi / 30))]
    np.testing.assert_allclose(found.eigenvalues, expected, atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(9), atol=1e-9)
    assert found.gap == pytest.approx(0.0, abs=1e-10)


def test_the_second_look_sees_what_the_first_one_missed(small_is_large, monkeypatch):
    A = signed_graph(200)
    values, original = eigh(A.toarray(), eigvals_only=True), eigenmap.lanczos

    def forgetful(A, k, which, restarts):
        found = original(A, k + 1 if k > 1 else k, which, restarts)
        if k == 1 or found is None:
            return found
        kept = [i for i in range(k + 1) if i != (2 if which == "SA" else k - 2)]
        return found[0][kept], found[1][:, kept]

    monkeypatch.setattr(eigenmap, "lanczos", forgetful)
    found = smallest_eigenpairs(A, D)  # products, factors and the dense matrix all lose the third one
    np.testing.assert_allclose(found.eigenvalues, values[:D], atol=1e-12)
