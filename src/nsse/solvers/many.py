"""Many problems on the same samples, each at its own best σ."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsse.solvers.joint import FAR_ABOVE, FEW_ROWS
from nsse.solvers.problem import Objective
from nsse.solvers.scale_curve import MissingNodesError, NoScaleError, Place, ScaleCurve, ScaleGrid
from nsse.solvers.sweep import Node, Sweep, Wanted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Embedded:
    """Embedding of the samples and of the new ones, the σ they belong to, and the eigenvalues."""

    Y: Floats
    Z: Floats
    sigma: float
    eigenvalues: Floats


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
    by_sigma: dict[float, dict[Wanted, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, task in enumerate(tasks):
        if task.sigma is not None:
            by_sigma[task.sigma][task.shared].append(place)
    for sigma, places in by_sigma.items():
        nodes = sweep.solve(sigma, list(places))
        for node, here in zip(nodes, places.values(), strict=True):
            for place in here:
                yield place, _at_node(node, tasks[place].objective.n_components)


def _at_best_scales(
    sweep: Sweep, grid: ScaleGrid, tasks: Sequence[Wanted]
) -> Iterator[tuple[int, Embedded | None]]:
    pending = [i for i, task in enumerate(tasks) if task.sigma is None]
    shared = {i: tasks[i].shared for i in pending}
    members: dict[Wanted, list[Objective]] = defaultdict(list)
    for i in pending:
        members[shared[i]].append(tasks[i].objective)
    curves = {one: ScaleCurve(grid, _far_above(sweep)) for one in members}
    _scan(sweep, grid, curves, members)
    while pending:
        missing, waiting = defaultdict(set), []
        for i in pending:
            objective, curve = tasks[i].objective, curves[shared[i]]
            try:
                place = curve.minimum(objective.n_components, objective.mu3)
            except MissingNodesError as need:
                waiting.append(i)
                for index in need.indices:
                    missing[index].add(shared[i])
            except NoScaleError:
                yield i, None
            else:
                yield i, _at_place(sweep, curve, place, tasks[i])
        for index in sorted(missing):
            _solve_nodes(sweep, grid, curves, index, missing[index])
        pending = waiting


def _scan(
    sweep: Sweep,
    grid: ScaleGrid,
    curves: dict[Wanted, ScaleCurve],
    members: dict[Wanted, list[Objective]],
) -> None:
    """Solve at the nodes of the joint search, from the middle up and down to where no minimum can be."""
    middle, wanted = len(grid.coarse) // 2, {one: _pairs(own) for one, own in members.items()}
    for indices, is_end in (
        (grid.coarse[middle:], ScaleCurve.ends_above),
        (grid.coarse[:middle][::-1], ScaleCurve.ends_below),
    ):
        going = set(curves)
        for index in indices:
            if not going:
                break
            _solve_nodes(sweep, grid, curves, index, going)
            going = {one for one in going if not is_end(curves[one], index, wanted[one])}


def _far_above(sweep: Sweep) -> float:
    """As far up as a fit on these rows would look."""
    return FAR_ABOVE if sweep.is_exact and len(sweep.D2) >= FEW_ROWS else math.inf


def _pairs(members: list[Objective]) -> set[tuple[int, float]]:
    return {(objective.n_components, objective.mu3) for objective in members}


def _solve_nodes(
    sweep: Sweep, grid: ScaleGrid, curves: dict[Wanted, ScaleCurve], index: int, wanted: set[Wanted]
) -> None:
    ordered = sorted(wanted, key=lambda one: (one.graph, one.objective.mu1, one.objective.mu2))
    for one, node in zip(ordered, sweep.solve(grid.sigma(index), ordered), strict=True):
        curves[one].nodes[index] = node


def _at_place(sweep: Sweep, curve: ScaleCurve, place: Place, task: Wanted) -> Embedded | None:
    d = task.objective.n_components
    found = curve.embedding(place, d)
    if found is not None:
        Y, Z, eigenvalues = found
        return Embedded(Y, Z, place.sigma, eigenvalues)
    (node,) = sweep.solve(place.sigma, [task])
    sweep.counts["solved at their own scale"] += 1
    return _at_node(node, d)


def _at_node(node: Node, d: int) -> Embedded | None:
    if node.rank < d:
        return None
    return Embedded(node.Y[:, :d], node.Z[:, :d], node.sigma, node.eigenvalues[:d])
