"""Labels and neighbours turned into graphs (Section 4.1 of the paper).

``within_class`` builds W_w, ``between_class`` the closed form of L_b, ``shifted`` joins them into the
positive semidefinite operator S = L_w + μ1 (N I − L_b) that the solvers apply class by class. ``metric``
makes of the edges of W_w the metric in which neighbours of a class are close. ``partly_labeled`` joins
S of the labelled rows with the smoothness along a graph of all.
"""

from nsse.graphs.adaptive import class_graphs
from nsse.graphs.between_class import (
    between_class_laplacian,
    between_class_scatter,
    class_contrasts,
    class_sums,
    contrast_values,
)
from nsse.graphs.counted import CountedEdges, counted_laplacian
from nsse.graphs.metric import ClassRows, ScatterSum, WithinScatter, class_neighbor_graph, within_scatter
from nsse.graphs.neighbors import (
    first_of_tied,
    nearest,
    nearest_columns,
    squared_radii,
    symmetric_graph,
    tie_share,
    tie_width,
    within_reach,
)
from nsse.graphs.partly_labeled import (
    GRAPH_NEIGHBORS,
    PartlyLabeledGraph,
    RowGraph,
    all_rows_affinity,
    mean_degree_laplacian,
    neighbor_weights,
)
from nsse.graphs.shifted import ShiftedGraph, class_slices
from nsse.graphs.within_class import check_affinity, degrees, gaussian_affinity, laplacian

__all__ = [
    "GRAPH_NEIGHBORS",
    "ClassRows",
    "CountedEdges",
    "PartlyLabeledGraph",
    "RowGraph",
    "ScatterSum",
    "ShiftedGraph",
    "WithinScatter",
    "all_rows_affinity",
    "between_class_laplacian",
    "between_class_scatter",
    "check_affinity",
    "class_contrasts",
    "class_graphs",
    "class_neighbor_graph",
    "class_slices",
    "class_sums",
    "contrast_values",
    "counted_laplacian",
    "degrees",
    "first_of_tied",
    "gaussian_affinity",
    "laplacian",
    "mean_degree_laplacian",
    "nearest",
    "nearest_columns",
    "neighbor_weights",
    "squared_radii",
    "symmetric_graph",
    "tie_share",
    "tie_width",
    "within_reach",
    "within_scatter",
]
