"""Locally linear reconstruction: every sample as a combination of its neighbors (Roweis & Saul 2000).

    minimize ‖x_i − Σ_j w_ij x_j‖²  subject to  Σ_j w_ij = 1,   j among the neighbors of i.

With the local Gram matrix G_jl = (x_i − x_j)'(x_i − x_l) = ½ (d_ij² + d_il² − d_jl²) the weights solve
(G + ρI) w = 1 and are rescaled to the sum one. G is singular if there are more neighbors than
dimensions, so ρ = 10⁻³ tr(G), as in other implementations. Only distances are needed, so the number of
features does not matter. The residuals of all samples are RX with R = I − W.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nsse._support.types import Bools, Floats, Ints
from nsse.methods._graph_embedding import total_scatter
from nsse.methods._method import nearest_columns, others

LOCAL_RIDGE = 1e-3


def residual_matrix(D2: Floats, n_neighbors: int | None) -> sparse.csr_array:
    """Return R for the nearest samples of every sample. None takes all others."""
    return residuals(D2, nearest_columns(D2, others(len(D2)), n_neighbors))


def residuals(D2: Floats, edges: Bools) -> sparse.csr_array:
    """Return R for given neighbors, as many for every sample."""
    N = len(D2)
    near = np.nonzero(edges)[1].reshape(N, -1)
    weights = sparse.csr_array(
        (reconstruction_weights(D2, near).ravel(), near.ravel(), np.arange(N + 1) * near.shape[1]),
        shape=D2.shape,
    )
    return sparse.csr_array(sparse.eye_array(N) - weights)


def residual_scatter(R: Any, Z: Floats) -> Floats:
    """Return Z'R'RZ. The mean of Z has no influence, because the weights add up to one."""
    return total_scatter(R @ Z)


def residual_rank(R: Any) -> int:
    """Return the rank that R can have: the number of samples minus the number of connected pieces."""
    return int(R.shape[0] - connected_components(R, directed=True, connection="weak")[0])


def reconstruction_weights(D2: Floats, near: Ints) -> Floats:
    """Return w of all samples over their neighbors ``near``, of shape (n_samples, n_neighbors)."""
    to_own = D2[np.arange(len(near))[:, np.newaxis], near]
    G = (
        to_own[:, :, np.newaxis]
        + to_own[:, np.newaxis]
        - D2[near[:, :, np.newaxis], near[:, np.newaxis]]
    )
    G *= 0.5
    trace = to_own.sum(axis=1)
    diagonal = np.arange(near.shape[1])
    # If all neighbors are duplicates of the sample, any weights reconstruct it. Equal ones are used.
    G[:, diagonal, diagonal] += np.where(trace > 0, LOCAL_RIDGE * trace, 1.0)[:, np.newaxis]
    w = np.linalg.solve(G, np.ones((*near.shape, 1)))[:, :, 0]
    return np.asarray(w / w.sum(axis=1, keepdims=True))
