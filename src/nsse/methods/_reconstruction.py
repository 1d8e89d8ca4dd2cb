"""Locally linear reconstruction: every sample as a combination of its neighbours (Roweis & Saul 2000).

    minimise ‖x_i − Σ_j w_ij x_j‖²  subject to  Σ_j w_ij = 1,   j among the neighbours of i.

With the local Gram matrix G_jl = (x_i − x_j)'(x_i − x_l) = ½ (d_ij² + d_il² − d_jl²) the weights solve
(G + ρI) w = 1, rescaled to the sum one; ρ = 10⁻³ tr(G), as everywhere, since G is singular where there
are more neighbours than dimensions. Distances are all that is needed: the number of features does not
enter. The residuals of all samples are RX, R = I − W.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nsse._support.types import Floats, Ints
from nsse.graphs import class_members
from nsse.methods._graph_embedding import Form, total_form
from nsse.methods._method import nearest_columns, others

LOCAL_RIDGE = 1e-3


def residual_matrix(
    D2: Floats, n_neighbors: int | None, dissimilarities: Floats | None = None
) -> sparse.csr_array:
    """R, by the neighbours at the smallest ``dissimilarities``, by default distances."""
    N = len(D2)
    near = nearest_columns(D2 if dissimilarities is None else dissimilarities, others(N), n_neighbors)
    return _residuals(D2, [(np.arange(N), np.nonzero(near)[1].reshape(N, -1))])


def class_residual_matrix(D2: Floats, codes: Ints, n_neighbors: int | None) -> sparse.csr_array:
    """R, by neighbours of the same class; a row of zeros for a sample that is alone in its class."""
    parts = []
    for own in class_members(codes):
        if len(own) > 1:
            near = nearest_columns(D2[np.ix_(own, own)], others(len(own)), n_neighbors)
            parts.append((own, own[np.nonzero(near)[1].reshape(len(own), -1)]))
    return _residuals(D2, parts)


def residual_form(R: Any) -> Form:
    """Z ↦ Z'R'RZ, the squared residuals: weights of sum one do not see means."""
    return lambda Z: total_form(R @ Z)


def residual_rank(R: Any) -> int:
    """The rank that R can have: samples less connected pieces."""
    return int(R.shape[0] - connected_components(R, directed=True, connection="weak")[0])


def _residuals(D2: Floats, parts: Sequence[tuple[Ints, Ints]]) -> sparse.csr_array:
    """R from samples and the neighbours of each, as many for all samples of a part."""
    rows, columns, values = [], [], []
    for own, near in parts:
        weights = reconstruction_weights(D2, own, near)
        rows += [own, np.repeat(own, near.shape[1])]
        columns += [own, near.ravel()]
        values += [np.ones(len(own)), -weights.ravel()]
    if not parts:
        return sparse.csr_array(D2.shape)
    joined = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(values), joined), shape=D2.shape)


def reconstruction_weights(D2: Floats, own: Ints, near: Ints) -> Floats:
    """w of the samples ``own`` over their neighbours ``near``, of shape (n_samples, n_neighbors)."""
    to_own = D2[own[:, np.newaxis], near]
    G = (
        to_own[:, :, np.newaxis]
        + to_own[:, np.newaxis]
        - D2[near[:, :, np.newaxis], near[:, np.newaxis]]
    )
    G *= 0.5
    trace = to_own.sum(axis=1)
    diagonal = np.arange(near.shape[1])
    # Neighbours that are all duplicates of the sample reconstruct it with any weights: with equal ones.
    G[:, diagonal, diagonal] += np.where(trace > 0, LOCAL_RIDGE * trace, 1.0)[:, np.newaxis]
    w = np.linalg.solve(G, np.ones((*near.shape, 1)))[:, :, 0]
    return np.asarray(w / w.sum(axis=1, keepdims=True))
