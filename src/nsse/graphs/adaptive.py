"""The two graphs of supervised Laplacian eigenmaps (Raducanu & Dornaika 2012, Section 3).

W_w joins neighbours of the same class with weight exp(−‖x_i − x_j‖²/β), W_b neighbours of different
classes with weight 1; an edge is there if either sample is a neighbour of the other. *Adaptive*
neighbours of x_i are the samples more similar to x_i than all samples are on average,

    exp(−‖x_i − x_j‖²/β) > (1/N) Σ_k exp(−‖x_i − x_k‖²/β)     (k = i included),

so that dense regions get many and outliers few, without a number to choose.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs.neighbors import nearest, symmetric_graph
from nsse.graphs.within_class import laplacian

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]
Neighbors = int | str | None


def class_graphs(
    D2: Floats, codes: Ints, within: Neighbors, between: Neighbors, beta: float | None
) -> tuple[Any, Any]:
    """W_w and W_b from squared distances and class codes.

    ``within`` and ``between`` say which neighbours: "adaptive", a number of nearest ones, or None for
    all. ``beta`` is in the units of ``D2``; None takes the mean squared distance between samples. Both
    graphs are sparse if both have a number of neighbours, and dense arrays otherwise.
    """
    width = mean_squared_distance(D2) if beta is None else beta
    if not (isinstance(within, Integral) and isinstance(between, Integral)):
        return _dense_graphs(D2, codes, within, between, width)
    rows, cols = _edges(D2, codes, int(within), same=True)
    W_w = symmetric_graph(rows, cols, np.exp(-D2[rows, cols] / width), len(codes))
    rows, cols = _edges(D2, codes, int(between), same=False)
    return W_w, symmetric_graph(rows, cols, np.ones(len(rows)), len(codes))


def signed_laplacian(W_w: Any, W_b: Any, mu: float) -> Any:
    """L_w − μ L_b, dense or sparse as the graphs are: the Laplacian of W_w − μ W_b."""
    W = W_w - mu * W_b
    if sparse.issparse(W):
        return laplacian(W)
    L = np.negative(W)
    L[np.diag_indices_from(L)] += W.sum(axis=1)
    return L


def mean_squared_distance(D2: Floats) -> float:
    """Mean of ‖x_i − x_j‖² over pairs of samples."""
    N = len(D2)
    return float(D2.sum()) / (N * (N - 1))


def _dense_graphs(
    D2: Floats, codes: Ints, within: Neighbors, between: Neighbors, width: float
) -> tuple[Floats, Floats]:
    """Graphs with many edges, which masks find faster than lists."""
    similarity = np.exp(D2 * (-1.0 / width))
    adaptive = similarity > similarity.mean(axis=1, keepdims=True)
    adaptive |= adaptive.T
    same = codes[:, np.newaxis] == codes
    other = ~same
    np.fill_diagonal(same, False)
    joined_w = _mask(D2, codes, within, adaptive, same, same_class=True)
    joined_b = _mask(D2, codes, between, adaptive, other, same_class=False)
    similarity *= joined_w
    return similarity, joined_b.astype(np.float64)


def _mask(
    D2: Floats, codes: Ints, kind: Neighbors, adaptive: Mask, allowed: Mask, *, same_class: bool
) -> Mask:
    if kind is None:
        return allowed
    if isinstance(kind, str):
        return adaptive & allowed
    joined = np.zeros(D2.shape, dtype=bool)
    joined[_edges(D2, codes, kind, same=same_class)] = True
    return joined | joined.T


def _edges(D2: Floats, codes: Ints, k: int, *, same: bool) -> tuple[Ints, Ints]:
    edges = []
    for code in np.unique(codes):
        members, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        edges.append(nearest(D2, members, members if same else others, k))
    return np.concatenate([rows for rows, _ in edges]), np.concatenate([cols for _, cols in edges])
