"""The affinity of local Fisher discriminant analysis: Gaussian weights with a scale of their own each.

A_ij = exp(−‖x_i − x_j‖²/(σ_i σ_j)) between samples of the same class, σ_i being the distance from x_i
to its k-th nearest neighbour *in its class* (Zelnik-Manor & Perona 2004; Sugiyama 2007). A class with
k samples or fewer has no k-th neighbour: there σ_i is the distance to the farthest. The number of
neighbours is settled class by class, so that a small class changes nothing for the others.

A sample with k duplicates would have σ_i = 0. Departs from the paper, where A_ij is then undefined:
σ_i is the distance to the nearest sample of the class in another place. In a class that is all in one
place A_ij = 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Squared distances below this share of the largest are rounding: the samples are duplicates.
SAME_PLACE = 1e-14


def local_scaling_affinity(D2: Floats, codes: Ints, n_neighbors: int) -> sparse.csr_array:
    """A from squared distances and classes: symmetric, 1 on the diagonal, 0 between classes."""
    zero = SAME_PLACE * float(D2.max())
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))[:-1]
    blocks = []
    for members in np.split(order, ends):
        D2_c = D2[np.ix_(members, members)]
        scales = np.sqrt(squared_scales(D2_c, n_neighbors, zero))
        blocks.append(np.exp(-D2_c / np.outer(scales, scales)))
    back = np.argsort(order)
    return sparse.csr_array(sparse.csr_array(sparse.block_diag(blocks))[back][:, back])


def one_neighborhood(codes: Ints) -> sparse.csr_array:
    """A_ij = 1 for all pairs of the same class: no locality, the graph of LDA."""
    E = sparse.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)))
    return sparse.csr_array(E @ E.T)


def squared_scales(D2: Floats, n_neighbors: int, zero: float) -> Floats:
    """σ_i² inside one class, by the rules above; distances up to ``zero`` are those of duplicates."""
    k = min(n_neighbors, len(D2) - 1)
    # In order of distance the sample itself stands at place 0, so the k-th other one at place k.
    kth = np.partition(D2, k, axis=1)[:, k]
    elsewhere = np.where(zero < D2, D2, np.inf).min(axis=1)
    return np.where(kth > zero, kth, elsewhere)  # infinite, so that A = 1, where there is no elsewhere
