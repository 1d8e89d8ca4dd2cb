"""What the tests of the paper's method share: problems from labelled samples, and their matrices."""

from __future__ import annotations

import numpy as np
import oracles_published as oracles

from nsse.distances import median_distance, squared_distances
from nsse.metrics.learned import centered
from nsse.published.objective import Problem, Weights

EPS = np.finfo(float).eps


def problem_of(X, codes, *, mu1=1.0, mu2=1e-2, mu3=0.1, n_components=2, n_neighbors=4, beta=None):
    """Eq. (11) for some samples, in units of their median distance."""
    Z = centered(X)(X)
    D2 = squared_distances(Z, Z)
    D2 = (D2 + D2.T) / (2 * median_distance(D2) ** 2)  # symmetric to the last bit, for 60 digits
    return Problem(D2, codes, Weights(mu1, mu2, mu3, n_components, n_neighbors, beta))


def dense_parts(problem):
    """W_w and S of a problem as matrices; S from the definitions of its Laplacians."""
    off = problem.S.L.toarray()
    W = np.diag(np.diag(off)) - off
    return W, oracles.shifted_matrix(W, problem.codes, problem.weights.mu1)


def kernel_of(problem, sigma):
    return np.exp(-problem.D2 / sigma**2)


def projector(Y):
    return Y @ Y.T


def random_problem(seed, sizes=(10, 80)):
    """Classes that overlap more or less, with random weights and dimensions."""
    rng = np.random.default_rng(seed)
    n, n_features, n_classes = (int(rng.integers(*ends)) for ends in (sizes, (1, 6), (2, 6)))
    X, codes = rng.standard_normal((n, n_features)), np.arange(n) % n_classes
    X += rng.choice([0.0, 0.5, 1.0, 2.0]) * rng.standard_normal((n_classes, n_features))[codes]
    d, mu2 = int(rng.integers(1, n_classes + 2)), float(10 ** rng.uniform(-4, 0))
    mu1, ratio = float(10 ** rng.uniform(-2, 2)), float(10 ** rng.uniform(-1, 1.5))
    return problem_of(X, codes, mu1=mu1, mu2=mu2, mu3=ratio * mu2 * d, n_components=d, n_neighbors=5)
