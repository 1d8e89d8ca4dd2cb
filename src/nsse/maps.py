"""Represent the maps f: Rⁿ → R^d of fitted models, which are sums of kernels or linear maps.

    KernelMap   f(x) = Σ_j κ(‖A x − z_j‖²/σ²) C_j,      LinearMap   f(x) = (x − shift) T + offset

The gradient of a sum of kernels behind the metric is Σ_j w_j (u − z_j) with w_j = 2κ′(t_j)/σ² times the
coefficient (`summed_gradients`). Jacobians, explanations and certificates all use it.

A map contains what a certificate needs. For every direction a, |a'(f(u) − f(v))| is at most √(a'Qa)
times `change`, a function of the distance of u and v behind the metric. Q is the Gram matrix of the
coordinates in the space of the kernel, C'K_ZZ C, or T'T. `reach` is the inverse of `change`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from sklearn.utils.extmath import row_norms

from nsse._support.types import Floats, Ints, Matrix, SamplesLike
from nsse.affine import Affine, dense_array, formed_later, is_sparse
from nsse.distances import FEW_ROWS, in_row_blocks, products, squared_distances
from nsse.kernels import Kernel
from nsse.scores import Scores


class Map(Protocol):
    """The members that every map has, whatever it is made of.

    Kernel maps and linear maps also have a Gram matrix of their coordinates. A map that is piecewise
    affine in several such maps has none, but it has the members of this protocol.
    """

    @property
    def n_features(self) -> int:
        """Number of columns of the rows that the map takes."""

    @property
    def n_components(self) -> int:
        """Number of coordinates."""

    def __call__(self, X: SamplesLike) -> Floats:
        """Return f at the rows of ``X``."""

    def jacobian(self, X: SamplesLike) -> Floats:
        """Return df/dx at the rows of ``X``, of shape (n_samples, d, n_features)."""

    def gradients(self, X: SamplesLike, A: Floats) -> Floats:
        """Return gradients of a_i'f at the rows x_i of ``X``, with one direction a_i for each row."""

    def members(self, scores: Scores) -> tuple[Member, ...]:
        """Return the kernel and linear maps whose weighted values make up the values of the classes."""


class Member(NamedTuple):
    """A kernel or linear map with affine functions of the classes, and the weight of their values.

    A single model is one member of weight 1. The members of an ensemble add up to its class scores.
    """

    map: KernelMap | LinearMap
    scores: Scores
    weight: float = 1.0

    def values(self, X: SamplesLike) -> Floats:
        """Return the weight times the largest function of every class at the rows of ``X``."""
        return self.weight * self.scores.values(self.map(X))


def members_of(model: Any) -> tuple[Member, ...]:
    """Return the kernel and linear maps of a fitted model with their scores and weights.

    A single model is one member. The result is empty if the model has a map of another kind.
    """
    f: Any = getattr(model, "map_", None)
    return f.members(model.scores_) if hasattr(f, "members") else ()


def plainest(members: tuple[Member, ...]) -> Member:
    """Return the member with the fewest centers. Others may have augmented samples in addition."""
    return min(members, key=lambda member: len(member.map.coef))


def with_maps(f: Any, change: Callable[[Any], Any]) -> Any:
    """Return a map with ``change(map)`` for the map of each member. A single map is its own member."""
    if not hasattr(f, "parts"):
        return change(f)
    return replace(f, parts=tuple(part._replace(map=change(part.map)) for part in f.parts))


