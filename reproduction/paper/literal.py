"""Algorithm 1 of the paper as it is printed: the reference that the library is timed against (Table 7).

Written plainly but not slowly: LAPACK does the work on every thread BLAS has, distances are computed
once, the eigensolver is asked for d eigenvectors only. Samples, within-class weights, unit of length
and range of σ are those of ``NSSE.as_published()``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, inv

from nsse.graphs import between_class_laplacian, gaussian_affinity, laplacian
from nsse.kernels import median_distance, squared_distances

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def literal_nsse(
    X: Floats,
    codes: Ints,
    n_components: int,
    *,
    mu1: float,
    mu2: float,
    mu3: float,
    n_neighbors: int | None,
    sigma_range: tuple[float, float],
    n_sigmas: int,
    tol: float,
    max_iter: int,
) -> tuple[Floats, float, float]:
    """Y, σ in the units of X and the objective, alternated until stable; μ3 in median distances."""
    D2 = squared_distances(X)
    unit = median_distance(D2)
    D2 /= unit**2
    shift = mu1 * len(X) * n_components
    graph_part = laplacian(gaussian_affinity(D2, codes, n_neighbors)).toarray()
    graph_part -= mu1 * between_class_laplacian(codes)
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
    return Y, sigma * unit, objective


def _coefficients(D2: Floats, sigma: float, Y: Floats) -> Floats:
    """Ψ⁻¹Y, infinite where Ψ is singular to rounding: there "poor conditioning" rules σ out."""
    try:
        # What `solve(Psi, Y, assume_a="pos")` does, in half its time.
        factor = cho_factor(np.exp(-D2 / sigma**2), overwrite_a=True, check_finite=False)
    except LinAlgError:
        return np.full_like(Y, np.inf)
    return cho_solve(factor, Y, check_finite=False)
