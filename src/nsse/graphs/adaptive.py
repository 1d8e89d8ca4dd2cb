"""The two graphs of supervised Laplacian eigenmaps (Raducanu & Dornaika 2012, Section 3).

W_w joins neighbours of the same class with weight exp(−‖x_i − x_j‖²/β), W_b neighbours of different
classes with weight 1; an edge is there if either sample is a neighbour of the other. *Adaptive*
neighbours of x_i are the samples more similar to x_i than all samples are on average,

    exp(−‖x_i − x_j‖²/β) > (1/N) Σ_k exp(−‖x_i − x_k‖²/β)     (k = i included),

so that dense regions get many and outliers few, without a number to choose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs.neighbors import nearest, symmetric_graph

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Neighbors = int | str | None


def class_graphs(
    D2: Floats, codes: Ints, within: Neighbors, between: Neighbors, beta: float | None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """W_w and W_b from squared distances and class codes.

    ``within`` and ``between`` say which neighbours: "adaptive", a number of nearest ones, or None for
    all. ``beta`` is in the units of ``D2``; None takes the mean squared distance between samples.
    """
    N = len(codes)
    width = mean_squared_distance(D2) if beta is None else beta
    same = codes[:, np.newaxis] == codes
    if within == between == "adaptive":
        return _adaptive_graphs(D2, same, width)
    rows, cols = _edges(D2, codes, same, within, width)
    W_w = symmetric_graph(rows, cols, np.exp(-D2[rows, cols] / width), N)
    rows, cols = _edges(D2, codes, ~same, between, width)
    return W_w, symmetric_graph(rows, cols, np.ones(len(rows)), N)


def mean_squared_distance(D2: Floats) -> float:
    """Mean of ‖x_i − x_j‖² over pairs of samples."""
    N = len(D2)
    return float(D2.sum()) / (N * (N - 1))


def _adaptive_graphs(
    D2: Floats, same: NDArray[np.bool_], width: float
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both graphs at once: they have many edges, which masks find faster than lists."""
    similarity = np.exp(-D2 / width)
    near = similarity > similarity.mean(axis=1, keepdims=True)
    near |= near.T
    np.fill_diagonal(near, False)
    W_b = sparse.csr_array((near & ~same).astype(np.float64))
    similarity[~(near & same)] = 0.0
    return sparse.csr_array(similarity), W_b


def _edges(
    D2: Floats, codes: Ints, allowed: NDArray[np.bool_], kind: Neighbors, width: float
) -> tuple[Ints, Ints]:
    if kind == "adaptive":
        similarity = np.exp(-D2 / width)
        chosen = allowed & (similarity > similarity.mean(axis=1, keepdims=True))
        np.fill_diagonal(chosen, False)
        rows, cols = np.nonzero(chosen)
        return rows, cols
    k = None if kind is None else int(kind)
    edges = [_class_edges(D2, codes, allowed, code, k) for code in np.unique(codes)]
    return np.concatenate([rows for rows, _ in edges]), np.concatenate([cols for _, cols in edges])


def _class_edges(
    D2: Floats, codes: Ints, allowed: NDArray[np.bool_], code: int, k: int | None
) -> tuple[Ints, Ints]:
    members = np.flatnonzero(codes == code)
    return nearest(D2, members, np.flatnonzero(allowed[members[0]]), k)
