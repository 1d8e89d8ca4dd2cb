"""The within-class scatter of rows that come in blocks: what a metric that knows the classes is made of.

It is one more sum over the blocks. Neighbours are looked for inside a block, as L_w has them. S_w is
n × n: with more features than `MOST_FEATURES`, and for sparse rows, it comes from a stratified subsample
of the rows instead, through the smaller side of their matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.graphs.metric import (
    ClassRows,
    ScatterSum,
    WithinScatter,
    class_neighbor_graph,
    complete_scatter,
    within_scatter,
)
from nsse.kernels import squared_distances
from nsse.landmarks.centers import stratified
from nsse.landmarks.moments import BLOCK_ROWS
from nsse.landmarks.sources import RowSource

Ints = NDArray[np.intp]

MOST_FEATURES = 4096


def scatter_of(X: Any, codes: Ints, n_neighbors: int | None) -> WithinScatter:
    """The within-class scatter of samples in memory."""
    rows = ClassRows.of(X, codes)
    if n_neighbors is None:
        return complete_scatter(rows)
    return within_scatter(rows, class_neighbor_graph(rows, n_neighbors, squared_distances))


def scatter_of_source(
    source: RowSource, codes: Ints, n_neighbors: int | None, rng: np.random.Generator
) -> WithinScatter:
    """The same of rows from anywhere: of all of them, or of some where features are many."""
    if len(codes) <= BLOCK_ROWS:
        return scatter_of(source.take(np.arange(len(codes))), codes, n_neighbors)
    if source.shape[1] <= MOST_FEATURES and not source.is_sparse:
        total: ScatterSum = source.summed(BlockScatter(n_neighbors), codes)
        return total.decomposed()
    some = stratified(codes, BLOCK_ROWS, rng)
    return scatter_of(source.take(some), codes[some], n_neighbors)


@dataclass(frozen=True)
class BlockScatter:
    """What a block adds; a class, so that it travels to other processes."""

    n_neighbors: int | None

    def __call__(self, X: Any, codes: Ints) -> ScatterSum:
        """Of the edges among these rows."""
        rows = ClassRows.of(X, codes)
        if self.n_neighbors is None:
            return ScatterSum.complete(rows)
        return ScatterSum.of(rows, class_neighbor_graph(rows, self.n_neighbors, squared_distances))
