"""Read training rows from arrays, sparse matrices, memory maps, blocks and Dask arrays.

Every source has the same four methods. `take` loads some rows, `blocks` yields all rows in parts, `fold`
sums a function over the parts, and `apply` stacks the values of a function of the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d, validate_data

from nsse._support.arrays import is_dask
from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.types import Ints, SamplesLike
from nsse.affine import is_sparse

RowFunction = Callable[[Any], Any]

BLOCK_ROWS = 2048


@dataclass(frozen=True)
class Source:
    """Rows of an array, dense, sparse or memory-mapped, with the interface of the other sources.

    ``places`` are the rows in use, ascending. Others are skipped.
    """

    X: SamplesLike
    places: Ints
    n_features: int
    is_sparse: bool

    @staticmethod
    def of(X: SamplesLike) -> Source:
        """Return all rows of checked samples, of an array or of a Dask array."""
        if is_dask(X):
            return DaskSource.checked(X)
        return Source(X, np.arange(X.shape[0]), int(X.shape[1]), is_sparse(X))

    def __len__(self) -> int:
        return len(self.places)

    def select(self, positions: Ints) -> Self:
        """Return some of the rows in use, by ascending position."""
        return replace(self, places=self.places[positions])

    def take(self, positions: Ints) -> Any:
        """Return some of the rows in use, by ascending position, in memory."""
        chosen = self.places[positions]
        return self.X if len(chosen) == self.X.shape[0] else self.X[chosen]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows in use, some at a time, with their positions."""
        done = 0
        for start, X in self._read():
            stop = int(np.searchsorted(self.places, start + X.shape[0]))
            if stop > done:
                chosen = self.places[done:stop] - start
                yield slice(done, stop), X if len(chosen) == X.shape[0] else X[chosen]
            done = stop

    def fold(self, function: Callable[..., Any], *by_row: NDArray[Any]) -> Any:
        """Return Σ of a function of a block of rows and of its part of arrays with one entry per row.

        The function is given the sum so far, None at first, and adds to it in place.
        """
        total = None
        for part, X in self.blocks():
            total = function(X, *(a[part] for a in by_row), total=total)
        return total

    def apply(self, function: RowFunction) -> Any:
        """Apply a function to the rows block by block, and stack its values."""
        parts = [function(X) for _, X in self.blocks()]
        return parts[0] if len(parts) == 1 else stacked(parts)

    def _read(self) -> Iterator[tuple[int, Any]]:
        for start in range(0, self.X.shape[0], BLOCK_ROWS):
            yield start, self.X[start : start + BLOCK_ROWS]


class RepeatedBlocks:
    """Blocks (X, y) that are read several times and must be the same at every pass.

    The first pass stores the labels and a checksum of every block, and the names of the columns if the
    blocks are data frames. Later passes compare with them, because a loader that shuffles its rows would
    otherwise train a model on wrong labels.
    """

    def __init__(self, blocks: Any) -> None:
        self._begin = _restartable(blocks)
        self._passes = count(2)
        self._labels: list[NDArray[Any]] = []
        self._checksums: list[bytes] = []
        self.n_rows = 0
        self.n_features: int | None = None
        self.names: NDArray[Any] | None = None
        self.is_sparse = False
        for index, (X, y, names) in enumerate(checked_blocks(self._begin(), None)):
            self.names = names if index == 0 else self.names
            if not _same_names(names, self.names):
                cure = "Select the columns by name before you yield a data frame."
                got = Described(f"other names in block {index}")
                raise rule_error("blocks", "have the columns of the first one, in its order", got, cure)
            self._labels.append(y)
            self._checksums.append(checksum(X))
            self.n_rows += X.shape[0]
            self.n_features = X.shape[1]
            self.is_sparse |= is_sparse(X)
        if self.n_features is None:
            cure = "Check the reader of the blocks."
            raise rule_error("blocks", "give at least one block", Described("none"), cure)

    @property
    def labels(self) -> NDArray[Any]:
        """Return the labels of all rows."""
        return np.concatenate(self._labels)

    def __call__(self) -> Iterator[Any]:
        """Read the rows of every block once more."""
        n_pass, index = next(self._passes), -1
        for index, (X, y, names) in enumerate(checked_blocks(self._begin(), self.n_features)):
            if index >= len(self._labels):
                raise _changed(f"one block more than the {len(self._labels)} of the first", n_pass)
            if not _same_names(names, self.names):
                raise _changed(f"other columns in block {index}", n_pass)
            if not _same_labels(y, self._labels[index]):
                raise _changed(f"other labels in block {index}", n_pass)
            if checksum(X) != self._checksums[index]:
                raise _changed(f"other rows in block {index}", n_pass)
            yield X
        if index + 1 < len(self._labels):
            raise _changed(f"{index + 1} blocks instead of {len(self._labels)}", n_pass)


