"""Estimate how many bytes a fit takes for squares of the centers, blocks of rows and the metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from nsse._support.machine import WORTH_ASKING, require_memory
from nsse.affine import is_sparse
from nsse.centers import EXACT_UP_TO, FEWER, requested_centers
from nsse.model import METRIC_SAMPLES
from nsse.sources import BLOCK_ROWS

CURE = "Pass a number of `centers`, such as 3000."


def fit_memory(n_rows: int, n_features: int, n_centers: int) -> int:
    """Return the bytes of a fit to dense rows."""
    rows = min(n_rows, METRIC_SAMPLES)
    squares = (3 if n_centers == n_rows else 5) * n_centers**2
    width = min(n_features, rows)
    return 8 * int(squares + 3 * rows * n_features + 2 * n_features * width + BLOCK_ROWS * n_centers)


def require_fit_memory(n_rows: int, n_features: int, n_centers: int) -> None:
    """Raise an error before a fit that needs more memory than is available."""
    n_bytes = fit_memory(n_rows, n_features, n_centers)
    if n_bytes > WORTH_ASKING:
        require_memory(n_bytes, CURE)


def center_count(centers: Any, n_samples: int) -> int:
    """Return how many centers a `centers` parameter means for so many samples, at most.

    The number of centers of a selector of the user is unknown, so it counts as "auto".
    """
    if centers is None:
        return n_samples
    number = requested_centers(centers)
    if number is not None:
        return min(number, n_samples)
    if isinstance(centers, str) or callable(centers):
        return n_samples if n_samples <= EXACT_UP_TO else FEWER
    if is_sparse(centers) or np.ndim(centers) > 1:
        return int(np.shape(centers)[0])
    return len(np.unique(centers))
