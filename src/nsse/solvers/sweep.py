"""Many problems on the same samples at one σ: what model selection solves.

For a given σ the kernel matrix K and the Gram matrices K L_w K (one per graph) and K J K, where
S = L_w + μ1 J, do not depend on the weights: P = K L_w K + μ1 K J K + μ2 I is a sum of them. And one
solution serves every μ3, which does not enter it, and every smaller d, which takes its first columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from nsse._threads import one_blas_thread
from nsse.graphs import ShiftedGraph
from nsse.kernels import gaussian
from nsse.solvers.constraint import HeldKernel
from nsse.solvers.factors import LARGEST_CONDITION, Factor, cholesky, factorize_gram, gram
from nsse.solvers.krylov import Pairs, leading_pairs
from nsse.solvers.pencil import RESIDUAL, class_start, trusted_coordinates
from nsse.solvers.problem import Objective, Problem, Workspace
from nsse.solvers.stack import refined

Floats = NDArray[np.float64]

# Up to so many samples several weights are worked on together, so many at a time.
STACKED_UP_TO, MOST_LAYERS = 400, 12
# Share of a coordinate that may be rounding noise. Stricter than for a fit of its own, where only the
# coordinates asked for are computed: here a noisy one would spoil the cleaner ones before it.
LARGEST_NOISE = 1e-6


@dataclass(frozen=True)
class Wanted:
    """One problem of many: the place of its neighbour graph in a list, its weights, and σ if given."""

    graph: int
    objective: Objective
    sigma: float | None = None

    @property
    def shared(self) -> Wanted:
        """What all problems have in common that one solution at some σ serves: any μ3, and any d."""
        return Wanted(self.graph, replace(self.objective, mu3=0.0, n_components=0))


@dataclass(frozen=True)
class Node:
    """A solution at one σ: its coordinates, and where f takes the new samples.

    ``Y`` has its rows times √w where they stand for several samples; ``frame`` is what the constraint
    makes orthonormal: Y itself, or its class means.
    """

    sigma: float
    eigenvalues: Floats
    slopes: Floats
    Y: Floats
    Z: Floats
    frame: Floats
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
        Y = np.empty((n_samples, 0))
        return cls(sigma, none, none, Y, np.empty((n_new, 0)), Y)

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


_Task = tuple[Wanted, Problem]


@dataclass
class Sweep:
    """Rows, sorted by class, on which many weights are tried, and new samples to embed.

    Attributes
    ----------
    D2, D2_new : ndarray of shape (N, m) and (n_new, m)
        Squared distances of the rows and of the new samples to the centres, in squared units of length.
    graphs : sequence of ShiftedGraph
        Within-class graphs with μ1 = 0.
    n_components : int
        The largest d wanted.
    counts : Counter
        Kernel matrices, Gram matrices and factorisations made so far.
    is_exact : bool
        Whether the centres are the rows.
    """

    D2: Floats
    D2_new: Floats
    graphs: Sequence[ShiftedGraph]
    n_components: int
    counts: Counter[str] = field(default_factory=Counter)
    is_exact: bool = True
    _classes: ShiftedGraph = field(init=False, repr=False)
    _edges: list[Any] = field(init=False, repr=False)
    _workspace: Workspace = field(default_factory=Workspace, repr=False)
    _problems: dict[Wanted, Problem] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._classes = self.graphs[0].classes_only()
        if len(self.D2) <= STACKED_UP_TO:
            self._edges = [graph.edges for graph in self.graphs]

    def solve(self, sigma: float, wanted: Sequence[Wanted]) -> list[Node]:
        """Embed with each of the weights at one σ, whatever their own σ and d.

        Where the eigenproblem cannot be solved in floating point, the node has no coordinates.
        """
        problems = [self._problem(one) for one in wanted]
        with one_blas_thread():
            kernel = problems[0].kernel(sigma)
            K_new = gaussian(self.D2_new, sigma)
            self.counts["kernel matrices"] += 1
            grams = _Grams(self, kernel)
            tasks = list(zip(wanted, problems, strict=True))
            if not self._stacks:
                return [self._node(sigma, kernel, K_new, grams, *task) for task in tasks]
            nodes = []
            for start in range(0, len(tasks), MOST_LAYERS):
                nodes += self._nodes(sigma, kernel, K_new, grams, tasks[start : start + MOST_LAYERS])
            return nodes

    @property
    def _stacks(self) -> bool:
        """Whether several problems are worked on together: few samples that stand for themselves."""
        graph, n_rows = self.graphs[0], len(self.D2)
        return (
            self.is_exact
            and self.n_components < n_rows <= STACKED_UP_TO
            and graph.roots is None
            and not next(iter(self._problems)).objective.is_of_classes
        )

    def _nodes(
        self, sigma: float, kernel: HeldKernel, K_new: Floats, grams: _Grams, tasks: Sequence[_Task]
    ) -> list[Node]:
        """The same for several weights together; those that need care are solved on their own."""
        nodes: dict[int, Node] = {}
        solved: dict[int, tuple[Factor, Pairs]] = {}
        for place, (one, problem) in enumerate(tasks):
            P = grams.of(one.graph, problem, place)
            P[np.diag_indices(len(P))] += problem.objective.mu2
            factor = cholesky(P) if np.isfinite(np.trace(P)) else None
            if factor is not None and factor.condition <= LARGEST_CONDITION:
                pairs = leading_pairs(kernel, factor, self.n_components, self._start, RESIDUAL, 1)
                solved[place] = factor, pairs
        if solved:
            problems = [tasks[place][1] for place in solved]
            edges = [self._edges[tasks[place][0].graph] for place in solved]
            factors, pairs_of = zip(*solved.values(), strict=True)
            with suppress(LinAlgError):
                found = refined(problems, edges, kernel, factors, pairs_of, sigma, LARGEST_NOISE)
                Z = K_new @ found.C
                for layer, place in enumerate(solved):
                    if found.holds[layer]:
                        self.counts["factorisations"] += 1
                        Y = found.Y[layer]
                        nodes[place] = Node(
                            sigma, found.eigenvalues[layer], found.slopes[layer], Y, Z[layer], Y
                        )
        return [
            nodes[place] if place in nodes else self._node(sigma, kernel, K_new, grams, *task)
            for place, task in enumerate(tasks)
        ]

    def _problem(self, wanted: Wanted) -> Problem:
        if wanted not in self._problems:
            graph = replace(self.graphs[wanted.graph], mu1=wanted.objective.mu1)
            objective = replace(wanted.objective, n_components=self.n_components)
            self._problems[wanted] = Problem(
                self.D2, graph, objective, is_exact=self.is_exact, workspace=self._workspace
            )
        return self._problems[wanted]

    @cached_property
    def _start(self) -> Floats:
        """The same for all weights: they share the classes and the largest d."""
        return class_start(next(iter(self._problems.values())))

    def _node(
        self,
        sigma: float,
        kernel: HeldKernel,
        K_new: Floats,
        grams: _Grams,
        wanted: Wanted,
        problem: Problem,
    ) -> Node:
        self.counts["factorisations"] += 1
        P = grams.of(wanted.graph, problem)
        try:
            if not np.isfinite(np.trace(P)):
                raise LinAlgError("P is not finite")
            factor = factorize_gram(P, kernel, problem.graph, problem.objective.mu2)
            found, _ = trusted_coordinates(problem, kernel, factor, sigma, self._start, LARGEST_NOISE)
        except LinAlgError:
            return Node.unsolved(sigma, len(self.D2), len(K_new))
        Z = K_new @ found.C
        return Node(sigma, found.eigenvalues, found.slopes, found.Y, Z, found.frame)


class _Grams:
    """K'L_wK for every graph, and K'JK, each made when first asked for."""

    def __init__(self, sweep: Sweep, kernel: HeldKernel) -> None:
        self._sweep, self._kernel = sweep, kernel
        self._made: set[str] = set()

    def of(self, graph: int, problem: Problem, layer: int = 0) -> Floats:
        """K'SK, written over the one before of this layer."""
        _, P = problem.gram_arrays()
        if layer:
            P = problem.workspace.array(f"P{layer}", P.shape)
        np.multiply(self._get("K'JK", self._sweep._classes, problem), problem.objective.mu1, out=P)
        P += self._get(f"K'L{graph}K", self._sweep.graphs[graph], problem)
        return P

    def _get(self, name: str, graph: ShiftedGraph, problem: Problem) -> Floats:
        SK, P = problem.gram_arrays()
        out = problem.workspace.array(name, P.shape)
        if name not in self._made:
            gram(self._kernel, graph, SK, out=out)
            self._sweep.counts["Gram matrices"] += 1
            self._made.add(name)
        return out
