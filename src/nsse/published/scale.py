"""Find the kernel scale σ by direct minimization (``solver="joint"``).

Departs from the paper: the best Y of Eq. (12) is eliminated from Eq. (11). This leaves the function of
one variable g(σ) = Σ_{k ≤ d} λ_k(σ) + μ3/σ², and its minimum is the global minimum of Eq. (11). Every
evaluation also gives the slope of g at almost no cost.

g is the minimum of many smooth functions, one for every embedding. It mostly has one valley, sometimes
two, and it may have a kink where two functions cross. It is evaluated on a grid in x = log σ. Then the
values and slopes of log g at both ends of every *cell* between two neighboring points show whether the
cell may contain a lower value than the best so far:

- g ≥ μ3/σ² (the floor). This is a proof for small σ.
- If g falls into the cell from its lower end, a cubic through the values and slopes predicts the
  minimum. In a cell next to the best point this is the descent. It ends if the predicted gain is at most
  ``tol``.
- log g of one embedding is nearly convex in x, so it lies above its tangents. A cell is skipped if its
  tangents stay above the best value, or if values and slopes fit one convex function.

Other cells are divided at the predicted minimum, or in the middle, until none is left. The result is the
best evaluated point.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import fminbound

from nsse.published.embedding import Embedding, RankError, embed
from nsse.published.objective import Problem
from nsse.published.trace import Recorder

Bounds = tuple[float, float]

# Least number of points of the grid, and its widest cell in log σ.
GRID_POINTS, WIDEST_CELL = 13, 0.4
# With fewer samples, the grid is finer, because evaluations cost next to nothing.
FEW_SAMPLES, CELL_OF_FEW = 100, 0.13
# With more samples, the upward scan ends at this multiple of the least value, or at STEEPLY_ABOVE if the
# slope of log g exceeds STEEP.
FAR_ABOVE = 10.0
STEEPLY_ABOVE = 3.0
STEEP = 2.0
# Predicted minima within this distance of the least log g are evaluated.
NEARLY_AS_DEEP = 0.05
# Cells narrower than FINEST contain no other valley. Below RESOLUTION, g is only rounding.
FINEST, RESOLUTION = 0.012, 1e-10
# The position of the secant between the slopes at both ends for a convex function. A parabola has 0.5.
BALANCED = (0.25, 0.75)


@dataclass(frozen=True)
class Found:
    """Contain the best embedding of a search, and how the search ended."""

    embedding: Embedding
    converged: bool
    at_bound: bool


def minimize(recorder: Recorder, bounds: Bounds, tol: float, max_iter: int) -> Found:
    """Minimize g on an interval of σ to a relative accuracy of ``tol``."""
    return Search(recorder.problem, bounds, tol, max_iter, recorder.record).run()


class Search:
    """Search for the least g of a problem on an interval of σ.

    Parameters
    ----------
    problem : Problem
        Defines g, and its lower bound μ3/σ² for a σ and all smaller ones.
    bounds : tuple of (float, float)
        The interval.
    tol : float
        The relative gain at which the search ends.
    max_iter : int
        The largest number of evaluations after those of the grid.
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
        self.seen: list[Any] = []  # in ascending σ

    @property
    def best(self) -> Any:
        """Return the point with the least g."""
        return min(self.seen, key=lambda point: point.excess)

    def run(self) -> Found:
        """Evaluate the grid, and then divide cells until none can contain less."""
        self._scan()
        n_left = self.max_iter
        while (x := self._next()) is not None and n_left > 0:
            self._add(x, "joint")
            n_left -= 1
        best = self.best
        return Found(best, x is None, best is self.seen[-1 if best.tilt < 0 else 0])

    def evaluate(self, x: float) -> Any:
        """Return g and its slope at log σ. Raises `RankError` if σ is too large."""
        return embed(self.problem, math.exp(x))

    def _add(self, x: float, stage: str) -> None:
        point = self.evaluate(x)
        insort(self.seen, point, key=lambda other: other.x)
        if self.record is not None:
            self.record(stage, point)

    def _scan(self) -> None:
        """Evaluate on the grid, from the middle up until g is far above, then down to its floor."""
        widest = CELL_OF_FEW if self.few else WIDEST_CELL
        n_points = max(GRID_POINTS, 1 + math.ceil((self.high - self.low) / widest))
        grid = [float(x) for x in np.linspace(self.low, self.high, n_points)]
        middle = n_points // 2
        unsolvable = math.inf
        for x in grid[middle:]:
            try:
                self._add(x, "scan")
            except RankError:
                unsolvable = x
                break
            if self._has_risen():
                break
        for x in reversed(grid[:middle]):
            if self.seen and self._nothing_below(x):
                break
            try:
                self._add(x, "scan")
            except RankError:
                unsolvable = x
        if not self.seen:
            self.evaluate(grid[0])  # raises the error with the reason
        self._approach(unsolvable)

    def _approach(self, unsolvable: float) -> None:
        """Follow g down to where K loses rank as σ grows, and g becomes infinite."""
        while self.seen[-1].tilt < 0 and self.seen[-1].x + FINEST < unsolvable < math.inf:
            middle = (self.seen[-1].x + unsolvable) / 2
            try:
                self._add(middle, "scan")
            except RankError:
                unsolvable = middle

    def _has_risen(self) -> bool:
        last = self.seen[-1]
        far = STEEPLY_ABOVE if last.tilt > STEEP else FAR_ABOVE
        return not self.few and last.tilt > 0 and last.excess > far * self.best.excess

    def _nothing_below(self, following: float) -> bool:
        """Return whether the floor excludes a minimum below the first point, or below the next one."""
        first = self.seen[0]
        least = self.best.excess
        floor = self.problem.weights.scale_term
        return floor(first.sigma) >= least or (first.tilt < 0 and floor(math.exp(following)) >= least)

    def _next(self) -> float | None:
        """Return the most promising place to evaluate next, or None if no cell can contain less."""
        cells = sorted(pairwise(self.seen), key=lambda cell: min(cell[0].value, cell[1].value))
        places = (self._division(a, b) for a, b in cells)
        return next((x for x in places if x is not None), None)

    def _division(self, a: Any, b: Any) -> float | None:
        """Return where to divide a cell, or None if it cannot contain less than the best value."""
        best = self.best
        width, middle = b.x - a.x, (a.x + b.x) / 2
        if width <= RESOLUTION or self.problem.weights.scale_term(b.sigma) >= best.excess:
            return None
        lower = a if a.value <= b.value else b
        if a.tilt < 0 if lower is a else b.tilt >= 0:  # g falls into the cell from its lower end
            x, depth = self._bottom(a, b) or (middle, lower.value)
            if lower is best:
                if best.value - depth > self.tol:
                    return x
            elif width > FINEST and depth - NEARLY_AS_DEEP < best.value:
                return x
        if width <= FINEST:
            return None
        tangents = min(a.value + min(a.tilt, 0.0) * width, b.value - max(b.tilt, 0.0) * width)
        return middle if tangents < best.value and not is_balanced(a, b) else None

    def _bottom(self, a: Any, b: Any) -> tuple[float, float] | None:
        """Return where g is least between a falling and a rising point, and log g there.

        μ3/σ² is known, so a cubic predicts log Σλ, which is straighter than log g.
        """
        floor = self.problem.weights.scale_term
        sums = [point.excess - floor(point.sigma) for point in (a, b)]
        if min(sums) <= 0.0 or not a.tilt < 0.0 < b.tilt:
            return None
        slopes = [point.tilt * point.excess + 2.0 * floor(point.sigma) for point in (a, b)]
        width = b.x - a.x
        log_sum = CubicHermiteSpline([0.0, width], np.log(sums), np.divide(slopes, sums))

        def log_g(step: float) -> float:
            return math.log(math.exp(log_sum(step)) + floor(a.sigma * math.exp(step)))

        step = float(fminbound(log_g, 0.0, width, xtol=1e-8 * width))
        return a.x + step, log_g(step)


def is_balanced(a: Any, b: Any) -> bool:
    """Return whether values and slopes fit one convex function that is close to a parabola."""
    secant = (b.value - a.value) / (b.x - a.x)
    low, high = (a.tilt + share * (b.tilt - a.tilt) for share in BALANCED)
    return bool(b.tilt > a.tilt and low <= secant <= high)
