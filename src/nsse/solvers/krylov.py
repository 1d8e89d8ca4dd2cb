"""The leading eigenpairs of the pencil B c = θ P c, with B = K² and P = R'R.

In u = R c the pencil becomes the symmetric problem M u = θ u with M = R⁻ᵀ K K R⁻¹, whose largest θ
are wanted: λ = 1/θ. After M − 1 of them the spectrum falls off a cliff, so a
block Krylov space from the class indicators is converged after two or three blocks, all of it matrix
products. Where there is no cliff (d ≥ M) the space may not converge: then M is formed and solved whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr, svd
from scipy.linalg.blas import dsyrk

from nsse._threads import in_parallel
from nsse.solvers.factors import Factor

Floats = NDArray[np.float64]

# Guard vectors beyond those wanted: they carry the convergence of the last wanted one.
GUARD = 8
MAX_BLOCKS = 12
PANEL = 512
# A space of fewer blocks seldom converges, and a full solve of so few samples takes no longer.
LEAST_BLOCKS = 4


@dataclass(frozen=True)
class Pairs:
    """Leading eigenvalues θ (descending) with coefficients ``C`` = R⁻¹u and ``Y`` = KC, ‖u‖ = 1."""

    theta: Floats
    C: Floats
    Y: Floats
    method: str


def leading_pairs(K: Floats, factor: Factor, n_wanted: int, start: Floats, tol: float) -> Pairs:
    """Find the ``n_wanted`` leading pairs, and the guard vectors beside them where there are any.

    ``start`` (N × b) spans a first guess of the embeddings Y; its width is the block size.
    """
    N = len(K)
    if 2 * start.shape[1] * LEAST_BLOCKS <= N:
        pairs = _block_krylov(K, factor, n_wanted, start, tol)
        if pairs is not None:
            return pairs
    return _dense(K, factor, min(N, n_wanted + GUARD))


def _block_krylov(K: Floats, factor: Factor, n_wanted: int, start: Floats, tol: float) -> Pairs | None:
    width = start.shape[1]
    most = min(MAX_BLOCKS, len(K) // (2 * width))
    U, C, Y, V = (np.empty((len(K), most * width), order="F") for _ in range(4))
    fresh = factor.solve_transposed(times(K, start))
    for done in range(0, most * width, width):
        block, upto = slice(done, done + width), done + width
        U[:, block] = orthonormal(fresh, U[:, :done])
        C[:, block] = factor.solve(U[:, block])
        Y[:, block] = times(K, C[:, block])
        V[:, block] = factor.solve_transposed(times(K, Y[:, block]))  # M u
        theta, Q = eigh(Y[:, :upto].T @ Y[:, :upto], check_finite=False)
        theta, Q = theta[: -width - 1 : -1], Q[:, : -width - 1 : -1]
        residual = V[:, :upto] @ Q - (U[:, :upto] @ Q) * theta
        if np.all(np.linalg.norm(residual, axis=0)[:n_wanted] <= tol * theta[:n_wanted]):
            return Pairs(theta, C[:, :upto] @ Q, Y[:, :upto] @ Q, "block Krylov")
        fresh = V[:, block]
    return None


def _dense(K: Floats, factor: Factor, n_pairs: int) -> Pairs:
    N = len(K)
    G = factor.solve_transposed(K)
    if factor.method == "qr":
        # Forming GG' would square what the QR factorisation took care not to square.
        U, root_theta, _ = svd(G, check_finite=False)
        C = factor.solve(U[:, :n_pairs])
        return Pairs(root_theta[:n_pairs] ** 2, C, times(K, C), "full")
    M = dsyrk(1.0, G)  # M = GG', upper half
    theta, U = eigh(
        M, lower=False, subset_by_index=(N - n_pairs, N - 1), overwrite_a=True, check_finite=False
    )
    C = factor.solve(U[:, ::-1])
    return Pairs(theta[::-1], C, times(K, C), "full")


def orthonormal(A: Floats, against: Floats) -> Floats:
    """An orthonormal basis of the columns of A, orthogonal to those of another one."""
    # Twice is enough: one pass of Gram-Schmidt loses orthogonality when A nearly lies in the space.
    for _ in range(2):
        if against.shape[1]:
            A = A - against @ (against.T @ A)
        A = np.asarray(qr(A, mode="economic", check_finite=False)[0])
    return A


def times(K: Floats, A: Floats) -> Floats:
    """K A, in panels of rows."""
    out = np.empty((len(K), A.shape[1]))

    def fill(start: int) -> None:
        np.matmul(K[start : start + PANEL], A, out=out[start : start + PANEL])

    in_parallel(fill, range(0, len(K), PANEL), K.size)
    return out
