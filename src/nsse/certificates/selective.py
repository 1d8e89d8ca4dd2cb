"""Reject uncertain predictions, and compute the error that remains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from nsse._support.errors import Described, listed, rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_choice, check_number
from nsse._support.types import Bools, Floats, LabelsLike, SamplesLike
from nsse.certificates.radii import certified_radius
from nsse.pipelines import is_encoder, opened

CONFIDENCES = ("radius", "probability")


def confidence(model: Any, X: SamplesLike, by: str) -> Floats:
    """Return certified radii of labels, or their probabilities."""
    check_choice("by", by, CONFIDENCES)
    if by == "radius":
        _check_without_categories(model)
        return certified_radius(model, X)
    return np.asarray(model.predict_proba(X), dtype=np.float64).max(axis=1)


def _check_without_categories(model: Any) -> None:
    """Raise an error if the radius is requested for a table with categories, which has none."""
    encoders = [step for step in opened(model)[0] if is_encoder(step) and step.categories_]
    if encoders:
        rule = "be 'probability' for tables with categories, because the change of a word has no length"
        got = Described(
            f"'radius' for a table with categories in {listed(list(encoders[0].categories_))}"
        )
        raise rule_error("by", rule, got, "Pass by='probability'.")


class Selection(NamedTuple):
    """Labels for all samples, which of them are accepted, and how certain they are.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Labels of all samples.
    accepted : ndarray of bool, shape (n_samples,)
        Whether the confidence is large enough.
    confidence : ndarray of shape (n_samples,)
        Certified radii or probabilities.

    See Also
    --------
    SelectivePredictor : Its method `select` returns it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import SelectivePredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> careful = SelectivePredictor(model, coverage=0.8).fit(X[1::3])
    >>> selection = careful.select(X[2::3])
    >>> bool((selection.accepted == (selection.confidence >= careful.threshold_)).all())
    True
    """

    labels: NDArray[Any]
    accepted: Bools
    confidence: Floats


class SelectivePredictor(BaseEstimator):
    """Predict only labels that are certain enough, and reject the other samples.

    Parameters
    ----------
    model : estimator
        A fitted model. By radius, it must have certificates, or be a pipeline with affine steps that
        ends in such a model (`certified_radius`). By probability, it must have `predict_proba`. It is
        never fitted again.
    by : {"radius", "probability"}, default="radius"
        The measure of certainty: the certified radius of a label, or its probability.
    threshold : float, default=None
        The least radius, in the units of the samples, or the least probability of an accepted
        prediction. Pass either this or `coverage`.
    coverage : float, default=None
        The share of the samples given to `fit` that are accepted, above 0 and at most 1.
    rejected : object, default=None
        The value that `predict` returns for rejected samples. It must not be a label. With None, or with
        a value that does not fit the type of the labels, `predict` returns an array of objects.

    Attributes
    ----------
    threshold_ : float
        The least radius or probability that is accepted.
    classes_ : ndarray of shape (n_classes,)
        Labels of the model. They do not include `rejected`.

    See Also
    --------
    ConformalClassifier : Predicts sets of labels with a guarantee.
    risk_coverage : Computes the error for every threshold.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import SelectivePredictor
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[:200], y[:200])
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
        by: str = "radius",
        threshold: float | None = None,
        coverage: float | None = None,
        rejected: Any = None,
    ) -> None:
        self.model = model
        self.by = by
        self.threshold = threshold
        self.coverage = coverage
        self.rejected = rejected

    @all_or_nothing
    def fit(self, X: SamplesLike = None, y: LabelsLike = None) -> Self:
        """Find the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples that the model has not seen, for which `coverage` holds. Labels are not needed. If
            `threshold` is given, no samples are needed.
        y : ignored
            Ignored.

        Returns
        -------
        self
            The fitted predictor. If fit fails, it is as it was before.
        """
        check_is_fitted(self.model)
        self._check_parameters(X)
        self.classes_ = self.model.classes_
        if self.coverage is None:
            self.threshold_ = float(self.threshold or 0.0)
        else:
            confidences = np.sort(confidence(self.model, X, self.by))
            needed = int(np.ceil(self.coverage * len(confidences) - 1e-9))
            self.threshold_ = float(confidences[len(confidences) - needed])
        return self

    def select(self, X: SamplesLike) -> Selection:
        """Return the labels of all samples, and which of them are accepted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Selection
            ``labels`` contains the labels of the model, for rejected samples too. ``accepted`` marks
            samples whose ``confidence`` is at least `threshold_`.
        """
        check_is_fitted(self)
        confidences = confidence(self.model, X, self.by)
        return Selection(np.asarray(self.model.predict(X)), confidences >= self.threshold_, confidences)

    def predict(self, X: SamplesLike) -> NDArray[Any]:
        """Return labels, with `rejected` for samples that are not accepted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or `rejected`.
        """
        labels, accepted, _ = self.select(X)
        if np.asarray(self.rejected).dtype.kind != labels.dtype.kind:
            labels = labels.astype(object)
        elif labels.dtype.kind in "SU":  # room for a longer word
            labels = labels.astype(np.result_type(labels, np.asarray(self.rejected)))
        return np.where(accepted, labels, np.array(self.rejected, dtype=labels.dtype))

    def score(self, X: SamplesLike, y: LabelsLike) -> float:
        """Return the share of correct labels among the accepted samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        float
            Accuracy of the accepted samples, or NaN if there are none. `select` returns how many there
            are.
        """
        labels, accepted, _ = self.select(X)
        y = column_or_1d(y)
        check_consistent_length(labels, y)
        right = (labels == y)[accepted]
        return float(right.mean()) if len(right) else float("nan")

    def _check_parameters(self, X: SamplesLike) -> None:
        check_choice("by", self.by, CONFIDENCES)
        if (self.threshold is None) == (self.coverage is None):
            got = Described(f"threshold={self.threshold!r}, coverage={self.coverage!r}")
            rule, cure = "be given, or `coverage`, but not both", "Leave one as None."
            raise rule_error("threshold", rule, got, cure)
        if self.threshold is not None:
            check_number("threshold", self.threshold, cure="0 accepts everything.")
        if self.coverage is not None:
            cure = "0.8 accepts four samples of five."
            if check_number("coverage", self.coverage, positive=True, cure=cure) > 1:
                raise rule_error("coverage", "be above 0 and at most 1", self.coverage, cure)
            if X is None:
                cure = "Pass samples that the model has not seen to `fit`. Labels are not needed."
                raise rule_error("X", "be given if `coverage` is given", None, cure)
        if self.rejected is not None and self.rejected in self.model.classes_.tolist():
            cure = "Choose a value that is no label."
            raise rule_error("rejected", "differ from all labels", self.rejected, cure)


