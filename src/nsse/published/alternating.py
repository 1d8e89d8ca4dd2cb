"""Algorithm 1 of the paper, step by step: ``solver="alternating"``.

    repeat   Y ← argmin of Eq. (12) at the current σ                         (line 4)
             σ ← argmin over a grid of μ2 tr(Y'K⁻²Y) + μ3/σ²                  (line 5)
    until the objective is stable;   C = K⁻¹Y

Line 4 is solved by `embed`, which is the same eigenproblem. In line 5 the current σ stands among the
candidates, so that an initial value off the grid cannot make the objective rise.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats
from nsse.published.embedding import EPS, Embedding, embed
from nsse.published.objective import Problem
from nsse.published.scale import Bounds, Found
from nsse.published.trace import Recorder

N_SIGMAS = 40  # points of the grid
# K + 10 N ε I: makes K⁻¹Y the solution of least norm where samples coincide and K is singular.
RIDGE = 10.0


def alternate(
    recorder: Recorder, bounds: Bounds, tol: float, max_iter: int, start: float | None = None
) -> Found:
    """Alternate until the excess changes by ``tol`` or less, relatively.

    ``start`` is the first σ; None takes the geometric mean of the bounds.
    """
    problem, grid = recorder.problem, np.geomspace(*bounds, N_SIGMAS)
    sigma = math.sqrt(bounds[0] * bounds[1]) if start is None else start
    basis, previous = None, math.inf
    for iteration in range(max_iter):
        found = recorder.record("embedding", embed(problem, sigma, basis), iteration)
        moved = _best_scale(problem, found, grid)
        if moved is not found:
            recorder.record("scale", moved, iteration)
        converged = moved is found or previous - moved.excess <= tol * moved.excess
        sigma, basis, previous = moved.sigma, found.basis, moved.excess
        if converged:
            break
    return Found(moved, converged, moved.sigma in (grid[0], grid[-1]))


def _best_scale(problem: Problem, found: Embedding, grid: Floats) -> Embedding:
    """Line 5: exhaustive search for σ with Y fixed; the embedding itself if no other is better."""
    with one_blas_thread():
        quotients = np.diagonal(problem.S.quadratic(found.Y))
        here = _with_scale(problem, found, quotients, found.sigma)
        others = (_with_scale(problem, found, quotients, float(sigma)) for sigma in grid)
        best = min(others, key=lambda other: other.excess)
    return best if best.excess < here.excess else found


def _with_scale(problem: Problem, found: Embedding, quotients: Floats, sigma: float) -> Embedding:
    """The same Y carried by kernels of another scale: C = K(σ)⁻¹Y, Eq. (7)."""
    N, weights, K = len(found.Y), problem.weights, problem.kernel(sigma)
    K[np.diag_indices(N)] += RIDGE * N * EPS
    _, C, failed = lapack.dposv(K.T, found.Y, lower=1, overwrite_a=1)
    if failed:  # singular beyond the ridge: the paper's "poor conditioning"
        return replace(found, sigma=sigma, excess=math.inf)
    values = quotients + weights.mu2 * (C**2).sum(axis=0)
    excess = float(values.sum()) + weights.scale_term(sigma)
    return replace(found, sigma=sigma, eigenvalues=values, coef=C, excess=excess)
