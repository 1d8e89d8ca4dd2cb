"""Affine maps of samples: metrics, the steps of a pipeline and linear methods are all of this kind.

    x ↦ ((x − shift) · scale) T + offset

T is the identity, a matrix, or the identity less a product of low rank, I − down up: what a metric
learned from few samples of many features needs, so that nothing of size n × n is formed. Sparse rows
stay sparse where T is the identity and nothing is shifted.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dtrmm, dtrmv

from nsse._support.types import Floats

Kind = TypeVar("Kind")
# From so many on the triangular product of BLAS is the faster one; in blocks of so many, which products
# by NumPy follow, the threads of SciPy's BLAS and of NumPy's would wait for each other.
MANY_ROWS, BLOCK_ROWS = 32, 2048


class Later:
    """A field that may be given as a function: the function is called when the field is first read."""

    def __init__(self, name: str) -> None:
        self.key = f"_{name}"

    def __get__(self, owner: Any, kind: type) -> Any:
        value = vars(owner)[self.key]
        if callable(value):
            value = vars(owner)[self.key] = value()
        return value

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self.key] = value


def formed_later(*names: str) -> Callable[[type[Kind]], type[Kind]]:
    """Class decorator: these fields may be given as functions.

    A fit needs the distances of its own rows alone. What new samples are multiplied by takes as long,
    and waits for them.
    """

    def decorated(kind: type[Kind]) -> type[Kind]:
        for name in names:
            setattr(kind, name, Later(name))
        return kind

    return decorated


@formed_later("matrix", "down", "up")
@dataclass(frozen=True)
class Affine:
    """An affine map of rows, with a proven bound of how much it stretches.

    Attributes
    ----------
    shift : ndarray of shape (n_features,)
        Subtracted from every row.
    scale : ndarray of shape (n_features,)
        Multiplies the columns of what is left.
    offset : ndarray of shape (n_outputs,)
        Added in the end.
    norm : float
        No two rows get further apart than by this factor.
    matrix : ndarray of shape (n_features, n_outputs) or None
        T; None is the identity, less ``down @ up`` where these are given.
    down, up : ndarrays of shape (n_features, rank) and (rank, n_features), or None
        The part of low rank that is taken away.
    """

    shift: Floats
    scale: Floats
    offset: Floats
    norm: float
    matrix: Floats | None = None
    down: Any = None
    up: Any = None

    @classmethod
    def identity(cls, n_features: int) -> Affine:
        """Leaves every row as it is."""
        zeros = np.zeros(n_features)
        return cls(zeros, np.ones(n_features), zeros, 1.0)

    @classmethod
    def diagonal(cls, shift: Floats, scale: Floats) -> Affine:
        """(x − shift) · scale."""
        norm = float(np.abs(scale).max(initial=0.0))
        return cls(shift, scale, np.zeros(len(shift)), norm)

    @classmethod
    def linear(cls, shift: Floats, matrix: Floats, offset: Floats | None = None) -> Affine:
        """(x − shift) T + offset, with the spectral norm of T."""
        offset = np.zeros(matrix.shape[1]) if offset is None else offset
        return cls(shift, np.ones(len(shift)), offset, spectral_norm(matrix), matrix)

    @property
    def n_features(self) -> int:
        """Columns of the rows that it takes."""
        return len(self.shift)

    @property
    def n_outputs(self) -> int:
        """Columns of the rows that it gives."""
        return len(self.offset)

    @property
    def keeps_sparse(self) -> bool:
        """Whether sparse rows stay sparse."""
        diagonal = self.matrix is None and self.down is None
        return diagonal and not self.shift.any() and not self.offset.any()

    def __call__(self, X: Any) -> Any:
        """Rows of ``X``, dense or sparse, mapped, in float64."""
        if is_sparse(X):
            return self._of_sparse(X)
        U = np.asarray(X, dtype=np.float64) - self.shift
        U *= self.scale
        U = self._linear(U) if self.matrix is not None or vars(self)["_down"] is not None else U
        return U + self.offset if self.offset.any() else U

    def pull_back(self, G: Floats) -> Floats:
        """Gradients by x of functions that have gradients ``G`` (…, n_outputs) behind the map."""
        if self.matrix is not None:
            return np.asarray((G @ self.matrix.T) * self.scale)
        if self.down is None or self.up is None:
            return G * self.scale
        return np.asarray((G - (G @ self.up.T) @ self.down.T) * self.scale)

    def after(self, first: Affine) -> Affine:
        """The one affine map that applies ``first``, then this one."""
        offset, norm = self(first.offset[np.newaxis])[0], self.norm * first.norm
        if first.matrix is None and first.down is None:  # nothing of size n × n is formed
            scale = first.scale * self.scale
            return replace(self, shift=first.shift, scale=scale, offset=offset, norm=norm)
        matrix = self._linear(first.dense() * self.scale)
        return Affine(first.shift, np.ones(first.n_features), offset, norm, matrix)

    def inverse(self, Y: Any) -> Any:
        """Rows that are mapped to ``Y``, or as near to it as the map allows; sparse ones stay sparse."""
        if is_sparse(Y):
            return sparse.csr_array(Y @ sparse.diags_array(1.0 / self.scale))
        U = Y - self.offset
        if self.matrix is not None:
            is_square = self.matrix.shape[0] == self.matrix.shape[1]
            solve = np.linalg.solve if is_square else lambda A, B: np.linalg.lstsq(A, B, rcond=None)[0]
            U = solve(self.matrix.T, U.T).T
        elif self.down is not None and self.up is not None:
            # (I − down up)⁻¹ = I + down (I − up down)⁻¹ up
            inner = np.eye(len(self.up)) - self.up @ self.down
            U = U + np.linalg.solve(inner.T, (U @ self.down).T).T @ self.up
        return U / self.scale + self.shift

    def dense(self) -> Floats:
        """The linear part, a matrix of shape (n_features, n_outputs)."""
        if self.matrix is not None:
            return self.scale[:, np.newaxis] * self.matrix
        return np.asarray(self._linear(np.diag(self.scale)))

    def multiplied(self, factor: float) -> Affine:
        """The same map with all that it gives multiplied by a positive number."""
        changed = copy(self)  # what is formed later stays so
        scaled = {"scale": self.scale * factor, "offset": self.offset * factor}
        vars(changed).update(scaled, norm=self.norm * factor)
        return changed

    @cached_property
    def _triangle(self) -> Floats | None:
        """T as BLAS takes it, where it is upper triangular: half of every product is saved."""
        T = self.matrix
        is_upper = T is not None and T.shape[0] == T.shape[1] and not np.tril(T, -1).any()
        return np.asfortranarray(T) if is_upper else None

    def _linear(self, U: Any) -> Any:
        """UT; dense rows may be overwritten."""
        if MANY_ROWS <= U.shape[0] < BLOCK_ROWS and self._triangle is not None:
            return dtrmm(1.0, self._triangle, U.T, trans_a=True, overwrite_b=True).T
        if U.shape[0] == 1 and self._triangle is not None:
            return dtrmv(self._triangle, U[0], trans=True)[np.newaxis]
        if self.matrix is not None:
            return U @ self.matrix
        if self.down is None or self.up is None:
            return U
        return U - (U @ self.down) @ self.up

    def _of_sparse(self, X: Any) -> Any:
        scaled = sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(self.scale)
        if self.keeps_sparse:
            return sparse.csr_array(scaled)
        moved = self.shift * self.scale
        if self.matrix is not None:
            return scaled @ self.matrix - (moved @ self.matrix - self.offset)
        return self._linear(scaled.toarray() - moved) + self.offset


def is_sparse(X: Any) -> bool:
    """Whether rows are a SciPy sparse matrix."""
    return bool(sparse.issparse(X))


def spectral_norm(matrix: Floats) -> float:
    """The largest singular value, rounded up."""
    if matrix.size == 0:
        return 0.0
    return float(np.linalg.norm(matrix, 2)) * (1.0 + 1e-12)
