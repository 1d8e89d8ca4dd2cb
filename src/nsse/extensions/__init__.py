"""Maps a new x: the out-of-sample extensions of embeddings, and what reads its class there."""

from nsse.extensions.linear import Contraction, linear_map, shorten
from nsse.extensions.margins import (
    class_leads,
    class_margins,
    counts_neighbors,
    has_margins,
    knows_more,
    leads,
    unit_of_margins,
)
from nsse.extensions.nearest import NearestSample, nearest_labels, nearest_own_and_other, nearest_rows
from nsse.extensions.nystrom import (
    Neighborhoods,
    NystromExpansion,
    nystrom_coefficients,
    nystrom_existing,
    nystrom_values,
)
from nsse.extensions.rbf import GaussianExpansion, SingleExpansion, interpolate, kernel_ridge
from nsse.extensions.scores import ClassScores, total_scatters
from nsse.extensions.sparse_coding import SparseCoder
from nsse.extensions.temperature import as_columns, fitted_temperature, softmax, with_largest

__all__ = [
    "ClassScores",
    "Contraction",
    "GaussianExpansion",
    "NearestSample",
    "Neighborhoods",
    "NystromExpansion",
    "SingleExpansion",
    "SparseCoder",
    "as_columns",
    "class_leads",
    "class_margins",
    "counts_neighbors",
    "fitted_temperature",
    "has_margins",
    "interpolate",
    "kernel_ridge",
    "knows_more",
    "leads",
    "linear_map",
    "nearest_labels",
    "nearest_own_and_other",
    "nearest_rows",
    "nystrom_coefficients",
    "nystrom_existing",
    "nystrom_values",
    "shorten",
    "softmax",
    "total_scatters",
    "unit_of_margins",
    "with_largest",
]