@dataclass(frozen=True)
class BlockSource(Source):
    """Rows of blocks that can be read several times. ``X`` is a `RepeatedBlocks`."""

    def take(self, positions: Ints) -> Any:
        """Load some of the rows in use, by ascending position."""
        return stacked([X for _, X in self.select(positions).blocks()])

    def _read(self) -> Iterator[tuple[int, Any]]:
        start = 0
        for X in self.X():
            yield start, X
            start += X.shape[0]


@dataclass(frozen=True)
class DaskSource(Source):
    """Rows of a Dask array. Functions run where the blocks are, and their sums are added in a tree."""

    @classmethod
    def checked(cls, X: SamplesLike) -> DaskSource:
        """Check what can be checked without computing anything."""
        if not hasattr(X, "chunks") or X.ndim != 2:
            cure = "For a data frame, pass `X.to_dask_array(lengths=True)`."
            raise rule_error("X", "be a Dask *array* with two dimensions", type(X).__name__, cure)
        if np.isnan(X.shape).any():
            cure = "Call `X.compute_chunk_sizes()` first."
            raise rule_error("X", "have chunks of known size", X.shape, cure)
        sparse_blocks = hasattr(X._meta, "tocsr")
        return cls(X.rechunk({1: -1}), np.arange(X.shape[0]), int(X.shape[1]), sparse_blocks)

    def take(self, positions: Ints) -> Any:
        """Return some of the rows in use, by ascending position, in memory."""
        return stacked(_computed([X for _, X in self.select(positions)._tasks()]))

    def fold(self, function: Callable[..., Any], *by_row: NDArray[Any]) -> Any:
        """Return Σ of a function of the rows of every chunk, added in pairs."""
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
        """Apply a function to the rows of every chunk, and stack its values."""
        dask = _dask()
        function = dask.delayed(function, pure=False)
        return stacked(_computed([dask.delayed(_call)(function, X) for _, X in self._tasks()]))

    def _tasks(self) -> Iterator[tuple[slice, Any]]:
        dask = _dask()
        done = 0
        start = 0
        chunks = self.X.to_delayed().ravel().tolist()
        for index, (size, chunk) in enumerate(zip(self.X.chunks[0], chunks, strict=True)):
            stop = int(np.searchsorted(self.places, start + size))
            if stop > done:
                rows = dask.delayed(checked_rows)(chunk, index, self.n_features, size)
                yield slice(done, stop), dask.delayed(_taken)(rows, self.places[done:stop] - start)
            done, start = stop, start + size


