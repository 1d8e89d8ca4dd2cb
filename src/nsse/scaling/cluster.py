"""Rows of a Dask array: the same functions of a block, run where the blocks are.

The only module that imports Dask, and only when it is given a Dask array. What runs on a worker is
`block_moments`, the function of a local fit, and the sums meet in a tree; the samples stay where they
are. Tasks depend on nothing but their block and the terms of the problem, so that a worker which dies
is replaced and its tasks run again. The scheduler is whichever is active: threads, processes, or the
`distributed.Client` made last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.scaling.moments import Keep, Moments, Terms, block_moments
from nsse.scaling.sources import HeldRows, checked_rows, stacked

Ints = NDArray[np.intp]

# The terms of the problem hold the centres and travel with the graph: Dask need not warn about that.
GRAPH_SIZE = {"distributed.admin.large-graph-warning-threshold": "4 GiB"}


def is_dask(X: Any) -> bool:
    """Whether something is a Dask collection; imports nothing."""
    return hasattr(X, "__dask_graph__")


@dataclass(frozen=True)
class DaskRows(HeldRows):
    """Rows of a two-dimensional Dask array, cut in blocks of rows only."""

    is_local = False  # the blocks are on the workers, and what is made of them

    @classmethod
    def of(cls, X: Any) -> DaskRows:
        """Check what can be checked without computing anything."""
        if not hasattr(X, "chunks"):
            raise rule_error(
                "X", "be a Dask *array*", type(X).__name__,
                "Of a data frame take `X.to_dask_array(lengths=True)`.",
            )  # fmt: skip
        if X.ndim != 2:
            raise rule_error("X", "have two dimensions", X.ndim, "One row per sample.")
        if np.isnan(X.shape).any():
            raise rule_error(
                "X", "have chunks of known size", X.shape, "Call `X.compute_chunk_sizes()` first."
            )
        return cls(X.rechunk({1: -1}))

    @property
    def is_sparse(self) -> bool:
        """Whether the blocks are sparse matrices, as far as Dask knows."""
        return hasattr(self.X._meta, "tocsr")

    def take(self, indices: Ints) -> Any:
        """Rows by their index, from the blocks that have any."""
        parts = []
        for index, start, size, block in self._blocks():
            inside = indices[(indices >= start) & (indices < start + size)] - start
            if len(inside):
                parts.append(self._delayed(_taken)(block, inside, index, (size, self.shape[1])))
        return stacked(list(self._compute(*parts)))

    def moments(self, terms: Terms, codes: Ints, keep: Keep | None = None) -> Moments:
        """Sum over the blocks, two by two; nothing is kept."""
        terms = self._delayed(terms, pure=False)
        sums = [
            self._delayed(_summed)(terms, block, codes[start : start + size], index, self.shape[1])
            for index, start, size, block in self._blocks()
        ]
        while len(sums) > 1:
            pairs = [sums[i : i + 2] for i in range(0, len(sums), 2)]
            sums = [self._delayed(add)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        (total,) = self._compute(*sums)
        # A result may be shared with the scheduler; ours is overwritten later.
        return Moments(*(np.array(part) for part in vars(total).values()))

    def mapped(self, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """A function of every block."""
        function = self._delayed(function, pure=False)
        parts = [
            self._delayed(_mapped)(function, block, index, (size, self.shape[1]))
            for index, _, size, block in self._blocks()
        ]
        return np.concatenate(self._compute(*parts))

    def _blocks(self) -> list[tuple[int, int, int, Any]]:
        """Number, first row, number of rows, and the block itself as a task."""
        sizes = self.X.chunks[0]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int).tolist()
        blocks = self.X.to_delayed().ravel().tolist()
        return list(zip(range(len(sizes)), starts, sizes, blocks, strict=True))

    @staticmethod
    def _delayed(something: Any, **options: Any) -> Any:
        import dask

        return dask.delayed(something, **options)

    @staticmethod
    def _compute(*tasks: Any) -> tuple[Any, ...]:
        import dask

        with dask.config.set(GRAPH_SIZE):
            return tuple(dask.compute(*tasks))


def gathered_labels(y: Any) -> NDArray[Any]:
    """All labels as one array: they are small, the samples are not."""
    return np.asarray(y.compute() if is_dask(y) else y)


def lazily(function: Callable[[Any], NDArray[Any]], X: Any, n_columns: int | None, dtype: Any) -> Any:
    """A function of rows as a Dask array: N × ``n_columns``, or of length N where that is None."""
    X = X.rechunk({1: -1})

    def of_block(block: Any, block_info: Any = None) -> NDArray[Any]:
        index = block_info[0]["chunk-location"][0] if block_info else 0
        return function(checked_rows(block, index, X.shape[1]))

    if n_columns is None:
        return X.map_blocks(of_block, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    chunks = (X.chunks[0], (n_columns,))
    return X.map_blocks(of_block, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def _taken(block: Any, inside: Ints, index: int, shape: tuple[int, int]) -> Any:
    return checked_rows(block, index, shape[1], shape[0])[inside]


def _summed(terms: Terms, block: Any, codes: Ints, index: int, n_features: int) -> Moments:
    return block_moments(terms, checked_rows(block, index, n_features, len(codes)), codes)


def _mapped(function: Any, block: Any, index: int, shape: tuple[int, int]) -> NDArray[Any]:
    return np.asarray(function(checked_rows(block, index, shape[1], shape[0])))
