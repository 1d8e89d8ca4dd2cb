"""The linear map f(x) = V'(x − m).

A point gets the same bits alone, in any batch and in any order: BLAS sums the rows of a product in an
order that depends on the shape of the product, so every product here has the same shape. Rows go through
in blocks of one fixed size, the last one filled up with zero rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel
from nsse.kernels import as_dense

Floats = NDArray[np.float64]

ROWS = 64
# Multiplications in the time of one value that `in_parallel` counts.
PER_VALUE = 100


def linear_map(X: Any, mean: Floats, components: Floats) -> Floats:
    """(x − mean) @ components.T for every row of ``X``, dense or sparse, in float64."""
    out = np.empty((X.shape[0], len(components)))
    V = np.ascontiguousarray(components.T)

    def fill(start: int) -> None:
        rows = as_dense(X[start : start + ROWS])
        block = np.zeros((ROWS, len(mean)))
        np.subtract(rows, mean, out=block[: len(rows)])
        out[start : start + ROWS] = (block @ V)[: len(rows)]

    in_parallel(fill, range(0, X.shape[0], ROWS), out.size * len(mean) // PER_VALUE)
    return out
