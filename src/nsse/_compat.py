"""The one place for names that scikit-learn keeps to itself or has only in some versions.

scikit-learn 1.9 brought a callback protocol (progress bars, scoring monitors). On older versions the
estimators lack ``set_callbacks`` and `FitTasks` does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin; offers nothing."""

    def with_callbacks(method: Any) -> Any:
        """Leave ``method`` as it is."""
        return method


__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "FitTasks",
    "plant_search_tree",
    "remembered_neighbors",
    "search_tree",
    "with_callbacks",
]


def remembered_neighbors(classifier: Any) -> tuple[Any, Any, str]:
    """What a fitted `KNeighborsClassifier` keeps: samples, places of their labels, its metric."""
    return classifier._fit_X, classifier._y, str(classifier.effective_metric_)


def search_tree(estimator: Any) -> Any:
    """The k-d or ball tree of a fitted neighbours estimator; None if it has none."""
    return getattr(estimator, "_tree", None)


def plant_search_tree(estimator: Any) -> None:
    """Give a fitted neighbours estimator that lacks its search tree the one `fit` made.

    A tree is a function of the samples and the parameters: the new one answers as the old one did.
    """
    from sklearn.neighbors import BallTree, KDTree

    kind = {"ball_tree": BallTree, "kd_tree": KDTree}.get(getattr(estimator, "_fit_method", ""))
    if kind is not None and search_tree(estimator) is None:
        estimator._tree = kind(
            estimator._fit_X, estimator.leaf_size,
            metric=estimator.effective_metric_, **estimator.effective_metric_params_,
        )  # fmt: skip


class FitTasks:
    """Reports a fit and its steps to the callbacks registered on an estimator, if there are any."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._data = {"X": X, "y": y}
        self._context = None
        if HAS_CALLBACKS:
            # The number of steps is not known in advance.
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def step(self, name: str, fitted_attributes: Callable[[], dict[str, Any]]) -> bool:
        """One step of the fit is over; returns True if a callback asks to stop.

        ``fitted_attributes`` makes, when a callback wants one, the model as it stands.
        """
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=fitted_attributes,
                **self._data,
            )
        )

    def end(self) -> None:
        """The fit is over and the estimator holds its result."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes={}, **self._data
            )
