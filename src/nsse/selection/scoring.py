"""Scores of labels that are known already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from nsse._errors import rule_message
from nsse.selection.counting import as_argument

CodeScorer = Callable[..., float]


def code_scorer(scoring: Any, classes: NDArray[Any]) -> CodeScorer | None:
    """``score(labels, truth, weights)`` of codes of the classes; None for the accuracy."""
    if scoring is None or scoring == "accuracy":
        return None
    scorer = get_scorer(scoring)

    def score(labels: NDArray[Any], truth: NDArray[Any], weights: Any = None) -> float:
        # A scorer of labels does not look at samples; that of another kind is refused there.
        X = np.zeros((len(truth), 1))
        return _asked(scorer, classes[labels], classes, X, classes[truth], weights)

    return score


def _asked(scorer: Any, labels: Any, classes: Any, X: Any, y: Any, weights: Any = None) -> float:
    try:
        return float(scorer(_Answers(labels, classes), X, y, **as_argument(weights)))
    except AttributeError as error:
        message = rule_message(
            "scoring",
            "be made of predicted labels alone",
            scorer,
            'Take one such as "balanced_accuracy", or scikit-learn\'s GridSearchCV.',
        )
        raise TypeError(message) from error


class _Answers(ClassifierMixin, BaseEstimator):
    """Stands for a fitted classifier that has predicted."""

    def __init__(self, labels: Any, classes: Any) -> None:
        self.labels, self.classes_ = labels, classes

    def predict(self, X: Any) -> Any:
        """The labels, whatever is asked."""
        return self.labels
