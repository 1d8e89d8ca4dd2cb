"""Arrays by what they hold, as annotations call them.

`SamplesLike`, `LabelsLike` and `WeightsLike` are what users pass. They come from NumPy, SciPy, pandas,
polars, Dask and from libraries of the array API standard, which have no common type. Code that has
validated them uses the other names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # commands that need no SciPy do not wait for it
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
# Validated rows of features, dense or sparse.
Matrix: TypeAlias = "Floats | sparse.csr_array"

# Rows of features as an array, sparse matrix, data frame, Dask array or array of another namespace.
SamplesLike: TypeAlias = Any
# One label for each sample, as an array, column, Dask array or array of another namespace.
LabelsLike: TypeAlias = Any
# One number for each sample, array-like, or None.
WeightsLike: TypeAlias = Any
