"""Rows of the second edition: NSSE in the within-class metric, with copies, and others given the same.

By protocol `honest` alone: everything is chosen on the training samples of a realisation, the scaling of
its images too where two are tried. Rows of one realisation are computed one after another and share
what they have in common: the search of `NSSECV`, and the set of copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from joblib import hash as content_hash

from nsse.estimators import NSSE
from nsse.evaluation import per_class_split
from nsse.invariances import n_copies_of, names_of, usual_sets
from nsse.paper.candidates import Labels, Tried
from nsse.paper.grids import Params
from nsse.paper.machine import tuned_machine
from nsse.paper.settings import (
    COPIED,
    COPIED_FRACTION,
    COPIED_ROWS,
    COPIED_SPLITS,
    SVM_COPIED,
    SVM_WITHIN,
    UNLABELLED,
    UNTUNED,
    VOTE,
    WITHIN,
    Recipe,
)
from nsse.selection import NSSECV, BalancedSplits, choose_invariances

NO_LABEL = -1

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """Training samples of one realisation, told from others by what they hold."""

    X: Any = field(compare=False, repr=False)
    y: Labels = field(compare=False, repr=False)
    shape: tuple[int, ...]
    content: str

    @classmethod
    def of(cls, X: Any, y: Labels, shape: Iterable[int]) -> Samples:
        """With the hash of their content."""
        return cls(X, y, tuple(shape), content_hash((X, y)))


@dataclass(frozen=True)
class Learnt:
    """A model, its score on inner splits, what was chosen, and the seconds it took."""

    model: Any
    score: float
    parameters: Params
    seconds: float
    d: int | None = None

    def tried(self, scaling: str) -> Tried:
        """What the tables call it."""
        return Tried(scaling, self.d, self.parameters)


Learn: TypeAlias = Callable[[Samples, Recipe, int], Learnt]


def learnt(method: str, recipe: Recipe, samples: Samples, seed: int, X_test: Any) -> Learnt:
    """A method of the second edition, fitted to training samples; one sees the others, unlabelled."""
    if method == UNLABELLED:
        return _unlabelled(samples, X_test)
    return METHODS[method](samples, recipe, seed)


def _unlabelled(samples: Samples, X_test: Any) -> Learnt:
    """The vote, of a search that has the test samples too, and not their labels."""
    start = perf_counter()
    X = np.concatenate([samples.X, X_test])
    y = np.concatenate([samples.y, np.full(len(X_test), NO_LABEL, dtype=samples.y.dtype)])
    search = NSSECV(estimator=NSSE(unlabeled=NO_LABEL), progress=False).fit(X, y)
    best = search.best_params_
    chosen = {"mu4": best.get("mu4", 0.0), "spread": best.get("spread"), "voters": len(search.voters_)}
    return Learnt(search, float(search.best_score_), chosen, perf_counter() - start)


def _untuned(samples: Samples, recipe: Recipe, seed: int) -> Learnt:
    start = perf_counter()
    model = NSSE().fit(samples.X, samples.y)
    return Learnt(model, 0.0, {}, perf_counter() - start, model.embedding_.shape[1])


def _within(samples: Samples, recipe: Recipe, seed: int) -> Learnt:
    """The one point that the search found best."""
    search, seconds = _searched(samples, ())
    best = search.best_estimator_
    score, d = float(search.best_score_), best.embedding_.shape[1]
    # A row is JSON, which has no infinite numbers: a shrinkage may be one.
    chosen = {name: str(v) if v in (np.inf, -np.inf) else v for name, v in search.best_params_.items()}
    return Learnt(best, score, chosen, seconds, d)


def _vote(samples: Samples, recipe: Recipe, seed: int) -> Learnt:
    """The best points of the same search together."""
    search, seconds = _searched(samples, ())
    return Learnt(search, float(search.best_score_), {"voters": len(search.voters_)}, seconds)


def _copied(samples: Samples, recipe: Recipe, seed: int) -> Learnt:
    """The vote, of samples and copies; which copies, inner splits say."""
    names, chosen_in = chosen_copies(samples, seed)
    search, seconds = _searched(samples, names)
    parameters = {"copies": "+".join(names) or "none", "voters": len(search.voters_)}
    return Learnt(search, float(search.best_score_), parameters, chosen_in + seconds)


def _machine_within(samples: Samples, recipe: Recipe, seed: int) -> Learnt:
    start = perf_counter()
    model, score = tuned_machine(recipe, samples.X, samples.y, None, seed)
    return Learnt(model, score, dict(model.point), perf_counter() - start)


def _machine_copied(samples: Samples, recipe: Recipe, seed: int) -> Learnt:
    """The copies that were chosen for NSSE."""
    names, _ = chosen_copies(samples, seed)
    start = perf_counter()
    copies = _set_of(names, samples.shape)
    model, score = tuned_machine(recipe, samples.X, samples.y, copies, seed)
    parameters = {"copies": "+".join(names) or "none", **model.point}
    return Learnt(model, score, parameters, perf_counter() - start)


METHODS: dict[str, Learn] = {
    UNTUNED: _untuned,
    WITHIN: _within,
    VOTE: _vote,
    SVM_WITHIN: _machine_within,
    COPIED: _copied,
    SVM_COPIED: _machine_copied,
}


@lru_cache(maxsize=2)
def _searched(samples: Samples, names: Names) -> tuple[NSSECV, float]:
    start = perf_counter()
    base = NSSE(invariances=_set_of(names, samples.shape))
    search = NSSECV(estimator=base, progress=False).fit(samples.X, samples.y)
    return search, perf_counter() - start


def _set_of(names: Names, shape: tuple[int, ...]) -> Any:
    return next(copies for copies in usual_sets(shape) if tuple(names_of(copies)) == names)


@lru_cache(maxsize=2)
def chosen_copies(samples: Samples, seed: int) -> tuple[Names, float]:
    """Names of the set of copies that helps NSSE on inner splits, and the seconds that took.

    Sets that would make too many rows of the samples (`COPIED_ROWS`) are not tried; the others on a part
    of the samples, the same number of every class, of which the largest set makes not too many.
    They are compared in the metric that the search without copies found: what a copy adds depends on
    which directions are short.
    """
    search, before = _searched(samples, ())
    start = perf_counter()
    rows = {copies: 1 + n_copies_of(copies, samples.X.shape[1]) for copies in usual_sets(samples.shape)}
    sets = [copies for copies, n in rows.items() if len(samples.y) * n <= COPIED_ROWS["most_rows"]]
    most = max(rows[copies] for copies in sets)
    X, y = _part(samples, COPIED_ROWS["rows_of_a_trial"] // most, seed)
    splits = list(BalancedSplits(COPIED_SPLITS, COPIED_FRACTION, seed).split(X, y))
    best = choose_invariances(_in_metric_of(search.best_estimator_), X, y, sets, splits=splits).best
    return tuple(names_of(best)), before + perf_counter() - start


def _in_metric_of(model: NSSE) -> NSSE:
    return NSSE(metric=model.metric, shrinkage=model.shrinkage, relevance=model.relevance)


def _part(samples: Samples, n_samples: int, seed: int) -> tuple[Any, Labels]:
    """At least two of every class: one is held out."""
    n_classes = len(np.unique(samples.y))
    n_per_class = max(2, n_samples // n_classes)
    if n_per_class * n_classes >= len(samples.y):
        return samples.X, samples.y
    part, _ = per_class_split(samples.y, n_per_class, seed)
    return samples.X[part], samples.y[part]
