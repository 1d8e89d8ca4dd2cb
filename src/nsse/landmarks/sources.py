"""Where the rows come from: an array, or blocks that are read anew for every pass.

A source knows how many rows and features there are, gives some rows by their index, and runs a function
over all rows a block at a time. `nsse.landmarks.cluster` has the one for Dask arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, column_or_1d

from nsse._errors import rule_error, rule_message
from nsse.landmarks.moments import BLOCK_ROWS, Keep, Moments, Terms, block_moments

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
RowMap = Callable[[Any], NDArray[Any]]
BlockSum = Callable[..., Any]  # of rows, their classes and, where they have any, their counts


class RowSource(Protocol):
    """What a fit asks of the rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @property
    def dtype(self) -> Any:
        """Of the values."""

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""

    def take(self, indices: Ints) -> Any:
        """Rows by their index, which ascends."""

    @property
    def is_local(self) -> bool:
        """Whether the blocks are worked on here, so that something of them can be kept."""

    def moments(
        self, terms: Terms, codes: Ints, keep: Keep | None = None, counts: Floats | None = None
    ) -> Moments:
        """Sum of `block_moments` over all rows, in their order where they are kept.

        ``counts`` say how many times every row counts, here and below.
        """

    def summed(self, function: BlockSum, codes: Ints, counts: Floats | None = None) -> Any:
        """Sum of a function of rows and their classes over blocks of `BLOCK_ROWS`."""

    def mapped(self, function: RowMap) -> NDArray[Any]:
        """A function of rows at all rows."""


