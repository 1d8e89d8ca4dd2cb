"""What it buys to withhold predictions where little is certain; `SelectivePredictor` does it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from nsse._support.errors import rule_error
from nsse.certificates.asking import certified_labels

Floats = NDArray[np.float64]


class Selection(NamedTuple):
    """Labels for all samples, which of them are accepted, and their certified radii.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Of all samples.
    accepted : ndarray of bool, shape (n_samples,)
        Whether the radius is large enough.
    radius : ndarray of shape (n_samples,)
        Certified radii.

    See Also
    --------
    nsse.certificates.SelectivePredictor : Gives it by `select`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import SelectivePredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> careful = SelectivePredictor(model, coverage=0.8).fit(X[1::3])
    >>> selection = careful.select(X[2::3])
    >>> bool((selection.accepted == (selection.radius >= careful.radius_)).all())
    True
    """

    labels: NDArray[Any]
    accepted: NDArray[np.bool_]
    radius: Floats


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

    See Also
    --------
    nsse.certificates.risk_coverage : Gives it.
    nsse.plot.risk_coverage : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import risk_coverage
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> curve = risk_coverage(model, X[1::3], y[1::3])
    >>> float(curve.coverage[-1])
    1.0
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
        if not is_between(coverage, 0, 1):
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

    See Also
    --------
    nsse.plot.risk_coverage : Draws the curve.
    nsse.certificates.SelectivePredictor : Answers above a radius only.

    Examples
    --------
    >>> from nsse.certificates import risk_coverage
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> curve = risk_coverage(model, X[1::3], y[1::3])
    >>> float(curve.coverage[-1])
    1.0
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


def is_between(value: Any, low: float, high: float) -> bool:
    """Whether something is a number within bounds."""
    return isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high