@dataclass(frozen=True)
class MappedSource:
    """A function of another source's rows, such as a metric, or ``factor`` rows for every one."""

    base: Any
    function: RowFunction
    n_features: int
    is_sparse: bool
    factor: int = 1

    def __len__(self) -> int:
        return len(self.base) * self.factor

    def take(self, positions: Ints) -> Any:
        """Return some of the rows, by ascending position, in memory."""
        if len(positions) == len(self):
            return self.function(self.base.take(np.arange(len(self.base))))
        originals = np.unique(positions // self.factor)
        rows = self.function(self.base.take(originals))
        return rows[
            np.searchsorted(originals, positions // self.factor) * self.factor + positions % self.factor
        ]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows, some at a time, with their positions."""
        for part, X in self.base.blocks():
            yield slice(part.start * self.factor, part.stop * self.factor), self.function(X)

    def fold(self, function: Callable[..., Any], *by_row: NDArray[Any]) -> Any:
        """Return Σ of a function of a block of rows and of its part of other arrays."""
        together = [a.reshape(len(self.base), self.factor, *a.shape[1:]) for a in by_row]
        return self.base.fold(_Composed(function, self.function), *together)

    def apply(self, function: RowFunction) -> Any:
        """Apply a function to the rows block by block, and stack its values."""
        return self.base.apply(_Composed(function, self.function))


@dataclass(frozen=True)
class _Composed:
    """function(first(rows), …), with arrays that have an entry for each of these rows."""

    function: Callable[..., Any]
    first: RowFunction

    def __call__(self, X: SamplesLike, *by_row: NDArray[Any], **so_far: Any) -> Any:
        return self.function(self.first(X), *(a.reshape(-1, *a.shape[2:]) for a in by_row), **so_far)


def read_blocks(blocks: Any) -> tuple[BlockSource, NDArray[Any], NDArray[Any] | None]:
    """Return the source of blocks (X, y), their labels and the names of columns, after a first pass."""
    read = RepeatedBlocks(blocks)
    assert read.n_features is not None
    source = BlockSource(read, np.arange(read.n_rows), read.n_features, read.is_sparse)
    return source, read.labels, read.names


def checksum(X: SamplesLike) -> bytes:
    """Return a checksum of the rows of a block."""
    parts = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(np.ascontiguousarray(part).data)
    return found.digest()


def _same_names(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first, second))


def _same_labels(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if len(first) != len(second):
        return False
    # A missing label differs from itself.
    return bool(np.all((first == second) | ((first != first) & (second != second))))


def _changed(found: str, n_pass: int) -> ValueError:
    cure = "A loader that shuffles or augments must do so once, before the first pass."
    rule = "give the same blocks at every pass"
    return rule_error("blocks", rule, Described(f"{found} at pass {n_pass}"), cure)


def checked_blocks(blocks: Iterable[Any], n_features: int | None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield every block as a matrix, labels and names of columns, or raise an error that names it."""
    for index, block in enumerate(blocks):
        try:
            X, y = block
        except (TypeError, ValueError):
            got, cure = (
                Described(f"{type(block).__name__} as block {index}"),
                "Yield samples and labels together.",
            )
            raise rule_error("blocks", "give pairs (X, y)", got, cure) from None
        names, X = column_names(X), checked_rows(X, index, n_features)
        n_features, y = X.shape[1], column_or_1d(y)
        if len(y) != X.shape[0]:
            got = Described(f"{X.shape[0]} rows and {len(y)} labels in block {index}")
            raise rule_error("blocks", "have one label per row", got, "Check the reader of the blocks.")
        yield X, y, names


def column_names(X: SamplesLike) -> NDArray[Any] | None:
    """Return the names of the columns as scikit-learn stores them. None if there are none."""
    reader = BaseEstimator()
    if hasattr(X, "columns"):
        validate_data(reader, X, skip_check_array=True)
    return getattr(reader, "feature_names_in_", None)


def checked_rows(X: SamplesLike, index: int, n_features: int | None, n_rows: int | None = None) -> Any:
    """Return a block of finite numbers with the features of the others, or raise an error."""
    try:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    except ValueError as error:
        raise ValueError(f"Block {index} is not usable: {error}") from error
    if n_features is not None and X.shape[1] != n_features:
        cure = "All blocks must have the features of the first one."
        raise rule_error("X", f"have {n_features} features in block {index}", X.shape[1], cure)
    if n_rows is not None and X.shape[0] != n_rows:
        cure = "Call `X.compute_chunk_sizes()`, because the chunks have other sizes than declared."
        raise rule_error("X", f"have {n_rows} rows in block {index}", X.shape[0], cure)
    return X


def stacked(parts: list[Any]) -> Any:
    """Stack blocks of rows, dense or sparse."""
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
        cure = "A generator is used up after one pass. Pass the function that makes it."
        raise TypeError(rule_message("blocks", rule, type(blocks).__name__, cure))
    return lambda: iter(blocks())


def _taken(X: SamplesLike, which: Ints) -> Any:
    return X if len(which) == X.shape[0] else X[which]


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _dask() -> Any:
    import dask

    return dask


def _computed(tasks: list[Any]) -> list[Any]:
    # The centers are a part of the graph, so the warning of Dask is not needed.
    dask, size = _dask(), "distributed.admin.large-graph-warning-threshold"
    known = dask.config.get(size, None) is not None
    with dask.config.set({size: "4 GiB"} if known else {}):
        return list(dask.compute(*tasks))
