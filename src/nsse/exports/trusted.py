"""The types that a model file may hold: ours, one by one, and plain data of SciPy and scikit-learn.

Beside these, skops trusts NumPy arrays and Python's own containers and numbers. A file with any other
type is refused: to build it, its code would have to run. Of scikit-learn's estimators those are listed
that compute in NumPy, which checks every index, and those whose state `nsse.exports.checks` knows how to
check. Others hand what they have read to compiled code that follows it blindly.
"""

from __future__ import annotations

from collections.abc import Iterable

from scipy import sparse
from sklearn import model_selection

from nsse.exports.names import WRITTEN, type_name

SPARSE: tuple[type, ...] = (
    sparse.csr_array,
    sparse.csc_array,
    sparse.coo_array,
    sparse.csr_matrix,
    sparse.csc_matrix,
    sparse.coo_matrix,
)
# What `NSSECV` takes as its ``cv``: numbers and nothing else.
SPLITTERS: tuple[type, ...] = (
    model_selection.KFold,
    model_selection.LeaveOneOut,
    model_selection.PredefinedSplit,
    model_selection.RepeatedKFold,
    model_selection.RepeatedStratifiedKFold,
    model_selection.ShuffleSplit,
    model_selection.StratifiedKFold,
    model_selection.StratifiedShuffleSplit,
)
# NumPy's masked arrays, under the names that its versions give them.
MASKED = ("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray")

# Rooms of scikit-learn that compute in NumPy.
ROOMS = (
    "compose",
    "covariance",
    "cross_decomposition",
    "discriminant_analysis",
    "dummy",
    "feature_selection",
    "impute",
    "kernel_approximation",
    "linear_model",
    "model_selection",
    "multiclass",
    "naive_bayes",
    "neural_network",
    "pipeline",
    "preprocessing",
    "random_projection",
)
# And of rooms with both kinds, by name.
ESTIMATORS = (
    "decomposition.FactorAnalysis",
    "decomposition.FastICA",
    "decomposition.IncrementalPCA",
    "decomposition.KernelPCA",
    "decomposition.PCA",
    "decomposition.TruncatedSVD",
    "ensemble.AdaBoostClassifier",
    "ensemble.BaggingClassifier",
    "ensemble.StackingClassifier",
    "ensemble.VotingClassifier",
    "neighbors.KNeighborsClassifier",
    "neighbors.KNeighborsRegressor",
    "neighbors.KNeighborsTransformer",
    "neighbors.NearestCentroid",
    "neighbors.NearestNeighbors",
    "neighbors.NeighborhoodComponentsAnalysis",
    "neighbors.RadiusNeighborsClassifier",
    "neighbors.RadiusNeighborsRegressor",
    "neighbors.RadiusNeighborsTransformer",
    "svm.LinearSVC",
    "svm.LinearSVR",
    "svm.NuSVC",
    "svm.SVC",
)


def trusted_types(more: Iterable[str | type] = ()) -> list[str]:
    """Names of all types that `load` accepts beside those that skops trusts, with ``more``."""
    known = [*only_loaders(), *map(type_name, SPLITTERS)]
    return known + [kind if isinstance(kind, str) else type_name(kind) for kind in more]


def only_loaders() -> dict[str, str]:
    """For our types and SciPy's, the one way of skops in which each is written, and may be read."""
    objects = {type_name(kind): "ObjectNode" for kind in WRITTEN.values()}
    matrices = {type_name(kind): "SparseMatrixNode" for kind in SPARSE}
    return objects | matrices | dict.fromkeys(MASKED, "MaskedArrayNode")


def is_blind(name: str, loader: str) -> bool:
    """Whether a type is one of scikit-learn's estimators that nobody checks."""
    package, *rooms, kind = name.split(".")
    if package != "sklearn" or loader != "ObjectNode":
        return False
    public = [room for room in rooms if not room.startswith("_")]
    return not (public and public[0] in ROOMS) and ".".join([*public, kind]) not in ESTIMATORS
