"""Many problems on the same samples, each at its own best σ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsse.solvers.scale_curve import MissingNodesError, NoScaleError, Place, ScaleCurve, ScaleGrid
from nsse.solvers.sweep import Node, Sweep, Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Wanted:
    """One problem: its weights, d, and either μ3 or a given σ (in units of length)."""

    weights: Weights
    n_components: int
    mu3: float
    sigma: float | None = None


@dataclass(frozen=True)
class Embedded:
    """Embedding of the samples and of the new ones, and the σ they belong to."""

    Y: Floats
    Z: Floats
    sigma: float


def embed_all(
    sweep: Sweep, bounds: tuple[float, float], tasks: Sequence[Wanted]
) -> Iterator[tuple[int, Embedded | None]]:
    """Solve every task; yields its place in the list with the embedding.

    None where the kernel does not carry so many coordinates without noise: such a problem must be
    solved on its own, if it can be solved. What is shared is computed once: the
    kernel matrix for every σ, a solution for every σ and set of weights.
    """
    yield from _at_given_scales(sweep, tasks)
    yield from _at_best_scales(sweep, ScaleGrid.over(bounds), tasks)


def _at_given_scales(sweep: Sweep, tasks: Sequence[Wanted]) -> Iterator[tuple[int, Embedded | None]]:
    by_sigma: dict[float, dict[Weights, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, task in enumerate(tasks):
        if task.sigma is not None:
            by_sigma[task.sigma][task.weights].append(place)
    for sigma, places in by_sigma.items():
        nodes = sweep.solve(sigma, list(places))
        for node, here in zip(nodes, places.values(), strict=True):
            for place in here:
                yield place, _at_node(node, tasks[place].n_components)


def _at_best_scales(
    sweep: Sweep, grid: ScaleGrid, tasks: Sequence[Wanted]
) -> Iterator[tuple[int, Embedded | None]]:
    pending = [i for i, task in enumerate(tasks) if task.sigma is None]
    members: dict[Weights, list[Wanted]] = defaultdict(list)
    for i in pending:
        members[tasks[i].weights].append(tasks[i])
    curves = {weights: ScaleCurve(grid) for weights in members}
    _scan(sweep, grid, curves, members)
    while pending:
        missing, waiting = defaultdict(set), []
        for i in pending:
            task = tasks[i]
            curve = curves[task.weights]
            try:
                place = curve.minimum(task.n_components, task.mu3)
            except MissingNodesError as need:
                waiting.append(i)
                for index in need.indices:
                    missing[index].add(task.weights)
            except NoScaleError:
                yield i, None
            else:
                yield i, _at_place(sweep, curve, place, task)
        for index in sorted(missing):
            _solve_nodes(sweep, grid, curves, index, missing[index])
        pending = waiting


def _scan(
    sweep: Sweep,
    grid: ScaleGrid,
    curves: dict[Weights, ScaleCurve],
    members: dict[Weights, list[Wanted]],
) -> None:
    """Solve at the nodes of the joint search, from the largest σ down to where no minimum can be."""
    going = set(curves)
    for index in reversed(grid.coarse):
        _solve_nodes(sweep, grid, curves, index, going)
        going = {w for w in going if not curves[w].ends_below(index, _pairs(members[w]))}


def _pairs(members: list[Wanted]) -> set[tuple[int, float]]:
    return {(task.n_components, task.mu3) for task in members}


def _solve_nodes(
    sweep: Sweep, grid: ScaleGrid, curves: dict[Weights, ScaleCurve], index: int, wanted: set[Weights]
) -> None:
    ordered = sorted(wanted, key=lambda weights: (weights.graph, weights.mu1, weights.mu2))
    found = sweep.solve(grid.sigma(index), ordered) if ordered else []
    for weights, node in zip(ordered, found, strict=True):
        curves[weights].nodes[index] = node


def _at_place(sweep: Sweep, curve: ScaleCurve, place: Place, task: Wanted) -> Embedded | None:
    d = task.n_components
    found = curve.embedding(place, d)
    if found is not None:
        return Embedded(*found, place.sigma)
    (node,) = sweep.solve(place.sigma, [task.weights])
    sweep.counts["solved at their own scale"] += 1
    return _at_node(node, d)


def _at_node(node: Node, d: int) -> Embedded | None:
    return Embedded(node.Y[:, :d], node.Z[:, :d], node.sigma) if node.rank >= d else None
