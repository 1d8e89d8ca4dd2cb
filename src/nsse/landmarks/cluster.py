"""Rows of a Dask array: the same functions of a block, run where the blocks are.

The only module that imports Dask, and only when it is given a Dask array. What runs on a worker is
`block_moments`, the function of a local fit, on the blocks of rows that a local fit has, whatever the
chunks; and the sums meet in a tree. Samples go from worker to worker where a block lies across chunks,
and nowhere else. Tasks depend on nothing but their chunks and the terms of the problem, so that a worker
which dies is replaced and its tasks run again. The scheduler is whichever is active: threads, processes,
or the `distributed.Client` made last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import add, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.landmarks.moments import BLOCK_ROWS, Keep, Moments, Terms, block_moments
from nsse.landmarks.sources import (
    BlockSum,
    HeldRows,
    by_blocks,
    checked_rows,
    cut,
    stacked,
    sum_of_blocks,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# First row, number of rows, and the rows themselves as a task.
Place = tuple[int, int, Any]

# The terms of the problem hold the centres and travel with the graph: Dask need not warn about that.
GRAPH_SIZE, ENOUGH = "distributed.admin.large-graph-warning-threshold", "4 GiB"


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
                "X",
                "be a Dask *array*",
                type(X).__name__,
                "Of a data frame take `X.to_dask_array(lengths=True)`.",
            )
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
        """Rows by their index, from the chunks that have any."""
        parts = []
        for start, size, chunk in self._chunks():
            inside = indices[(indices >= start) & (indices < start + size)] - start
            if len(inside):
                parts.append(self._delayed(_taken)(chunk, inside))
        return stacked(list(self._compute(*parts)))

    def moments(
        self, terms: Terms, codes: Ints, keep: Keep | None = None, counts: Floats | None = None
    ) -> Moments:
        """Sum over the blocks, two by two; nothing is kept."""
        terms = self._delayed(terms, pure=False)
        sums = [
            self._delayed(block_moments)(
                terms, rows, codes[start : start + size], counts=cut(counts, start, size)
            )
            for start, size, rows in self._blocks()
        ]
        total = self._added(sums)
        # A result may be shared with the scheduler; ours is overwritten later.
        return Moments(*(np.array(part) for part in vars(total).values()))

    def summed(self, function: BlockSum, codes: Ints, counts: Floats | None = None) -> Any:
        """Sum over the blocks, two by two."""
        function = self._delayed(function, pure=False)
        block = self._delayed(sum_of_blocks)
        return self._added(
            [
                block(function, rows, codes[start : start + size], cut(counts, start, size))
                for start, size, rows in self._blocks()
            ]
        )

    def _added(self, sums: list[Any]) -> Any:
        while len(sums) > 1:
            pairs = [sums[i : i + 2] for i in range(0, len(sums), 2)]
            sums = [self._delayed(add)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        (total,) = self._compute(*sums)
        return total

    def mapped(self, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """A function of every block."""
        function = self._delayed(function, pure=False)
        answer = self._delayed(by_blocks)
        return np.concatenate(self._compute(*(answer(function, rows) for _, _, rows in self._blocks())))

    def _chunks(self) -> list[Place]:
        """The chunks as they came, but for empty ones; each is checked once."""
        sizes, n_features = self.X.chunks[0], self.shape[1]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int).tolist()
        chunks = self.X.to_delayed().ravel().tolist()
        check = self._delayed(checked_rows)
        return [
            (start, size, check(chunk, index, n_features, size))
            for index, (start, size, chunk) in enumerate(zip(starts, sizes, chunks, strict=True))
            if size
        ]

    def _blocks(self) -> list[Place]:
        """The same rows in whole blocks of `BLOCK_ROWS`, as many to a task as a chunk holds.

        Every task makes sums as large as those of all samples: few large ones are better than many.
        """
        chunks, N = self._chunks(), self.shape[0]
        step = BLOCK_ROWS * max(1, max(size for _, size, _ in chunks) // BLOCK_ROWS)
        return [self._block(chunks, start, min(start + step, N)) for start in range(0, N, step)]

    def _block(self, chunks: list[Place], start: int, stop: int) -> Place:
        parts = []
        for first, size, chunk in chunks[bisect_right(chunks, start, key=itemgetter(0)) - 1 :]:
            a, b = max(start - first, 0), min(stop - first, size)
            if b <= a:
                break
            parts.append(chunk if b - a == size else self._delayed(_taken)(chunk, slice(a, b)))
        return start, stop - start, parts[0] if len(parts) == 1 else self._delayed(stacked)(parts)

    @staticmethod
    def _delayed(something: Any, **options: Any) -> Any:
        import dask

        return dask.delayed(something, **options)

    @staticmethod
    def _compute(*tasks: Any) -> tuple[Any, ...]:
        import dask

        # A section of settings begun before `distributed` is imported, as Dask may do on its way, would
        # be taken away again with all that the import put there; and without it nobody warns.
        known = dask.config.get(GRAPH_SIZE, None) is not None
        with dask.config.set({GRAPH_SIZE: ENOUGH} if known else {}):
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


def _taken(rows: Any, which: Any) -> Any:
    return rows[which]
