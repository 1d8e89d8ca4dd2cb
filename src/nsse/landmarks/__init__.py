"""Many samples: a few of them as centres, the others a block of rows at a time.

- ``centers``: which samples become centres.
- ``neighborhoods``: L_w of the rows of a block.
- ``moments``: what a block of rows adds to the m × m matrices of the pencil.
- ``scale``: a subsample that stands for all samples, for σ.
- ``sources``: rows of an array or of blocks read again and again; ``cluster``: of a Dask array.
- ``copied``: rows and their transformed copies, made when a block is read.
- ``smoothness``: what rows without a label add; ``spreading``: labels given to them along their graph.
- ``kept``: kernel rows that need not be computed twice.
- ``fitting``: the story of one fit.
"""

from nsse.landmarks.centers import CANDIDATES, CLUSTERED, SELECTORS, Centers, stratified
from nsse.landmarks.cluster import DaskRows, gathered_labels, is_dask, lazily
from nsse.landmarks.copied import with_copies
from nsse.landmarks.duplicates import distinct_rows, equal_rows
from nsse.landmarks.fitting import CenterFit, Search, fit_centers
from nsse.landmarks.kept import kept_bytes
from nsse.landmarks.moments import BLOCK_ROWS
from nsse.landmarks.neighborhoods import Neighbors
from nsse.landmarks.scale import CENTERS, ROWS, THIN_ROWS, UNIT_ROWS, MeasuredRows, few_centers
from nsse.landmarks.scatter import scatter_of, scatter_of_source, weighted
from nsse.landmarks.smoothness import Smoothness
from nsse.landmarks.sources import ArrayRows, BlockRows, RowSource, read_blocks
from nsse.landmarks.spreading import NeighborGraph, spread_labels

__all__ = [
    "BLOCK_ROWS",
    "CANDIDATES",
    "CENTERS",
    "CLUSTERED",
    "ROWS",
    "SELECTORS",
    "THIN_ROWS",
    "UNIT_ROWS",
    "ArrayRows",
    "BlockRows",
    "CenterFit",
    "Centers",
    "DaskRows",
    "MeasuredRows",
    "NeighborGraph",
    "Neighbors",
    "RowSource",
    "Search",
    "Smoothness",
    "distinct_rows",
    "equal_rows",
    "few_centers",
    "fit_centers",
    "gathered_labels",
    "is_dask",
    "kept_bytes",
    "lazily",
    "read_blocks",
    "scatter_of",
    "scatter_of_source",
    "spread_labels",
    "stratified",
    "weighted",
    "with_copies",
]
