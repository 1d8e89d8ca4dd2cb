"""ConformalClassifier: sets of labels that hold the true one with a given chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nsse._errors import rule_error
from nsse.certificates.conformal import class_scores, least_strangeness, strangeness, thresholds
from nsse.certificates.rejection import is_between
from nsse.estimators._fitting import all_or_nothing

Bools = NDArray[np.bool_]


class ConformalClassifier(BaseEstimator):
    """Gives a set of labels for every sample, the true one among them with a chance of 1 − α.

    The chance is over samples: those given to `fit` and those asked about must come alike, and the
    model must not have seen them. Nothing else is assumed, of the model least of all: of a poor one the
    sets are large. With a certified radius they hold for samples that somebody moved.

    Parameters
    ----------
    model : estimator
        Fitted, with a `decision_function`; used as it is and never fitted again.
    alpha : float, default=0.1
        α: how often a set may lack the true label, between 0 and 1.
    per_class : bool, default=False
        Whether the chance is to hold within every class, not only over all samples. It needs at least
        1/α − 1 samples of a class in `fit`: with fewer its label is in every set.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_classes,)
        How far the best of the others may lead a label in the set; infinite where it always is.
    classes_ : ndarray of shape (n_classes,)
        Labels of the model.

    See Also
    --------
    nsse.certificates.SelectivePredictor : One label, or none where its radius is small.
    nsse.NSSE.decision_function : What the sets are made of.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import NSSE
    >>> from nsse.certificates import ConformalClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NSSE().fit(X[:200], y[:200])
    >>> sets = ConformalClassifier(model, alpha=0.05).fit(X[200:900], y[200:900]).predict_set(X[900:])
    >>> bool(sets[range(len(sets)), y[900:]].mean() > 0.93)
    True
    """

    def __init__(self, model: Any, *, alpha: float = 0.1, per_class: bool = False) -> None:
        self.model = model
        self.alpha = alpha
        self.per_class = per_class

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> ConformalClassifier:
        """Find how far a label may be behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples unseen by the model.
        y : array-like of shape (n_samples,)
            Their labels, all of them known to the model.

        Returns
        -------
        self : ConformalClassifier
            The fitted classifier. If fit fails, it is as it was before.
        """
        self._check_parameters()
        check_is_fitted(self.model)
        scores, labels, classes = class_scores(self.model, X), column_or_1d(y), self.model.classes_
        if len(labels) != len(scores):
            rule = f"have a label for each of the {len(scores)} samples"
            raise rule_error("y", rule, f"{len(labels)} labels", "Pass the labels of these samples.")
        strangers = np.setdiff1d(labels, classes)
        if strangers.size:
            cure = "No set can hold it: leave out such samples, or fit the model with that class."
            raise rule_error("y", "hold labels of the model", strangers[:1].tolist()[0], cure)
        codes = np.searchsorted(classes, labels).astype(np.intp)
        strange = strangeness(scores)
        self.thresholds_ = thresholds(strange, codes, float(self.alpha), bool(self.per_class))
        self.classes_ = classes
        return self

    def predict_set(self, X: Any, *, radius: float = 0.0) -> Bools:
        """Which labels may be the true one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        radius : float, default=0.0
            The set is to hold where a sample was moved by less than this, in any direction and by
            anyone, before it came here; lengths in the units of ``X``. Needs a model with certificates
            whose classes have affine scores: `NSSE` with "scores" or a linear classifier.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            In the order of `classes_`. A set may be empty, where no label is as good as it mostly is
            for the samples of `fit`.
        """
        check_is_fitted(self)
        if not is_between(radius, 0, np.inf) or radius == np.inf:
            raise rule_error("radius", "be a finite number, 0 or more", radius, "0 moves nothing.")
        if radius == 0:
            return np.asarray(strangeness(class_scores(self.model, X)) <= self.thresholds_)
        return np.asarray(least_strangeness(self.model, X, float(radius)) <= self.thresholds_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label that the model gives.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return np.asarray(self.model.predict(X))

    def _check_parameters(self) -> None:
        if not is_between(self.alpha, 0, 1) or self.alpha in (0, 1):
            cure = "0.1 gives sets of which nine in ten hold the true label."
            raise rule_error("alpha", "be above 0 and below 1", self.alpha, cure)
        if not isinstance(self.per_class, bool | np.bool_):
            raise rule_error("per_class", "be True or False", self.per_class, "Choose one of them.")
        if not hasattr(self.model, "decision_function"):
            cure = "All methods of this library do, but for classifiers that give a label and no more."
            raise rule_error("model", "have a `decision_function`", type(self.model).__name__, cure)
