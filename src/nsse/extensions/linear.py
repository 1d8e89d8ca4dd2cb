"""The linear map f(x) = V'(x − m), and x ↦ Ax = x − Σ_k (1 − a_k)(v_k'x) v_k, shorter along some axes.

A point gets the same bits alone, in any batch and in any order: see `row_products`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from nsse.extensions.blocks import in_blocks
from nsse.kernels import as_dense, row_products

Floats = NDArray[np.float64]

# In units of a kernel value.
MULTIPLICATION = 0.01


def linear_map(X: Any, mean: Floats, components: Floats) -> Floats:
    """(x − mean) @ components.T for every row of ``X``, dense or sparse, in float64."""

    def evaluate(rows: Any) -> Floats:
        return row_products(np.subtract(as_dense(rows), mean, dtype=np.float64), components.T)

    d, n_features = components.shape
    return in_blocks(evaluate, X, n_features, d, cost=d * MULTIPLICATION)


@dataclass(frozen=True)
class Contraction:
    """A = I − V diag(1 − a) V': symmetric, with eigenvalues a in (0, 1] along the axes, and 1 elsewhere.

    Attributes
    ----------
    axes : ndarray of shape (n, r)
        V: orthonormal columns.
    factors : ndarray of shape (r,)
        a.
    """

    axes: Floats
    factors: Floats

    def __call__(self, X: Any) -> Floats:
        """Ax for every row of ``X``, dense or sparse, in float64."""
        return shorten(X, self.axes, 1.0 - self.factors)

    def inverse(self, X: Any) -> Floats:
        """A⁻¹x for every row."""
        return shorten(X, self.axes, 1.0 - 1.0 / self.factors)

    def squares(self, rows: Floats) -> Floats:
        """‖Ax‖² = ‖x‖² − Σ_k (1 − a_k²)(v_k'x)² for every row: one product, where Ax takes two."""
        along = row_products(rows, self._shortened)
        squares = row_norms(rows, squared=True)
        squares -= row_norms(along, squared=True)
        return np.maximum(squares, 0.0, out=squares)

    @cached_property
    def _shortened(self) -> Floats:
        """Axes by what they lose, stored as products with rows take them."""
        return np.asfortranarray(self.axes * np.sqrt((1.0 - self.factors) * (1.0 + self.factors)))

    @property
    def norm(self) -> float:
        """‖A‖, 1 unless every direction is shortened."""
        n_features, n_axes = self.axes.shape
        return float(self.factors.max()) if n_axes == n_features else 1.0

    @property
    def strain(self) -> float:
        """‖A⁻¹‖: how much longer than Ax an x may be."""
        return 1.0 / float(np.min(self.factors, initial=1.0))


def shorten(X: Any, axes: Floats, weights: Floats) -> Floats:
    """x − axes @ (weights * (axes.T @ x)) for every row of ``X``, dense or sparse, in float64.

    Nothing of size n × n is formed: with r axes a row costs 4 n r operations.
    """
    across = np.ascontiguousarray((axes * weights).T)

    def evaluate(rows: Any) -> Floats:
        dense = np.asarray(as_dense(rows), dtype=np.float64)
        return dense - row_products(row_products(dense, axes), across)

    n_features, n_axes = axes.shape
    return in_blocks(evaluate, X, n_features, n_features, cost=2 * n_axes * MULTIPLICATION)
