"""The metric that a `metric` parameter means."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from nsse._support.types import SamplesLike
from nsse.affine import is_sparse
from nsse.metrics.base import Metric, as_metric, not_a_metric
from nsse.metrics.euclidean import Euclidean
from nsse.metrics.within import WithinMetric

NAMES: dict[str, type[Metric]] = {"within": WithinMetric, "euclidean": Euclidean}


def named_metric(metric: Any) -> Any:
    """Return the object that a name stands for. None is "euclidean"."""
    if metric is None:
        return Euclidean()
    if isinstance(metric, str) and metric in NAMES:
        return NAMES[metric]()
    # Without get_params, scikit-learn cannot make the unfitted copies that fits and folds work with.
    if isinstance(metric, str | type) or not (hasattr(metric, "fit") and hasattr(metric, "get_params")):
        raise not_a_metric(metric)
    return metric


def unfitted_metric(metric: Any, X: SamplesLike) -> Metric:
    """Return a new metric for samples.

    The name "within" means Euclidean distances for sparse samples, because a `WithinMetric` would make
    them dense.
    """
    if isinstance(metric, str) and metric == "within" and is_sparse(X):
        return Euclidean()
    return as_metric(clone(named_metric(metric)))
