"""Training samples as rows: arrays, sparse matrices, memory maps, blocks, Dask, read in one way.

A `Source` reads rows; `Rows` knows what they are: their classes and weights. Equal rows of a class are
one row with the sum of their weights, whatever the source, so that a weight w is w copies by
construction. Augmented copies are more rows of the same class; a metric in front is a function of rows.
Nothing behind `Rows` asks where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from nsse._support.arrays import is_dask
from nsse._support.errors import listed, rule_error, rule_message
from nsse._support.types import Bools, Floats, Ints
from nsse.affine import is_sparse

RowFunction = Callable[[Any], Any]

BLOCK_ROWS = 2048
# Features that tell nearly all rows apart, and what the classes are mixed in by.
FEW_FEATURES, ODD = 48, np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Source:
    """Rows of an array, dense, sparse or memory-mapped; what other sources are read like.

    ``places`` are the rows in use, ascending: others are passed over.
    """

    X: Any
    places: Ints
    n_features: int
    is_sparse: bool

    @staticmethod
    def of(X: Any) -> Source:
        """All rows of checked samples: of an array, or of a Dask array."""
        if is_dask(X):
            return DaskSource.checked(X)
        return Source(X, np.arange(X.shape[0]), int(X.shape[1]), is_sparse(X))

    def __len__(self) -> int:
        return len(self.places)

    def select(self, positions: Ints) -> Self:
        """Some of the rows in use, by ascending position."""
        return replace(self, places=self.places[positions])

    def take(self, positions: Ints) -> Any:
        """Some of the rows in use, by ascending position, in memory."""
        chosen = self.places[positions]
        return self.X if len(chosen) == self.X.shape[0] else self.X[chosen]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Rows in use, some at a time, with their positions."""
        done = 0
        for start, X in self._read():
            stop = int(np.searchsorted(self.places, start + X.shape[0]))
            if stop > done:
                chosen = self.places[done:stop] - start
                yield slice(done, stop), X if len(chosen) == X.shape[0] else X[chosen]
            done = stop

    def fold(self, function: Callable[..., Any], *by_row: NDArray[Any]) -> Any:
        """Σ of a function of a block of rows and of its part of arrays with one entry per row.

        The function is given the sum so far, None at first, and adds to it in place.
        """
        total = None
        for part, X in self.blocks():
            total = function(X, *(a[part] for a in by_row), total=total)
        return total

    def apply(self, function: RowFunction) -> Any:
        """A function of rows, block by block, its values one below the other."""
        parts = [function(X) for _, X in self.blocks()]
        return parts[0] if len(parts) == 1 else stacked(parts)

    def _read(self) -> Iterator[tuple[int, Any]]:
        for start in range(0, self.X.shape[0], BLOCK_ROWS):
            yield start, self.X[start : start + BLOCK_ROWS]


@dataclass(frozen=True)
class BlockSource(Source):
    """Rows of blocks that can be read several times; ``X`` is the function that begins to read them."""

    def take(self, positions: Ints) -> Any:
        """Some of the rows in use, by ascending position, in memory."""
        return stacked([X for _, X in self.select(positions).blocks()])

    def _read(self) -> Iterator[tuple[int, Any]]:
        start = 0
        for X, _ in checked_blocks(self.X(), self.n_features):
            yield start, X
            start += X.shape[0]


