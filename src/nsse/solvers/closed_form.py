"""The class-means problem without L_w, solved for every weight by one eigendecomposition of K.

Let G be the orthonormal centred class indicators, n̄ the mean class size, ν = μ2/(μ1 n̄). With

    B = KGG'K,      P = K(I − GG')K + νI,      C'BC = I,      θ = between/(within + smooth),

B + P = K² + νI whatever the class sizes, so that every solution lies in the span of (K² + νI)⁻¹KG. Read
by scores, f needs no coordinates: with K = V diag(λ) V', π the shares of the classes, Ē_c = e_c − π_c

    scores_c(x) = π_c + n_c Σ_k θ_k/(1 + θ_k) f_k(x) (ȳ_ck − f̄_k)
                = π_c + k(x)' V diag(λ/(λ² + ν)) V' Ē_c,

ȳ_c the class means of f and f̄ the mean of all samples. It is the regression of class indicators with the
penalty ν‖c‖²: scores add up to 1, and far from all samples they are the shares. Coordinates come from
G'H_νG = U diag(τ) U', H_ν = V diag(λ²/(λ² + ν)) V', τ = θ/(1 + θ):

    f √τ = k(x)' V diag(λ/(λ² + ν)) V'G U τ^(−½).
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
    """

    shares: Floats
    centred: Floats
    orthonormal: Floats

    @classmethod
    def of(cls, codes: Ints, n_classes: int) -> ClassTargets:
        """Targets of labels 0 … n_classes − 1, each of which occurs."""
        sizes = np.bincount(codes, minlength=n_classes)
        shares = sizes / len(codes)
        E = np.eye(n_classes)[codes]
        # Of E/√n_c, orthonormal, those combinations that are orthogonal to its mean, in the ratio √n_c.
        basis = np.linalg.qr(np.sqrt(sizes)[:, np.newaxis], mode="complete")[0][:, 1:]
        return cls(shares, E - shares, (E / np.sqrt(sizes)) @ basis)


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
    """

    values: Floats
    vectors: Floats
    targets: ClassTargets

    @classmethod
    @one_blas_thread()
    def of(cls, K: Floats, targets: ClassTargets) -> KernelSpectrum:
        """Decompose a kernel matrix."""
        values, V = np.linalg.eigh(K)
        kept = values > len(K) * EPS * values[-1]
        return cls(values[kept], V[:, kept], targets)

    @one_blas_thread()
    def scores(self, K_new: Floats, nus: Sequence[float]) -> Floats:
        """Scores of new samples, from their kernel rows: (ν, samples, classes)."""
        filtered = self._along(K_new @ self.vectors, self._filters(nus), self.targets.centred)
        return filtered + self.targets.shares

    @one_blas_thread()
    def coordinates(self, K_new: Floats, nus: Sequence[float]) -> tuple[Floats, Floats]:
        """f √τ of the samples and of new ones, (ν, samples, M − 1), by falling τ."""
        filters = self._filters(nus)
        G = self.targets.orthonormal
        own = self._along(self.vectors, self.values[:, np.newaxis] * filters, G)
        new = self._along(K_new @ self.vectors, filters, G)
        shares, U = np.linalg.eigh(G.T @ own)  # G'H_νG = U diag(τ) U', one for every ν
        shares, U = shares[:, ::-1], U[:, :, ::-1]
        # What does not separate at all (τ = 0) is no coordinate.
        weights = np.where(shares > EPS, 1.0 / np.sqrt(np.maximum(shares, EPS)), 0.0)
        turn = U * weights[:, np.newaxis, :]
        return own @ turn, new @ turn

    def _filters(self, nus: Sequence[float]) -> Floats:
        """λ/(λ² + ν): one column per ν."""
        values = self.values[:, np.newaxis]
        return np.asarray(values / (values**2 + np.asarray(nus, dtype=np.float64)))

    def _along(self, rows: Floats, filters: Floats, targets: Floats) -> Floats:
        """rows diag(filter) V' targets for every filter, in one product."""
        inner = filters[:, :, np.newaxis] * (self.vectors.T @ targets)[:, np.newaxis, :]
        flat = rows @ inner.reshape(len(inner), -1)
        return flat.reshape(len(rows), *inner.shape[1:]).transpose(1, 0, 2)
