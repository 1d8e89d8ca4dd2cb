"""The objective of the paper, Eq. (11), as a function of the embedding and of the kernel scale.

    tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 ‖C‖² + μ3/σ²,    Y'Y = I,   Y = K(σ) C,

with K_ij = exp(−‖x_i − x_j‖²/σ²), the paper's Ψ. Y'Y = I makes −μ1 tr(Y'L_b Y) + μ1 N d a part of
tr(Y'SY), S = L_w + μ1 (N I − L_b) (`nsse.graphs.ShiftedGraph`). What is minimised is the *excess*

    tr(Y'SY) + μ2 ‖C‖² + μ3/σ²  =  Eq. (11) + μ1 N d,

which is never negative. At the best Y of every σ it is g(σ) = Σ_{k ≤ d} λ_k(σ) + μ3/σ².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nsse._support.threads import in_parallel
from nsse._support.types import Floats, Ints
from nsse.distances import PANEL
from nsse.graphs import ShiftedGraph, gaussian_class_graph, laplacian
from nsse.kernels import Gaussian


@dataclass(frozen=True)
class Weights:
    """The parameters of Eq. (11): weights, d, and those of the within-class graph."""

    mu1: float
    mu2: float
    mu3: float
    n_components: int
    n_neighbors: int | None = 5
    beta: float | None = None

    def scale_term(self, sigma: float) -> float:
        """μ3/σ²."""
        return self.mu3 / sigma**2


@dataclass
class Problem:
    """All of Eq. (11) that does not depend on σ.

    Attributes
    ----------
    D2 : ndarray of shape (N, N)
        Squared distances, in squared units of length.
    codes : ndarray of shape (N,)
        The class of every sample.
    weights : Weights
        The parameters.
    stiff_from : float
        From this σ on K was found to be too near to a singular matrix to be factorised.
    """

    D2: Floats
    codes: Ints
    weights: Weights
    stiff_from: float = field(default=math.inf, init=False)

    @cached_property
    def S(self) -> ShiftedGraph:  # noqa: N802 - as in the formulas
        """L_w + μ1 (N I − L_b)."""
        w = self.weights
        W = gaussian_class_graph(self.D2, self.codes, w.n_neighbors, w.beta)
        return ShiftedGraph(laplacian(W), self.codes, w.mu1)

    @property
    def shift(self) -> float:
        """μ1 N: what an eigenvalue of ours has more than one of the paper's A, Eq. (13)."""
        return self.weights.mu1 * len(self.codes)

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        # The same at every σ: fresh ones come from the system page by page, which takes as long as K.
        return np.empty_like(self.D2), np.empty_like(self.D2)

    def kernel(self, sigma: float) -> Floats:
        """K at one σ; overwrites the one before."""
        np.copyto(self._arrays[0], self.D2)
        return Gaussian().at(sigma)(self._arrays[0])

    @property
    def scratch(self) -> Floats:
        """An N × N array for a factor, overwritten by the next one."""
        return self._arrays[1]

    def subset(self, members: Ints) -> Problem:
        """The same problem, with its graph, on some of the samples of every class."""
        return Problem(self.D2[np.ix_(members, members)], self.codes[members], self.weights)

    def slopes(self, K: Floats, sigma: float, C: Floats, residual: Floats) -> Floats:
        """dλ_k/d log σ by first-order perturbation theory; ``residual`` is SY − YΛ.

        With Y = KC, λ = c'(KSK + μ2 I)c and c'KKc = 1: dλ = 2 (dK c)'(S y − λ y).
        """
        kernel, Z = Gaussian().at(sigma), np.empty_like(residual)

        def fill(start: int) -> None:
            rows = slice(start, start + PANEL)
            Z[rows] = kernel.log_derivative(K[rows], self.D2[rows]) @ C  # dK is never held

        in_parallel(fill, range(0, len(K), PANEL), K.size)
        return np.asarray(2.0 * np.einsum("ij,ij->j", Z, residual))
