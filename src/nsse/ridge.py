"""Fit class scores by one regression on kernels, with a penalty in the space of the kernel.

Rows x_i of class c_i and weight w_i, centers z_j, class shares π, targets t_i = e_{c_i} − π. The scores
s = π + Σ_j k(·, z_j) C_j minimize

    Σ_i w_i ‖s(x_i) − e_{c_i}‖² + λ ‖s − π‖²_H + Σ over edges of a graph ‖s(x_i) − s(x_j)‖²

(the last term if unlabeled rows are used). There are two routes to the same C:

    centers = rows:   (K + λ W⁻¹) C = T                condition at most (N + λ)/λ
    any centers:      (K'(W + L)K + λ K_ZZ) C = K'WT   sums over rows. With K_ZZ = R'R first,
                      (Φ'(W + L)Φ + λI) B = Φ'WT,  Φ = K R⁻¹,  C = R⁻¹ B.

Both routes return their factors, from which `nsse.left_out` computes scores of rows that are left out.
‖s_c − s_j‖² in H comes from Q = C'K_ZZ C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from nsse._support.threads import in_parallel
from nsse._support.types import Matrix
from nsse.distances import PANEL, squared_norms
from nsse.kernels import Kernel
from nsse.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

PANELS = 4  # of the lower half of K'WK, 7, 5, 3 and 1 of 16 parts: two threads have the same to do
# How many times smaller than λ the rounding of the sums must be in the space of the features.
DIGITS = 100.0


@dataclass(frozen=True)
class ExactFactors:
    """W^½ (K + λ W⁻¹) W^½ = LL' with the coefficients W^(−½) C, if the centers are the rows.

    Only the lower half of ``L`` counts.
    """

    L: Floats
    scaled: Floats
    smoothness: float


@dataclass(frozen=True)
class SumFactors:
    """K_ZZ = R'R and R⁻ᵀ K'WK R⁻¹ + λI = F'F, both factors upper triangular."""

    R: Floats
    F: Floats


@dataclass(frozen=True)
class Ridge:
    """The solved regression.

    Attributes
    ----------
    kernel : Kernel
        k.
    centers : ndarray or csr_array of shape (n_centers, n_outputs), or function returning it
        z_j, in the metric.
    coef : ndarray of shape (n_centers, n_classes)
        C.
    gram : ndarray of shape (n_classes, n_classes)
        Q = C'K_ZZ C.
    sizes : ndarray of shape (n_classes,)
        Weight of every class.
    class_means : ndarray of shape (n_classes, n_classes)
        Mean of s − π over the rows of every class.
    factors : ExactFactors or SumFactors
        The factors from which scores of left-out rows are computed.
    fitted : ndarray of shape (n_rows, n_classes) or None
        s − π at the rows, if they are the centers.
    sums : Sums or None
        The sums over rows, if the regression is solved by sums.
    """

    kernel: Kernel
    centers: Matrix
    coef: Floats
    gram: Floats
    sizes: Floats
    class_means: Floats
    factors: ExactFactors | SumFactors
    fitted: Floats | None = None
    sums: Sums | None = None

    @property
    def shares(self) -> Floats:
        """π, the share of every class in the weight of all rows."""
        return np.asarray(self.sizes / self.sizes.sum())

    @classmethod
    def exact(cls, near: Rows, centers: Matrix, kernel: Kernel, smoothness: float, D2: Floats) -> Ridge:
        """Solve for centers that are the rows. Their squared distances ``D2`` are overwritten."""
        E, root = near.indicators(), np.sqrt(near.weights)[:, np.newaxis]
        sizes = near.weights @ E
        T = E - sizes / sizes.sum()
        K = kernel(D2)
        if not np.all(root == 1.0):
            K *= root
            K *= root.T
        K[np.diag_indices(len(K))] += smoothness
        # In place. The other half keeps what it had, which takes less time than to make it zero.
        L, _ = linalg.cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
        scaled = linalg.cho_solve((L, True), root * T, check_finite=False)
        C = root * scaled
        fitted = T - smoothness * scaled / root  # K C = T − λ W⁻¹ C
        means = (root**2 * E).T @ fitted / sizes[:, np.newaxis]
        gram = C.T @ fitted
        factors = ExactFactors(L, scaled, smoothness)
        return cls(kernel, centers, C, (gram + gram.T) / 2, sizes, means, factors, fitted)

    def coordinates(self) -> Floats:
        """Return V (n_classes, n_classes − 1), a rotation of s − π.

        The most separating coordinate is first.
        """
        # s − π sums to zero over classes. A basis of these vectors leaves out the coordinate that is
        # always zero.
        basis = linalg.helmert(len(self.sizes)).T
        centered = self.class_means - self.sizes @ self.class_means / self.sizes.sum()
        _, _, W = np.linalg.svd(np.sqrt(self.sizes)[:, np.newaxis] * centered @ basis)
        return np.asarray(basis @ W.T)

    @classmethod
    def over(
        cls, near: Rows, centers: Matrix, kernel: Kernel, smoothness: float, unlabeled: Penalty
    ) -> Ridge:
        """Fit the model by sums over the rows, where ``unlabeled`` marks rows.

        It may keep fewer centers.
        """
        centers, R = independent_centers(kernel, centers, len(near), smoothness)
        sums = unlabeled.sums(near, KernelSums(kernel, centers, len(near.classes)))
        return cls.of_sums(sums, centers, R, kernel, smoothness)

    @classmethod
    def of_sums(cls, sums: Sums, centers: Matrix, R: Floats, kernel: Kernel, smoothness: float) -> Ridge:
        """Solve by sums over rows. R is a factor of K_ZZ."""
        shares = sums.sizes / sums.sizes.sum()
        P, _ = linalg.lapack.dsygst(sums.products.T, R)  # R⁻ᵀ (K'WK) R⁻¹, its upper half
        P[np.diag_indices(len(P))] += smoothness
        F = linalg.cholesky(P, overwrite_a=True, check_finite=False)
        right = sums.by_class - np.outer(sums.by_class.sum(axis=1), shares)
        half = linalg.solve_triangular(R, right, trans="T", check_finite=False)
        B = linalg.cho_solve((F, False), half, check_finite=False)
        C = linalg.solve_triangular(R, B, check_finite=False)
        means = sums.by_class.T @ C / sums.sizes[:, np.newaxis]
        return cls(kernel, centers, C, B.T @ B, sums.sizes, means, SumFactors(R, F), sums=sums)


