"""Find equal rows by a hash of 64 bits, and confirm them by comparing the rows.

The hash of a row is the sum over its columns of mix(bits of the value + key of the column) modulo 2⁶⁴.
The mixing function is not linear, so that sign changes and round numbers do not cancel. A value of zero
adds nothing, which gives sparse and dense rows the same hash. Rows whose hashes agree are compared, so a
collision has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._support.types import Bools, Ints, SamplesLike
from nsse.affine import is_sparse

Hashes = NDArray[np.uint64]

# Columns that distinguish nearly all rows. Only rows that agree in these are hashed as a whole.
FEW_COLUMNS = 48
# Values of the representatives that are held in memory at a time, 512 MB.
HELD_VALUES = 64_000_000
# Constants of the finalizer of splitmix64 (Steele, Lea & Flood 2014).
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def equal_rows(source: Any, counts: Bools) -> tuple[Ints, Hashes]:
    """Return the position of the first equal row for every row, and hashes that order the rows.

    Rows that do not count get −1. The hashes depend on the values of the rows alone, not on their order.
    """
    used = np.flatnonzero(counts)
    first = np.full(len(counts), -1, dtype=np.intp)
    first[used] = used
    keys = source.apply(partial(row_hashes, few=FEW_COLUMNS))
    if len(np.unique(keys[used])) == len(used):
        return first, keys
    hashes = source.apply(row_hashes)
    open_rows = used
    while len(open_rows):
        # The first row of every hash represents the rows that are equal to it. The others start again.
        _, starts, group = np.unique(hashes[open_rows], return_index=True, return_inverse=True)
        represented_by = open_rows[starts][group]
        others = np.flatnonzero(represented_by != open_rows)
        same = rows_agree(source, open_rows[others], represented_by[others])
        first[open_rows[others[same]]] = represented_by[others[same]]
        open_rows = open_rows[others[~same]]
    return first, keys


def row_hashes(X: SamplesLike, few: int | None = None) -> Hashes:
    """Return a hash of every row, from all of its columns or from a few of them."""
    if few is not None:
        X = X[:, np.unique(np.linspace(0, X.shape[1] - 1, few).astype(np.intp))]
    keys = np.random.default_rng(0).integers(2**64, size=X.shape[1], dtype=np.uint64)
    if is_sparse(X):
        X = sparse.csr_array(X).astype(np.float64, copy=False)
        if not X.has_canonical_format:
            X = X.copy()  # the arrays of X may be those of the user
            X.sum_duplicates()
        values = mixed(X.data, keys[X.indices])
        ends = np.append(np.uint64(0), np.cumsum(values, dtype=np.uint64))
        return np.asarray(ends[X.indptr[1:]] - ends[X.indptr[:-1]])
    return np.asarray(
        mixed(np.ascontiguousarray(X, dtype=np.float64), keys).sum(axis=1, dtype=np.uint64)
    )


def mixed(values: NDArray[np.float64], keys: Hashes) -> Hashes:
    """Return mix(bits of a value + key), and zero where the value is zero."""
    bits = (values + 0.0).view(np.uint64) + keys  # −0 + 0 is 0
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        bits ^= bits >> shift
        bits *= factor
    bits ^= bits >> SHIFTS[2]
    bits[values == 0.0] = 0
    return bits


def rows_agree(source: Any, rows: Ints, others: Ints) -> Bools:
    """Return whether every one of some rows, by ascending position, is equal to another row."""
    same = np.zeros(len(rows), dtype=bool)
    for part, representatives in _few_at_a_time(others, source.n_features):
        held = source.take(representatives)
        places = np.searchsorted(representatives, others[part])
        found = source.select(rows[part]).fold(partial(_agree, held), places)
        same[part] = np.concatenate(found)
    return same


def _few_at_a_time(others: Ints, n_features: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield positions in ``others`` and the distinct rows that they name, as memory allows."""
    distinct = np.unique(others)
    size = max(1, HELD_VALUES // n_features)
    for start in range(0, len(distinct), size):
        some = distinct[start : start + size]
        yield np.flatnonzero((others >= some[0]) & (others <= some[-1])), some


def _agree(held: Any, X: SamplesLike, places: Ints, total: list[Bools] | None = None) -> list[Bools]:
    """Append whether the rows of a block are equal to the rows of ``held`` to the list so far."""
    if is_sparse(X):
        others: Any = sparse.csr_array(X) != sparse.csr_array(held)[places]
        same = np.diff(sparse.csr_array(others).indptr) == 0
    else:
        same = np.all(held[places] == X, axis=1)
    return [*(total or []), same]
