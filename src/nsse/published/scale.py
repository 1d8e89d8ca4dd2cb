"""The kernel scale by direct minimisation: ``solver="joint"``.

Departs from the paper: eliminating Y from Eq. (11) leaves one variable, g(σ) = Σ_{k ≤ d} λ_k(σ) +
μ3/σ², whose minimum is the global minimum of Eq. (11). Every evaluation brings the slope of g for
almost nothing.

g is the least of many smooth functions, one for every embedding: mostly it has one valley, sometimes
two, and it may bend downwards where two of them cross. It is scanned on a grid in x = log σ; then every
*cell*, two neighbouring points with their values and slopes of log g, says whether it can hold less
than the least seen:

- g ≥ μ3/σ² (the floor). Below some σ this is a proof.
- Where g falls into the cell from its lower end, the cubic through values and slopes predicts the
  bottom. In the cell beside the best point this is the descent: it ends where no more than ``tol`` is
  to be gained.
- log g of one embedding is nearly convex in x, so it stays above its tangents: a cell whose tangents
  stay above the least seen holds nothing. So does one whose values and slopes fit one convex function.

Cells that may hold less are cut where the cubic says, or in the middle, until none is left. The result
is the best point seen. With many samples the search begins where subsamples predict the minimum.
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
from nsse.rows import stratified

Bounds = tuple[float, float]

# Points of a scan, at least, and its widest cell in log σ.
SCAN_POINTS, WIDEST_CELL = 13, 0.4
# With fewer samples every cell wider than this is cut: it costs next to nothing.
FEW_SAMPLES, CELL_OF_FEW = 100, 0.13
# With more a scan upwards ends where g has risen to so many times its least value, or so many steeply.
FAR_ABOVE, STEEPLY_ABOVE, STEEP = 10.0, 3.0, 2.0
# Bottoms predicted within this of the least log g are looked at; in cells narrower than the second
# number proportionally less: predictions get better.
NEARLY_AS_DEEP, NARROW = 0.05, 0.1
# Cells narrower than the first hide nothing; narrower than the second g is not known.
FINEST, RESOLUTION = 0.012, 1e-10
# Where the secant of a convex function lies between the slopes at both ends: halfway for a parabola.
BALANCED = (0.25, 0.75)
# Beyond the last point: d² log g/dx² where nothing is known, and the longest step, a factor of two in σ.
CURVATURE, LONGEST_STEP = 5.0, 0.7
# Share of a cell within which another point beside the best one tells the curvature better than its far
# end.
NEARER = 0.3
# So many cuts of a cell by its cubic, then one in the middle: every descent comes to an end.
PATIENCE = 4
# From so many samples on subsamples of N/8 and N/4 cost less than they save; growth of the least g from
# one to the other up to which its valley is taken to stay the deepest; and their tolerance.
SUBSAMPLE_FROM, STEADY, ROUGH_TOL = 800, 1.3, 1e-5


@dataclass(frozen=True)
class Found:
    """The end of a search: the best embedding, and how it ended."""

    embedding: Embedding
    converged: bool
    at_bound: bool


def minimise(recorder: Recorder, bounds: Bounds, tol: float, max_iter: int) -> Found:
    """Minimise g on an interval of σ to a relative accuracy of ``tol``."""
    search = Search(recorder.problem, bounds, tol, max_iter, recorder.record)
    first = predicted(search, bounds) if len(recorder.problem.codes) >= SUBSAMPLE_FROM else None
    return search.run() if first is None else search.run_from(first)


class Search:
    """The least g of a problem on an interval of σ.

    Parameters
    ----------
    problem : Problem
        Says g, and its lower bound μ3/σ² at a σ and all smaller ones.
    bounds : tuple of (float, float)
        The interval.
    tol : float
        What may be left to gain, relatively.
    max_iter : int
        Evaluations for all digits; the scan and other looks around are not counted.
    record : callable or None
        ``record(stage, embedding)`` is told every evaluation.
    """

    def __init__(
        self,
        problem: Problem,
        bounds: Bounds,
        tol: float,
        max_iter: int,
        record: Callable[[str, Embedding], object] | None = None,
    ) -> None:
        self.problem, self.tol, self.max_iter, self.record = problem, tol, max_iter, record
        self.low, self.high = math.log(bounds[0]), math.log(bounds[1])
        self.few = len(problem.codes) < FEW_SAMPLES
        self.widest = CELL_OF_FEW if self.few else math.inf
        self.curvature = CURVATURE
        self.seen: list[Any] = []  # in ascending σ
        self.unsolvable: list[float] = []
        self.cuts: Counter[float] = Counter()

    @property
    def best(self) -> Any:
        """The point of the least g."""
        return min(self.seen, key=lambda point: point.excess)

    def run(self) -> Found:
        """Scan, then cut cells until none can hold less."""
        self._scan()
        return self._refined()

    def run_from(self, first: float) -> Found:
        """The same from a prediction of the minimum; the scan follows where that leads to an end."""
        if self._add(first, RESIDUAL):
            found = self._refined()
            if not (self.unsolvable or found.at_bound):
                return found
        return self.run()

    def evaluate(self, x: float, start: Any, residual: float) -> Any:
        """g and its slope at log σ; `RankError` where σ is too large for that."""
        found = embed(self.problem, math.exp(x), start, residual)
        if self.record is not None:
            self.record("scan" if residual > RESIDUAL else "joint", found)
        return found

    def _add(self, x: float, residual: float) -> bool:
        """Evaluate, from the nearest point known; whether it could be solved there."""
        near = min(self.seen, key=lambda point: abs(point.x - x), default=None)
        try:
            point = self.evaluate(x, None if near is None else near.basis, residual)
        except RankError:
            self.unsolvable.append(x)
            return False
        self.seen = [other for other in self.seen if other.x != point.x]  # a rough one
        insort(self.seen, point, key=lambda other: other.x)
        return True

    def _scan(self) -> None:
        """Evaluate on the grid: from the middle up to where g is far above, then down to its floor.

        K loses rank as σ grows; where it cannot carry d coordinates g is infinite, and the way up ends.
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
            self.evaluate(grid[0], None, RESIDUAL)  # says why

    def _has_risen(self) -> bool:
        last = self.seen[-1]
        far = STEEPLY_ABOVE if last.tilt > STEEP else FAR_ABOVE
        return not self.few and last.tilt > 0 and last.excess > far * self.best.excess

    def _nothing_below(self, following: float) -> bool:
        """Whether the floor excludes a minimum below the first point, or below the following one."""
        first, least, floor = self.seen[0], self.best.excess, self.problem.weights.scale_term
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
        """Where to evaluate next, the most promising place first, and with which residual."""
        best = self.best
        for point in self.seen:
            if point.is_rough and point is not best and point.value - best.value < ROUGHLY:
                return point.x, RESIDUAL  # which of them is lower is not known
        beyond = self._beyond(best)
        if beyond is not None:
            return beyond, RESIDUAL
        for a, b in sorted(pairwise(self.seen), key=lambda cell: min(cell[0].value, cell[1].value)):
            x = self._cut(a, b, best)
            if x is not None:
                return x, RESIDUAL if best in (a, b) else ROUGHLY
        return (best.x, RESIDUAL) if best.is_rough else None

    def _beyond(self, best: Any) -> float | None:
        """A step of Newton where g falls from the best point out of what was seen, inside the bounds."""
        if best is not self.seen[-1 if best.tilt < 0 else 0]:
            return None
        x, gain = self._newton(best)
        x = min(max(x, self.low), self.high)
        blocked = any(min(best.x, x) <= u <= max(best.x, x) for u in self.unsolvable)
        return None if gain <= self.tol or blocked or abs(x - best.x) <= RESOLUTION else x

    def _newton(self, best: Any) -> tuple[float, float]:
        """A step of Newton from the best point, and its gain."""
        step = -best.tilt / self.curvature_at(best)
        step = min(max(step, -LONGEST_STEP), LONGEST_STEP)
        return best.x + step, abs(best.tilt * step) / 2

    def curvature_at(self, point: Any) -> float:
        """d² log g/dx² from the slopes of a point and the nearest one; a guess where that fails."""
        near = self._nearest(point)
        found = 0.0 if near is None else (point.tilt - near.tilt) / (point.x - near.x)
        return found if found > 1e-3 else self.curvature

    def _nearest(self, point: Any) -> Any:
        others = [other for other in self.seen if other is not point]
        return min(others, key=lambda other: abs(other.x - point.x), default=None)

    def _cut(self, a: Any, b: Any, best: Any) -> float | None:
        """Where to cut a cell that may hold less than the least seen; None where it cannot."""
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
        """Where g is least between a falling and a rising point, and log g there.

        μ3/σ² is known: the cubic is that of log Σλ, which is straighter than log g.
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
        """The bottom; the middle where one point has been the upper end of too many cells."""
        self.cuts[upper.x] += 1
        return middle if self.cuts[upper.x] % PATIENCE == 0 else bottom


def cubic_minimum(a: Any, b: Any) -> tuple[float, float] | None:
    """Where the cubic through the values and slopes of two points is least between them, and its value.

    Nocedal & Wright, Numerical Optimization, Eq. (3.59); None where there is no such place.
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
    """Whether values and slopes fit one convex function, not far from a parabola."""
    secant = (b.value - a.value) / (b.x - a.x)
    low, high = (a.tilt + share * (b.tilt - a.tilt) for share in BALANCED)
    return bool(b.tilt > a.tilt and low <= secant <= high)


def predicted(whole: Search, bounds: Bounds) -> float | None:
    """log σ of the minimum for all samples, on the line in log N through stratified N/8 and N/4.

    None where subsamples are too small, the minimum lies at an end, or g rises with N, so that another
    valley may be the deepest in the end.
    """
    problem, rng = whole.problem, np.random.default_rng(0)
    ends: list[Embedding] = []
    for share in (8, 4):
        members = stratified(problem.codes, len(problem.codes) // share, rng)
        if not 2 * problem.weights.n_components < len(members) <= len(problem.codes) // 3:
            return None
        search = Search(problem.subset(members), bounds, max(whole.tol, ROUGH_TOL), whole.max_iter)
        found = search.run_from(ends[0].x) if ends else search.run()
        if found.at_bound:
            return None
        ends.append(found.embedding)
    eighth, quarter = ends
    whole.curvature = search.curvature_at(quarter)
    x = min(max(3.0 * quarter.x - 2.0 * eighth.x, whole.low), whole.high)
    return x if quarter.excess <= STEADY * eighth.excess else None
