"""Distances of a split in every metric that points of a grid ask for, each scatter decomposed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._settings import Settings
from nsse.extensions import Contraction
from nsse.graphs.metric import WithinScatter
from nsse.kernels.metric import SplitDistances
from nsse.landmarks import scatter_of

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class _Cut:
    """The scatter of the training samples, and distances cut at its axes."""

    scatter: WithinScatter
    within: SplitDistances
    to_new: SplitDistances


class Rulers:
    """What the training samples of a split measure distances with."""

    def __init__(self, X: Any, D2: Floats, codes: Ints, train: Ints, valid: Ints) -> None:
        self._X, self._D2, self._codes = X, D2, codes
        self._train, self._valid = train, valid
        self._scatters: dict[int | None, WithinScatter] = {}
        self._cuts: dict[int | None, _Cut] = {}

    def contraction(self, settings: Settings) -> Contraction | None:
        """What the metric does to samples; None where it is Euclidean."""
        if settings.metric == "euclidean":
            return None
        scatter = self._scatter(settings.n_neighbors)
        return Contraction(scatter.axes, scatter.factors(settings.shrinkage))

    def distances(self, settings: Settings) -> tuple[Floats, Floats]:
        """Squared distances among the training samples, and from the others to them."""
        train, valid = self._train, self._valid
        if settings.metric == "euclidean":
            return self._D2[np.ix_(train, train)], self._D2[np.ix_(valid, train)]
        cut = self._cut(settings.n_neighbors)
        factors = cut.scatter.factors(settings.shrinkage)
        return cut.within.shrunk(factors), cut.to_new.shrunk(factors)

    def _scatter(self, n_neighbors: int | None) -> WithinScatter:
        if n_neighbors not in self._scatters:
            self._scatters[n_neighbors] = scatter_of(self._X[self._train], self._codes, n_neighbors)
        return self._scatters[n_neighbors]

    def _cut(self, n_neighbors: int | None) -> _Cut:
        if n_neighbors not in self._cuts:
            train, valid, scatter = self._train, self._valid, self._scatter(n_neighbors)
            rows, new = (np.asarray(self._X[part] @ scatter.axes) for part in (train, valid))
            self._cuts[n_neighbors] = _Cut(
                scatter,
                SplitDistances.of(self._D2[np.ix_(train, train)], rows),
                SplitDistances.of(self._D2[np.ix_(valid, train)], new, rows),
            )
        return self._cuts[n_neighbors]
