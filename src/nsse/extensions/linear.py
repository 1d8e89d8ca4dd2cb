"""The linear map f(x) = V'(x − m).

A point gets the same bits alone, in any batch and in any order: see `row_products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.extensions.rbf import in_blocks
from nsse.kernels import as_dense, row_products

Floats = NDArray[np.float64]

# In units of a kernel value.
MULTIPLICATION = 0.01


def linear_map(X: Any, mean: Floats, components: Floats) -> Floats:
    """(x − mean) @ components.T for every row of ``X``, dense or sparse, in float64."""

    def evaluate(rows: Any) -> Floats:
        return row_products(np.subtract(as_dense(rows), mean, dtype=np.float64), components.T)

    d, n_features = components.shape
    return in_blocks(evaluate, X, n_features, d, cost=d * MULTIPLICATION)
