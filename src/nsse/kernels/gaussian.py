"""The Gaussian RBF kernel φ(r) = exp(−r²/σ²) of the paper (below Eq. 6), and its derivatives.

dφ/d log σ = 2 (r²/σ²) φ,      ∇_x φ(‖x − z‖) = −(2/σ²) φ (x − z),      |φ'| ≤ L_φ = √2 e^(−1/2)/σ
"""

from __future__ import annotations

from typing import Any

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
        fill_gaussian(D2[rows], sigma, K[rows])

    in_parallel(fill, range(0, len(D2), ROWS), K.size)
    return K


def fill_gaussian(D2: NDArray[Any], sigma: float, out: NDArray[Any]) -> NDArray[Any]:
    """The same written to ``out``, which may be ``D2``, in its precision and on this thread."""
    np.multiply(D2, -1.0 / sigma**2, out=out)
    return np.exp(out, out=out)


def gaussian_log_derivative(K: Floats, D2: Floats, sigma: float) -> Floats:
    """dΨ/d log σ = 2 (r²/σ²) Ψ, elementwise: what the slope of the objective needs."""
    dK = K * D2
    dK *= 2.0 / sigma**2
    return dK


def gradient_factor(sigma: float) -> float:
    """−2/σ²: what φ (x − z) is multiplied by in the gradient of φ(‖x − z‖)."""
    return -2.0 / sigma**2


def kernel_slope(sigma: float) -> float:
    """L_φ = √2 e^(−1/2)/σ, the largest slope of exp(−r²/σ²) (proof of Proposition 1)."""
    return float(np.sqrt(2.0) * np.exp(-0.5) / sigma)