@formed_later("centers")
@dataclass(frozen=True)
class KernelMap:
    """f(x) = Σ_j κ(‖A x − z_j‖²/σ²) C_j.

    Attributes
    ----------
    metric : Affine
        A, with shift and unit of length. It maps samples into the space of the kernel.
    centers : ndarray or csr_array of shape (n_centers, n_outputs of the metric)
        z_j, in the metric.
    kernel : Kernel
        Its σ is in the metric's units.
    coef : ndarray of shape (n_centers, d)
        C.
    """

    metric: Affine
    centers: Matrix
    kernel: Kernel
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

    def _at_centers(self, Z: Matrix) -> Floats:
        """Return f at rows that are already in the metric."""
        return self.kernel.between(Z, self.centers, self.center_squares) @ self.coef

    @cached_property
    def flaw(self) -> str | None:
        """Why certificates cannot rely on the kernel (`Kernel.flaw`), or None."""
        if self.kernel.is_proved:  # centers that are formed later need not be formed for this
            return None
        return self.kernel.flaw() or self.kernel.flaw_among(self.centers)

    @property
    def affine(self) -> Affine:
        """A, the affine map that samples pass first."""
        return self.metric

    @property
    def mean_sample(self) -> Floats:
        """The mean of the centers in the units of the samples, as one dense row."""
        middle = np.asarray(self.centers.mean(axis=0), dtype=np.float64).reshape(1, -1)
        return dense_array(self.metric.inverse(middle))

    @property
    def n_features(self) -> int:
        """Columns of the rows that it takes."""
        return self.metric.n_features

    @property
    def n_components(self) -> int:
        """d."""
        return int(self.coef.shape[1])

    def __call__(self, X: SamplesLike) -> Floats:
        """Return f at the rows of ``X``, dense or sparse, in float64."""
        if X.shape[0] <= FEW_ROWS:
            return self.at_rows(X)
        width = max(X.shape[1], len(self.coef))
        return in_row_blocks(self.at_rows, X, width, self.n_components)

    def at_rows(self, X: SamplesLike) -> Floats:
        """Return f at all rows at once."""
        return (self.coef.T @ self.kernel_rows(X).T).T  # few columns, which is faster from this side

    def kernel_rows(self, X: SamplesLike) -> Floats:
        """Return k(A x_i, z_j) for all rows and centers."""
        U = self.metric(X)
        if self.used is None or is_sparse(U):
            return self.kernel.between(U, self.centers, self.center_squares)
        columns, centers = self.used
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", U, U)
            return self.kernel.from_products(U[:, columns], centers, squares, self.center_squares)

    @cached_property
    def used(self) -> tuple[Any, Floats] | None:
        """The columns in which dense centers are not all zero, and their values there.

        Constant features are zero behind a metric. Images have many of them at their edges.
        """
        if is_sparse(self.centers):
            return None
        columns = np.flatnonzero(self.centers.any(axis=0))
        if len(columns) == self.centers.shape[1]:
            return slice(None), self.centers
        return columns, np.ascontiguousarray(self.centers[:, columns])

    def slope_weights(self, U: Matrix) -> Floats:
        """Return w with df_j/du = Σ_k w_ijk (u_i − z_k) behind the metric: (n_samples, d, n_centers)."""
        weights = self.kernel.gradient_weights(U, self.centers, self.center_squares)
        return weights[:, np.newaxis, :] * self.coef.T

    def bend_weights(self, U: Matrix) -> Floats:
        """Return 4κ″(t_ik)/σ⁴ for rows u_i behind the metric and all centers."""
        sigma = self.kernel.sigma
        t = squared_distances(U, self.centers, self.center_squares) / sigma**2
        return np.asarray(self.kernel.bend(t)) * (4.0 / sigma**4)

    def jacobian(self, X: SamplesLike) -> Floats:
        """Return df/dx at the rows of ``X``, of shape (n_samples, d, n_features).

        At a center where the kernel has a kink (`Kernel.gradient_weights`), its term counts as 0.
        """
        n_samples = X.shape[0]
        d = self.n_components
        n = self.metric.n_features

        def of_rows(rows: Ints) -> Floats:
            U = self.metric(X[rows])
            J = summed_gradients(self.slope_weights(U), dense_array(U), self.centers)
            return np.asarray(self.metric.pull_back(J)).reshape(len(rows), -1)

        width = d * (len(self.coef) + max(n, self.metric.n_outputs))
        return in_row_blocks(of_rows, np.arange(n_samples), width, d * n).reshape(n_samples, d, n)

    def gradients(self, X: SamplesLike, A: Floats) -> Floats:
        """Return gradients by x of a_i'f at the rows x_i of ``X``, with one direction a_i per row."""

        def of_rows(rows: Ints) -> Floats:
            U = self.metric(X[rows])
            weights = self.kernel.gradient_weights(U, self.centers, self.center_squares)
            weights *= A[rows] @ self.coef.T
            return np.asarray(
                self.metric.pull_back(summed_gradients(weights, dense_array(U), self.centers))
            )

        width = max(len(self.coef), self.metric.n_features, self.metric.n_outputs)
        return in_row_blocks(of_rows, np.arange(X.shape[0]), width, self.metric.n_features)

    def change(self, distance: Floats) -> Floats:
        """Return √(2 − 2κ(d²/σ²)), by which no function of unit norm changes more behind the metric."""
        return self.kernel.change(distance)

    def reach(self, change: Floats) -> Floats:
        """Return the distance behind the metric within which no such function changes by ``change``."""
        return self.kernel.reach(change)

    @property
    def unit_slope(self) -> float:
        """The largest slope of a function of unit norm, in the units of the samples."""
        return self.metric.norm * self.kernel.unit_slope

    @property
    def length_scale(self) -> float:
        """σ."""
        return self.kernel.sigma

    @property
    def has_local_bound(self) -> bool:
        """Whether values and slopes give a bound. Slopes of sparse centers would be dense."""
        return self.kernel.has_local_bound and not is_sparse(self.centers)

    def members(self, scores: Scores) -> tuple[Member, ...]:
        """Return the map as a single member."""
        return (Member(self, scores),)


