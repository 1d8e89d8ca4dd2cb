"""Coefficients of a kernel expansion through given values, Eq. (7): the one solve with Ψ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Floats = NDArray[np.float64]

# Ψ + 10 N ε I: makes Ψ⁻¹Y the least-norm solution when samples coincide, where Ψ is singular.
RIDGE = 10.0


def interpolation_coefficients(K: Floats, Y: Floats, ridge: float | None = None) -> Floats:
    """C = (Ψ + ρI)⁻¹Y, infinite where Ψ is singular beyond the ridge (the paper: "poor conditioning").

    ``K`` = Ψ is symmetric, stored by rows, and used up. ``ridge`` is ρ; None takes 10 N ε.
    """
    N = len(K)
    K[np.diag_indices(N)] += RIDGE * N * np.finfo(float).eps if ridge is None else ridge
    _, C, failed = lapack.dposv(K.T, Y, lower=1, overwrite_a=1)
    return np.full_like(Y, np.inf) if failed else C
