"""Laplacian regularised least squares (Belkin, Niyogi & Sindhwani 2006, Section 4.2).

For one column of targets y, with l labelled of N = l + u samples, f = Σ α_i K(x_i, ·) minimises

    1/l Σ_labelled (y_i − f(x_i))² + γ_A ‖f‖²_K + γ_I/N² f'Lf,

and with J = diag(1 where labelled, 0 elsewhere) its coefficients solve (their Eq. 8)

    (JK + γ_A l I + γ_I l/N² LK) α = Jy.

The matrix is not symmetric. It is (J + cL)K + γ_A l I, the product of two positive semidefinite
matrices moved by γ_A l > 0: no eigenvalue is below γ_A l, and the solution exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._errors import rule_error
from nsse._threads import one_blas_thread

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def solve_lap_rls(
    K: Floats, L: Any, targets: Floats, labeled: Mask, *, gamma_A: float, gamma_I: float
) -> Floats:
    """Coefficients α, one column per column of ``targets`` (rows without a label are not read)."""
    N, n_labeled = len(K), int(labeled.sum())
    # J + γ_I l/N² L, sparse
    S = sparse.diags_array(labeled.astype(np.float64)) + (gamma_I * n_labeled / N**2) * L
    with one_blas_thread():
        A = np.asarray(S @ K)
        A.flat[:: N + 1] += gamma_A * n_labeled
        try:
            return np.linalg.solve(A, np.where(labeled[:, np.newaxis], targets, 0.0))
        except np.linalg.LinAlgError:
            raise rule_error(
                "gamma_A",
                "be large enough for the linear system to be solved in floating point",
                gamma_A,
                "Raise it; 1e-10 suffices for most data.",
            ) from None
