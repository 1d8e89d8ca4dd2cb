"""Many problems on the same samples at one σ: what model selection solves.

For a given σ the kernel matrix K and the Gram matrices K L_w K (one per graph) and K J K, where
S = L_w + μ1 J, do not depend on the weights: P = K L_w K + μ1 K J K + μ2 I is a sum of them. And one
solution serves every μ3, which does not enter it, and every smaller d, which takes its first columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from nsse._threads import one_blas_thread
from nsse.graphs import ShiftedGraph
from nsse.kernels import gaussian
from nsse.solvers.factors import factorize_gram, gram
from nsse.solvers.pencil import trusted_coordinates
from nsse.solvers.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Share of a coordinate that may be rounding noise. Stricter than for a fit of its own, where only the
# coordinates asked for are computed: here a noisy one would spoil the cleaner ones before it.
LARGEST_NOISE = 1e-6


@dataclass(frozen=True)
class Weights:
    """What changes S and μ2: the place of the neighbour graph in a list, μ1 and μ2."""

    graph: int
    mu1: float
    mu2: float


@dataclass(frozen=True)
class Node:
    """A solution at one σ: its coordinates, and where f takes the new samples."""

    sigma: float
    eigenvalues: Floats
    slopes: Floats
    Y: Floats
    Z: Floats
    # Σ_{k≤d} of both for every d: each is asked for by hundreds of (d, μ3).
    _sums: list[float] = field(init=False, repr=False)
    _slope_sums: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, values in (("_sums", self.eigenvalues), ("_slope_sums", self.slopes)):
            object.__setattr__(self, name, [0.0, *np.cumsum(values).tolist()])

    @classmethod
    def unsolved(cls, sigma: float, n_samples: int, n_new: int) -> Node:
        """No coordinates at all."""
        none = np.empty(0)
        return cls(sigma, none, none, np.empty((n_samples, 0)), np.empty((n_new, 0)))

    @property
    def rank(self) -> int:
        """The largest d it can serve."""
        return len(self.eigenvalues)

    def excess(self, d: int, mu3: float) -> float:
        """Σ_{k≤d} λ_k + μ3/σ²."""
        return self._sums[d] + mu3 / self.sigma**2

    def slope(self, d: int, mu3: float) -> float:
        """Its derivative in log σ."""
        return self._slope_sums[d] - 2.0 * mu3 / self.sigma**2


@dataclass
class Sweep:
    """Samples, sorted by class, on which many weights are tried, and new samples to embed.

    Attributes
    ----------
    D2, D2_new : ndarray of shape (N, N) and (n_new, N)
        Squared distances among the samples, and from the new ones to them, in squared units of length.
    graphs : sequence of ShiftedGraph
        Within-class graphs with μ1 = 0.
    n_components : int
        The largest d wanted.
    counts : Counter
        Kernel matrices, Gram matrices and factorisations made so far.
    """

    D2: Floats
    D2_new: Floats
    graphs: Sequence[ShiftedGraph]
    n_components: int
    counts: Counter[str] = field(default_factory=Counter)
    _classes: ShiftedGraph = field(init=False, repr=False)
    _buffers: dict[str, Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._classes = self.graphs[0].classes_only()

    def solve(self, sigma: float, wanted: Sequence[Weights]) -> list[Node]:
        """Embed with each of the weights at one σ.

        Where the eigenproblem cannot be solved in floating point, the node has no coordinates.
        """
        with one_blas_thread():
            K = gaussian(self.D2, sigma, out=self._buffer("K"))
            K_new = gaussian(self.D2_new, sigma)
            self.counts["kernel matrices"] += 1
            grams = _Grams(self, K)
            return [self._node(sigma, K, K_new, grams, weights) for weights in wanted]

    def _node(self, sigma: float, K: Floats, K_new: Floats, grams: _Grams, weights: Weights) -> Node:
        graph = replace(self.graphs[weights.graph], mu1=weights.mu1)
        P = self._buffer("P")
        np.multiply(grams.of_classes(), weights.mu1, out=P)
        P += grams.of_graph(weights.graph)
        problem = Problem(self.D2, graph, weights.mu2, 0.0, self.n_components, _never_rebuilt)
        self.counts["factorisations"] += 1
        try:
            if not np.isfinite(np.trace(P)):
                raise LinAlgError("P is not finite")
            factor = factorize_gram(P, K, graph, weights.mu2)
            found, _ = trusted_coordinates(problem, K, factor, sigma, None, LARGEST_NOISE)
        except LinAlgError:
            return Node.unsolved(sigma, len(K), len(K_new))
        return Node(sigma, found.eigenvalues, found.slopes, found.Y, K_new @ found.C)

    def _buffer(self, name: str) -> Floats:
        if name not in self._buffers:
            # Zeros: of a Gram matrix only one half is ever written, but both are multiplied.
            self._buffers[name] = np.zeros(self.D2.shape)
        return self._buffers[name]


class _Grams:
    """K L_w K for every graph, and K J K, each made when first asked for."""

    def __init__(self, sweep: Sweep, K: Floats) -> None:
        self._sweep, self._K = sweep, K
        self._made: set[str] = set()

    def of_graph(self, index: int) -> Floats:
        return self._get(f"K L{index} K", self._sweep.graphs[index])

    def of_classes(self) -> Floats:
        return self._get("K J K", self._sweep._classes)

    def _get(self, name: str, graph: ShiftedGraph) -> Floats:
        out = self._sweep._buffer(name)
        if name not in self._made:
            gram(self._K, graph, self._sweep._buffer("SK"), out=out)
            self._sweep.counts["Gram matrices"] += 1
            self._made.add(name)
        return out


def _never_rebuilt(D2: Floats, codes: Ints, members: Ints) -> object:
    raise AssertionError("a sweep takes no subsamples")
