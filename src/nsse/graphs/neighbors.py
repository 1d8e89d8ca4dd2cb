"""Nearest neighbours as edges, and edges as a graph: the one place where neighbours are chosen.

Every method of ours joins samples to their nearest ones among some candidates (the same class, the
other classes, all samples) and makes the graph symmetric. They differ in candidates and weights only.

**Where distances tie.** Rounding must not choose: it changes with the units of X and with the order of a
sum. Two squared distances count as equal if they differ by no more than `tie_width`,
a small part of themselves and of the size of the data. Of equal ones the smallest index comes first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# What squared distances may differ by and tie, beside their size: some thousand times the rounding of
# their expansion, so that the rounding of the samples in other units is covered too.
TIE = 1e-12
# In single precision rounding is nearly all there is: as many times its machine epsilon.
TIE_ROUNDINGS = 8
# The size of the data is told by the distances to so many samples.
REFERENCES = 32
# Samples of the largest of several classes whose neighbours are looked for together.
MOST_TOGETHER = 32
BLOCK_ROWS = 64  # that look for neighbours at a time: their distances stay in the cache


def tie_share(dtype: Any) -> float:
    """The share of `tie_width` for numbers of a precision."""
    return max(TIE, TIE_ROUNDINGS * float(np.finfo(dtype).eps))


def tie_width(D2: Any, size2: Any, share: float) -> Any:
    """How far squared distances may lie above ``D2`` and tie with it; ``size2`` is that of the data."""
    return share * (D2 + size2)


def first_of_tied(D2: NDArray[Any], size2: float, share: float | None = None) -> Ints:
    """The column of the smallest of every row, of those that tie the first; ``D2`` is used up."""
    least = D2.min(axis=1, keepdims=True)
    width = tie_width(least, size2, tie_share(D2.dtype) if share is None else share)
    # All that tie become equal, and argmin takes the first.
    np.maximum(D2, least + width, out=D2)
    return np.asarray(D2.argmin(axis=1))


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
        Edges as indices into all samples; the nearest need not come first. Where the k-th distance
        ties, those of the smallest indices are taken.
    """
    k = len(candidates) if k is None else min(k, len(candidates))
    if k == 0 or len(rows) == 0:
        return rows[:0], candidates[:0]
    everyone = k == len(candidates)
    chosen = np.tile(candidates, len(rows)) if everyone else _chosen(D2, rows, candidates, k)
    origin = np.repeat(rows, k)
    others = origin != chosen
    return origin[others], chosen[others]


def nearest_columns(D2: NDArray[Any], own: Ints, k: int) -> tuple[Ints, Ints]:
    """The same of some rows of a matrix of distances, which is used up: places of rows and columns.

    ``own`` is the column in which a row's distance to itself stands.
    """
    everyone = np.arange(len(D2))
    k = min(k, D2.shape[1])
    if k == D2.shape[1]:
        rows, columns = np.nonzero(own[:, np.newaxis] != np.arange(k))
        return rows, columns
    sizes2 = _squared_sizes(D2, everyone)
    D2[everyone, own] = np.inf  # oneself after all the others
    return np.repeat(everyone, k), _first(D2, k, sizes2).ravel()


def nearest_of_class(D2: Floats, codes: Ints, k: int | None) -> tuple[Ints, Ints]:
    """Directed edges from all samples to the k nearest of their class: `nearest` of each, joined.

    Many small classes are worked on together, one row of distances beside the other: a call takes
    longer than the distances of a class.
    """
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    members = [own for own in members if len(own)]
    edges, widest = [], max(len(own) for own in members)
    if k is not None and k < widest <= MOST_TOGETHER and len(members) > 1:
        large = [own for own in members if len(own) > k]
        edges.append(_nearest_of_small(D2, large, k))
        members = [own for own in members if len(own) <= k]
    edges += [nearest(D2, own, own, k) for own in members]
    rows, cols = zip(*edges, strict=True)
    return np.concatenate(rows), np.concatenate(cols)


