"""The embedding from accumulated matrices: B c = θ P c with B = K'K and P = K'SK + μ2 I given as such.

Where class means are normalised B = K'GG'K is given by its factor K'G.

With m centres for N samples, K itself is never held, only the two m × m matrices are. P is factored by
Cholesky. Where rounding has made it indefinite, a jitter δI is added, which acts like a larger μ2; it is
recorded, and the estimator warns about it. In u = Rc, R'R = P, the largest θ of R⁻ᵀBR⁻¹ are found in a
block Krylov space that starts from the sums of the classes, K'E, or by a full solve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_message
from nsse._threads import one_blas_thread
from nsse.solvers.constraint import ClassMeans, SummedMatrix
from nsse.solvers.factors import Factor, cholesky
from nsse.solvers.krylov import GUARD, leading_pairs
from nsse.solvers.pencil import RESIDUAL, RankError

Floats = NDArray[np.float64]

# Residual of the eigenpairs in units of the rounding of B and P: finer is of no use.
RESIDUAL_PER_ROUNDING = 100.0
# The first jitter, in units of the rounding of the largest diagonal entry of P, and how it grows.
JITTER, JITTER_GROWTH, MOST_JITTERS = 10.0, 10.0, 6


@dataclass(frozen=True)
class GramSolution:
    """The d smallest λ = 1/θ (ascending), coefficients C with C'BC = I, and how they were found."""

    eigenvalues: Floats
    coef: Floats
    condition: float
    jitter: float
    eigensolver: str


class IndefiniteError(ValueError):
    """P is not positive definite in floating point, and a jitter was not enough."""

    def __init__(self, jitter: float) -> None:
        super().__init__(
            rule_message(
                "mu2",
                "be large enough for the problem to be solvable in floating point",
                f"a matrix that is indefinite even with {jitter:.1e} added",
                "Raise `mu2`, lower `sigma`, or pass X in double precision.",
            )
        )


def solve_gram(
    B: SummedMatrix | ClassMeans, P: Floats, start: Floats, n_components: int, rounding: float
) -> GramSolution:
    """Solve the pencil; ``P`` is overwritten.

    Parameters
    ----------
    B : SummedMatrix or ClassMeans
        Of the constraint.
    P : ndarray of shape (m, m)
        Symmetric, both halves filled, stored by rows.
    start : ndarray of shape (m, b)
        Columns near the span of P C: the class sums K'E will do.
    n_components : int
        d.
    rounding : float
        Relative rounding of the products that B and P are made of.
    """
    with one_blas_thread():
        factor, jitter = _factor(P, rounding)
        tol = max(RESIDUAL, RESIDUAL_PER_ROUNDING * rounding)
        start = _widened(start, n_components + GUARD)
        pairs = leading_pairs(B, factor, n_components, start, tol)
    theta, C = pairs.theta, pairs.C
    rank = _rank(B, theta, C)
    if rank < n_components:
        raise RankError(rank, n_components)
    d = n_components
    # u'u = 1 means c'Pc = 1 and c'Bc = θ: c/√θ has c'Bc = 1 and c'Pc = 1/θ = λ.
    return GramSolution(
        1.0 / theta[:d], C[:, :d] / np.sqrt(theta[:d]), factor.condition, jitter, pairs.method
    )


def _rank(B: SummedMatrix | ClassMeans, theta: Floats, C: Floats) -> int:
    """How many leading coordinates are more than rounding: c'Bc = θ has an error of ε max(B) ‖c‖².

    With ε of double precision, whatever the products: their errors are many and small, and how much of
    a coordinate they make is seen from Y'Y itself.
    """
    eps = np.finfo(float).eps
    noise = eps * B.largest * np.einsum("ij,ij->j", C, C)
    clean = theta > np.maximum(noise, eps * B.n_centers * theta[0])
    return len(clean) if clean.all() else int(np.argmin(clean))


def _factor(P: Floats, rounding: float) -> tuple[Factor, float]:
    diagonal = np.diag(P).copy()
    jitter = 0.0
    for attempt in range(1 + MOST_JITTERS):
        # The half below the diagonal is overwritten, and the other half is there to begin again.
        factor = cholesky(P)
        if factor is not None:
            return factor, jitter
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
