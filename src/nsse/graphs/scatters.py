"""Scatter matrices: what a weighted graph looks like from the features.

A graph W on the rows z_i of Z has the scatter ½ Σ_ij W_ij (z_i − z_j)(z_i − z_j)' = Z'LZ, L = D − W.
L is sparse; nothing of size N × N is formed. A Laplacian that joins samples of one class only does not
see the means of the classes, so they are removed first: classes far apart cost no digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nsse._threads import one_blas_thread
from nsse.graphs.between_class import class_sums
from nsse.graphs.local_scaling import one_neighborhood
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


def graph_rank(W: Any) -> int:
    """Rank of the Laplacian, N minus the number of connected pieces; no scatter of W has more."""
    positive = sparse.csr_array(W > 0)
    return int(W.shape[0] - connected_components(positive, directed=False, return_labels=False))


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
    share = 1.0 / counts[codes]
    S_lw = within_class_scatter(_rows_times(share, A), Z, codes)
    freed = _rows_times(share - 1.0 / len(codes), one_neighborhood(codes) - A)
    means = _class_means(Z - Z.mean(axis=0), codes)
    S_b = (means.T * counts) @ means
    return (S_b + S_b.T) / 2 + within_class_scatter(freed, Z, codes), S_lw


def _class_means(Z: Floats, codes: Ints) -> Floats:
    return np.asarray(class_sums(Z, codes) / np.bincount(codes)[:, np.newaxis])


def _rows_times(factors: Floats, W: Any) -> sparse.csr_array:
    # Factors are equal inside a class and W joins no others: the product stays symmetric.
    return sparse.csr_array(sparse.diags_array(factors) @ W)
