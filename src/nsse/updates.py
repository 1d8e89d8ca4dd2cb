"""Update a fitted model by samples that are added later, and by samples that are removed.

With fixed centers, metric and width, the class scores depend on the training samples only through

    K'WK,   K'W times the class indicators,   the weight of every class        (`nsse.ridge`),

which are sums over samples. A chunk of samples is learned by adding its sums and forgotten by
subtracting them. The result equals one fit to all samples with the same centers, metric and width. A new
class is one more column.

Some of the samples are kept, evenly chosen from all that came. They are left out one by one for the
probabilities, and figures show them as training samples. Samples that came later had no influence on
metric, centers and hull, so the formula for the regression is enough for them. For samples of the first
fit, the values of that fit are kept, because it left them out of the metric as well. They are used until
enough later samples have come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from nsse._support.errors import Described, rule_error
from nsse._support.types import Bools, Floats, Ints, Matrix
from nsse.distances import squared_distances
from nsse.left_out import LEFT_OUT_ALL, LEFT_OUT_OF_METRIC, LeftOut, of_sums
from nsse.maps import KernelMap
from nsse.metrics.base import Metric
from nsse.model import Model
from nsse.ridge import KernelSums, Ridge, Sums, independent_centers
from nsse.rows import Rows
from nsse.scores import Scores
from nsse.sources import Source, stacked

# Rows that are expected to come, at least, when the centers are checked for rounding.
EXPECTED = 100_000
# A class with less than this share of all weight is gone. Rows closer than this many σ are the same.
NOTHING, SAME_PLACE = 1e-9, 1e-6
MODEL_CURE = (
    "Save it with `updatable=True`, or begin with `partial_fit`, whose first samples choose centers."
)


@dataclass(frozen=True, eq=False)
class Kept:
    """Samples that an updated model keeps, with their augmented versions.

    Attributes
    ----------
    rows : ndarray or sparse matrix of shape (n_kept, n_outputs of the metric)
        The rows behind the metric.
    codes, weights, counts : ndarrays of shape (n_kept,)
        Classes, total weights and numbers of samples of the rows.
    is_later : ndarray of shape (n_kept,)
        Whether they came after the first fit.
    values : ndarray of shape (n_kept, n_classes)
        Class scores by models of the first fit without the sample, NaN if there are none.
    heights : ndarray of shape (n_kept,)
        Squared distances from the hull of the first fit, NaN if they are not known.
    """

    rows: Matrix
    codes: Ints
    weights: Floats
    counts: Floats
    is_later: Bools
    values: Floats
    heights: Floats

    def __len__(self) -> int:
        return len(self.codes)

    def where(self, which: Bools | Ints) -> Kept:
        """Return some of them."""
        places = np.flatnonzero(which) if which.dtype == bool else which
        return Kept(*(part[places] for part in vars(self).values()))

    def with_more(self, other: Kept) -> Kept:
        """Return these, followed by others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Kept(*(stacked([first, second]) for first, second in pairs))

    def as_rows(self, classes: NDArray[Any], per_sample: int) -> Rows:
        """Return them as training rows."""
        places = np.arange(len(self))
        keys = places.astype(np.uint64)
        given = classes, self.codes
        source = Source.of(self.rows)
        parts = self.codes, self.weights, self.counts, places, keys, places
        return Rows(source, classes, *parts, given, per_sample)


@dataclass(frozen=True, eq=False)
class Begun:
    """The state of a fit whose centers are its rows. Everything else can be computed from the map.

    Attributes
    ----------
    codes, weights, counts : ndarrays of shape (n_centers,)
        Classes, total weights and numbers of samples of the rows.
    per_sample : int
        Rows of one sample.
    left : LeftOut
        Values of left-out samples.
    """

    codes: Ints
    weights: Floats
    counts: Floats
    per_sample: int
    left: LeftOut

    def kept(self, f: KernelMap, n_classes: int) -> Kept:
        """Return the rows as kept samples."""
        values, heights = spread_over(self.left, len(self.codes), n_classes, self.per_sample)
        is_later = np.zeros(len(self.codes), dtype=bool)
        return Kept(f.centers, self.codes, self.weights, self.counts, is_later, values, heights)


