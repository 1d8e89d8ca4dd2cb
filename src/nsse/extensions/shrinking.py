"""The map f(x) = x − Σ_k w_k (v_k'x) v_k, which shortens x along some axes and leaves the rest alone.

A point gets the same bits alone, in any batch and in any order: see `row_products`. Nothing of size
n × n is formed: with r axes a row costs 4 n r operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.extensions.linear import MULTIPLICATION
from nsse.extensions.rbf import in_blocks
from nsse.kernels import as_dense, row_products

Floats = NDArray[np.float64]


def shorten(X: Any, axes: Floats, weights: Floats) -> Floats:
    """x − axes @ (weights * (axes.T @ x)) for every row of ``X``, dense or sparse, in float64."""
    across = np.ascontiguousarray((axes * weights).T)

    def evaluate(rows: Any) -> Floats:
        dense = np.asarray(as_dense(rows), dtype=np.float64)
        return dense - row_products(row_products(dense, axes), across)

    n_features, n_axes = axes.shape
    return in_blocks(evaluate, X, n_features, n_features, cost=2 * n_axes * MULTIPLICATION)
