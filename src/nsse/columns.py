"""Compute standard deviations of columns, and how many columns the distances depend on.

The squared distance of two samples is a sum over columns. For samples of a class, a column contributes
twice its variance v_j within classes on average. If a few columns have much larger variances than all
others, often because of their units, the others have no influence. The effective number of columns,

    (Σ_j v_j)² / Σ_j v_j²,

is n for n equal variances, and 1 if a single column has all of the variance.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nsse._support.errors import listed, rule_error
from nsse._support.types import Floats, SamplesLike
from nsse.affine import LARGEST_SCALE, Affine, is_sparse
from nsse.rows import Rows

LEAST = float(np.finfo(np.float64).tiny)
# Calls between the warning and the line of the user that calls `SmoothEmbedding.fit`.
FROM_USER = 8
# Differences below this share of the largest value are rounding, and the column is constant.
CONSTANT = 10.0 * float(np.finfo(np.float64).eps)
# A few columns dominate the distances if there are effectively fewer than this, and if each of at least
# half of the columns has less than a hundredth of the variance within classes. `benchmarks/units.py`
# compares errors with and without standardization on tables where this holds and where it does not.
FEW_EFFECTIVE, NO_INFLUENCE = 2.5, 0.01
# Values that are looked at for this, at most, and rows, at least.
MOST_VALUES, FEWEST_ROWS = 200_000, 20


def standardizing(rows: Rows) -> Affine:
    """Return the map that divides every column of rows by its standard deviation.

    Each sample counts as often as its weight. Constant columns are unchanged. Nothing is subtracted, so
    that sparse rows stay sparse, and distances are the same as after a subtraction.
    """
    deviations = deviations_of(rows)
    with np.errstate(over="ignore"):
        scales = 1.0 / np.where(deviations > 0.0, deviations, 1.0)
    if scales.max() >= LARGEST_SCALE:
        rule = f"have standard deviations above {1.0 / LARGEST_SCALE:.0e} to be standardized"
        raise rule_error("X", rule, float(deviations[deviations > 0.0].min()), "Rescale X.")
    return Affine.diagonal(np.zeros(len(scales)), scales)


def deviations_of(rows: Rows) -> Floats:
    """Return the standard deviation of every column, zero if it is constant."""
    ranges: Ranges = rows.source.fold(ranges_of)
    found: Moments = rows.source.fold(MomentsOf(ranges), rows.counts)
    return found.deviations(ranges)


@dataclass(frozen=True)
class Ranges:
    """The smallest and the largest value of every column."""

    low: Floats
    high: Floats

    def __add__(self, other: Ranges) -> Ranges:
        return Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def halves(self) -> Floats:
        """Half of the range of every column, 0 if it is constant."""
        halves = self.high / 2.0 - self.low / 2.0
        sizes = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.where(halves > CONSTANT * sizes, halves, 0.0)


@dataclass(frozen=True)
class Moments:
    """Total weight, and sums of values and of their squares, of values that lie between 0 and 1."""

    total: float
    first: Floats
    second: Floats

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.total + other.total, self.first + other.first, self.second + other.second)

    def deviations(self, ranges: Ranges) -> Floats:
        """Return the standard deviations of the columns with these ranges, zero for constant ones."""
        variances = self.second / self.total - np.square(self.first / self.total)
        with np.errstate(over="ignore"):
            return np.asarray(2.0 * ranges.halves * np.sqrt(np.maximum(variances, 0.0)))


def ranges_of(X: SamplesLike, total: Ranges | None = None) -> Ranges:
    """Return the ranges of the columns of a block, joined to those so far."""
    ends = [end.toarray().ravel() if is_sparse(end) else end for end in (X.min(axis=0), X.max(axis=0))]
    found = Ranges(*(np.asarray(end, dtype=np.float64) for end in ends))
    return found if total is None else total + found


@dataclass(frozen=True)
class MomentsOf:
    """`Moments` of a block of rows, each column mapped to values from 0 to 1."""

    ranges: Ranges

    def __call__(self, X: SamplesLike, weights: Floats, total: Moments | None = None) -> Moments:
        """Return the moments of the block, added to those so far."""
        found = self._of_sparse(X, weights) if is_sparse(X) else self._of_dense(X, weights)
        return found if total is None else total + found

    def _of_dense(self, X: SamplesLike, weights: Floats) -> Moments:
        values = self._mapped(np.asarray(X, dtype=np.float64), slice(None))
        return Moments(float(weights.sum()), weights @ values, weights @ np.square(values))

    def _of_sparse(self, X: Any, weights: Floats) -> Moments:
        rows = sparse.csr_array(X, dtype=np.float64)
        if not rows.has_canonical_format:
            rows = rows.copy()  # the arrays of X may be those of the user
            rows.sum_duplicates()
        zeros, all_weights = self._mapped(np.zeros(rows.shape[1]), slice(None)), float(weights.sum())
        values, own = self._mapped(rows.data, rows.indices), np.repeat(weights, np.diff(rows.indptr))
        sums = []
        for power in (1, 2):
            more = own * (values**power - zeros[rows.indices] ** power)
            sums.append(np.bincount(rows.indices, more, rows.shape[1]) + all_weights * zeros**power)
        return Moments(all_weights, *sums)

    def _mapped(self, values: Floats, columns: Any) -> Floats:
        halves, low = self.ranges.halves[columns], self.ranges.low[columns] / 2.0
        return np.asarray((values / 2.0 - low) / np.where(halves > 0.0, halves, np.inf))


def warn_of_units(rows: Rows, names: Sequence[str] | None = None) -> None:
    """Warn if a few columns of labeled rows dominate the distances of samples of a class."""
    variances = variances_within(rows)
    if not are_dominated(variances):
        return
    shares = variances / variances.sum()
    n_largest = max(1, round(effective_columns(shares)))
    largest = np.sort(np.argsort(-shares, kind="stable")[:n_largest])
    shown = listed([str(j) if names is None else repr(str(names[j])) for j in largest.tolist()])
    n_varying = np.count_nonzero(shares)
    weak = np.count_nonzero(shares < NO_INFLUENCE) - (len(shares) - n_varying)
    warnings.warn(
        f"Distances depend almost only on {'column' if n_largest == 1 else 'columns'} {shown}, with "
        f"{100 * shares[largest].sum():.1f} % of the variance within classes. {weak} of {n_varying} "
        f"columns have less than {100 * NO_INFLUENCE:.0f} % each. If the columns are in different "
        "units, pass standardize=True to SmoothEmbedding.",
        UserWarning,
        stacklevel=FROM_USER,
    )


def are_dominated(variances: Floats) -> bool:
    """Return whether squared distances depend on a few columns, and half of them have no influence."""
    varying = variances[variances > 0.0]
    if len(varying) < 2 or effective_columns(varying) >= FEW_EFFECTIVE:
        return False
    weak = np.count_nonzero(varying < NO_INFLUENCE * varying.sum())
    return bool(2 * weak >= len(varying))


def variances_within(rows: Rows) -> Floats:
    """Return the variances of the columns within classes, times a positive number, from some rows.

    A column in which the classes lie far apart may dominate the distances of all samples. That is no
    reason to warn.
    """
    n_rows = min(len(rows), max(FEWEST_ROWS, MOST_VALUES // rows.source.n_features))
    places = np.unique(np.linspace(0, len(rows) - 1, n_rows).astype(np.intp))
    X, codes = rows.source.take(places), np.unique(rows.codes[places], return_inverse=True)[1]
    ranges = ranges_of(X)
    if is_sparse(X):
        Z: Any = sparse.csr_array(X) / max(float(abs(X.data).max(initial=0.0)), LEAST)
    else:
        largest = max(float(ranges.halves.max()), LEAST)
        Z = X / largest - ranges.low / largest
    # The sums of each class, divided by the root of its size.
    sizes = np.bincount(codes)
    roots = 1.0 / np.sqrt(sizes[codes])
    sums: Any = sparse.csr_array((roots, (codes, np.arange(len(codes))))) @ Z
    squares = _column_sums(Z * Z)
    within = squares - _column_sums(sums * sums)
    return np.where((ranges.halves > 0.0) & (within > CONSTANT * squares), within, 0.0)


def _column_sums(values: Any) -> Floats:
    return np.asarray(values.sum(axis=0), dtype=np.float64).ravel()


def effective_columns(variances: Floats) -> float:
    """Return (Σv)²/Σv², the effective number of columns in distances, or 0 if all are constant."""
    squares = float(np.square(variances).sum())
    return float(variances.sum() ** 2 / squares) if squares > 0.0 else 0.0
