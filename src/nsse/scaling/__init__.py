"""Many samples: a few of them as centres, the others a block of rows at a time.

- ``centers``: which samples become centres.
- ``moments``: what a block of rows adds to the m × m matrices of the pencil.
- ``scale``: σ from a subsample that stands for all samples.
- ``sources``: rows of an array or of blocks read again and again; ``cluster``: of a Dask array.
- ``fitting``: the story of one fit.
"""

from nsse.scaling.centers import CLUSTERED, SELECTORS, Centers
from nsse.scaling.cluster import DaskRows, gathered_labels, is_dask, lazily
from nsse.scaling.fitting import CenterFit, Search, Sketch, fit_centers
from nsse.scaling.moments import BLOCK_ROWS
from nsse.scaling.scale import CENTERS, ROWS, Objective
from nsse.scaling.sources import ArrayRows, BlockRows, RowSource, read_blocks

__all__ = [
    "BLOCK_ROWS",
    "CENTERS",
    "CLUSTERED",
    "ROWS",
    "SELECTORS",
    "ArrayRows",
    "BlockRows",
    "CenterFit",
    "Centers",
    "DaskRows",
    "Objective",
    "RowSource",
    "Search",
    "Sketch",
    "fit_centers",
    "gathered_labels",
    "is_dask",
    "lazily",
    "read_blocks",
]
