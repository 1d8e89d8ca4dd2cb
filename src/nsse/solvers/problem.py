"""The part of Eq. (11) that does not depend on σ: distances, graph and weights.

Rows are embedded by a map with centres. In exact NSSE the centres are the rows; with landmarks they are
fewer, and the rows may be a subsample that stands for all samples (`ShiftedGraph`). It is one problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nsse.graphs import RowGraph, ShiftedGraph
from nsse.kernels import gaussian
from nsse.solvers.constraint import ClassMeans, HeldKernel

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Affinity = Callable[[Floats, Ints, Ints], object]


def constant_price(n_classes: int) -> float:
    """What a constant in f costs, in samples (`solvers.closed_form`): one, or more than there are.

    Far from all samples it decides. That is right for two classes of which one surrounds the other, and
    mere chance among more: chosen on one half of the sets of reproduction/study.
    """
    return 1.0 if n_classes == 2 else math.inf


@dataclass(frozen=True)
class Objective:
    """The weights of Eq. (11) and the number of components, d."""

    mu1: float
    mu2: float
    mu3: float
    n_components: int
    normalization: str = "samples"

    @property
    def is_of_classes(self) -> bool:
        """Whether the class means are normalised, Y'GG'Y = I, instead of the samples, Y'Y = I."""
        return self.normalization == "classes"

    def centring(self, n_samples: float, n_classes: int) -> float:
        """What multiplies 11' in S: 1, or so much that a constant in f costs as `constant_price` says.

        Beside within-class scatter of weight μ1 n̄, n̄ = N/M, the mean of f has weight α/(N + α).
        """
        if not self.is_of_classes:
            return 1.0
        price = constant_price(n_classes)
        share = 1.0 if math.isinf(price) else price / (n_samples + price)
        return share / n_classes

    def scale_term(self, sigma: float) -> float:
        """μ3/σ²."""
        return self.mu3 / sigma**2

    def shift_of_one(self, n_samples: float) -> float:
        """μ1 N: what an eigenvalue of ours has more than the paper's; 0 where tr(Y'Y) is not given."""
        return 0.0 if self.is_of_classes else self.mu1 * n_samples

    def shift(self, n_samples: float) -> float:
        """μ1 N d: what the shifted ("excess") objective has more than Eq. (11)."""
        return self.shift_of_one(n_samples) * self.n_components


class Workspace:
    """Arrays to write over, the same at every σ.

    A fresh one of their size comes from the system page by page, which takes as long as computing its
    values. They begin as zeros: of a Gram matrix only one half is ever written, but both are multiplied.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}
        # From this σ on K was found to be too near to a singular matrix for ``sample_space``.
        self.stiff_from = math.inf

    def clear(self) -> None:
        """Let go of all of them: nothing more is solved for."""
        self._arrays.clear()

    def array(self, name: str, shape: tuple[int, ...]) -> Floats:
        """The one of this name; its shape must not change."""
        if name not in self._arrays:
            self._arrays[name] = np.zeros(shape)
        return self._arrays[name]


@dataclass(frozen=True)
class Problem:
    """Minimise tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 ‖C‖² + μ3/σ² with Y'Y = I and Y = Ψ(σ)C.

    Or, where the objective normalises classes, tr(Y'SY) + μ2 ‖C‖² + μ3/σ² with Y'GG'Y = I.

    Attributes
    ----------
    D2 : ndarray of shape (N, m)
        Squared distances from rows to centres, in squared units of length; rows sorted by class.
    graph : RowGraph
        S = L_w + μ1 (N I − L_b), with the μ1 of the objective; where some rows have no label, that of
        the others and smoothness along a graph of all.
    objective : Objective
        The weights.
    affinity : callable or None
        ``affinity(D2, codes, members)`` rebuilds W_w for some of the samples (see `subset`).
    is_exact : bool
        Whether the centres are the rows, in their order.
    workspace : Workspace
        Arrays that every solution writes over.
    """

    D2: Floats
    graph: RowGraph
    objective: Objective
    affinity: Affinity | None = None
    is_exact: bool = True
    workspace: Workspace = field(default_factory=Workspace, repr=False, compare=False)

    @classmethod
    def build(
        cls,
        D2: Floats,
        codes: Ints,
        affinity: Affinity,
        objective: Objective,
        weights: Floats | None = None,
    ) -> Problem:
        """Build the graph and join the parts.

        ``weights`` say how many times every sample counts, and ``affinity`` knows them. A sample that
        counts w times is w rows and w centres: it has w equal coefficients, and ours is √w times each.
        """
        W = affinity(D2, codes, np.arange(len(codes)))
        n_samples = len(codes) if weights is None else float(weights.sum())
        centring = objective.centring(n_samples, int(codes.max()) + 1)
        graph = ShiftedGraph.from_affinity(W, codes, objective.mu1, centring, weights)
        return cls(D2, graph, objective, affinity)

    @property
    def n_samples(self) -> float:
        """N: how many samples the rows stand for."""
        return self.graph.n_samples

    @property
    def shift(self) -> float:
        """See `Objective.shift`."""
        return self.objective.shift(self.n_samples)

    def kernel(self, sigma: float) -> HeldKernel:
        """Ψ(σ), its rows times √w, and its columns if they are the rows; overwrites the one before."""
        K = gaussian(self.D2, sigma, out=self.workspace.array("K", self.D2.shape))
        if self.graph.roots is not None:
            K *= self.graph.roots
            if self.is_exact:
                K *= self.graph.roots.T
        return HeldKernel(K, K if self.is_exact else K.T)

    def constraint(self, kernel: HeldKernel) -> HeldKernel | ClassMeans:
        """B of C'BC = I."""
        if not self.objective.is_of_classes:
            return kernel
        return ClassMeans(self.graph.contrasts(kernel.K).T, kernel)

    def frame(self, Y: Floats) -> Floats:
        """What the constraint makes orthonormal: Y, or G'Y."""
        return self.graph.contrasts(Y) if self.objective.is_of_classes else Y

    def constrained(self, Y: Floats) -> Floats:
        """MY, where the constraint is Y'MY = I: Y itself, or GG'Y."""
        return self.graph.from_contrasts(self.frame(Y)) if self.objective.is_of_classes else Y

    def gram_arrays(self) -> tuple[Floats, Floats]:
        """Places for SK and P."""
        n_centers = self.D2.shape[1]
        return (
            self.workspace.array("SK", self.D2.shape),
            self.workspace.array("P", (n_centers, n_centers)),
        )

    def subset(self, members: Ints) -> Problem:
        """Pose the same problem on some of the samples, with the neighbour graph built among them."""
        rebuild = self.affinity
        assert rebuild is not None
        D2 = self.D2[np.ix_(members, members)]
        codes, weights = self.graph.codes[members], self.graph.weights
        return Problem.build(
            D2,
            codes,
            lambda d2, c, local: rebuild(d2, c, members[local]),
            self.objective,
            None if weights is None else weights[members],
        )
