"""Which samples are equal, with equal labels: they count several times, but are one sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.intp]


def distinct_rows(X: Any, codes: Ints) -> tuple[Ints, Ints]:
    """The first of every group of equal rows of the same class, and the group of every row.

    Groups come in an order that depends on the rows, not on their places.
    """
    if sparse.issparse(X):
        held: Any = X
        rows = held.tocsr().copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        parts = [slice(rows.indptr[i], rows.indptr[i + 1]) for i in range(len(codes))]
        keys = [rows.indices[p].tobytes() + rows.data[p].tobytes() for p in parts]
    else:
        keys = [(row + row.dtype.type(0)).tobytes() for row in np.asarray(X)]  # −0 is 0
    pairs = list(zip(codes.tolist(), keys, strict=True))
    place = {pair: group for group, pair in enumerate(sorted(set(pairs)))}
    groups = np.array([place[pair] for pair in pairs], dtype=np.intp)
    first = np.unique(groups, return_index=True)[1]
    return first.astype(np.intp), groups
