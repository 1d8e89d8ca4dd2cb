"""The minimum of g(σ) for many (μ3, d) from solutions at a few shared σ, and the embedding there.

g(σ) = Σ_{k≤d} λ_k(σ) + μ3/σ² is known with its slope wherever the pencil was solved. The σ tried are
those of one fine grid, so that all weights, μ3 and d share their kernel matrices: first the grid of the
joint search, then the nodes around each minimum until it lies in one cell. There g is the cubic through
both ends, and the embedding is interpolated between the nodes around it. ``tests/test_sweep.py``
compares both with the joint search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.solvers.descent import Point, cubic_minimum
from nsse.solvers.survey import NEARLY_AS_DEEP, log_grid
from nsse.solvers.sweep import Node
from nsse.solvers.valleys import valleys

Floats = NDArray[np.float64]

# Cells of the fine grid to one of the scan.
REFINEMENT = 4
# Subspaces of neighbouring nodes that are further apart than this cosine are not interpolated: two
# eigenvalues have crossed between them.
LEAST_COSINE = 0.8


class MissingNodesError(Exception):
    """More of the curve must be known; ``indices`` says where."""

    def __init__(self, indices: set[int]) -> None:
        super().__init__(f"nodes {sorted(indices)} are missing")
        self.indices = indices


class NoScaleError(ValueError):
    """The minimum cannot be told from this grid: mostly, the kernel carries no d clean coordinates."""


@dataclass(frozen=True)
class ScaleGrid:
    """The σ that are tried, equidistant in log σ."""

    log_sigmas: Floats

    @classmethod
    def over(cls, bounds: tuple[float, float]) -> ScaleGrid:
        """The grid of the joint search, refined."""
        n_points = (len(log_grid(bounds)) - 1) * REFINEMENT + 1
        return cls(np.linspace(np.log(bounds[0]), np.log(bounds[1]), n_points))

    @property
    def coarse(self) -> range:
        """Indices of the joint search's own grid."""
        return range(0, len(self.log_sigmas), REFINEMENT)

    def sigma(self, index: int) -> float:
        """σ of a node."""
        return float(np.exp(self.log_sigmas[index]))

    def around(self, index: int) -> list[int]:
        """The nodes between which to interpolate from one node to the next."""
        return [i for i in range(index - 1, index + 3) if 0 <= i < len(self.log_sigmas)]

    def cell(self, low: int, high: int, log_sigma: float) -> int:
        """The node below log σ, of those from ``low`` to ``high``."""
        step = self.log_sigmas[1] - self.log_sigmas[0]
        return min(max(int((log_sigma - self.log_sigmas[0]) // step), low), high - 1)


@dataclass(frozen=True)
class Place:
    """Where the minimum lies: between node ``index`` and the next, at log σ; or at a node itself."""

    index: int
    log_sigma: float
    depth: float
    at_node: bool

    @property
    def sigma(self) -> float:
        """The minimiser."""
        return float(np.exp(self.log_sigma))


@dataclass(frozen=True)
class _Seen:
    """g and its slope at a node, in the form that `valleys` and `cubic_minimum` take."""

    index: int
    sigma: float
    excess: float
    slope: float
    basis: None = field(default=None)
    is_rough: bool = field(default=False)


@dataclass(frozen=True)
class TurnedNodes:
    """Solutions around one cell of the grid, turned into each other so that they can be interpolated.

    Single coordinates are not continuous in σ: where two eigenvalues meet they change places. The space
    of all of them is, and so is the matrix of their eigenvalues in it; that is diagonalised afterwards.
    """

    x: Floats
    Y: Floats
    Z: Floats
    reduced: Floats

    @classmethod
    def between(
        cls, grid: ScaleGrid, nodes: Mapping[int, Node], around: list[int], width: int
    ) -> TurnedNodes | None:
        """Turn the solutions at some nodes to that in the middle; None where they are too far apart."""
        parts = [nodes[i] for i in around]
        turns = _turns([node.frame[:, :width] for node in parts])
        if turns is None:
            return None
        Y = np.array([node.Y[:, :width] @ Q for node, Q in zip(parts, turns, strict=True)])
        Z = np.array([node.Z[:, :width] @ Q for node, Q in zip(parts, turns, strict=True)])
        reduced = np.array(
            [(Q.T * node.eigenvalues[:width]) @ Q for node, Q in zip(parts, turns, strict=True)]
        )
        return cls(grid.log_sigmas[around], Y, Z, reduced)

    def at(self, log_sigma: float, d: int) -> tuple[Floats, Floats, Floats]:
        """The first d coordinates of the samples and the new samples, and their eigenvalues."""
        weights = _lagrange(self.x, log_sigma)
        Y, Z, reduced = (_combined(weights, A) for A in (self.Y, self.Z, self.reduced))
        eigenvalues, Q = np.linalg.eigh(reduced)
        return Y @ Q[:, :d], Z @ Q[:, :d], eigenvalues[:d]


@dataclass(frozen=True)
class ScaleCurve:
    """Solutions for one set of weights along the grid; grows as nodes are asked for.

    A scan upwards ends where g has risen to ``far_above`` times its least value.
    """

    grid: ScaleGrid
    far_above: float = math.inf
    nodes: dict[int, Node] = field(default_factory=dict)
    cells: dict[tuple[int, ...], TurnedNodes | None] = field(default_factory=dict, repr=False)
    _carried: dict[int, Any] = field(default_factory=dict, repr=False)

    def minimum(self, d: int, mu3: float) -> Place:
        """The global minimum of g; `MissingNodesError` where the curve is not known well enough."""
        scanned = self._scan(d, mu3)
        places = []
        for valley in valleys(scanned, NEARLY_AS_DEEP):
            if len(valley.known) == 1:
                end = valley.known[0]
                x = float(self.grid.log_sigmas[end.index])
                places.append(Place(end.index, x, math.log(end.excess), at_node=True))
            else:
                places.append(self._bottom(valley.known[0], valley.known[1], d, mu3))
        deepest = min(places, key=lambda place: place.depth)
        self._check_resolved(deepest, scanned, d, mu3)
        return deepest

    def _check_resolved(self, place: Place, scanned: list[_Seen], d: int, mu3: float) -> None:
        """A problem that the grid does not resolve is not for this curve.

        Where λ_d and λ_{d+1} cross, g has a bend and may fall again within a cell: then some node lies
        below the minimum found. And where the scan ended for want of clean coordinates with g still
        falling, the minimum lies beyond.
        """
        cut = scanned[-1].index != self.grid.coarse[-1]
        if place.at_node and cut and place.index == scanned[-1].index:
            raise NoScaleError(d)
        if math.log(self._least(d, mu3)) < place.depth - 1e-9:
            raise NoScaleError(d)

    def ends_below(self, index: int, wanted: Iterable[tuple[int, float]]) -> bool:
        """Whether no (d, μ3) has its minimum below this node, the lowest known.

        g ≥ μ3/σ², which only grows as σ falls: once it exceeds a value of g that was seen, no smaller σ
        can do better.
        """
        sigma = self.grid.sigma(index)
        return all(mu3 / sigma**2 > self._least(d, mu3) for d, mu3 in wanted)

    def ends_above(self, index: int, wanted: Iterable[tuple[int, float]]) -> bool:
        """Whether for every (d, μ3) the scan ends at this node, the highest known."""
        node = self.nodes[index]
        return all(
            node.rank < d or self._is_far_above(node.excess(d, mu3), node.slope(d, mu3), d, mu3)
            for d, mu3 in wanted
        )

    def _is_far_above(self, excess: float, slope: float, d: int, mu3: float) -> bool:
        """Whether g rises from here, many times above its least value: as the joint search ends."""
        return slope > 0 and excess > self.far_above * self._least(d, mu3)

    def _least(self, d: int, mu3: float) -> float:
        """The least g of the nodes that carry d coordinates; each is asked for by many μ3."""
        n_nodes, sums, inverse_squares = self._carried.get(d, (0, None, None))
        if n_nodes != len(self.nodes):
            carried = [node for node in self.nodes.values() if node.rank >= d]
            sums = np.array([node.excess(d, 0.0) for node in carried])
            inverse_squares = np.array([node.sigma**-2 for node in carried])
            self._carried[d] = len(self.nodes), sums, inverse_squares
        return float((sums + mu3 * inverse_squares).min(initial=np.inf))

    def embedding(self, place: Place, d: int) -> tuple[Floats, Floats, Floats] | None:
        """Embedding, new samples and eigenvalues at the minimum; None where it must be solved for."""
        here = self.nodes[place.index]
        if place.at_node:
            return here.Y[:, :d], here.Z[:, :d], here.eigenvalues[:d]
        around = [i for i in self.grid.around(place.index) if self.nodes[i].rank >= d]
        width = self._width(around, d)
        key = (*around, width)
        if key not in self.cells:
            self.cells[key] = TurnedNodes.between(self.grid, self.nodes, around, width)
        cell = self.cells[key]
        return None if cell is None else cell.at(place.log_sigma, d)

    def _width(self, around: list[int], d: int) -> int:
        """How many coordinates, d or more, to take together: up to the widest gap at all nodes."""
        rank = min(self.nodes[i].rank for i in around)
        eigenvalues = np.array([self.nodes[i].eigenvalues[:rank] for i in around])
        gaps = (eigenvalues[:, d:] / eigenvalues[:, d - 1 : -1]).min(axis=0)
        return d + int(np.argmax(gaps)) if len(gaps) else d

    def _scan(self, d: int, mu3: float) -> list[_Seen]:
        """The nodes of the joint search up to where the kernel no longer carries d coordinates."""
        scanned: list[_Seen] = []
        for index in self.grid.coarse:
            if index not in self.nodes:
                if not scanned:
                    continue  # below the last node where a minimum can be
                if self._is_far_above(scanned[-1].excess, scanned[-1].slope, d, mu3):
                    break
            seen = self._seen(index, d, mu3)
            if seen is None:
                break
            scanned.append(seen)
        if not scanned:
            raise NoScaleError(d)
        return scanned

    def _seen(self, index: int, d: int, mu3: float) -> _Seen | None:
        if index not in self.nodes:
            raise MissingNodesError({index})
        node = self.nodes[index]
        if node.rank < d:
            return None
        return _Seen(index, node.sigma, node.excess(d, mu3), node.slope(d, mu3))

    def _bottom(self, low: _Seen, high: _Seen, d: int, mu3: float) -> Place:
        """Narrow a bracket of slopes to one cell, and ask for the nodes around that."""
        while True:
            cubic = cubic_minimum(Point.of(low), Point.of(high))
            x = (math.log(low.sigma) + math.log(high.sigma)) / 2 if cubic is None else cubic[0]
            cell = self.grid.cell(low.index, high.index, x)
            is_found = high.index - low.index == 1
            needed = self.grid.around(cell) if is_found else (cell, cell + 1)
            missing = {i for i in needed if i not in self.nodes}
            if missing:
                raise MissingNodesError(missing)
            if is_found:
                depth = math.log(min(low.excess, high.excess)) if cubic is None else cubic[1]
                return Place(low.index, float(x), float(depth), at_node=False)
            inside = cell if cell > low.index else cell + 1
            middle = self._seen(inside, d, mu3)
            if middle is None:
                raise NoScaleError(d)  # carried at both ends, not between them: rounding rules here
            if middle.slope < 0:
                low = middle
            else:
                high = middle


def _combined(weights: Floats, layers: Floats) -> Floats:
    return np.asarray(weights @ layers.reshape(len(layers), -1)).reshape(layers.shape[1:])


def _lagrange(x: Floats, at: float) -> Floats:
    """Weights of the polynomial through values at the points ``x``."""
    weights = np.ones(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                weights[i] *= (at - x[j]) / (x[i] - x[j])
    return weights


def _turns(frames: list[Floats]) -> Floats | None:
    """Rotations that bring orthonormal columns nearest to those in the middle (Procrustes).

    None where some of them are far from these.
    """
    onto = frames[(len(frames) - 1) // 2]
    U, cosines, Vt = np.linalg.svd(np.array([frame.T @ onto for frame in frames]))
    return None if cosines[:, -1].min() < LEAST_COSINE else np.asarray(U @ Vt)
