"""Where the valleys of g may be: a scan in log σ, and a closer look where it leaves doubt.

g is the least of many smooth functions, one for every embedding: it may bend downwards where two of them
cross, and fall again into a valley that a coarse scan steps over. Three things tell where none can be:

- g ≥ μ3/σ² (the *floor*), which exceeds the least g seen below some σ. This is a proof.
- log g of one embedding is convex in log σ, or nearly so: it stays above its tangents. Where the
  tangents at both ends of a cell stay above the least g seen, so does g, unless a third embedding is
  best inside.
- Values and slopes at both ends that fit one convex function: then nothing bends between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Generic

import numpy as np

from nsse.solvers.descent import DescentEnd, E, Point, descend
from nsse.solvers.pencil import RankError
from nsse.solvers.valleys import Valley, depth, holds_valley, lower, valleys

Bounds = tuple[float, float]
Evaluate = Callable[[float, Any], E]

SCAN_POINTS = 13
# No cell of a scan is wider than this in log σ.
WIDEST_CELL = 0.4
# Valleys whose predicted depth is within this factor of the deepest are all descended into.
NEARLY_AS_DEEP = 1.05
# Cells narrower than this hide nothing.
FINEST = 0.012
# The power of σ that g rises faster than where it is steep.
STEEP = 2.0
# Where the secant of a convex function lies between the slopes at both ends: halfway for a parabola.
BALANCED = (0.25, 0.75)


def log_grid(bounds: Bounds) -> list[float]:
    """The log σ that a scan tries."""
    low, high = np.log(bounds)
    n_points = max(SCAN_POINTS, 1 + math.ceil((high - low) / WIDEST_CELL))
    return [float(x) for x in np.linspace(low, high, n_points)]


@dataclass(frozen=True)
class Look(Generic[E]):
    """How to look for valleys.

    Attributes
    ----------
    evaluate : callable
        ``evaluate(log_sigma, basis)`` gives g and its slope; `RankError` where σ is too large for that.
    floor : callable
        ``floor(sigma)`` is a lower bound of g at this and every smaller σ.
    widest : float
        Cells wider than this are looked into wherever the floor allows a minimum.
    far_above, steeply_above : float
        A scan upwards ends where g has risen to so many times its least value, and where it rises faster
        than σ².
    unsolvable : list of float
        log σ between solvable ones where the problem could not be solved: rounding rules there.
    """

    evaluate: Evaluate[E]
    floor: Callable[[float], float]
    widest: float = np.inf
    far_above: float = np.inf
    steeply_above: float = np.inf
    unsolvable: list[float] = field(default_factory=list)


def scan(look: Look[E], grid: list[float]) -> tuple[list[E], Bounds]:
    """Evaluate on a grid in log σ, and say how far σ can go.

    From the middle up, then from the middle down to where the floor shows that no minimum can be. The
    kernel matrix loses rank as σ grows; where it cannot carry d coordinates the objective is infinite,
    and the way up ends, as it does once g has risen far above its least value. Warm starts go along.
    """
    rest = list(grid)
    found, above = _first(look, rest)
    end = None
    for log_sigma in above:
        try:
            found.append(look.evaluate(log_sigma, found[-1].basis))
        except RankError:
            break
        if _has_risen(look, found):
            end = grid[-1]
            break
    highest = float(np.log(found[-1].sigma)) if end is None else end
    for log_sigma in reversed(rest):
        if _nothing_below(look, found, log_sigma):
            return found, (grid[0], highest)
        found.insert(0, look.evaluate(log_sigma, found[0].basis))
    # As the point itself says where it is: an end is recognised by its exact place.
    return found, (float(np.log(found[0].sigma)), highest)


def _has_risen(look: Look[E], found: list[E]) -> bool:
    """Whether g has risen so far that a scan upwards ends: sooner where it rises steeply."""
    last = found[-1]
    far_above = look.steeply_above if last.slope > STEEP * last.excess else look.far_above
    return last.slope > 0 and last.excess > far_above * _least(found)


def _nothing_below(look: Look[E], found: list[E], following: float) -> bool:
    """Whether no minimum can be below the first point found, or below the following one.

    By the floor. In the second case g rises from the first point downwards, and what is left of the
    cell between both is not looked into, unless it may be wider than cells are looked into.
    """
    least = _least(found)
    if look.floor(found[0].sigma) >= least:
        return True
    nearest = max(following, float(np.log(found[0].sigma)) - look.widest)
    return found[0].slope < 0 and look.floor(math.exp(nearest)) >= least


def _first(look: Look[E], rest: list[float]) -> tuple[list[E], list[float]]:
    """The point nearest to the middle, or below, that can be solved, and the grid above it.

    What lies below it stays in ``rest``.
    """
    above = rest[len(rest) // 2 + 1 :]
    del rest[len(rest) // 2 + 1 :]
    while True:
        try:
            return [look.evaluate(rest.pop(), None)], above
        except RankError:
            if not rest:
                raise
            above = []


def refine(look: Look[E], seen: list[E], ends: Sequence[E] = ()) -> list[E]:
    """Halve the cells that may hide a valley until none is left; in ascending σ."""
    while True:
        seen = sorted(seen, key=lambda point: point.sigma)
        least = math.log(_least(seen))
        cells = pairwise([Point.of(point) for point in seen])
        doubtful = [(a, b) for a, b in cells if _may_hide(look, a, b, least, ends)]
        if not doubtful:
            return seen
        for a, b in doubtful:
            middle = (a.x + b.x) / 2
            try:
                seen.append(look.evaluate(middle, a.solution.basis))
            except RankError:
                look.unsolvable.append(middle)


def deepest(look: Look[E], go: Evaluate[E], bounds: Bounds, tol: float, max_iter: int) -> DescentEnd[E]:
    """The least g on an interval of σ: look for valleys, go down into each that may be the deepest.

    Never above any point that was seen on the way.
    """
    seen, reach = scan(look, log_grid(bounds))
    ends: list[DescentEnd[E]] = []

    def step(log_sigma: float, basis: Any) -> E:
        solution = go(log_sigma, basis)
        seen[:] = [point for point in seen if point.sigma != solution.sigma]  # a rough one, if any
        seen.append(solution)
        return solution

    while True:
        seen[:] = refine(look, seen, [end.solution for end in ends])
        valley = _next_valley(seen, [end.solution for end in ends])
        if valley is None:
            return min(ends, key=lambda end: end.solution.excess)
        try:
            ends.append(descend(step, valley.known, None, reach, tol, max_iter))
        except RankError:
            ends.append(DescentEnd(valley.lower, False, False))


def _next_valley(seen: list[E], ends: Sequence[E]) -> Valley[E] | None:
    """The deepest valley whose bottom is not known."""
    for valley in valleys(seen, NEARLY_AS_DEEP):
        if not any(valley.lower is end for end in ends):
            return valley
    return None


def _may_hide(look: Look[E], a: Point[E], b: Point[E], least: float, ends: Sequence[E]) -> bool:
    """Whether g may be less between two neighbouring points than the least seen, whose log is given."""
    width = b.x - a.x
    if width <= FINEST or look.floor(b.solution.sigma) >= math.exp(least):
        return False
    if any(a.x < x < b.x for x in look.unsolvable):
        return False
    if holds_valley(a, b) and not any(lower(a, b).solution is end for end in ends):
        return depth(a, b) > least + math.log(NEARLY_AS_DEEP) and _one_tangent_bound(a, b) < least
    if width > look.widest:
        return True
    if _balanced(a, b):
        return False
    return min(a.value + min(a.slope, 0.0) * width, b.value - max(b.slope, 0.0) * width) < least


def _one_tangent_bound(a: Point[E], b: Point[E]) -> float:
    """Where the tangents of a convex function meet."""
    x = (b.value - a.value + a.slope * a.x - b.slope * b.x) / (a.slope - b.slope)
    return a.value + a.slope * (x - a.x)


def _balanced(a: Point[E], b: Point[E]) -> bool:
    """Whether values and slopes fit one convex function, not far from a parabola."""
    if b.slope <= a.slope:
        return False
    secant = (b.value - a.value) / (b.x - a.x)
    return BALANCED[0] <= (secant - a.slope) / (b.slope - a.slope) <= BALANCED[1]


def _least(found: Sequence[E]) -> float:
    return min(point.excess for point in found)