@dataclass(frozen=True)
class DaskSource(Source):
    """Rows of a Dask array: functions of a block run where it is, and their sums meet in a tree."""

    @classmethod
    def checked(cls, X: Any) -> DaskSource:
        """Check what can be checked without computing anything."""
        if not hasattr(X, "chunks") or X.ndim != 2:
            cure = "Of a data frame take `X.to_dask_array(lengths=True)`."
            raise rule_error("X", "be a Dask *array* with two dimensions", type(X).__name__, cure)
        if np.isnan(X.shape).any():
            cure = "Call `X.compute_chunk_sizes()` first."
            raise rule_error("X", "have chunks of known size", X.shape, cure)
        # Whether blocks are sparse, as far as Dask knows.
        sparse_blocks = hasattr(X._meta, "tocsr")
        return cls(X.rechunk({1: -1}), np.arange(X.shape[0]), int(X.shape[1]), sparse_blocks)

    def take(self, positions: Ints) -> Any:
        """Some of the rows in use, by ascending position, in memory."""
        return stacked(_computed([X for _, X in self.select(positions)._tasks()]))

    def fold(self, function: Callable[..., Any], *by_row: NDArray[Any]) -> Any:
        """Σ of a function of the rows of every chunk, two by two."""
        dask = _dask()
        function = dask.delayed(function, pure=False)
        sums = [
            dask.delayed(_call)(function, X, *(a[part] for a in by_row)) for part, X in self._tasks()
        ]
        while len(sums) > 1:
            pairs = [sums[i : i + 2] for i in range(0, len(sums), 2)]
            sums = [dask.delayed(add)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return _computed(sums)[0]

    def apply(self, function: RowFunction) -> Any:
        """A function of the rows of every chunk, its values one below the other."""
        dask = _dask()
        function = dask.delayed(function, pure=False)
        return stacked(_computed([dask.delayed(_call)(function, X) for _, X in self._tasks()]))

    def _tasks(self) -> Iterator[tuple[slice, Any]]:
        dask, done, start = _dask(), 0, 0
        chunks = self.X.to_delayed().ravel().tolist()
        for index, (size, chunk) in enumerate(zip(self.X.chunks[0], chunks, strict=True)):
            stop = int(np.searchsorted(self.places, start + size))
            if stop > done:
                rows = dask.delayed(checked_rows)(chunk, index, self.n_features, size)
                yield slice(done, stop), dask.delayed(_taken)(rows, self.places[done:stop] - start)
            done, start = stop, start + size


@dataclass(frozen=True)
class MappedSource:
    """A function of another source's rows: a metric, or ``factor`` rows for every one."""

    base: Any
    function: RowFunction
    n_features: int
    is_sparse: bool
    factor: int = 1

    def __len__(self) -> int:
        return len(self.base) * self.factor

    def take(self, positions: Ints) -> Any:
        """Some of the rows, by ascending position, in memory."""
        if len(positions) == len(self):
            return self.function(self.base.take(np.arange(len(self.base))))
        originals = np.unique(positions // self.factor)
        rows = self.function(self.base.take(originals))
        return rows[
            np.searchsorted(originals, positions // self.factor) * self.factor + positions % self.factor
        ]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Rows, some at a time, with their positions."""
        for part, X in self.base.blocks():
            yield slice(part.start * self.factor, part.stop * self.factor), self.function(X)

    def fold(self, function: Callable[..., Any], *by_row: NDArray[Any]) -> Any:
        """Σ of a function of a block of rows, and of what belongs to them."""
        together = [a.reshape(len(self.base), self.factor, *a.shape[1:]) for a in by_row]
        return self.base.fold(_Composed(function, self.function), *together)

    def apply(self, function: RowFunction) -> Any:
        """A function of rows, block by block, its values one below the other."""
        return self.base.apply(_Composed(function, self.function))


@dataclass(frozen=True)
class _Composed:
    """function(first(rows), …), the arrays that belong to the rows as long as these."""

    function: Callable[..., Any]
    first: RowFunction

    def __call__(self, X: Any, *by_row: NDArray[Any], **so_far: Any) -> Any:
        return self.function(self.first(X), *(a.reshape(-1, *a.shape[2:]) for a in by_row), **so_far)


@dataclass(frozen=True)
class Rows:
    """Training rows: distinct, each of a class or of none, with its weight.

    Attributes
    ----------
    source : Source
        Reads them.
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    codes : ndarray of shape (n_rows,)
        Class of every row; −1 where it has no label.
    weights : ndarray of shape (n_rows,)
        How many samples every row stands for.
    given : ndarray of shape (n_samples,)
        The row of every sample that was given, −1 where its weight is zero; copies are not counted.
    labels : tuple of ndarrays
        Labels as they were given: all classes, and the class of every sample, −1 where it has none.
    per_sample : int
        Rows of one sample: itself and its augmented copies, side by side.
    """

    source: Any
    classes: NDArray[Any]
    codes: Ints
    weights: Floats
    given: Ints
    labels: tuple[NDArray[Any], Ints]
    per_sample: int = 1

    @classmethod
    def of(
        cls,
        source: Any,
        y: Any,
        sample_weight: Any = None,
        class_weight: Any = None,
        marker: Any = None,
        at_least: int = 2,
    ) -> Rows:
        """Distinct rows, of so many classes; ``marker`` is the label of those that have none."""
        labels = classes, codes = encoded(y, marker)
        if len(codes) != len(source):
            rule = f"have one label for each of the {len(source)} samples"
            raise rule_error("y", rule, f"{len(codes)} labels", "Check that X and y belong together.")
        given = sample_weight is not None
        weights = checked_weights(sample_weight, len(codes)) if given else np.ones(len(codes))
        if not weights.all():
            classes, codes = present_classes(classes, codes, weights)
        if class_weight is not None:
            weights = weights * class_factors(class_weight, classes, codes, weights)
        first, group = distinct_rows(source, codes, weights > 0)
        summed = np.bincount(group[group >= 0], weights[group >= 0], len(first)).astype(np.float64)
        if len(classes) < at_least:
            got = f"{len(classes)} class ({listed([repr(label) for label in classes.tolist()])})"
            cure = "An embedding separates classes: give samples of another one."
            raise rule_error("y", "have at least two classes", got, cure)
        used = source if len(first) == len(source) else source.select(first)
        return cls(used, classes, codes[first], summed, group, labels)

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
        """π, the share of every class in the weight of all labelled rows."""
        return np.asarray(self.sizes / self.sizes.sum())

    def indicators(self) -> Floats:
        """e_c of every row, one column per class; zero where there is no label."""
        return np.eye(len(self.classes) + 1)[self.codes, :-1]  # −1 is the last row, of zeros

    def augmented(self, augment: Any) -> Rows:
        """These rows, each followed by its copies; None makes none."""
        if augment is None:
            return self
        expand = Expansion(augment)
        factor = len(expand(self.source.take(np.arange(1))))
        source = MappedSource(self.source, expand, self.source.n_features, False, factor)
        codes, weights = np.repeat(self.codes, factor), np.repeat(self.weights, factor)
        return replace(self, source=source, codes=codes, weights=weights, per_sample=factor)

    def select(self, positions: Ints) -> Rows:
        """Some of the rows, by ascending position, in memory."""
        source = Source.of(self.source.take(positions))
        return replace(self, source=source, codes=self.codes[positions], weights=self.weights[positions])

    def sample(self, n_rows: int, rng: np.random.Generator) -> Rows:
        """At most so many samples with a label, all their rows, stratified by class, in memory."""
        places = np.flatnonzero(self.is_labeled[:: self.per_sample]) * self.per_sample
        if len(places) * self.per_sample == len(self) and len(places) <= n_rows:
            return self
        if len(places) > n_rows:
            places = places[stratified(self.codes[places], n_rows, rng)]
        together = places[:, np.newaxis] + np.arange(self.per_sample)
        return self.select(together.ravel())

    def through(self, affine: Any) -> Rows:
        """The same rows behind an affine map."""
        is_sparse = self.source.is_sparse and affine.keeps_sparse
        return replace(self, source=MappedSource(self.source, affine, len(affine.offset), is_sparse))

    def held(self) -> Any:
        """All rows in memory."""
        return self.source.take(np.arange(len(self)))


@dataclass(frozen=True)
class Expansion:
    """Every row followed by its augmented copies."""

    augment: Callable[[Any], Any]

    def __call__(self, X: Any) -> NDArray[Any]:
        """Rows and copies, those of a row side by side."""
        if is_sparse(X):
            cure = "Make the rows dense (`X.toarray()`), or leave `augment` None."
            raise rule_error("augment", "be None for sparse samples", "sparse samples", cure)
        copies = [np.asarray(copy) for copy in self.augment(X)]
        for copy in copies:
            if copy.shape != X.shape or not np.all(np.isfinite(copy)):
                cure = "Return a sequence of finite arrays, a copy of every row in each."
                rule = f"give copies of the shape of the rows, {X.shape}, without NaN"
                raise rule_error("augment", rule, copy.shape, cure)
        return np.stack([X, *copies], axis=1).reshape(-1, X.shape[1])


def read_blocks(blocks: Any) -> tuple[BlockSource, NDArray[Any]]:
    """The source of blocks (X, y), and their labels: one pass."""
    read = _restartable(blocks)
    sizes, labels, n_features, sparse_blocks = 0, [], None, False
    for X, y in checked_blocks(read(), None):
        sizes, n_features = sizes + X.shape[0], X.shape[1]
        sparse_blocks |= is_sparse(X)
        labels.append(y)
    if n_features is None:
        raise rule_error("blocks", "give at least one block", "none", "Check the reader of the blocks.")
    return BlockSource(read, np.arange(sizes), n_features, sparse_blocks), np.concatenate(labels)


def checked_blocks(blocks: Iterable[Any], n_features: int | None) -> Iterator[tuple[Any, Any]]:
    """Every block as a matrix and labels, or an error that names the block."""
    for index, block in enumerate(blocks):
        try:
            X, y = block
        except (TypeError, ValueError):
            got, cure = f"{type(block).__name__} as block {index}", "Yield samples and labels together."
            raise rule_error("blocks", "give pairs (X, y)", got, cure) from None
        X = checked_rows(X, index, n_features)
        n_features, y = X.shape[1], column_or_1d(y)
        if len(y) != X.shape[0]:
            got = f"{X.shape[0]} rows and {len(y)} labels in block {index}"
            raise rule_error("blocks", "have one label per row", got, "Check the reader of the blocks.")
        yield X, y


def checked_rows(X: Any, index: int, n_features: int | None, n_rows: int | None = None) -> Any:
    """A block of finite numbers with the features of the others, or an error that names it."""
    try:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    except ValueError as error:
        raise ValueError(f"Block {index} is not usable: {error}") from error
    if n_features is not None and X.shape[1] != n_features:
        cure = "All blocks must have the features of the first one."
        raise rule_error("X", f"have {n_features} features in block {index}", X.shape[1], cure)
    if n_rows is not None and X.shape[0] != n_rows:
        cure = "Call `X.compute_chunk_sizes()`: the chunks are not as large as they say."
        raise rule_error("X", f"have {n_rows} rows in block {index}", X.shape[0], cure)
    return X


def encoded(y: Any, marker: Any = None) -> tuple[NDArray[Any], Ints]:
    """Classes, sorted, and the class of every label: −1 where it is missing or the marker."""
    y = np.asarray(y.compute() if is_dask(y) else y)
    y = y if y.ndim == 1 else column_or_1d(y, warn=True)
    may_miss = marker is not None or y.dtype.kind in "fO"
    missing = missing_labels(y, marker) if may_miss else np.zeros(len(y), dtype=bool)
    if marker is None and missing.any():
        cure = "Leave these samples out, or let them help: unlabeled=Smooth() or Spread()."
        raise rule_error("y", "have a label for every sample", f"{missing.sum()} missing labels", cure)
    known = y[~missing]
    if known.dtype == object:
        known = np.array(known.tolist())
    if len(known) == 0:
        cure = "An embedding separates classes: give some labels."
        raise rule_error("y", "have labels", "none at all", cure)
    if known.dtype.kind not in "biuUS":  # these cannot be targets of a regression
        assert_all_finite(known, input_name="y")
        check_classification_targets(known)
    classes, places = np.unique(known, return_inverse=True)
    codes = np.full(len(y), -1, dtype=np.intp)
    codes[~missing] = places.ravel()
    return classes, codes


def present_classes(classes: NDArray[Any], codes: Ints, weights: Floats) -> tuple[NDArray[Any], Ints]:
    """Classes that have any weight, and codes among them: a weight of zero leaves a sample out."""
    known = codes >= 0
    weight = np.bincount(codes[known], weights[known], minlength=len(classes))
    place = np.where(weight > 0, np.cumsum(weight > 0) - 1, -1)
    return classes[weight > 0], np.append(place, -1)[codes].astype(np.intp)


def missing_labels(y: NDArray[Any], marker: Any) -> Bools:
    """Which labels are None, NaN, pandas' NA, or the marker where one is given."""
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype == object:
        missing = np.array(
            [label is None or label is not label or _is_nan(label) for label in y], dtype=bool
        )
    else:
        missing = np.zeros(len(y), dtype=bool)
    if marker is None:
        return missing
    same = isinstance(marker, str) == (y.dtype.kind in "US") or y.dtype == object
    marked = np.array([label == marker for label in y.tolist()]) if same else False
    return np.asarray(missing | marked, dtype=bool)


def checked_weights(sample_weight: Any, n_samples: int) -> Floats:
    """One finite number per sample, none negative and not all zero; 1 each where none are given."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        rule = f"have one number for each of the {n_samples} samples"
        raise rule_error("sample_weight", rule, f"shape {weights.shape}", "Leave it None for 1 each.")
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        got = f"weights from {weights.min()} to {weights.max()}"
        cure = "A weight of 0 leaves a sample out."
        raise rule_error("sample_weight", "be finite, not negative and not all zero", got, cure)
    return weights


def class_factors(class_weight: Any, classes: NDArray[Any], codes: Ints, weights: Floats) -> Floats:
    """What `class_weight` multiplies the weight of every sample by; 1 for those without a label."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        # The samples that weigh nothing, or have no label, belong to no class.
        known = codes >= 0
        sizes = np.bincount(codes[known], weights[known], minlength=len(classes))
        present = sizes > 0
        factors = np.where(present, sizes.sum() / (present.sum() * np.where(present, sizes, 1.0)), 1.0)
    elif isinstance(class_weight, Mapping):
        factors = _given_factors(class_weight, classes)
    else:
        rule = 'be None, "balanced" or a dict of labels and weights'
        raise rule_error(
            "class_weight", rule, class_weight, '"balanced" gives all classes the same weight.'
        )
    return np.append(factors, 1.0)[codes]


def _given_factors(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> Floats:
    known = classes.tolist()
    for label, weight in class_weight.items():
        if label not in known:
            cure = f"Those of the training samples are {listed([repr(name) for name in known])}."
            raise rule_error("class_weight", "name labels of the training samples", label, cure)
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 < float(weight) < np.inf:
            cure = "Leave the label out for a weight of 1; leave its samples out for none."
            raise rule_error(f"class_weight[{label!r}]", "be a positive, finite number", weight, cure)
    return np.array([float(class_weight.get(label, 1.0)) for label in known])


def distinct_rows(source: Any, codes: Ints, counts: Bools) -> tuple[Ints, Ints]:
    """The first of every group of equal rows of a class, ascending, and the group of every row.

    Rows that do not count are in group −1. Rows are compared by a digest of 64 bits of a few features
    and, if two agree in that, by 128 bits of all.
    """
    used = np.flatnonzero(counts)
    groups = np.full(len(codes), -1, dtype=np.intp)
    by_class = (codes[used] + 2).astype(np.uint64)[:, np.newaxis] * ODD
    keys = source.apply(partial(digest, few=FEW_FEATURES))[used, :1] + by_class
    if len(np.unique(keys)) == len(used):
        groups[used] = np.arange(len(used))
        return used, groups
    keys = np.ascontiguousarray(source.apply(digest)[used] + by_class).view("u8,u8").ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)  # groups in the order of their first rows
    rank[np.argsort(first)] = np.arange(len(first))
    groups[used] = rank[group.ravel()]
    return used[np.sort(first)], groups


def digest(X: Any, few: int | None = None) -> NDArray[np.uint64]:
    """128 bits of every row: two sums of the bits of its values, modulo 2⁶⁴, with random odd factors.

    Zero adds nothing, so that sparse and dense rows have the same digest; −0 is 0. ``few`` features
    from everywhere, or all.
    """
    if few is not None:
        X = X[:, np.unique(np.linspace(0, X.shape[1] - 1, few).astype(np.intp))]
    factors = np.random.default_rng(0).integers(2**63, size=(X.shape[1], 2), dtype=np.uint64)
    factors = 2 * factors + np.uint64(1)
    if is_sparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        X.sum_duplicates()
        bits = (X.data + 0.0).view(np.uint64)
        return np.asarray(sparse.csr_array((bits, X.indices, X.indptr), shape=X.shape) @ factors)
    bits = (np.ascontiguousarray(X, dtype=np.float64) + 0.0).view(np.uint64)
    return np.asarray(bits @ factors)


def stratified(codes: Ints, n_rows: int, rng: np.random.Generator) -> Ints:
    """Places of a subsample with the shares of the classes, at least two of each that has them."""
    counts = np.bincount(codes)
    wanted = np.maximum(np.round(n_rows * counts / len(codes)), 2).astype(np.intp)
    return drawn(codes, np.minimum(wanted, counts), rng)


def drawn(codes: Ints, shares: Ints, rng: np.random.Generator) -> Ints:
    """Places of so many rows of every class, ascending."""
    found = [
        rng.choice(np.flatnonzero(codes == c), share, replace=False)
        for c, share in enumerate(shares)
        if share
    ]
    return np.sort(np.concatenate(found)).astype(np.intp)


def stacked(parts: list[Any]) -> Any:
    """Blocks of rows one below the other, dense or sparse."""
    if len(parts) == 1:
        return parts[0]
    if any(is_sparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _restartable(blocks: Any) -> Callable[[], Iterator[Any]]:
    if isinstance(blocks, Iterable) and not isinstance(blocks, Iterator):
        return lambda: iter(blocks)
    if not callable(blocks):
        rule = "be an iterable that can be read several times, or a function that returns one"
        cure = "A generator is used up after one pass: pass the function that makes it."
        raise TypeError(rule_message("blocks", rule, type(blocks).__name__, cure))
    return lambda: iter(blocks())


def _is_nan(label: Any) -> bool:
    # NaN differs from itself; what pandas' NA says of any comparison cannot be asked for its truth.
    try:
        return bool(label != label)
    except TypeError:
        return True


def _taken(X: Any, which: Ints) -> Any:
    return X if len(which) == X.shape[0] else X[which]


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _dask() -> Any:
    import dask

    return dask


def _computed(tasks: list[Any]) -> list[Any]:
    # The centres travel with the graph: Dask need not warn about that.
    dask, size = _dask(), "distributed.admin.large-graph-warning-threshold"
    known = dask.config.get(size, None) is not None
    with dask.config.set({size: "4 GiB"} if known else {}):
        return list(dask.compute(*tasks))
