"""The leading eigenpairs of the pencil B c = θ P c, with P = R'R.

In u = R c the pencil becomes the symmetric problem M u = θ u with M = R⁻ᵀ B R⁻¹, whose largest θ
are wanted: λ = 1/θ. After M − 1 of them the spectrum falls off a cliff, so a
block Krylov space from the class indicators is converged after two or three blocks, all of it matrix
products. Where there is no cliff (d ≥ M) the space may not converge: then M is formed and solved whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from nsse.solvers.constraint import ClassMeans, Constraint
from nsse.solvers.factors import Factor
from nsse.solvers.symmetric import largest_eigenpairs

Floats = NDArray[np.float64]

# Guard vectors beyond those wanted: they carry the convergence of the last wanted one.
GUARD = 8


@dataclass(frozen=True)
class Pairs:
    """Leading eigenvalues θ (descending) with coefficients ``C`` = R⁻¹u, ‖u‖ = 1, and their image."""

    theta: Floats
    C: Floats
    Y: Floats
    method: str


def leading_pairs(
    B: Constraint | ClassMeans,
    factor: Factor,
    n_wanted: int,
    start: Floats,
    tol: float,
    n_guard: int = GUARD,
) -> Pairs:
    """Find the ``n_wanted`` leading pairs, and the guard vectors beside them where there are any.

    ``start`` spans a first guess of the images, or of BC where there are none; its width is the block
    size. B of class means has M − 1 pairs, which come without iteration: fewer may be found than wanted.
    """
    if isinstance(B, ClassMeans):
        theta, U = B.whole(factor)
        C = factor.solve(U)
        return Pairs(theta, C, B.image(C), "class means")
    most = B.most_blocks(start.shape[1], tol)
    pairs = _block_krylov(B, factor, n_wanted, start, tol, most) if most else None
    return pairs or _dense(B, factor, min(B.n_centers, n_wanted + n_guard))


def _block_krylov(
    B: Constraint, factor: Factor, n_wanted: int, start: Floats, tol: float, most: int
) -> Pairs | None:
    m, width = B.n_centers, start.shape[1]
    U, C, V = (np.empty((m, most * width), order="F") for _ in range(3))
    Y = C
    fresh = factor.solve_transposed(B.opening(start))
    for done in range(0, most * width, width):
        block, upto = slice(done, done + width), done + width
        U[:, block] = orthonormal(fresh, U[:, :done])
        C[:, block] = factor.solve(U[:, block])
        image = B.image(C[:, block])
        if done == 0:
            Y = np.empty((len(image), most * width), order="F")
        Y[:, block] = image
        V[:, block] = factor.solve_transposed(B.pulled(Y[:, block]))  # M u
        M = B.reduced(U[:, :upto], Y[:, :upto], V[:, :upto])
        theta, Q = eigh(M, check_finite=False, driver="evd", overwrite_a=True)
        theta, Q = theta[: -width - 1 : -1], Q[:, : -width - 1 : -1]
        wanted, values = Q[:, :n_wanted], theta[:n_wanted]
        residual = V[:, :upto] @ wanted - (U[:, :upto] @ wanted) * values
        if np.all(np.linalg.norm(residual, axis=0) <= tol * values):
            return Pairs(theta, C[:, :upto] @ Q, Y[:, :upto] @ Q, "block Krylov")
        fresh = V[:, block]
    return None


def _dense(B: Constraint, factor: Factor, n_pairs: int) -> Pairs:
    found = B.whole(factor)
    if isinstance(found, tuple):
        theta, U = found
    else:
        theta, U = largest_eigenpairs(found, n_pairs)
    C = factor.solve(U[:, :n_pairs])
    return Pairs(theta[:n_pairs], C, B.image(C), "full")


def orthonormal(A: Floats, against: Floats) -> Floats:
    """An orthonormal basis of the columns of A, orthogonal to those of another one."""
    # Twice is enough: one pass of Gram-Schmidt loses orthogonality when A nearly lies in the space.
    for _ in range(2 if against.shape[1] else 1):
        if against.shape[1]:
            A = A - against @ (against.T @ A)
        A = np.asarray(qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])
    return A
