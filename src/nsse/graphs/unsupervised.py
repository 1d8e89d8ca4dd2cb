"""Neighbour graphs that do not look at labels, and their Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs.within_class import gaussian_affinity, laplacian

Floats = NDArray[np.float64]


def neighbor_affinity(D2: Floats, n_neighbors: int | None, beta: float | None) -> Any:
    """W of the Gaussian neighbour graph of all samples: `gaussian_affinity` with one class.

    Sparse for a number of neighbours; None joins all pairs, in a dense array. No ``beta`` takes the mean
    squared length of the edges.
    """
    N = len(D2)
    if n_neighbors is not None:
        return gaussian_affinity(D2, np.zeros(N, dtype=np.intp), n_neighbors, beta)
    # Duplicates only: exp(−0/β) = 1 for every β.
    width = (float(D2.sum()) / (N * (N - 1)) or 1.0) if beta is None else beta
    W = D2 * (-1.0 / width)
    np.exp(W, out=W)
    np.fill_diagonal(W, 0.0)
    return W


def neighbor_laplacian(
    D2: Floats, n_neighbors: int | None, beta: float | None, *, normalized: bool
) -> sparse.csr_array:
    """L = D − W of the Gaussian neighbour graph of all samples, or D^(−1/2) L D^(−1/2).

    A sample without neighbours (all its weights underflow) has a row and a column of zeros in both.
    """
    L = laplacian(neighbor_affinity(D2, n_neighbors, beta))
    if not normalized:
        return L
    degrees = L.diagonal()
    scales = np.zeros_like(degrees)
    np.power(degrees, -0.5, out=scales, where=degrees > 0)
    scaling = sparse.diags_array(scales)
    return sparse.csr_array(scaling @ L @ scaling)
