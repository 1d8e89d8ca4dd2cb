"""The Matérn kernel with smoothness 3/2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nsse._support.types import Floats
from nsse.kernels.base import Kernel, proved


@proved
class Matern32(Kernel):
    """The Matérn kernel with smoothness 3/2, (1 + √3 r/σ) exp(−√3 r/σ).

    Its functions have one derivative, and they can bend more sharply than with the Gaussian kernel.

    See Also
    --------
    Gaussian : The smoothest kernel of the same family, apart from the scale of σ.
    Exponential : The roughest.
    Kernel : The base class, for your own kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.kernels import Matern32
    >>> Matern32().at(2.0)(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.483])
    """

    curvature = 1.5

    def profile(self, t: Any, xp: Any) -> Any:
        """Return (1 + √(3t)) exp(−√(3t)) in the namespace ``xp``."""
        r = xp.sqrt(3.0 * t)
        return (1.0 + r) * xp.exp(-r)

    def rate(self, t: Floats) -> Floats:
        """Return −3/2 exp(−√(3t))."""
        return -1.5 * np.exp(-np.sqrt(3.0 * t))

    @property
    def slope(self) -> float:
        """The largest slope ``|dk/dr|``, √3/(e σ)."""
        return math.sqrt(3.0) / (math.e * self.sigma)
