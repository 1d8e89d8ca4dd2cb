"""The part of Eq. (11) that does not depend on σ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nsse.graphs import ShiftedGraph

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Affinity = Callable[[Floats, Ints, Ints], object]


@dataclass(frozen=True)
class Problem:
    """Minimise tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 ‖C‖² + μ3/σ² with Y'Y = I and Y = Ψ(σ)C.

    Attributes
    ----------
    D2 : ndarray of shape (N, N)
        Squared distances, in squared units of length; samples sorted by class.
    graph : ShiftedGraph
        S = L_w + μ1 (N I − L_b).
    mu2, mu3 : float
        Weights of the coefficients and of the kernel scale.
    n_components : int
        d.
    affinity : callable
        ``affinity(D2, codes, members)`` rebuilds W_w for some of the samples (see `subset`).
    """

    D2: Floats
    graph: ShiftedGraph
    mu2: float
    mu3: float
    n_components: int
    affinity: Affinity
    _buffers: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(
        cls, D2: Floats, codes: Ints, affinity: Affinity,
        *, mu1: float, mu2: float, mu3: float, n_components: int,
    ) -> Problem:  # fmt: skip
        """Build the graph and join the parts."""
        W = affinity(D2, codes, np.arange(len(codes)))
        graph = ShiftedGraph.from_affinity(W, codes, mu1)
        return cls(D2, graph, mu2, mu3, n_components, affinity)

    @property
    def n_samples(self) -> int:
        """N."""
        return self.graph.n_samples

    @property
    def shift(self) -> float:
        """μ1 N d: what the shifted ("excess") objective has more than Eq. (11)."""
        return self.graph.mu1 * self.n_samples * self.n_components

    def scale_term(self, sigma: float) -> float:
        """μ3/σ²."""
        return self.mu3 / sigma**2

    def buffer(self, name: str) -> Floats:
        """An N × N array to overwrite, the same at every σ.

        A fresh one of this size comes from the system page by page, which takes as long as computing
        its values.
        """
        if name not in self._buffers:
            self._buffers[name] = np.empty((self.n_samples, self.n_samples))
        return self._buffers[name]

    def subset(self, members: Ints) -> Problem:
        """Pose the same problem on some of the samples, with the neighbour graph built among them."""
        D2 = self.D2[np.ix_(members, members)]
        codes = self.graph.codes[members]
        return Problem.build(
            D2, codes, lambda d2, c, local: self.affinity(d2, c, members[local]),
            mu1=self.graph.mu1, mu2=self.mu2, mu3=self.mu3, n_components=self.n_components,
        )  # fmt: skip
