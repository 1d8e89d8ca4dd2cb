"""Gaussian kernel ridge regression: a map X → Y that need not pass through the training samples.

minimise ‖Y − KC‖² + α tr(C'KC), solved by C = (K + αI)⁻¹ Y. With a vanishing ridge α it interpolates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse._threads import one_blas_thread
from nsse.kernels import interpolation_coefficients

Floats = NDArray[np.float64]


def kernel_ridge(K: Floats, Y: Floats, alpha: float) -> Floats:
    """Coefficients C (N × d) of the kernel expansion."""
    with one_blas_thread():
        C = interpolation_coefficients(K.copy(), Y, alpha)
    if not np.all(np.isfinite(C)):
        raise rule_error(
            "alpha", "be large enough for K + alpha I to be positive definite in floating point",
            alpha, "Raise it, 1e-10 suffices for most data, or lower `sigma`.",
        )  # fmt: skip
    return C
