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
EXTRAPOLATED_TOL = 1e-4
# Times the least g of a subsample: no valley of all samples is looked for above that.
FAR_ABOVE = 30.0


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

        scanned, reach = _scan(evaluate, _grid(bounds))
        return valleys(scanned, NEARLY_AS_DEEP), reach
    cheapest, reach = _scan(cheap.evaluate_eighth, _grid(bounds))
    extrapolated, _ = _scan(cheap.evaluate, _worth_a_look(cheapest))
    bottoms = [
        descend(cheap.evaluate, v.known, v.first, reach, EXTRAPOLATED_TOL, max_iter)
        for v in valleys(extrapolated, NEARLY_AS_DEEP_EXTRAPOLATED)
    ]
    guesses: list[Valley[Any]] = [
        Valley([], float(np.log(end.solution.sigma)), end.curvature) for end in bottoms
    ]
    return guesses, reach


def _grid(bounds: Bounds) -> list[float]:
    return [float(x) for x in np.linspace(np.log(bounds[0]), np.log(bounds[1]), SCAN_POINTS)]


def _worth_a_look(scanned: list[Solution]) -> list[float]:
    """log σ from the first to the last point of a scan that is not far above the deepest."""
    excess = np.array([solution.excess for solution in scanned])
    near = np.flatnonzero(excess <= FAR_ABOVE * excess.min())
    return [float(np.log(solution.sigma)) for solution in scanned[near[0] : near[-1] + 1]]


def _scan(evaluate: Callable[[float, Any], E], grid: list[float]) -> tuple[list[E], Bounds]:
    """Evaluate on a grid in log σ, and say how far it reached.

    The kernel matrix loses rank as σ grows; where it cannot carry d coordinates the objective is
    infinite, so the scan goes up and ends there. Warm starts go up with it.
    """
    found: list[E] = []
    for log_sigma in grid:
        try:
            found.append(evaluate(log_sigma, found[-1].basis if found else None))
        except RankError:
            if not found:
                raise
            break
    return found, (float(np.log(found[0].sigma)), float(np.log(found[-1].sigma)))
