"""A bounded scalar descent in log σ that uses values and slopes.

A Newton step from the first point, then minimisers of the cubic through the two best ones, kept inside
the bracket of slopes of opposite sign. Works on log g, which is closer to a parabola than g itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nsse.solvers.pencil import Solution

Evaluate = Callable[[float, Any], Solution]

# No step changes σ by more than this factor (e^0.7 = 2): the curvature may be from far away.
LONGEST_STEP = 0.7


@dataclass(frozen=True)
class DescentEnd:
    """The best point seen, and whether the slope vanished there."""

    solution: Solution
    curvature: float
    converged: bool
    at_bound: bool


@dataclass(frozen=True)
class _Point:
    x: float
    solution: Solution

    @property
    def value(self) -> float:
        """log g."""
        return math.log(self.solution.excess)

    @property
    def slope(self) -> float:
        """d log g/d log σ."""
        return self.solution.slope / self.solution.excess


def descend(
    evaluate: Evaluate,
    known: list[Solution],
    first: float | None,
    bounds: tuple[float, float],
    curvature: float,
    tol: float,
    max_iter: int,
) -> DescentEnd:
    """Minimise until no more than ``tol`` (relative) can be gained, or ``max_iter`` evaluations.

    ``known`` are points evaluated before (from a scan); ``first`` is a guess to start from, or None to
    start from what is known. ``curvature`` is a guess of d² log g/d(log σ)².
    """
    points = [_Point(math.log(s.sigma), s) for s in known]
    if first is not None:
        points.append(_Point(first, evaluate(first, None)))
    for _ in range(max_iter):
        points.sort(key=lambda p: p.solution.excess)
        best = points[0]
        curvature = _secant(points, curvature)
        target = _inside(_next(points, curvature), points, bounds)
        if target == best.x:  # at the end of the interval, and the slope points out of it
            return DescentEnd(best.solution, curvature, True, best.x in bounds)
        if abs(best.slope) * abs(target - best.x) / 2 <= tol:
            return DescentEnd(best.solution, curvature, True, False)
        points.append(_Point(target, evaluate(target, best.solution.basis)))
    best = min(points, key=lambda p: p.solution.excess)
    return DescentEnd(best.solution, curvature, False, False)


def _secant(points: list[_Point], curvature: float) -> float:
    """Curvature from the slopes of the two best points, where it is positive; else what was known."""
    if len(points) < 2:
        return curvature
    a, b = points[:2]
    found = (b.slope - a.slope) / (b.x - a.x)
    return found if found > 1e-3 else curvature


def _next(points: list[_Point], curvature: float) -> float:
    """Minimiser of the cubic through the two best points, or a Newton step from the best one."""
    best = points[0]
    if len(points) > 1:
        target = _cubic_minimiser(best, points[1])
        if target is not None:
            return target
    step = -best.slope / curvature
    return best.x + min(max(step, -LONGEST_STEP), LONGEST_STEP)


def _cubic_minimiser(a: _Point, b: _Point) -> float | None:
    """Nocedal & Wright, Numerical Optimization, Eq. (3.59); None where the cubic has no minimum."""
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.x - b.x)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return None
    d2 = math.copysign(math.sqrt(square), b.x - a.x)
    below = b.slope - a.slope + 2 * d2
    if below == 0:
        return None
    target = b.x - (b.x - a.x) * (b.slope + d2 - d1) / below
    # Far outside of both points the cubic is a guess worse than Newton's.
    return target if abs(target - a.x) <= LONGEST_STEP else None


def _inside(target: float, points: list[_Point], bounds: tuple[float, float]) -> float:
    """Keep the next point between the nearest slopes of opposite sign around the best, and in bounds."""
    best = points[0]
    left = max((p.x for p in points if p.slope < 0 and p.x <= best.x), default=bounds[0])
    right = min((p.x for p in points if p.slope >= 0 and p.x >= best.x), default=bounds[1])
    if best.slope < 0:
        left = best.x
    else:
        right = best.x
    return target if left <= target <= right else (left + right) / 2
