"""L_w of the rows of one block: neighbours within every class, without all distances at a time.

As `nsse.graphs.gaussian_affinity` defines it, but no distance between classes is computed. With few
neighbours the Laplacian is sparse, and distances are held for a few rows at a time; where every row has
all others of its class as neighbours, it is dense, one square per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._threads import in_parallel
from nsse.graphs import (
    CountedEdges,
    class_slices,
    counted_laplacian,
    laplacian,
    nearest_columns,
    symmetric_graph,
)
from nsse.kernels import squared_distances_between

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

PANEL = 256  # rows that look for their neighbours at a time


@dataclass(frozen=True)
class Neighbors:
    """How many neighbours within the class, and β in squared units of length: as in `NSSE`."""

    number: int | None
    beta: float | None


def within_class_laplacians(
    rows: Any, codes: Ints, neighbors: Neighbors, counts: Floats | None = None
) -> list[Any]:
    """L_c of every class that is there, from rows sorted by class: sparse, or dense where complete.

    Of rows that count several times it is `counted_laplacian`: for rows times √w.
    """
    runs = class_slices(codes)
    if counts is not None:
        return _counted(rows, runs, neighbors, counts)
    number = neighbors.number
    if number is None:
        return _complete(rows, runs, neighbors.beta)
    tasks = [
        (run, slice(start, min(start + PANEL, run.stop)))
        for run in runs
        for start in range(run.start, run.stop, PANEL)
    ]
    found: list[Any] = [None] * len(tasks)

    def fill(place: int) -> None:
        found[place] = _edges(rows, *tasks[place], number)

    in_parallel(fill, range(len(tasks)), sum((run.stop - run.start) ** 2 for run in runs))
    origin, other, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    width = _width(neighbors.beta, lengths.sum(), lengths.size)
    L = laplacian(symmetric_graph(origin, other, np.exp(-lengths / width), len(codes)))
    return [L[run, run] for run in runs]


def _counted(rows: Any, runs: list[slice], neighbors: Neighbors, counts: Floats) -> list[Any]:
    squares, edges = [], []
    for run in runs:
        own = rows[run]
        D2 = squared_distances_between(own, own).astype(np.float64)
        squares.append(D2)
        edges.append(CountedEdges.of(D2, counts[run], neighbors.number))
    total = sum(float((one.seen * D2).sum()) for one, D2 in zip(edges, squares, strict=True))
    number = sum(float(one.seen.sum()) + one.directed_twins for one in edges)
    width = _width(neighbors.beta, total, number)
    found = []
    for run, one, D2 in zip(runs, edges, squares, strict=True):
        W = sparse.csr_array(one.pairs * np.exp(-D2 / width))
        found.append(counted_laplacian(laplacian(W), counts[run]))
    return found


def _edges(rows: Any, members: slice, panel: slice, n_neighbors: int) -> tuple[Ints, Ints, Floats]:
    """From the rows of a panel to their neighbours in the class."""
    own = rows[members]
    start, stop = panel.start - members.start, panel.stop - members.start
    D2 = squared_distances_between(own[start:stop], own)
    a, b = nearest_columns(D2, np.arange(start, stop), n_neighbors)
    return a + panel.start, b + members.start, D2[a, b].astype(np.float64)


def _complete(rows: Any, runs: list[slice], beta: float | None) -> list[NDArray[Any]]:
    squares: list[Any] = [None] * len(runs)

    def fill(c: int) -> None:
        own = rows[runs[c]]
        squares[c] = squared_distances_between(own, own)
        np.fill_diagonal(squares[c], 0.0)

    n_values = sum((run.stop - run.start) ** 2 for run in runs)
    in_parallel(fill, range(len(runs)), n_values)
    total = sum(D2.sum(dtype=np.float64) for D2 in squares)
    width = _width(beta, total, n_values - sum(len(D2) for D2 in squares))

    def weigh(D2: NDArray[Any]) -> None:  # in place, to D − W; W_ii = 1, in D and in W, cancels
        D2 /= -width
        np.exp(D2, out=D2)
        degrees = D2.sum(axis=1)
        np.negative(D2, out=D2)
        D2[np.diag_indices(len(D2))] += degrees

    in_parallel(weigh, squares, n_values)
    return squares


def _width(beta: float | None, total: float, n_edges: float) -> float:
    """β: the one given, or the mean squared length of the edges."""
    if beta is not None:
        return beta
    return float(total) / n_edges if total > 0 else 1.0  # no edge, or duplicates only
