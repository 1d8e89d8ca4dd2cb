"""Compute the matrix A of a `WithinMetric`, A'A = ρ (S_w + ρI)⁻¹, and the rows behind it.

All A with this A'A measure the same distances, so no eigendecomposition is needed. There are two ways:

- With n features and about as many rows or more, S_w + ρI = R'R is factorized, and A = √ρ R⁻ᵀ
  (`Triangle`).
- With fewer rows than features, nothing is n × n (`LowRank`). Let L = FF', B = F'X/√(2 Σ ω), so that
  S_w = B'B, and BB' + ρI = MM'. Then A = I − B'(M' + √ρ I)⁻¹ M⁻¹ B (Andrews 1968, the square root of a
  Kalman filter). The graph, BB' and the distances of the rows are computed from XX' alone: behind A, it
  becomes XX' − V'V with V = M⁻¹BX'. A itself is computed when the first new sample arrives. With nearly
  as many rows as features, it is then the A of `Triangle`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import linalg

from nsse._support.types import Floats
from nsse.affine import formed_later
from nsse.metrics.learned import LARGEST, Learned, too_large
from nsse.metrics.scatter import WIDE, ClassRoots, Scatter, scatter_edges, scatter_matrix
from nsse.rows import Rows

NO_SCATTER = (
    "Distances are Euclidean, because no class has two different samples from which the metric could be "
    "learned. Give more samples per class, or pass metric=None."
)


@dataclass(frozen=True)
class LowRank:
    """Compute A = I − B'(M' + √ρ I)⁻¹ M⁻¹ B with B = F'Z, and the rows Z behind A, when first needed.

    ``V`` is (M⁻¹ B Z')', and ``root`` is √ρ.
    """

    Z: Floats
    F: ClassRoots
    M: Floats
    V: Floats
    root: float

    @cached_property
    def down(self) -> Floats:
        """(M⁻¹ B)'."""
        return rows_solved(self.M, self.F.times(self.Z))

    @cached_property
    def up(self) -> Floats:
        """(M + √ρ I)⁻¹ B."""
        return rows_solved(self.M + self.root * np.eye(len(self.M)), self.F.times(self.Z)).T

    @cached_property
    def rows(self) -> Floats:
        """The rows behind A."""
        return self.Z - self.V @ self.up

    def projector(self, weights: Floats) -> tuple[Floats, None]:
        """Return the matrix T with x'T = x'A'A Σ_j weights_j z_j for every row of weights.

        A'A = I − (M⁻¹B)'M⁻¹B with B = F'Z, so that the columns are combinations of the rows.
        """
        lost = linalg.solve_triangular(self.M, (weights @ self.V).T, lower=True, trans="T")
        weights = weights - self.F.combined(lost, len(self.Z)).T
        return (weights @ self.Z).T, None


@formed_later("S")
@dataclass(frozen=True)
class Triangle:
    """Compute A = √ρ R⁻ᵀ with S_w + ρI = R'R, and the rows Z behind A, when first needed."""

    Z: Floats
    S: Any
    floor: float

    @cached_property
    def matrix(self) -> Floats:
        """A', upper triangular, in the place of S_w, of which the lower half is read."""
        self.S[np.diag_indices(len(self.S))] += self.floor
        R = linalg.cholesky(self.S.T, overwrite_a=True, check_finite=False)  # upper
        A, _ = linalg.lapack.dtrtri(R, overwrite_c=True)
        A *= math.sqrt(self.floor)
        return np.asarray(A)

    @cached_property
    def rows(self) -> Floats:
        """The rows behind A."""
        return np.asarray(linalg.blas.dtrmm(1.0, self.matrix, self.Z.T, trans_a=True).T)

    def projector(self, weights: Floats) -> tuple[Floats, None]:
        """Return the matrix T with x'T = x'A'A Σ_j weights_j z_j for every row of weights."""
        return np.asarray(self.matrix @ (weights @ self.rows).T), None


def contracted(
    plain: Learned, given: Rows, n_neighbors: int | None, shrinkage: float, symmetric: bool
) -> tuple[Learned, Scatter | None]:
    """Return the rows of a Euclidean metric behind A, and the scatter that determines A.

    ``given`` are the same rows before any metric.
    """
    Z, (N, n) = plain.rows, plain.rows.shape
    if n * min(n, N) > LARGEST:
        raise too_large(n, min(n, N))
    G: Any = plain.gram
    if G is None and n > (WIDE * N if symmetric else N):
        G = Z @ Z.T
    W = scatter_edges(Z, given.codes, given.weights, n_neighbors, G, given.keys)
    is_wide = n > (WIDE * N if symmetric else N)
    if is_wide:
        F = ClassRoots.of(W, given.codes)
        P = F.times(G)
        S = F.times(P.T)
    else:
        S = scatter_matrix(W, Z)
    trace = float(S.trace())
    if not trace > 0.0:
        warnings.warn(NO_SCATTER, UserWarning, stacklevel=7)
        return plain, None
    rho = shrinkage * trace / n
    scatter = Scatter(W, rho)
    if is_wide:
        return behind_low_rank(plain, scatter, G, F, P, S, symmetric), scatter
    if symmetric:
        values, V = np.linalg.eigh(S)
        A = (V * np.sqrt(rho / (np.maximum(values, 0.0) + rho))) @ V.T
        return replace(plain, affine=replace(plain.affine, matrix=A), rows=plain.rows @ A), scatter
    root = Triangle(Z, S, rho)
    gram = None if plain.gram is None else root.rows @ root.rows.T
    affine = replace(plain.affine, matrix=root.matrix)
    return replace(plain, affine=affine, rows=root.rows, gram=gram, root=root), scatter


def behind_low_rank(
    plain: Learned, scatter: Scatter, G: Floats, F: ClassRoots, P: Floats, S: Floats, symmetric: bool
) -> Learned:
    """Compute distances behind A from BB' + ρI = MM' with G = ZZ', P = BZ', S = BB'.

    A is computed later.
    """
    Z, rho = plain.rows, scatter.floor
    if symmetric:
        values, V = np.linalg.eigh((S + S.T) / 2)
        kept = values > len(S) * float(np.finfo(np.float64).eps) * values[-1]
        up = (V[:, kept] / np.sqrt(values[kept])).T @ F.times(Z)
        down = up.T * (1.0 - np.sqrt(rho / (values[kept] + rho)))
        affine = replace(plain.affine, down=down, up=up)
        return replace(plain, affine=affine, rows=Z - (Z @ down) @ up)
    S[np.diag_indices(len(S))] += rho
    M, _ = linalg.cho_factor(S.T, lower=True, overwrite_a=True, check_finite=False)
    V = rows_solved(M, P)
    root: Any = LowRank(Z, F, M, V, math.sqrt(rho))
    names = ["rows", "down", "up"]
    if Z.shape[1] <= WIDE * len(Z):
        root = Triangle(Z, partial(scatter_matrix, scatter.edges, Z), rho)
        names = ["rows", "matrix"]
    later: dict[str, Any] = {name: partial(getattr, root, name) for name in names}
    rows, affine = later.pop("rows"), replace(plain.affine, **later)
    return replace(plain, affine=affine, rows=rows, gram=G - V @ V.T, root=root)


def rows_solved(M: Floats, B: Floats) -> Floats:
    """Return (M⁻¹ B)' = B' M⁻ᵀ for a lower triangular M.

    Our rows are columns for BLAS. B is overwritten.
    """
    return np.asarray(
        linalg.blas.dtrsm(1.0, M, B.T, side=True, lower=True, trans_a=True, overwrite_b=True)
    )
