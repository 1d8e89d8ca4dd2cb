"""Few samples of many features in fewer coordinates, with all distances kept.

The training samples span as many dimensions as there are samples at most. In an orthonormal basis of
that span, with the distance from it as a coordinate more, products of training samples with all samples,
and their distances, are what they were; so is every method that is made of them: Gaussian kernels,
neighbours, principal components, and linear methods whose penalty is a Euclidean norm. It saves time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin


class Span(TransformerMixin, BaseEstimator):
    """Coordinates in the span of the training samples, and how far a sample is from it."""

    def fit(self, X: NDArray[Any], y: Any = None) -> Span:
        """Take an orthonormal basis of the rows; of few features the features are one."""
        self.basis_ = np.linalg.qr(X.T)[0] if X.shape[1] > len(X) else None
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        """As many coordinates as training samples and one more, or the features themselves."""
        if self.basis_ is None:
            return X
        inside, whole = X @ self.basis_, (X**2).sum(axis=1)
        beyond = whole - (inside**2).sum(axis=1)
        beyond[beyond < 1e-10 * whole] = 0.0  # rounding, of which the root would be 1e-7
        return np.column_stack([inside, np.sqrt(beyond)])
