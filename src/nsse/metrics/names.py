"""Find the metric that the value of a parameter ``metric`` describes."""

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
    # Without get_params, scikit-learn cannot make the unfitted copies that fits and folds use.
    if isinstance(metric, str | type) or not (hasattr(metric, "fit") and hasattr(metric, "get_params")):
        raise not_a_metric(metric)
    return metric


def parameters_of_name(metric: Any) -> dict[str, Any]:
    """Return the parameters of the metric that a name stands for. Objects have none here."""
    return NAMES[metric]().get_params() if isinstance(metric, str) and metric in NAMES else {}


def with_object(params: dict[str, Any], metric: Any) -> dict[str, Any]:
    """Return parameters to set with an object in place of the name of a metric, if it needs one.

    ``params`` may contain the metric and its parameters, such as ``metric__shrinkage``. ``metric`` is
    the present one. The name is unchanged if the values are its default values.
    """
    metric = params.get("metric", metric)
    nested = {key: key.removeprefix("metric__") for key in params if key.startswith("metric__")}
    if not nested or not (metric is None or (isinstance(metric, str) and metric in NAMES)):
        return params
    own = parameters_of_name(metric)
    if all(name in own and params[key] == own[name] for key, name in nested.items()):
        return {key: value for key, value in params.items() if key not in nested}
    return params | {"metric": named_metric(metric)}


def unfitted_metric(metric: Any, X: SamplesLike) -> Metric:
    """Return a new metric for samples.

    The name "within" means Euclidean distances for sparse samples, because a `WithinMetric` would make
    them dense.
    """
    if isinstance(metric, str) and metric == "within" and is_sparse(X):
        return Euclidean()
    return as_metric(clone(named_metric(metric)))
