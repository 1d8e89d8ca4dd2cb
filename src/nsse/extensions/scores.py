"""The class of the largest score: f(x) read by its products with the class means.

    s_c(x) = (n_c/n̄) Σ_k w_k f_k(x) (ȳ_ck − ȳ_k),     w_k = b_k / (b_k + λ_k/(μ1 n̄)),
    b_k = Σ_c n_c (ȳ_ck − ȳ_k)²

with λ_k = c_k'Pc_k the eigenvalue of a coordinate, ȳ_c the mean of a class of n_c samples, ȳ that of all
and n̄ the mean class size. A coordinate that separates little beside what it costs counts little. Far
from the training samples f shrinks towards zero: its direction still decides, where distances to single
samples decide by noise. See ``docs/derivation.md``, section 9.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._errors import rule_error
from nsse.graphs import class_sums
from nsse.kernels import row_products

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class ClassScores(ClassifierMixin, BaseEstimator):
    """The class whose mean, less that of all, has the largest weighted product with a point.

    Parameters
    ----------
    weights : ndarray of shape (n_components,), default=None
        What each coordinate counts, w; None counts all alike.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (n_classes, n_components)
        w_k (ȳ_ck − ȳ_k) n_c/n̄: the weights of the scores, linear in f.
    """

    def __init__(self, weights: Any = None) -> None:
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        """Take the class means of an embedding."""
        Y, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        sizes, means = np.bincount(codes), class_means(Y, codes.astype(np.intp))
        shares = sizes[:, np.newaxis] / sizes.mean()
        self.coef_ = shares * centred_means(means, sizes) * self._checked_weights(Y.shape[1])
        return self

    def decision_function(self, X: Any) -> Floats:
        """The scores of rows; of two classes, the second's less the first's.

        They order the classes and say how clearly, in no unit that has a meaning: for probabilities take
        a classifier that estimates them.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of rows; of equal scores the first class."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """1 for the label that `predict` gives, 0 for the others: scores are no probabilities."""
        return np.asarray(np.eye(len(self.classes_))[self._scores(X).argmax(axis=1)])

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        Z = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        # The same bits for a row alone and in any batch, so that equal scores tie everywhere.
        return row_products(Z.astype(np.float64, copy=False), self.coef_.T)

    def _checked_weights(self, d: int) -> Floats:
        if self.weights is None:
            return np.ones(d)
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (d,) or not np.isfinite(weights).all():
            rule = f"be {d} finite numbers, one for each coordinate"
            raise rule_error("weights", rule, self.weights, "Leave them None to count all alike.")
        return weights


def class_means(Y: NDArray[Any], codes: Ints) -> Floats:
    """The mean of every class, in double precision."""
    return class_sums(Y.astype(np.float64, copy=False), codes) / np.bincount(codes)[:, np.newaxis]


def centred_means(means: Floats, sizes: NDArray[Any]) -> Floats:
    """Class means less the mean of all samples."""
    return np.asarray(means - sizes @ means / sizes.sum())


def score_weights(means: Floats, sizes: NDArray[Any], eigenvalues: Floats, mu1: float) -> Floats:
    """w from class means, class sizes and eigenvalues of coordinates; the same in all their units."""
    b = sizes @ centred_means(means, sizes) ** 2
    return np.asarray(b / (b + eigenvalues / (mu1 * sizes.mean())))


def weighted_scores(
    Y: NDArray[Any], y: NDArray[Any], sizes: NDArray[Any], eigenvalues: Floats, mu1: float
) -> ClassScores:
    """The reader of an embedding, to be fitted to it in any units.

    ``sizes`` are those of the classes among all samples that the rows of ``Y`` stand for.
    """
    _, codes = np.unique(y, return_inverse=True)
    return ClassScores(score_weights(class_means(Y, codes.astype(np.intp)), sizes, eigenvalues, mu1))
