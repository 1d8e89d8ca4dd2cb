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
    counted_neighbor_graph,
    within_scatter,
)
from nsse.graphs.relevance import feature_weights
from nsse.kernels import squared_distances
from nsse.landmarks.centers import stratified
from nsse.landmarks.moments import BLOCK_ROWS
from nsse.landmarks.sources import RowSource

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

MOST_FEATURES = 4096


def scatter_of(
    X: Any,
    codes: Ints,
    n_neighbors: int | None,
    weights: Floats | None = None,
    counts: Floats | None = None,
) -> WithinScatter:
    """The within-class scatter of samples in memory, their features weighted.

    ``counts`` say how many times every sample counts.
    """
    rows = ClassRows.of(weighted(X, weights), codes)
    if n_neighbors is None:
        return complete_scatter(rows, counts)
    if counts is not None:
        counted = counted_neighbor_graph(rows, n_neighbors, squared_distances, counts)
        return within_scatter(rows, *counted)
    return within_scatter(rows, class_neighbor_graph(rows, n_neighbors, squared_distances))


def scatter_of_source(
    source: RowSource,
    codes: Ints,
    n_neighbors: int | None,
    relevance: float,
    rng: np.random.Generator,
    counts: Floats | None = None,
) -> tuple[WithinScatter, Floats]:
    """The same of rows from anywhere, and the weights of their features.

    The scatter is that of all rows, or of some where features are many; the weights, which need medians,
    are those of some where rows are many.
    """
    n_samples, n_features = source.shape
    some = np.arange(n_samples) if n_samples <= BLOCK_ROWS else stratified(codes, BLOCK_ROWS, rng)
    of_all = len(some) < n_samples and n_features <= MOST_FEATURES and not source.is_sparse
    if of_all and relevance == 0:
        weights = np.ones(n_features)
    else:
        X = source.take(some)
        weights = feature_weights(X, codes[some], relevance, _some(counts, some))
    if not of_all:
        return scatter_of(X, codes[some], n_neighbors, weights, _some(counts, some)), weights
    total: ScatterSum = source.summed(BlockScatter(n_neighbors, weights), codes, counts)
    return total.decomposed(), weights


def _some(counts: Floats | None, rows: Ints) -> Floats | None:
    return None if counts is None else counts[rows]


def weighted(X: Any, weights: Floats | None) -> Any:
    """Samples, dense or sparse, with weights on their features."""
    if weights is None or np.all(weights == 1.0):
        return X
    if isinstance(X, np.ndarray):
        return X * weights
    scaled = X.copy()
    scaled.data = scaled.data * weights[scaled.indices]
    return scaled


@dataclass(frozen=True)
class BlockScatter:
    """What a block adds; a class, so that it travels to other processes."""

    n_neighbors: int | None
    weights: Floats | None = None

    def __call__(self, X: Any, codes: Ints, counts: Floats | None = None) -> ScatterSum:
        """Of the edges among these rows."""
        rows = ClassRows.of(weighted(X, self.weights), codes)
        if self.n_neighbors is None:
            return ScatterSum.complete(rows, counts)
        if counts is not None:
            counted = counted_neighbor_graph(rows, self.n_neighbors, squared_distances, counts)
            return ScatterSum.of(rows, *counted)
        return ScatterSum.of(rows, class_neighbor_graph(rows, self.n_neighbors, squared_distances))
