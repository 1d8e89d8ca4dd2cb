"""The class of the largest score: a regression of class indicators on f, read off its class means.

    s_c(x) = n_c/N + n_c Σ_k (f_k(x) − r ȳ_k)(ȳ_ck − ȳ_k) / t_k,      t_k = b_k + λ_k/(μ1 n̄),
    b_k = Σ_c n_c (ȳ_ck − ȳ_k)²

with λ_k = c_k'Pc_k the eigenvalue of a coordinate, ȳ_c the mean of a class of n_c samples, ȳ that of all
N and n̄ the mean class size. t_k is between + within + smooth, the whole of what the coordinate does:
one that separates little beside what it costs counts little. r = N/(N + α) of the mean of f is taken
off, for α is the price of a constant. Scores add up to 1. Far from the training samples f shrinks
towards zero and leaves the shares of the classes and that constant; on the way there its direction
decides, where distances to single samples decide by noise. See ``docs/derivation.md``, section 9.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._errors import rule_error
from nsse.extensions.temperature import softmax, with_largest
from nsse.graphs import class_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class ClassScores(ClassifierMixin, BaseEstimator):
    """The class whose indicator, regressed on each coordinate by itself, is largest.

    Parameters
    ----------
    scatters : ndarray of shape (n_components,), default=None
        t: what each coordinate does in all, between, within and smooth. None takes the scatter of the
        samples: between and within.
    sizes : ndarray of shape (n_classes,), default=None
        n_c, where the samples stand for more than themselves. None counts them.
    constant_price : float, default=0.0
        α: so many samples that lie at zero a constant in the scores must be worth.
    temperature : float, default=None
        τ: probabilities are exp(s_c/τ) over their sum. None knows none, and gives 1 to the label.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (n_classes, n_components)
        n_c (ȳ_ck − ȳ_k)/t_k.
    intercept_ : ndarray of shape (n_classes,)
        Shares of the classes, n_c/N, less the scores of the mean as far as it is taken off.
    """

    def __init__(
        self,
        scatters: Any = None,
        sizes: Any = None,
        constant_price: float = 0.0,
        temperature: float | None = None,
    ) -> None:
        self.scatters = scatters
        self.sizes = sizes
        self.constant_price = constant_price
        self.temperature = temperature

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take the class means of an embedding, of samples that count as `sample_weight` says."""
        Y, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        counted = np.bincount(codes, weights)
        sizes = counted if self.sizes is None else self._checked("sizes", len(self.classes_))
        means, N = class_means(Y, codes.astype(np.intp), weights), sizes.sum()
        self.coef_ = sizes[:, np.newaxis] * centred_means(means, sizes) / self._scatters(Y, weights)
        taken_off = sizes @ means / (N + self.constant_price)  # N/(N + α) ȳ
        self.intercept_ = np.asarray(sizes / N - self.coef_ @ taken_off)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The scores of rows, which add up to 1; of two classes, the second's less the first's.

        They order the classes and say how clearly, but may lie below 0 and above 1; `predict_proba`
        makes probabilities of them.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of rows; of equal scores the first class."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])

    def labels_of(self, Y: NDArray[Any]) -> NDArray[Any]:
        """The same for rows that need no check: of the map that it was fitted on."""
        return np.asarray(self.classes_[self._scores_of(Y).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """exp(s_c/τ) over their sum; without a temperature 1 for the label, 0 for the others."""
        scores = self._scores(X)
        codes = scores.argmax(axis=1)
        if self.temperature is None:
            return np.asarray(np.eye(len(self.classes_))[codes])
        return with_largest(softmax(scores, self.temperature), codes)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._scores_of(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))

    def _scores_of(self, Y: NDArray[Any]) -> Floats:
        return Y.astype(np.float64, copy=False) @ self.coef_.T + self.intercept_

    def _scatters(self, Y: NDArray[Any], weights: Floats | None) -> Floats:
        if self.scatters is not None:
            return self._checked("scatters", Y.shape[1])
        if weights is None:
            spread = np.asarray(((Y - Y.mean(axis=0)) ** 2).sum(axis=0, dtype=np.float64))
        else:
            spread = weights @ (Y - weights @ Y / weights.sum()) ** 2
        return np.where(spread > 0, spread, 1.0)  # of a constant coordinate nothing is left to divide

    def _checked(self, name: str, count: int) -> Floats:
        given = np.asarray(getattr(self, name), dtype=np.float64)
        if given.shape != (count,) or not np.isfinite(given).all() or not (given > 0).all():
            of = "coordinate" if name == "scatters" else "class"
            rule = f"be {count} positive numbers, one for each {of}"
            raise rule_error(name, rule, getattr(self, name), "Leave them None to take the samples'.")
        return given


def class_means(Y: NDArray[Any], codes: Ints, weights: Floats | None = None) -> Floats:
    """The mean of every class, in double precision."""
    Y = Y.astype(np.float64, copy=False)
    counted = Y if weights is None else Y * weights[:, np.newaxis]
    return class_sums(counted, codes) / np.bincount(codes, weights)[:, np.newaxis]


def centred_means(means: Floats, sizes: NDArray[Any]) -> Floats:
    """Class means less the mean of all samples."""
    return np.asarray(means - sizes @ means / sizes.sum())


def total_scatters(
    Y: NDArray[Any],
    y: NDArray[Any],
    sizes: NDArray[Any],
    eigenvalues: Floats,
    mu1: float,
    weights: Floats | None = None,
) -> Floats:
    """t = b + λ/(μ1 n̄) of every coordinate, in the units of Y squared.

    ``sizes`` are those of the classes among all samples that the rows of ``Y`` stand for, ``weights``
    how many times the rows count beside each other.
    """
    _, codes = np.unique(y, return_inverse=True)
    b = sizes @ centred_means(class_means(Y, codes.astype(np.intp), weights), sizes) ** 2
    return np.asarray(b + eigenvalues / (mu1 * sizes.mean()))
