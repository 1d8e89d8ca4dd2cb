"""More samples later, and samples taken away again: the regression by the sums that it keeps.

With given centres, metric and width the class scores depend on the training samples only through

    K'WK,   K'W times the class indicators,   the weight of every class        (`nsse.ridge`),

which are sums over samples. So a chunk of samples is learned by adding its sums and forgotten by taking
them away, and the model after many chunks is the model of one fit to all of them. A new class is one
more column. Some samples, evenly from all that came, stay: they are left out one by one for the
probabilities, and are the training samples that figures show. Memory is that of the centres and these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import validate_data

from nsse._support.arrays import is_dask
from nsse._support.errors import listed, rule_error, rule_message
from nsse._support.types import Bools, Floats, Ints
from nsse.kernels import squared_distances
from nsse.maps import GaussianMap
from nsse.ridge import LEFT_OUT_ALL, KernelSums, Ridge, Sums, independent_centers
from nsse.rows import Rows, Source, encoded, stacked

# Rows that are expected to come, at least, when the centres are looked at for rounding.
EXPECTED = 100_000
# A class with less than this share of all weight is gone; rows nearer than this many σ are the same.
NOTHING, SAME_PLACE = 1e-9, 1e-6
MODEL_CURE = (
    "Save it with `updatable=True`; or begin with `partial_fit`, whose first samples choose centres."
)


@dataclass(frozen=True, eq=False)
class Updates:
    """What a model keeps of the samples that it has learned.

    Attributes
    ----------
    sums : Sums
        Of all samples, over the centres of the map.
    rows : ndarray or sparse matrix of shape (n_kept, n_outputs of the metric)
        Some of the samples, with their augmented copies, in the metric.
    codes, weights : ndarrays of shape (n_kept,)
        Their classes and weights.
    every, n_came, per_sample : int
        One sample in so many is kept, of so many that came; rows of one sample.
    """

    sums: Sums
    rows: Any
    codes: Ints
    weights: Floats
    every: int = 1
    n_came: int = 0
    per_sample: int = 1

    @classmethod
    def begun(cls, model: Any) -> tuple[Updates, GaussianMap]:
        """Of a fitted model, and its map; of an exact one, with independent centres."""
        learned, f = getattr(model, "_learned", None), model.map_
        if learned is None:
            raise rule_error("model", "keep the sums of its samples", "one that does not", MODEL_CURE)
        if isinstance(learned, Updates):
            return learned, f
        codes, weights, per_sample = learned  # of the centres
        near = _held(f.centers, model.scores_.classes, codes, weights, per_sample)
        centers, _ = independent_centers(f.kernel, f.centers, EXPECTED, float(model.smoothness))
        f = replace(f, centers=centers, coef=f.coef[: centers.shape[0]])
        return cls.of(near, _sums(near, f, near.classes)), f

    def fits(self, f: GaussianMap, n_classes: int) -> bool:
        """Whether these can be sums over the centres of a map, of so many classes."""
        shapes = *self.sums.by_class.shape, self.rows.shape[1]
        fits = shapes == (len(f.coef), n_classes, f.metric.n_outputs)
        fits = fits and 0 <= self.codes.min() <= self.codes.max() < n_classes
        counts = self.every, self.n_came, self.per_sample
        fits = fits and all(type(count) is int and count > 0 for count in counts)
        return bool(fits and self.sums.sizes.min() > 0 and self.weights.min() > 0)

    @classmethod
    def of(cls, near: Rows, sums: Any) -> Updates:
        """Of rows with their sums."""
        every, n_samples = 1, len(near) // near.per_sample
        while -(-n_samples // every) > LEFT_OUT_ALL:  # no more is read than is kept
            every *= 2
        start = cls(sums, None, near.codes[:0], near.weights[:0], every=every)
        return start._with_some(near, np.arange(len(near.classes)))

    def added(self, near: Rows, f: GaussianMap, classes: Any) -> tuple[Updates, Any]:
        """With the rows of a chunk, and all classes then."""
        every = np.union1d(classes, near.classes)
        kept = self._among(classes, every)._with_some(near, np.searchsorted(every, near.classes))
        return replace(kept, sums=kept.sums + _sums(near, f, every)), every

    def without(self, near: Rows, f: GaussianMap, classes: Any) -> tuple[Updates, Any]:
        """Without the rows of a chunk, and the classes that are left."""
        gone, had = _sums(near, f, classes), self.sums.sizes
        left, least = had - gone.sizes, NOTHING * float(had.sum())
        if left.min() < -least:
            code = int(left.argmin())
            raise not_learned(
                f"weight {gone.sizes[code]:.6g} of class {classes[code]!r}, which has {had[code]:.6g}"
            )
        stays = left > least
        if stays.sum() < 2:
            cure = "An embedding separates classes: forget fewer samples."
            got = f"samples without which {int(stays.sum())} would be left"
            raise rule_error("X", "leave at least two classes", got, cure)
        kept = self._without_some(near, np.searchsorted(classes, near.classes), f)
        kept = replace(kept, sums=kept.sums - gone)
        return kept._among(classes, classes[stays]), classes[stays]

    def solved(self, f: GaussianMap, smoothness: float, classes: Any) -> tuple[Ridge, Rows]:
        """The regression by the sums, and the samples that were kept."""
        near = _held(self.rows, classes, self.codes, self.weights, self.per_sample)
        K = f.kernel.between(f.centers, f.centers)
        R = linalg.cholesky(K, overwrite_a=True, check_finite=False)
        return Ridge.of_sums(self.sums, near, f.centers, R, f.kernel, smoothness), near

    def _among(self, before: Any, after: Any) -> Updates:
        """The same for other classes; samples of classes that are gone are not kept."""
        place, stays = np.searchsorted(after, before), np.isin(before, after)
        by_class, sizes = np.zeros((len(self.sums.products), len(after))), np.zeros(len(after))
        by_class[:, place[stays]] = self.sums.by_class[:, stays]
        sizes[place[stays]] = self.sums.sizes[stays]
        kept = self._where(stays[self.codes])
        sums = replace(self.sums, by_class=by_class, sizes=sizes)
        return replace(kept, sums=sums, codes=place[kept.codes].astype(np.intp))

    def _with_some(self, near: Rows, place: Ints) -> Updates:
        """With one sample in so many of a chunk; beyond `LEFT_OUT_ALL` in all, half as many."""
        n_samples = len(near) // near.per_sample
        first = np.arange(-self.n_came % self.every, n_samples, self.every)
        which = (first[:, np.newaxis] * near.per_sample + np.arange(near.per_sample)).ravel()
        some = near.select(which)
        parts = [some.held()] if self.rows is None else [self.rows, some.held()]
        kept = replace(
            self,
            rows=stacked(parts),
            codes=np.concatenate([self.codes, place[some.codes]]).astype(np.intp),
            weights=np.concatenate([self.weights, some.weights]),
            n_came=self.n_came + n_samples,
            per_sample=near.per_sample,
        )
        while len(kept.codes) > LEFT_OUT_ALL * near.per_sample:
            kept = kept._where(np.arange(len(kept.codes)) // near.per_sample % 2 == 0)
            kept = replace(kept, every=2 * kept.every)
        return kept

    def _without_some(self, near: Rows, place: Ints, f: GaussianMap) -> Updates:
        """Without kept rows that are those of a chunk, one for one."""
        Z, codes = near.held(), place[near.codes]
        same = squared_distances(self.rows, Z) < (SAME_PLACE * f.kernel.sigma) ** 2
        same &= self.codes[:, np.newaxis] == codes
        stays = np.ones(len(self.codes), dtype=bool)
        for column in np.flatnonzero(same.any(axis=0)):
            found = np.flatnonzero(same[:, column] & stays)
            stays[found[:1]] = False
        return self._where(stays)

    def _where(self, stays: Bools) -> Updates:
        rows = self.rows[np.flatnonzero(stays)]
        return replace(self, rows=rows, codes=self.codes[stays], weights=self.weights[stays])


def not_learned(got: str) -> ValueError:
    """The error for samples that are to be forgotten and are not there."""
    cure = "Pass samples as they were learned, with their weights."
    return rule_error("X", "hold samples that were learned", got, cure)


def chunk(model: Any, X: Any, y: Any, sample_weight: Any, known: Any = None) -> Rows:
    """A chunk of samples as rows in the metric of a model; labels must be ``known`` ones, if given."""
    if not is_dask(X):
        X = validate_data(model, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
    labels = encoded(y)[0]
    own = model.scores_.classes
    if (labels.dtype.kind in "US") != (own.dtype.kind in "US"):
        cure = f"The model knows {listed([repr(label) for label in own.tolist()], 5)}."
        raise rule_error("y", "hold labels of the kind that the model has", labels.tolist()[:5], cure)
    if known is not None:
        unknown = sorted(set(labels.tolist()) - set(np.asarray(known).tolist()), key=str)
        if unknown:
            cure = f"Known are {listed([repr(label) for label in np.asarray(known).tolist()])}."
            raise rule_error("y", "hold known classes only", unknown, cure)
    weight = model.class_weight
    if weight is not None:
        weight = {label: weight[label] for label in weight if label in labels.tolist()} or None
    rows = Rows.of(Source.of(X), y, sample_weight, weight, at_least=1)
    return rows.augmented(model.augment).through(model.map_.metric)


def adds_up(model: Any) -> bool:
    """Whether samples add up with the parameters of a model; an error says which one is against it."""
    later = "for samples that come later"
    found = ""
    if model.decision != "scores":
        cure = "The nearest sample needs all samples."
        found = rule_message("decision", f'be "scores" {later}', model.decision, cure)
    elif model.unlabeled is not None:
        cure = "Fit once to all samples where some have no label."
        found = rule_message("unlabeled", f"be None {later}", model.unlabeled, cure)
    elif isinstance(model.class_weight, str):
        cure = "Pass the weights of the classes as a dict."
        found = rule_message("class_weight", f"be None or a dict {later}", model.class_weight, cure)
    if found:
        raise AttributeError(found)
    return True


def _sums(near: Rows, f: GaussianMap, classes: Any) -> Sums:
    """Sums of a chunk, classes in the order of ``classes``."""
    codes = np.searchsorted(classes, near.classes)[near.codes].astype(np.intp)
    return near.source.fold(KernelSums(f.kernel, f.centers, len(classes)), codes, near.weights)


def _held(Z: Any, classes: Any, codes: Ints, weights: Floats, per_sample: int) -> Rows:
    """Rows in memory."""
    places = np.arange(len(codes))
    return Rows(Source.of(Z), classes, codes, weights, places, (classes, codes), per_sample)
