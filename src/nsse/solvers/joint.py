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
from typing import Any, Protocol

import numpy as np

from nsse.solvers.descent import DescentEnd, E, descend
from nsse.solvers.extrapolation import Extrapolated
from nsse.solvers.pencil import RankError, Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.recorder import Listener, Recorder, SearchStopped
from nsse.solvers.survey import Bounds, Evaluate, Look, deepest
from nsse.solvers.trace import SearchResult
from nsse.solvers.valleys import Valley

# With fewer rows than this every cell wider than that is looked into: it costs next to nothing.
FEW_ROWS = 100
CELL_OF_FEW = 0.13


class Cheaper(Protocol):
    """A g that costs less than the one to be minimised, and has its valleys nearby."""

    def starts(self, bounds: Bounds, max_iter: int) -> tuple[list[Valley[Any]], Bounds]:
        """Where to descend from, and the interval of log σ in which to descend."""


def solve_fixed(problem: Problem, sigma: float, listener: Listener | None = None) -> SearchResult:
    """Embed at the σ that the user gave."""
    recorder = Recorder(problem.objective, problem.n_samples, listener)
    solution = solve_pencil(problem, sigma)
    with suppress(SearchStopped):  # there is nothing left to stop
        recorder.record("fixed", problem.graph, solution)
    return SearchResult(solution, recorder.trace(), n_iter=1, converged=True, at_bound=False)


def solve_joint(
    problem: Problem,
    bounds: Bounds,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    listener: Listener | None = None,
) -> SearchResult:
    """Minimise g on [σ_min, σ_max] to a relative accuracy of ``tol`` in the excess objective."""
    recorder = Recorder(problem.objective, problem.n_samples, listener)
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
    far_above: float = np.inf,
) -> DescentEnd[Solution]:
    """The same with every step recorded, under the names of its two ``stages``."""

    def at_stage(stage: str) -> Callable[[float, Any], Solution]:
        def evaluate(log_sigma: float, basis: Any) -> Solution:
            solution = solve_pencil(problem, float(np.exp(log_sigma)), basis)
            recorder.record(stage, problem.graph, solution)
            return solution

        return evaluate

    widest = CELL_OF_FEW if problem.graph.n_rows < FEW_ROWS else np.inf
    look = Look(at_stage(stages[0]), problem.objective.scale_term, widest, far_above)
    try:
        return find_scale(look, at_stage(stages[1]), bounds, tol, max_iter, cheaper)
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
