"""The valleys of g seen from a scan. There is mostly one; overlapping classes can make two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic

from nsse.solvers.descent import CURVATURE, E, Point, cubic_minimum


@dataclass(frozen=True)
class Valley(Generic[E]):
    """Where to start a descent: from points already known, or from a guess of log σ."""

    known: list[E]
    first: float | None = None
    curvature: float = CURVATURE

    @property
    def lower(self) -> E:
        """The best point known."""
        return min(self.known, key=lambda point: point.excess)


def valleys(scanned: list[E], nearly_as_deep: float) -> list[Valley[E]]:
    """Valleys of a scan (in ascending σ) within a factor of the deepest, the deepest first.

    Between two points a bottom lies for certain if the slope of the lower one points to the other; the
    cubic through both predicts its depth. An end of the scan is one if the slope points out of it.
    """
    found: list[tuple[float, Valley[E]]] = []
    for a, b in pairwise(scanned):
        # As `holds_valley`; a scan of a sweep is looked at thousands of times.
        if a.slope < 0 if a.excess <= b.excess else b.slope >= 0:
            found.append((depth(Point.of(a), Point.of(b)), Valley([a, b])))
    if scanned[0].slope >= 0:
        found.append((Point.of(scanned[0]).value, Valley([scanned[0]])))
    if scanned[-1].slope < 0:
        found.append((Point.of(scanned[-1]).value, Valley([scanned[-1]])))
    found.sort(key=lambda pair: pair[0])
    limit = found[0][0] + math.log(nearly_as_deep)
    return [valley for bottom, valley in found if bottom <= limit]


def holds_valley(a: Point[E], b: Point[E]) -> bool:
    """Whether g falls from the lower of two points, a left of b, towards the other."""
    return a.slope < 0 if a.value <= b.value else b.slope >= 0


def lower(a: Point[E], b: Point[E]) -> Point[E]:
    """The one with the lesser g."""
    return a if a.value <= b.value else b


def depth(a: Point[E], b: Point[E]) -> float:
    """log g at the bottom between two points, as the cubic through both has it."""
    cubic = cubic_minimum(a, b)
    return min(a.value, b.value) if cubic is None else cubic[1]
