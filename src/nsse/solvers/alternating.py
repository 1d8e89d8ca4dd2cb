"""Algorithm 1 of the paper, step by step: ``solver="alternating"``.

    repeat   Y ← argmin of Eq. (12) at the current σ                         (line 4)
             σ ← argmin over a grid of μ2 tr(Y'Ψ⁻²Y) + μ3/σ²                  (line 5)
    until the objective is stable;   C = Ψ⁻¹Y

Line 4 is solved by the pencil, which is the same eigenproblem. In line 5 the current σ stands among
the candidates, so that an initial value off the grid cannot make the objective rise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nsse._threads import one_blas_thread
from nsse.kernels import gaussian, interpolation_coefficients
from nsse.solvers.pencil import Solution, solve_pencil
from nsse.solvers.problem import Problem
from nsse.solvers.recorder import OnStep, Recorder, SearchStopped
from nsse.solvers.trace import SearchResult

Floats = NDArray[np.float64]


def solve_alternating(
    problem: Problem,
    bounds: tuple[float, float],
    *,
    sigma_init: float,
    n_sigmas: int,
    tol: float,
    max_iter: int,
    on_step: OnStep | None = None,
) -> SearchResult:
    """Alternate until the relative change of the excess objective is at most ``tol``."""
    recorder = Recorder(problem.objective, problem.n_samples, on_step)
    grid = np.geomspace(*bounds, n_sigmas)
    iteration, converged = 0, False
    try:
        sigma, basis, previous = sigma_init, None, np.inf
        while not converged and iteration < max_iter:
            solution = solve_pencil(problem, sigma, basis)
            recorder.record("embedding", problem.graph, solution, iteration)
            moved = _best_scale(problem, solution, grid)
            if moved is not solution:
                recorder.record("scale", problem.graph, moved, iteration)
            converged = moved is solution or previous - moved.excess <= tol * moved.excess
            sigma, basis, previous = moved.sigma, solution.basis, moved.excess
            iteration += 1
    except SearchStopped as stop:
        moved, converged = stop.best, True
    at_bound = moved.sigma in (grid[0], grid[-1])
    return SearchResult(moved, recorder.trace(), iteration, converged, at_bound)


def _best_scale(problem: Problem, solution: Solution, grid: Floats) -> Solution:
    """Line 5: exhaustive search for σ with Y fixed; the solution itself if none is better."""
    with one_blas_thread():
        here = _with_scale(problem, solution, solution.sigma)
        best = min((_with_scale(problem, solution, float(s)) for s in grid), key=_excess)
    return best if best.excess < here.excess else solution


def _with_scale(problem: Problem, solution: Solution, sigma: float) -> Solution:
    """The same embedding carried by kernels of another scale: C = Ψ(σ)⁻¹Y, Eq. (7)."""
    Y = solution.embedding
    C = interpolation_coefficients(gaussian(problem.D2, sigma), Y)
    quotients = np.diagonal(problem.graph.quadratic(Y)) + problem.objective.mu2 * (C**2).sum(axis=0)
    excess = float(quotients.sum()) + problem.objective.scale_term(sigma)
    return replace(solution, sigma=sigma, eigenvalues=quotients, coef=C, excess=excess)


def _excess(solution: Solution) -> float:
    return solution.excess
