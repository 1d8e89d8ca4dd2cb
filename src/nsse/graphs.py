"""Graphs of samples: nearest neighbours within classes and among all rows, and their Laplacians.

Rows are joined if either is among the k nearest of the other, so that every graph is symmetric.
Distances are never held for all pairs: within classes those of one class, among all rows those of a
block of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.kernels import squared_distances, squared_norms

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

BLOCK_ROWS = 512  # that look for neighbours at a time


def class_members(codes: Ints) -> list[Ints]:
    """Places of the rows of every class that has any; rows of no class, −1, are left out."""
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []


def within_class_graph(Z: Any, codes: Ints, n_neighbors: int | None) -> sparse.csr_array:
    """The 0/1 graph that joins rows to the ``n_neighbors`` nearest of their class; None joins all."""
    starts, ends = [], []
    for members in class_members(codes):
        own = Z[members]
        here, there = nearest_pairs(squared_distances(own, own), n_neighbors)
        starts.append(members[here])
        ends.append(members[there])
    empty = np.empty(0, dtype=np.intp)
    return symmetric_graph(np.concatenate([empty, *starts]), np.concatenate([empty, *ends]), len(codes))


def neighbor_graph(Z: Any, n_neighbors: int) -> sparse.csr_array:
    """Joins rows to their ``n_neighbors`` nearest among all, with weights exp(−2 d²/mean d²)."""
    N, squares = Z.shape[0], squared_norms(Z)
    starts, ends, lengths = [], [], []
    for start in range(0, N, BLOCK_ROWS):
        D2 = squared_distances(Z[start : start + BLOCK_ROWS], Z, squares)
        here, there = nearest_pairs(D2, n_neighbors, start)
        starts.append(here + start)
        ends.append(there)
        lengths.append(D2[here, there])
    d2 = np.concatenate(lengths)
    mean = float(d2.mean()) if d2.size else 0.0
    weights = np.exp(-2.0 * d2 / (mean if mean > 0 else 1.0))
    W = sparse.csr_array((weights, (np.concatenate(starts), np.concatenate(ends))), shape=(N, N))
    return sparse.csr_array(W.maximum(W.T))


def nearest_pairs(D2: Floats, k: int | None, first: int = 0) -> tuple[Ints, Ints]:
    """Directed edges from every row of ``D2`` to its k nearest columns, itself left out.

    Row i is column ``first`` + i; ``D2`` is overwritten.
    """
    n_rows, n_columns = D2.shape
    own = np.arange(n_rows)
    k = n_columns - 1 if k is None else min(k, n_columns - 1)
    if k <= 0:
        return own[:0], own[:0]
    D2[own, own + first] = np.inf
    chosen = np.argpartition(D2, k - 1, axis=1)[:, :k]
    return np.repeat(own, k), chosen.ravel()


def symmetric_graph(rows: Ints, columns: Ints, n_rows: int) -> sparse.csr_array:
    """W_ij = 1 where there is an edge i → j or j → i, 0 elsewhere."""
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    W = sparse.csr_array((np.ones(2 * len(rows)), both), shape=(n_rows, n_rows))
    W.data[:] = 1.0
    return W


def laplacian(W: Any) -> sparse.csr_array:
    """L = D − W with D the diagonal matrix of degrees."""
    return sparse.csr_array(sparse.diags_array(degrees(W)) - W)


def degrees(W: Any) -> Floats:
    """D_ii = Σ_j W_ij."""
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
