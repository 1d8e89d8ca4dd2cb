"""What rows without a label add to the pencil with centres: μ4 K'LK over all N rows.

L is that of `nsse.graphs.partly_labeled`. Neighbours are exact: every row is compared with every other,
a panel of rows at a time, in O(N² n) time and memory for the rows and a panel of distances. K'LK is
summed over blocks of rows: a block needs the kernel rows of its own rows and of their neighbours, and K
itself is never held. Rows are visited in an order that has neighbours near to each other
(reverse Cuthill–McKee), so that few kernel rows are computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.utils.extmath import row_norms

from nsse._threads import in_parallel, one_blas_thread
from nsse.graphs import mean_degree_laplacian, nearest_columns, neighbor_weights, symmetric_graph
from nsse.kernels import KernelRows, squared_distances_between
from nsse.landmarks.moments import add_products
from nsse.landmarks.sources import RowSource

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Rows that look for their neighbours at a time, and rows whose products are summed at a time.
PANEL, BLOCK = 128, 1024


@dataclass(frozen=True)
class Smoothness:
    """Smoothness along the graph of all rows of a source.

    Attributes
    ----------
    source : RowSource
        All rows, labelled or not, in memory.
    weight : float
        μ4.
    n_neighbors : int
        Nearest rows that a row is joined to.
    """

    source: RowSource
    weight: float
    n_neighbors: int

    def products(self, kernel: KernelRows, sigma: float) -> Floats:
        """μ4 K'LK, symmetric and full."""
        m = kernel.n_centers
        out = np.zeros((m, m))
        if self.weight == 0.0:
            return out
        with one_blas_thread():
            rows = kernel.measured(self.source.take(np.arange(self.source.shape[0])))
            L = mean_degree_laplacian(neighbor_graph(rows, self.n_neighbors)) * self.weight
            add_smoothness(sparse.csr_array(L), rows, kernel, sigma, out)
        return out + np.tril(out, -1).T


def neighbor_graph(rows: Any, n_neighbors: int) -> sparse.csr_array:
    """`all_rows_affinity` of rows, of which no more than a panel of distances is held at a time."""
    N, norms = rows.shape[0], row_norms(rows, squared=True)
    starts = list(range(0, N, PANEL))
    found: list[Any] = [None] * len(starts)

    def fill(place: int) -> None:
        start = starts[place]
        stop = min(start + PANEL, N)
        D2 = squared_distances_between(rows[start:stop], rows, norms)
        a, b = nearest_columns(D2, np.arange(start, stop), n_neighbors)
        found[place] = a + start, b, D2[a, b].astype(np.float64)

    in_parallel(fill, range(len(starts)), N * N)
    origin, other, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return symmetric_graph(origin, other, neighbor_weights(lengths), N)


def add_smoothness(L: Any, rows: Any, kernel: KernelRows, sigma: float, out: Floats) -> None:
    """out += K'LK on and below the diagonal, from `measured` rows."""
    order = reverse_cuthill_mckee(L, symmetric_mode=True)
    for start in range(0, len(order), BLOCK):
        own = np.sort(order[start : start + BLOCK])
        part = L[own]
        near = np.union1d(own, part.indices)
        K = kernel.kernel(rows[near], sigma)
        LK = part[:, near].astype(K.dtype) @ K
        add_products(K[np.searchsorted(near, own)], LK, out)
