"""Derivatives of f(x) = Σ c_i exp(−‖x − z_i‖²/σ²): how steep the map is, and where it is steepest.

    J(x) = −(2/σ²) Σ_i k_i (x − z_i) c_i'          (n × d),   k_i = exp(−‖x − z_i‖²/σ²)
    ∇_x (p'J(x)q) = Σ_i (c_i'q) k_i [ (4/σ⁴) (x − z_i) (x − z_i)'p − (2/σ²) p ]

Points are taken relative to the mean of the centres, where the expansion keeps them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nsse._support.threads import in_parallel, one_blas_thread
from nsse.extensions import Contraction, GaussianExpansion
from nsse.kernels import as_dense, gradient_factor

Floats = NDArray[np.float64]

# Values of Jacobians in flight per block: 32 MB.
BLOCK_VALUES = 4_000_000


def jacobians(expansion: GaussianExpansion, points: Floats) -> Floats:
    """J at every row of ``points``, of shape (n_points, n_features, n_components)."""
    Z, C, sigma = expansion.centers, expansion.coef, expansion.sigma
    K = Z.kernel_from_moved(points, sigma)
    J = points[:, :, np.newaxis] * (K @ C)[:, np.newaxis, :]
    for component, c in enumerate(C.T):
        J[:, :, component] -= as_dense((K * c) @ Z.points)
    J *= gradient_factor(sigma)
    return np.asarray(J)


def steepness(expansion: GaussianExpansion, points: Floats, metric: Contraction | None = None) -> Floats:
    """Spectral norm of J at every row, the Lipschitz constant of f near it; in a metric that of A'J."""
    n_features, d = points.shape[1], expansion.coef.shape[1]
    rows = max(1, BLOCK_VALUES // (n_features * d + len(expansion.coef)))
    norms = np.empty(points.shape[0])

    def fill(start: int) -> None:
        J = jacobians(expansion, as_dense(points[start : start + rows]))
        if metric is not None:  # by the chain rule: J is the slope by Ax, A'J that by x
            J = metric.adjoint(J.transpose(0, 2, 1).reshape(-1, n_features)).reshape(-1, d, n_features)
            J = J.transpose(0, 2, 1)
        small = J.transpose(0, 2, 1) @ J if d <= n_features else J @ J.transpose(0, 2, 1)
        norms[start : start + rows] = np.sqrt(np.maximum(np.linalg.eigvalsh(small)[:, -1], 0.0))

    in_parallel(fill, range(0, points.shape[0], rows), norms.size * len(expansion.coef) * d)
    return norms


def steepest_near(expansion: GaussianExpansion, start: Floats, max_iter: int) -> Floats:
    """Climb from ``start`` to a point where the spectral norm of J is largest nearby."""
    if max_iter == 0:
        return start
    with one_blas_thread():
        found = minimize(
            _negative_half_square, start, (expansion,), "L-BFGS-B", True, options={"maxiter": max_iter}
        )
    return np.asarray(found.x)


def _negative_half_square(x: Floats, expansion: GaussianExpansion) -> tuple[float, Floats]:
    """−‖J‖²/2 and its gradient −‖J‖ ∇(p'Jq), with p and q the leading singular vectors."""
    Z, slope = expansion.centers, gradient_factor(expansion.sigma)
    left, values, right = np.linalg.svd(jacobians(expansion, x[np.newaxis])[0], full_matrices=False)
    p, q = left[:, 0], right[0]
    s = (expansion.coef @ q) * Z.kernel_from_moved(x[np.newaxis], expansion.sigma)[0]
    along = x @ p - Z.points @ p  # (x − z_i)'p
    weights = s * along
    second = slope**2 * (weights.sum() * x - Z.points.T @ weights) + slope * s.sum() * p
    return -0.5 * float(values[0]) ** 2, -values[0] * second
