"""The kernel scale by direct minimisation: ``solver="joint"``, and a given σ.

Departs from the paper: eliminating Y from Eq. (11) leaves one variable,

    g(σ) = Σ_{k≤d} λ_k(σ) + μ3/σ²,

whose minimum is the *global* minimum of Eq. (11). ``survey`` finds its valleys, `descend` their bottoms:
both use the slope that every evaluation brings for almost nothing. With many samples the valleys are
guessed from a cheaper g: of subsamples (``extrapolation``), or of fewer rows and centres.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from nsse.solvers.descent import DescentEnd, E, descend
from nsse.solvers.extrapolation import Extrapolated
from nsse.solvers.pencil import RESIDUAL, RankError, Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.recorder import OnStep, Recorder, SearchStopped
from nsse.solvers.survey import Bounds, Evaluate, Look, deepest
from nsse.solvers.trace import SearchResult
from nsse.solvers.valleys import Valley

# With fewer rows than this every cell wider than that is looked into: it costs next to nothing.
FEW_ROWS = 100
CELL_OF_FEW = 0.13
# With more a scan upwards ends where g has risen to so many times its least value, or so many steeply.
FAR_ABOVE, STEEPLY_ABOVE = 10.0, 3.0
# Residual of the eigenpairs of a scan: g to about six digits, which is enough to see its valleys.
ROUGHLY = 1e-3


class Cheaper(Protocol):
    """A g that costs less than the one to be minimised, and has its valleys nearby."""

    def starts(self, bounds: Bounds, max_iter: int) -> tuple[list[Valley[Any]], Bounds]:
        """Where to descend from, and the interval of log σ in which to descend."""


def solve_fixed(problem: Problem, sigma: float) -> SearchResult:
    """Embed at the σ that the user gave."""
    recorder = Recorder(problem.objective, problem.n_samples)
    solution = solve_pencil(problem, sigma)
    recorder.record("fixed", problem.graph, solution)
    return SearchResult(solution, recorder.trace(), n_iter=1, converged=True, at_bound=False)


def solve_joint(
    problem: Problem,
    bounds: Bounds,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> SearchResult:
    """Minimise g on [σ_min, σ_max] to a relative accuracy of ``tol`` in the excess objective."""
    recorder = Recorder(problem.objective, problem.n_samples, on_step)
    end = search_scale(
        problem, bounds, recorder, tol=tol, max_iter=max_iter, cheaper=Extrapolated.of(problem, rng)
    )
    trace = recorder.trace()
    return SearchResult(end.solution, trace, len(trace), end.converged, end.at_bound)


def search_scale(
    problem: Problem,
    bounds: Bounds,
    recorder: Recorder,
    *,
    tol: float,
    max_iter: int,
    cheaper: Cheaper | None,
    stages: tuple[str, str] = ("scan", "joint"),
    far_above: float | None = None,
) -> DescentEnd[Solution]:
    """The same with every step recorded, under the names of its two ``stages``.

    A scan is solved roughly; what is returned is not.
    """

    def at_stage(stage: str, residual: float) -> Callable[[float, Any], Solution]:
        def evaluate(log_sigma: float, basis: Any) -> Solution:
            solution = solve_pencil(problem, float(np.exp(log_sigma)), basis, residual)
            recorder.record(stage, problem.graph, solution)
            return solution

        return evaluate

    go = at_stage(stages[1], RESIDUAL)
    few = problem.graph.n_rows < FEW_ROWS
    steeply_above = far_above
    if far_above is None or steeply_above is None:
        far_above, steeply_above = (np.inf, np.inf) if few else (FAR_ABOVE, STEEPLY_ABOVE)
    widest = CELL_OF_FEW if few else np.inf
    rough, floor = at_stage(stages[0], ROUGHLY), problem.objective.scale_term
    look = Look(rough, floor, widest, far_above, steeply_above)
    try:
        end = find_scale(look, go, bounds, tol, max_iter, cheaper)
        if end.solution.is_rough:  # where a descent failed
            end = replace(end, solution=go(float(np.log(end.solution.sigma)), end.solution.basis))
        return end
    except SearchStopped as stop:
        return DescentEnd(stop.best, converged=True, at_bound=False)


def find_scale(
    look: Look[E],
    go: Evaluate[E],
    bounds: Bounds,
    tol: float,
    max_iter: int,
    cheaper: Cheaper | None = None,
) -> DescentEnd[E]:
    """The least g on [σ_min, σ_max]: a search for valleys, and a descent into each.

    The valleys of a cheaper g are where those of g itself are begun. If g cannot be solved there, or
    falls to an end that only the cheaper one has, its own valleys are looked for after all.
    """
    if cheaper is not None:
        with suppress(RankError):
            starts, reach = cheaper.starts(bounds, max_iter)
            ends = [descend(go, v.known, v.first, reach, tol, max_iter, v.curvature) for v in starts]
            end = min(ends, key=lambda end: end.solution.excess)
            if not end.at_bound or np.isclose(end.solution.sigma, bounds, rtol=1e-9).any():
                return end
    return deepest(look, go, bounds, tol, max_iter)
