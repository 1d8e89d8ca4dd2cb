"""The kernel scale by direct minimisation: ``solver="joint"``, and a given σ.

Departs from the paper: eliminating Y from Eq. (11) leaves one variable,

    g(σ) = Σ_{k≤d} λ_k(σ) + μ3/σ²,

whose minimum is the *global* minimum of Eq. (11). A scan finds its valleys, `descend` their bottoms: it
uses the slope that every evaluation brings for almost nothing. With many samples the scan runs on
subsamples, whose g is extrapolated to all samples (``extrapolation``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from nsse.solvers.descent import DescentEnd, E, descend
from nsse.solvers.extrapolation import Extrapolated
from nsse.solvers.pencil import RankError, Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.recorder import Listener, Recorder, SearchStopped
from nsse.solvers.trace import Outcome
from nsse.solvers.valleys import Valley, valleys

Bounds = tuple[float, float]

SCAN_POINTS = 13
# Valleys whose predicted depth is within this factor of the deepest are all descended into. The
# prediction from a scan is good; the one extrapolated from subsamples less so.
NEARLY_AS_DEEP = 1.05
NEARLY_AS_DEEP_EXTRAPOLATED = 1.5
SUBSAMPLE_TOL = 1e-5
# Times the least g of a subsample: a valley above that is none of all samples.
FAR_ABOVE = 30.0
# Growth of the least g from N/8 to N/4 up to which its valley is taken to stay the deepest.
STEADY = 1.3


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

    try:
        starts, reach = _starts(problem, bounds, rng, recorder, max_iter)
        ends = [descend(evaluate, v.known, v.first, reach, tol, max_iter, v.curvature) for v in starts]
        end = min(ends, key=lambda e: e.solution.excess)
    except SearchStopped as stop:
        end = DescentEnd(stop.best, converged=True, at_bound=False)
    trace = recorder.trace()
    return Outcome(end.solution, trace, len(trace), end.converged, end.at_bound)


def _starts(
    problem: Problem, bounds: Bounds, rng: np.random.Generator, recorder: Recorder, max_iter: int
) -> tuple[list[Valley[Any]], Bounds]:
    """The valleys that may be the deepest, and the interval of log σ in which to descend."""
    cheap = Extrapolated.of(problem, rng)
    if cheap is None:

        def evaluate(log_sigma: float, basis: Any) -> Solution:
            solution = solve_pencil(problem, float(np.exp(log_sigma)), basis)
            recorder.record("scan", solution)
            return solution

        scanned, reach = scan(evaluate, log_grid(bounds))
        return valleys(scanned, NEARLY_AS_DEEP), reach
    scanned, reach = scan(cheap.evaluate_eighth, log_grid(bounds), FAR_ABOVE)
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
    guessed, _ = scan(cheap.evaluate, _worth_a_look(scanned))
    bottoms = [
        descend(cheap.evaluate, v.known, v.first, reach, SUBSAMPLE_TOL, max_iter)
        for v in valleys(guessed, NEARLY_AS_DEEP_EXTRAPOLATED)
    ]
    return [Valley([], float(np.log(end.solution.sigma)), end.curvature) for end in bottoms]


def log_grid(bounds: Bounds) -> list[float]:
    """The log σ that a scan tries."""
    return [float(x) for x in np.linspace(np.log(bounds[0]), np.log(bounds[1]), SCAN_POINTS)]


def _worth_a_look(scanned: list[Solution]) -> list[float]:
    """log σ from the first to the last point of a scan that is not far above the deepest."""
    excess = np.array([solution.excess for solution in scanned])
    near = np.flatnonzero(excess <= FAR_ABOVE * excess.min())
    return [float(np.log(solution.sigma)) for solution in scanned[near[0] : near[-1] + 1]]


def scan(
    evaluate: Callable[[float, Any], E],
    grid: list[float],
    far_above: float = np.inf,
    beyond: tuple[type[Exception], ...] = (RankError,),
) -> tuple[list[E], Bounds]:
    """Evaluate on a grid in log σ, and say how far σ can go.

    The kernel matrix loses rank as σ grows; where it cannot carry d coordinates the objective is
    infinite, so the scan goes up and ends there, at an error of the kinds ``beyond``. It also ends once
    g has risen ``far_above`` times its least value. Warm starts go up with it.
    """
    found: list[E] = []
    end = None
    for log_sigma in grid:
        try:
            found.append(evaluate(log_sigma, found[-1].basis if found else None))
        except beyond:
            if not found:
                raise
            break
        last = found[-1]
        if last.slope > 0 and last.excess > far_above * min(point.excess for point in found):
            end = grid[-1]
            break
    # As the points themselves say where they are: an end is recognised by its exact place.
    lowest, highest = (float(np.log(point.sigma)) for point in (found[0], found[-1]))
    return found, (lowest, highest if end is None else end)
