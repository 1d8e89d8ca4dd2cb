"""The Laplacian of a neighbour graph that does not look at labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs.within_class import gaussian_affinity, laplacian

Floats = NDArray[np.float64]


def neighbor_laplacian(
    D2: Floats, n_neighbors: int | None, beta: float | None, *, normalized: bool
) -> sparse.csr_array:
    """L = D − W of the Gaussian neighbour graph of all samples, or D^(−1/2) L D^(−1/2).

    A sample without neighbours (all its weights underflow) has a row and a column of zeros in both.
    """
    one_class = np.zeros(len(D2), dtype=np.intp)
    L = laplacian(gaussian_affinity(D2, one_class, n_neighbors, beta))
    if not normalized:
        return L
    degrees = L.diagonal()
    scales = np.zeros_like(degrees)
    np.power(degrees, -0.5, out=scales, where=degrees > 0)
    scaling = sparse.diags_array(scales)
    return sparse.csr_array(scaling @ L @ scaling)
