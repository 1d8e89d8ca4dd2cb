"""The exponential kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nsse._support.types import Floats
from nsse.kernels.base import Kernel, proved


@proved
class Exponential(Kernel):
    """The exponential kernel, exp(−r/σ), also called the Laplacian kernel.

    Its functions have kinks at the centers. They can change arbitrarily fast, so that there is no
    Lipschitz bound and certified radii are small.

    See Also
    --------
    Matern32 : The next smoother kernel of the same family, which has Lipschitz bounds.
    Kernel : The base class, for your own kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.kernels import Exponential
    >>> Exponential().at(2.0)(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.368])
    """

    curvature = math.inf

    def profile(self, t: Any, xp: Any) -> Any:
        """Return exp(−√t) in the namespace ``xp``."""
        return xp.exp(-xp.sqrt(t))

    def rate(self, t: Floats) -> Floats:
        """Return −exp(−√t)/(2√t)."""
        r = np.sqrt(t)
        return -np.exp(-r) / (2.0 * r)

    def fall(self, t: Floats) -> Floats:
        """Return 1 − exp(−√t)."""
        return np.asarray(-np.expm1(-np.sqrt(t)))

    def reach(self, change: Floats) -> Floats:
        """Return −σ log(1 − change²/2), the inverse of `change`, which is infinite from √2 on."""
        half = np.square(change) / 2.0
        inside = np.minimum(half, 1.0 - 1e-16)
        return np.where(half < 1.0, -self.sigma * np.log1p(-inside), np.inf)
