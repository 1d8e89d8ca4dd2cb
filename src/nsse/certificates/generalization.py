"""Measure how the separation of training samples generalizes, and whether radii predict mistakes.

The separation of a sample is (b − a)/max(a, b), where a is its distance in the embedding to the nearest
other training sample of its own class, and b is its distance to the nearest one of another class. It
lies between −1 and 1, and is positive if the nearest neighbor has the right label.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_consistent_length, column_or_1d

from nsse._support.parameters import check_count
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.certificates.radii import certified_radius
from nsse.distances import squared_distances

BINS = 10


@dataclass(frozen=True)
class Calibration:
    """Test samples in bins of equal size by rising certified radius.

    Attributes
    ----------
    lower, upper, median : ndarray of shape (n_bins,)
        Radii in the bin.
    error : ndarray of shape (n_bins,)
        Share of wrong labels in the bin.
    count : ndarray of shape (n_bins,)
        Number of samples in the bin.
    ranking : float
        Probability that a right prediction has a larger radius than a wrong one, where ties count half.
        It is 0.5 if radii contain no information, and NaN if all labels are right or all are wrong.
    """

    lower: Floats
    upper: Floats
    median: Floats
    error: Floats
    count: Ints
    ranking: float


@dataclass(frozen=True)
class GeneralizationReport:
    """Separation of training and test samples and of shuffled labels, and radii compared with mistakes.

    Attributes
    ----------
    train_separation, test_separation : ndarray
        The separation of every sample.
    test_error : float
        The share of wrong predictions.
    permuted_train, permuted_test : ndarray of shape (n_permutations,)
        The mean separation after a fit to shuffled training labels. Training samples have the shuffled
        labels, and test samples have their own.
    p_value : float
        How often a fit to shuffled labels separates the test samples as well as the model does,
        (1 + number of times)/(1 + n_permutations). It is uniform if the labels have no meaning.
    n_warned : int
        Number of fits to shuffled labels that warned. These warnings are not shown, because the labels
        have no meaning.
    calibration : Calibration
        Error by certified radius.

    See Also
    --------
    generalization_report : Computes it.
    nsse.plot.generalization : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import generalization_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> report = generalization_report(model, X[::3], y[::3], X[1::3], y[1::3], n_permutations=3)
    >>> report.test_separation.shape, report.p_value
    ((50,), 0.25)
    """

    train_separation: Floats
    test_separation: Floats
    test_error: float
    permuted_train: Floats
    permuted_test: Floats
    p_value: float
    n_warned: int
    calibration: Calibration

    @property
    def gap(self) -> float:
        """Return the mean separation of the training samples less that of the test samples."""
        return float(self.train_separation.mean() - self.test_separation.mean())

    def to_dict(self) -> dict[str, float]:
        """Return the numbers as one row."""
        return {
            "train_separation": float(self.train_separation.mean()),
            "test_separation": float(self.test_separation.mean()),
            "gap": self.gap,
            "test_error": self.test_error,
            "permuted_train_separation": _mean(self.permuted_train),
            "permuted_test_separation": _mean(self.permuted_test),
            "p_value": self.p_value,
            "ranking": self.calibration.ranking,
        }


def generalization_report(
    model: Any,
    X_test: Any,
    y_test: Any,
    X_train: Any,
    y_train: Any,
    *,
    n_permutations: int = 20,
    random_state: int = 0,
) -> GeneralizationReport:
    """Measure how much of the separation that a model learned holds on new samples.

    Parameters
    ----------
    model : estimator
        A fitted model with certificates.
    X_test, y_test : array-like
        Samples that the model has not seen, and their labels.
    X_train, y_train : array-like
        The training samples and their labels.
    n_permutations : int, default=20
        The number of fits of a copy of the model to shuffled training labels. 0 omits them.
    random_state : int, default=0
        The seed of the shuffling.

    Returns
    -------
    GeneralizationReport
        `nsse.plot.generalization` draws it.

    See Also
    --------
    nsse.plot.generalization : Draws it.
    theorem_1 : Evaluates the bound of the paper.

    Examples
    --------
    >>> from nsse.certificates import generalization_report
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> report = generalization_report(model, X[1::3], y[1::3], X[::3], y[::3], n_permutations=3)
    >>> 0 <= report.test_error <= 1
    True
    """
    count = check_count("n_permutations", n_permutations, least=0, cure="20 is usual.")
    y_train, y_test = column_or_1d(y_train), column_or_1d(y_test)
    check_consistent_length(X_train, y_train)
    check_consistent_length(X_test, y_test)
    radius, wrong = certified_radius(model, X_test), model.predict(X_test) != y_test
    train, test = _separations(model, X_train, y_train, X_test, y_test)
    rng = np.random.default_rng(random_state)
    permuted, n_warned = np.empty((count, 2)), 0
    for row in permuted:
        shuffled = rng.permutation(y_train)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            copy = clone(model).fit(X_train, shuffled)
        n_warned += bool(caught)
        pair = _separations(copy, X_train, shuffled, X_test, y_test)
        row[:] = pair[0].mean(), pair[1].mean()
    as_good = int(np.count_nonzero(permuted[:, 1] >= test.mean()))
    p_value = (1 + as_good) / (1 + len(permuted))
    parts: Any = *permuted.T, p_value, n_warned, calibration(radius, wrong)
    return GeneralizationReport(train, test, float(wrong.mean()), *parts)


def separation(
    Y: Floats, y: NDArray[Any], points: Floats, labels: NDArray[Any], *, same: bool
) -> Floats:
    """Return the separation of ``points`` among the training points ``Y``.

    If ``same`` is true, ``points`` are the training points themselves.
    """
    own, other = nearest_own_and_other(Y, y, points, labels, same=same)
    # A class of one sample has no other sample, so it is not close to its class.
    return np.where(np.isinf(own), -1.0, _quotient(other - own, np.maximum(own, other)))


def calibration(radius: Floats, wrong: Bools) -> Calibration:
    """Return the error in bins of equal size, by ascending radius."""
    order = np.argsort(radius, kind="stable")
    bins = np.array_split(order, min(BINS, len(order)))
    parts = [(radius[b[0]], radius[b[-1]], radius[b[len(b) // 2]], wrong[b].mean()) for b in bins]
    lower, upper, median, error = np.transpose(parts)
    count = np.array([len(b) for b in bins])
    return Calibration(lower, upper, median, error, count, _ranking(radius, wrong))


def _ranking(radius: Floats, wrong: Bools) -> float:
    """Return the Mann–Whitney statistic as a probability."""
    if wrong.all() or not wrong.any():
        return float("nan")
    return float(roc_auc_score(~wrong, rankdata(radius)))  # ranks, because radii may be infinite


def _separations(
    model: Any, X: SamplesLike, y: LabelsLike, X_test: Any, y_test: Any
) -> tuple[Floats, Floats]:
    Y, new = (np.asarray(model.transform(part), dtype=np.float64) for part in (X, X_test))
    return separation(Y, y, Y, y, same=True), separation(Y, y, new, y_test, same=False)


def nearest_own_and_other(
    Y: Floats, y: NDArray[Any], points: Floats, labels: NDArray[Any], *, same: bool
) -> tuple[Floats, Floats]:
    """Return distances of ``points`` to the nearest row of ``Y`` of their class and of another one."""
    D2 = squared_distances(points, Y)
    if same:
        np.fill_diagonal(D2, np.inf)
    own = labels[:, np.newaxis] == y
    nearest = [np.where(kind, D2, np.inf).min(axis=1) for kind in (own, ~own)]
    return np.sqrt(nearest[0]), np.sqrt(nearest[1])


def _quotient(over: Floats, under: Floats) -> Floats:
    """Return a/b.

    If two samples of different classes are at one place, 0/0 counts as 0, which is undecided.
    """
    return np.divide(over, under, out=np.zeros_like(over), where=(under > 0) & np.isfinite(under))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
