"""The Gaussian kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nsse._support.threads import WORTH_A_THREAD, in_parallel
from nsse._support.types import Floats, Matrix
from nsse.distances import PANEL
from nsse.kernels.base import EPS, PANEL_VALUES, Kernel, proved


@proved
class Gaussian(Kernel):
    """The Gaussian kernel, exp(−r²/σ²), which is the default.

    See Also
    --------
    Matern32 : A kernel whose functions may bend more sharply.
    Kernel : The base class, for your own kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.kernels import Gaussian
    >>> Gaussian().at(2.0)(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.368])
    """

    curvature = 1.0
    accuracy = 0.0  # one exponential, whose rounding the terms of `nsse.certificates.map_bounds` cover
    has_local_bound = True
    relative_slope = 0.5  # t e^(−t) ≤ 1/e

    def profile(self, t: Any, xp: Any) -> Any:
        """Return exp(−t) in the namespace ``xp``."""
        return xp.exp(-t)

    def rate(self, t: Floats) -> Floats:
        """Return −exp(−t)."""
        return -np.exp(-t)

    def bend(self, t: Floats) -> Floats:
        """Return exp(−t)."""
        return np.exp(-t)

    def log_profile(self, t: Floats) -> Floats:
        """Return −t."""
        return -t

    def __call__(self, D2: Floats) -> Floats:
        """Return exp(−r²/σ²) for squared distances r², which are overwritten."""
        if D2.size < WORTH_A_THREAD:
            D2 *= -1.0 / self.sigma**2
            return np.exp(D2, out=D2)

        def fill(start: int) -> None:
            part = D2[start : start + PANEL]
            part *= -1.0 / self.sigma**2
            np.exp(part, out=part)

        in_parallel(fill, range(0, len(D2), PANEL), D2.size)
        return D2

    def from_products(self, U: Floats, V: Floats, u2: Floats, v2: Floats, out: Any = None) -> Floats:
        """Return exp((2u'v − ‖u‖² − ‖v‖²)/σ²) of rows with these squared norms.

        The exponents are worked through in panels that stay in the cache of the processor.
        """
        factor = 1.0 / self.sigma**2
        K = np.matmul(np.multiply(U, 2.0 * factor, dtype=V.dtype), V.T, out=out)
        u, v = ((-factor * squares).astype(V.dtype) for squares in (u2[:, np.newaxis], v2))
        size = max(1, PANEL_VALUES // K.shape[1])
        for start in range(0, len(K), size):
            part = K[start : start + size]
            part += u[start : start + size]
            part += v
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
        # If ‖u‖² overflows, the row is infinitely far from every center.
        if not np.isfinite(u).all():
            K[~np.isfinite(u[:, 0])] = 0.0
        return K

    def gradient_weights(self, U: Matrix, V: Matrix, V_squares: Floats | None = None) -> Floats:
        """Return −2/σ² times the kernel matrix."""
        K = self.between(U, V, V_squares)
        K *= -2.0 / self.sigma**2
        return K

    def log_derivative(self, K: Floats, D2: Floats) -> Floats:
        """Return dK/d log σ = 2 (r²/σ²) K, elementwise."""
        dK = K * D2
        dK *= 2.0 / self.sigma**2
        return dK

    @property
    def slope(self) -> float:
        """The largest slope ``|dk/dr|``, √2 e^(−½)/σ (proof of Proposition 1)."""
        return math.sqrt(2.0) * math.exp(-0.5) / self.sigma

    def fall(self, t: Floats) -> Floats:
        """Return 1 − exp(−t)."""
        return np.asarray(-np.expm1(-t))

    def reach(self, change: Floats) -> Floats:
        """Return σ √(−log(1 − change²/2)), the inverse of `change`, which is infinite from √2 on."""
        half = np.square(change) / 2.0
        inside = np.minimum(half, 1.0 - 1e-16)
        return np.where(half < 1.0, self.sigma * np.sqrt(-np.log1p(-inside)), np.inf)

    def local_bound(self, t: Floats, line: Floats, rest: Floats) -> Floats:
        """Return exp(−t) (m + g'(v − u)) − rest · √(1 − exp(−2t)(1 + 2t)), and never more than h(v).

        In the space of the kernel h is m k_u, plus its part along the derivatives of k_u, of squared
        norm σ²‖g‖²/2, plus the rest, which is orthogonal to both. k_v has the parts exp(−t) and
        exp(−t) √(2t) along the first two.
        """
        k = np.exp(-t)
        # 1 − e^(−y)(1 + y) ≤ y²/2, where the left side has no digits left
        share = np.minimum(2.0 * t**2, -np.expm1(-2.0 * t) - 2.0 * t * k**2 + 8 * EPS)
        return np.asarray(np.minimum(k * line, line) - rest * np.sqrt(share))
