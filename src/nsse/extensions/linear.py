"""The linear map f(x) = V'(x − m).

A point gets the same bits alone, in any batch and in any order: blocks of rows are filled up with zero
rows to whole tiles, as for the RBF map, and BLAS runs on one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.extensions.rbf import in_blocks, whole_tiles
from nsse.kernels import as_dense

Floats = NDArray[np.float64]

# In units of a kernel value.
MULTIPLICATION = 0.01


def linear_map(X: Any, mean: Floats, components: Floats) -> Floats:
    """(x − mean) @ components.T for every row of ``X``, dense or sparse, in float64."""

    def evaluate(rows: Any) -> Floats:
        n_rows = rows.shape[0]
        block = np.empty((whole_tiles(n_rows), len(mean)))
        np.subtract(as_dense(rows), mean, out=block[:n_rows])
        block[n_rows:] = 0.0
        return block @ components.T

    d, n_features = components.shape
    return in_blocks(evaluate, X, n_features, d, cost=d * MULTIPLICATION)
