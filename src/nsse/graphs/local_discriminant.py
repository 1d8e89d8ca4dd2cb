"""The two graphs of local discriminant embedding (Chen, Chang & Liu 2005, Section 3.2).

W joins samples of the same class, W' samples of different classes, where one is among the nearest of the
other; both carry the weights exp(−‖x_i − x_j‖²/t) with one t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs.neighbors import nearest, symmetric_graph

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Edges = tuple[Ints, Ints]


@dataclass(frozen=True)
class DiscriminantGraphs:
    """W within classes, W' between them, and the t of their weights in the units of D2."""

    within: sparse.csr_array
    between: sparse.csr_array
    width: float


def discriminant_graphs(
    D2: Floats, codes: Ints, n_within: int | None, n_between: int | None, width: float | None
) -> DiscriminantGraphs:
    """W and W' from squared distances and classes; no ``width`` takes the mean squared edge length."""
    within = _edges(D2, codes, n_within, same=True)
    between = _edges(D2, codes, n_between, same=False)
    if width is None:
        lengths = np.concatenate([D2[within], D2[between]])
        # Duplicates only: exp(−0/t) = 1 for every t.
        width = float(lengths.mean()) if lengths.any() else 1.0
    return DiscriminantGraphs(_graph(D2, within, width), _graph(D2, between, width), width)


def _edges(D2: Floats, codes: Ints, k: int | None, *, same: bool) -> Edges:
    found = []
    for code in range(int(codes.max()) + 1):
        members, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        found.append(nearest(D2, members, members if same else others, k))
    rows, cols = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(cols)


def _graph(D2: Floats, edges: Edges, width: float) -> sparse.csr_array:
    return symmetric_graph(*edges, np.exp(-D2[edges] / width), len(D2))
