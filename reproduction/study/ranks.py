"""Comparisons of many classifiers on many data sets: ratios of errors and critical differences.

The tests follow Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7
(2006). Data sets are the independent cases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, studentized_range, t

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios over data sets, with its interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        within = f" ({self.low:.2f}–{self.high:.2f})" if np.isfinite(self.high) else ""
        return f"{self.mean:.2f}{within}"


def ratio(logs: Floats, level: float = 0.95) -> Ratio:
    """Return the geometric mean of the ratios with these logarithms, and Student's interval."""
    mean, half = float(logs.mean()), np.inf
    if len(logs) > 1:
        quantile = t.ppf((1.0 + level) / 2.0, len(logs) - 1)
        half = float(quantile * logs.std(ddof=1) / np.sqrt(len(logs)))
    return Ratio(*(float(np.exp(value)) for value in (mean, mean - half, mean + half)))


def friedman_p(errors: Floats) -> float:
    """Return the p-value of Friedman's test that all methods (columns) are equally good."""
    if errors.shape[1] < 3 or np.all(errors == errors[:, :1]):
        return 1.0
    return float(friedmanchisquare(*errors.T).pvalue)


def critical_difference(n_methods: int, n_sets: float, level: float = 0.05) -> float:
    """Return the least difference of two mean ranks that is significant by Nemenyi's test.

    Demšar, Section 3.2.2: CD = q √(k (k + 1) / (6 N)), where q is the quantile of the studentized
    range divided by √2.
    """
    q = float(studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))
