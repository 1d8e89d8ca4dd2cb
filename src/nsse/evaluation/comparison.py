"""Several estimators on the same splits: one row per fit, as each finishes, and their summary.

Rows come from a generator so that a caller can show progress, stop early or store what it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from nsse.evaluation.splits import Indices, per_class_split

# n_per_class, seed, training indices, test indices
Split: TypeAlias = tuple[int, int, Indices, Indices]


@dataclass(frozen=True)
class Fit:
    """One estimator on one split. `error` is the share of test samples given a wrong label.

    Attributes
    ----------
    method : str
        Name of the estimator.
    n_per_class, seed : int
        The split.
    error : float
        Share of wrong labels.
    fit_seconds, predict_seconds : float
        Time taken.

    See Also
    --------
    nsse.evaluation.compare : Gives them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.evaluation import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> (fit,) = compare({"NSSE": NSSE()}, X, y, sizes=[10], seeds=[0])
    >>> fit.method, fit.error < 0.2
    ('NSSE', True)
    """

    method: str
    n_per_class: int
    seed: int
    error: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Summary:
    """One estimator at one size of training set, over `count` splits.

    `standard_error` is that of the mean, the splits taken as independent; NaN for a single split.

    Attributes
    ----------
    method : str
        Name of the estimator.
    n_per_class : int
        Training samples per class.
    mean, standard_error : float
        Of the errors.
    count : int
        Number of splits.
    fit_seconds : float
        Mean time of a fit.

    See Also
    --------
    nsse.evaluation.summarize : Gives them.

    Examples
    --------
    >>> from nsse.evaluation import Fit, summarize
    >>> (line,) = summarize(Fit("NN", 5, seed, error, 0.0, 0.0) for seed, error in enumerate([0.1, 0.3]))
    >>> round(line.mean, 3), round(line.standard_error, 3), line.count
    (0.2, 0.1, 2)
    """

    method: str
    n_per_class: int
    mean: float
    standard_error: float
    count: int
    fit_seconds: float


def compare(
    estimators: Mapping[str, Any], X: Any, y: Any, sizes: Iterable[int], seeds: Iterable[int]
) -> Iterator[Fit]:
    """Fit every estimator on every split; all of them see the same splits.

    Parameters
    ----------
    estimators : mapping of str to classifier
        Cloned before every fit, hence left as they are.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels.
    sizes : iterable of int
        Training samples per class.
    seeds : iterable of int
        One split per seed and size.

    Returns
    -------
    iterator of Fit
        In the order of seeds, then sizes, then estimators. A size that cannot be drawn is an error
        at the call, before anything is fitted.

    See Also
    --------
    nsse.evaluation.summarize : Means and standard errors of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from nsse import NSSE
    >>> from nsse.evaluation import compare, summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> methods = {"NSSE": NSSE(), "1-NN": KNeighborsClassifier(1)}
    >>> rows = list(compare(methods, X, y, sizes=[5], seeds=range(3)))
    >>> len(rows)
    6
    >>> [line.method for line in summarize(rows)]
    ['NSSE', '1-NN']
    """
    y, sizes = np.asarray(y), tuple(sizes)
    splits = [(size, seed, *per_class_split(y, size, seed)) for seed in seeds for size in sizes]
    return _fits(estimators, X, y, splits)


def _fits(estimators: Mapping[str, Any], X: Any, y: Any, splits: Iterable[Split]) -> Iterator[Fit]:
    for size, seed, train, test in splits:
        for method, estimator in estimators.items():
            yield Fit(method, size, seed, *_measure(clone(estimator), X, y, train, test))


def _measure(model: Any, X: Any, y: Any, train: Indices, test: Indices) -> tuple[float, float, float]:
    """Test error, seconds of fit, seconds of predict."""
    start = perf_counter()
    model.fit(X[train], y[train])
    fitted = perf_counter()
    predicted = model.predict(X[test])
    end = perf_counter()
    return float(np.mean(predicted != y[test])), fitted - start, end - fitted


def summarize(fits: Iterable[Fit]) -> list[Summary]:
    """Mean and standard error over the splits of every method and size, in order of appearance.

    Parameters
    ----------
    fits : iterable of Fit
        What `compare` gives.

    Returns
    -------
    list of Summary
        One for every method and size.

    See Also
    --------
    nsse.evaluation.compare : Makes the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from nsse import NSSE
    >>> from nsse.evaluation import compare, summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> (line,) = summarize(compare({"1-NN": KNeighborsClassifier(1)}, X, y, sizes=[5], seeds=range(3)))
    >>> line.method, line.n_per_class
    ('1-NN', 5)
    """
    groups: dict[tuple[str, int], list[Fit]] = {}
    for fit in fits:
        groups.setdefault((fit.method, fit.n_per_class), []).append(fit)
    return [_summary(*key, group) for key, group in groups.items()]


def _summary(method: str, size: int, group: list[Fit]) -> Summary:
    errors = np.array([fit.error for fit in group])
    count = len(errors)
    standard_error = errors.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
    seconds = float(np.mean([fit.fit_seconds for fit in group]))
    return Summary(method, size, float(errors.mean()), float(standard_error), count, seconds)
