"""What scikit-learn and NumPy hand to compiled code, checked or made again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RadiusNeighborsTransformer,
)
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, NuSVC

from nsse._compat import encoded_widths, libsvm_model, refit_neighbors, remembered_neighbors
from nsse.exports.archive import MOST_COLUMNS

# Threads that an estimator of a file may ask for.
MOST_JOBS = 256
# Places in the state of NumPy's Mersenne twister and of Philox.
_TWISTER, _PHILOX = 624, 4


def check_generator(generator: np.random.RandomState | np.random.Generator) -> None:
    """A generator draws from a place in its state, wherever that is said to be."""
    bits = generator._bit_generator if isinstance(generator, np.random.RandomState) else None
    state: Any = (generator.bit_generator if bits is None else bits).state  # type: ignore[union-attr]
    inner = state.get("state")
    place = inner.get("pos", 0) if isinstance(inner, dict) else 0
    if not (0 <= place <= _TWISTER and 0 <= state.get("buffer_pos", 0) <= _PHILOX):
        raise ValueError("a random generator beyond the end of its state")


def check_plain(part: Any) -> None:
    """No attribute of an object stands in the place of a method; no army of threads."""
    kind, state = type(part), vars(part)
    hidden = [name for name in state if name == "_impl" or callable(getattr(kind, name, None))]
    if hidden:
        raise ValueError(f"a {kind.__name__} with a {hidden[0]!r:.40} of its own")
    jobs = state.get("n_jobs")
    if isinstance(jobs, Integral) and abs(int(jobs)) > MOST_JOBS:
        raise ValueError(f"a {kind.__name__} with n_jobs={jobs}")


def _check_libsvm(classifier: Any) -> None:
    """libsvm walks along the support vectors by the numbers that it is told."""
    vectors, support, counts, dual, offsets, slopes = libsvm_model(classifier)
    n_classes, n_vectors = len(classifier.classes_), vectors.shape[0]
    pairs = n_classes * (n_classes - 1) // 2
    of_one_kind = sparse.issparse(vectors) == sparse.issparse(dual) == bool(classifier._sparse)
    fits = (
        of_one_kind
        and classifier.kernel in ("linear", "poly", "rbf", "sigmoid")
        and vectors.ndim == 2
        and vectors.shape[1] == classifier.n_features_in_
        and tuple(classifier.shape_fit_)[1:] == (classifier.n_features_in_,)
        and support.shape == (n_vectors,)
        and counts.shape == (n_classes,)
        and counts.dtype.kind == "i"
        and counts.min() >= 0
        and int(counts.sum()) == n_vectors
        and dual.shape == (n_classes - 1, n_vectors)
        and offsets.shape == (pairs,)
        and all(len(values) in (0, pairs) for values in slopes)
        and (isinstance(dual, np.ndarray) or dual.nnz == (n_classes - 1) * n_vectors)
    )
    if not fits:
        raise ValueError("support vectors, their counts and their coefficients that do not fit")
    for values in (vectors, dual, offsets):
        if not np.isfinite(values if isinstance(values, np.ndarray) else values.data).all():
            raise ValueError("support vectors or coefficients that are not finite")


def _check_codes(encoder: Any) -> None:
    """Codes become columns of a sparse matrix: each must have one."""
    for values in encoder.categories_:
        numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        if values.ndim != 1 or (values.dtype.kind in "biuf" and np.any(numbers[1:] <= numbers[:-1])):
            raise ValueError("categories that do not ascend")
    if not encoded_widths(encoder):
        raise ValueError("an encoder with other columns than its categories have")


def _check_neighbors(estimator: Any) -> None:
    """Fitted again, and asked about a sample of its own."""
    refit_neighbors(estimator)
    if hasattr(estimator, "predict"):
        try:
            with _quietly():
                estimator.predict(remembered_neighbors(estimator)[0][:1])
        except ValueError:
            return  # more neighbours asked for than there are samples: `predict` says so, as it did


def _check_one_hot(encoder: Any) -> None:
    _check_codes(encoder)
    _check_encoder(encoder)


def _check_encoder(encoder: Any) -> None:
    """A row of its own categories; no encoder is fitted to bytes."""
    kinds = {values.dtype.kind for values in encoder.categories_}
    if kinds & set("SV"):
        raise ValueError(f"a {type(encoder).__name__} of categories that are bytes")
    with _quietly():
        row = np.array([[*(values[0] for values in encoder.categories_)]], dtype=object)
        kinds = {values.dtype for values in encoder.categories_}
        encoder.transform(row.astype(kinds.pop()) if len(kinds) == 1 else row)


def _check_numeric(transformer: Any) -> None:
    """A row of zeros, which all of these take."""
    n_features = transformer.n_features_in_
    if not isinstance(n_features, Integral) or not 0 < int(n_features) <= MOST_COLUMNS:
        raise ValueError(f"a {type(transformer).__name__} of {n_features!r:.40} features")
    with _quietly():
        given = np.asarray(transformer.transform(np.zeros((1, int(n_features)))))
    if given.dtype.kind not in "fiu" or not np.isfinite(given).all():
        raise ValueError(f"a {type(transformer).__name__} that gives no numbers")


@contextmanager
def _quietly() -> Iterator[None]:
    """Warnings are for whoever asks in earnest."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


NEIGHBORS: dict[type, Callable[[Any], None]] = dict.fromkeys(
    (
        KNeighborsClassifier,
        RadiusNeighborsClassifier,
        KNeighborsRegressor,
        RadiusNeighborsRegressor,
        NearestNeighbors,
        KNeighborsTransformer,
        RadiusNeighborsTransformer,
    ),
    _check_neighbors,
)
NUMERIC: dict[type, Callable[[Any], None]] = dict.fromkeys(
    (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, QuantileTransformer, PCA, TruncatedSVD),
    _check_numeric,
)
FOREIGN: dict[type, Callable[[Any], None]] = {
    **NEIGHBORS,
    **NUMERIC,
    SVC: _check_libsvm,
    NuSVC: _check_libsvm,
    OneHotEncoder: _check_one_hot,
    OrdinalEncoder: _check_encoder,
}
