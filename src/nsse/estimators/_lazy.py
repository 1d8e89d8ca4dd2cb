"""Lazy answers to Dask arrays: nothing is computed, and nothing gathered, before it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nsse.certificates.models import floating
from nsse.estimators._base import EmbeddingClassifier
from nsse.landmarks import is_dask, lazily


class LazyAnswers(EmbeddingClassifier):
    """Comes before another `EmbeddingClassifier` among the bases; a Dask array is answered by blocks."""

    def transform(self, X: Any) -> Any:
        """Embed samples by the learned map f.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples, new or old.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            f(x) for every row, in the floating-point type of ``X``; lazily, where X is a Dask array.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self._embed, X, self._n_features_out, floating(X.dtype))
        return super().transform(X)

    def predict(self, X: Any) -> Any:
        """Label of the nearest training sample in the embedding, or what `classifier` says.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; lazily, where X is a Dask array.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict, X, None, self.classes_.dtype)
        return super().predict(X)

    @available_if(lambda self: hasattr(super(), "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, if `classifier` gives any (the nearest neighbour: 0 or 1).

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; lazily, where X is a Dask array.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict_proba, X, len(self.classes_), np.dtype(np.float64))
        return super().predict_proba(X)
