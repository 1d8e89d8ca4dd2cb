"""Squared distances of rows, the median distance, and functions of rows block by block.

‖u − v‖² is expanded as ‖u‖² + ‖v‖² − 2u'v, so that a matrix product does the work. Callers must center
and scale dense rows first (see `nsse.metrics`), so that the expansion loses no digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import squareform
from sklearn.utils.extmath import row_norms

from nsse._support.errors import Described, rule_error
from nsse._support.threads import in_parallel
from nsse._support.types import Floats, Ints, Matrix, SamplesLike
from nsse.affine import is_sparse

PANEL = 512  # rows worked through at a time
# Squared distances below this share of how far their rows lie out are rounding: the rows are the same.
SAME_PLACE = 1e-14
# Share of the rows that are the bulk. With fewer the median distance would be one to the far rows.
BULK = 2 / 3
# So many rows are compared with all others to find a central one.
SOME_ROWS = 64
# Values of a block of kernel rows, 32 MB, beyond which rows are cut.
BLOCK_VALUES = 4_000_000
FEW_ROWS = 64  # which are never cut
# From this number of pairs on, the median is searched between two quantiles of some of the pairs.
MANY_PAIRS = 100_000
SOME_PAIRS = 4096
AROUND = (0.46, 0.54)


def squared_distances(U: Matrix, V: Matrix, V_squares: Floats | None = None) -> Floats:
    """Return ‖u_i − v_j‖² for all rows of ``U`` and ``V``, dense or sparse, and never below zero."""
    symmetric = U is V
    u2 = squared_norms(U)
    v2 = u2 if symmetric else (squared_norms(V) if V_squares is None else V_squares)
    with np.errstate(over="ignore", invalid="ignore"):
        D2 = products(U, V)
        D2 *= -2.0
        D2 += u2[:, np.newaxis]
        D2 += v2
        np.maximum(D2, 0.0, out=D2)
    if symmetric:
        np.fill_diagonal(D2, 0.0)
    # New rows may be anywhere. If ‖u‖² overflows, so does every distance.
    far = ~np.isfinite(u2)
    if far.any():
        D2[far] = np.inf
    return D2


def distances_from(G: Floats, *, overwrite: bool = False) -> Floats:
    """Return ‖u_i − u_j‖² ≥ 0 for rows with the inner products ``G``, of one or several sets."""
    squares = G.diagonal(axis1=-2, axis2=-1).copy()
    D2 = np.multiply(G, -2.0, out=G if overwrite else None)
    D2 += squares[..., np.newaxis]
    D2 += squares[..., np.newaxis, :]
    np.maximum(D2, 0.0, out=D2)
    np.einsum("...ii->...i", D2)[...] = 0.0
    return D2


def products(U: Matrix, V: Matrix) -> Floats:
    """Return U V' as a dense array."""
    G = U @ V.T
    return np.ascontiguousarray(G.toarray() if is_sparse(G) else G)


def squared_norms(U: Matrix | NDArray[np.float32]) -> Floats:
    """Return ‖u_i‖² for all rows, dense or sparse."""
    with np.errstate(over="ignore"):
        return np.asarray(row_norms(U, squared=True))


def median_distance(D2: Floats) -> float:
    """Return the median distance over the pairs of distinct rows, which is our unit of length.

    ``D2`` holds the squared distances of all pairs. Pairs at distance zero are left out, because they
    contain no information about the scale.
    """
    distinct, lost = _distinct_pairs(D2)
    if distinct.size == 0:
        raise rule_error(
            "X",
            "contain at least two distinct samples",
            Described("samples that are all equal"),
            "Check the features, because distances and kernels cannot be computed from these.",
        )
    unit = math.sqrt(_median(distinct))
    if lost > unit**2:
        rule = "contain no samples so far from the others that rounding makes them equal"
        got = Described(
            f"samples {math.sqrt(lost / SAME_PLACE) / unit:.1e} times the median distance away"
        )
        cure = "Leave these samples out, or check whether a number such as 999999999 marks gaps."
        raise rule_error("X", rule, got, cure)
    return unit


def _distinct_pairs(D2: Floats) -> tuple[Floats, float]:
    """Return the squared distances of pairs in different places, and the largest limit of the others.

    The rounding error of a squared distance is a share of how far its own two rows lie from the bulk of
    the rows. Pairs are compared with that and not with the largest distance, because a single row that
    lies far out would otherwise make all other pairs count as equal.
    """
    pairs = squareform(D2, checks=False)
    apart = pairs > SAME_PLACE * pairs.max(initial=0.0)
    if apart.all():
        return pairs, 0.0
    close = np.flatnonzero(~apart)
    far, place = _from_the_center(D2), int(BULK * (len(D2) - 1))
    far = np.maximum(far, np.partition(far, place)[place])
    first, second = _rows_of_pairs(close, len(D2))
    limits = SAME_PLACE * np.maximum(far[first], far[second])
    apart[close] = pairs[close] > limits
    return pairs[apart], float(limits[~apart[close]].max(initial=0.0))


def _from_the_center(D2: Floats) -> Floats:
    """Return the squared distances to the row with the smallest sum of distances to some rows."""
    some = np.linspace(0, len(D2) - 1, min(SOME_ROWS, len(D2))).astype(np.intp)
    center = np.sqrt(D2[:, some]).sum(axis=1).argmin()
    return np.asarray(D2[center])


def _rows_of_pairs(places: Ints, n_rows: int) -> tuple[Ints, Ints]:
    """Return both rows of the pairs at these ascending places of a condensed distance matrix."""
    ends = np.cumsum(np.arange(n_rows - 1, 0, -1))
    counts = np.diff(np.searchsorted(places, ends), prepend=0)
    first = np.repeat(np.arange(n_rows - 1), counts)
    return first, places - ends[first] + n_rows


def _median(values: Floats) -> float:
    """Return the median."""
    middle = len(values) // 2
    below = 0
    is_odd = len(values) % 2
    if len(values) >= MANY_PAIRS:
        values, below = _around_the_middle(values)
    parted = np.partition(values, middle - below)
    upper = float(parted[middle - below])
    lower = upper if is_odd else float(parted[: middle - below].max())
    return (lower + upper) / 2.0


def _around_the_middle(values: Floats) -> tuple[Floats, int]:
    """Return the values around the median, and how many values are below all of them."""
    some = np.sort(values[:: len(values) // SOME_PAIRS])
    low, high = some[[int(share * len(some)) for share in AROUND]]
    inside = values[(values >= low) & (values <= high)]
    below, middle = int(np.count_nonzero(values < low)), len(values) // 2
    return (inside, below) if below < middle < below + len(inside) else (values, 0)


def in_row_blocks(
    function: Callable[[Any], Floats], X: SamplesLike, width: int, n_columns: int
) -> Floats:
    """Apply a function to as many rows at a time as ``width`` values each leave room for."""
    size = max(FEW_ROWS, min(PANEL, BLOCK_VALUES // max(width, 1)))
    if X.shape[0] <= size:
        return function(X)
    out = np.empty((X.shape[0], n_columns))
    out[:1] = function(X[:1])  # functions that are computed later are computed here, once

    def fill(start: int) -> None:
        out[start : start + size] = function(X[start : start + size])

    in_parallel(fill, range(0, len(out), size), len(out) * width)
    return out
