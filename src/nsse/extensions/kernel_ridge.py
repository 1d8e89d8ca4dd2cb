"""Gaussian kernel ridge regression: a map X → Y that need not pass through the training samples.

minimise ‖Y − KC‖² + α tr(C'KC), solved by C = (K + αI)⁻¹ Y. With a vanishing ridge α it interpolates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nsse._errors import rule_error
from nsse._threads import one_blas_thread

Floats = NDArray[np.float64]


def kernel_ridge(K: Floats, Y: Floats, alpha: float) -> Floats:
    """Coefficients C (N × d) of the kernel expansion."""
    A = K.copy()
    A.flat[:: len(A) + 1] += alpha
    with one_blas_thread():
        try:
            return np.asarray(cho_solve(cho_factor(A, lower=True, overwrite_a=True), Y))
        except LinAlgError:
            raise rule_error(
                "alpha", "be large enough for K + alpha I to be positive definite in floating point",
                alpha, "Raise it, 1e-10 suffices for most data, or lower `sigma`.",
            ) from None  # fmt: skip
