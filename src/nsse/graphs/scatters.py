"""Scatter matrices: what a weighted graph looks like from the features.

A graph W on the rows z_i of Z has the scatter ½ Σ_ij W_ij (z_i − z_j)(z_i − z_j)' = Z'LZ, L = D − W.
Nothing of size N × N is formed: L is sparse, or dense in blocks of one class each. A Laplacian that
joins samples of one class only does not see the means of the classes, so they are removed first:
classes far apart cost no digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nsse._threads import one_blas_thread
from nsse.graphs.between_class import class_sums
from nsse.graphs.within_class import laplacian

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@one_blas_thread()
def graph_scatter(W: Any, Z: Floats) -> Floats:
    """Z'LZ, symmetric to the bit."""
    S = Z.T @ (laplacian(W) @ Z)
    return np.asarray((S + S.T) / 2)


def within_class_scatter(W: Any, Z: Floats, codes: Ints) -> Floats:
    """Z'LZ of a graph that joins samples of the same class only."""
    return graph_scatter(W, Z - _class_means(Z, codes)[codes])


def class_blocks(W: sparse.csr_array, codes: Ints) -> list[tuple[Ints, Floats]]:
    """The members of every class and W between them, dense, of a graph that joins no two classes."""
    sizes, edges = np.bincount(codes), W.tocoo()
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    place = np.empty(len(codes), dtype=np.intp)  # of a sample in its class
    for rows in members:
        place[rows] = np.arange(len(rows))
    # All weights are sorted by class at once: to cut each class out of W takes many times as long.
    of_edges = codes[edges.row]
    by_class = np.argsort(of_edges, kind="stable")
    ends = np.cumsum(np.bincount(of_edges, minlength=len(sizes)))[:-1]
    blocks = []
    for rows, chosen in zip(members, np.split(by_class, ends), strict=True):
        block = np.zeros((len(rows), len(rows)))
        block[place[edges.row[chosen]], place[edges.col[chosen]]] = edges.data[chosen]
        blocks.append((rows, block))
    return blocks


def graph_pieces(W: Any) -> Ints:
    """The connected piece, as an integer, that every sample belongs to."""
    return np.asarray(connected_components(sparse.csr_array(W > 0), directed=False)[1])


def graph_rank(W: Any) -> int:
    """Rank of the Laplacian, N minus the number of connected pieces; no scatter of W has more."""
    return int(W.shape[0] - np.max(graph_pieces(W), initial=-1) - 1)


@one_blas_thread()
def local_fisher_scatters(A: sparse.csr_array, Z: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """S_lb and S_lw of local Fisher discriminant analysis, for an affinity A ≤ 1 inside classes.

    Sugiyama (2007), Eqs. (9)-(12), are pairwise sums with the weights

        W_lw = A_ij/n_c          and  W_lb = A_ij (1/N − 1/n_c)   inside class c,
        W_lw = 0                 and  W_lb = 1/N                  between classes.

    The negative weights of W_lb are what makes rounding dangerous. With A_ij = 1 − (1 − A_ij) they turn
    into the between-class scatter of LDA plus the pairs that locality sets free,

        S_lb = Σ_c n_c m_c m_c' + ½ Σ_same (1 − A_ij)(1/n_c − 1/N)(z_i − z_j)(z_i − z_j)',

    m_c the class means from the mean of all: positive semidefinite terms only, nothing of size N × N.
    """
    counts = np.bincount(codes)
    near, freed = np.empty_like(Z), np.empty_like(Z)
    Z_w = Z - _class_means(Z, codes)[codes]
    for rows, A_c in class_blocks(A, codes):
        share = 1.0 / len(rows)
        near[rows] = _laplacian_times(share * A_c, Z_w[rows])
        freed[rows] = _laplacian_times((share - 1.0 / len(codes)) * (1.0 - A_c), Z_w[rows])
    means = _class_means(Z - Z.mean(axis=0), codes)
    S_lb = (means.T * counts) @ means + Z_w.T @ freed
    S_lw = Z_w.T @ near
    return (S_lb + S_lb.T) / 2, (S_lw + S_lw.T) / 2


def _class_means(Z: Floats, codes: Ints) -> Floats:
    return np.asarray(class_sums(Z, codes) / np.bincount(codes)[:, np.newaxis])


def _laplacian_times(W: Floats, Z: Floats) -> Floats:
    return W.sum(axis=1)[:, np.newaxis] * Z - W @ Z
