"""Represent affine maps of samples, such as metrics, the steps of a pipeline and linear methods.

    x ↦ ((x − shift) · scale) T + offset

T has one of four forms:

- the identity. If nothing is shifted, sparse rows stay sparse.
- a dense matrix.
- a product `matrix` · `tail`, where `matrix` may be sparse. Its columns are usually training samples,
  and the dense `tail` combines them. Sparse rows are multiplied without being made dense.
- the identity minus a product of low rank, I − down up. A metric that was learned from few samples of
  many features has this form, so that nothing of size n × n is formed.

The norm of a map bounds how much it stretches distances. Certificates rely on it, so it is computed from
the map and cannot be stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import dtrmm, dtrmv

from nsse._support.errors import rule_error
from nsse._support.types import Floats, Matrix, SamplesLike

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Kind = TypeVar("Kind")
EPS = float(np.finfo(np.float64).eps)
# A larger scale leaves no room for the sums of products.
LARGEST_SCALE = 1e300
# Between these sizes, squares and sums of many squares are ordinary numbers.
SAFE = 2.0**-400, 2.0**400
# From this size on, the triangular product of BLAS is faster. In blocks of this size that are followed
# by NumPy's products, the threads of SciPy's BLAS and of NumPy's would wait for each other.
MANY_ROWS, BLOCK_ROWS = 32, 2048
# Up to this many features, the norm of I − down up is computed from the dense matrix.
FEW_FEATURES = 512
# A preimage is a weighted sum of the columns of a sparse matrix. Weights below this share of its largest
# one are rounding, and they would make the preimage dense.
LEAST_WEIGHT = 1e-9
# Number of preimages in a block. It is dense until its small weights are removed.
PREIMAGES = 64


class Later:
    """A field that may be given as a function, which is called when the field is first read."""

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
    """Decorate a class so that these fields may be given as functions.

    A fit only needs the distances of its own rows. The matrix for new samples takes as long to compute,
    and is computed when it is first used.
    """

    def decorated(kind: type[Kind]) -> type[Kind]:
        for name in names:
            setattr(kind, name, Later(name))
        return kind

    return decorated


@formed_later("matrix", "tail", "down", "up")
@dataclass(frozen=True)
class Affine:
    """An affine map of rows.

    Attributes
    ----------
    shift : ndarray of shape (n_features,)
        Subtracted from every row.
    scale : ndarray of shape (n_features,)
        Multiplies the columns after that.
    offset : ndarray of shape (n_outputs,)
        Added in the end.
    matrix : ndarray of shape (n_features, n_outputs) or None
        T. With a `tail`, a dense or sparse array of shape (n_features, n_columns). None is the identity,
        minus ``down @ up`` if these are given.
    down, up : ndarrays of shape (n_features, rank) and (rank, n_features), or None
        The part of low rank that is subtracted.
    tail : ndarray of shape (n_columns, n_outputs) or None
        The right factor: T is ``matrix @ tail``.
    """

    shift: Floats
    scale: Floats
    offset: Floats
    matrix: Matrix | None = None
    down: Floats | None = None
    up: Floats | None = None
    tail: Floats | None = None

    @classmethod
    def identity(cls, n_features: int) -> Affine:
        """Return the identity."""
        zeros = np.zeros(n_features)
        return cls(zeros, np.ones(n_features), zeros)

    @classmethod
    def diagonal(cls, shift: Floats, scale: Floats) -> Affine:
        """Return the map (x − shift) · scale."""
        return cls(shift, scale, np.zeros(len(shift)))

    @classmethod
    def linear(cls, shift: Floats, matrix: Floats, offset: Floats | None = None) -> Affine:
        """Return the map (x − shift) T + offset."""
        offset = np.zeros(matrix.shape[1]) if offset is None else offset
        return cls(shift, np.ones(len(shift)), offset, matrix)

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
        return self._is_diagonal and not self.shift.any() and not self.offset.any()

    @property
    def _is_diagonal(self) -> bool:
        """Whether T is the identity. No matrix is computed for this."""
        return vars(self)["_matrix"] is None and vars(self)["_down"] is None

    @cached_property
    def norm(self) -> float:
        """The spectral norm of diag(scale) T, rounded up. The map stretches no distance by more.

        For I − down up of many features, it is the product of the norms of the two factors.
        """
        widest = float(np.abs(self.scale).max(initial=0.0))
        if self._is_diagonal:
            return widest
        if self.matrix is not None and self.tail is not None:
            return self._norm_of_product(self.matrix, self.tail)
        if self.matrix is not None and is_sparse(self.matrix):
            return sparse_norm(sparse.diags_array(self.scale) @ self.matrix)
        if self.down is None or self.up is None or len(self.down) <= max(FEW_FEATURES, 2 * len(self.up)):
            return spectral_norm(self.dense())
        return widest * norm_without(self.down, self.up)

    def __call__(self, X: SamplesLike) -> Any:
        """Map the rows of ``X``, dense or sparse, in float64."""
        if is_sparse(X):
            return self._of_sparse(X)
        U = np.asarray(X, dtype=np.float64) - self.shift
        U *= self.scale
        U = U if self._is_diagonal else self._linear(U)
        return U + self.offset if self.offset.any() else U

    def pull_back(self, G: Floats) -> Floats:
        """Return gradients by x of functions whose gradients behind the map are ``G`` (…, n_outputs)."""
        return np.asarray(self._transposed(G) * self.scale)

    def after(self, first: Affine) -> Affine:
        """Return the affine map that applies ``first`` and then this map."""
        offset = self(first.offset[np.newaxis])[0]
        if first._is_diagonal:  # nothing of size n × n is formed
            return replace(self, shift=first.shift, scale=first.scale * self.scale, offset=offset)
        if first.tail is not None:  # sparse factors stay sparse
            tail = self._linear(first.tail * self.scale)
            return replace(first, offset=offset, tail=tail)
        if first.down is not None and first.up is not None:
            T = self.dense()
            T = T - first.down @ (first.up @ T)
            return Affine(first.shift, first.scale, offset, T)
        matrix = self._linear(first.dense() * self.scale)
        return Affine.linear(first.shift, matrix, offset)

    def inverse(self, Y: Matrix) -> Any:
        """Return rows that are mapped to ``Y``, or as close to it as possible.

        If there are several such rows, the one with the shortest scaled difference to the shift is
        returned, which lies in the range of T. The result is sparse if ``Y`` or the matrix of the map is
        sparse.
        """
        if is_sparse(Y):
            if self.keeps_sparse:
                return sparse.csr_array(Y @ sparse.diags_array(1.0 / self.scale))
            Y = Y.toarray()
        U = Y - self.offset
        if self.matrix is not None:
            U = self._preimages(U, self.matrix)
        elif self.down is not None and self.up is not None:
            # (I − down up)⁻¹ = I + down (I − up down)⁻¹ up
            inner = np.eye(len(self.up)) - self.up @ self.down
            U = U + np.linalg.solve(inner.T, (U @ self.down).T).T @ self.up
        if is_sparse(U):
            U = sparse.csr_array(U @ sparse.diags_array(1.0 / self.scale))
            return moved_by(U, self.shift) if self.shift.any() else U
        return U / self.scale + self.shift

    def squares_outside(self, X: SamplesLike) -> Floats:
        """Return what is left of ‖(x − shift) · scale‖² without the component in the range of T."""
        inside = self(X) - self.offset
        if is_sparse(X):
            rows = sparse.csr_array(X).astype(np.float64, copy=False)
            scaled: Any = rows @ sparse.diags_array(self.scale)
            moved = self.shift * self.scale
            norms = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
            squares = norms - 2.0 * (scaled @ moved) + moved @ moved
        else:
            U = (np.asarray(X, dtype=np.float64) - self.shift) * self.scale
            squares = np.einsum("ij,ij->i", U, U)
        squares = squares - np.einsum("ij,ij->i", inside @ self._inverse_products, inside)
        return np.asarray(np.maximum(squares, 0.0))

    def dense(self) -> Floats:
        """Return the linear part, a matrix of shape (n_features, n_outputs)."""
        if self.matrix is None:
            return np.asarray(self._linear(np.diag(self.scale)))
        T = dense_array(self.matrix) if self.tail is None else self.matrix @ self.tail
        return np.asarray(self.scale[:, np.newaxis] * T)

    def joined(self) -> Affine:
        """Return the same map with `matrix` and `tail` multiplied, if code needs a dense matrix."""
        if self.matrix is None or (self.tail is None and not is_sparse(self.matrix)):
            return self
        T = self.matrix if self.tail is None else self.matrix @ self.tail
        return replace(self, matrix=dense_array(T), tail=None)

    def multiplied(self, factor: float) -> Affine:
        """Return the map whose results are multiplied by a positive number."""
        changed = copy(self)  # factors that are computed later stay so
        vars(changed).update(scale=self.scale * factor, offset=self.offset * factor)
        vars(changed).pop("norm", None)
        return changed

    def of_scaled_columns(self, scales: Floats) -> Affine:
        """Return the map of rows whose columns are first multiplied by positive numbers.

        Unlike `after`, it subtracts a shift first, so that projections onto a hull keep their origin.
        """
        changed = copy(self)  # factors that are computed later stay so
        vars(changed).update(shift=self.shift / scales, scale=self.scale * scales)
        vars(changed).pop("norm", None)
        return changed

    def in_units_of(self, length: float) -> Affine:
        """Return the map in another unit of length, such as the median distance of mapped samples."""
        largest = largest_value(self.scale)
        if largest / length >= LARGEST_SCALE:
            rule = f"have a median distance between samples above {1.0 / LARGEST_SCALE:.0e}"
            raise rule_error("X", rule, length / largest, "Rescale X.")
        return self.multiplied(1.0 / length)

    @cached_property
    def _triangle(self) -> Floats | None:
        """T in the order of BLAS if it is upper triangular, which saves half of every product."""
        T: Any = None if self.tail is not None or is_sparse(self.matrix) else self.matrix
        is_upper = T is not None and T.shape[0] == T.shape[1] and not np.tril(T, -1).any()
        return np.asfortranarray(T) if is_upper else None

    def _linear(self, U: Matrix) -> Any:
        """Return UT. Dense rows may be overwritten."""
        if MANY_ROWS <= U.shape[0] < BLOCK_ROWS and self._triangle is not None:
            return dtrmm(1.0, self._triangle, U.T, trans_a=True, overwrite_b=True).T
        if U.shape[0] == 1 and self._triangle is not None:
            return dtrmv(self._triangle, U[0], trans=True)[np.newaxis]
        if self.matrix is not None:
            return U @ self.matrix if self.tail is None else (U @ self.matrix) @ self.tail
        if self.down is None or self.up is None:
            return U
        return U - (U @ self.down) @ self.up

    def _transposed(self, G: Floats) -> Floats:
        """Return GT' of an array (…, n_outputs)."""
        if self.matrix is not None and self.tail is not None:
            weights = G @ self.tail.T  # sparse arrays multiply matrices only
            rows = weights.reshape(-1, weights.shape[-1]) @ self.matrix.T
            return np.asarray(rows).reshape(*G.shape[:-1], self.n_features)
        if self.matrix is not None and is_sparse(self.matrix):
            rows = G.reshape(-1, G.shape[-1]) @ self.matrix.T
            return np.asarray(rows).reshape(*G.shape[:-1], self.n_features)
        if self.matrix is not None:
            return np.asarray(G @ self.matrix.T)
        if self.down is None or self.up is None:
            return G
        return np.asarray(G - (G @ self.up.T) @ self.down.T)

    def _of_sparse(self, X: SamplesLike) -> Any:
        scaled: Any = sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(self.scale)
        if self.keeps_sparse:
            return sparse.csr_array(scaled)
        moved = self.shift * self.scale
        if self.matrix is None:
            return self._linear(scaled.toarray() - moved) + self.offset
        U, away = scaled @ self.matrix, moved @ self.matrix
        if self.tail is not None:
            U, away = dense_array(U) @ self.tail, away @ self.tail
        return U - (away - self.offset)

    def _preimages(self, Z: Floats, matrix: Matrix) -> Any:
        """Return the shortest rows v whose vT are the rows ``Z``, or as close to them as possible."""
        if self.tail is None and matrix.shape[0] == matrix.shape[1]:
            found = solved(dense_array(matrix).T, Z.T)
            if found is not None:
                return found.T
        if self.tail is None or not is_sparse(matrix):
            return self._transposed(self._coefficients(Z))
        parts = [
            self._sparse_preimages(Z[i : i + PREIMAGES]) for i in range(0, max(len(Z), 1), PREIMAGES)
        ]
        return sparse.vstack(parts, format="csr")

    def _sparse_preimages(self, Z: Floats) -> sparse.csr_array:
        """Compute `_preimages` as sums of columns of a sparse matrix, without weights of rounding."""
        assert self.matrix is not None
        assert self.tail is not None
        weights = self._coefficients(Z) @ self.tail.T
        sizes = np.abs(weights)
        weights[sizes < LEAST_WEIGHT * sizes.max(axis=1, keepdims=True)] = 0.0
        return sparse.csr_array(sparse.csr_array(weights) @ self.matrix.T)

    def _coefficients(self, Z: Floats) -> Floats:
        """Return rows w with wT'T = z. The rows wT' are the preimages of the rows ``Z``.

        A second step takes away what rounding left in the first.
        """
        W = Z @ self._inverse_products
        return np.asarray(W + (Z - self._linear(self._transposed(W))) @ self._inverse_products)

    @cached_property
    def _inverse_products(self) -> Floats:
        """The pseudo-inverse of T'T."""
        assert self.matrix is not None
        return pseudo_inverse(row_products(self.matrix, self.tail))

    def _norm_of_product(self, matrix: Matrix, tail: Floats) -> float:
        """Return the norm of diag(scale) · matrix · tail.

        The factors are divided by their largest values, because squares of small or large numbers
        underflow or overflow. The factors may cancel in the product, whose rounding error is as large as
        they are.
        """
        diagonal: Any = sparse.diags_array(self.scale)
        left = diagonal @ matrix
        sizes = [largest_value(left), largest_value(tail)]
        if 0.0 in sizes or not np.isfinite(sizes).all():
            return 0.0 if np.isfinite(sizes).all() else math.inf
        left, right = left / sizes[0], tail / sizes[1]
        squares = row_products(left, right)
        rounding = 2.0 * (tail.shape[0] + 8) * EPS * frobenius_norm(left) * frobenius_norm(right)
        norm = root_of_largest(squares, len(self.scale)) + rounding
        return norm * sizes[0] * sizes[1] * (1.0 + 8.0 * EPS)


