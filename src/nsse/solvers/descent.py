"""A bounded scalar descent in log σ that uses values and slopes.

A Newton step from the first point, then minimisers of the cubic through the two best ones, kept between
the best point and the nearest known one downhill of it: that one is no lower, so a minimum lies between.
Where steps do not flatten the slope the bracket is halved, so that every descent comes to an end. Works
on log g, which is closer to a parabola than g itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

# No step changes σ by more than this factor (e^0.7 = 2): the curvature may be from far away.
LONGEST_STEP = 0.7
# Of log g in log σ around its minimum, where nothing is known: g falls as σ⁻² and rises faster.
CURVATURE = 5.0
# So many steps must halve the slope, or the next one halves the bracket.
PATIENCE = 3
# What a step may gain is told so many times too small where one of two points is rough, and where they
# are so far apart that its slope is known well enough.
DOUBT, LITTLE_DOUBT = 10.0, 1.5
# Nearer than this in log σ the difference of a rough value and another one says nothing.
NEAR = 0.05
# A minimum between two σ that agree to this is found: g is not known more finely.
RESOLUTION = 1e-10


class Evaluated(Protocol):
    """What the descent needs to know of a point; a `Solution` has it."""

    @property
    def sigma(self) -> float:
        """Kernel scale."""

    @property
    def excess(self) -> float:
        """g."""

    @property
    def slope(self) -> float:
        """dg/d log σ."""

    @property
    def basis(self) -> Any:
        """Warm start for a point nearby."""

    @property
    def is_rough(self) -> bool:
        """Whether g and its slope are known to a few digits only: good for a bracket, not for an end."""


E = TypeVar("E", bound=Evaluated)


@dataclass(frozen=True)
class DescentEnd(Generic[E]):
    """The best point seen, and whether the slope vanished there."""

    solution: E
    converged: bool
    at_bound: bool
    curvature: float = CURVATURE


@dataclass(frozen=True)
class Point(Generic[E]):
    """A point in log σ with the value and slope of log g."""

    x: float
    solution: E

    @classmethod
    def of(cls, solution: E) -> Point[E]:
        """Place a solution on the axis."""
        return cls(float(np.log(solution.sigma)), solution)

    @cached_property
    def value(self) -> float:
        """log g."""
        return math.log(self.solution.excess)

    @cached_property
    def slope(self) -> float:
        """d log g/d log σ."""
        return self.solution.slope / self.solution.excess


def descend(
    evaluate: Callable[[float, Any], E],
    known: list[E],
    first: float | None,
    bounds: tuple[float, float],
    tol: float,
    max_iter: int,
    curvature: float = CURVATURE,
) -> DescentEnd[E]:
    """Minimise until no more than ``tol`` (relative) can be gained, or ``max_iter`` evaluations.

    ``known`` are points evaluated before (from a scan); ``first`` is a guess to start from, or None to
    start from what is known; ``curvature`` guesses d² log g/d(log σ)² until two slopes tell.
    """
    points = [Point.of(solution) for solution in known]
    if first is not None:
        points.append(Point(first, evaluate(first, known[0].basis if known else None)))
    slopes: list[float] = []
    for _ in range(max_iter):
        points.sort(key=lambda p: p.solution.excess)
        best = points[0]
        slopes.append(abs(best.slope))
        curvature = _curvature(points, curvature)
        downhill = _downhill_end(points)
        end = None if downhill is None else downhill.x
        target = _inside(_next(points, curvature), best, downhill, bounds)
        gain = abs(best.slope) * abs(target - best.x) / 2
        is_there = (
            target == best.x  # at the end of the interval, and the slope points out of it
            or gain * _doubt(points) <= tol
            or (end is not None and abs(end - best.x) <= RESOLUTION)
        )
        if is_there and not best.solution.is_rough:
            at_bound = target == best.x and best.x in bounds
            return DescentEnd(best.solution, True, at_bound, curvature)
        if not is_there and end is not None and _stalls(slopes):
            target = (best.x + end) / 2
        points = [point for point in points if point.x != target]  # a rough one, if any
        points.append(Point(target, evaluate(target, best.solution.basis)))
    best = min(points, key=lambda p: p.solution.excess)
    return DescentEnd(best.solution, False, False, curvature)


def cubic_minimum(a: Point[E], b: Point[E]) -> tuple[float, float] | None:
    """Where the cubic through the values and slopes of two points is least, and its value there.

    Nocedal & Wright, Numerical Optimization, Eq. (3.59); None where the cubic has no minimum.
    """
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.x - b.x)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return None
    d2 = math.copysign(math.sqrt(square), b.x - a.x)
    below = b.slope - a.slope + 2 * d2
    if below == 0:
        return None
    x = b.x - (b.x - a.x) * (b.slope + d2 - d1) / below
    return x, _cubic_value(a, b, x)


def _cubic_value(a: Point[E], b: Point[E], x: float) -> float:
    """Hermite's cubic through two points."""
    h = b.x - a.x
    t = (x - a.x) / h
    return (
        (1 + 2 * t) * (1 - t) ** 2 * a.value
        + t**2 * (3 - 2 * t) * b.value
        + h * t * (1 - t) * ((1 - t) * a.slope - t * b.slope)
    )


