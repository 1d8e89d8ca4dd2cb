"""The nearest sample of one's own class, and the nearest of another, in an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel
from nsse.kernels import Shifted

Floats = NDArray[np.float64]

# Distances in flight per block: 16 MB.
BLOCK_VALUES = 2_000_000


def nearest_own_and_other(
    Y: Floats, y: NDArray[Any], points: Floats, labels: NDArray[Any], *, same: bool
) -> tuple[Floats, Floats]:
    """Distances from ``points`` to the nearest rows of ``Y`` with their label and with another one.

    With `same` the points are the rows of ``Y``, and no point is its own neighbour. Infinite where there
    is no such row.
    """
    among = Shifted.of(Y)
    own, other = np.empty(len(points)), np.empty(len(points))
    rows = max(1, BLOCK_VALUES // len(Y))

    def fill(start: int) -> None:
        block = slice(start, start + rows)
        D2 = among.squared_distances_from(points[block])
        if same:
            here = np.arange(len(D2))
            D2[here, start + here] = np.inf
        mine = labels[block, np.newaxis] == y
        for out, wanted in ((own, mine), (other, ~mine)):
            out[block] = _smallest(np.where(wanted, D2, np.inf), Y, points[block])

    in_parallel(fill, range(0, len(points), rows), len(points) * len(Y))
    return own, other


def _smallest(D2: Floats, Y: Floats, points: Floats) -> Floats:
    """Distance to the nearest row; from the coordinates, for D2 has lost digits where it is small."""
    nearest = D2.argmin(axis=1)
    exact = np.linalg.norm(points - Y[nearest], axis=1)
    return np.where(np.isinf(D2[np.arange(len(D2)), nearest]), np.inf, exact)
