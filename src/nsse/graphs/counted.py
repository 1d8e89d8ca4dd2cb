"""The within-class graph of samples that count several times, as if they were repeated.

A sample of weight w is w equal rows: each has its w − 1 twins as its nearest neighbours, and then the
copies of others, nearest first, until there are k. Of the w_j copies of j those of i see the first r_ij,
so that, joined if either sees the other, w_i r_ij + w_j r_ji − r_ij r_ji of the w_i w_j pairs of copies
are edges. All of it makes sense for weights that are no whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs.neighbors import tie_share, tie_width

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class CountedEdges:
    """Edges between the copies of the samples of one class.

    Attributes
    ----------
    pairs : ndarray of shape (n, n)
        How many copies of i and j are joined, i ≠ j.
    seen : ndarray of shape (n, n)
        How many directed edges lead from copies of i to those of j, i ≠ j.
    twins : float
        Edges between copies of the same sample, each once.
    directed_twins : float
        The same, as they are seen.
    """

    pairs: Floats
    seen: Floats
    twins: float
    directed_twins: float

    @classmethod
    def of(cls, D2: Floats, weights: Floats, n_neighbors: int | None) -> CountedEdges:
        """From the squared distances of a class; None joins all copies."""
        w, k = weights, math.inf if n_neighbors is None else float(n_neighbors)
        twins = np.minimum(k, np.maximum(w - 1.0, 0.0))
        seen = _seen(D2, w, k - twins)
        share = seen / w
        pairs = np.outer(w, w) * (share + share.T - share * share.T)
        among = twins * w - twins * (twins + 1.0) / 2.0
        return cls(pairs, seen * w[:, np.newaxis], float(among.sum()), float(twins @ w))

    @property
    def n_edges(self) -> float:
        """Edges between all copies, each once."""
        return float(self.pairs.sum()) / 2.0 + self.twins


def counted_affinity(
    D2: Floats, codes: Ints, weights: Floats, n_neighbors: int | None, beta: float | None
) -> sparse.csr_array:
    """`gaussian_affinity` of the repeated samples, summed over the copies of every pair of samples."""
    found = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        own = D2[np.ix_(members, members)]
        found.append((members, own, CountedEdges.of(own, weights[members], n_neighbors)))
    width = beta
    if width is None:
        total = sum(float((edges.seen * own).sum()) for _, own, edges in found)
        number = sum(float(edges.seen.sum()) + edges.directed_twins for _, _, edges in found)
        width = total / number if total > 0 else 1.0  # no edges, or duplicates only
    rows, cols, values = [], [], []
    for members, own, edges in found:
        a, b = np.nonzero(edges.pairs)
        rows.append(members[a])
        cols.append(members[b])
        values.append(edges.pairs[a, b] * np.exp(-own[a, b] / width))
    ends = np.concatenate(rows), np.concatenate(cols)
    return sparse.csr_array((np.concatenate(values), ends), shape=D2.shape)


def counted_laplacian(L: sparse.csr_array, weights: Floats) -> sparse.csr_array:
    """D^(−½) L D^(−½) with D the weights: the Laplacian for rows that are times √w."""
    roots = sparse.diags_array(1.0 / np.sqrt(weights))
    return sparse.csr_array(roots @ L @ roots)


def _seen(D2: Floats, w: Floats, wanted: Floats) -> Floats:
    """r_ij: of the copies of every other sample those among the ``wanted`` nearest ones of i.

    Where the last distance ties, samples of the smallest indices come first, as in `nearest`.
    """
    n = len(w)
    D = D2.astype(np.float64)
    sizes2 = np.median(D, axis=1, keepdims=True)
    np.fill_diagonal(D, np.inf)  # oneself is none of the others
    mass = np.tile(w, (n, 1))
    np.fill_diagonal(mass, 0.0)
    if n == 1:
        return mass
    order = np.argsort(D, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)
    place = np.minimum((reached < wanted[:, np.newaxis]).sum(axis=1), n - 2)
    last = np.take_along_axis(D, order[np.arange(n), place][:, np.newaxis], axis=1)
    width = tie_width(last, sizes2, tie_share(D2.dtype))
    rank = np.where(last - width > D, 0, np.where(last + width >= D, 1, 2))
    order = np.argsort(rank, axis=1, kind="stable")
    sorted_mass = np.take_along_axis(mass, order, axis=1)
    before = np.cumsum(sorted_mass, axis=1) - sorted_mass
    taken = np.clip(wanted[:, np.newaxis] - before, 0.0, sorted_mass)
    seen = np.empty_like(mass)
    np.put_along_axis(seen, order, taken, axis=1)
    return seen
