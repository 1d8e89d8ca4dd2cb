"""How many times every sample counts: `sample_weight` and `class_weight`, checked and multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from nsse._errors import listed, rule_error
from nsse.extensions import NearestSample

Floats = NDArray[np.float64]


def check_class_weight(value: Any) -> None:
    """None, "balanced", or a weight for some of the labels."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        rule = 'be None, "balanced" or a dict of labels and weights'
        raise rule_error("class_weight", rule, value, '"balanced" gives all classes the same weight.')
    for label, weight in value.items():
        number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not number or not 0 < weight < np.inf:
            cure = "Leave the label out for a weight of 1; leave its samples out for none."
            raise rule_error(f"class_weight[{label!r}]", "be a positive, finite number", weight, cure)


def checked_weights(sample_weight: Any, n_samples: int) -> Floats | None:
    """One finite number per sample, none negative and not all zero; None where none are given."""
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        what = type(sample_weight).__name__
        raise rule_error("sample_weight", "be numbers", what, "One for every sample.") from None
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        rule = f"have one number for each of the {n_samples} samples"
        cure = "Leave it None to count every sample once."
        raise rule_error("sample_weight", rule, f"shape {weights.shape}", cure)
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        got = f"weights from {weights.min()} to {weights.max()}"
        cure = "A weight of 0 leaves a sample out."
        raise rule_error("sample_weight", "be finite, not negative and not all zero", got, cure)
    return weights


def with_classes(
    weights: Floats | None, class_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp]
) -> Floats | None:
    """Weights of samples times those of their classes; None where all are 1."""
    if class_weight is not None:
        factors = _class_factors(class_weight, classes, np.bincount(codes, weights))
        weights = factors[codes] if weights is None else weights * factors[codes]
    return None if weights is None or np.all(weights == 1.0) else weights


def _class_factors(class_weight: Any, classes: NDArray[Any], sizes: NDArray[Any]) -> Floats:
    if isinstance(class_weight, str):  # "balanced": all classes weigh the same, the samples as before
        return np.asarray(sizes.sum() / (len(sizes) * sizes))
    known = classes.tolist()
    strangers = [label for label in class_weight if label not in known]
    if strangers:
        cure = f"Those of the training samples are {listed([repr(label) for label in known])}."
        raise rule_error("class_weight", "name labels of the training samples", strangers[0], cure)
    return np.array([float(class_weight.get(label, 1.0)) for label in known])


def check_reader(classifier: Any) -> None:
    """Refuse a classifier that cannot count samples several times; those of ours can."""
    ours = classifier is None or isinstance(classifier, str | NearestSample)
    if not ours and not has_fit_parameter(classifier, "sample_weight"):
        raise rule_error(
            "classifier",
            "take `sample_weight` in its `fit` where samples are weighted",
            classifier,
            'Take "scores", "nearest" or one that does, such as LogisticRegression.',
        )


def fitted_reader(reader: Any, embedding: NDArray[Any], y: NDArray[Any], weights: Floats | None) -> Any:
    """A classifier fitted to an embedding, with weights where there are any; the nearest needs none."""
    if weights is None or isinstance(reader, NearestSample):
        return reader.fit(embedding, y)
    return reader.fit(embedding, y, sample_weight=weights)
