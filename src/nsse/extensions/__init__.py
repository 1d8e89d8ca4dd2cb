"""Maps a new x: the out-of-sample extensions of embeddings."""

from nsse.extensions.rbf import GaussianExpansion

__all__ = ["GaussianExpansion"]
