"""Dask arrays: whether something is one, and functions of rows applied to one lazily."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_dask(X: Any) -> bool:
    """Whether something is a Dask collection; imports nothing."""
    return hasattr(X, "__dask_graph__")


def lazily(function: Callable[[Any], NDArray[Any]], X: Any, n_columns: int | None, dtype: Any) -> Any:
    """A function of rows as a Dask array: N × ``n_columns``, or of length N where that is None."""
    X = X.rechunk({1: -1})
    if n_columns is None:
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    chunks = (X.chunks[0], (n_columns,))
    return X.map_blocks(function, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))
