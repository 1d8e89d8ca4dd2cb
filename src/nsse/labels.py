"""Check and encode the labels and weights of training samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from nsse._support.arrays import is_dask
from nsse._support.errors import Described, listed, rule_error
from nsse._support.types import Bools, Floats, Ints, LabelsLike, WeightsLike


def check_targets(y: LabelsLike) -> None:
    """Raise an error for regression, multilabel and multioutput targets."""
    got = _several_labels(y)
    if got is not None:
        cure = "For several labels per sample, use sklearn.multioutput.MultiOutputClassifier."
        raise rule_error("y", "contain one class label per sample", Described(got), cure)


def _several_labels(y: LabelsLike) -> str | None:
    """Describe targets with several labels per sample, None if there is one per sample."""
    try:
        targets = y if getattr(y, "shape", None) else np.asarray(y)
    except ValueError:  # lists of different lengths
        return "lists of different lengths"
    if len(targets.shape) > 1:
        return None if targets.shape[1] == 1 else f"shape {targets.shape}"
    if len(targets.shape) == 0 or getattr(targets.dtype, "kind", "") != "O":
        return None
    kinds = {type(label).__name__ for label in targets if isinstance(label, list | tuple | set | dict)}
    return f"labels of type {listed(sorted(kinds))}" if kinds else None


def check_classes(y: NDArray[Any]) -> None:
    """Raise an error for numbers that are not class labels."""
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        # "Unknown label type" is the text that scikit-learn's own classifiers use.
        cure = "Regression is not supported. Divide the numbers into classes, or use a regressor."
        raise rule_error("y", "contain class labels", Described(f"Unknown label type: {kind}"), cure)


def encoded(y: LabelsLike, marker: Any = None) -> tuple[NDArray[Any], Ints]:
    """Return the sorted classes, and the class of every label, −1 if it is missing or the marker."""
    if y is None:
        raise ValueError(
            "A supervised embedding requires y to be passed, but the target y is None. Pass one label "
            "for each sample. If some samples have no label, mark them with -1 and pass "
            "unlabeled=nsse.unlabeled.GraphPenalty()."
        )
    check_targets(y)
    y = np.asarray(y.compute() if is_dask(y) else y)
    y = y if y.ndim == 1 else column_or_1d(y, warn=True)
    may_miss = marker is not None or y.dtype.kind in "fO"
    missing = missing_labels(y, marker) if may_miss else np.zeros(len(y), dtype=bool)
    if marker is None and missing.any():
        cure = (
            "Leave these samples out, or use them with unlabeled=GraphPenalty() or LabelPropagation()."
        )
        raise rule_error(
            "y", "have a label for every sample", Described(f"{missing.sum()} missing labels"), cure
        )
    known = y[~missing]
    if known.dtype == object:
        known = of_one_type(known)
    if len(known) == 0:
        cure = "An embedding separates classes. Give some labels."
        raise rule_error("y", "have labels", Described("none at all"), cure)
    if known.dtype.kind in "SV":  # neither model files nor ONNX graphs contain these
        cure = "Decode the labels first, for example with np.char.decode(y)."
        raise rule_error("y", "hold numbers or text", Described(f"labels of type {known.dtype}"), cure)
    if known.dtype.kind not in "biuU":  # these cannot be targets of a regression
        assert_all_finite(known, input_name="y")
        check_classes(known)
    classes, places = np.unique(known, return_inverse=True)
    codes = np.full(len(y), -1, dtype=np.intp)
    codes[~missing] = places.ravel()
    return classes, codes


def warn_of_marker(classes: NDArray[Any], codes: Ints, stacklevel: int = 6) -> None:
    """Warn if -1 is a class among at least two others that are non-negative integers, or text.

    Other libraries mark samples without a label with -1. With one other class, it is one of two classes.
    NumPy turns it into text if the other labels are text.
    """
    if len(classes) < 3:
        return
    is_text = classes.dtype.kind == "U"
    if is_text:
        is_marker = classes == "-1"
        if not is_marker.any() or all(label.lstrip("-").isdigit() for label in classes.tolist()):
            return
    else:
        if classes.dtype.kind not in "if" or classes[0] != -1 or classes[1] < 0:
            return
        if np.any(classes != np.round(classes)):
            return
        is_marker = classes == -1
    n_marked = np.count_nonzero(is_marker[codes] & (codes >= 0))
    label, mark = ("'-1'", "mark them with None and ") if is_text else ("-1", "")
    warnings.warn(
        f"The label {label} of {n_marked} samples is a class like the others. If it marks "
        f"samples without a label, {mark}pass unlabeled=nsse.unlabeled.GraphPenalty() or "
        "LabelPropagation() to SmoothEmbedding, or leave these samples out.",
        UserWarning,
        stacklevel=stacklevel,
    )


def of_one_type(known: NDArray[Any]) -> NDArray[Any]:
    """Return labels of Python objects as an array in which different labels stay different."""
    found = np.array(known.tolist())
    are_words = {isinstance(label, str | bytes) for label in known}
    if len(are_words) > 1 or (found.ndim == 1 and len(set(known.tolist())) != len(np.unique(found))):
        names = sorted({type(label).__name__ for label in known})
        cure = "Convert the labels first, for example with y.astype(str)."
        raise rule_error(
            "y", "hold labels of one type", Described(f"labels of types {', '.join(names)}"), cure
        )
    return found


def present_classes(classes: NDArray[Any], codes: Ints, weights: Floats) -> tuple[NDArray[Any], Ints]:
    """Return the classes that have any weight, and codes among them. Weight zero leaves samples out."""
    known = codes >= 0
    weight = np.bincount(codes[known], weights[known], minlength=len(classes))
    place = np.where(weight > 0, np.cumsum(weight > 0) - 1, -1)
    return classes[weight > 0], np.append(place, -1)[codes].astype(np.intp)


def missing_labels(y: NDArray[Any], marker: Any) -> Bools:
    """Return which labels are None, NaN, the NA of pandas, or the marker if one is given."""
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype == object:
        missing = np.array(
            [label is None or label is not label or _is_nan(label) for label in y], dtype=bool
        )
    else:
        missing = np.zeros(len(y), dtype=bool)
    if marker is None:
        return missing
    same = isinstance(marker, str) == (y.dtype.kind in "US") or y.dtype == object
    marked = np.array([label == marker for label in y.tolist()]) if same else False
    return np.asarray(missing | marked, dtype=bool)


def checked_weights(sample_weight: WeightsLike, n_samples: int) -> Floats:
    """Return one finite number per sample, not negative and not all zero. The default is 1 each."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        rule = f"have one number for each of the {n_samples} samples"
        raise rule_error(
            "sample_weight", rule, Described(f"shape {weights.shape}"), "Leave it None for 1 each."
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        got = Described(f"weights from {weights.min()} to {weights.max()}")
        cure = "A weight of 0 leaves a sample out."
        raise rule_error("sample_weight", "be finite, not negative and not all zero", got, cure)
    return weights


def class_factors(class_weight: Any, classes: NDArray[Any], codes: Ints, weights: Floats) -> Floats:
    """Return the factor of `class_weight` for every sample, 1 for samples without a label."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        # Samples of weight zero and samples without a label belong to no class.
        known = codes >= 0
        sizes = np.bincount(codes[known], weights[known], minlength=len(classes))
        present = sizes > 0
        factors = np.where(present, sizes.sum() / (present.sum() * np.where(present, sizes, 1.0)), 1.0)
    elif isinstance(class_weight, Mapping):
        factors = _given_factors(class_weight, classes)
    else:
        rule = 'be None, "balanced" or a dict of labels and weights'
        raise rule_error(
            "class_weight", rule, class_weight, '"balanced" gives all classes the same weight.'
        )
    return np.append(factors, 1.0)[codes]


def _given_factors(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> Floats:
    known = classes.tolist()
    for label, weight in class_weight.items():
        if label not in known:
            cure = f"The training samples have {listed([repr(name) for name in known])}."
            raise rule_error("class_weight", "name labels of the training samples", label, cure)
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 < float(weight) < np.inf:
            cure = "Leave the label out for a weight of 1, or its samples for a weight of 0."
            raise rule_error(f"class_weight[{label!r}]", "be a positive, finite number", weight, cure)
    return np.array([float(class_weight.get(label, 1.0)) for label in known])


def _is_nan(label: Any) -> bool:
    # NaN differs from itself. Comparisons with the NA of pandas have no truth value.
    try:
        return bool(label != label)
    except TypeError:
        return True
