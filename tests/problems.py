"""What the tests of the solvers share: problems as matrices, and both searches for the scale."""

from __future__ import annotations

import numpy as np

import oracles
from nsse.solvers import Objective, Problem, solve_alternating, solve_joint

EPS = np.finfo(float).eps
BOUNDS = (0.1, 4.0)


def dense_parts(problem):
    """W_w and S of a problem as matrices; S from the definitions of its Laplacians."""
    N, mu1 = problem.n_samples, problem.graph.mu1
    codes = problem.graph.codes
    W = np.asarray(problem.affinity(problem.D2, codes, np.arange(N)).toarray())
    return W, oracles.shifted_matrix(W, codes, mu1)


def joint_of(problem, bounds=BOUNDS, tol=1e-9, max_iter=60):
    return solve_joint(problem, bounds, tol=tol, max_iter=max_iter, rng=np.random.default_rng(0))


def alternating_of(problem, bounds=BOUNDS, sigma_init=1.0, n_sigmas=25, tol=0.0, max_iter=60):
    return solve_alternating(
        problem, bounds, sigma_init=sigma_init, n_sigmas=n_sigmas, tol=tol, max_iter=max_iter
    )


def projector(Y):
    return Y @ Y.T


def two_points(mu2, mu3):
    """One sample in each of two classes, one unit apart."""
    D2 = np.array([[0.0, 1.0], [1.0, 0.0]])
    return Problem.build(
        D2,
        np.array([0, 1]),
        lambda d2, codes, members: np.zeros((len(codes), len(codes))),
        Objective(5.0, mu2, mu3, 1),
    )
