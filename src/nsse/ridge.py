"""The one regression: class scores from kernels, smooth in the space of the kernel.

Rows x_i of class c_i and weight w_i, centres z_j, class shares π, targets t_i = e_{c_i} − π. Scores
s = π + Σ_j k(·, z_j) C_j minimise

    Σ_i w_i ‖s(x_i) − e_{c_i}‖² + λ ‖s − π‖²_H + Σ over edges of a graph ‖s(x_i) − s(x_j)‖²

(the last term where rows without a label help). Two routes to the same C:

    centres = rows:   (K + λ W⁻¹) C = T               one Cholesky, condition at most (N + λ)/λ
    any centres:      (K'(W + L)K + λ K_ZZ) C = K'WT   sums over rows; with K_ZZ = R'R first,
                      (Φ'(W + L)Φ + λI) B = Φ'WT,  Φ = K R⁻¹,  C = R⁻¹ B.

Leaving rows out is closed form. The smoother is t ↦ Ht; the residuals of a group of rows that leave
together are (I − H_gg)⁻¹ times their residuals, π, metric and unit being kept. Where features are many
the metric knows its rows too well for that, so that they leave a learned metric as well
(`nsse.metric`). ‖s_c − s_j‖² in H come from Q = C'K_ZZ C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from nsse._support.threads import in_parallel
from nsse.kernels import PANEL, Gaussian, squared_norms
from nsse.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Samples that are left out: all up to so many, then some of them.
LEFT_OUT_ALL, LEFT_OUT_SOME = 2000, 1000
# Samples that are left out of the metric as well, at most: each takes a row of distances anew.
LEFT_OUT_OF_METRIC = 200
FEW = 1000  # rows of a small factor
PANELS = 4  # of the lower half of K'WK, 7, 5, 3 and 1 of 16 parts: two threads have the same to do
# How many times smaller than λ the rounding of the sums must be in the space of the features.
DIGITS = 100.0


@dataclass(frozen=True)
class LeftOut:
    """Scores of training rows by the model without the sample that they belong to.

    Attributes
    ----------
    rows : ndarray of shape (n_left_out,)
        Positions of the rows; all of them have a label.
    scores : ndarray of shape (n_left_out, n_classes)
        Their class scores.
    gain : float
        What s − π of a new sample is multiplied by, about, by the one sample more of its class that the
        whole model has (`gain_of_one`); 1 where it was not computed.
    """

    rows: Ints
    scores: Floats
    gain: float = 1.0


@dataclass(frozen=True)
class Ridge:
    """The solved regression.

    Attributes
    ----------
    kernel : Gaussian
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
    left_out : LeftOut
        Scores of rows whose sample was left out.
    fitted : ndarray of shape (n_rows, n_classes) or None
        s − π at the rows, where they are the centres.
    sums : Sums or None
        What the model is made of, where it is made of sums.
    """

    kernel: Gaussian
    centers: Any
    coef: Floats
    gram: Floats
    sizes: Floats
    class_means: Floats
    left_out: LeftOut
    fitted: Floats | None = None
    sums: Sums | None = None

    @classmethod
    def exact(
        cls, near: Rows, centers: Any, kernel: Gaussian, smoothness: float, D2: Floats, scatter: Any
    ) -> Ridge:
        """The model whose centres are the rows; ``D2``, their squared distances, are overwritten.

        Left-out rows leave the metric where ``scatter`` knows what it was learned from.
        """
        E, root = near.indicators(), np.sqrt(near.weights)[:, np.newaxis]
        sizes = near.weights @ E
        shares = sizes / sizes.sum()
        T, p = E - shares, near.per_sample
        left = left_out_positions(near, of_metric=scatter is not None)
        if scatter is not None:
            K_left = kernel(scatter.left_out_distances(D2, left))
        K = kernel(D2)
        if not np.all(root == 1.0):
            K *= root
            K *= root.T
        K[np.diag_indices(len(K))] += smoothness
        # In place; the other half keeps what it had, which takes less time than to make it zero.
        L, _ = linalg.cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
        scaled = linalg.cho_solve((L, True), root * T, check_finite=False)
        C = root * scaled
        fitted = T - smoothness * scaled / root  # K C = T − λ W⁻¹ C
        if scatter is None:
            outside, gain = T[left] - exact_left_out(L, scaled, left, p) / root[left], 1.0
        else:
            outside, gain = left_out_of_metric(L, scaled, root, near.codes[left], left, K_left)
        left_out = LeftOut(left[::p], outside[::p] + shares, gain)  # of samples, not of their copies
        means = (root**2 * E).T @ fitted / sizes[:, np.newaxis]
        gram = C.T @ fitted
        return cls(kernel, centers, C, (gram + gram.T) / 2, sizes, means, left_out, fitted)

    def coordinates(self) -> Floats:
        """V (n_classes, n_classes − 1), a rotation of s − π: what separates classes most first."""
        # s − π sums to zero over classes: a basis of these vectors leaves out what is always zero.
        basis = linalg.helmert(len(self.sizes)).T
        centred = self.class_means - self.sizes @ self.class_means / self.sizes.sum()
        _, _, W = np.linalg.svd(np.sqrt(self.sizes)[:, np.newaxis] * centred @ basis)
        return np.asarray(basis @ W.T)

    @classmethod
    def over(
        cls, near: Rows, centers: Any, kernel: Gaussian, smoothness: float, unlabeled: Any
    ) -> Ridge:
        """The model by sums over the rows, ``unlabeled`` says which; it may keep fewer centres."""
        centers, R = independent_centers(kernel, centers, len(near), smoothness)
        sums = unlabeled.sums(near, KernelSums(kernel, centers, len(near.classes)))
        return cls.of_sums(sums, near, centers, R, kernel, smoothness)

    @classmethod
    def of_sums(
        cls, sums: Sums, near: Rows, centers: Any, R: Floats, kernel: Gaussian, smoothness: float
    ) -> Ridge:
        """The model by sums; some of ``near`` are left out. R is a factor of K_ZZ."""
        shares = sums.sizes / sums.sizes.sum()
        P, _ = linalg.lapack.dsygst(sums.products.T, R)  # R⁻ᵀ (K'WK) R⁻¹, its upper half
        P[np.diag_indices(len(P))] += smoothness
        factor = linalg.cholesky(P, overwrite_a=True, check_finite=False)
        right = sums.by_class - np.outer(sums.by_class.sum(axis=1), shares)
        half = linalg.solve_triangular(R, right, trans="T", check_finite=False)
        B = linalg.cho_solve((factor, False), half, check_finite=False)
        C = linalg.solve_triangular(R, B, check_finite=False)
        left = left_out_positions(near)
        some = near.select(left)
        T = some.indicators() - shares
        K = kernel.between(some.held(), centers)
        outside = T - summed_left_out(T - K @ C, some, K, R, factor) + shares
        left_out = LeftOut(left[:: near.per_sample], outside[:: near.per_sample])
        means = sums.by_class.T @ C / sums.sizes[:, np.newaxis]
        return cls(kernel, centers, C, B.T @ B, sums.sizes, means, left_out, sums=sums)


@dataclass(frozen=True)
class Sums:
    """K'WK, its lower half, K'W times the class indicators, weights of classes; blocks add up."""

    products: Floats
    by_class: Floats
    sizes: Floats

    def __add__(self, other: Sums) -> Sums:
        return Sums(*map(np.add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: Sums) -> Sums:
        return Sums(*map(np.subtract, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class KernelSums:
    """`Sums` of a block of rows; runs wherever the block is."""

    kernel: Gaussian
    centers: Any
    n_classes: int

    def __call__(self, Z: Any, codes: Ints, weights: Floats, total: Sums | None = None) -> Sums:
        """Sums over the labelled of these rows, added to ``total`` in its place."""
        known = codes >= 0
        if not known.all():
            Z, codes, weights = Z[known], codes[known], weights[known]
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


def left_out_positions(rows: Rows, of_metric: bool = False) -> Ints:
    """Rows of the samples that are left out: all with a label, or some from everywhere."""
    first = np.flatnonzero(rows.is_labeled[:: rows.per_sample]) * rows.per_sample
    most, some = (LEFT_OUT_OF_METRIC,) * 2 if of_metric else (LEFT_OUT_ALL, LEFT_OUT_SOME)
    if len(first) > most:
        first = first[np.linspace(0, len(first) - 1, some).astype(np.intp)]
    return np.asarray((first[:, np.newaxis] + np.arange(rows.per_sample)).ravel())


def exact_left_out(L: Floats, C: Floats, left: Ints, per_sample: int) -> Floats:
    """Residuals of left-out rows, (G⁻¹)_gg⁻¹ C_g with G = LL'. L may be overwritten."""
    if len(left) == len(L):
        columns = np.tril(linalg.lapack.dtrtri(L, lower=True, overwrite_c=True)[0])
    else:
        unit = np.zeros((len(L), len(left)))
        unit[left, np.arange(len(left))] = 1.0
        columns = linalg.solve_triangular(L, unit, lower=True, overwrite_b=True, check_finite=False)
    if per_sample == 1:
        return C[left] / np.einsum("ij,ij->j", columns, columns)[:, np.newaxis]
    by_sample = columns.reshape(len(L), -1, per_sample).transpose(1, 2, 0)
    blocks = by_sample @ by_sample.transpose(0, 2, 1)
    return np.linalg.solve(blocks, C[left].reshape(-1, per_sample, C.shape[1])).reshape(len(left), -1)


