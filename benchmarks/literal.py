"""Algorithm 1 of the paper as it is printed; it lives with the paper, `nsse.paper.literal`."""

from nsse.paper.literal import Literal, literal_nsse

__all__ = ["Literal", "literal_nsse"]
