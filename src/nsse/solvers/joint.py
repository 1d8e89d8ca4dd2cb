"""The kernel scale by direct minimisation: ``solver="joint"``, and a given σ.

Departs from the paper: eliminating Y from Eq. (11) leaves one variable,

    g(σ) = Σ_{k≤d} λ_k(σ) + μ3/σ²,

whose minimum is the *global* minimum of Eq. (11). It is bracketed by a scan (on a stratified
subsample when N is large: the optimum drifts slowly and regularly with N) and finished on all samples
by `descend`, which uses the slope that every evaluation brings for almost nothing.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from nsse.solvers.descent import DescentEnd, Evaluate, descend
from nsse.solvers.pencil import Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.recorder import Listener, Recorder, SearchStopped
from nsse.solvers.trace import Outcome

Ints = NDArray[np.intp]

# From this many samples on, two subsamples cost less than they save.
SUBSAMPLE_FROM = 800
SUBSAMPLE_TOL = 1e-6
SCAN_POINTS = 13
# Of log g in log σ around its minimum, until two slopes tell: g falls as σ⁻² and rises faster.
CURVATURE = 5.0


def solve_fixed(problem: Problem, sigma: float, listener: Listener | None = None) -> Outcome:
    """Embed at the σ that the user gave."""
    recorder = Recorder(problem, listener)
    solution = solve_pencil(problem, sigma)
    with suppress(SearchStopped):  # there is nothing left to stop
        recorder.record("fixed", solution)
    return Outcome(solution, recorder.trace(), n_iter=1, converged=True, at_bound=False)


def solve_joint(
    problem: Problem,
    bounds: tuple[float, float],
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    listener: Listener | None = None,
) -> Outcome:
    """Minimise g on [σ_min, σ_max] to a relative accuracy of ``tol`` in the excess objective."""
    recorder = Recorder(problem, listener)

    def evaluate(log_sigma: float, basis: NDArray[np.float64] | None) -> Solution:
        solution = _at(problem)(log_sigma, basis)
        recorder.record("joint", solution)
        return solution

    try:
        levels = _subsamples(problem, rng)
        if levels:
            first, curvature = _extrapolate(levels, bounds, max_iter)
            end = descend(evaluate, [], first, _log(bounds), curvature, tol, max_iter)
        else:
            known = _scan(problem, bounds, recorder)
            end = descend(evaluate, known, None, _log(bounds), CURVATURE, tol, max_iter)
    except SearchStopped as stop:
        end = DescentEnd(stop.best, CURVATURE, converged=True, at_bound=False)
    trace = recorder.trace()
    return Outcome(end.solution, trace, len(trace), end.converged, end.at_bound)


def _scan(
    problem: Problem, bounds: tuple[float, float], recorder: Recorder | None = None
) -> list[Solution]:
    """Solve on a geometric grid; warm starts go up the scale with it."""
    solutions: list[Solution] = []
    for sigma in np.geomspace(*bounds, SCAN_POINTS):
        basis = solutions[-1].basis if solutions else None
        solutions.append(solve_pencil(problem, float(sigma), basis))
        if recorder is not None:
            recorder.record("scan", solutions[-1])
    return solutions


def _extrapolate(
    levels: list[Problem], bounds: tuple[float, float], max_iter: int
) -> tuple[float, float]:
    """log σ for all N samples from its optima at N/8 and N/4, on a line in log N."""
    known: list[Solution] = _scan(levels[0], bounds)
    first, curvature, optima = None, CURVATURE, []
    for level in levels:
        end = descend(_at(level), known, first, _log(bounds), curvature, SUBSAMPLE_TOL, max_iter)
        optima.append(float(np.log(end.solution.sigma)))
        known, first, curvature = [], optima[-1], end.curvature
    drift = optima[1] - optima[0]  # per doubling of N; N is two doublings above N/4
    return float(np.clip(optima[1] + 2 * drift, *_log(bounds))), curvature


def _at(problem: Problem) -> Evaluate:
    return lambda log_sigma, basis: solve_pencil(problem, float(np.exp(log_sigma)), basis)


def _subsamples(problem: Problem, rng: np.random.Generator) -> list[Problem]:
    """Stratified subsamples of about N/8 and N/4, or none where they would not be small."""
    if problem.n_samples < SUBSAMPLE_FROM:
        return []
    members = [_stratified(problem.graph.codes, share, rng) for share in (8, 4)]
    usable = all(
        problem.n_components < len(m) // 2 and len(m) <= problem.n_samples // 3 for m in members
    )
    return [problem.subset(m) for m in members] if usable else []


def _stratified(codes: Ints, share: int, rng: np.random.Generator) -> Ints:
    """One in ``share`` of every class, and never fewer than two of those there are."""
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        size = min(len(members), max(2, round(len(members) / share)))
        chosen.append(np.sort(rng.choice(members, size, replace=False)))
    return np.concatenate(chosen)


def _log(bounds: tuple[float, float]) -> tuple[float, float]:
    return float(np.log(bounds[0])), float(np.log(bounds[1]))
