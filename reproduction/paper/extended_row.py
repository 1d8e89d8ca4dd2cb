"""Rows that the paper does not have: `SmoothEmbedding`, its search, an SVM in the within-class metric.

The search is there with transformed copies of the images too: which, or none, it chooses itself.

By protocol `honest` alone: everything is chosen on the training samples of a realisation, the scaling of
its images too where two are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.svm import SVC

from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.augment import names_of, usual_sets
from reproduction.paper.candidates import Realisation, Tried, packed
from reproduction.paper.grids import GAMMA, Params
from reproduction.paper.settings import MOST_ROWS, SMOOTH, SMOOTH_COPIED, SMOOTH_CV, Recipe


@dataclass(frozen=True)
class Learnt:
    """A model, its score on inner splits, what was chosen, and the seconds it took."""

    model: Any
    score: float
    parameters: Params
    seconds: float
    d: int | None = None


def extended_row(own: Realisation) -> dict[str, Any]:
    """Columns of the row; of several scalings the one that validates best, of equals the first."""
    learnt = {name: _learnt(own, name) for name in own.X}
    begun = perf_counter()
    mistakes = {
        name: int(np.sum(one.model.predict(own.X_test[name]) != own.y_test))
        for name, one in learnt.items()
    }
    predict_seconds = perf_counter() - begun
    tried = {name: Tried(name, one.d, one.parameters) for name, one in learnt.items()}
    best = max(learnt, key=lambda name: round(learnt[name].score, 12))
    scores = {name: one.score for name, one in learnt.items()}
    return {
        "error": mistakes[best] / len(own.y_test),
        "fit_seconds": sum(one.seconds for one in learnt.values()),
        "predict_seconds": predict_seconds,
        "chosen": tried[best].chosen,
        "details": {"candidates": packed({tried[n]: mistakes[n] for n in tried}), "scores": scores},
    }


def _learnt(own: Realisation, scaling: str) -> Learnt:
    """The method of a task, fitted to its training samples under one scaling."""
    start, X, y = perf_counter(), own.X[scaling], own.y
    if own.task.method == SMOOTH:
        model = SmoothEmbedding().fit(X, y)
        return Learnt(model, 0.0, {}, perf_counter() - start, model.embedding_.shape[1])
    if own.task.method in (SMOOTH_CV, SMOOTH_COPIED):
        is_copied = own.task.method == SMOOTH_COPIED
        search = SmoothEmbeddingCV(augment=_sets(own) if is_copied else None).fit(X, y)
        best = search.best_estimator_.get_params()
        copies = {"copies": "+".join(names_of(best["augment"])) or "none"} if is_copied else {}
        own_point = {name: best[name] for name in ("decision", "sigma", "smoothness") if not is_copied}
        chosen = copies | own_point | {"members": len(search.members_)}
        return Learnt(search, _score(search), chosen, perf_counter() - start)
    machine, score = tuned_machine(own.recipe, X, y, own.task.seed)
    return Learnt(machine, score, machine.point, perf_counter() - start)


def _score(search: SmoothEmbeddingCV) -> float:
    """Return the score by which a scaling of the images is chosen.

    The best candidate of a scaling speaks for it: the heaviest member need not be the best one. Where
    classes have too few samples for splits, nothing is compared, and left-out samples decide.
    """
    best = float(search.cv_results_["mean_test_score"].max())
    return search.leave_one_out_score_ if np.isnan(best) else best


def _sets(own: Realisation) -> list[Any]:
    """The usual sets of copies of images, without those that make too many rows; none is among them."""
    sets = {copies: 1 + getattr(copies, "n_copies", 0) for copies in usual_sets(own.shape)}
    return [copies for copies, n in sets.items() if n * len(own.y) <= MOST_ROWS]


def tuned_machine(recipe: Recipe, X: Any, y: Any, seed: int) -> tuple[Machine, float]:
    """A machine with parameters by the mean score on inner splits, the first of equals; that score."""
    points, splits = recipe.parameters, list(recipe.splits(y, seed))
    scores = [
        float(np.mean([np.mean(Machine(p).fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in splits]))
        for p in points
    ]
    best = max(range(len(points)), key=lambda place: (round(scores[place], 12), -place))
    return Machine(points[best]).fit(X, y), scores[best]


class Machine:
    """A support vector machine in a metric, or in the Euclidean one."""

    def __init__(self, point: Params) -> None:
        self.point = point

    def fit(self, X: Any, y: Any) -> Machine:
        """Metric first, then the machine."""
        shrinkage = self.point.get("shrinkage")
        self.metric: Callable[[Any], Any] = np.asarray
        if shrinkage is not None:
            metric = WithinMetric(shrinkage, relevance=0.0).fit(X, y)
            # A x, not A (x − mean): the variance of all entries, which γ is measured by, has the mean.
            origin = metric.transform(np.zeros((1, X.shape[1])))
            self.metric = lambda X: metric.transform(X) - origin
        own = self.metric(X)
        gamma = float(self.point[GAMMA] / (own.shape[1] * own.var()))
        self.machine = SVC(C=self.point["C"], gamma=gamma).fit(own, y)
        return self

    def predict(self, X: Any) -> Any:
        """Labels of new samples."""
        return np.asarray(self.machine.predict(self.metric(X)))
