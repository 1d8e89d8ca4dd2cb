"""SelectivePredictor: predictions withheld where little is certain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from nsse._errors import rule_error
from nsse.certificates.asking import certified_labels, certified_radius
from nsse.certificates.models import check_certified, opened
from nsse.certificates.rejection import Selection, is_between
from nsse.certificates.steps import affine_of

Floats = NDArray[np.float64]


class SelectivePredictor(BaseEstimator):
    """Predicts with a reject option: only where the certified radius is large enough.

    Parameters
    ----------
    model : estimator
        Fitted, with certificates; or a pipeline with such a model at its end and affine steps before it
        (`nsse.certificates.certified_radius` says which). It is used as it is and never fitted again.
    radius : float, default=None
        Smallest certified radius of an accepted prediction, in the units of the samples. Give this or
        `coverage`.
    coverage : float, default=None
        Share of the samples given to `fit` that are to be accepted, above 0 and at most 1.
    rejected : object, default=None
        What `predict` says for rejected samples. It must not be a label. With None, or whatever
        the type of the labels cannot hold, `predict` returns an array of objects.

    Attributes
    ----------
    radius_ : float
        The smallest certified radius accepted.
    classes_ : ndarray of shape (n_classes,)
        Labels of the model, without `rejected`.

    See Also
    --------
    nsse.certificates.ConformalClassifier : Sets of labels with a guarantee.
    nsse.certificates.risk_coverage : What any radius would give.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import NSSE
    >>> from nsse.certificates import SelectivePredictor
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NSSE().fit(X[:200], y[:200])
    >>> careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(X[200:1000])
    >>> labels = careful.predict(X[1000:])
    >>> kept = labels != -1
    >>> bool((labels == y[1000:])[kept].mean() > model.score(X[1000:], y[1000:]))
    True
    """

    def __init__(
        self,
        model: Any,
        *,
        radius: float | None = None,
        coverage: float | None = None,
        rejected: Any = None,
    ) -> None:
        self.model = model
        self.radius = radius
        self.coverage = coverage
        self.rejected = rejected

    def fit(self, X: Any = None, y: Any = None) -> SelectivePredictor:
        """Find the radius to ask for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples unseen by the model, on which `coverage` is to hold; no labels are needed.
            Not needed where `radius` is given.
        y : ignored

        Returns
        -------
        self : SelectivePredictor
            The fitted predictor.
        """
        check_certified(self.model)
        for step in opened(self.model)[0]:
            affine_of(step)  # refuses steps through which no radius is carried
        self._check_parameters(X)
        radius = self.radius
        if self.coverage is not None:
            radius = _radius_for(certified_radius(self.model, X), self.coverage)
        self.radius_, self.classes_ = float(radius), self.model.classes_  # type: ignore[arg-type]
        return self

    def select(self, X: Any) -> Selection:
        """Labels of all samples, and which to trust.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Selection
            ``labels`` are those of the model, for rejected samples too; ``accepted`` says where the
            certified ``radius`` is at least `radius_`.
        """
        check_is_fitted(self)
        labels, radius = certified_labels(self.model, X)
        return Selection(labels, radius >= self.radius_, radius)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, with `rejected` in place of those that are not accepted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or `rejected`.
        """
        selection = self.select(X)
        labels = selection.labels
        if np.asarray(self.rejected).dtype.kind != labels.dtype.kind:
            labels = labels.astype(object)
        elif labels.dtype.kind in "SU":  # room for a longer word
            labels = labels.astype(np.result_type(labels, np.asarray(self.rejected)))
        return np.where(selection.accepted, labels, np.array(self.rejected, dtype=labels.dtype))

    def score(self, X: Any, y: Any) -> float:
        """Share of right labels among the accepted samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        float
            Accuracy where a label is given; NaN where none is. How many are accepted, `select` tells.
        """
        selection = self.select(X)
        y = column_or_1d(y)
        check_consistent_length(selection.labels, y)
        right = (selection.labels == y)[selection.accepted]
        return float(right.mean()) if len(right) else float("nan")

    def _check_parameters(self, X: Any) -> None:
        if (self.radius is None) == (self.coverage is None):
            got = f"radius={self.radius!r}, coverage={self.coverage!r}"
            raise rule_error("radius", "be given, or `coverage`, not both", got, "Leave one as None.")
        if self.radius is not None and not is_between(self.radius, 0, np.inf):
            raise rule_error("radius", "be a number, 0 or more", self.radius, "0 accepts everything.")
        if self.coverage is not None:
            if not is_between(self.coverage, 0, 1) or self.coverage == 0:
                cure = "0.8 accepts four samples of five."
                raise rule_error("coverage", "be above 0 and at most 1", self.coverage, cure)
            if X is None:
                cure = "Pass samples unseen by the model to `fit`; labels are not needed."
                raise rule_error("X", "be given where `coverage` is", None, cure)
        if self.rejected is not None and self.rejected in self.model.classes_.tolist():
            cure = "Choose a value that is no label."
            raise rule_error("rejected", "differ from all labels", self.rejected, cure)


def _radius_for(radius: Floats, coverage: float) -> float:
    """The largest radius that at least this share of the samples has."""
    needed = int(np.ceil(coverage * len(radius) - 1e-9))
    return float(np.sort(radius)[len(radius) - needed])
