"""Algorithm 1 of the paper as it is printed, with which `runtime` compares times.

It is written plainly but not slowly. LAPACK computes on all BLAS threads, distances are computed once,
and the eigensolver computes d eigenvectors only. Within-class weights, unit of length and range of σ are
those of ``NSSE()``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, inv
from sklearn.metrics.pairwise import euclidean_distances

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Literal:
    """Where Algorithm 1 ended; ``sigma`` is in the units of X."""

    Y: Floats
    C: Floats
    sigma: float
    objective: float
    n_iter: int


def literal_nsse(
    X: Floats,
    codes: Ints,
    n_components: int,
    *,
    mu1: float,
    mu2: float,
    mu3: float,
    n_neighbors: int,
    sigma_range: tuple[float, float],
    n_sigmas: int,
    tol: float,
    max_iter: int,
) -> Literal:
    """Alternate between Y and σ until the objective is stable; σ and μ3 in median distances."""
    D2 = euclidean_distances(X, squared=True)
    unit = float(np.sqrt(np.median(D2[np.triu_indices(len(X), 1)])))
    D2 /= unit**2
    shift = mu1 * len(X) * n_components
    W_b = (codes[:, np.newaxis] != codes).astype(np.float64)
    graph_part = _laplacian(_within_class_weights(D2, codes, n_neighbors)) - mu1 * _laplacian(W_b)
    grid = np.geomspace(*sigma_range, n_sigmas)
    sigma, previous = float(np.sqrt(np.prod(sigma_range))), np.inf
    n_iter, stable = 0, False
    while not stable and n_iter < max_iter:
        inverse = inv(np.exp(-D2 / sigma**2), check_finite=False)
        A = graph_part + mu2 * (inverse @ inverse)  # Eq. (13)
        _, Y = eigh(A, subset_by_index=(0, n_components - 1), overwrite_a=True, check_finite=False)
        costs = [mu2 * float((_coefficients(D2, s, Y) ** 2).sum()) + mu3 / s**2 for s in grid]
        best = float(grid[np.argmin(costs)])  # Eq. (14)
        objective = float(np.einsum("ij,ij->", Y, graph_part @ Y)) + min(costs)
        # A scale that stays where it was would give the same Y, and nothing could change any more.
        stable = best == sigma or previous - objective <= tol * (objective + shift)
        sigma, previous, n_iter = best, objective, n_iter + 1
    return Literal(Y, _coefficients(D2, sigma, Y), sigma * unit, objective, n_iter)


def _within_class_weights(D2: Floats, codes: Ints, n_neighbors: int) -> Floats:
    """exp(−d²/β) to the nearest samples of the class, in either direction; β is their mean d²."""
    apart = np.where(codes[:, np.newaxis] == codes, D2, np.inf)
    np.fill_diagonal(apart, np.inf)
    farthest = np.partition(apart, n_neighbors - 1, axis=1)[:, [n_neighbors - 1]]
    joined = (apart <= farthest) & np.isfinite(apart)
    return np.where(joined | joined.T, np.exp(-D2 / D2[joined].mean()), 0.0)


def _laplacian(W: Floats) -> Floats:
    return np.diag(W.sum(axis=1)) - W


def _coefficients(D2: Floats, sigma: float, Y: Floats) -> Floats:
    """Ψ⁻¹Y, infinite where Ψ is singular to rounding: there "poor conditioning" rules σ out."""
    try:
        # What `solve(Psi, Y, assume_a="pos")` does, in half its time.
        factor = cho_factor(np.exp(-D2 / sigma**2), overwrite_a=True, check_finite=False)
    except LinAlgError:
        return np.full_like(Y, np.inf)
    return cho_solve(factor, Y, check_finite=False)
