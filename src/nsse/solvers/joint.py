"""The kernel scale by direct minimisation: ``solver="joint"``, and a given σ.

Departs from the paper: eliminating Y from Eq. (11) leaves one variable,

    g(σ) = Σ_{k≤d} λ_k(σ) + μ3/σ²,

whose minimum is the *global* minimum of Eq. (11). ``survey`` finds its valleys, `descend` their bottoms:
both use the slope that every evaluation brings for almost nothing. With many samples the scan runs on
subsamples, whose g is extrapolated to all samples (``extrapolation``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from nsse.solvers.descent import DescentEnd, E, descend
from nsse.solvers.extrapolation import Extrapolated, Guess
from nsse.solvers.pencil import Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.recorder import Listener, Recorder, SearchStopped
from nsse.solvers.survey import Bounds, Look, deepest, log_grid, refine, scan
from nsse.solvers.trace import Outcome
from nsse.solvers.valleys import Valley, valleys

# Valleys of an extrapolated g whose predicted depth is within this factor of the deepest are all
# descended into.
NEARLY_AS_DEEP_EXTRAPOLATED = 1.5
SUBSAMPLE_TOL = 1e-5
# Times the least g of a subsample: a valley above that is none of all samples.
FAR_ABOVE = 30.0
# Growth of the least g from N/8 to N/4 up to which its valley is taken to stay the deepest.
STEADY = 1.3
# With fewer samples than this every cell wider than that is looked into: it costs next to nothing.
FEW_SAMPLES = 100
CELL_OF_FEW = 0.13


def solve_fixed(problem: Problem, sigma: float, listener: Listener | None = None) -> Outcome:
    """Embed at the σ that the user gave."""
    recorder = Recorder(problem, listener)
    solution = solve_pencil(problem, sigma)
    with suppress(SearchStopped):  # there is nothing left to stop
        recorder.record("fixed", solution)
    return Outcome(solution, recorder.trace(), n_iter=1, converged=True, at_bound=False)


def solve_joint(
    problem: Problem,
    bounds: Bounds,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    listener: Listener | None = None,
) -> Outcome:
    """Minimise g on [σ_min, σ_max] to a relative accuracy of ``tol`` in the excess objective."""
    recorder = Recorder(problem, listener)

    def evaluate(log_sigma: float, basis: Any) -> Solution:
        solution = solve_pencil(problem, float(np.exp(log_sigma)), basis)
        recorder.record("joint", solution)
        return solution

    def look(log_sigma: float, basis: Any) -> Solution:
        solution = solve_pencil(problem, float(np.exp(log_sigma)), basis)
        recorder.record("scan", solution)
        return solution

    try:
        cheap = Extrapolated.of(problem, rng)
        if cheap is None:
            closely = Look(look, problem.scale_term, closest_look(problem.n_samples))
            end = deepest(closely, evaluate, bounds, tol, max_iter)
        else:
            starts, reach = _starts(cheap, bounds, max_iter)
            end = from_guesses(evaluate, starts, reach, tol, max_iter)
    except SearchStopped as stop:
        end = DescentEnd(stop.best, converged=True, at_bound=False)
    trace = recorder.trace()
    return Outcome(end.solution, trace, len(trace), end.converged, end.at_bound)


def closest_look(n_samples: int | None) -> float:
    """The widest cell that needs no look inside: the narrower the fewer samples there are."""
    return CELL_OF_FEW if n_samples is not None and n_samples < FEW_SAMPLES else np.inf


def from_guesses(
    evaluate: Callable[[float, Any], E],
    starts: list[Valley[E]],
    reach: Bounds,
    tol: float,
    max_iter: int,
) -> DescentEnd[E]:
    """The lowest end of the descents from some guesses."""
    ends = [descend(evaluate, v.known, v.first, reach, tol, max_iter, v.curvature) for v in starts]
    return min(ends, key=lambda end: end.solution.excess)


def _starts(cheap: Extrapolated, bounds: Bounds, max_iter: int) -> tuple[list[Valley[Any]], Bounds]:
    """The valleys that may be the deepest, and the interval of log σ in which to descend."""
    look = Look(
        cheap.evaluate_eighth, lambda sigma: cheap.eighth.scale_term(sigma) / FAR_ABOVE,
        far_above=FAR_ABOVE,
    )  # fmt: skip
    scanned, reach = scan(look, log_grid(bounds))
    scanned = refine(look, scanned)
    seen = valleys(scanned, FAR_ABOVE)
    drifted = _drifted(cheap, seen[0], reach, max_iter) if len(seen) == 1 else None
    if drifted is not None:
        return [drifted], reach
    return _extrapolated(cheap, scanned, reach, max_iter), reach


def _drifted(
    cheap: Extrapolated, valley: Valley[Any], reach: Bounds, max_iter: int
) -> Valley[Any] | None:
    """Where the bottom of the only valley will be with all samples.

    It moves on a line in log N: from N/8 to N/4, and two doublings further. None if it rises with N:
    then another scale, where g rises less, may be the best one in the end.
    """
    eighth = descend(cheap.evaluate_eighth, valley.known, None, reach, SUBSAMPLE_TOL, max_iter)
    here = float(np.log(eighth.solution.sigma))
    quarter = descend(cheap.evaluate_quarter, [], here, reach, SUBSAMPLE_TOL, max_iter, eighth.curvature)
    if quarter.solution.excess > STEADY * eighth.solution.excess:
        return None
    there = float(np.log(quarter.solution.sigma))
    return Valley([], float(np.clip(there + 2 * (there - here), *reach)), quarter.curvature)


def _extrapolated(
    cheap: Extrapolated, scanned: list[Solution], reach: Bounds, max_iter: int
) -> list[Valley[Any]]:
    """Valleys of the extrapolated g: with several, only all samples show which one is deeper."""
    guessed = _guessed(cheap, scanned)
    bottoms = [
        descend(cheap.evaluate, v.known, v.first, reach, SUBSAMPLE_TOL, max_iter)
        for v in valleys(guessed, NEARLY_AS_DEEP_EXTRAPOLATED)
    ]
    return [Valley([], float(np.log(end.solution.sigma)), end.curvature) for end in bottoms]


def _guessed(cheap: Extrapolated, scanned: list[Solution]) -> list[Guess]:
    """The extrapolated g along a scan of the smaller subsample, in ascending σ."""
    found: list[Guess] = []
    for log_sigma in _worth_a_look(scanned):
        found.append(cheap.evaluate(log_sigma, found[-1].basis if found else None))
    return found


def _worth_a_look(scanned: list[Solution]) -> list[float]:
    """log σ from the first to the last point of a scan that is not far above the deepest."""
    excess = np.array([solution.excess for solution in scanned])
    near = np.flatnonzero(excess <= FAR_ABOVE * excess.min())
    return [float(np.log(solution.sigma)) for solution in scanned[near[0] : near[-1] + 1]]
