"""Compute class scores of training samples by models that have not seen them.

Temperatures, conformal sets and typicality compare new samples with left-out training samples. Left-out
samples must therefore lose everything that a new sample lacks: their place in the regression, in the
metric and in the hull (`nsse.hull`).

If the centers are the rows, this has a closed form. Let G = K + λW⁻¹, and let row i stand for several
equal samples with the total weight w_i. Leaving one of them out removes the weight r and adds 1/δ, δ =
w_i (w_i − r)/(λr), to G_ii. The coefficients become C − G⁻¹e_i C_i/(δ + (G⁻¹)_ii). A row that stands for
one sample has δ = 0. The distances of the row lose the edges of the row in the metric
(`nsse.metrics.scatter`) and its height over the hull of the other rows.

With other centers, augmented samples, or a metric without such a formula, the model is fitted again
without one fold at a time. If there are many more samples than features, this is not needed, because a
row can hardly influence the metric.

The calibration leaves only some of many samples out. `left_out_embedding_` needs all of them, so the
functions here also work for all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from nsse._support.types import Floats, Ints, Matrix, SamplesLike
from nsse.distances import squared_distances
from nsse.ridge import ExactFactors, Ridge, SumFactors
from nsse.rows import Rows, indicators
from nsse.scores import Scores

# Number of samples that are left out by a formula. If there are more, some of them are drawn.
LEFT_OUT_ALL, LEFT_OUT_SOME = 2000, 1000
# Number of samples that are left out of the metric or of the hull as well, for each of which a row of
# distances is computed again.
LEFT_OUT_OF_METRIC = 200
# Folds. For the calibration, no more are left out than give `LEFT_OUT_OF_METRIC` samples.
FOLDS = 10
FEW = 1000  # rows of a small factor
# Share of the largest square by which functions differ that are equal up to rounding.
TIE = 1e-9


@dataclass(frozen=True)
class LeftOut:
    """Values of the classes for training samples by models without them.

    Attributes
    ----------
    rows : ndarray of shape (n_left_out,)
        Positions of the samples among the rows that are not augmented.
    codes : ndarray of shape (n_left_out,)
        Their classes.
    values : ndarray of shape (n_left_out, n_classes)
        Class scores, or minus squared distances to the nearest sample of each class.
    weights, counts : ndarrays of shape (n_left_out,)
        Total weight and number of the samples that each value stands for.
    heights : ndarray of shape (n_left_out,) or None
        Squared distances from the hull of the other rows. None if new rows are not projected.
    gain : float
        Approximate factor by which s − π grows if a class gains one training sample, 1 if unknown.
    """

    rows: Ints
    codes: Ints
    values: Floats
    weights: Floats
    counts: Floats
    heights: Floats | None = None
    gain: float = 1.0

    def by_row(self, n_rows: int) -> Floats:
        """Return the values with one line for every row, NaN for rows that were not left out.

        A row that several folds leave out, because it stands for several samples, gets their mean.
        """
        counts = np.bincount(self.rows, self.counts, n_rows)
        sums = np.zeros((n_rows, self.values.shape[1]))
        np.add.at(sums, self.rows, self.values * self.counts[:, np.newaxis])
        sums[counts == 0.0] = np.nan
        return sums / np.where(counts > 0.0, counts, 1.0)[:, np.newaxis]


class Fitted(Protocol):
    """A model without one fold of the samples."""

    @property
    def classes(self) -> NDArray[Any]:
        """Return the labels."""

    def values(self, X: SamplesLike) -> Floats:
        """Return the values of the classes for samples."""

    def heights(self, X: SamplesLike) -> Floats | None:
        """Return the squared distances of samples from the hull of the training rows."""


def left_out_positions(rows: Rows, most: int, some: int) -> Ints:
    """Return the rows of the samples that are left out: all labeled ones, or some if there are too many.

    They are chosen in the order of the hashes of the rows, so that the order of the samples has no
    influence.
    """
    first = np.flatnonzero(rows.is_labeled[:: rows.per_sample]) * rows.per_sample
    if len(first) > most:
        ordered = first[np.argsort(rows.keys[first], kind="stable")]
        first = np.sort(ordered[np.linspace(0, len(first) - 1, some).astype(np.intp)])
    return np.asarray((first[:, np.newaxis] + np.arange(rows.per_sample)).ravel())


def one_by_one(rows: Rows, ridge: Ridge, left: Ints, K_left: Floats, heights: Floats | None) -> LeftOut:
    """Leave single rows out of the regression, the metric and the hull, if the centers are the rows.

    ``K_left`` are kernel values of these rows and all rows, in the metrics and hulls without them.
    """
    factors = ridge.factors
    assert isinstance(factors, ExactFactors)
    L = factors.L
    C = factors.scaled
    root = np.sqrt(rows.weights)
    inverse = inverse_rows(L, left)
    if not np.all(root == 1.0):
        K_left = K_left * root
    kept = _kept(rows, factors.smoothness, left)
    whole = K_left @ C
    P = K_left @ inverse.T
    G = inverse[:, left]
    outside = whole - (P.diagonal() / (kept + G.diagonal()))[:, np.newaxis] * C[left]
    alone = np.flatnonzero(kept == 0.0)
    codes = rows.codes[left[alone]]
    among = np.ix_(alone, alone)
    own = C[left[alone], codes]
    gain = gain_of_one(P[among], G[among], own, codes, whole[alone, codes], outside[alone, codes])
    return _of(rows, left, outside + ridge.shares, heights, gain)


def every_one(rows: Rows, ridge: Ridge, K: Floats) -> LeftOut:
    """Leave every row out of the regression, the metric and the hull, if the centers are the rows.

    Row i of ``K`` contains kernel values of row i and all rows, in the metric and the hull without row
    i. ``K`` and the factor of the regression are overwritten.
    """
    factors, every = ridge.factors, np.arange(len(rows))
    assert isinstance(factors, ExactFactors)
    C = factors.scaled
    K *= np.sqrt(rows.weights)
    half = np.tril(linalg.lapack.dpotri(factors.L, lower=True, overwrite_c=True)[0])
    own = half.diagonal()
    # Row i of the symmetric inverse is row i of its lower half and column i below the diagonal.
    changes = np.einsum("ij,ij->i", K, half) + np.einsum("ij,ji->i", K, half) - K.diagonal() * own
    changes /= _kept(rows, factors.smoothness, every) + own
    return _of(rows, every, K @ C - changes[:, np.newaxis] * C + ridge.shares)


def inverse_rows(L: Floats, left: Ints) -> Floats:
    """Return some rows of (LL')⁻¹."""
    unit = np.zeros((len(L), len(left)), order="F")
    unit[left, np.arange(len(left))] = 1.0
    # Above a 1 there is nothing to solve for. To cut out a part of a large factor takes longer.
    half, middle = len(left) // 2, left[len(left) // 2] if len(L) <= FEW else 0
    unit[:, :half] = linalg.blas.dtrsm(1.0, L, unit[:, :half], lower=True)
    unit[middle:, half:] = linalg.blas.dtrsm(1.0, L[middle:, middle:], unit[middle:, half:], lower=True)
    return np.asarray(linalg.blas.dtrsm(1.0, L, unit, lower=True, trans_a=True, overwrite_b=True).T)


def in_groups(rows: Rows, ridge: Ridge, left: Ints) -> LeftOut:
    """Leave the rows of single samples out of the regression alone, if the centers are the rows.

    The factor of the regression is overwritten.
    """
    factors, p = ridge.factors, rows.per_sample
    assert isinstance(factors, ExactFactors)
    L, C = factors.L, factors.scaled
    if len(left) == len(L):
        columns = np.tril(linalg.lapack.dtrtri(L, lower=True, overwrite_c=True)[0])
    else:
        unit = np.zeros((len(L), len(left)))
        unit[left, np.arange(len(left))] = 1.0
        columns = linalg.solve_triangular(L, unit, lower=True, overwrite_b=True, check_finite=False)
    by_sample = columns.reshape(len(L), -1, p).transpose(1, 2, 0)
    blocks = by_sample @ by_sample.transpose(0, 2, 1)
    kept = _kept(rows, factors.smoothness, left).reshape(-1, p)
    blocks[:, np.arange(p), np.arange(p)] += kept
    residuals = np.linalg.solve(blocks, C[left].reshape(-1, p, C.shape[1])).reshape(len(left), -1)
    root = np.sqrt(rows.weights[left]) * rows.removed[left] / rows.weights[left]
    T = rows.indicators()[left]
    outside = T - residuals / root[:, np.newaxis]
    return _of(rows, left[::p], outside[::p])


def of_sums(rows: Rows, ridge: Ridge, left: Ints) -> LeftOut:
    """Leave the rows of single samples out of the regression alone, for any centers."""
    some = rows.select(left)
    outside = SumsWithout(ridge, rows.per_sample)(some.held(), some.codes, some.removed)[0]
    return _of(rows, left[:: rows.per_sample], outside)


def of_all_sums(rows: Rows, ridge: Ridge) -> LeftOut:
    """Leave the rows of every sample out of the regression alone, for any centers, block by block."""
    parts = rows.source.fold(SumsWithout(ridge, rows.per_sample), rows.codes, rows.removed)
    return _of(rows, np.arange(0, len(rows), rows.per_sample), np.concatenate(parts))


@dataclass(frozen=True)
class SumsWithout:
    """Class scores of the samples of a block without their own rows. It runs where the block is."""

    ridge: Ridge
    per_sample: int

    def __call__(
        self, Z: Matrix, codes: Ints, removed: Floats, total: list[Floats] | None = None
    ) -> list[Floats]:
        """Append the scores of the samples to the list so far."""
        ridge, p = self.ridge, self.per_sample
        factors = ridge.factors
        assert isinstance(factors, SumFactors)
        K = ridge.kernel.between(Z, ridge.centers)
        T: Any = indicators(codes, len(ridge.sizes)) - ridge.shares
        features = linalg.solve_triangular(factors.R, K.T, trans="T", check_finite=False)
        A: Any = linalg.solve_triangular(factors.F, features, trans="T", check_finite=False).T
        root = np.sqrt(removed)[:, np.newaxis]
        by_sample = (A * root).reshape(-1, p, A.shape[1])
        H = by_sample @ by_sample.transpose(0, 2, 1)
        together = (root * (T - K @ ridge.coef)).reshape(-1, p, T.shape[1])
        residuals = np.linalg.solve(np.eye(p) - H, together).reshape(T.shape) / root
        return [*(total or []), (T - residuals + ridge.shares)[::p]]


def by_folds(
    rows: Rows, learn: Callable[[Rows], Fitted], absent: float, enough: float = LEFT_OUT_OF_METRIC
) -> LeftOut | None:
    """Leave folds of the samples out and fit again. None if a fold would leave fewer than two classes.

    ``rows`` are not augmented. A class that a fold lacks has the value ``absent``. No fold follows after
    ``enough`` samples.
    """
    found, n_left = [], 0
    for lost in fold_shares(rows):
        part = rows.without(lost)
        if len(part.classes) < 2 or len(part) < 2:
            return None
        held = np.flatnonzero((lost > 0.0) & rows.is_labeled)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit to all samples has warned
            model = learn(part)
        X = rows.source.take(held)
        values = np.full((len(held), len(rows.classes)), absent)
        values[:, np.searchsorted(rows.classes, model.classes)] = model.values(X)
        share = lost[held]
        weights, counts = rows.weights[held] * share, rows.counts[held] * share
        found.append((held, rows.codes[held], values, weights, counts, model.heights(X)))
        n_left += len(held)
        if n_left >= enough:
            break
    columns: list[Any] = list(zip(*found, strict=True))
    heights = columns.pop()
    order = np.argsort(np.concatenate(columns[0]), kind="stable")
    is_projected = all(part is not None for part in heights)
    parts: list[Any] = [np.concatenate(part)[order] for part in columns]
    parts.append(np.concatenate(heights)[order] if is_projected else None)
    return LeftOut(*parts)


def fold_shares(rows: Rows) -> list[Floats]:
    """Return the share of every row that each fold leaves out.

    The samples of each class are dealt out in the order of the hashes of their rows. Equal samples are
    dealt out like different ones, because calibration refers to the data as they are.
    """
    labeled = np.flatnonzero(rows.is_labeled)
    ordered = labeled[np.lexsort([rows.keys[labeled], rows.codes[labeled]])]
    counts = np.maximum(np.ceil(rows.counts[ordered] - 1e-9), 1.0)
    # A row of so many samples gives some to every fold. More than one for each fold change no share.
    counts = np.where(counts > FOLDS, FOLDS, counts).astype(np.intp)
    fold = np.arange(counts.sum()) % FOLDS
    dealt = np.zeros((len(rows), FOLDS))
    np.add.at(dealt, (np.repeat(ordered, counts), fold), 1.0 / np.repeat(counts, counts))
    return [lost for lost in dealt.T if lost.any()]


def gain_of_one(P: Floats, G: Floats, c: Floats, codes: Ints, whole: Floats, outside: Floats) -> float:
    """Return the approximate factor by which s − π of a class grows if it has one sample more.

    From leaving out two samples of a class. With s_i of row i by the model without i, and s_ij by the
    model without i and j, it is 2 − Σ s_ij/Σ s_i, not below 1 and not above 2. ``P`` are kernel values
    of the left-out rows times columns of G⁻¹, ``G`` these columns at the rows, ``c`` their coefficients.
    """
    if len(codes) == 0:
        return 1.0
    others = np.bincount(codes)[codes] - 1
    d = G.diagonal()
    p = P.diagonal()
    i, j = np.nonzero((codes[:, np.newaxis] == codes) & ~np.eye(len(codes), dtype=bool))
    g, k = G[i, j], P[i, j]
    less = (d[j] * p[i] - g * k) * c[i] + (d[i] * k - g * p[i]) * c[j]
    lost = np.bincount(i, less / (d[i] * d[j] - g**2), len(codes))
    several = others > 0
    one = float(outside[several].sum())
    two = float((whole - lost / np.maximum(others, 1))[several].sum())
    return float(np.clip(2.0 - two / one, 1.0, 2.0)) if one > 0.0 else 1.0


@dataclass(frozen=True)
class Neighbors:
    """Labeled rows in the embedding for the rule of the nearest sample.

    If equal rows have different classes, the class with the largest weight is used. ``rows`` are the
    positions of the labeled rows among all rows, ascending, and ``per_sample`` of them belong to one
    sample.
    """

    embedding: Floats
    codes: Ints
    places: Ints
    weights: Floats
    rows: Ints
    per_sample: int = 1

    def scores(self, classes: NDArray[Any]) -> Scores:
        """Return the decision. Rows that do not decide are used only if their class has no others."""
        decisive = self.decisive
        is_hidden = ~np.isin(self.codes, self.codes[decisive])
        used = np.flatnonzero(decisive | is_hidden)
        found = Scores.nearest(classes, self.embedding[used], self.codes[used])
        hidden = is_hidden[used][np.argsort(self.codes[used], kind="stable")]
        # Lower by more than rounding, so that the row of the decisive class at the same place wins.
        margin = TIE * max(1.0, float(np.abs(found.offsets).max()))
        return replace(found, offsets=found.offsets - margin * hidden)

    @property
    def decisive(self) -> NDArray[np.bool_]:
        """Return which rows are used, one class for every place."""
        pairs = self.places * (int(self.codes.max()) + 1) + self.codes
        _, group = np.unique(pairs, return_inverse=True)
        weights = np.bincount(group, self.weights)[group]  # equal rows of a class together
        order = np.lexsort([self.codes, -weights, self.places])
        best = order[np.unique(self.places[order], return_index=True)[1]]
        winner = np.full(int(self.places.max()) + 1, -1)
        winner[self.places[best]] = self.codes[best]
        return np.asarray(winner[self.places] == self.codes)

    def left_out(self, F: Floats, rows: Ints, removed: Floats) -> Floats:
        """Return −‖f − y‖² to the nearest row y of every class, for some samples that are left out.

        ``F`` are their positions by the model without them, ``rows`` their first rows, and ``removed``
        the weights that each of their rows loses.
        """
        n_classes, order = int(self.codes.max()) + 1, np.argsort(self.codes, kind="stable")
        by_place = np.argsort(self.places, kind="stable")
        ordered = self.places[by_place]
        near = squared_distances(F, self.embedding)
        D2 = near + np.where(self.decisive, 0.0, np.inf)
        for i, first in enumerate(np.searchsorted(self.rows, rows)):
            own = np.arange(first, first + self.per_sample)
            for place in np.unique(self.places[own]):
                ends = np.searchsorted(ordered, [place, place + 1])
                together = by_place[slice(*ends)]
                lost = removed[i] * np.isin(together, own).sum()
                rest = self._winner(together, self.codes[first], lost)
                D2[i, together] = np.where(self.codes[together] == rest, near[i, together], np.inf)
        starts = np.searchsorted(self.codes[order], np.arange(n_classes))
        return np.asarray(-np.minimum.reduceat(D2[:, order], starts, axis=1))

    def _winner(self, together: Ints, code: int, lost: float) -> int:
        """Return the class of a place without one sample, or −1 if no sample is left."""
        weights = np.bincount(self.codes[together], self.weights[together], int(self.codes.max()) + 1)
        rest = weights[code] - lost
        weights[code] = rest if rest > 1e-9 * weights[code] else 0.0
        return int(weights.argmax()) if weights.any() else -1


def _of(
    rows: Rows, left: Ints, values: Floats, heights: Floats | None = None, gain: float = 1.0
) -> LeftOut:
    return LeftOut(left, rows.codes[left], values, rows.weights[left], rows.counts[left], heights, gain)


def _kept(rows: Rows, smoothness: float, left: Ints) -> Floats:
    """Return (w − r)/(λr), which is zero for rows that stand for one sample."""
    weights, removed = rows.weights[left], rows.removed[left]
    return np.asarray((weights - removed) / (smoothness * removed))
