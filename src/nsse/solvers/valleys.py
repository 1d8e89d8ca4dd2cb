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


def valleys(scanned: list[E], nearly_as_deep: float) -> list[Valley[E]]:
    """Valleys of a scan (in ascending σ) within a factor of the deepest, the deepest first.

    Between two points where the slope turns from down to up lies a bottom, whose depth the cubic
    through both predicts; an end of the scan is one if the slope points out of it.
    """
    points = [Point.of(solution) for solution in scanned]
    found: list[tuple[float, Valley[E]]] = []
    for a, b in pairwise(points):
        if a.slope < 0 <= b.slope:
            cubic = cubic_minimum(a, b)
            depth = min(a.value, b.value) if cubic is None else cubic[1]
            found.append((depth, Valley([a.solution, b.solution])))
    if points[0].slope >= 0:
        found.append((points[0].value, Valley([points[0].solution])))
    if points[-1].slope < 0:
        found.append((points[-1].value, Valley([points[-1].solution])))
    found.sort(key=lambda pair: pair[0])
    deepest = found[0][0]
    return [valley for depth, valley in found if depth <= deepest + math.log(nearly_as_deep)]
