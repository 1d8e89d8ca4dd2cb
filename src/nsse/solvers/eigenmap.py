"""Laplacian eigenmaps: coordinates that vary little along the edges of a graph.

- `smallest_eigenpairs`: minimise tr(Y'AY) subject to Y'Y = I, A symmetric (Eq. 2 of the paper).
- `normalized_eigenmap`: the same for A = I − D^(−1/2) W D^(−1/2), its trivial eigenvector D^(1/2) 1
  left out. With V its solution, D^(−1/2) V minimises tr(Y'LY) subject to Y'DY = I (Belkin & Niyogi
  2003), and V are the eigenvectors of the normalised kernel matrix that the Nyström formula extends.

Where the last eigenvalue taken equals the first one left out, the coordinates are not determined by
the problem (several pieces of a graph, say): ``gap`` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh, lapack
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu

from nsse._threads import one_blas_thread
from nsse.graphs import degrees
from nsse.kernels import as_dense

Floats = NDArray[np.float64]

# From this size on Lanczos is tried, and a sparse matrix with few small eigenvalues is not made dense.
LARGE = 1500
# Share of the pairs up to which a sparse matrix has a sparse factor worth the name.
FEW = 0.5
# Restarts of Lanczos on a dense matrix: with N / PATIENCE of them it takes as long as LAPACK.
PATIENCE = 64
# Eigenvalues closer than this, relative to the matrix, count as one in the proof that none was missed.
RESOLUTION = 1e-11
# L + SHIFT·I is safe to factorise, and the small eigenvalues of L stand far apart in its inverse.
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
    dense = np.array(as_dense(A))
    scale = max(float(np.abs(dense).sum(axis=1).max()), np.finfo(np.float64).tiny)
    last = min(n_components, len(dense) - 1)  # one more than asked for, to see the gap
    with one_blas_thread():
        found = _proven_lanczos(dense, last + 1, scale)
        if found is None:
            found = eigh(dense, subset_by_index=(0, last), overwrite_a=True, check_finite=False)
    return _eigenmap(*found, n_components, scale)


def normalized_eigenmap(W: Any, n_components: int) -> Eigenmap:
    """The smallest eigenpairs of I − D^(−1/2) W D^(−1/2), without the trivial one; at most N − 1."""
    D = degrees(W)
    trivial = np.sqrt(D / D.sum())
    few_edges = getattr(W, "nnz", np.inf) < FEW * len(D) ** 2  # none of a dense W
    if few_edges and len(D) >= LARGE and 4 * n_components < len(D):
        scaling: Any = sparse.diags_array(D**-0.5)
        return _sparse_eigenmap(sparse.eye_array(len(D)) - scaling @ W @ scaling, trivial, n_components)
    L = -as_dense(W) * (D[:, np.newaxis] ** -0.5 * D**-0.5)
    L[np.diag_indices_from(L)] += 1.0
    # Eigenvalues lie in [0, 2]: the trivial one goes from 0 to 4, beyond all others.
    L += 4.0 * np.outer(trivial, trivial)
    return smallest_eigenpairs(L, n_components)


def _proven_lanczos(A: Floats, k: int, scale: float) -> tuple[Floats, Floats] | None:
    """The k smallest eigenpairs by Lanczos; None where it does not pay, gives up or misses one.

    Lanczos may miss copies of a multiple eigenvalue. With the pairs found moved up by 2·scale, all
    eigenvalues lie above the largest one found, less a tolerance, if and only if none was missed: then
    the difference has a Cholesky factor.
    """
    N = len(A)
    if N < LARGE or 4 * k >= N:
        return None
    start = np.random.default_rng(0).standard_normal(N)
    try:
        values, vectors = eigsh(A, k=k, which="SA", v0=start, maxiter=N // PATIENCE)
    except ArpackError:  # no convergence
        return None
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    rest = A + (2.0 * scale * vectors) @ vectors.T
    rest[np.diag_indices(N)] -= values[-1] - RESOLUTION * scale
    _, missed = lapack.dpotrf(rest.T, lower=1, clean=0, overwrite_a=1)
    return None if missed else (values, vectors)


def _sparse_eigenmap(L: Any, trivial: Floats, n_components: int) -> Eigenmap:
    """Lanczos on (L + SHIFT·I)⁻¹, beside the trivial vector, from a fixed start."""
    N = len(trivial)

    def beside_trivial(x: Floats) -> Floats:
        return x - trivial * (trivial @ x)

    with one_blas_thread():
        solve = splu(sparse.csc_matrix(L + SHIFT * sparse.eye_array(N))).solve
        inverse = LinearOperator((N, N), lambda x: beside_trivial(solve(beside_trivial(x.ravel()))))
        start = beside_trivial(np.random.default_rng(0).standard_normal(N))
        theta, vectors = eigsh(inverse, k=n_components + 1, which="LA", v0=start)
    order = np.argsort(-theta)
    return _eigenmap(1.0 / theta[order] - SHIFT, vectors[:, order], n_components, 1.0)


def _eigenmap(values: Floats, vectors: Floats, d: int, scale: float) -> Eigenmap:
    gap = float(values[d] - values[d - 1]) / scale if len(values) > d else np.inf
    return Eigenmap(values[:d], np.ascontiguousarray(vectors[:, :d]), gap)
