"""Rows that the paper does not have: NSSE in the within-class metric, with copies; others likewise.

By protocol `honest` alone: everything is chosen on the training samples of a realisation, the scaling of
its images too where two are tried. Rows of one realisation are computed one after another and share
what they have in common: the search of `NSSECV`, and the set of copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from nsse.evaluation import per_class_split
from nsse.invariances import enlarged, n_copies_of, names_of, usual_sets
from nsse.selection import BalancedSplits, choose_invariances
from sklearn.svm import SVC

from nsse import NSSE, NSSECV, WithinMetric
from reproduction.paper import settings
from reproduction.paper.candidates import Realisation, Tried, packed
from reproduction.paper.grids import GAMMA, Params
from reproduction.paper.settings import Recipe

NO_LABEL = -1
Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """Training samples of one realisation under one scaling, told from others by their origin."""

    origin: tuple[str, int, int, str]  # data set, size, seed, scaling
    X: Any = field(compare=False, repr=False)
    y: Any = field(compare=False, repr=False)
    shape: tuple[int, ...] = field(compare=False)

    @property
    def seed(self) -> int:
        """Of the realisation, and of the inner splits."""
        return self.origin[2]


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
    task, start = own.task, perf_counter()
    method, origin = task.method, (task.dataset, task.n_train, task.seed, scaling)
    samples = Samples(origin, own.X[scaling], own.y, own.shape)
    if method == settings.UNTUNED:
        model = NSSE().fit(samples.X, samples.y)
        return Learnt(model, 0.0, {}, perf_counter() - start, model.embedding_.shape[1])
    if method == settings.UNLABELLED:
        return _unlabelled(samples, own.X_test[scaling])
    names, before = chosen_copies(samples) if method in settings.WITH_COPIES else ((), 0.0)
    copies = {"copies": "+".join(names) or "none"} if method in settings.WITH_COPIES else {}
    if method in (settings.SVM_WITHIN, settings.SVM_COPIED):
        start = perf_counter()
        machine, score = tuned_machine(own.recipe, samples, _set_of(names, samples.shape))
        return Learnt(machine, score, copies | machine.point, perf_counter() - start)
    search, seconds = _searched(samples, names)
    score = float(search.best_score_)
    if method == settings.WITHIN:  # the one point that the search found best
        model = search.best_estimator_
        # A row is JSON, which has no infinite numbers: a shrinkage may be one.
        chosen = {n: str(v) if v in (np.inf, -np.inf) else v for n, v in search.best_params_.items()}
        return Learnt(model, score, chosen, seconds, model.embedding_.shape[1])
    return Learnt(search, score, copies | {"voters": len(search.voters_)}, before + seconds)


def _unlabelled(samples: Samples, X_test: Any) -> Learnt:
    """The vote, of a search that has the test samples too, and not their labels."""
    start = perf_counter()
    X = np.concatenate([samples.X, X_test])
    y = np.concatenate([samples.y, np.full(len(X_test), NO_LABEL, dtype=samples.y.dtype)])
    search = NSSECV(estimator=NSSE(unlabeled=NO_LABEL), progress=False).fit(X, y)
    best = search.best_params_
    chosen = {"mu4": best.get("mu4", 0.0), "spread": best.get("spread"), "voters": len(search.voters_)}
    return Learnt(search, float(search.best_score_), chosen, perf_counter() - start)


@lru_cache(maxsize=2)
def _searched(samples: Samples, names: Names) -> tuple[NSSECV, float]:
    start = perf_counter()
    base = NSSE(invariances=_set_of(names, samples.shape))
    search = NSSECV(estimator=base, progress=False).fit(samples.X, samples.y)
    return search, perf_counter() - start


def _set_of(names: Names, shape: tuple[int, ...]) -> Any:
    return next(copies for copies in usual_sets(shape) if tuple(names_of(copies)) == names)


@lru_cache(maxsize=2)
def chosen_copies(samples: Samples) -> tuple[Names, float]:
    """Names of the set of copies that helps NSSE on inner splits, and the seconds that took.

    Sets that would make too many rows of the samples are not tried; the others on a part of the samples,
    the same number of every class, of which the largest set makes not too many. They are compared in the
    metric that the search without copies found: what a copy adds depends on which directions are short.
    """
    search, before = _searched(samples, ())
    start = perf_counter()
    rows = {copies: 1 + n_copies_of(copies, samples.X.shape[1]) for copies in usual_sets(samples.shape)}
    most_rows, rows_of_a_trial = settings.COPIED_ROWS.values()
    sets = [copies for copies, n in rows.items() if len(samples.y) * n <= most_rows]
    X, y = _part(samples, rows_of_a_trial // max(rows[copies] for copies in sets))
    splitter = BalancedSplits(settings.COPIED_SPLITS, settings.COPIED_FRACTION, samples.seed)
    model = search.best_estimator_
    base = NSSE(metric=model.metric, shrinkage=model.shrinkage, relevance=model.relevance)
    best = choose_invariances(base, X, y, sets, splits=list(splitter.split(X, y))).best
    return tuple(names_of(best)), before + perf_counter() - start


def _part(samples: Samples, n_samples: int) -> tuple[Any, Any]:
    """At least two of every class: one is held out."""
    n_classes = len(np.unique(samples.y))
    n_per_class = max(2, n_samples // n_classes)
    if n_per_class * n_classes >= len(samples.y):
        return samples.X, samples.y
    part, _ = per_class_split(samples.y, n_per_class, samples.seed)
    return samples.X[part], samples.y[part]


def tuned_machine(recipe: Recipe, samples: Samples, copies: Any) -> tuple[Machine, float]:
    """A machine with parameters by the mean score on inner splits, the first of equals; that score.

    What is held out is never copied.
    """
    X, y = samples.X, samples.y
    scores: dict[int, list[float]] = {}
    for train, valid in recipe.splits(y, samples.seed):
        for place, point in enumerate(recipe.parameters):
            predicted = Machine(point, copies).fit(X[train], y[train]).predict(X[valid])
            scores.setdefault(place, []).append(float(np.mean(predicted == y[valid])))
    best = max(scores, key=lambda place: (round(float(np.mean(scores[place])), 12), -place))
    return Machine(recipe.parameters[best], copies).fit(X, y), float(np.mean(scores[best]))


class Machine:
    """A support vector machine in a metric, or in the Euclidean one; of samples and their copies."""

    def __init__(self, point: Params, copies: Any) -> None:
        self.point, self.copies = point, copies

    def fit(self, X: Any, y: Any) -> Machine:
        """Metric first, then the machine."""
        own, y = enlarged(self.copies, X), np.repeat(y, 1 + n_copies_of(self.copies, X.shape[1]))
        shrinkage = self.point.get("shrinkage")
        self.metric: Callable[[Any], Any] = np.asarray
        if shrinkage is not None:
            self.metric = WithinMetric(shrinkage=shrinkage).fit(own, y).transform
        own = self.metric(own)
        gamma = float(self.point[GAMMA] / (own.shape[1] * own.var()))
        self.machine = SVC(C=self.point["C"], gamma=gamma).fit(own, y)
        return self

    def predict(self, X: Any) -> Any:
        """Labels of new samples."""
        return np.asarray(self.machine.predict(self.metric(X)))
