"""The class-means problem without L_w, solved for every weight by one eigendecomposition of K.

Let G be the orthonormal centred class indicators, n̄ the mean class size, ν = μ2/(μ1 n̄). A constant may
be added to f at the price of α samples: α = ∞ leaves f as it is, α = 0 makes constants free. With

    B = KGG'K,   P = K(I − GG' − 11'/(N + α))K + νI,   C'BC = I,   θ = between/(within + smooth),

B + P = K(I − 11'/(N + α))K + νI =: T whatever the class sizes, and every solution lies in the span of
T⁻¹KG. Read by scores, f needs no coordinates: with π the shares of the classes and Ē_c = e_c − π_c

    scores_c(x) = π_c + n_c Σ_k θ_k/(1 + θ_k) (f_k(x) − N/(N + α) f̄_k)(ȳ_ck − f̄_k)
                = π_c + β_c + k(x)'(K² + νI)⁻¹K (Ē_c − β_c 1),      β_c = −1'H_νĒ_c/(N − 1'H_ν1 + α),

ȳ_c the class means of f, f̄ the mean of all samples and H_ν = K(K² + νI)⁻¹K: the regression of class
indicators on kernel functions and a constant, with the penalty ν‖c‖² + αβ². Scores add up to 1. With
K = V diag(λ) V', (K² + νI)⁻¹K = V diag(λ/(λ² + ν)) V'. Coordinates come from
G'KT⁻¹KG = U diag(τ) U', τ = θ/(1 + θ): f √τ = k(x)'T⁻¹KG U τ^(−½).

Samples that count w times: with R the matrix that repeats rows, R'R = W, the columns of RW^(−½) are
orthonormal, and RKR' = (RW^(−½)) W^½KW^½ (RW^(−½))'. So the eigenvectors of W^½KW^½ do, where Ē, G and 1
are multiplied by W^½, and k(x) too; f of the samples is divided by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsse._threads import one_blas_thread

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ClassTargets:
    """What the scores are regressed on.

    Attributes
    ----------
    shares : ndarray of shape (M,)
        π: of the samples, how many are in every class.
    centred : ndarray of shape (N, M)
        Ē: class indicators less their shares.
    orthonormal : ndarray of shape (N, M − 1)
        G: an orthonormal basis of the same columns.
    roots : ndarray of shape (N,) or None
        W^½, by which the rows of both are multiplied; None where every sample counts once.
    """

    shares: Floats
    centred: Floats
    orthonormal: Floats
    roots: Floats | None = None

    @classmethod
    def of(cls, codes: Ints, n_classes: int, weights: Floats | None = None) -> ClassTargets:
        """Targets of labels 0 … n_classes − 1, each of which occurs, in samples that count `weights`."""
        sizes = np.bincount(codes, weights, minlength=n_classes)
        shares = sizes / (len(codes) if weights is None else weights.sum())
        E = np.eye(n_classes)[codes]
        # Of E/√n_c, orthonormal, those combinations that are orthogonal to its mean, in the ratio √n_c.
        basis = np.linalg.qr(np.sqrt(sizes)[:, np.newaxis], mode="complete")[0][:, 1:]
        centred, orthonormal = E - shares, (E / np.sqrt(sizes)) @ basis
        if weights is None:
            return cls(shares, centred, orthonormal)
        roots = np.sqrt(weights)
        return cls(shares, centred * roots[:, np.newaxis], orthonormal * roots[:, np.newaxis], roots)


@dataclass(frozen=True)
class KernelSpectrum:
    """K = V diag(λ) V', and what of it belongs to the classes, for every ν.

    Attributes
    ----------
    values : ndarray of shape (r,)
        λ, ascending, without those that are rounding.
    vectors : ndarray of shape (N, r)
        V.
    targets : ClassTargets
        Of the same samples.
    constant_price : float
        α.
    """

    values: Floats
    vectors: Floats
    targets: ClassTargets
    constant_price: float

    @classmethod
    @one_blas_thread()
    def of(cls, K: Floats, targets: ClassTargets, constant_price: float) -> KernelSpectrum:
        """Decompose a kernel matrix."""
        if targets.roots is not None:
            K = K * targets.roots * targets.roots[:, np.newaxis]
        values, V = np.linalg.eigh(K)
        kept = values > len(K) * EPS * values[-1]
        return cls(values[kept], V[:, kept], targets, constant_price)

    @one_blas_thread()
    def scores(self, K_new: Floats, nus: Sequence[float]) -> Floats:
        """Scores of new samples, from their kernel rows: (ν, samples, classes)."""
        filters = self._filters(nus)
        along, constants = self._regressed(self.targets.centred, filters)
        return _combined(self._along(K_new), filters, along) + self.targets.shares + constants

    @one_blas_thread()
    def coordinates(self, K_new: Floats, nus: Sequence[float]) -> tuple[Floats, Floats]:
        """f √τ of the samples and of new ones, (ν, samples, M − 1), by falling τ."""
        filters, G = self._filters(nus), self.targets.orthonormal
        along, _ = self._regressed(G, filters)
        own = _combined(self.vectors, self.values[:, np.newaxis] * filters, along)
        new = _combined(self._along(K_new), filters, along)
        shares, U = np.linalg.eigh(G.T @ own)  # G'KT⁻¹KG = U diag(τ) U', one for every ν
        shares, U = shares[:, ::-1], U[:, :, ::-1]
        # What does not separate at all (τ = 0) is no coordinate.
        weights = np.where(shares > EPS, 1.0 / np.sqrt(np.maximum(shares, EPS)), 0.0)
        turn = U * weights[:, np.newaxis, :]
        if self.targets.roots is not None:
            own = own / self.targets.roots[:, np.newaxis]
        return own @ turn, new @ turn

    def _along(self, K_new: Floats) -> Floats:
        """Kernel rows of new samples along the eigenvectors."""
        roots = self.targets.roots
        return np.asarray((K_new if roots is None else K_new * roots) @ self.vectors)

    def _filters(self, nus: Sequence[float]) -> Floats:
        """λ/(λ² + ν): one column per ν."""
        values = self.values[:, np.newaxis]
        return np.asarray(values / (values**2 + np.asarray(nus, dtype=np.float64)))

    def _regressed(self, targets: Floats, filters: Floats) -> tuple[Floats, Floats]:
        """V'(targets − 1β'), (r, ν, columns), and β, (ν, 1, columns); columns of targets add up to 0."""
        roots = self.targets.roots
        ones = self.vectors.sum(axis=0) if roots is None else roots @ self.vectors
        total, along = len(targets) if roots is None else roots @ roots, self.vectors.T @ targets
        fitted = (ones * self.values)[:, np.newaxis] * filters  # V'H_ν1
        rest = total - ones @ fitted + self.constant_price
        constants = -(fitted.T @ along) / rest[:, np.newaxis]
        moved = along[:, np.newaxis, :] - ones[:, np.newaxis, np.newaxis] * constants
        return moved, constants[:, np.newaxis, :]


def _combined(rows: Floats, filters: Floats, along: Floats) -> Floats:
    """rows diag(filter) along for every filter, in one product: (ν, rows, columns)."""
    inner = filters[:, :, np.newaxis] * along
    flat = rows @ inner.reshape(len(inner), -1)
    return np.asarray(flat.reshape(len(rows), *inner.shape[1:]).transpose(1, 0, 2))
