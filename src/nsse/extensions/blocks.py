"""A map at many rows: a block of rows at a time, on our own threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel

Floats = NDArray[np.float64]

# Kernel values in flight per block: 32 MB.
BLOCK_VALUES = 4_000_000


def in_blocks(
    evaluate: Callable[[Any], Floats], X: Any, n_centers: int, n_components: int, cost: float = 1.0
) -> Floats:
    """A map at the rows of ``X``, a block of rows at a time.

    ``cost`` is that of one row and centre, in units of a kernel value.
    """
    n_rows = X.shape[0]
    out = np.empty((n_rows, n_components))
    # Two blocks at least, so that two threads have something to do.
    rows = max(1, min(BLOCK_VALUES // n_centers, -(-n_rows // 2)))

    def fill(start: int) -> None:
        out[start : start + rows] = evaluate(X[start : start + rows])

    in_parallel(fill, range(0, n_rows, rows), int(n_rows * n_centers * cost))
    return out
