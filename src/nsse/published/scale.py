"""The kernel scale σ by direct minimization: ``solver="joint"``.

Departs from the paper: the best Y of Eq. (12) is eliminated from Eq. (11). This leaves the function of
one variable g(σ) = Σ_{k ≤ d} λ_k(σ) + μ3/σ², and its minimum is the global minimum of Eq. (11). Every
evaluation also gives the slope of g at almost no cost.

g is the minimum of many smooth functions, one for every embedding. It mostly has one valley, sometimes
two, and it may have a kink where two functions cross. It is evaluated on a grid in x = log σ. Then the
values and slopes of log g at both ends of every *cell* between two neighboring points show whether the
cell may contain a lower value than the best so far:

- g ≥ μ3/σ² (the floor). This is a proof for small σ.
- If g falls into the cell from its lower end, the cubic through the values and slopes predicts the
  minimum.
  In a cell next to the best point this is the descent. It ends if the predicted gain is at most ``tol``.
- log g of one embedding is nearly convex in x, so it lies above its tangents. A cell is skipped if its
  tangents stay above the best value, or if values and slopes fit one convex function.

Other cells are divided at the minimum of the cubic, or in the middle, until none is left. The result is
the best evaluated point.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import fminbound

from nsse.published.embedding import RESIDUAL, ROUGHLY, Embedding, RankError, embed
from nsse.published.objective import Problem
from nsse.published.trace import Recorder

Bounds = tuple[float, float]

# Least number of points of the scan, and its widest cell in log σ.
SCAN_POINTS, WIDEST_CELL = 13, 0.4
# With fewer samples, every cell wider than this is divided, because evaluations cost next to nothing.
FEW_SAMPLES, CELL_OF_FEW = 100, 0.13
# With more samples, the upward scan ends at this multiple of the least value, or at STEEPLY_ABOVE if the
# slope of log g exceeds STEEP.
FAR_ABOVE = 10.0
STEEPLY_ABOVE = 3.0
STEEP = 2.0
# Predicted minima within this distance of the least log g are evaluated. In cells narrower than NARROW
# the distance shrinks with the width, because predictions get better.
NEARLY_AS_DEEP, NARROW = 0.05, 0.1
# Cells narrower than FINEST contain no other valley. Below RESOLUTION, g is only rounding.
FINEST, RESOLUTION = 0.012, 1e-10
# The position of the secant between the slopes at both ends for a convex function. A parabola has 0.5.
BALANCED = (0.25, 0.75)
# Beyond the last point: d² log g/dx² if it is unknown, and the longest step, a factor of two in σ.
CURVATURE, LONGEST_STEP = 5.0, 0.7
# Another point within this share of a cell gives the curvature better than the far end of the cell.
NEARER = 0.3
# After so many divisions by the cubic, a cell is divided in the middle, so that every descent ends.
PATIENCE = 4


@dataclass(frozen=True)
class Found:
    """The end of a search: the best embedding, and how it ended."""

    embedding: Embedding
    converged: bool
    at_bound: bool


def minimize(recorder: Recorder, bounds: Bounds, tol: float, max_iter: int) -> Found:
    """Minimize g on an interval of σ to a relative accuracy of ``tol``."""
    return Search(recorder.problem, bounds, tol, max_iter, recorder.record).run()


class Search:
    """The search for the least g of a problem on an interval of σ.

    Parameters
    ----------
    problem : Problem
        Defines g, and its lower bound μ3/σ² for a σ and all smaller ones.
    bounds : tuple of (float, float)
        The interval.
    tol : float
        The relative gain at which the search ends.
    max_iter : int
        The largest number of evaluations with all digits. The scan is not counted.
    record : callable or None
        ``record(stage, embedding)`` is called after every evaluation.
    """

    def __init__(
        self,
        problem: Problem,
        bounds: Bounds,
        tol: float,
        max_iter: int,
        record: Callable[[str, Embedding], object] | None = None,
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.max_iter = max_iter
        self.record = record
        self.low, self.high = math.log(bounds[0]), math.log(bounds[1])
        self.few = len(problem.codes) < FEW_SAMPLES
        self.widest = CELL_OF_FEW if self.few else math.inf
        self.seen: list[Any] = []  # in ascending σ
        self.unsolvable: list[float] = []
        self.cuts: Counter[float] = Counter()

    @property
    def best(self) -> Any:
        """The point with the least g."""
        return min(self.seen, key=lambda point: point.excess)

    def run(self) -> Found:
        """Scan, and then divide cells until none can contain less."""
        self._scan()
        return self._refined()

    def evaluate(self, x: float, start: Any, residual: float) -> Any:
        """Return g and its slope at log σ. Raises `RankError` if σ is too large."""
        found = embed(self.problem, math.exp(x), start, residual)
        if self.record is not None:
            self.record("scan" if residual > RESIDUAL else "joint", found)
        return found

    def _add(self, x: float, residual: float) -> bool:
        """Evaluate, starting from the nearest known point. Return whether this was possible."""
        near = min(self.seen, key=lambda point: abs(point.x - x), default=None)
        try:
            point = self.evaluate(x, None if near is None else near.basis, residual)
        except RankError:
            self.unsolvable.append(x)
            return False
        self.seen = [other for other in self.seen if other.x != point.x]  # replaces a rough one
        insort(self.seen, point, key=lambda other: other.x)
        return True

    def _scan(self) -> None:
        """Evaluate on the grid, from the middle up until g is far above, then down to its floor.

        K loses rank as σ grows. If its rank is less than d, g is infinite and the upward scan ends.
        """
        n_points = max(SCAN_POINTS, 1 + math.ceil((self.high - self.low) / WIDEST_CELL))
        grid = [float(x) for x in np.linspace(self.low, self.high, n_points)]
        middle = n_points // 2
        if self._add(grid[middle], ROUGHLY):
            for x in grid[middle + 1 :]:
                if not self._add(x, ROUGHLY) or self._has_risen():
                    break
        for x in reversed(grid[:middle]):
            if self.seen and self._nothing_below(x):
                break
            self._add(x, ROUGHLY)
        if not self.seen:
            self.evaluate(grid[0], None, RESIDUAL)  # raises the error with the reason

    def _has_risen(self) -> bool:
        last = self.seen[-1]
        far = STEEPLY_ABOVE if last.tilt > STEEP else FAR_ABOVE
        return not self.few and last.tilt > 0 and last.excess > far * self.best.excess

    def _nothing_below(self, following: float) -> bool:
        """Return whether the floor excludes a minimum below the first point, or below the next one."""
        first = self.seen[0]
        least = self.best.excess
        floor = self.problem.weights.scale_term
        nearest = max(following, first.x - self.widest)
        return floor(first.sigma) >= least or (first.tilt < 0 and floor(math.exp(nearest)) >= least)

    def _refined(self) -> Found:
        n_left = self.max_iter
        while (target := self._next()) is not None and n_left > 0:
            n_left -= target[1] == RESIDUAL and all(point.x != target[0] for point in self.seen)
            self._add(*target)
        if self.best.is_rough:
            self._add(self.best.x, RESIDUAL)
        best = self.best
        return Found(best, target is None, best is self.seen[-1 if best.tilt < 0 else 0])

    def _next(self) -> tuple[float, float] | None:
        """Return the most promising place to evaluate next, and the residual to use there."""
        best = self.best
        for point in self.seen:
            if point.is_rough and point is not best and point.value - best.value < ROUGHLY:
                return point.x, RESIDUAL  # it is unknown which of them is lower
        beyond = self._beyond(best)
        if beyond is not None:
            return beyond, RESIDUAL
        for a, b in sorted(pairwise(self.seen), key=lambda cell: min(cell[0].value, cell[1].value)):
            x = self._cut(a, b, best)
            if x is not None:
                return x, RESIDUAL if best in (a, b) else ROUGHLY
        return (best.x, RESIDUAL) if best.is_rough else None

    def _beyond(self, best: Any) -> float | None:
        """Return a Newton step beyond the evaluated points, if g falls there and the bounds allow it."""
        if best is not self.seen[-1 if best.tilt < 0 else 0]:
            return None
        x, gain = self._newton(best)
        x = min(max(x, self.low), self.high)
        blocked = any(min(best.x, x) <= u <= max(best.x, x) for u in self.unsolvable)
        return None if gain <= self.tol or blocked or abs(x - best.x) <= RESOLUTION else x

    def _newton(self, best: Any) -> tuple[float, float]:
        """Return a Newton step from the best point, and its gain."""
        step = -best.tilt / self._curvature_at(best)
        step = min(max(step, -LONGEST_STEP), LONGEST_STEP)
        return best.x + step, abs(best.tilt * step) / 2

    def _curvature_at(self, point: Any) -> float:
        """Return d² log g/dx² from the slopes of a point and the nearest one, or a guess."""
        near = self._nearest(point)
        found = 0.0 if near is None else (point.tilt - near.tilt) / (point.x - near.x)
        return found if found > 1e-3 else CURVATURE

    def _nearest(self, point: Any) -> Any:
        others = [other for other in self.seen if other is not point]
        return min(others, key=lambda other: abs(other.x - point.x), default=None)

    def _cut(self, a: Any, b: Any, best: Any) -> float | None:
        """Return where to divide a cell, or None if it cannot contain less than the best value."""
        width, middle = b.x - a.x, (a.x + b.x) / 2
        if width <= RESOLUTION or self.problem.weights.scale_term(b.sigma) >= best.excess:
            return None
        if any(a.x < x < b.x for x in self.unsolvable):
            return None
        lower, upper = (a, b) if a.value <= b.value else (b, a)
        if a.tilt < 0 if lower is a else b.tilt >= 0:  # g falls into the cell from its lower end
            bottom, depth = cubic_minimum(a, b) or (middle, lower.value)
            margin = NEARLY_AS_DEEP * min(1.0, width / NARROW)
            if lower is best:
                x, gain = self._newton(best)
                if not a.x < x < b.x or abs(self._nearest(best).x - best.x) > NEARER * width:
                    x, depth = self._bottom(a, b) or (bottom, depth)
                    gain = best.value - depth
                if gain > self.tol:
                    return self._patient(x, upper, middle)
            elif width > FINEST and depth - margin < best.value:
                return self._patient(bottom, upper, middle)
        if width <= FINEST:
            return None
        tangents = min(a.value + min(a.tilt, 0.0) * width, b.value - max(b.tilt, 0.0) * width)
        doubtful = width > self.widest or (tangents < best.value and not is_balanced(a, b))
        return middle if doubtful else None

    def _bottom(self, a: Any, b: Any) -> tuple[float, float] | None:
        """Return where g is least between a falling and a rising point, and log g there.

        μ3/σ² is known, so the cubic is one of log Σλ, which is straighter than log g.
        """
        floor, h = self.problem.weights.scale_term, b.x - a.x
        u, v = (point.excess - floor(point.sigma) for point in (a, b))
        if min(u, v) <= 0.0 or not a.tilt < 0.0 < b.tilt:
            return None
        slopes = (h * ((p.tilt + 2.0) * p.excess / rest - 2.0) for p, rest in ((a, u), (b, v)))
        rise, (s, e) = math.log(v / u), slopes

        def log_g(t: float) -> float:
            cubic = t * (s + t * (3.0 * rise - 2.0 * s - e + t * (s + e - 2.0 * rise)))
            return math.log(u * math.exp(cubic) + floor(a.sigma * math.exp(t * h)))

        t = float(fminbound(log_g, 0.0, 1.0, xtol=1e-8))
        return a.x + t * h, log_g(t)

    def _patient(self, bottom: float, upper: Any, middle: float) -> float:
        """Return the bottom, or the middle if one point was the upper end of too many cells."""
        self.cuts[upper.x] += 1
        return middle if self.cuts[upper.x] % PATIENCE == 0 else bottom


def cubic_minimum(a: Any, b: Any) -> tuple[float, float] | None:
    """Return where the cubic through the values and slopes of two points is least, and its value.

    See Nocedal & Wright, Numerical Optimization, Eq. (3.59). None if the minimum is not between them.
    """
    h = b.x - a.x
    d1 = a.tilt + b.tilt - 3.0 * (b.value - a.value) / h
    d2 = math.sqrt(max(d1**2 - a.tilt * b.tilt, 0.0))
    below = b.tilt - a.tilt + 2.0 * d2
    t = 1.0 - (b.tilt + d2 - d1) / below if below else 0.0
    if not 0.0 < t < 1.0:
        return None
    values = (1 + 2 * t) * (1 - t) ** 2 * a.value + t**2 * (3 - 2 * t) * b.value
    return a.x + t * h, values + h * t * (1 - t) * ((1 - t) * a.tilt - t * b.tilt)


def is_balanced(a: Any, b: Any) -> bool:
    """Return whether values and slopes fit one convex function that is close to a parabola."""
    secant = (b.value - a.value) / (b.x - a.x)
    low, high = (a.tilt + share * (b.tilt - a.tilt) for share in BALANCED)
    return bool(b.tilt > a.tilt and low <= secant <= high)
