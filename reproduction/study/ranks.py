"""Many classifiers on many data sets: mean ranks, critical differences, wins and losses.

After Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006): data sets
are the independent cases, one line of errors each.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range, t, wilcoxon

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """One method beside another: cases won, tied and lost, and the paired test.

    `p` is that of Wilcoxon's signed ranks over the data sets, `adjusted` the same after Holm's
    correction for all comparisons of a table; 1 where no data set tells them apart.
    """

    other: str
    wins: int
    ties: int
    losses: int
    p: float
    adjusted: float


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
    """The ratio of which these are logarithms, one per data set, and Student's interval of the mean."""
    mean, half = float(logs.mean()), np.inf
    if len(logs) > 1:
        quantile = t.ppf((1.0 + level) / 2.0, len(logs) - 1)
        half = float(quantile * logs.std(ddof=1) / np.sqrt(len(logs)))
    return Ratio(*(float(np.exp(value)) for value in (mean, mean - half, mean + half)))


def mean_ranks(errors: Floats) -> Floats:
    """Mean over the lines of the ranks within a line; 1 is the least error, ties share theirs."""
    return np.asarray(rankdata(errors, axis=1, nan_policy="raise").mean(axis=0))


def friedman_p(errors: Floats) -> float:
    """How probable ranks as different as these are if all methods are alike: Friedman's test."""
    if errors.shape[1] < 3 or np.all(errors == errors[:, :1]):
        return 1.0
    return float(friedmanchisquare(*errors.T).pvalue)


def critical_difference(n_methods: int, n_sets: float, level: float = 0.05) -> float:
    """Least difference of two mean ranks that Nemenyi's test calls significant.

    Demšar, Section 3.2.2: CD = q sqrt(k (k + 1) / (6 N)), q the quantile of the studentized range
    divided by the square root of 2.
    """
    q = float(studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def alike(ranks: ArrayLike, difference: float) -> list[tuple[float, float]]:
    """Longest stretches of mean ranks, from least to greatest, that no critical difference parts."""
    ordered = np.sort(np.asarray(ranks, dtype=np.float64))
    found: list[tuple[float, float]] = []
    for least in ordered:
        greatest = ordered[ordered <= least + difference][-1]
        if greatest > least and (not found or greatest > found[-1][1]):
            found.append((float(least), float(greatest)))
    return found


def comparisons(
    errors: Floats, methods: Sequence[str], one: str, cases: Floats, tie: float
) -> list[Comparison]:
    """One method beside each of the others, in the order of the methods.

    ``errors`` have a line per data set, for the test; ``cases`` those that wins and losses are counted
    on: a line per data set and size. Errors that differ by ``tie`` or less are a tie.
    """
    own = list(methods).index(one)
    others = [place for place in range(len(methods)) if place != own]
    ps = [_signed_ranks(errors[:, own], errors[:, place]) for place in others]
    found = []
    for place, p, adjusted in zip(others, ps, holm(ps), strict=True):
        gained = cases[:, place] - cases[:, own]
        wins, losses = int((gained > tie).sum()), int((gained < -tie).sum())
        found.append(Comparison(methods[place], wins, len(gained) - wins - losses, losses, p, adjusted))
    return found


def holm(ps: Sequence[float]) -> list[float]:
    """Probabilities after Holm's correction: the least times their number, the next times one less."""
    order = np.argsort(ps)
    stepped = np.asarray(ps, dtype=np.float64)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(p) for p in adjusted]


def _signed_ranks(one: Floats, other: Floats) -> float:
    """Exact where no differences are equal or zero, by the normal approximation elsewhere."""
    if np.array_equal(one, other):
        return 1.0
    with warnings.catch_warnings():  # of SciPy, when it takes the approximation
        warnings.simplefilter("ignore", UserWarning)
        return float(wilcoxon(one, other).pvalue)