def is_sparse(X: object) -> TypeIs[sparse.csr_array]:
    """Return whether rows are a SciPy sparse matrix."""
    return bool(sparse.issparse(X))


def moved_by(X: SamplesLike, shift: Floats) -> sparse.csr_array:
    """Add a vector to sparse rows, and leave out what is rounding then."""
    moved = sparse.csr_array(X + sparse.csr_array(np.broadcast_to(shift, X.shape)))
    moved.data[np.abs(moved.data) <= LEAST_WEIGHT * np.abs(shift).max()] = 0.0
    moved.eliminate_zeros()
    return moved


def dense_array(X: SamplesLike) -> Floats:
    """Return rows as a dense array."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def frobenius_norm(matrix: Matrix) -> float:
    """Return the Frobenius norm, also if a square is too small or too large for a float."""
    values: Any = matrix.data if is_sparse(matrix) else matrix
    largest = largest_value(values)
    is_usual = largest == 0.0 or SAFE[0] < largest < SAFE[1] or not math.isfinite(largest)
    return float(np.linalg.norm(values) if is_usual else largest * np.linalg.norm(values / largest))


def largest_value(matrix: Any) -> float:
    """Return the largest absolute value, or NaN if there is a NaN."""
    values = matrix.data if is_sparse(matrix) else matrix
    return float(np.abs(values).max(initial=0.0))


def spectral_norm(matrix: Floats) -> float:
    """Return the largest singular value, rounded up, from the smaller of the two Gram matrices."""
    largest = largest_value(matrix)
    if largest == 0.0 or not math.isfinite(largest):
        return 0.0 if largest == 0.0 else math.inf
    exponent = math.frexp(largest)[1]
    M = np.ldexp(matrix, -exponent)  # exact, because squares neither overflow nor vanish
    squares = M.T @ M if M.shape[1] <= M.shape[0] else M @ M.T
    return float(np.ldexp(root_of_largest(squares, max(M.shape)), exponent))


def sparse_norm(matrix: Any) -> float:
    """Return a bound of the largest singular value of a sparse matrix, which is exact for diagonal ones.

    ‖T‖₂² is at most the product of the largest sums of absolute values of a row and of a column.
    """
    sizes = abs(sparse.csr_array(matrix))
    sums = [float(np.max(np.asarray(sizes.sum(axis=axis)), initial=0.0)) for axis in (0, 1)]
    return math.sqrt(sums[0]) * math.sqrt(sums[1]) * (1.0 + 2.0 * matrix.shape[0] * EPS)


def root_of_largest(squares: Floats, n_terms: int) -> float:
    """Return the square root of the largest eigenvalue of a Gram matrix, rounded up.

    Each of its entries is a sum of ``n_terms`` products.
    """
    largest = float(np.linalg.eigvalsh(squares)[-1])
    of_sums = 2.0 * (n_terms + 8) * EPS * float(np.trace(squares))
    rounding = of_sums + 8.0 * len(squares) * EPS * max(largest, 0.0)
    return math.sqrt(max(largest, 0.0) + rounding) * (1.0 + 4.0 * EPS)


def norm_without(down: Floats, up: Floats) -> float:
    """Return the spectral norm of I − down up, rounded up. Its rank is less than half of the features.

    With [down, up'] = QR and R = [R₁, R₂], the matrix is I − R₁R₂' in the range of Q and I outside.
    """
    rank = len(up)
    R: Any = np.linalg.qr(np.hstack([down, up.T]), mode="r")
    inside = np.eye(len(R)) - R[:, :rank] @ R[:, rank:].T
    rounding = 4.0 * (len(down) + 8) * EPS * frobenius_norm(down) * frobenius_norm(up)
    return max(1.0, spectral_norm(inside)) + rounding


def row_products(matrix: Matrix, tail: Floats | None) -> Floats:
    """Return T'T for T = matrix · tail, computed in blocks of rows of T.

    tail' (matrix' matrix) tail would be less work, but it loses twice as many digits where T is well
    conditioned and its factors are not.
    """
    if tail is None:
        return dense_array(matrix.T @ matrix)
    total = np.zeros((tail.shape[1], tail.shape[1]))
    rows: Any = sparse.csr_array(matrix) if is_sparse(matrix) else matrix
    used = np.flatnonzero(np.diff(rows.indptr)) if is_sparse(rows) else np.arange(len(rows))
    for start in range(0, len(used), BLOCK_ROWS):
        T = rows[used[start : start + BLOCK_ROWS]] @ tail
        total += T.T @ T
    return total


def solved(A: Floats, B: Floats) -> Floats | None:
    """Return A⁻¹B. None if A is singular up to rounding."""
    factors, pivots, info = linalg.lapack.dgetrf(A)
    if info != 0 or linalg.lapack.dgecon(factors, np.abs(A).sum(axis=0).max())[0] <= len(A) * EPS:
        return None
    return np.asarray(linalg.lapack.dgetrs(factors, pivots, B)[0])


def pseudo_inverse(G: Floats) -> Floats:
    """Return the pseudo-inverse of a positive semidefinite matrix, by Cholesky if it has full rank."""
    try:
        factor = linalg.cho_factor(G)
    except linalg.LinAlgError:
        return np.asarray(linalg.pinvh(G))
    pivots = np.square(factor[0].diagonal())
    if pivots.min() <= len(G) * EPS * pivots.max():
        return np.asarray(linalg.pinvh(G))
    return np.asarray(linalg.cho_solve(factor, np.eye(len(G))))
