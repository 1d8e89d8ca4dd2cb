"""Predictions withheld where little is certain, and what that buys."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from nsse._errors import rule_error
from nsse.certificates.asking import certified_labels
from nsse.certificates.models import certified_radius, check_certified

Floats = NDArray[np.float64]


class Selection(NamedTuple):
    """Labels for all samples, which of them are accepted, and their certified radii."""

    labels: NDArray[Any]
    accepted: NDArray[np.bool_]
    radius: Floats


class SelectivePredictor(BaseEstimator):
    """Predicts with a reject option: only where the certified radius is large enough.

    Parameters
    ----------
    model : estimator
        Fitted, with certificates. It is used as it is and never fitted again.
    radius : float, default=None
        Smallest certified radius of an accepted prediction. Give this or `coverage`.
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
        self._check_parameters(X)
        radius = self.radius if self.coverage is None else _radius_for(
            certified_radius(self.model, X), self.coverage
        )  # fmt: skip
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

    def _check_parameters(self, X: Any) -> None:
        if (self.radius is None) == (self.coverage is None):
            got = f"radius={self.radius!r}, coverage={self.coverage!r}"
            raise rule_error("radius", "be given, or `coverage`, not both", got, "Leave one as None.")
        if self.radius is not None and not _is_number(self.radius, 0, np.inf):
            raise rule_error("radius", "be a number, 0 or more", self.radius, "0 accepts everything.")
        if self.coverage is not None:
            if not _is_number(self.coverage, 0, 1) or self.coverage == 0:
                cure = "0.8 accepts four samples of five."
                raise rule_error("coverage", "be above 0 and at most 1", self.coverage, cure)
            if X is None:
                cure = "Pass samples unseen by the model to `fit`; labels are not needed."
                raise rule_error("X", "be given where `coverage` is", None, cure)
        if self.rejected is not None and self.rejected in self.model.classes_.tolist():
            cure = "Choose a value that is no label."
            raise rule_error("rejected", "differ from all labels", self.rejected, cure)


@dataclass(frozen=True)
class RiskCoverage:
    """Share of mistakes among the accepted samples, by how many are accepted.

    Samples with equal radii are accepted together: one entry for every different radius, falling.

    Attributes
    ----------
    radius : ndarray
        Smallest radius accepted.
    coverage : ndarray
        Share of all samples accepted, rising to 1.
    risk : ndarray
        Share of the accepted with a wrong label.
    """

    radius: Floats
    coverage: Floats
    risk: Floats

    @property
    def error(self) -> float:
        """Share of mistakes when everything is accepted."""
        return float(self.risk[-1])

    @property
    def area(self) -> float:
        """Mean risk over all coverages: the smaller, the better the radius ranks mistakes."""
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))

    def accuracy_at(self, coverage: float) -> float:
        """Share of right labels among the accepted, at the first coverage that is large enough."""
        if not _is_number(coverage, 0, 1):
            raise rule_error("coverage", "lie between 0 and 1", coverage, "0.8 is four samples of five.")
        # A share such as 0.8 may round above the very number of samples it stands for.
        first = int(np.searchsorted(self.coverage, coverage - 1e-12))
        return 1.0 - float(self.risk[first])

    def to_dict(self) -> dict[str, list[float]]:
        """Columns by name, for a frame or a file."""
        return {name: getattr(self, name).tolist() for name in ("radius", "coverage", "risk")}


def risk_coverage(model: Any, X: Any, y: Any) -> RiskCoverage:
    """Accept predictions by falling radius, and watch the mistakes.

    Parameters
    ----------
    model : estimator
        Fitted, with certificates.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples unseen by the model.
    y : array-like of shape (n_samples,)
        Their labels.

    Returns
    -------
    RiskCoverage
        The curve.
    """
    labels, radius = certified_labels(model, X)
    y = column_or_1d(y)
    check_consistent_length(radius, y)
    return risk_coverage_curve(radius, labels != y)


def risk_coverage_curve(radius: Floats, wrong: NDArray[np.bool_]) -> RiskCoverage:
    """The curve from radii and mistakes."""
    order = np.argsort(-radius, kind="stable")
    falling, mistakes = radius[order], np.cumsum(wrong[order])
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))  # of every run of equal radii
    accepted = last + 1
    return RiskCoverage(falling[last], accepted / len(radius), mistakes[last] / accepted)


def _radius_for(radius: Floats, coverage: float) -> float:
    """The largest radius that at least this share of the samples has."""
    needed = int(np.ceil(coverage * len(radius) - 1e-9))
    return float(np.sort(radius)[len(radius) - needed])


def _is_number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high
