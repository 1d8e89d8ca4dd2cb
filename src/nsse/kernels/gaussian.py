"""The Gaussian RBF kernel φ(r) = exp(−r²/σ²) of the paper (below Eq. 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel

Floats = NDArray[np.float64]

ROWS = 256  # worked through at a time: they stay in the cache between the product and the exponential


def gaussian(D2: Floats, sigma: float, out: Floats | None = None) -> Floats:
    """Kernel matrix Ψ_ij = exp(−‖x_i − z_j‖²/σ²) from squared distances."""
    K = np.empty_like(D2) if out is None else out

    def fill(start: int) -> None:
        rows = slice(start, start + ROWS)
        np.multiply(D2[rows], -1.0 / sigma**2, out=K[rows])
        np.exp(K[rows], out=K[rows])

    in_parallel(fill, range(0, len(D2), ROWS), K.size)
    return K


def gaussian_log_derivative(K: Floats, D2: Floats, sigma: float) -> Floats:
    """dΨ/d log σ = 2 (r²/σ²) Ψ, elementwise: what the slope of the objective needs."""
    dK = K * D2
    dK *= 2.0 / sigma**2
    return dK