@dataclass(frozen=True)
class HeldRows:
    """Rows of something with a shape and a type, here or elsewhere."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return tuple(self.X.shape)

    @property
    def dtype(self) -> Any:
        """Of the values."""
        return self.X.dtype


@dataclass(frozen=True)
class ArrayRows(HeldRows):
    """Rows of a NumPy array, a memory map or a sparse matrix."""

    is_local = True

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sparse.issparse(self.X))

    def take(self, indices: Ints) -> Any:
        """Rows by their index."""
        return self.X[indices]

    def moments(
        self, terms: Terms, codes: Ints, keep: Keep | None = None, counts: Floats | None = None
    ) -> Moments:
        """Sum over blocks of rows."""
        return block_moments(terms, self.X, codes, keep=keep, counts=counts)

    def summed(self, function: BlockSum, codes: Ints, counts: Floats | None = None) -> Any:
        """Sum over blocks of rows."""
        return sum_of_blocks(function, self.X, codes, counts)

    def mapped(self, function: RowMap) -> NDArray[Any]:
        """A function of all rows."""
        return by_blocks(function, self.X)


@dataclass(frozen=True)
class BlockRows:
    """Rows of (X, y) blocks that can be read again: see `read_blocks`."""

    is_local = True

    blocks: Callable[[], Iterator[tuple[Any, Any]]]
    y: NDArray[Any]
    sizes: tuple[int, ...]
    n_features: int
    dtype: Any
    is_sparse: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(self.sizes), self.n_features

    def take(self, indices: Ints) -> Any:
        """Rows by their index, from one pass over the blocks."""
        parts = []
        for start, X in self._read():
            inside = indices[(indices >= start) & (indices < start + X.shape[0])] - start
            if len(inside):
                parts.append(X[inside])
        return self._alike(stacked(parts))

    def moments(
        self, terms: Terms, codes: Ints, keep: Keep | None = None, counts: Floats | None = None
    ) -> Moments:
        """Sum over the rows, in one pass."""
        total, start = Moments.zero(*terms.references.shape), 0
        for X in self._regrouped():
            own = codes[start : start + X.shape[0]]
            block_moments(terms, X, own, total, keep, cut(counts, start, X.shape[0]))
            start += X.shape[0]
        return total

    def summed(self, function: BlockSum, codes: Ints, counts: Floats | None = None) -> Any:
        """Sum over the rows, in one pass."""
        starts = range(0, len(codes), BLOCK_ROWS)
        pairs = zip(self._regrouped(), starts, strict=True)
        return reduce(add, (_told(function, X, codes, counts, start) for X, start in pairs))

    def mapped(self, function: RowMap) -> NDArray[Any]:
        """A function of all rows, in one pass."""
        return np.concatenate([function(X) for X in self._regrouped()])

    def _regrouped(self) -> Iterator[Any]:
        return regrouped((X for _, X in self._read()), BLOCK_ROWS)

    def _alike(self, rows: Any) -> Any:
        """As rows of one array would be: of one type, and sparse if any block is."""
        rows = rows.astype(self.dtype, copy=False)
        return sparse.csr_array(rows) if self.is_sparse else rows

    def _read(self) -> Iterator[tuple[int, Any]]:
        """One more pass; the blocks must be those of the first one."""
        start = index = 0
        for index, (X, y) in enumerate(checked_blocks(self.blocks(), self.n_features), start=1):
            if not np.array_equal(y, self.y[start : start + len(y)]):
                raise _changed(f"another block {index - 1}")
            yield start, X
            start += X.shape[0]
        if index != len(self.sizes):
            raise _changed(f"{index} blocks after {len(self.sizes)}")


def read_blocks(blocks: Any) -> BlockRows:
    """A first pass over a source of (X, y) blocks, for the labels and the number of rows.

    ``blocks`` is an iterable that begins anew whenever it is iterated (a list, an object with
    ``__iter__``) or a function without arguments that returns an iterator.
    """
    again = _restartable(blocks)
    labels, sizes, width, dtype, is_sparse = [], [], None, None, False
    for X, y in checked_blocks(again(), None):
        width, dtype = X.shape[1], X.dtype if dtype is None else np.result_type(dtype, X.dtype)
        is_sparse |= bool(sparse.issparse(X))
        labels.append(y)
        sizes.append(X.shape[0])
    if width is None:
        raise rule_error("blocks", "give at least one block", "none", "Is the source exhausted?")
    return BlockRows(again, np.concatenate(labels), tuple(sizes), width, dtype, is_sparse)


def checked_blocks(blocks: Iterable[Any], n_features: int | None) -> Iterator[tuple[Any, Any]]:
    """Every block as a matrix and labels, or an error that names the block."""
    for index, block in enumerate(blocks):
        try:
            X, y = block
        except (TypeError, ValueError):
            raise rule_error(
                "blocks",
                "give pairs (X, y)",
                f"{type(block).__name__} as block {index}",
                "Yield samples and labels together.",
            ) from None
        X = checked_rows(X, index, n_features)
        n_features = X.shape[1]
        y = column_or_1d(y)
        if len(y) != X.shape[0]:
            raise rule_error(
                "blocks",
                "have one label per row",
                f"{X.shape[0]} rows and {len(y)} labels in block {index}",
                "Check the reader of the blocks.",
            )
        yield X, y


def checked_rows(X: Any, index: int, n_features: int | None, n_rows: int | None = None) -> Any:
    """A block of finite numbers of the right shape, or an error that names it."""
    try:
        X = check_array(X, accept_sparse="csr", dtype="numeric")
    except ValueError as error:
        raise ValueError(f"Block {index} is not usable: {error}") from error
    expected = (
        X.shape[0] if n_rows is None else n_rows,
        X.shape[1] if n_features is None else n_features,
    )
    if tuple(X.shape) != expected:
        raise rule_error(
            "X",
            f"have {expected[0]} rows and {expected[1]} features in block {index}",
            tuple(X.shape),
            "All blocks must have the features of the first one, and the rows that were announced.",
        )
    return X


def regrouped(blocks: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """The rows of blocks in their order, ``n_rows`` at a time, but for the last ones.

    Rows that must wait for others are copied: a source may write its next block over the last one, and
    a few rows should not hold a large block in memory.
    """
    waiting: list[Any] = []
    wanted = n_rows
    for X in blocks:
        start = 0
        while X.shape[0] - start >= wanted:
            yield stacked([*waiting, X[start : start + wanted]])
            start, wanted, waiting = start + wanted, n_rows, []
        if start < X.shape[0]:
            waiting.append(X[start:].copy())
            wanted -= X.shape[0] - start
    if waiting:
        yield stacked(waiting)


def by_blocks(function: RowMap, X: Any) -> NDArray[Any]:
    """A function of rows, of as many at a time as a pass over any source has.

    Single precision gives a row other bits at other places: here every row has the same one.
    """
    starts = range(0, X.shape[0], BLOCK_ROWS)
    return np.concatenate([function(X[start : start + BLOCK_ROWS]) for start in starts])


def sum_of_blocks(function: BlockSum, X: Any, codes: Ints, counts: Floats | None = None) -> Any:
    """Σ of a function of rows and their classes, `BLOCK_ROWS` at a time."""
    starts = range(0, len(codes), BLOCK_ROWS)
    blocks = ((X[start : start + BLOCK_ROWS], start) for start in starts)
    return reduce(add, (_told(function, rows, codes, counts, start) for rows, start in blocks))


def _told(function: BlockSum, X: Any, codes: Ints, counts: Floats | None, start: int) -> Any:
    """A function of a block that begins at a row: told of counts where there are any."""
    own = codes[start : start + BLOCK_ROWS]
    return function(X, own) if counts is None else function(X, own, cut(counts, start, BLOCK_ROWS))


def cut(counts: Floats | None, start: int, size: int) -> Floats | None:
    """The counts of some rows; None stays None."""
    return None if counts is None else counts[start : start + size]


def stacked(parts: list[Any]) -> Any:
    """Blocks of rows one below the other, dense or sparse."""
    if len(parts) == 1:
        return parts[0]
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _restartable(blocks: Any) -> Callable[[], Iterator[Any]]:
    if isinstance(blocks, Iterable) and not isinstance(blocks, Iterator):
        return lambda: iter(blocks)
    if not callable(blocks):
        message = rule_message(
            "blocks",
            "be an iterable that can be read several times, or a function that returns one",
            type(blocks).__name__,
            "A generator is used up after one pass: pass the function that makes it.",
        )
        raise TypeError(message)
    return lambda: iter(blocks())


def _changed(got: str) -> ValueError:
    return rule_error(
        "blocks",
        "give the same blocks in the same order every time they are read",
        got,
        "Fix the seed and the order of the source.",
    )
