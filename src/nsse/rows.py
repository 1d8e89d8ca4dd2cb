"""Represent training rows with their classes and weights.

Equal samples of a class are one row, so that a sample of weight w is the same as w equal samples by
construction. A row stores how many samples it stands for and, separately, their total weight, because
leaving a sample out removes one sample and not the whole row. Augmented samples are more rows of the
same class. A metric is a function of rows. No other module depends on where the rows are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import Described, listed, rule_error
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike, WeightsLike
from nsse.affine import Affine, is_sparse
from nsse.equal_rows import equal_rows, row_hashes
from nsse.labels import checked_weights, class_factors, encoded, present_classes
from nsse.sources import MappedSource, Source

# Attributes with one entry per row.
BY_ROW = ("codes", "weights", "counts", "places", "keys")


@dataclass(frozen=True)
class Rows:
    """Training rows, each with its class (or none), its number of samples and its weight.

    Attributes
    ----------
    source : Source
        Reads them.
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    codes : ndarray of shape (n_rows,)
        Class of every row, −1 if it has no label.
    weights : ndarray of shape (n_rows,)
        Total weight of the samples that a row stands for.
    counts : ndarray of shape (n_rows,)
        Number of these samples, which is the sum of their `sample_weight`. Class weights do not count.
    places : ndarray of shape (n_rows,)
        The same number for equal rows, which differ in their classes. Augmented rows have the number
        of their sample, until `placed` compares them.
    keys : ndarray of shape (n_rows,)
        Hashes that order the rows independently of the order in which they came.
    given : ndarray of shape (n_samples,)
        The row of every sample, −1 if its weight is zero. Augmented rows are not counted.
    labels : tuple of ndarrays
        All classes as the user gave them, and the class of every sample, −1 if it has no label.
    per_sample : int
        Number of rows of one sample, which are itself and its augmented versions, one after the other.
    """

    source: Any
    classes: NDArray[Any]
    codes: Ints
    weights: Floats
    counts: Floats
    places: Ints
    keys: NDArray[np.uint64]
    given: Ints
    labels: tuple[NDArray[Any], Ints]
    per_sample: int = 1

    @classmethod
    def of(
        cls,
        source: Any,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        class_weight: Any = None,
        marker: Any = None,
        at_least: int = 2,
    ) -> Rows:
        """Join equal samples of at least so many classes. ``marker`` stands for a missing label."""
        labels = classes, codes = encoded(y, marker)
        if len(codes) != len(source):
            rule = f"have one label for each of the {len(source)} samples"
            raise rule_error(
                "y", rule, Described(f"{len(codes)} labels"), "Check that X and y belong together."
            )
        counts = checked_weights(sample_weight, len(codes))
        if not counts.all():
            classes, codes = present_classes(classes, codes, counts)
        factors = np.ones(len(codes))
        if class_weight is not None:
            factors = class_factors(class_weight, classes, codes, counts)
        if len(classes) < at_least:
            got = Described(
                f"{len(classes)} class ({listed([repr(label) for label in classes.tolist()])})"
            )
            cure = "An embedding separates classes. Add samples of another class."
            raise rule_error("y", "have at least two classes", got, cure)
        place, keys = equal_rows(source, counts > 0)
        first, given = joined(place, codes)
        source = source if len(first) == len(source) else source.select(first)
        return cls(
            source=source,
            classes=classes,
            codes=codes[first],
            weights=summed(given, counts * factors, len(first)),
            counts=summed(given, counts, len(first)),
            places=place[first],
            keys=keys[first],
            given=given,
            labels=labels,
        )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_labeled(self) -> Bools:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def sizes(self) -> Floats:
        """Weight of every class."""
        known = self.is_labeled
        sizes = np.bincount(self.codes[known], self.weights[known], len(self.classes))
        return np.asarray(sizes, dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """π, the share of every class in the weight of all labeled rows."""
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def removed(self) -> Floats:
        """Weight that every row loses when one of its samples is left out, or all of it."""
        return np.asarray(self.weights / np.maximum(self.counts, 1.0))

    def indicators(self) -> Floats:
        """Return e_c of every row, with one column per class. It is zero for rows without a label."""
        return indicators(self.codes, len(self.classes))

    def augmented(self, augment: Callable[..., Any] | None) -> Rows:
        """Return these rows, each followed by its augmented versions. None makes none."""
        if augment is None:
            return self
        expand = Expansion(augment)
        factor = len(expand(self.source.take(np.arange(1))))
        source = MappedSource(self.source, expand, self.source.n_features, False, factor)
        by_row: dict[str, Any] = {name: np.repeat(getattr(self, name), factor) for name in BY_ROW}
        return replace(self, source=source, per_sample=factor, **by_row)

    def placed(self) -> Rows:
        """Return these rows with one place for all equal rows, augmented rows included."""
        if self.per_sample == 1:
            return self
        places = np.arange(len(self))
        _, group, sizes = np.unique(
            self.source.apply(row_hashes), return_inverse=True, return_counts=True
        )
        several = np.flatnonzero(sizes[group] > 1)
        if len(several):  # no others need to be in memory
            rows = Source.of(self.source.take(several))
            places[several] = several[equal_rows(rows, np.ones(len(several), dtype=bool))[0]]
        return replace(self, places=places)

    def select(self, positions: Ints) -> Rows:
        """Return some of the rows, by ascending position, in memory."""
        by_row: dict[str, Any] = {name: getattr(self, name)[positions] for name in BY_ROW}
        return replace(self, source=Source.of(self.source.take(positions)), **by_row)

    def without(self, lost: Floats) -> Rows:
        """Return these rows without a share of the samples of each. Rows that lose all of them go."""
        kept = np.flatnonzero(lost < 1.0)
        weights, counts = self.weights * (1.0 - lost), self.counts * (1.0 - lost)
        place = np.where(lost < 1.0, np.cumsum(lost < 1.0) - 1, -1)
        given = np.append(place, -1)[self.given]
        classes, codes = present_classes(self.classes, self.codes, weights)
        found = replace(self, classes=classes, codes=codes, weights=weights, counts=counts, given=given)
        by_row: dict[str, Any] = {name: getattr(found, name)[kept] for name in BY_ROW}
        return replace(found, source=self.source.select(kept), **by_row)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Rows:
        """Return at most this number of labeled samples with all their rows, stratified, in memory."""
        places = np.flatnonzero(self.is_labeled[:: self.per_sample]) * self.per_sample
        if len(places) * self.per_sample == len(self) and len(places) <= n_rows:
            return self
        if len(places) > n_rows:
            places = places[stratified(self.codes[places], n_rows, rng)]
        together = places[:, np.newaxis] + np.arange(self.per_sample)
        return self.select(together.ravel())

    def through(self, affine: Affine) -> Rows:
        """Return the same rows behind an affine map."""
        is_sparse = self.source.is_sparse and affine.keeps_sparse
        return replace(self, source=MappedSource(self.source, affine, len(affine.offset), is_sparse))

    def held(self) -> Any:
        """Return all rows in memory."""
        return self.source.take(np.arange(len(self)))


def indicators(codes: Ints, n_classes: int) -> Floats:
    """Return e_c of every code, zeros for −1."""
    return np.eye(n_classes + 1)[codes, :-1]  # −1 is the last row, of zeros


def summed(groups: Ints, values: Floats, n_groups: int) -> Floats:
    """Return the sum of the values of every group. Group −1 is none."""
    used = groups >= 0
    return np.asarray(np.bincount(groups[used], values[used], n_groups), dtype=np.float64)


def joined(places: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """Return the first sample of every row, ascending, and the row of every sample.

    The samples of a row are equal and of one class. A sample without a place belongs to no row, −1.
    """
    used = np.flatnonzero(places >= 0)
    keys = places[used] * (codes.max() + 2) + codes[used] + 1
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)  # rows in the order of their first samples
    rank[np.argsort(first)] = np.arange(len(first))
    given = np.full(len(places), -1, dtype=np.intp)
    given[used] = rank[group.ravel()]
    return used[np.sort(first)], given


@dataclass(frozen=True)
class Expansion:
    """Store every row followed by its augmented versions."""

    augment: Callable[[Any], Any]

    def __call__(self, X: SamplesLike) -> NDArray[Any]:
        """Return rows and their augmented versions, with the versions of a row next to it."""
        if is_sparse(X):
            cure = "Make the rows dense (`X.toarray()`), or leave `augment` None."
            raise rule_error("augment", "be None for sparse samples", Described("sparse samples"), cure)
        copies = [np.asarray(copy) for copy in self.augment(X)]
        for copy in copies:
            if copy.shape != X.shape or not np.all(np.isfinite(copy)):
                cure = "Return a sequence of finite arrays, a copy of every row in each."
                rule = f"give copies of the shape of the rows, {X.shape}, without NaN"
                raise rule_error("augment", rule, copy.shape, cure)
        return np.stack([X, *copies], axis=1).reshape(-1, X.shape[1])


def stratified(codes: Ints, n_rows: int, rng: np.random.Generator) -> Ints:
    """Return places of a subsample with the same class proportions, at least two of each class."""
    counts = np.bincount(codes)
    wanted = np.maximum(np.round(n_rows * counts / len(codes)), 2).astype(np.intp)
    return drawn(codes, np.minimum(wanted, counts), rng)


def drawn(codes: Ints, shares: Ints, rng: np.random.Generator) -> Ints:
    """Return places of this number of rows of every class, ascending."""
    found = [
        rng.choice(np.flatnonzero(codes == c), share, replace=False)
        for c, share in enumerate(shares)
        if share
    ]
    return np.sort(np.concatenate(found)).astype(np.intp)
