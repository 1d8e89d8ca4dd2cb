"""Compute the distances of a `WithinMetric` for many values of the shrinkage from one decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nsse._support.types import Floats, Ints
from nsse.distances import distances_from, products, squared_norms
from nsse.hull import squared_heights
from nsse.metrics.learned import centered, dense_rows
from nsse.metrics.relevance import feature_weights
from nsse.metrics.scatter import along_scatter
from nsse.rows import Rows


@dataclass(frozen=True)
class SharedScatter:
    """Contain rows and other samples with weighted features, and compute their distances.

    Let v_k be the eigenvalues of S_w, and x_k the coordinates of x along its eigenvectors. Then
    (Ax)'(Az) = x'z − Σ_k v_k/(v_k + ρ) x_k z_k for all ρ.

    Attributes
    ----------
    rows, held : ndarrays
        The rows and the other samples, centered, with weighted features.
    inner, across : ndarrays
        Inner products of the rows, and of the other samples with the rows.
    edges : tuple
        Classes and weights of the rows, and the number of neighbors in the within-class graph.
    """

    rows: Floats
    held: Floats
    inner: Floats
    across: Floats
    edges: tuple[Ints, Floats, int | None]

    @classmethod
    def of(
        cls, given: Rows, held: Any, relevance: float, spreads: bool, n_neighbors: int | None
    ) -> SharedScatter:
        """Weight the features of rows and of other samples."""
        X = dense_rows(given.held())
        affine = centered(X)
        rows, others = affine(X), affine(dense_rows(held))
        codes = np.unique(given.codes, return_inverse=True)[1]
        if relevance > 0.0:
            weights = feature_weights(rows, codes, given.weights, relevance, spreads)
            rows, others = rows * weights, others * weights
        k = None if n_neighbors is None else n_neighbors * given.per_sample
        inner, across = products(rows, rows), products(others, rows)
        return cls(rows, others, inner, across, (codes, given.weights, k))

    @cached_property
    def heights(self) -> Floats:
        """Return squared distances of the other samples from the hull of the rows.

        They are the same in all metrics, which shorten directions in the hull alone.
        """
        if len(self.inner) > self.rows.shape[1]:
            return np.zeros(len(self.across))
        return squared_heights(self.inner, self.across, squared_norms(self.held))

    @cached_property
    def scatter(self) -> tuple[Floats, Floats, Floats, float]:
        """Eigenvalues of S_w, rows and other samples along its eigenvectors, and tr(S_w)/n."""
        return along_scatter(self.rows, self.held, self.inner, self.across, *self.edges)

    def distances(self, shrinkage: float) -> tuple[Floats, Floats]:
        """Return squared distances of the rows, and of the other samples to them."""
        inner = self.inner
        across = self.across
        norms = squared_norms(self.held) - self.heights
        if np.isfinite(shrinkage) and self.scatter[3] > 0.0:
            values, rows, held, mean = self.scatter
            factors = values / (values + shrinkage * mean)
            P = rows * factors
            inner, across = inner - P @ rows.T, across - held @ P.T
            norms = norms - np.square(held) @ factors
        E2 = np.maximum(norms[:, np.newaxis] + inner.diagonal() - 2.0 * across, 0.0)
        return distances_from(inner), E2
