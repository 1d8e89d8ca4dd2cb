"""Triangular factors R with R'R = P or R'R = K, and products with their inverses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack, qr
from scipy.linalg.blas import dtrmm, dtrsm

from nsse._support.types import Floats

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Factor:
    """An upper triangular R.

    Attributes
    ----------
    R : ndarray of shape (N, N)
        The factor.
    method : {"kernel", "cholesky", "qr"}
        How it was computed, and whether R'R is K ("kernel") or P.
    norm : float
        A bound of the norm of R'R.
    """

    R: Floats
    method: str
    norm: float

    @cached_property
    def condition(self) -> float:
        """Estimate of the condition number of R'R."""
        return 1.0 / max(float(lapack.dpocon(self.R, self.norm)[0]), EPS**2)

    def times(self, A: Floats) -> Floats:
        """Return RA."""
        return np.asarray(dtrmm(1.0, self.R, A))

    def solve(self, A: Floats) -> Floats:
        """Return R⁻¹A."""
        return np.asarray(dtrsm(1.0, self.R, A))

    def solve_transposed(self, A: Floats) -> Floats:
        """Return R⁻ᵀA."""
        return np.asarray(dtrsm(1.0, self.R, A, trans_a=1))

    def solve_both(self, A: Floats) -> Floats:
        """Return (R'R)⁻¹A."""
        return self.solve(self.solve_transposed(A))


def cholesky_factor(A: Floats, method: str, norm: float) -> Factor | None:
    """Return the Cholesky factor of a symmetric matrix, or None if rounding made it indefinite."""
    try:
        return Factor(cholesky(A, check_finite=False), method, norm)
    except LinAlgError:
        return None


def qr_factor(A: Floats) -> Factor:
    """Return the factor R of A'A without forming A'A, whose condition number is the square of A's."""
    (R,) = qr(A, mode="r", check_finite=False)
    R = np.asfortranarray(R[: A.shape[1]])
    return Factor(np.asarray(R, dtype=np.float64), "qr", float((R**2).sum()))


def orthonormal(A: Floats, against: Floats) -> Floats:
    """Return an orthonormal basis of the columns of A, orthogonal to the columns of ``against``."""
    # One pass of Gram-Schmidt loses orthogonality if A is nearly in the space. Two passes are enough.
    for _ in range(2 if against.shape[1] else 1):
        A = A - against @ (against.T @ A)
        A = np.asarray(qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])
    return A
