"""The map f(x) = x − Σ_k w_k (v_k'x) v_k, which shortens x along some axes and leaves the rest alone.

A point gets the same bits alone, in any batch and in any order. BLAS takes other kernels for other
numbers of rows, and sums the rows at the edge of a tile in another order; so every product here has the
same number of rows, filled up with zeros, and sides that are whole tiles. Nothing of size n × n is
formed: with r axes a row costs 4 n r operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel
from nsse.extensions.linear import MULTIPLICATION
from nsse.extensions.rbf import whole_tiles
from nsse.kernels import as_dense

Floats = NDArray[np.float64]

# Rows of every product: many enough for BLAS to be fast, few enough for a single point.
PANEL = 32


def shorten(X: Any, axes: Floats, weights: Floats) -> Floats:
    """x − axes @ (weights * (axes.T @ x)) for every row of ``X``, dense or sparse, in float64."""
    N, n = X.shape
    V, w = _in_whole_tiles(axes, weights)
    out = np.empty((N, n))

    def fill(start: int) -> None:
        rows = as_dense(X[start : start + PANEL])
        panel = np.zeros((PANEL, len(V)))
        panel[: len(rows), :n] = rows
        panel -= (panel @ V * w) @ V.T
        out[start : start + PANEL] = panel[: len(rows), :n]

    in_parallel(fill, range(0, N, PANEL), int(out.size * 2 * len(w) * MULTIPLICATION))
    return out


def _in_whole_tiles(axes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Both with zeros up to whole tiles of features and of axes."""
    n, r = axes.shape
    V, w = np.zeros((whole_tiles(n), whole_tiles(r))), np.zeros(whole_tiles(r))
    V[:n, :r], w[:r] = axes, weights
    return V, w
