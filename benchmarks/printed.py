"""Tables 1 to 3 of the paper, and COIL-20 once more for images that are not divided by their norm."""

from __future__ import annotations

from nsse.paper.printed import METHODS
from nsse.paper.printed import PRINTED as ALL_TABLES

__all__ = ["METHODS", "PRINTED", "RAW"]

# The paper does not say whether images were divided by their norm: COIL-20 is run in both ways.
RAW = "coil20-raw"

# Data set -> training samples per class -> method -> error in per cent.
PRINTED = {name: ALL_TABLES[name] for name in ("yale", "coil20", "orl")} | {RAW: ALL_TABLES["coil20"]}
