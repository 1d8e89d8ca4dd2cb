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
class Candidate:
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
    sweep: Sweep, bounds: tuple[float, float], candidates: Sequence[Candidate]
) -> Iterator[tuple[int, Embedded | None]]:
    """Solve every candidate; yields its place in the list with the embedding.

    None where the kernel does not carry so many coordinates without noise: such a problem must be
    solved on its own, if it can be solved. What is shared is computed once: the
    kernel matrix for every σ, a solution for every σ and set of weights.
    """
    yield from _at_given_scales(sweep, candidates)
    yield from _at_best_scales(sweep, ScaleGrid.over(bounds), candidates)


def _at_given_scales(
    sweep: Sweep, candidates: Sequence[Candidate]
) -> Iterator[tuple[int, Embedded | None]]:
    by_sigma: dict[float, dict[Weights, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, candidate in enumerate(candidates):
        if candidate.sigma is not None:
            by_sigma[candidate.sigma][candidate.weights].append(place)
    for sigma, places in by_sigma.items():
        nodes = sweep.solve(sigma, [(weights, None) for weights in places])
        for node, here in zip(nodes, places.values(), strict=True):
            for place in here:
                yield place, _at_node(node, candidates[place].n_components)


def _at_best_scales(
    sweep: Sweep, grid: ScaleGrid, candidates: Sequence[Candidate]
) -> Iterator[tuple[int, Embedded | None]]:
    pending = [i for i, candidate in enumerate(candidates) if candidate.sigma is None]
    curves = {candidates[i].weights: ScaleCurve(grid) for i in pending}
    missing = {index: set(curves) for index in grid.coarse} if pending else {}
    while pending:
        for index in sorted(missing):
            wanted = sorted(missing[index], key=lambda w: (w.graph, w.mu1, w.mu2))
            found = sweep.solve(grid.sigma(index), [(weights, None) for weights in wanted])
            for weights, node in zip(wanted, found, strict=True):
                curves[weights].nodes[index] = node
        missing, waiting = defaultdict(set), []
        for i in pending:
            candidate = candidates[i]
            curve = curves[candidate.weights]
            try:
                place = curve.minimum(candidate.n_components, candidate.mu3)
            except MissingNodesError as need:
                waiting.append(i)
                for index in need.indices:
                    missing[index].add(candidate.weights)
            except NoScaleError:
                yield i, None
            else:
                yield i, _at_place(sweep, curve, place, candidate)
        pending = waiting


def _at_place(sweep: Sweep, curve: ScaleCurve, place: Place, candidate: Candidate) -> Embedded | None:
    d = candidate.n_components
    found = curve.embedding(place, d)
    if found is not None:
        return Embedded(*found, place.sigma)
    (node,) = sweep.solve(place.sigma, [(candidate.weights, None)])
    sweep.counts["solved at their own scale"] += 1
    return _at_node(node, d)


def _at_node(node: Node, d: int) -> Embedded | None:
    return Embedded(node.Y[:, :d], node.Z[:, :d], node.sigma) if node.rank >= d else None
