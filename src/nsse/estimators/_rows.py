"""What is fitted: samples, labels and weights, checked, from arrays and from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from nsse._errors import rule_error
from nsse.certificates.models import floating
from nsse.estimators._posing import encode_labels
from nsse.estimators._settings import Settings
from nsse.estimators._weights import check_reader, checked_weights, with_classes
from nsse.landmarks import ArrayRows, DaskRows, RowSource, gathered_labels, is_dask

Floats = NDArray[np.float64]


def row_source(model: Any, X: Any, y: Any, settings: Settings) -> tuple[Any, NDArray[Any]]:
    """Samples and labels, checked; integers stay integers where rows are converted in blocks."""
    if is_dask(X):
        require_landmarks(settings, "a Dask array")
        source = DaskRows.of(X)
        keep_width(model, source)
        y = column_or_1d(gathered_labels(y), warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        return source, y
    if settings.centers is None:
        X, y = model._validated(X, y)
    else:
        X, y = validate_data(model, X, y, accept_sparse="csr", dtype="numeric", ensure_min_samples=2)
        check_classification_targets(y)
        if settings.centers.is_exact_for(len(y) * (1 + settings.n_copies(X.shape[1]))):
            X = X.astype(floating(X.dtype), copy=False)
    return ArrayRows(X), y


def weighted_rows(
    model: Any, source: Any, y: NDArray[Any], sample_weight: Any
) -> tuple[Any, NDArray[Any], Floats | None]:
    """Samples of positive weight, their labels and weights; None where each counts once."""
    weights = checked_weights(sample_weight, len(y))
    source, y, weights, _ = counted_rows(source, y, weights)
    classes, codes = encode_labels(y)
    weights = with_classes(weights, model.class_weight, classes, codes)
    if weights is not None:
        check_reader(model.classifier)
    return source, y, weights


def counted_rows(
    source: Any, y: NDArray[Any], weights: Floats | None
) -> tuple[Any, NDArray[Any], Floats | None, NDArray[np.intp] | None]:
    """Without samples of weight 0; last, which are left, None for all of them."""
    if weights is None or weights.all():
        return source, y, weights, None
    if not isinstance(source, ArrayRows):
        cure = "Leave such samples out of the source."
        got = f"{int((weights == 0).sum())} weights of 0"
        raise rule_error("sample_weight", "be positive where samples come in blocks", got, cure)
    kept = np.flatnonzero(weights)
    return ArrayRows(source.X[kept]), y[kept], weights[kept], kept


def keep_width(model: Any, source: RowSource) -> None:
    """What `validate_data` keeps of an array."""
    model.n_features_in_ = source.shape[1]
    if hasattr(model, "feature_names_in_"):  # of an earlier fit on a data frame
        del model.feature_names_in_


def require_landmarks(settings: Settings, what: str) -> None:
    if settings.centers is None:
        raise rule_error(
            "n_landmarks",
            f"be given for {what}",
            None,
            'Exact NSSE needs all samples in memory; take a number such as 3000, or "auto".',
        )
