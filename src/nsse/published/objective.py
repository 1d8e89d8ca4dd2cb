"""Define the objective of the paper, Eq. (11), as a function of the embedding Y and the kernel scale σ.

    tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 tr(Y'K⁻²Y) + μ3/σ²    subject to    Y'Y = I

Here K_ij = exp(−‖x_i − x_j‖²/σ²) is the paper's Ψ. With C = K⁻¹Y, the third term is μ2 ‖C‖².
Because Y'Y = I, the sum of −μ1 tr(Y'L_b Y) and the constant μ1 N d is a part of tr(Y'SY) with
S = L_w + μ1 (N I − L_b) (`nsse.graphs.ShiftedGraph`). The code minimizes the *excess*

    tr(Y'SY) + μ2 ‖C‖² + μ3/σ²  =  Eq. (11) + μ1 N d,

which is never negative. At the best Y of every σ it is g(σ) = Σ_{k ≤ d} λ_k(σ) + μ3/σ².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nsse._support.types import Floats, Ints
from nsse.graphs import ShiftedGraph, gaussian_class_graph, laplacian
from nsse.kernels import Gaussian


@dataclass(frozen=True)
class Weights:
    """Contain the weights of Eq. (11), d, and the parameters of the within-class graph."""

    mu1: float
    mu2: float
    mu3: float
    n_components: int
    n_neighbors: int | None = 5
    beta: float | None = None

    def scale_term(self, sigma: float) -> float:
        """Return the fourth term, μ3/σ²."""
        return self.mu3 / sigma**2


@dataclass(frozen=True)
class Problem:
    """Contain everything in Eq. (11) that does not depend on σ.

    Attributes
    ----------
    D2 : ndarray of shape (N, N)
        Squared distances, in squared units of length.
    codes : ndarray of shape (N,)
        The class of every sample.
    weights : Weights
        The parameters.
    """

    D2: Floats
    codes: Ints
    weights: Weights

    @cached_property
    def S(self) -> ShiftedGraph:  # noqa: N802 - as in the formulas
        """The matrix L_w + μ1 (N I − L_b)."""
        w = self.weights
        W = gaussian_class_graph(self.D2, self.codes, w.n_neighbors, w.beta)
        return ShiftedGraph(laplacian(W), self.codes, w.mu1)

    @property
    def shift(self) -> float:
        """The number μ1 N, by which our eigenvalues exceed the eigenvalues of A in Eq. (13)."""
        return self.weights.mu1 * len(self.codes)

    def kernel(self, sigma: float) -> Floats:
        """Return K at one σ."""
        return Gaussian().at(sigma)(self.D2.copy())

    def slopes(self, K: Floats, sigma: float, C: Floats, residual: Floats) -> Floats:
        """Return dλ_k/d log σ by first-order perturbation theory. ``residual`` is SY − YΛ.

        With Y = KC, λ = c'(KSK + μ2 I)c and c'KKc = 1, this is dλ = 2 (dK c)'(S y − λ y).
        """
        dK = Gaussian().at(sigma).log_derivative(K, self.D2)
        return np.asarray(2.0 * np.einsum("ij,ij->j", dK @ C, residual))
