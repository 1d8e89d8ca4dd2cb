"""g for all samples, guessed from two subsamples.

g changes slowly and regularly with the number of samples: log g at a given σ lies nearly on a line in
log N. From stratified subsamples of N/8 and N/4 the line is extended by two doublings, for a hundredth
of the work. The guess only says where to start; what counts is computed on all samples.

`bottoms` does the same from any g that is cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.solvers.descent import E, descend
from nsse.solvers.pencil import Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.survey import Bounds, Evaluate, Look, log_grid, refine, scan
from nsse.solvers.valleys import Valley, valleys

Ints = NDArray[np.intp]

# From this many samples on, two subsamples cost less than they save.
SUBSAMPLE_FROM = 800
# Valleys of a guessed g whose predicted depth is within this factor of the deepest are all descended
# into.
NEARLY_AS_DEEP_GUESSED = 1.5
SUBSAMPLE_TOL = 1e-5
# Times the least g of a subsample: a valley above that is none of all samples.
FAR_ABOVE = 30.0
# Growth of the least g from N/8 to N/4 up to which its valley is taken to stay the deepest.
STEADY = 1.3


@dataclass(frozen=True)
class Guess:
    """An extrapolated g and its slope, in the form of a solution."""

    sigma: float
    excess: float
    slope: float
    basis: tuple[Any, Any]
    is_rough: bool = False


@dataclass(frozen=True)
class Extrapolated:
    """The same problem on an eighth and a quarter of the samples."""

    eighth: Problem
    quarter: Problem

    @classmethod
    def of(cls, problem: Problem, rng: np.random.Generator) -> Extrapolated | None:
        """Draw the subsamples; None where they would not be small, or could not hold d coordinates.

        Nor where the graph cannot be built anew among some of the samples.
        """
        if problem.n_samples < SUBSAMPLE_FROM or problem.affinity is None:
            return None
        members = [_stratified(problem.graph.codes, share, rng) for share in (8, 4)]
        largest = problem.n_samples // 3
        if any(2 * problem.objective.n_components >= len(m) or len(m) > largest for m in members):
            return None
        return cls(*(problem.subset(m) for m in members))

    def starts(self, bounds: Bounds, max_iter: int) -> tuple[list[Valley[Any]], Bounds]:
        """The valleys that may be the deepest, and the interval of log σ in which to descend."""
        scale_term = self.eighth.objective.scale_term
        scanned, reach = seen_from_afar(self.evaluate_eighth, scale_term, bounds)
        seen = valleys(scanned, FAR_ABOVE)
        drifted = self._drifted(seen[0], reach, max_iter) if len(seen) == 1 else None
        if drifted is not None:
            return [drifted], reach
        # With several, only all samples show which one is deeper.
        return bottoms(self.evaluate, self._guessed(scanned), reach, max_iter), reach

    def _drifted(self, valley: Valley[Any], reach: Bounds, max_iter: int) -> Valley[Any] | None:
        """Where the bottom of the only valley will be with all samples.

        It moves on a line in log N: from N/8 to N/4, and two doublings further. None if it rises with
        N: then another scale, where g rises less, may be the best one in the end.
        """
        limits = reach, SUBSAMPLE_TOL, max_iter
        eighth = descend(self.evaluate_eighth, valley.known, None, *limits)
        here = float(np.log(eighth.solution.sigma))
        quarter = descend(self.evaluate_quarter, [], here, *limits, eighth.curvature)
        if quarter.solution.excess > STEADY * eighth.solution.excess:
            return None
        there = float(np.log(quarter.solution.sigma))
        return Valley([], float(np.clip(there + 2 * (there - here), *reach)), quarter.curvature)

    def _guessed(self, scanned: list[Solution]) -> list[Guess]:
        """The extrapolated g along a scan of the smaller subsample, in ascending σ."""
        found: list[Guess] = []
        for log_sigma in _worth_a_look(scanned):
            found.append(self.evaluate(log_sigma, found[-1].basis if found else None))
        return found

    def evaluate_eighth(self, log_sigma: float, basis: Any) -> Solution:
        """g of the smaller subsample alone."""
        return solve_pencil(self.eighth, math.exp(log_sigma), basis)

    def evaluate_quarter(self, log_sigma: float, basis: Any) -> Solution:
        """g of the larger subsample alone."""
        return solve_pencil(self.quarter, math.exp(log_sigma), basis)

    def evaluate(self, log_sigma: float, basis: Any) -> Guess:
        """log g and its slope on the line through N/8 and N/4, two doublings further."""
        sigma = math.exp(log_sigma)
        starts = (None, None) if basis is None else basis
        small = solve_pencil(self.eighth, sigma, starts[0])
        large = solve_pencil(self.quarter, sigma, starts[1])
        value = 3 * math.log(large.excess) - 2 * math.log(small.excess)
        slope = 3 * large.slope / large.excess - 2 * small.slope / small.excess
        excess = math.exp(value)
        return Guess(sigma, excess, slope * excess, (small.basis, large.basis))


def seen_from_afar(
    evaluate: Evaluate[E], floor: Callable[[float], float], bounds: Bounds
) -> tuple[list[E], Bounds]:
    """A scan of a cheaper g, and how far σ can go there; its floor is not quite that of g itself."""
    look = Look(
        evaluate, lambda sigma: floor(sigma) / FAR_ABOVE, far_above=FAR_ABOVE, steeply_above=FAR_ABOVE
    )
    scanned, reach = scan(look, log_grid(bounds))
    return refine(look, scanned), reach


def bottoms(evaluate: Evaluate[E], scanned: list[E], reach: Bounds, max_iter: int) -> list[Valley[Any]]:
    """Where the descents into the valleys of a cheaper g end, as guesses for g itself."""
    ends = [
        descend(evaluate, v.known, v.first, reach, SUBSAMPLE_TOL, max_iter)
        for v in valleys(scanned, NEARLY_AS_DEEP_GUESSED)
    ]
    return [Valley([], float(np.log(end.solution.sigma)), end.curvature) for end in ends]


def _stratified(codes: Ints, share: int, rng: np.random.Generator) -> Ints:
    """One in ``share`` of every class, and never fewer than two of those there are."""
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        size = min(len(members), max(2, round(len(members) / share)))
        chosen.append(np.sort(rng.choice(members, size, replace=False)))
    return np.concatenate(chosen)


def _worth_a_look(scanned: list[Solution]) -> list[float]:
    """log σ from the first to the last point of a scan that is not far above the deepest."""
    excess = np.array([solution.excess for solution in scanned])
    near = np.flatnonzero(excess <= FAR_ABOVE * excess.min())
    return [float(np.log(solution.sigma)) for solution in scanned[near[0] : near[-1] + 1]]
