"""The embedding from accumulated matrices: B c = θ P c with B = K'K and P = K'SK + μ2 I given as such.

With m centres for N samples, K itself is never held, only the two m × m matrices are. P is factored by
Cholesky. Where rounding has made it indefinite, a jitter δI is added, which acts like a larger μ2; it is
recorded, and the estimator warns about it. In u = Rc, R'R = P, the largest θ of R⁻ᵀBR⁻¹ are found in a
block Krylov space that starts from the sums of the classes, K'E, or by a full solve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack

from nsse._errors import rule_message
from nsse._threads import one_blas_thread
from nsse.solvers.factors import Factor
from nsse.solvers.krylov import GUARD, LEAST_BLOCKS, orthonormal
from nsse.solvers.pencil import RESIDUAL, RankError

Floats = NDArray[np.float64]

MAX_BLOCKS = 16
# Up to so many centres a full solve takes less time than a Krylov space.
FULL_UP_TO = 400
# Residual of the eigenpairs in units of the rounding of B and P: finer is of no use.
RESIDUAL_PER_ROUNDING = 100.0
# The first jitter, in units of the rounding of the largest diagonal entry of P, and how it grows.
JITTER, JITTER_GROWTH, MOST_JITTERS = 10.0, 10.0, 6


@dataclass(frozen=True)
class GramSolution:
    """The d smallest λ = 1/θ (ascending), coefficients C with C'BC = I, and how they were found.

    ``basis`` (m × b) spans C and some guard vectors: the start for a σ nearby.
    """

    eigenvalues: Floats
    coef: Floats
    basis: Floats
    condition: float
    jitter: float
    eigensolver: str


class IndefiniteError(ValueError):
    """P is not positive definite in floating point, and a jitter was not allowed or not enough."""

    def __init__(self, jitter: float) -> None:
        super().__init__(
            rule_message(
                "mu2", "be large enough for the problem to be solvable in floating point",
                f"a matrix that is indefinite even with {jitter:.1e} added",
                "Raise `mu2`, lower `sigma`, or pass X in double precision.",
            )
        )  # fmt: skip


def solve_gram(
    B: Floats, P: Floats, start: Floats, n_components: int, rounding: float, *, may_jitter: bool
) -> GramSolution:
    """Solve the pencil; ``P`` is overwritten.

    Parameters
    ----------
    B, P : ndarrays of shape (m, m)
        Symmetric, both halves filled, stored by rows.
    start : ndarray of shape (m, b)
        Columns near the span of P C: the class sums K'E will do.
    n_components : int
        d.
    rounding : float
        Relative rounding of the products that B and P are made of.
    may_jitter : bool
        Whether δI may be added to an indefinite P; if not, `IndefiniteError`.
    """
    with one_blas_thread():
        factor, jitter = _factor(P, rounding, may_jitter)
        width = n_components + GUARD
        pairs = None
        if len(B) > max(FULL_UP_TO, width * LEAST_BLOCKS):
            tol = max(RESIDUAL, RESIDUAL_PER_ROUNDING * rounding)
            pairs = _block_krylov(B, factor, n_components, _widened(start, width), tol)
        theta, C, method = pairs or _dense(B, factor, min(len(B), width))
    rank = _rank(B, theta, C)
    if rank < n_components:
        raise RankError(rank, n_components)
    d = n_components
    # u'u = 1 means c'Pc = 1 and c'Bc = θ: c/√θ has c'Bc = 1 and c'Pc = 1/θ = λ.
    return GramSolution(
        1.0 / theta[:d], C[:, :d] / np.sqrt(theta[:d]), C, factor.condition, jitter, method
    )


def _rank(B: Floats, theta: Floats, C: Floats) -> int:
    """How many leading coordinates are more than rounding: c'Bc = θ has an error of ε max(B) ‖c‖².

    With ε of double precision, whatever the products: their errors are many and small, and how much of
    a coordinate they make is seen from Y'Y itself.
    """
    eps = np.finfo(float).eps
    noise = eps * np.diag(B).max() * np.einsum("ij,ij->j", C, C)
    clean = theta > np.maximum(noise, eps * len(B) * theta[0])
    return len(clean) if clean.all() else int(np.argmin(clean))


def _factor(P: Floats, rounding: float, may_jitter: bool) -> tuple[Factor, float]:
    diagonal = np.diag(P).copy()
    norm = float(diagonal.sum())
    jitter = 0.0
    for attempt in range(1 + MOST_JITTERS):
        # Of a matrix stored by rows, LAPACK takes the transpose: it overwrites the half below the
        # diagonal, and the other half is there to begin again.
        R, failed = lapack.dpotrf(P.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            reciprocal, _ = lapack.dpocon(R, norm, uplo="U")
            return Factor(R, "cholesky", 1.0 / max(reciprocal, np.finfo(float).tiny)), jitter
        if not may_jitter:
            break
        jitter = JITTER * JITTER_GROWTH**attempt * rounding * float(diagonal.max())
        _restore(P, diagonal + jitter)
    raise IndefiniteError(jitter)


def _restore(P: Floats, diagonal: Floats) -> None:
    for i in range(1, len(P)):
        P[i, :i] = P[:i, i]
    P[np.diag_indices(len(P))] = diagonal


def _widened(start: Floats, width: int) -> Floats:
    """The given columns and fixed pseudo-random ones up to a width, or further."""
    missing = max(width - start.shape[1], GUARD)
    guard = np.random.default_rng(0).standard_normal((len(start), missing))
    return np.hstack([start, guard * np.linalg.norm(start, axis=0).mean() / np.sqrt(len(start))])


def _block_krylov(
    B: Floats, factor: Factor, n_wanted: int, start: Floats, tol: float
) -> tuple[Floats, Floats, str] | None:
    width = start.shape[1]
    most = min(MAX_BLOCKS, len(B) // width)
    U, V = (np.empty((len(B), most * width), order="F") for _ in range(2))
    fresh = factor.solve_transposed(start)
    for done in range(0, most * width, width):
        upto = done + width
        U[:, done:upto] = orthonormal(fresh, U[:, :done])
        V[:, done:upto] = factor.solve_transposed(B @ factor.solve(U[:, done:upto]))
        reduced = U[:, :upto].T @ V[:, :upto]
        theta, Q = eigh((reduced + reduced.T) / 2, check_finite=False)
        theta, Q = theta[: -width - 1 : -1], Q[:, : -width - 1 : -1]
        residual = V[:, :upto] @ Q - (U[:, :upto] @ Q) * theta
        if np.all(np.linalg.norm(residual, axis=0)[:n_wanted] <= tol * theta[:n_wanted]):
            return theta, factor.solve(U[:, :upto] @ Q), "block Krylov"
        fresh = V[:, done:upto]
    return None


def _dense(B: Floats, factor: Factor, n_pairs: int) -> tuple[Floats, Floats, str]:
    m = len(B)
    half = factor.solve_transposed(B)
    M = factor.solve_transposed(half.T)
    theta, U = eigh((M + M.T) / 2, subset_by_index=(m - n_pairs, m - 1), check_finite=False)
    return theta[::-1], factor.solve(U[:, ::-1]), "full"
