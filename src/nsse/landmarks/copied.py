"""Rows and their copies as a source of rows: the copies of a block are made when it is read.

Row i (1 + c) is sample i, its c copies follow it (`nsse.invariances.copies`): blocks, subsamples and
centres are drawn among all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from nsse.invariances import Enlarged, copied_type, enlarged, n_copies_of, refuse_sparse
from nsse.landmarks.cluster import DaskRows
from nsse.landmarks.moments import BLOCK_ROWS
from nsse.landmarks.sources import ArrayRows, BlockRows


def with_copies(source: Any, invariances: Any, *, held: bool) -> Any:
    """A source of the rows and of their copies; ``held`` says that all of them are wanted in memory."""
    refuse_sparse(source.is_sparse)
    if held:
        rows = source.X if isinstance(source, ArrayRows) else source.take(np.arange(source.shape[0]))
        return ArrayRows(enlarged(invariances, rows))
    if isinstance(source, ArrayRows):
        return ArrayRows(Enlarged.of(source.X, invariances))
    if isinstance(source, DaskRows):
        return _of_dask(source, invariances)
    return CopiedBlocks.of(source, invariances)


@dataclass(frozen=True)
class CopiedBlocks(BlockRows):
    """Rows of blocks that can be read again, and their copies; ``y`` and ``sizes`` are the source's."""

    invariances: Any
    n_copies: int

    @classmethod
    def of(cls, source: BlockRows, invariances: Any) -> CopiedBlocks:
        """Of blocks as they are read."""
        told = {field.name: getattr(source, field.name) for field in fields(BlockRows)}
        told["dtype"] = copied_type(invariances, source.n_features, source.dtype)
        return cls(**told, invariances=invariances, n_copies=n_copies_of(invariances, source.n_features))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows with their copies, and features."""
        return sum(self.sizes) * (1 + self.n_copies), self.n_features

    def _read(self) -> Iterator[tuple[int, Any]]:
        k = 1 + self.n_copies
        step = max(1, BLOCK_ROWS // k)
        for start, X in super()._read():
            for first in range(0, X.shape[0], step):
                yield (start + first) * k, enlarged(self.invariances, X[first : first + step])


def _of_dask(source: DaskRows, invariances: Any) -> DaskRows:
    """A Dask array of the copies, in chunks of about as many rows as those of the source."""
    X, n_features = source.X, source.shape[1]
    k = 1 + n_copies_of(invariances, n_features)
    few = max(1, max(max(X.chunks[0]), BLOCK_ROWS) // k)
    X = X.rechunk({0: few})
    meta = np.empty((0, n_features), copied_type(invariances, n_features, X.dtype))
    chunks = (tuple(k * size for size in X.chunks[0]), X.chunks[1])
    return DaskRows(
        X.map_blocks(partial(enlarged, invariances), chunks=chunks, dtype=meta.dtype, meta=meta)
    )
