"""Rows that each stand for several samples, their products, and the pencil made of these.

A row of class c counts n_c/(rows of c) times in every sum, so that few rows pose the problem of all
samples. Everything is in double precision and at one σ at a time; distances are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel, one_blas_thread
from nsse.kernels import KernelRows, gaussian
from nsse.landmarks.moments import Moments, add_products, gram_matrices
from nsse.landmarks.neighborhoods import Laplacian, class_runs, within_class_laplacian
from nsse.solvers.gram_pencil import GramSolution, solve_gram

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

PANEL = 256
ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class WeightedRows:
    """Squared distances of rows, sorted by class, to centres; ``counts`` are the sizes of the classes.

    Arrays that every σ needs are made once, and written over.
    """

    D2: Floats
    codes: Ints
    counts: Floats
    _buffers: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, rows: Any, codes: Ints, kernel: KernelRows, counts: Floats) -> tuple[WeightedRows, Any]:
        """Sort rows by class and measure them against centres; returns the measured rows too."""
        order = np.argsort(codes, kind="stable")
        measured = kernel.measured(rows[order])
        with one_blas_thread():
            D2 = kernel.squared_distances(measured)
        return cls(D2, codes[order], counts), measured

    @property
    def weights(self) -> Floats:
        """For how many samples each row stands, as a column."""
        return np.asarray(self.counts / np.bincount(self.codes))[self.codes][:, np.newaxis]

    def laplacian(self, measured: Any, n_neighbors: int | None, beta: float | None) -> Laplacian:
        """L_w of the rows."""
        with one_blas_thread():
            return within_class_laplacian(measured, self.codes, n_neighbors, beta)

    def kernel(self, sigma: float) -> Floats:
        """exp(−r²/σ²)."""
        return gaussian(self.D2, sigma, out=self.buffer("K", self.D2.shape))

    def sums(self, rows: Floats) -> Floats:
        """Σ over the samples of every class."""
        starts = [run.start for run in class_runs(self.codes)]
        return np.asarray(np.add.reduceat(rows * self.weights, starts, axis=0))

    def pulled(self, Y: Floats) -> Floats:
        """(diag(n_c) − EE' + 11')Y with every row as many times as it stands for samples."""
        sums = self.sums(Y)
        n = self.counts[self.codes][:, np.newaxis]
        return np.asarray(self.weights * (n * Y - sums[self.codes] + sums.sum(axis=0)))

    def derivative(self, K: Floats, sigma: float, C: Floats) -> Floats:
        """(dK/d log σ) C, dK = 2 (r²/σ²) K held a few rows at a time."""
        out = np.empty((len(K), C.shape[1]))

        def fill(start: int) -> None:
            rows = slice(start, start + PANEL)
            out[rows] = (K[rows] * self.D2[rows]) @ C

        in_parallel(fill, range(0, len(K), PANEL), K.size)
        return np.asarray(out * (2.0 / sigma**2))

    def buffer(self, name: str, shape: tuple[int, ...]) -> Floats:
        """An array to be written over, the same one for the same name."""
        if name not in self._buffers:
            self._buffers[name] = np.empty(shape)
        return self._buffers[name]


@dataclass(frozen=True)
class RowProducts:
    """Products of the rows of K at one σ, on and below the diagonal only.

    ``centred`` are the rows of K less the mean of their class, times the square root of their weight;
    ``scatter`` is their product with themselves.
    """

    rows: WeightedRows
    K: Floats
    means: Floats
    centred: Floats
    scatter: Floats

    @classmethod
    def of(cls, rows: WeightedRows, K: Floats) -> RowProducts:
        """From the kernel at one σ."""
        means = rows.sums(K) / rows.counts[:, np.newaxis]
        centred = np.subtract(K, means[rows.codes], out=rows.buffer("centred", K.shape))
        centred *= np.sqrt(rows.weights)
        scatter = _product(rows, "scatter", centred, centred)
        return cls(rows, K, means, centred, scatter)

    def spread(self, name: str, mu1: float, L: Laplacian | None = None) -> Floats:
        """K̃'(μ1 n_c + L_w)K̃, written over what was returned for the same name before."""
        F = self.rows.buffer("spread", self.K.shape)
        np.multiply(self.centred, mu1 * self.rows.counts[self.rows.codes][:, np.newaxis], out=F)
        if L is not None:
            F += L @ self.centred
        return _product(self.rows, name, self.centred, F)


def _product(rows: WeightedRows, name: str, A: Floats, F: Floats) -> Floats:
    out = rows.buffer(name, (A.shape[1], A.shape[1]))
    out[:] = 0.0
    add_products(A, F, out)
    return out


def solve_rows(
    products: RowProducts, L: Laplacian, P: Floats, sigma: float, mu1: float, mu2: float, d: int
) -> tuple[GramSolution, float, Floats]:
    """The solution for the weights that ``P`` was made with, its within-class term and the slopes.

    ``P`` is K̃'(μ1 n_c + L_w)K̃ and is overwritten. The slopes are dλ/d log σ of every coordinate.
    """
    rows, K = products.rows, products.K
    scatter = rows.buffer("B", products.scatter.shape)
    scatter[:] = products.scatter
    moments = Moments(rows.counts, np.zeros_like(products.means), scatter, P)
    grams = gram_matrices(moments, products.means, mu1, mu2)
    found = solve_gram(grams.B, grams.P, grams.class_sums.T, d, ROUNDING, may_jitter=False)
    Y, w = K @ found.coef, rows.weights
    within = L @ Y * w
    moved = within + mu1 * rows.pulled(Y) - Y * w * found.eigenvalues  # (S − λ)y, weighted
    slopes = 2.0 * np.einsum("ij,ij->j", rows.derivative(K, sigma, found.coef), moved)
    return found, float(np.einsum("ij,ij->", Y, within)), slopes
