"""Nearest neighbours as edges, and edges as a graph: the one place where neighbours are chosen.

Every method of ours joins samples to their nearest ones among some candidates (the same class, the
other classes, all samples) and makes the graph symmetric. They differ in candidates and weights only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def nearest(D2: Floats, rows: Ints, candidates: Ints, k: int | None) -> tuple[Ints, Ints]:
    """Directed edges from samples to their nearest candidates.

    Parameters
    ----------
    D2 : ndarray of shape (N, N)
        Squared distances between all samples.
    rows : ndarray of int
        Samples that look for neighbours.
    candidates : ndarray of int
        Distinct samples that may be neighbours; a sample is never its own, even if it is among them.
    k : int or None
        Neighbours of every sample: all the candidates where there are fewer, or with None.

    Returns
    -------
    row_index, col_index : ndarrays of int of equal length
        Edges as indices into all samples; the nearest need not come first.
    """
    k = len(candidates) if k is None else min(k, len(candidates))
    if k == 0 or len(rows) == 0:
        return rows[:0], candidates[:0]
    D = D2[np.ix_(rows, candidates)]
    D[rows[:, np.newaxis] == candidates] = np.inf  # chosen only if there is nothing else, and dropped
    chosen = candidates[np.argpartition(D, k - 1, axis=1)[:, :k]].ravel()
    origin = np.repeat(rows, k)
    others = origin != chosen
    return origin[others], chosen[others]


def symmetric_graph(rows: Ints, cols: Ints, weights: Floats, n_samples: int) -> sparse.csr_array:
    """W with W_ij = the larger weight of the edges i → j and j → i, 0 where there is neither."""
    W = sparse.csr_array((weights, (rows, cols)), shape=(n_samples, n_samples))
    return sparse.csr_array(W.maximum(W.T))


def squared_radii(D2: Floats, k: int) -> Floats:
    """Squared distance from every row to the nearest k + 1 columns (to all, where there are fewer).

    A sample that is among the columns itself, at distance zero, so reaches its k nearest others.
    """
    k = min(k, D2.shape[1] - 1)
    return np.asarray(np.partition(D2, k, axis=1)[:, k])


def within_reach(D2: Floats, radii2: Floats, k: int, slack: float) -> NDArray[np.bool_]:
    """Whether row and column are neighbours: no further apart than the larger of their radii.

    ``radii2`` belongs to the columns, those of the rows are found from ``D2``. Among samples it is the
    symmetric graph of the k nearest. ``slack`` is the rounding of ``D2``: two routes to one distance
    must not disagree on an edge.
    """
    of_rows, of_columns = (r * (1.0 + 1e-9) + slack for r in (squared_radii(D2, k), radii2))
    near = np.less_equal(D2, of_rows[:, np.newaxis])
    near |= np.less_equal(D2, of_columns)
    return near
