"""What the methods share whose map is a Gaussian expansion f(x) = Σ c_i exp(−‖x − x_i‖²/σ²)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._base import EmbeddingClassifier
from nsse.extensions import GaussianExpansion
from nsse.kernels import check_distinct, median_distance, squared_distances

Floats = NDArray[np.float64]


def measured_distances(X: Any, length_unit: float | None) -> tuple[Floats, float]:
    """Squared distances in units of length, and the unit (None: the median distance)."""
    check_distinct(X)
    D2 = squared_distances(X)
    unit = median_distance(D2) if length_unit is None else length_unit
    D2 /= unit**2
    return D2, unit


class GaussianMapClassifier(EmbeddingClassifier):
    """An `EmbeddingClassifier` that sets ``centers_``, ``coef_`` and ``sigma_`` by `_keep_map`."""

    def _keep_map(self, X: Any, coef: Floats, sigma: float) -> None:
        """Take f with the samples as its centres; ``embedding_`` is what `transform` gives for them."""
        self.centers_, self.coef_, self.sigma_ = X.copy(), coef, sigma
        self._expansion = GaussianExpansion.at(self.centers_, coef, sigma)
        self.embedding_ = self._expansion(X).astype(X.dtype, copy=False)

    def _map(self, X: Any) -> NDArray[Any]:
        return self._expansion(X)

    def __getstate__(self) -> dict[str, Any]:
        # The prepared map is made of `centers_`, `coef_` and `sigma_`: no need to store them twice.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_expansion"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "coef_"):
            self._expansion = GaussianExpansion.at(self.centers_, self.coef_, self.sigma_)
