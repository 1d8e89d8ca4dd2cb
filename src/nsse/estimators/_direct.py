"""`fit` of the methods that need no search: judge the parameters, learn the map, fit the classifier."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._base import EmbeddingClassifier
from nsse.estimators._fitting import all_or_nothing
from nsse.estimators._parameters import check_classifier, check_length_unit
from nsse.estimators._posing import encode_labels

Ints = NDArray[np.intp]


class DirectClassifier(EmbeddingClassifier):
    """An `EmbeddingClassifier` whose map is learned in one go, by `_learn`."""

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map, and the classifier in the embedding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.

        Returns
        -------
        self
            The fitted estimator. If fit fails, the estimator is as it was before.
        """
        self._check_parameters()
        check_classifier(self.classifier)
        length_unit = check_length_unit(getattr(self, "length_unit", "median"))
        X, y = self._validated(X, y)
        self.classes_, codes = encode_labels(y)
        self._learn(X, codes, length_unit)
        self.classifier_ = self._fitted_classifier(self.embedding_, y)
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Judge what can be judged without the data, beside the classifier and the unit of length."""

    @abstractmethod
    def _learn(self, X: Any, codes: Ints, length_unit: float | None) -> None:
        """Set ``embedding_`` and all that `_map` needs; a ``length_unit`` of None is the median."""
