"""The nearest neighbor by dynamic time warping, which treats columns as times in their order.

A reference for time series with the settings of the UCR archive: a window of a tenth of the length,
and nothing is tuned.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin


@numba.njit(cache=True)
def warped(a: NDArray[Any], b: NDArray[Any], window: int, least: float) -> float:
    """Return the squared distance along the best path, or infinity if no path is below ``least``."""
    n = len(a)
    before, row = np.full(n + 1, np.inf), np.full(n + 1, np.inf)
    before[0] = 0.0
    for i in range(1, n + 1):
        row[:] = np.inf
        shortest = np.inf
        for j in range(max(1, i - window), min(n, i + window) + 1):
            step = min(before[j], before[j - 1], row[j - 1])
            row[j] = step + (a[i - 1] - b[j - 1]) ** 2
            shortest = min(shortest, row[j])
        if shortest >= least:
            return np.inf
        before, row = row, before
    return before[n]


@numba.njit(cache=True)
def nearest(X: NDArray[Any], X_new: NDArray[Any], window: int) -> NDArray[Any]:
    """Return the nearest row of X of every new row. Rows that are near without warping come first."""
    found = np.zeros(len(X_new), dtype=np.intp)
    for place in range(len(X_new)):
        plain = ((X - X_new[place]) ** 2).sum(axis=1)
        least = np.inf
        for own in np.argsort(plain):
            distance = warped(X[own], X_new[place], window, least)
            if distance < least:
                least, found[place] = distance, own
    return found


class NearestSeries(ClassifierMixin, BaseEstimator):
    """Predict the label of the nearest training series."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> NearestSeries:
        """Store the series."""
        self.classes_, self.X_, self.y_ = np.unique(y), np.ascontiguousarray(X), y
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the nearest training series."""
        window = max(1, X.shape[1] // 10)
        return self.y_[nearest(self.X_, np.ascontiguousarray(X), window)]
