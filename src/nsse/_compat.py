"""The one place for names that scikit-learn keeps to itself or has only in some versions."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["encoded_widths", "libsvm_model", "refit_neighbors", "remembered_neighbors", "search_tree"]


def remembered_neighbors(classifier: Any) -> tuple[Any, Any, str]:
    """What a fitted `KNeighborsClassifier` keeps: samples, places of their labels, its metric."""
    return classifier._fit_X, classifier._y, str(classifier.effective_metric_)


def search_tree(estimator: Any) -> Any:
    """The k-d or ball tree of a fitted neighbours estimator; None if it has none."""
    return getattr(estimator, "_tree", None)


def refit_neighbors(estimator: Any) -> None:
    """Fit a fitted neighbours estimator again, in place, to the samples and labels that it keeps.

    All it knows is a function of these and of its parameters; a search tree that stayed out of a file
    is there again. Labels that are not those of its classes are refused.
    """
    from sklearn.base import clone

    state, samples = vars(estimator), estimator._fit_X
    labels, classes = state.get("_y"), state.get("classes_")
    y = labels if classes is None else _decoded(labels, classes)
    again = clone(estimator).fit(samples, y)
    for name in ("_y", "classes_"):
        if not _same(state.get(name), vars(again).get(name)):
            raise ValueError(f"a {type(estimator).__name__} whose labels are not those of its classes")
    names = state.get("feature_names_in_")
    state.clear()
    state.update(vars(again))
    if names is not None:
        estimator.feature_names_in_ = names


def _decoded(codes: Any, classes: Any) -> Any:
    """Labels of codes; classes come as a list where there are several outputs."""
    if isinstance(classes, list):
        columns = [_decoded(codes[:, k], each) for k, each in enumerate(classes)]
        return np.stack(columns, axis=1)
    if codes.dtype.kind != "i" or codes.ndim != 1 or codes.min() < 0 or codes.max() >= len(classes):
        raise ValueError("labels of neighbours outside their classes")
    return classes[codes]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(a, b)) if a is not None and b is not None else a is b


def libsvm_model(classifier: Any) -> tuple[Any, Any, Any, Any, Any, tuple[Any, Any]]:
    """What a fitted `SVC` hands to libsvm: vectors, places, counts, coefficients, offsets, slopes."""
    slopes = classifier._probA, classifier._probB
    vectors, places = classifier.support_vectors_, classifier.support_
    counts, coefficients = classifier._n_support, classifier._dual_coef_
    return vectors, places, counts, coefficients, classifier._intercept_, slopes


def encoded_widths(encoder: Any) -> bool:
    """Whether a fitted `OneHotEncoder` has a column for each code that its categories give."""
    sizes = [len(values) for values in encoder.categories_]
    for i, mapping in enumerate(vars(encoder).get("_default_to_infrequent_mappings") or ()):
        if encoder._infrequent_enabled and mapping is not None:
            grouped = sizes[i] - len(encoder._infrequent_indices[i]) + 1
            if mapping.shape != (sizes[i],) or mapping.min() < 0 or mapping.max() >= grouped:
                return False
            sizes[i] = grouped
    dropped = encoder._drop_idx_after_grouping
    if dropped is not None:
        if len(dropped) != len(sizes):
            return False
        if not all(i is None or 0 <= i < size for i, size in zip(dropped, sizes, strict=True)):
            return False
        sizes = [size - (i is not None) for i, size in zip(dropped, sizes, strict=True)]
    return list(encoder._n_features_outs) == sizes and len(sizes) == encoder.n_features_in_