def left_out_of_metric(
    L: Floats, C: Floats, root: Floats, codes: Ints, left: Ints, K_left: Floats
) -> tuple[Floats, float]:
    """s − π of left-out rows by coefficients, C − G⁻¹e_i C_i/(G⁻¹)_ii, metrics without them; gain."""
    unit = np.zeros((len(L), len(left)), order="F")
    unit[left, np.arange(len(left))] = 1.0
    # Above a 1 there is nothing to solve for; to cut out a part of a large factor takes longer.
    half, middle = len(left) // 2, left[len(left) // 2] if len(L) <= FEW else 0
    unit[:, :half] = linalg.blas.dtrsm(1.0, L, unit[:, :half], lower=True)
    unit[middle:, half:] = linalg.blas.dtrsm(1.0, L[middle:, middle:], unit[middle:, half:], lower=True)
    inverse = linalg.blas.dtrsm(1.0, L, unit, lower=True, trans_a=True, overwrite_b=True).T  # of G⁻¹
    if not np.all(root == 1.0):
        K_left = K_left * root.T
    whole, P, G = K_left @ C, K_left @ inverse.T, inverse[:, left]
    outside = whole - (P.diagonal() / G.diagonal())[:, np.newaxis] * C[left]
    own = np.arange(len(left)), codes
    return outside, gain_of_one(P, G, C[left][own], codes, whole[own], outside[own])


