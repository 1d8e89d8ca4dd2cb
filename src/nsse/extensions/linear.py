"""The linear map f(x) = V'(x − m), and x ↦ Ax, A = (I − V diag(1 − a) V') W: shorter along some axes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from nsse.extensions.blocks import in_blocks
from nsse.kernels import as_dense

Floats = NDArray[np.float64]

# In units of a kernel value.
MULTIPLICATION = 0.01


def linear_map(X: Any, mean: Floats, components: Floats) -> Floats:
    """(x − mean) @ components.T for every row of ``X``, dense or sparse, in float64."""

    def evaluate(rows: Any) -> Floats:
        return np.subtract(as_dense(rows), mean, dtype=np.float64) @ components.T

    d, n_features = components.shape
    return in_blocks(evaluate, X, n_features, d, cost=d * MULTIPLICATION)


@dataclass(frozen=True)
class Contraction:
    """A = (I − V diag(1 − a) V') W: features weighted, then shorter along axes; no x gets longer.

    Attributes
    ----------
    axes : ndarray of shape (n, r)
        V: orthonormal columns.
    factors : ndarray of shape (r,)
        a, in (0, 1].
    weights : ndarray of shape (n,) or None
        Diagonal of W, in (0, 1]; None is W = I, and A symmetric.
    """

    axes: Floats
    factors: Floats
    weights: Floats | None = None

    def __call__(self, X: Any) -> Floats:
        """Ax for every row of ``X``, dense or sparse, in float64."""
        return shorten(X, self.axes, 1.0 - self.factors, self.weights)

    def parts(self, X: Any) -> tuple[Floats, Floats]:
        """Ax for every row, and V'Wx, how far it lies along the axes before it is shortened."""
        n_features, n_axes = self.axes.shape
        along = in_blocks(self._along, X, n_features, n_axes, cost=n_axes * MULTIPLICATION)
        near = self._weighted(np.asarray(as_dense(X), dtype=np.float64))
        return near - self._across(along), along

    def again(self, near: Floats, along: Floats) -> Floats:
        """A'Ax from both parts: Ax lies a times as far along the axes, V'Ax = a V'Wx."""
        return self._weighted(near - self._across(along * self.factors))

    def _along(self, rows: Any) -> Floats:
        return self._weighted(np.asarray(as_dense(rows), dtype=np.float64)) @ self.axes

    def _across(self, along: Floats) -> Floats:
        """What rows that lie so far along the axes lose."""
        lost = (self.axes * (1.0 - self.factors)).T
        n_axes, n_features = lost.shape
        cost = n_axes * MULTIPLICATION
        return in_blocks(lambda rows: rows @ lost, along, n_features, n_features, cost=cost)

    def inverse(self, X: Any) -> Floats:
        """A⁻¹x for every row."""
        return self._unweighted(shorten(X, self.axes, 1.0 - 1.0 / self.factors))

    def adjoint(self, X: Any) -> Floats:
        """A'x for every row: (Ax)'y = x'(A'y)."""
        return self._weighted(shorten(X, self.axes, 1.0 - self.factors))

    def adjoint_inverse(self, X: Any) -> Floats:
        """The x whose A'x is given, for every row."""
        return shorten(self._unweighted(X), self.axes, 1.0 - 1.0 / self.factors)

    def _weighted(self, rows: Floats) -> Floats:
        return rows if self.weights is None else rows * self.weights

    def _unweighted(self, rows: Any) -> Any:
        return rows if self.weights is None else rows / self.weights

    def squares(self, rows: Floats) -> Floats:
        """‖Ax‖² = ‖Wx‖² − Σ_k (1 − a_k²)(v_k'Wx)² for every row: one product, where Ax takes two."""
        rows = self._weighted(rows)
        along = rows @ self._shortened
        squares = row_norms(rows, squared=True)
        squares -= row_norms(along, squared=True)
        return np.maximum(squares, 0.0, out=squares)

    @cached_property
    def _shortened(self) -> Floats:
        """Axes by what they lose."""
        return self.axes * np.sqrt((1.0 - self.factors) * (1.0 + self.factors))

    @property
    def norm(self) -> float:
        """At least ‖A‖: 1 unless every direction is shortened; exact where W = I."""
        n_features, n_axes = self.axes.shape
        largest = 1.0 if self.weights is None else float(self.weights.max())
        return largest * (float(self.factors.max()) if n_axes == n_features else 1.0)

    @property
    def strain(self) -> float:
        """At least ‖A⁻¹‖: how much longer than Ax an x may be."""
        smallest = 1.0 if self.weights is None else float(self.weights.min())
        return 1.0 / (smallest * float(np.min(self.factors, initial=1.0)))


def shorten(X: Any, axes: Floats, shares: Floats, weights: Floats | None = None) -> Floats:
    """x − axes @ (shares * (axes.T @ x)) for every row of ``X``, dense or sparse, in float64.

    With ``weights``, of the rows weighted by features. Nothing of size n × n is formed: with r axes a
    row costs 4 n r operations.
    """
    across = (axes * shares).T

    def evaluate(rows: Any) -> Floats:
        dense = np.asarray(as_dense(rows), dtype=np.float64)
        dense = dense if weights is None else dense * weights
        return dense - (dense @ axes) @ across

    n_features, n_axes = axes.shape
    return in_blocks(evaluate, X, n_features, n_features, cost=2 * n_axes * MULTIPLICATION)