@dataclass(frozen=True)
class Sums:
    """K'WK (its lower half), K'W times the class indicators, and weights of classes. Blocks add up."""

    products: Floats
    by_class: Floats
    sizes: Floats

    def __add__(self, other: Sums) -> Sums:
        return Sums(*map(np.add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: Sums) -> Sums:
        return Sums(*map(np.subtract, vars(self).values(), vars(other).values()))


class Penalty(Protocol):
    """A use of unlabeled rows (`nsse.unlabeled`), which chooses the rows that the sums run over."""

    def sums(self, near: Rows, of_block: KernelSums) -> Sums:
        """Return the sums that the regression is solved with."""


@dataclass(frozen=True)
class KernelSums:
    """Return `Sums` of a block of rows, computed on the device of the block."""

    kernel: Kernel
    centers: Matrix
    n_classes: int

    def __call__(self, Z: Matrix, codes: Ints, weights: Floats, total: Sums | None = None) -> Sums:
        """Add sums over the labeled ones of these rows to ``total`` in place."""
        known = codes >= 0
        if not known.all():
            Z = Z[known]
            codes = codes[known]
            weights = weights[known]
        m = self.centers.shape[0]
        if total is None:
            total = Sums(np.zeros((m, m)), np.zeros((m, self.n_classes)), np.zeros(self.n_classes))
        K = self.kernel.between(Z, self.centers, squared_norms(self.centers))
        root = np.sqrt(weights)[:, np.newaxis]
        E = root * np.eye(self.n_classes)[codes]
        if np.any(weights != 1.0):
            K *= root
        size = max(PANEL, -(-m // PANELS))

        def add(start: int) -> None:
            own, part = slice(start, start + size), K[:, start : start + size].T
            total.by_class[own] += part @ E
            total.products[own, own] += part @ part.T  # BLAS makes half of it
            total.products[own, :start] += part @ K[:, :start]

        in_parallel(add, range(0, m, size)[::-1], K.size)
        total.sizes[...] += np.bincount(codes, weights, self.n_classes)
        return total


def independent_centers(
    kernel: Kernel, centers: Matrix, n_rows: int, smoothness: float
) -> tuple[Any, Floats]:
    """Drop centers that are numerically linearly dependent on the others, and return R with K_ZZ = R'R.

    Rounding errors in K'WK, about ε N √m, are enlarged by the inverse of the least squared distance of a
    center's function to the span of the others. A pivoted Cholesky factorization leaves out functions
    whose rounding errors would exceed λ.
    """
    K = kernel.between(centers, centers)
    eps = float(np.finfo(np.float64).eps)
    least = max(len(K) * eps, DIGITS * eps * n_rows * len(K) ** 0.5 / smoothness)
    _, pivots, rank, _ = linalg.lapack.dpstrf(K.T, tol=min(least, 0.5))
    if rank < len(K):
        kept = np.sort(pivots[:rank] - 1)
        centers, K = centers[kept], K[np.ix_(kept, kept)]
    return centers, linalg.cholesky(K.T, overwrite_a=True, check_finite=False)  # in place
