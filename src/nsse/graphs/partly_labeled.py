"""S of rows of which only some have a label: separation among those, smoothness along a graph of all.

    S = [S_l 0; 0 0] + μ4 L,     L = (D − W)/d̄

with S_l the shifted graph of the l labelled rows (`ShiftedGraph`), which come first, sorted by class,
and W the Gaussian graph that joins each of all N rows to its nearest ones, labelled or not. L is divided
by the mean degree d̄: μ4 weighs what a row differs from its neighbours beside what a labelled row differs
from its class. Rows are not averaged: a label has to reach all of them, however many. Both parts are
positive semidefinite: it is one more graph, and whoever solves with it need not know. See
``docs/derivation.md``, section 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._threads import in_parallel
from nsse.graphs.counted import counted_laplacian
from nsse.graphs.neighbors import nearest, symmetric_graph
from nsse.graphs.shifted import ShiftedGraph
from nsse.graphs.within_class import degrees, laplacian

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Nearest rows that a row is joined to, labelled or not, and β of the weights exp(−‖x_i − x_j‖²/β) in
# mean squared edges: chosen on ORL, digits and splits of COIL-20 that are not reported.
GRAPH_NEIGHBORS, GRAPH_WIDTH = 3, 0.5
PANEL = 256  # rows of LA computed at a time


def neighbor_weights(lengths: Floats) -> Floats:
    """exp(−‖x_i − x_j‖²/β) of directed edges with these squared lengths, β half their mean."""
    mean = float(lengths.mean()) if lengths.size else 0.0
    width = GRAPH_WIDTH * mean if mean > 0 else 1.0  # no edge, or duplicates only
    return np.asarray(np.exp(-lengths / width))


def all_rows_affinity(D2: Floats, n_neighbors: int) -> sparse.csr_array:
    """W of the graph that joins every row to its nearest ones, from all squared distances."""
    everyone = np.arange(len(D2))
    rows, cols = nearest(D2, everyone, everyone, n_neighbors)
    return symmetric_graph(rows, cols, neighbor_weights(D2[rows, cols]), len(D2))


def mean_degree_laplacian(W: Any) -> sparse.csr_array:
    """L = (D − W)/d̄ with d̄ the mean degree; all zeros where there is no edge."""
    mean = float(degrees(W).mean())
    return sparse.csr_array(laplacian(W) / (mean if mean > 0 else 1.0))


@dataclass(frozen=True)
class PartlyLabeledGraph:
    """S of labelled rows, sorted by class, and the unlabelled ones behind them.

    Attributes
    ----------
    labeled : ShiftedGraph
        S_l of the first rows.
    smooth : csr_array of shape (N, N)
        μ4 L; where labelled rows are times √w, the one for such rows.
    """

    labeled: ShiftedGraph
    smooth: Any

    @classmethod
    def of(cls, labeled: ShiftedGraph, W: Any, mu4: float) -> PartlyLabeledGraph:
        """Join both parts; W is that of all rows, the labelled ones first.

        In W every row counts once, whatever the weight of its label.
        """
        L = mean_degree_laplacian(W) * mu4
        if labeled.weights is not None:
            others = np.ones(L.shape[0] - labeled.n_rows)
            L = counted_laplacian(L, np.concatenate([labeled.weights, others]))
        return cls(labeled, sparse.csr_array(L))

    @property
    def n_rows(self) -> int:
        """How many rows there are, labelled or not."""
        return int(self.smooth.shape[0])

    @property
    def n_labeled(self) -> int:
        """How many of them have a label: the first ones."""
        return self.labeled.n_rows

    @property
    def n_samples(self) -> float:
        """How many samples the labelled rows stand for."""
        return self.labeled.n_samples

    @property
    def n_classes(self) -> int:
        """M."""
        return self.labeled.n_classes

    @property
    def codes(self) -> Ints:
        """Classes of the labelled rows."""
        return self.labeled.codes

    @property
    def mu1(self) -> float:
        """Weight of the separation."""
        return self.labeled.mu1

    @property
    def sizes(self) -> Floats | None:
        """Of the classes, where labelled rows stand for more than themselves."""
        return self.labeled.sizes

    @property
    def weights(self) -> Floats | None:
        """Of the labelled rows."""
        return self.labeled.weights

    @cached_property
    def roots(self) -> Floats | None:
        """√w of every row, as a column, 1 where there is no label; None where all are 1."""
        if self.labeled.roots is None:
            return None
        return np.concatenate([self.labeled.roots, np.ones((self.n_rows - self.n_labeled, 1))])

    @property
    def indicators(self) -> Floats:
        """Class indicators, zero where there is no label."""
        return self._padded(self.labeled.indicators)

    def apply(self, A: Floats, out: Floats | None = None) -> Floats:
        """S A."""
        out = np.empty_like(A) if out is None else out
        own = self.n_labeled
        self.labeled.apply(A[:own], out=out[:own])
        out[own:] = 0.0

        def fill(start: int) -> None:
            out[start : start + PANEL] += self.smooth[start : start + PANEL] @ A

        in_parallel(fill, range(0, self.n_rows, PANEL), A.size)
        return out

    def quadratic(self, Y: Floats) -> Floats:
        """Y'SY."""
        return self.labeled.quadratic(Y[: self.n_labeled]) + Y.T @ (self.smooth @ Y)

    def contrasts(self, A: Floats) -> Floats:
        """G'A with the orthonormal centred class indicators of the labelled rows."""
        return self.labeled.contrasts(A[: self.n_labeled])

    def from_contrasts(self, T: Floats) -> Floats:
        """G T: constant in every class, zero where there is no label."""
        return self._padded(self.labeled.from_contrasts(T))

    def within(self, Y: Floats) -> float:
        """What edges cost: tr(Y'L_w Y) of the labelled rows and μ4 tr(Y'LY) of all."""
        along = float(np.einsum("ij,ij->", Y, self.smooth @ Y))
        return self.labeled.within(Y[: self.n_labeled]) + along

    def between(self, Y: Floats) -> float:
        """tr(Y'L_b Y) of the labelled rows."""
        return self.labeled.between(Y[: self.n_labeled])

    def pull(self, Y: Floats) -> float:
        """The part of S_l that μ1 weighs."""
        return self.labeled.pull(Y[: self.n_labeled])

    def root_times(self, K: Floats) -> Floats:
        """F'K with FF' = S: that of the labelled rows, and √w (k_i − k_j) for every edge of L."""
        return np.vstack([self.labeled.root_times(K[: self.n_labeled]), self._edges @ K])

    @cached_property
    def _edges(self) -> sparse.csr_array:
        """One row for every edge: its ends, each over √w of its row, times the root of its weight."""
        upper = sparse.coo_array(sparse.triu(self.smooth, k=1))
        roots = np.ones(self.n_rows) if self.roots is None else self.roots[:, 0]
        # L of rows times √w has −W_ij/√(w_i w_j): the weights of the edges are those of W.
        strength = np.sqrt(np.maximum(-upper.data * roots[upper.row] * roots[upper.col], 0.0))
        place = np.arange(len(strength))
        ends = np.concatenate([upper.row, upper.col])
        values = np.concatenate([strength / roots[upper.row], -strength / roots[upper.col]])
        shape = len(strength), self.n_rows
        return sparse.csr_array((values, (np.concatenate([place, place]), ends)), shape=shape)

    def _padded(self, A: Floats) -> Floats:
        return np.vstack([A, np.zeros((self.n_rows - self.n_labeled, A.shape[1]))])


# S of whatever rows there are.
RowGraph = ShiftedGraph | PartlyLabeledGraph
