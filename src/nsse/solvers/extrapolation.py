"""g for all samples, guessed from two subsamples.

g changes slowly and regularly with the number of samples: log g at a given σ lies nearly on a line in
log N. From stratified subsamples of N/8 and N/4 the line is extended by two doublings, for a hundredth
of the work. The guess only says where to start; what counts is computed on all samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.solvers.pencil import Solution, solve_pencil
from nsse.solvers.problem import Problem

Ints = NDArray[np.intp]

# From this many samples on, two subsamples cost less than they save.
SUBSAMPLE_FROM = 800


@dataclass(frozen=True)
class Guess:
    """An extrapolated g and its slope, in the form of a solution."""

    sigma: float
    excess: float
    slope: float
    basis: tuple[Any, Any]


@dataclass(frozen=True)
class Extrapolated:
    """The same problem on an eighth and a quarter of the samples."""

    eighth: Problem
    quarter: Problem

    @classmethod
    def of(cls, problem: Problem, rng: np.random.Generator) -> Extrapolated | None:
        """Draw the subsamples; None where they would not be small, or could not hold d coordinates."""
        if problem.n_samples < SUBSAMPLE_FROM:
            return None
        members = [_stratified(problem.graph.codes, share, rng) for share in (8, 4)]
        largest = problem.n_samples // 3
        if any(2 * problem.n_components >= len(m) or len(m) > largest for m in members):
            return None
        return cls(*(problem.subset(m) for m in members))

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


def _stratified(codes: Ints, share: int, rng: np.random.Generator) -> Ints:
    """One in ``share`` of every class, and never fewer than two of those there are."""
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        size = min(len(members), max(2, round(len(members) / share)))
        chosen.append(np.sort(rng.choice(members, size, replace=False)))
    return np.concatenate(chosen)
