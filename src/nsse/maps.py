"""Maps f: Rⁿ → R^d of fitted models: a sum of Gaussian kernels in a metric, or a linear map.

    GaussianMap   f(x) = Σ_j k(A x, z_j) C_j,      LinearMap   f(x) = (x − shift) T + offset

A map says what a certificate needs: for every direction a, |a'(f(u) − f(v))| is at most √(a'Qa) times a
function of the distance of u and v. Q is the Gram matrix of the coordinates in the space of the kernel,
C'K_ZZ C, or T'T; `reach` inverts the function, in the units of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.utils.extmath import row_norms

from nsse._support.types import Floats
from nsse.affine import Affine, formed_later, is_sparse
from nsse.kernels import FEW_ROWS, Gaussian, in_row_blocks, products


class Map(Protocol):
    """What estimators, certificates and exports ask of a map."""

    @property
    def gram(self) -> Floats:
        """Gram matrix of the coordinates."""

    @property
    def n_components(self) -> int:
        """Number of coordinates."""

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``."""

    def jacobian(self, X: Any) -> Floats:
        """df/dx at the rows of ``X``, of shape (n_samples, d, n_features)."""

    def reach(self, change: Floats) -> Floats:
        """Distance in the units of X within which no coordinate of unit norm changes by ``change``."""


@formed_later("centers")
@dataclass(frozen=True)
class GaussianMap:
    """f(x) = Σ_j exp(−‖A x − z_j‖²/σ²) C_j.

    Attributes
    ----------
    metric : Affine
        A, with shift and unit of length: takes samples to where the kernel measures.
    centers : ndarray or csr_array of shape (n_centers, n_outputs of the metric)
        z_j, in the metric.
    kernel : Gaussian
        Its σ is in the metric's units.
    coef : ndarray of shape (n_centers, d)
        C.
    """

    metric: Affine
    centers: Any
    kernel: Gaussian
    coef: Floats

    @cached_property
    def center_squares(self) -> Floats:
        """‖z_j‖²."""
        return np.asarray(row_norms(self.centers.astype(np.float64, copy=False), squared=True))

    @cached_property
    def gram(self) -> Floats:
        """Q = C'K_ZZ C, computed when a certificate first needs it.

        No file contains it, because a smaller one would give larger radii. Rounding may leave an
        eigenvalue slightly below zero, and certificates allow for it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            half = in_row_blocks(self._at_centers, self.centers, *self.coef.shape)
            gram = self.coef.T @ half
        return np.asarray((gram + gram.T) / 2)

    def _at_centers(self, Z: Any) -> Floats:
        """f at rows that are already in the metric."""
        return self.kernel.between(Z, self.centers, self.center_squares) @ self.coef

    @property
    def n_components(self) -> int:
        """d."""
        return int(self.coef.shape[1])

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, in float64."""
        if X.shape[0] <= FEW_ROWS:
            return self.at_rows(X)
        width = max(X.shape[1], len(self.coef))
        return in_row_blocks(self.at_rows, X, width, self.n_components)

    def at_rows(self, X: Any) -> Floats:
        """f at all rows at once."""
        return (self.coef.T @ self.kernel_rows(X).T).T  # few columns: sooner from this side

    def kernel_rows(self, X: Any) -> Floats:
        """k(A x_i, z_j) of all rows and centres."""
        U = self.metric(X)
        if self.used is None or is_sparse(U):
            return self.kernel.between(U, self.centers, self.center_squares)
        columns, centers = self.used
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", U, U)
            return self.kernel.from_products(U[:, columns], centers, squares, self.center_squares)

    @cached_property
    def used(self) -> tuple[Any, Floats] | None:
        """Columns in which the centres are not all zero, and what they are there; None if sparse.

        Constant features are zero behind a metric: pictures have many at their edges.
        """
        if is_sparse(self.centers):
            return None
        columns = np.flatnonzero(self.centers.any(axis=0))
        if len(columns) == self.centers.shape[1]:
            return slice(None), self.centers
        return columns, np.ascontiguousarray(self.centers[:, columns])

    def jacobian(self, X: Any) -> Floats:
        """df/dx = −(2/σ²) Σ_j C_j k_j (A x − z_j)' A, of shape (n_samples, d, n_features)."""
        U = self.metric(X)
        K = self.kernel.between(U, self.centers, self.center_squares)
        dense = U.toarray() if hasattr(U, "toarray") else U
        weighted = np.einsum("ij,jk->ikj", K, self.coef)  # (N, d, m)
        N, d, m = weighted.shape
        toward = (self.centers.T @ weighted.reshape(N * d, m).T).T.reshape(N, d, -1)
        G = weighted.sum(axis=2)[:, :, np.newaxis] * dense[:, np.newaxis, :] - toward
        return self.metric.pull_back(self.kernel.gradient_factor * G)

    def reach(self, change: Floats) -> Floats:
        """Distance in the units of X within which no coordinate of unit norm changes by ``change``."""
        return self.kernel.reach(change) / self.metric.norm


@dataclass(frozen=True)
class LinearMap:
    """f(x) = (x − shift) T + offset."""

    affine: Affine

    @cached_property
    def gram(self) -> Floats:
        """Q = T'T."""
        T = self.affine.dense()
        return products(T.T, T.T)

    @property
    def n_components(self) -> int:
        """d."""
        return self.affine.n_outputs

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, in float64."""
        return np.asarray(self.affine(X))

    def jacobian(self, X: Any) -> Floats:
        """df/dx, the same everywhere, of shape (n_samples, d, n_features)."""
        return np.broadcast_to(self.affine.dense().T, (X.shape[0], self.n_components, X.shape[1]))

    def reach(self, change: Floats) -> Floats:
        """Distance within which no coordinate of unit norm changes by ``change``: the change itself."""
        return np.asarray(change, dtype=np.float64)
