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
class Ruler:
    """Squared distances among samples and from new ones to them, in the metric of every shrinkage.

    ``scatter`` is that of the samples; ``cut`` and ``cut_new`` are the distances cut at its axes.
    """

    D2: Floats
    D2_new: Floats
    scatter: WithinScatter
    cut: SplitDistances
    cut_new: SplitDistances

    @classmethod
    def of(
        cls, X: Any, codes: Ints, X_new: Any, n_neighbors: int | None, D2: Floats, D2_new: Floats
    ) -> Ruler:
        """Learn the metric from samples."""
        scatter = scatter_of(X, codes, n_neighbors)
        rows, new = np.asarray(X @ scatter.axes), np.asarray(X_new @ scatter.axes)
        cut, cut_new = SplitDistances.of(D2, rows), SplitDistances.of(D2_new, new, rows)
        return cls(D2, D2_new, scatter, cut, cut_new)

    def distances(self, shrinkage: float) -> tuple[Floats, Floats]:
        """Squared distances in the metric: among the samples, and to them."""
        # Without scatter (no two samples of a class differ) every metric is the Euclidean one.
        if np.isinf(shrinkage) or self.scatter.deviations.size == 0:
            return self.D2, self.D2_new
        factors = self.scatter.factors(shrinkage)
        return self.cut.shrunk(factors), self.cut_new.shrunk(factors)


class Rulers:
    """What the training samples of a split measure distances with, by the number of neighbours."""

    def __init__(self, X: Any, D2: Floats, codes: Ints, train: Ints, valid: Ints) -> None:
        self._X, self._D2, self._codes = X, D2, codes
        self._train, self._valid = train, valid
        self._made: dict[int | None, Ruler] = {}

    def contraction(self, settings: Settings) -> Contraction | None:
        """What the metric does to samples; None where it is Euclidean."""
        if settings.metric == "euclidean":
            return None
        scatter = self._ruler(settings.n_neighbors).scatter
        return Contraction(scatter.axes, scatter.factors(settings.shrinkage))

    def distances(self, settings: Settings) -> tuple[Floats, Floats]:
        """Squared distances among the training samples, and from the others to them."""
        if settings.metric == "euclidean":
            return self._euclidean()
        return self._ruler(settings.n_neighbors).distances(settings.shrinkage)

    def _ruler(self, n_neighbors: int | None) -> Ruler:
        if n_neighbors not in self._made:
            own, new = self._X[self._train], self._X[self._valid]
            self._made[n_neighbors] = Ruler.of(own, self._codes, new, n_neighbors, *self._euclidean())
        return self._made[n_neighbors]

    def _euclidean(self) -> tuple[Floats, Floats]:
        train, valid = self._train, self._valid
        return self._D2[np.ix_(train, train)], self._D2[np.ix_(valid, train)]
