"""The types that a model file may hold: ours, one by one, and plain data of SciPy and scikit-learn.

Beside these, skops trusts NumPy arrays, Python's own containers and numbers, and the estimators of
scikit-learn. A file with any other type is refused: to build it, its code would have to run.
"""

from __future__ import annotations

from collections.abc import Iterable

from scipy import sparse
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from nsse.certificates import SelectivePredictor
from nsse.estimators import LDE, LFDA, NSSE, NSSECV, NYS, SPE, SUPLAP, IsoKRR, MReg
from nsse.estimators._nsse import Condition
from nsse.estimators._splits import BalancedSplits
from nsse.extensions import NearestSample
from nsse.extensions.nystrom import Neighborhoods, NystromExpansion
from nsse.extensions.sparse_coding import SparseCoder
from nsse.kernels import Shifted
from nsse.solvers import Step, Trace

OURS: tuple[type, ...] = (
    NSSE, NSSECV, SUPLAP, LFDA, LDE, NYS, SPE, IsoKRR, MReg, SelectivePredictor,
    Condition, Trace, Step, BalancedSplits, Shifted, NystromExpansion, Neighborhoods, SparseCoder,
    NearestSample,
)  # fmt: skip
SPARSE: tuple[type, ...] = (
    sparse.csr_array, sparse.csc_array, sparse.coo_array,
    sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix,
)  # fmt: skip
# What `NSSECV` takes as its ``cv``: numbers and nothing else.
SPLITTERS: tuple[type, ...] = (
    KFold, LeaveOneOut, PredefinedSplit, RepeatedKFold, RepeatedStratifiedKFold, ShuffleSplit,
    StratifiedKFold, StratifiedShuffleSplit,
)  # fmt: skip
# NumPy's masked arrays, under the names that its versions give them.
MASKED = ("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray")


def trusted_types(more: Iterable[str | type] = ()) -> list[str]:
    """Names of all types that `load` accepts beside those that skops trusts, with ``more``."""
    known = [type_name(kind) for kind in (*OURS, *SPARSE, *SPLITTERS)]
    return [*known, *MASKED] + [kind if isinstance(kind, str) else type_name(kind) for kind in more]


def type_name(kind: type) -> str:
    """The name by which a file refers to a type."""
    return f"{kind.__module__}.{kind.__qualname__}"
