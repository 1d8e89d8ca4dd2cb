"""What scikit-learn and NumPy hand to compiled code, checked or made again."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RadiusNeighborsTransformer,
)
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, NuSVC

from nsse._compat import encoded_widths, libsvm_model, refit_neighbors

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


def _check_encoder(encoder: OneHotEncoder) -> None:
    """Codes become columns of a sparse matrix: each must have one."""
    for values in encoder.categories_:
        numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        if values.ndim != 1 or (values.dtype.kind in "biuf" and np.any(numbers[1:] <= numbers[:-1])):
            raise ValueError("categories that do not ascend")
    if not encoded_widths(encoder):
        raise ValueError("an encoder with other columns than its categories have")


# By identity of the class, subclasses included.
FOREIGN: dict[type, Callable[[Any], None]] = {
    KNeighborsClassifier: refit_neighbors,
    RadiusNeighborsClassifier: refit_neighbors,
    KNeighborsRegressor: refit_neighbors,
    RadiusNeighborsRegressor: refit_neighbors,
    NearestNeighbors: refit_neighbors,
    KNeighborsTransformer: refit_neighbors,
    RadiusNeighborsTransformer: refit_neighbors,
    SVC: _check_libsvm,
    NuSVC: _check_libsvm,
    OneHotEncoder: _check_encoder,
}
