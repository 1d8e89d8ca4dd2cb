"""Class-dependent dissimilarities and the geodesic distances they make on a neighbour graph.

Supervised Isomap (Geng, Zhan & Zhou 2005, Eq. 4) replaces the distance d by

    √(1 − exp(−d²/β))    within a class: at most 1,
    √(exp(d²/β)) − α     between classes: at least 1 − α,

so that classes move apart before the graph is built. Its neighbours then mostly lie in the sample's own
class and the graph falls into pieces. Geodesics between pieces are infinite, so the pieces are joined
openly: every pair of them by its shortest edge, as scikit-learn's Isomap does, and their number is
handed on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, shortest_path

from nsse._errors import rule_error
from nsse.graphs.neighbors import nearest, symmetric_graph

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Largest d²/β: squares of sums of e^150 are still far from overflow.
LARGEST_EXPONENT = 300.0


@dataclass(frozen=True)
class Geodesics:
    """Shortest paths between all samples, and in how many pieces the graph was before it was joined."""

    lengths: Floats
    n_components: int


def class_dissimilarities(D2: Floats, codes: Ints, beta: float | None, alpha: float) -> Floats:
    """The dissimilarities above from squared distances; symmetric, zero on the diagonal.

    ``beta`` is in the units of ``D2``; None takes the square of the mean distance between samples.
    """
    width = _square_of_mean_distance(D2) if beta is None else beta
    exponent = D2 / width
    if exponent.max() > LARGEST_EXPONENT:
        raise rule_error(
            "beta",
            f"be at least the largest squared distance / {LARGEST_EXPONENT:.0f}",
            width,
            "Raise it, or leave out samples that lie far from all others.",
        )
    same = codes[:, np.newaxis] == codes
    return np.where(same, np.sqrt(-np.expm1(-exponent)), np.exp(0.5 * exponent) - alpha)


def geodesic_distances(D: Floats, n_neighbors: int | None) -> Geodesics:
    """Lengths of shortest paths over the joined neighbour graph of dissimilarities ``D``."""
    # SciPy reads a zero as no edge; the smallest positive number changes no sum.
    D = np.maximum(D, np.finfo(np.float64).tiny)
    everyone = np.arange(len(D), dtype=np.intp)
    rows, cols = nearest(D, everyone, everyone, n_neighbors)
    graph = _graph(D, rows, cols)
    n_pieces, piece = connected_components(graph, directed=False)
    if n_pieces > 1:
        links = shortest_links(D, piece.astype(np.intp))
        rows, cols = np.append(rows, links[0]), np.append(cols, links[1])
        graph = _graph(D, rows, cols)
    # Every edge is there in both directions: told so, SciPy need not look for the other one.
    lengths = shortest_path(graph, method="D", directed=True)
    # Sums along a path and back differ by rounding.
    return Geodesics(np.minimum(lengths, lengths.T), int(n_pieces))


def shortest_links(D: Floats, piece: Ints) -> tuple[Ints, Ints]:
    """The shortest edge between every two pieces, as rows and columns."""
    order = np.argsort(piece, kind="stable").astype(np.intp)
    starts = np.flatnonzero(np.diff(piece[order], prepend=-1))
    ends = np.append(starts[1:], len(piece))
    links = []
    for a in range(len(starts)):
        members = order[starts[a] : ends[a]]
        others = order[ends[a] :]
        if others.size == 0:
            break
        block = D[np.ix_(members, others)]
        nearest_member = block.argmin(axis=0)
        lengths = block[nearest_member, np.arange(len(others))]
        for b in range(a + 1, len(starts)):
            within = slice(starts[b] - ends[a], ends[b] - ends[a])
            best = starts[b] - ends[a] + int(lengths[within].argmin())
            links.append((members[nearest_member[best]], others[best]))
    rows, cols = np.array(links, dtype=np.intp).reshape(-1, 2).T
    return rows, cols


def _graph(D: Floats, rows: Ints, cols: Ints) -> sparse.csr_array:
    graph = symmetric_graph(rows, cols, D[rows, cols], len(D))
    # SciPy before 1.13 walks over graphs with 32-bit indices only.
    indices, indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return sparse.csr_array((graph.data, indices, indptr), shape=graph.shape)


def _square_of_mean_distance(D2: Floats) -> float:
    N = len(D2)
    return float((np.sqrt(D2).sum() / (N * (N - 1))) ** 2)