@dataclass(frozen=True, eq=False)
class Updates:
    """The sums over the samples that a model has learned from.

    Attributes
    ----------
    sums : Sums
        Sums of all samples over the centers of the map.
    kept : Kept
        Some of the samples.
    every, n_came, per_sample : int
        One sample in ``every`` is kept of the ``n_came`` that came. A sample has ``per_sample`` rows.
    """

    sums: Sums
    kept: Kept
    every: int = 1
    n_came: int = 0
    per_sample: int = 1

    @classmethod
    def begun(cls, model: Any) -> tuple[Updates, KernelMap]:
        """Return what a fitted model keeps and its map. An exact one gets independent centers."""
        learned, f = getattr(model, "_learned", None), model.map_
        if learned is None:
            raise rule_error(
                "model", "keep the sums of its samples", Described("one that does not"), MODEL_CURE
            )
        if isinstance(learned, Updates):
            return learned, f
        classes = model.scores_.classes
        kept, p = learned.kept(f, len(classes)), learned.per_sample
        near = kept.as_rows(classes, p)
        centers, _ = independent_centers(f.kernel, f.centers, EXPECTED, float(model.smoothness))
        f = replace(f, centers=centers, coef=f.coef[: centers.shape[0]])
        return cls(_sums(near, f, classes), kept, 1, len(kept) // p, p)._thinned(), f

    @classmethod
    def of_sums(cls, model: Model, found: LeftOut) -> Updates | None:
        """Return what a fit with centers keeps, or None if its samples do not add up to a model."""
        near, sums = model.rows, model.ridge.sums
        if sums is None:
            return None
        every, p = 1, near.per_sample
        while -(-len(near) // p // every) > LEFT_OUT_ALL:  # no more is read than is kept
            every *= 2
        which = together(np.arange(0, len(near) // p, every), p)
        values, heights = spread_over(found, len(near), len(near.classes), p)
        some = near.select(which)
        kept = Kept(
            some.held(),
            some.codes,
            some.weights,
            some.counts,
            np.zeros(len(some), dtype=bool),
            values[which],
            heights[which],
        )
        return cls(sums, kept, every, len(near) // p, p)

    def fits(self, f: KernelMap, n_classes: int) -> bool:
        """Return whether these can be sums over the centers of a map, of so many classes."""
        kept, sums = self.kept, self.sums
        shapes = *sums.by_class.shape, kept.rows.shape[1], kept.values.shape[1]
        fits = shapes == (len(f.coef), n_classes, f.metric.n_outputs, n_classes)
        fits = fits and 0 <= kept.codes.min() <= kept.codes.max() < n_classes
        counts = self.every, self.n_came, self.per_sample
        fits = fits and all(type(count) is int and count > 0 for count in counts)
        return bool(fits and sums.sizes.min() > 0 and kept.weights.min() > 0 and kept.counts.min() > 0)

    def added(
        self, near: Rows, f: KernelMap, classes: NDArray[Any], metric: Metric
    ) -> tuple[Updates, NDArray[Any]]:
        """Return these with the rows of a chunk, and all classes."""
        every = np.union1d(classes, near.classes)
        place = np.searchsorted(every, near.classes)
        found = self._among(classes, every)._with_some(near, place, f, metric)
        return replace(found, sums=found.sums + _sums(near, f, every)), every

    def without(self, near: Rows, f: KernelMap, classes: NDArray[Any]) -> tuple[Updates, NDArray[Any]]:
        """Return these without the rows of a chunk, and the classes that are left."""
        gone, had = _sums(near, f, classes), self.sums.sizes
        left, least = had - gone.sizes, NOTHING * float(had.sum())
        if left.min() < -least:
            code = int(left.argmin())
            got = Described(
                f"weight {gone.sizes[code]:.6g} of class {classes[code]!r}, which has {had[code]:.6g}"
            )
            raise not_learned(got)
        stays = left > least
        if stays.sum() < 2:
            cure = "An embedding separates classes. Forget fewer samples."
            got = Described(f"samples without which {int(stays.sum())} would be left")
            raise rule_error("X", "leave at least two classes", got, cure)
        found = self._without_some(near, np.searchsorted(classes, near.classes), f)
        found = replace(found, sums=found.sums - gone)
        return found._among(classes, classes[stays]), classes[stays]

    def solved(self, f: KernelMap, smoothness: float) -> Ridge:
        """Solve the regression by the sums."""
        K = f.kernel.between(f.centers, f.centers)
        R = linalg.cholesky(K, overwrite_a=True, check_finite=False)
        return Ridge.of_sums(self.sums, f.centers, R, f.kernel, smoothness)

    def left_out(self, near: Rows, ridge: Ridge) -> LeftOut:
        """Return class scores of kept samples by models without them. ``near`` are the kept samples."""
        kept, p = self.kept, self.per_sample
        first = np.arange(0, len(kept), p)
        later = first[kept.is_later[first]]
        known = first[~kept.is_later[first] & np.isfinite(kept.values[first, 0])]
        if len(later) >= LEFT_OUT_OF_METRIC:
            known = known[:0]
        if len(later) + len(known) == 0:  # all samples that the first fit left out have been forgotten
            later = first
        found = of_sums(near, ridge, together(later // p, p))
        rows = np.concatenate([found.rows, known])
        heights = kept.heights[rows]
        return LeftOut(
            rows // p,
            kept.codes[rows],
            np.concatenate([found.values, kept.values[known]]),
            kept.weights[rows],
            kept.counts[rows],
            heights if np.isfinite(heights).all() else None,
        )

    def left_out_scores(self, near: Rows, ridge: Ridge) -> Floats:
        """Return class scores of all kept samples by models without them.

        Samples that the first fit did not leave out of its metric leave the regression alone.
        """
        every = of_sums(near, ridge, np.arange(len(near))).values
        some = self.left_out(near, ridge)
        every[some.rows] = some.values
        return np.asarray(every)

    def positions(self, f: KernelMap, scores: Scores, smoothness: float) -> Floats:
        """Return the positions of all kept samples by models without them."""
        near = self.kept.as_rows(scores.classes, self.per_sample)
        found = self.left_out_scores(near, self.solved(f, smoothness))
        return np.asarray((found - scores.offsets) @ scores.weights)

    def _among(self, before: NDArray[Any], after: NDArray[Any]) -> Updates:
        """Return the same for other classes. Samples of removed classes are left out."""
        place, stays = np.searchsorted(after, before), np.isin(before, after)
        by_class, sizes = np.zeros((len(self.sums.products), len(after))), np.zeros(len(after))
        by_class[:, place[stays]] = self.sums.by_class[:, stays]
        sizes[place[stays]] = self.sums.sizes[stays]
        kept = self.kept.where(stays[self.kept.codes])
        # A class that the first fit did not know has a share of zero in its scores.
        values = np.where(np.isnan(kept.values[:, :1]), np.nan, np.zeros((len(kept), len(after))))
        values[:, place[stays]] = kept.values[:, stays]
        kept = replace(kept, codes=place[kept.codes].astype(np.intp), values=values)
        return replace(self, sums=replace(self.sums, by_class=by_class, sizes=sizes), kept=kept)

    def _with_some(self, near: Rows, place: Ints, f: KernelMap, metric: Metric) -> Updates:
        """Return these with one sample in so many of a later chunk."""
        p, n_samples = near.per_sample, len(near) // near.per_sample
        which = together(np.arange(-self.n_came % self.every, n_samples, self.every), p)
        some, kept = near.select(which), self.kept
        heights = np.full(len(some), np.nan)
        if np.isfinite(kept.heights).any():
            heights = metric.heights(f.metric, near.source.base.take(which))
        more = Kept(
            some.held(),
            place[some.codes].astype(np.intp),
            some.weights,
            some.counts,
            np.ones(len(some), dtype=bool),
            np.full((len(some), kept.values.shape[1]), np.nan),
            heights,
        )
        found = replace(self, kept=kept.with_more(more), n_came=self.n_came + n_samples)
        return found._thinned()

    def _thinned(self) -> Updates:
        """Return these with half of the samples, as often as there are too many."""
        found = self
        while len(found.kept) > LEFT_OUT_ALL * self.per_sample:
            is_even = np.arange(len(found.kept)) // self.per_sample % 2 == 0
            found = replace(found, kept=found.kept.where(is_even), every=2 * found.every)
        return found

    def _without_some(self, near: Rows, place: Ints, f: KernelMap) -> Updates:
        """Return these without the kept rows of a chunk, which must be there if all are kept."""
        kept = self.kept
        Z = near.held()
        codes = place[near.codes]
        same = squared_distances(kept.rows, Z) < (SAME_PLACE * f.kernel.sigma) ** 2
        same &= kept.codes[:, np.newaxis] == codes
        shares = np.ones(len(kept))
        for column, count in enumerate(near.counts):
            for row in np.flatnonzero(same[:, column]):
                taken = min(count, shares[row] * kept.counts[row])
                shares[row] -= taken / kept.counts[row]
                count -= taken
            if self.every == 1 and count > NOTHING * near.counts[column]:
                raise not_learned("a sample that was not learned, or that has another label")
        shares[shares < NOTHING] = 0.0
        left = replace(kept, weights=kept.weights * shares, counts=kept.counts * shares)
        return replace(self, kept=left.where(shares > 0.0))


def begun(model: Model, found: LeftOut) -> Begun | Updates | None:
    """Return what a fit keeps for later samples, or None if they cannot be added."""
    near = model.rows
    if model.ridge.fitted is None:
        return Updates.of_sums(model, found)
    return Begun(near.codes, near.weights, near.counts, near.per_sample, found)


def spread_over(found: LeftOut, n_rows: int, n_classes: int, per_sample: int) -> tuple[Floats, Floats]:
    """Return the values and heights of left-out samples with one entry per row, NaN elsewhere."""
    values, heights = np.full((n_rows, n_classes), np.nan), np.full(n_rows, np.nan)
    first = found.rows * per_sample
    values[first] = found.values
    if found.heights is not None:
        heights[first] = found.heights
    return values, heights


def together(samples: Ints, per_sample: int) -> Ints:
    """Return the rows of some samples."""
    return np.asarray((samples[:, np.newaxis] * per_sample + np.arange(per_sample)).ravel())


def not_learned(got: str) -> ValueError:
    """Return the error for samples that are to be forgotten but were never learned."""
    cure = "Pass samples as they were learned, with their weights."
    return rule_error("X", "hold samples that were learned", got, cure)


def _sums(near: Rows, f: KernelMap, classes: NDArray[Any]) -> Sums:
    """Return the sums of a chunk, with classes in the order of ``classes``."""
    codes = np.searchsorted(classes, near.classes)[near.codes].astype(np.intp)
    return near.source.fold(KernelSums(f.kernel, f.centers, len(classes)), codes, near.weights)