@dataclass(frozen=True)
class RiskCoverage:
    """The error of the accepted samples for every share of accepted samples.

    Samples with the same confidence are accepted together, so there is one entry for every different
    confidence. The entries are sorted by descending confidence.

    Attributes
    ----------
    threshold : ndarray
        The least radius or probability that is accepted.
    coverage : ndarray
        The share of all samples that are accepted. The last entry is 1.
    risk : ndarray
        The share of the accepted samples that have a wrong label.

    See Also
    --------
    risk_coverage : Computes the curve.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import risk_coverage
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> curve = risk_coverage(model, X[1::3], y[1::3])
    >>> float(curve.coverage[-1])
    1.0
    """

    threshold: Floats
    coverage: Floats
    risk: Floats

    @property
    def error(self) -> float:
        """The error if all samples are accepted."""
        return float(self.risk[-1])

    @property
    def area(self) -> float:
        """The mean risk over all coverages. A smaller value means that mistakes are ranked better."""
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))

    def accuracy_at(self, coverage: float) -> float:
        """Return the accuracy of the accepted samples if at least this share of samples is accepted."""
        cure = "0.8 is four samples of five."
        if check_number("coverage", coverage, cure=cure) > 1:
            raise rule_error("coverage", "lie between 0 and 1", coverage, cure)
        # A share such as 0.8 may round above the very number of samples it stands for.
        return 1.0 - float(self.risk[int(np.searchsorted(self.coverage, coverage - 1e-12))])

    def to_dict(self) -> dict[str, list[float]]:
        """Return the three arrays as lists, for a data frame or a file."""
        return {name: getattr(self, name).tolist() for name in ("threshold", "coverage", "risk")}


def risk_coverage(model: Any, X: SamplesLike, y: LabelsLike, *, by: str = "radius") -> RiskCoverage:
    """Accept predictions by descending radius or probability, and count the mistakes.

    Parameters
    ----------
    model : estimator
        A fitted model with certificates or probabilities.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples that were not used for training.
    y : array-like of shape (n_samples,)
        Their labels.
    by : {"radius", "probability"}, default="radius"
        The measure of certainty by which samples are ranked.

    Returns
    -------
    RiskCoverage
        The curve.

    See Also
    --------
    SelectivePredictor : Rejects samples below a threshold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import risk_coverage
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> risk_coverage(model, X[1::3], y[1::3], by="probability").area < 0.05
    True
    """
    confidences, y = confidence(model, X, by), column_or_1d(y)
    check_consistent_length(confidences, y)
    return risk_coverage_curve(confidences, np.asarray(model.predict(X)) != y)


def risk_coverage_curve(confidences: Floats, wrong: Bools) -> RiskCoverage:
    """Return the curve for the confidences of samples and whether their labels are wrong."""
    order = np.argsort(-confidences, kind="stable")
    falling, mistakes = confidences[order], np.cumsum(wrong[order])
    # the last of every run of equal ones
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    accepted = last + 1
    return RiskCoverage(falling[last], accepted / len(confidences), mistakes[last] / accepted)
