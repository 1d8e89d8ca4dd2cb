"""What the methods share whose map is a Gaussian expansion f(x) = Σ c_i exp(−‖x − x_i‖²/σ²)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.certificates.asking import certified_labels
from nsse.certificates.models import centers_of_samples, map_at
from nsse.estimators._base import EmbeddingClassifier
from nsse.estimators._within_metric import contraction_of
from nsse.extensions import GaussianExpansion
from nsse.kernels import check_distinct, median_distance, squared_distances

Floats = NDArray[np.float64]


def measured_distances(
    X: Any, length_unit: float | None, weights: Floats | None = None
) -> tuple[Floats, float]:
    """Squared distances in units of length, and the unit (None: the median distance)."""
    check_distinct(X)
    D2 = squared_distances(X)
    unit = median_distance(D2, weights) if length_unit is None else length_unit
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

    def _embed(self, X: Any) -> NDArray[Any]:
        values, dtype = map_at(self, X)
        return values.astype(dtype, copy=False)

    @property
    def expansion_(self) -> GaussianExpansion:
        """The map f, ready to be evaluated at many points."""
        return self._expansion

    def share_centers(self, other: GaussianMapClassifier) -> None:
        """Hold the centres of another model, fitted to the same samples, in place of its own copy.

        Where all samples are centres: landmarks may be others for every model.
        """
        if any(centers_of_samples(model) is None for model in (self, other)):
            return
        self.centers_ = other.centers_
        own, others = getattr(self, "metric_", None), getattr(other, "metric_", None)
        if own is None and others is None:
            self._expansion = replace(self._expansion, read=other._expansion.read)
        elif own is not None and others is not None and own.has_axes_of(others):
            # Metrics of the same samples and another shrinkage.
            own.axes_, own.deviations_, own.weights_ = others.axes_, others.deviations_, others.weights_
            self._expansion = replace(self._expansion, metric=contraction_of(own))
            if np.array_equal(own.factors_, others.factors_):
                self._expansion = replace(self._expansion, read=other._expansion.read)

    def certified_radius(self, X: Any, *, bound: str = "directional", units: str = "samples") -> Floats:
        """How far each sample may be moved, in any direction, before its predicted label can change.

        Proved from the map and the classifier, not estimated: no sample within the radius, measured in
        the units of ``X`` and given in the same floating-point type, gets another label by `predict`.
        See ``docs/certificates.md``. It says nothing about whether the label is right.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        bound : {"directional", "rkhs", "row_sum", "proposition_1"}, default="directional"
            How the change of f is bounded; the others are coarser, and there for comparison.
        units : {"samples", "metric"}, default="samples"
            Of a model in a metric A, "samples" gives the radius of a ball, ‖δ‖ in the units of ``X``,
            and "metric" that of an ellipsoid around it: no change δ with ‖Aδ‖ below it changes the
            label, however long δ is. Without a metric both are the same.

        Returns
        -------
        ndarray of shape (n_samples,)
            Radii: 0 where nothing is certain, ``inf`` where no change of x can change the label.

        Raises
        ------
        ValueError
            If nothing is proved about the `classifier`. Those known are the k nearest neighbours, the
            scores of classes, the nearest centroid and scikit-learn's linear classifiers.
        """
        return certified_labels(self, X, bound, units)[1]

    def __getstate__(self) -> dict[str, Any]:
        # The prepared map is made of `centers_`, `coef_` and `sigma_`: no need to store them twice.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_expansion"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "coef_"):
            metric = contraction_of(getattr(self, "metric_", None))
            self._expansion = GaussianExpansion.at(self.centers_, self.coef_, self.sigma_, metric)
