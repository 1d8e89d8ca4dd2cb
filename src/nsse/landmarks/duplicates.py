"""Which samples are equal, with equal labels: they count several times, but are one sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.intp]

SIGN = np.uint64(1) << np.uint64(63)


def distinct_rows(X: Any, codes: Ints) -> tuple[Ints, Ints]:
    """The first of every group of equal rows of the same class, and the group of every row.

    Groups come in the order of their classes and then of their values, the first feature first, which
    depends neither on the places of the rows nor on their unit.
    """
    if sparse.issparse(X):
        held: Any = X
        rows = held.tocsr().copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        parts = [slice(rows.indptr[i], rows.indptr[i + 1]) for i in range(len(codes))]
        keys = [rows.indices[p].astype(">u8").tobytes() + _ordered(rows.data[p]) for p in parts]
    else:
        keys = [_ordered(row) for row in np.asarray(X)]
    pairs = list(zip(codes.tolist(), keys, strict=True))
    place = {pair: group for group, pair in enumerate(sorted(set(pairs)))}
    groups = np.array([place[pair] for pair in pairs], dtype=np.intp)
    first = np.unique(groups, return_index=True)[1]
    return first.astype(np.intp), groups


def equal_rows(X: Any, codes: Ints) -> tuple[Ints, Ints]:
    """The same with groups in the order of their first rows: at once where no two rows are equal.

    Equal rows have equal sums of their bits, however these are weighted; only where two rows of a class
    agree in that are rows compared.
    """
    if not sparse.issparse(X):
        bits = (np.asarray(X, dtype=np.float64) + 0.0).view(np.uint64)  # −0 is 0
        weights = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64)
        sums = bits @ (2 * weights + np.uint64(1))  # modulo 2⁶⁴: exact in any order
        if len(set(zip(codes.tolist(), sums.tolist(), strict=True))) == len(codes):
            everyone = np.arange(len(codes), dtype=np.intp)
            return everyone, everyone
    first, groups = distinct_rows(X, codes)
    return np.sort(first), np.argsort(np.argsort(first))[groups].astype(np.intp)


def _ordered(values: NDArray[Any]) -> bytes:
    """Bytes that are in the order of the numbers they stand for, one after another."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # −0 is 0
    # Of negative numbers all bits are turned around, of the others the sign.
    return np.where(bits & SIGN, ~bits, bits | SIGN).astype(">u8").tobytes()
