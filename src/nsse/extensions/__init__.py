"""Maps a new x: the out-of-sample extensions of embeddings."""

from nsse.extensions.nystrom import Neighborhoods, NystromExpansion, nystrom_coefficients
from nsse.extensions.rbf import GaussianExpansion, SingleExpansion, interpolate
from nsse.extensions.shrinking import shorten
from nsse.extensions.sparse_coding import SparseCoder

__all__ = [
    "GaussianExpansion",
    "Neighborhoods",
    "NystromExpansion",
    "SingleExpansion",
    "SparseCoder",
    "interpolate",
    "nystrom_coefficients",
    "shorten",
]
