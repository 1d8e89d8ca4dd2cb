"""A support vector machine in the within-class metric, or with copies, tuned on splits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.svm import SVC

from nsse.estimators import WithinMetric
from nsse.invariances import enlarged, n_copies_of
from nsse.kernels import squared_distances
from nsse.paper.candidates import Labels
from nsse.paper.grids import GAMMA, Params
from nsse.paper.settings import Recipe
from nsse.paper.validation import validation_splits


def tuned_machine(recipe: Recipe, X: Any, y: Labels, copies: Any, seed: int) -> tuple[Machine, float]:
    """Parameters by the mean score on inner splits, the first of equals; and that score.

    What is held out is never copied.
    """
    scores: dict[int, list[float]] = {}
    for train, valid in validation_splits(recipe, y, seed):
        own, labels = _with_copies(copies, X[train], y[train])
        for place, said in _labels(recipe.parameters, own, labels, X[valid]):
            scores.setdefault(place, []).append(float(np.mean(said == y[valid])))
    best = max(scores, key=lambda place: (round(float(np.mean(scores[place])), 12), -place))
    model = Machine(recipe.parameters[best]).fit(*_with_copies(copies, X, y))
    return model, float(np.mean(scores[best]))


class Machine:
    """A support vector machine in a metric, or in the Euclidean one."""

    def __init__(self, point: Params) -> None:
        self.point = point

    def fit(self, X: Any, y: Labels) -> Machine:
        """Metric first, then the machine."""
        self.metric = _metric(self.point.get("shrinkage"), X, y)
        own = self.metric(X)
        self.machine = SVC(C=self.point["C"], gamma=_gamma(self.point, own)).fit(own, y)
        return self

    def predict(self, X: Any) -> Labels:
        """Labels of new samples."""
        return np.asarray(self.machine.predict(self.metric(X)))


def _with_copies(copies: Any, X: Any, y: Labels) -> tuple[Any, Labels]:
    return enlarged(copies, X), np.repeat(y, 1 + n_copies_of(copies, X.shape[1]))


def _labels(points: Iterable[Params], X: Any, y: Labels, X_new: Any) -> Iterator[tuple[int, Labels]]:
    """Labels of new samples by every point, by its place; one matrix of distances for each metric."""
    places: dict[float | None, list[tuple[int, Params]]] = {}
    for place, point in enumerate(points):
        places.setdefault(point.get("shrinkage"), []).append((place, point))
    for shrinkage, group in places.items():
        metric = _metric(shrinkage, X, y)
        own, new = metric(X), metric(X_new)
        D2 = squared_distances(np.concatenate([own, new]))
        for place, point in group:
            K = np.exp(-_gamma(point, own) * D2)
            machine = SVC(C=point["C"], kernel="precomputed").fit(K[: len(own), : len(own)], y)
            yield place, machine.predict(K[len(own) :, : len(own)])


def _metric(shrinkage: float | None, X: Any, y: Labels) -> Callable[[Any], Any]:
    if shrinkage is None:
        return np.asarray
    return WithinMetric(shrinkage=shrinkage).fit(X, y).transform


def _gamma(point: Params, X: Any) -> float:
    return float(point[GAMMA] / (X.shape[1] * X.var()))
