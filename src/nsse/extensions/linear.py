"""The linear map f(x) = V'(x − m), and f(x) = x − Σ_k w_k (v_k'x) v_k, which shortens x along some axes.

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


def shorten(X: Any, axes: Floats, weights: Floats) -> Floats:
    """x − axes @ (weights * (axes.T @ x)) for every row of ``X``, dense or sparse, in float64.

    Nothing of size n × n is formed: with r axes a row costs 4 n r operations.
    """
    across = np.ascontiguousarray((axes * weights).T)

    def evaluate(rows: Any) -> Floats:
        dense = np.asarray(as_dense(rows), dtype=np.float64)
        return dense - row_products(row_products(dense, axes), across)

    n_features, n_axes = axes.shape
    return in_blocks(evaluate, X, n_features, n_features, cost=2 * n_axes * MULTIPLICATION)
