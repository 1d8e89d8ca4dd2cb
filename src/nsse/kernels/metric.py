"""Distances in a metric that shortens some axes, for many metrics with the same axes.

With A = I − V diag(1 − a) V' and orthonormal V, a distance has a part outside the axes, which no A
changes, and a part along each of them:

    ‖A(x − z)‖² = ‖x − z‖² − Σ_k (1 − a_k²)(v_k'(x − z))²
                = [‖x − z‖² − Σ_k (v_k'(x − z))²] + Σ_k a_k² (v_k'(x − z))².

The first line subtracts for every a. The second subtracts once: two parts that are never negative are
added for every a, and only the part outside, not the shortened part, has the rounding of ‖x − z‖².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsse.kernels.distances import Shifted, squared_distances

Floats = NDArray[np.float64]

# A part of the largest squared distance below this share is what rounding left.
ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SplitDistances:
    """Squared distances from rows to points, cut at the axes of a metric.

    Attributes
    ----------
    outside : ndarray of shape (N, m)
        The part that no factor changes, never negative.
    rows : ndarray of shape (N, r)
        The rows along the axes, XV.
    points : ndarray of shape (m, r) or None
        The points along the axes; None: the rows are the points.
    """

    outside: Floats
    rows: Floats
    points: Floats | None

    @classmethod
    def of(cls, D2: Floats, rows: Floats, points: Floats | None = None) -> SplitDistances:
        """Cut Euclidean squared distances, given what they are distances of along the axes."""
        outside = D2 - _along(rows, points)
        outside[outside < ROUNDING * np.max(D2, initial=0.0)] = 0.0
        return cls(outside, rows, points)

    def shrunk(self, factors: Floats) -> Floats:
        """‖A(x_i − z_j)‖² for the factors a of the axes, never negative; of rows alone, symmetric."""
        D2 = _along(self.rows * factors, None if self.points is None else self.points * factors)
        D2 += self.outside
        return D2


def _along(rows: Floats, points: Floats | None) -> Floats:
    return squared_distances(rows) if points is None else Shifted.of(points).squared_distances_from(rows)
