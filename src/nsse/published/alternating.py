"""Run Algorithm 1 of the paper, step by step (``solver="alternating"``).

    repeat   Y ← the d smallest eigenvectors of A = L_w − μ1 L_b + μ2 K⁻²     (line 4, Eqs. 12 and 13)
             σ ← argmin over a grid of μ2 tr(Y'K⁻²Y) + μ3/σ²                  (line 5, Eq. 14)
    until the objective of Eq. (11) is stable
    C = K⁻¹Y                                                                  (line 7)

Departs from the paper: the current σ is one of the candidates of line 5, so that an initial value off
the grid cannot make the objective rise. `embed` solves line 4 without an inverse.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats
from nsse.published.embedding import EPS, Embedding, embed
from nsse.published.objective import Problem
from nsse.published.scale import Bounds, Found
from nsse.published.trace import Recorder

N_SIGMAS = 40  # points of the grid
# K + 10 N ε I: if samples coincide, K is singular, and K⁻¹Y becomes the solution of least norm.
RIDGE = 10.0


def alternate(
    recorder: Recorder, bounds: Bounds, tol: float, max_iter: int, start: float | None = None
) -> Found:
    """Alternate until the relative change of the excess is at most ``tol``.

    ``start`` is the first σ. None takes the geometric mean of the bounds.
    """
    problem, grid = recorder.problem, np.geomspace(*bounds, N_SIGMAS)
    sigma = math.sqrt(bounds[0] * bounds[1]) if start is None else start
    previous = math.inf
    for iteration in range(max_iter):
        found = recorder.record("embedding", embed(problem, sigma), iteration)  # line 4
        moved = best_scale(problem, found, grid)  # line 5
        if moved is not found:
            recorder.record("scale", moved, iteration)
        converged = moved is found or previous - moved.excess <= tol * moved.excess
        sigma = moved.sigma
        previous = moved.excess
        if converged:
            break
    return Found(moved, converged, moved.sigma in (grid[0], grid[-1]))


def best_scale(problem: Problem, found: Embedding, grid: Floats) -> Embedding:
    """Solve Eq. (14): return Y with the best σ, or the given embedding if no other σ is better."""
    with one_blas_thread():
        graph_terms = np.diagonal(problem.S.quadratic(found.Y))
        here, *others = (
            _with_scale(problem, found, graph_terms, sigma) for sigma in (found.sigma, *grid.tolist())
        )
    best = min(others, key=lambda other: other.excess)
    return best if best.excess < here.excess else found


def _with_scale(problem: Problem, found: Embedding, graph_terms: Floats, sigma: float) -> Embedding:
    """Return the same Y with kernels of another scale and C = K(σ)⁻¹Y, Eq. (7)."""
    N = len(found.Y)
    weights = problem.weights
    K = problem.kernel(sigma)
    K[np.diag_indices(N)] += RIDGE * N * EPS
    try:
        C = cho_solve(cho_factor(K, overwrite_a=True, check_finite=False), found.Y, check_finite=False)
    except LinAlgError:  # singular despite the ridge: the paper's "poor conditioning"
        return replace(found, sigma=sigma, excess=math.inf)
    values = graph_terms + weights.mu2 * (C**2).sum(axis=0)
    excess = float(values.sum()) + weights.scale_term(sigma)
    return replace(found, sigma=sigma, eigenvalues=values, coef=C, excess=excess)
