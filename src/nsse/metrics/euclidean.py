"""Define the metric of Euclidean distances."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin

from nsse._support.samples import validate_data
from nsse._support.types import LabelsLike, SamplesLike, WeightsLike
from nsse.affine import Affine
from nsse.labels import checked_weights
from nsse.metrics.base import FLOATS, Metric
from nsse.metrics.learned import Learned, centered
from nsse.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Euclidean(OneToOneFeatureMixin, Metric):
    """Euclidean distances, which sparse samples keep sparse.

    Attributes
    ----------
    components_ : sparse matrix of shape (n_features, n_features)
        The identity.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    WithinMetric : Shortens directions in which samples of a class differ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> SmoothEmbedding(metric="euclidean").fit(X, y).metric_
    Euclidean()
    """

    settled_at = 10.0

    @property
    def is_fixed(self) -> bool:
        """True."""
        return True

    def fit(self, X: SamplesLike, y: LabelsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Check samples. Nothing is learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : ignored
            Exists for compatibility with scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Checked, but it has no influence.

        Returns
        -------
        self
            The metric.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        checked_weights(sample_weight, X.shape[0])
        return self._of(self.n_features_in_)

    def learn(self, rows: Rows, with_hull: bool = False) -> Learned:
        """Return rows in memory, centered and with values of order one."""
        X = rows.held()
        self._of(X.shape[1])
        affine = centered(X)
        plain = Learned(affine, affine(X), float(affine.scale[0]))
        return plain.with_hull() if with_hull else plain

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats:
        """Return the distances as they are, because no row has an influence on them."""
        return np.asarray(D2[left])

    def heights(self, affine: Affine, X: SamplesLike) -> Floats:
        """Return squared distances of samples from the hull of the training rows."""
        return affine.squares_outside(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _of(self, n_features: int) -> Self:
        self.n_features_in_ = n_features
        self.components_ = sparse.eye_array(n_features, format="csr")
        return self
