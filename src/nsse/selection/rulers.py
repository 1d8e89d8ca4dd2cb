"""Distances of a split in every metric that points of a grid ask for, each scatter decomposed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.graphs.metric import WithinScatter
from nsse.graphs.relevance import feature_weights
from nsse.kernels import Shifted, squared_distances
from nsse.kernels.metric import SplitDistances
from nsse.landmarks import scatter_of, weighted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Ruler:
    """Squared distances among samples and from new ones to them, in the metric of every shrinkage.

    ``weights`` are those of the features, ``D2`` and ``D2_new`` the distances of what they make of the
    samples; ``scatter`` is that of the same. ``counts`` say how many times every sample counts.
    """

    X: Any
    X_new: Any
    codes: Ints
    n_neighbors: int | None
    weights: Floats | None
    D2: Floats
    D2_new: Floats
    counts: Floats | None = None

    @cached_property
    def scatter(self) -> WithinScatter:
        """What the metrics are made of."""
        return scatter_of(self.X, self.codes, self.n_neighbors, self.weights, self.counts)

    @cached_property
    def _cuts(self) -> tuple[SplitDistances, SplitDistances]:
        """The distances cut at the axes of the scatter."""
        axes = self.scatter.axes
        along = axes if self.weights is None else axes * self.weights[:, np.newaxis]
        rows, new = np.asarray(self.X @ along), np.asarray(self.X_new @ along)
        return SplitDistances.of(self.D2, rows), SplitDistances.of(self.D2_new, new, rows)

    def distances(self, shrinkage: float) -> tuple[Floats, Floats]:
        """Squared distances in the metric: among the samples, and to them."""
        # Without scatter (no two samples of a class differ) nothing is shortened.
        if np.isinf(shrinkage) or self.scatter.deviations.size == 0:
            return self.D2, self.D2_new
        factors = self.scatter.factors(shrinkage)
        cut, cut_new = self._cuts
        return cut.shrunk(factors), cut_new.shrunk(factors)


class Rulers:
    """What the training samples of a split measure distances with, by neighbours and relevance."""

    def __init__(
        self, X: Any, codes: Ints, X_new: Any, D2: Floats, D2_new: Floats, counts: Floats | None = None
    ) -> None:
        self._X, self._codes, self._X_new, self.counts = X, codes, X_new, counts
        self._D2, self._D2_new = D2, D2_new
        self._made: dict[tuple[int | None, float], Ruler] = {}

    def ruler(self, n_neighbors: int | None, relevance: float) -> Ruler:
        """For metrics of so many neighbours, in which features have the weights of a relevance."""
        key = n_neighbors, relevance
        if key not in self._made:
            self._made[key] = self._weighted(n_neighbors, relevance)
        return self._made[key]

    def _weighted(self, n_neighbors: int | None, relevance: float) -> Ruler:
        X, new, codes = self._X, self._X_new, self._codes
        if relevance == 0:
            return Ruler(X, new, codes, n_neighbors, None, self._D2, self._D2_new, self.counts)
        weights = feature_weights(X, codes, relevance, self.counts)
        near, near_new = weighted(X, weights), weighted(new, weights)
        D2, D2_new = squared_distances(near), Shifted.of(near).squared_distances_from(near_new)
        return Ruler(X, new, codes, n_neighbors, weights, D2, D2_new, self.counts)
