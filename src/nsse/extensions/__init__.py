"""Maps a new x: the out-of-sample extensions of embeddings, and what reads its class there."""

from nsse.extensions.linear import Contraction, linear_map, shorten
from nsse.extensions.nearest import (
    NearestSample,
    nearest_labels,
    nearest_own_and_other,
    nearest_rows,
    squared_size,
)
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

__all__ = [
    "ClassScores",
    "Contraction",
    "GaussianExpansion",
    "NearestSample",
    "Neighborhoods",
    "NystromExpansion",
    "SingleExpansion",
    "SparseCoder",
    "interpolate",
    "kernel_ridge",
    "linear_map",
    "nearest_labels",
    "nearest_own_and_other",
    "nearest_rows",
    "nystrom_coefficients",
    "nystrom_existing",
    "nystrom_values",
    "shorten",
    "squared_size",
    "total_scatters",
]
