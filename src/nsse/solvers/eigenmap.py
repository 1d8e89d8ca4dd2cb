"""Laplacian eigenmaps: coordinates that vary little along the edges of a graph.

- `smallest_eigenpairs`: minimise tr(Y'AY) subject to Y'Y = I, A symmetric (Eq. 2 of the paper).
- `normalized_eigenmap`: the same for A = I − D^(−1/2) W D^(−1/2), its trivial eigenvector D^(1/2) 1
  left out. With V its solution, D^(−1/2) V minimises tr(Y'LY) subject to Y'DY = I (Belkin & Niyogi
  2003), and V are the eigenvectors of the normalised kernel matrix that the Nyström formula extends.

Large matrices are left to Lanczos, which never makes a sparse one dense. None of its answers is believed
unseen: a dense matrix has a Cholesky factor that proves them, a sparse one is looked at twice.

Where the last eigenvalue taken equals the first one left out, the coordinates are not determined by
the problem (several pieces of a graph, say): ``gap`` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh, lapack
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu

from nsse._threads import one_blas_thread
from nsse.graphs import degrees
from nsse.kernels import as_dense

Floats = NDArray[np.float64]
Pairs = tuple[Floats, Floats]

# From this size on Lanczos is tried, for few eigenpairs.
LARGE = 1500
# Share of the pairs up to which a sparse matrix is not made dense.
FEW = 0.1
# Restarts of Lanczos on a dense matrix: with N / PATIENCE of them it takes as long as LAPACK.
PATIENCE = 64
# Restarts of Lanczos by products with a sparse matrix, before its factors are taken instead.
RESTARTS = 300
# Eigenvalues closer than this, relative to the matrix, count as one in the proof that none was missed.
RESOLUTION = 1e-11
# A sparse matrix is factorised at this distance below its spectrum, relative to its size.
SHIFT = 1e-2


@dataclass(frozen=True)
class Eigenmap:
    """Eigenvalues ascending, orthonormal eigenvectors, and the gap to the next eigenvalue.

    ``gap`` is relative to the size of the matrix; infinite where there is no next eigenvalue.
    """

    eigenvalues: Floats
    vectors: Floats
    gap: float


def smallest_eigenpairs(A: Any, n_components: int) -> Eigenmap:
    """The ``n_components`` smallest eigenpairs of a symmetric matrix, dense or sparse."""
    N = A.shape[0]
    k = min(n_components + 1, N)  # one more than asked for, to see the gap
    with one_blas_thread():
        if _stays_sparse(A, k):
            scale = _largest_row_sum(abs(A))
            found = _sparse_lanczos(A, k, scale, _lower_bound(A), np.empty((N, 0)))
            if found is not None:
                return _eigenmap(*found, n_components, scale)
        dense = np.ascontiguousarray(as_dense(A), dtype=np.float64)
        scale = _dense_scale(dense)
        found = _proven_lanczos(dense, k, scale)
        if found is None:
            found = eigh(dense, subset_by_index=(0, k - 1), check_finite=False)
    return _eigenmap(*found, n_components, scale)


def normalized_eigenmap(W: Any, n_components: int) -> Eigenmap:
    """The smallest eigenpairs of I − D^(−1/2) W D^(−1/2), without the trivial one; at most N − 1."""
    D = degrees(W)
    trivial = np.sqrt(D / D.sum())
    if _stays_sparse(W, n_components + 1):
        found = _sparse_normalized(W, D, trivial, n_components + 1)
        if found is not None:
            return _eigenmap(*found, n_components, 1.0)
    L = as_dense(W) * np.outer(-(D**-0.5), D**-0.5)
    # Eigenvalues lie in [0, 2]: the trivial one goes from 0 to 4, beyond all others.
    L += np.outer(4.0 * trivial, trivial)
    L[np.diag_indices_from(L)] += 1.0
    return smallest_eigenpairs(L, n_components)


def lanczos(A: Any, k: int, which: Literal["SA", "LA"], restarts: int | None) -> Pairs | None:
    """k eigenpairs at one end of the spectrum of A, ascending; None where Lanczos gives up.

    From a fixed start, so that every run gives the same bits.
    """
    start = np.random.default_rng(0).standard_normal(A.shape[0])
    try:
        values, vectors = eigsh(A, k=k, which=which, v0=start, maxiter=restarts)
    except ArpackError:  # no convergence
        return None
    order = np.argsort(values)
    return values[order], vectors[:, order]


def worth_lanczos(n_samples: int, k: int) -> bool:
    """Whether k eigenpairs are few enough, of a matrix large enough, for Lanczos to be tried."""
    return n_samples >= LARGE and 4 * k < n_samples


def _proven_lanczos(A: Floats, k: int, scale: float) -> Pairs | None:
    """The k smallest eigenpairs by Lanczos; None where it does not pay, gives up or misses one.

    Lanczos may miss copies of a multiple eigenvalue. With the pairs found moved up by 2·scale, all
    eigenvalues lie above the largest one found, less a tolerance, if and only if none was missed: then
    the difference has a Cholesky factor.
    """
    N = len(A)
    found = lanczos(A, k, "SA", int(N // PATIENCE)) if worth_lanczos(N, k) else None
    if found is None:
        return None
    values, vectors = found
    rest = (2.0 * scale * vectors) @ vectors.T
    rest += A
    rest[np.diag_indices(N)] -= values[-1] - RESOLUTION * scale
    _, missed = lapack.dpotrf(rest.T, lower=1, clean=0, overwrite_a=1)
    return None if missed else (values, vectors)


def _sparse_normalized(W: Any, D: Floats, trivial: Floats, k: int) -> Pairs | None:
    scaling: Any = sparse.diags_array(D**-0.5)
    L = sparse.csr_array(sparse.eye_array(len(D)) - scaling @ W @ scaling)
    with one_blas_thread():
        return _sparse_lanczos(L, k, 2.0, 0.0, trivial[:, np.newaxis])


def _sparse_lanczos(A: Any, k: int, scale: float, bottom: float, known: Floats) -> Pairs | None:
    """The k smallest eigenpairs of a sparse A beside known ones; None where Lanczos misses some.

    First by products with A, which need no memory, then, where the eigenvalues lie too close together
    for that, with factors of A, in whose inverse they stand far apart. Lanczos may miss copies of a
    multiple eigenvalue; a second look, beside all that was found, would see them.

    Parameters
    ----------
    A : sparse matrix of shape (N, N)
        Symmetric, without an eigenvalue below ``bottom`` or larger in magnitude than ``scale``.
    k : int
        How many.
    scale, bottom : float
        Bounds of the spectrum.
    known : ndarray of shape (N, m)
        Orthonormal eigenvectors to be left out.
    """
    for route in (_by_products, _by_factors):
        find = route(A, scale, bottom)
        found = find(k, known)
        again = None if found is None else find(1, np.hstack([known, found[1]]))
        if found is None or again is None:
            continue
        if again[0][0] >= found[0][-1] - RESOLUTION * scale:
            return found
    return None


def _by_products(A: Any, scale: float, bottom: float) -> Callable[[int, Floats], Pairs | None]:
    """Lanczos on A, known vectors moved up beyond the rest of the spectrum."""

    def find(k: int, known: Floats) -> Pairs | None:
        def times(x: Floats) -> Floats:
            return np.asarray(A @ x + known @ (3.0 * scale * (x.ravel() @ known)))

        return lanczos(LinearOperator(A.shape, times, dtype=np.float64), k, "SA", RESTARTS)

    return find


def _by_factors(A: Any, scale: float, bottom: float) -> Callable[[int, Floats], Pairs | None]:
    """Lanczos on (A − sI)⁻¹ beside the known vectors; s lies below the spectrum: no pivot vanishes."""
    shift = bottom - SHIFT * scale
    positive = sparse.csc_matrix(A - shift * sparse.eye_array(A.shape[0]))
    solve = splu(
        positive, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    ).solve

    def find(k: int, known: Floats) -> Pairs | None:
        def beside(x: Floats) -> Floats:
            return np.asarray(x - known @ (x @ known))

        inverse = LinearOperator(A.shape, lambda x: beside(solve(beside(x.ravel()))), dtype=np.float64)
        found = lanczos(inverse, k, "LA", None)
        return None if found is None else (1.0 / found[0][::-1] + shift, found[1][:, ::-1])

    return find


def _stays_sparse(A: Any, k: int) -> bool:
    N = A.shape[0]
    edges = getattr(A, "nnz", np.inf)  # all, in a dense array
    return bool(worth_lanczos(N, k) and edges < FEW * N**2)


def _largest_row_sum(A: Any) -> float:
    return max(float(degrees(A).max()), np.finfo(np.float64).tiny)


def _dense_scale(A: Floats) -> float:
    """The largest sum of magnitudes in a row: no eigenvalue is larger in magnitude."""
    norm: Any = lapack.dlange
    return max(float(norm("1", A.T)), np.finfo(np.float64).tiny)


def _lower_bound(A: Any) -> float:
    """No eigenvalue lies below all diagonal entries less the magnitudes beside them (Gershgorin)."""
    diagonal = A.diagonal()
    return float(np.min(diagonal + np.abs(diagonal) - degrees(abs(A))))


def _eigenmap(values: Floats, vectors: Floats, d: int, scale: float) -> Eigenmap:
    gap = float(values[d] - values[d - 1]) / scale if len(values) > d else np.inf
    return Eigenmap(values[:d], np.ascontiguousarray(vectors[:, :d]), gap)
