"""Measure the quality of probabilities by their log-loss and by the share of correct labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsse._support.types import Bools, Floats

# Edges of the bins of probabilities. They are close together near 1, because most labels are nearly
# certain.
EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


class Bin(NamedTuple):
    """Labels with a probability between two edges: their number, mean probability and correct share."""

    low: float
    high: float
    n: int
    mean: float
    right: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the correct share."""
        return wilson_interval(self.right, self.n)


def log_loss(P: Floats, codes: NDArray[Any]) -> float:
    """Return the mean of −log of the probability of the true class.

    It is infinite if one has probability 0.
    """
    with np.errstate(divide="ignore"):
        return float(-np.log(P[np.arange(len(codes)), codes]).mean())


def reliability_curve(probability: Floats, right: Bools, edges: Sequence[float]) -> list[Bin]:
    """Return number, mean and share of correct labels for the probabilities between two edges.

    Bins without a label are left out. The last bin contains its upper edge.
    """
    places = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, len(edges) - 2)
    return [
        Bin(
            float(edges[b]),
            float(edges[b + 1]),
            int((places == b).sum()),
            float(probability[places == b].mean()),
            float(right[places == b].mean()),
        )
        for b in np.unique(places)
    ]


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share among ``n`` samples (Wilson 1927)."""
    z = 1.959964
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return min(share, max(0.0, float(middle - half))), max(share, min(1.0, float(middle + half)))
