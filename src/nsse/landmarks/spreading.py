"""Labels given to all rows along their graph, from the few that have one.

The graph is that of `nsse.graphs.partly_labeled`, the scores those of `nsse.solvers.label_spread`. A row
that no path joins to a label takes that of the nearest row which has been given one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from nsse._threads import one_blas_thread
from nsse.graphs import first_of_tied, mean_degree_laplacian
from nsse.kernels import (
    KernelRows,
    median_distance,
    precision_of,
    squared_distances,
    squared_distances_between,
)
from nsse.landmarks.scale import UNIT_ROWS
from nsse.landmarks.smoothness import PANEL, neighbor_graph
from nsse.landmarks.sources import RowSource
from nsse.solvers.label_spread import spread_scores

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class NeighborGraph:
    """Rows, moved and in units of length, and the graph that joins each to its nearest ones.

    Attributes
    ----------
    rows : ndarray or csr of shape (N, n)
        In the metric.
    W : csr_array of shape (N, N)
        Weights of the edges.
    """

    rows: Any
    W: Any

    @classmethod
    def of(cls, source: RowSource, places: Ints, n_neighbors: int, metric: Any = None) -> NeighborGraph:
        """Of all rows of a source, in memory; those at ``places`` tell where they lie, and the unit."""
        some = source.take(places[:UNIT_ROWS])
        near = some if metric is None else metric(some)
        D2 = squared_distances(near)
        unit = median_distance(D2) if D2.any() else 1.0
        kernel = KernelRows.at(near, unit, precision_of(source.dtype), metric)
        with one_blas_thread():
            rows = kernel.measured(source.take(np.arange(source.shape[0])))
            return cls(rows, neighbor_graph(rows, n_neighbors))

    def labels(self, places: Ints, codes: Ints, n_classes: int, kappa: float) -> Ints:
        """`spread_labels` along it."""
        return spread_labels(self.rows, self.W, places, codes, n_classes, kappa)


def spread_labels(
    rows: Any, W: Any, places: Ints, codes: Ints, n_classes: int, kappa: float
) -> NDArray[np.intp]:
    """The class of every row: its own where it has one, else the one of the largest score.

    Parameters
    ----------
    rows : ndarray or csr of shape (N, n)
        All rows, where distances are those of the graph.
    W : sparse matrix of shape (N, N)
        Weights of the graph: `neighbor_graph` of the rows.
    places, codes : ndarrays of int
        Rows that have a label, and their classes.
    n_classes : int
        M.
    kappa : float
        Weight of the smoothness beside a label.
    """
    with one_blas_thread():
        scores = spread_scores(mean_degree_laplacian(W), places, codes, n_classes, kappa)
        given = scores.argmax(axis=1).astype(np.intp)
        given[places] = codes
        reached = np.isfinite(scores[:, 0])
        if not reached.all():
            given[~reached] = _of_the_nearest(rows, given, np.flatnonzero(reached), ~reached)
    return given


def _of_the_nearest(rows: Any, given: Ints, known: Ints, wanted: NDArray[np.bool_]) -> Ints:
    """Classes of the nearest known rows, a panel of distances at a time."""
    near, places = rows[known], np.flatnonzero(wanted)
    norms = row_norms(near, squared=True)
    size = float(norms.mean())
    found = [
        known[first_of_tied(squared_distances_between(rows[part], near, norms), size)]
        for part in np.split(places, range(PANEL, len(places), PANEL))
    ]
    return np.asarray(given[np.concatenate(found)])