def _nearest_of_small(D2: Floats, members: list[Ints], k: int) -> tuple[Ints, Ints]:
    """The same of classes with more than k samples each."""
    sizes = np.array([len(own) for own in members])
    rows, of_row = np.concatenate(members), np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(sizes.max())
    first = np.cumsum(sizes) - sizes
    # Beyond the end of a class its last sample again, infinitely far.
    columns = rows[(first[:, np.newaxis] + np.minimum(places, sizes[:, np.newaxis] - 1))[of_row]]
    D = D2[rows[:, np.newaxis], columns]
    D[places >= sizes[of_row, np.newaxis]] = np.inf
    everyone = np.arange(len(rows))
    D[everyone, everyone - first[of_row]] = np.inf  # oneself after all the others
    chosen = _first(D, k, _squared_sizes(D2, rows))
    return np.repeat(rows, k), np.take_along_axis(columns, chosen, axis=1).ravel()


def _chosen(D2: Floats, rows: Ints, candidates: Ints, k: int) -> Ints:
    """The k nearest candidates of every row, one row after another."""
    sizes2 = _squared_sizes(D2, rows)
    place = np.full(len(D2), -1)
    place[candidates] = np.arange(len(candidates))
    own = place[rows]
    chosen = np.empty((len(rows), k), dtype=np.intp)
    # Classes mostly come sorted: whole pieces of rows are copied faster than single numbers.
    side_by_side = bool(np.all(np.diff(candidates) == 1))
    columns = D2[:, candidates[0] : candidates[0] + len(candidates)]
    for start in range(0, len(rows), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        D = columns[rows[part]] if side_by_side else D2[np.ix_(rows[part], candidates)]
        among = np.flatnonzero(own[part] >= 0)
        D[among, own[part][among]] = np.inf  # oneself after all the others
        chosen[part] = _first(D, k, sizes2[part])
    return np.asarray(candidates[chosen].ravel())


def _first(D2: Floats, k: int, size2: Floats) -> Ints:
    """Columns of the k smallest of every row, fewer than there are; of those that tie the first."""
    chosen = np.argpartition(D2, k, axis=1)[:, : k + 1]
    values = np.take_along_axis(D2, chosen, axis=1)
    last = values[:, :k].max(axis=1)
    width = tie_width(last, size2, tie_share(D2.dtype))
    chosen = chosen[:, :k]
    tied = np.flatnonzero(values[:, k] - last <= width)
    if tied.size:
        low, high = last[tied] - width[tied], last[tied] + width[tied]
        chosen[tied] = _first_of_tied(D2[tied], k, low[:, np.newaxis], high[:, np.newaxis])
    return np.asarray(chosen)


def _first_of_tied(D2: Floats, k: int, low: Floats, high: Floats) -> Ints:
    """What lies below the tie, and as many of the tied, from the first column on, as make k."""
    sure = np.less(D2, low)
    tied = np.less_equal(D2, high) & ~sure
    wanted = k - np.count_nonzero(sure, axis=1)[:, np.newaxis]
    tied &= np.cumsum(tied, axis=1, dtype=np.int32) <= wanted
    return np.nonzero(sure | tied)[1].reshape(-1, k)


def _squared_sizes(D2: Floats, rows: Ints) -> Floats:
    """Median squared distance of every row to samples from everywhere: a few far ones change nothing.

    The rounding of an expansion goes with the distance to the mean, not with the small ones in a class.
    """
    some = _references(D2.shape[1])
    middle = len(some) // 2
    return np.asarray(np.partition(D2[np.ix_(rows, some)], middle, axis=1)[:, middle])


@lru_cache(maxsize=16)
def _references(n_samples: int) -> Ints:
    """Places of samples from everywhere: asked for once by every class."""
    return np.unique(np.linspace(0, n_samples - 1, REFERENCES).astype(np.intp))


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
