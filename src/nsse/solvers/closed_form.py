"""The class-means problem without L_w, solved for every weight by one eigendecomposition of K.

Read by scores, f needs no coordinates. With S = μ1 (n̄ (I − QQ') + 11'), Q the orthonormal class
indicators and n̄ the mean class size, every solution of the problem of class means lies in the span of
(K² + νI)⁻¹ K Ē, ν = μ2/(μ1 n̄), and with K = V Λ V'

    scores(x) = f(x) diag(θ/(1 + θ)) Ȳ' = k(x)' V diag(λ/(λ² + ν)) V' Ē,      Ē_c = e_c/n_c − 1/N,

whose largest entry is the label: kernel regression on centred class indicators with the penalty ν‖c‖².
The coordinates themselves come from G'H_νG = U diag(τ) U', H_ν = V diag(λ²/(λ² + ν)) V', τ = θ/(1 + θ),
G the orthonormal centred indicators: f √τ = k(x)' V diag(λ/(λ² + ν)) V'G U τ^(−½).

A linear smoother tells what it would say of a sample it had not seen: with ŷ = H_ν Ē

    scores without the i-th row = ŷ_i − h_ii/(1 − h_ii) (Ē_i − ŷ_i).

See ``docs/derivation.md``.
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
    scaled : ndarray of shape (N, M)
        Ē: centred indicators over the sizes of their classes. A class counts as much as any other.
    orthonormal : ndarray of shape (N, M − 1)
        G: an orthonormal basis of the same columns.
    """

    scaled: Floats
    orthonormal: Floats

    @classmethod
    def of(cls, codes: Ints, n_classes: int) -> ClassTargets:
        """Targets of labels 0 … n_classes − 1, each of which occurs."""
        sizes = np.bincount(codes, minlength=n_classes)
        E = np.eye(n_classes)[codes]
        # The columns of G are those of Q times a basis of what is orthogonal to √n_c, its mean.
        basis = np.linalg.qr(np.sqrt(sizes)[:, np.newaxis], mode="complete")[0][:, 1:]
        return cls(E / sizes - 1.0 / len(codes), (E / np.sqrt(sizes)) @ basis)


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
        return self._along(K_new @ self.vectors, self._filters(nus), self.targets.scaled)

    @one_blas_thread()
    def left_out_scores(self, nus: Sequence[float]) -> Floats:
        """Scores of every sample by what the other rows say: (ν, samples, classes).

        All N centres stay: it is f that loses a row of its regression, not a term.
        """
        shares = self.values[:, np.newaxis] * self._filters(nus)
        fitted = self._along(self.vectors, shares, self.targets.scaled)
        leverages = ((self.vectors**2) @ shares).T[:, :, np.newaxis]
        # A row that is fitted whatever it says (h = 1) leaves nothing to ask the others for.
        rest = np.maximum(1.0 - leverages, EPS)
        return fitted - (leverages / rest) * (self.targets.scaled - fitted)

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
        inner = filters.T[:, :, np.newaxis] * (self.vectors.T @ targets)
        return np.asarray(rows @ inner)