def gain_of_one(P: Floats, G: Floats, c: Floats, codes: Ints, whole: Floats, outside: Floats) -> float:
    """What s − π of the own class is multiplied by when the class has one sample more, about.

    From leaving out two of a class: with s_i of row i by the model without i, and s_ij by the model
    without i and j, 2 − Σ s_ij/Σ s_i, not below 1 and not above 2. ``P`` are kernel values of the
    left-out rows times columns of G⁻¹, ``G`` these columns at the rows, ``c`` their coefficients.
    """
    others, d, p = (np.bincount(codes) - 1)[codes], G.diagonal(), P.diagonal()
    i, j = np.nonzero((codes[:, np.newaxis] == codes) & ~np.eye(len(codes), dtype=bool))
    g, k = G[i, j], P[i, j]
    less = (d[j] * p[i] - g * k) * c[i] + (d[i] * k - g * p[i]) * c[j]
    lost = np.bincount(i, less / (d[i] * d[j] - g**2), len(codes))
    several = others > 0
    one = float(outside[several].sum())
    two = float((whole - lost / np.maximum(others, 1))[several].sum())
    return float(np.clip(2.0 - two / one, 1.0, 2.0)) if one > 0.0 else 1.0


def summed_left_out(residuals: Floats, some: Rows, K: Floats, R: Floats, factor: Floats) -> Floats:
    """Residuals of the rows ``some`` with their samples left out; K is between them and the centres."""
    root, p = np.sqrt(some.weights)[:, np.newaxis], some.per_sample
    features = linalg.solve_triangular(R, K.T, trans="T", check_finite=False)
    A = linalg.solve_triangular(factor, features, trans="T", check_finite=False).T * root
    by_sample = A.reshape(-1, p, A.shape[1])
    H = by_sample @ by_sample.transpose(0, 2, 1)
    together = (root * residuals).reshape(-1, p, residuals.shape[1])
    return np.asarray(np.linalg.solve(np.eye(p) - H, together).reshape(residuals.shape) / root)


def independent_centers(
    kernel: Gaussian, centers: Any, n_rows: int, smoothness: float
) -> tuple[Any, Floats]:
    """Centres without those whose functions others make up to rounding, and R with K_ZZ = R'R.

    Rounding in K'WK, about ε N √m, is enlarged by the inverse of the least squared distance of a
    centre's function to the span of the others; a pivoted Cholesky factorisation leaves out what would
    drown λ.
    """
    K = kernel.between(centers, centers)
    eps = float(np.finfo(np.float64).eps)
    least = max(len(K) * eps, DIGITS * eps * n_rows * len(K) ** 0.5 / smoothness)
    _, pivots, rank, _ = linalg.lapack.dpstrf(K.T, tol=min(least, 0.5))
    if rank < len(K):
        kept = np.sort(pivots[:rank] - 1)
        centers, K = centers[kept], K[np.ix_(kept, kept)]
    return centers, linalg.cholesky(K.T, overwrite_a=True, check_finite=False)  # in place