def _curvature(points: list[Point[E]], known: float) -> float:
    """From the slopes of the two best points, where it is positive; else what was known."""
    if len(points) < 2:
        return known
    best, other = points[:2]
    found = (other.slope - best.slope) / (other.x - best.x)
    return found if found > 1e-3 else known


def _next(points: list[Point[E]], curvature: float) -> float:
    """Minimiser of the cubic through the two best points, or a Newton step from the best one."""
    best = points[0]
    # A rough point nearby leaves a step of Newton, which only needs to know how the slope changes.
    cubic = cubic_minimum(best, points[1]) if len(points) > 1 and not _is_mixed(points, NEAR) else None
    # Far outside of both points the cubic is a guess worse than Newton's.
    if cubic is not None and abs(cubic[0] - best.x) <= LONGEST_STEP:
        return cubic[0]
    step = -best.slope / curvature
    return best.x + min(max(step, -LONGEST_STEP), LONGEST_STEP)


def _doubt(points: list[Point[E]]) -> float:
    if not _is_mixed(points):
        return 1.0
    return DOUBT if _is_mixed(points, NEAR) else LITTLE_DOUBT


def _is_mixed(points: list[Point[E]], within: float = math.inf) -> bool:
    """Whether one of the two best points is rough and the other is not, and they are so near."""
    if len(points) < 2 or points[0].solution.is_rough == points[1].solution.is_rough:
        return False
    return abs(points[0].x - points[1].x) < within


def _downhill_end(points: list[Point[E]]) -> Point[E] | None:
    """Where the bracket ends: at the nearest point downhill of the best, which comes first."""
    best = points[0]
    if best.slope < 0:
        return min((p for p in points if p.x > best.x), key=lambda p: p.x, default=None)
    return max((p for p in points if p.x < best.x), key=lambda p: p.x, default=None)


def _stalls(slopes: list[float]) -> bool:
    return len(slopes) > PATIENCE and slopes[-1] > slopes[-1 - PATIENCE] / 2


def _inside(target: float, best: Point[E], end: Point[E] | None, bounds: tuple[float, float]) -> float:
    """Keep the next point downhill of the best one, and inside the bracket or the interval."""
    limit = (bounds[1] if best.slope < 0 else bounds[0]) if end is None else end.x
    low, high = sorted((best.x, limit))
    if low <= target <= high and (end is None or target != end.x):
        return target
    # Beyond the end of the interval: its end. Beyond a known point, or uphill: halfway; a rough one may
    # not be the end that it seems to be.
    is_beyond = abs(target - best.x) >= abs(limit - best.x) and (target - best.x) * (limit - best.x) > 0
    if end is None or (end.solution.is_rough and is_beyond):
        return limit
    return (low + high) / 2
