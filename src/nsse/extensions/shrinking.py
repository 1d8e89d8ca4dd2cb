"""The map f(x) = x − Σ_k w_k (v_k'x) v_k, which shortens x along some axes and leaves the rest alone.

A point gets the same bits alone, in any batch and in any order, as by the linear map. Nothing of size
n × n is formed: with r axes a row costs 4 n r operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.extensions.linear import MULTIPLICATION
from nsse.extensions.rbf import in_blocks, whole_tiles
from nsse.kernels import as_dense

Floats = NDArray[np.float64]


def shorten(X: Any, axes: Floats, weights: Floats) -> Floats:
    """x − axes @ (weights * (axes.T @ x)) for every row of ``X``, dense or sparse, in float64."""
    n, r = axes.shape

    def evaluate(rows: Any) -> Floats:
        n_rows = rows.shape[0]
        block = np.zeros((whole_tiles(n_rows), n))
        block[:n_rows] = as_dense(rows)
        block -= (block @ axes * weights) @ axes.T
        return block

    return in_blocks(evaluate, X, n, n, cost=2 * r * MULTIPLICATION)