def summed_gradients(weights: Floats, U: Floats, Z: Matrix) -> Floats:
    """Return Σ_k w_k (u_i − z_k) for every row u_i.

    Parameters
    ----------
    weights : ndarray of shape (n_samples, n_centers) or (n_samples, d, n_centers)
        w, of one sum or of d sums for each row.
    U : ndarray of shape (n_samples, n)
        u_i.
    Z : {ndarray, sparse matrix} of shape (n_centers, n)
        z_k.
    """
    toward = (weights.reshape(-1, weights.shape[-1]) @ Z).reshape(*weights.shape[:-1], -1)
    rows = U if weights.ndim == 2 else U[:, np.newaxis]
    return np.asarray(weights.sum(axis=-1, keepdims=True) * rows - toward)


@dataclass(frozen=True)
class LinearMap:
    """f(x) = (x − shift) T + offset."""

    affine: Affine

    # Distances are those of the samples, and there are no kernels and no centers.
    metric: ClassVar[None] = None
    kernel: ClassVar[None] = None
    flaw: ClassVar[None] = None
    unit_slope: ClassVar[float] = 1.0
    length_scale: ClassVar[float] = np.inf
    has_local_bound: ClassVar[bool] = False

    @property
    def centers(self) -> Floats:
        """No rows."""
        return np.empty((0, self.affine.n_outputs))

    @property
    def coef(self) -> Floats:
        """No rows."""
        return np.empty((0, self.affine.n_outputs))

    @property
    def mean_sample(self) -> Floats:
        """The shift, which is the mean of the training samples in most methods, as one row."""
        return self.affine.shift[np.newaxis]

    def kernel_rows(self, X: SamplesLike) -> Floats:
        """Return no columns, because there are no centers."""
        return np.empty((X.shape[0], 0))

    @cached_property
    def gram(self) -> Floats:
        """Q = T'T."""
        T = self.affine.dense()
        return products(T.T, T.T)

    @property
    def n_features(self) -> int:
        """Columns of the rows that it takes."""
        return self.affine.n_features

    @property
    def n_components(self) -> int:
        """d."""
        return self.affine.n_outputs

    def __call__(self, X: SamplesLike) -> Floats:
        """Return f at the rows of ``X``, dense or sparse, in float64."""
        return np.asarray(self.affine(X))

    def jacobian(self, X: SamplesLike) -> Floats:
        """Return df/dx, which is the same everywhere, of shape (n_samples, d, n_features)."""
        return np.broadcast_to(self.affine.dense().T, (X.shape[0], self.n_components, X.shape[1]))

    def gradients(self, X: SamplesLike, A: Floats) -> Floats:
        """Return gradients of a_i'f, which are equal for all rows, with one direction a_i per row."""
        return self.affine.pull_back(A)

    def change(self, distance: Floats) -> Floats:
        """Return the distance, because no function of unit norm changes by more."""
        return distance

    def reach(self, change: Floats) -> Floats:
        """Return the distance within which no function of unit norm changes by ``change``."""
        return change

    def members(self, scores: Scores) -> tuple[Member, ...]:
        """Return the map as a single member."""
        return (Member(self, scores),)
