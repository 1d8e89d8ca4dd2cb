"""Few samples with many features in fewer coordinates that keep all distances.

The training samples span at most as many dimensions as there are samples. In an orthonormal basis of
this span, with the distance from the span as one more coordinate, inner products and distances of
training samples with all samples stay the same. Therefore all methods that depend on them only stay
the same: Gaussian kernels, neighbors, principal components, and linear methods with a Euclidean
penalty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin


class Span(TransformerMixin, BaseEstimator):
    """Return coordinates in the span of the training samples, and the distance from the span."""

    def fit(self, X: NDArray[Any], y: Any = None) -> Span:
        """Compute an orthonormal basis of the rows, if there are more features than rows."""
        self.basis_ = np.linalg.qr(X.T)[0] if X.shape[1] > len(X) else None
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return one coordinate per training sample and the distance, or the features themselves."""
        if self.basis_ is None:
            return X
        inside, whole = X @ self.basis_, (X**2).sum(axis=1)
        beyond = whole - (inside**2).sum(axis=1)
        beyond[beyond < 1e-10 * whole] = 0.0  # The root of a rounding error would be 1e-7.
        return np.column_stack([inside, np.sqrt(beyond)])
