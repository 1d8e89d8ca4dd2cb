"""One row of the tables: a method on one realisation of one cell, computed once for both protocols.

``row.error`` and ``row.chosen`` are those of `honest`: what was chosen on the training samples alone.
``row.details["candidates"]`` has the mistakes on the test samples of everything that was tried, from
which `paper` is read once all realisations are there. For NSSE ``row.details["validation"]`` has those
on the inner splits, which set its weights.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

import numpy as np

from nsse._errors import rule_error
from nsse.datasets import Dataset, load_dataset
from nsse.evaluation import Row, Task, per_class_split
from nsse.paper import method_row, nsse_row, second_row
from nsse.paper.candidates import Labels, Tried, packed
from nsse.paper.settings import IMAGE_SIZE, SECOND, Profile, Recipe

Part = tuple[dict[str, Any], Labels]  # samples by their scaling, and labels


@dataclass(frozen=True)
class Work:
    """``Work(profile)(task)`` gives the row of a task; to be handed to `run_tasks`."""

    profile: Profile

    def __call__(self, task: Task) -> Row:
        """Load, split, choose, fit and count mistakes."""
        recipe = self.profile.recipe(task.dataset, task.method, task.n_train)
        if task.parameters.get("recipe") != recipe.fingerprint:
            rule = f"be made with the settings of this version, {recipe.fingerprint}"
            cure = "Make it anew with `profile.task`."
            raise rule_error("task", rule, task.parameters.get("recipe"), cure)
        sets = {
            scaling: samples(task.dataset, scaling, recipe.image_size) for scaling in recipe.scalings
        }
        y = next(iter(sets.values())).y
        train, test = per_class_split(y, task.n_train, task.seed)
        parts = [
            ({name: data.X[part] for name, data in sets.items()}, y[part]) for part in (train, test)
        ]
        measure = _measures(task.method, next(iter(sets.values())).image_shape)
        with warnings.catch_warnings(record=True) as caught:
            # Unreachable tolerances and degenerate embeddings are part of a grid: counted, not shown.
            warnings.simplefilter("always")
            row = measure(task, recipe, *parts)
        told = Counter(warning.category.__name__ for warning in caught)
        return Row(
            task, **row | {"details": row["details"] | {"n_test": len(test), "warnings": dict(told)}}
        )


def _measures(method: str, shape: tuple[int, ...] | None) -> Callable[..., dict[str, Any]]:
    if method in SECOND:
        return partial(_second, shape=shape or ())
    return _nsse if method == "NSSE" else _other


@lru_cache(maxsize=4)
def samples(dataset: str, scaling: str, size: tuple[int, int]) -> Dataset:
    """A data set of the paper, its images divided by their norm or not; kept for the next row."""
    return load_dataset(dataset, size=size, unit_norm=scaling == "unit")


def unreadable(datasets: Iterable[str]) -> dict[str, Exception]:
    """The data sets that are not there, or not whole, and why."""
    problems: dict[str, Exception] = {}
    for dataset in datasets:
        try:
            samples(dataset, "unit", IMAGE_SIZE)
        except (OSError, ValueError) as error:
            problems[dataset] = error
    return problems


def _nsse(task: Task, recipe: Recipe, train: Part, test: Part) -> dict[str, Any]:
    (X_train, y), (X_test, y_test) = train, test
    start = perf_counter()
    scored = nsse_row.validated(recipe, X_train, y, task.seed)
    chosen = nsse_row.best(scored)
    mistakes: dict[Tried, int] = {}
    for scaling, X in X_train.items():
        parts = (X, y), (X_test[scaling], y_test)
        mistakes |= nsse_row.test_mistakes(recipe, scaling, *parts)
    model = nsse_row.fitted(chosen, X_train[chosen.scaling], y)
    begun = perf_counter()
    predicted = model.predict(X_test[chosen.scaling])
    predict_seconds = perf_counter() - begun
    return {
        "error": int(np.sum(predicted != y_test)) / len(y_test),
        "fit_seconds": perf_counter() - start - predict_seconds,
        "predict_seconds": predict_seconds,
        "chosen": {"scaling": chosen.scaling, "d": chosen.d, **chosen.parameters},
        "details": {
            "candidates": packed(mistakes),
            "validation": packed(nsse_row.validation_mistakes(scored)),
        },
    }


def _other(task: Task, recipe: Recipe, train: Part, test: Part) -> dict[str, Any]:
    (X_train, y), (X_test, y_test) = train, test
    start = perf_counter()
    failures: Counter[str] = Counter()
    mistakes: dict[Tried, int] = {}
    for scaling, X in X_train.items():
        parts = (X, y), (X_test[scaling], y_test)
        mistakes |= method_row.mistakes(task.method, recipe, scaling, *parts, failures)
    if not mistakes:
        raise ValueError(f"No point of the grid could be fitted: {dict(failures)}.")
    validation = {}
    if len(mistakes) > 1:
        validation = method_row.choose(task.method, recipe, X_train, y, task.seed, failures)
    # Of equal candidates the first of the grid; one that a smaller training set cannot have is left out.
    chosen = min(mistakes, key=lambda tried: validation.get(tried, np.inf))
    unsaid = {} if chosen in validation or len(mistakes) == 1 else {"validated": False}
    return {
        "error": mistakes[chosen] / len(y_test),
        # Fits and predictions of a grid go together; they are not told apart.
        "fit_seconds": perf_counter() - start,
        "predict_seconds": 0.0,
        "chosen": {"scaling": chosen.scaling, "d": chosen.d, **chosen.parameters, **unsaid},
        "details": {"candidates": packed(mistakes), "failures": dict(failures)},
    }


def _second(
    task: Task, recipe: Recipe, train: Part, test: Part, shape: tuple[int, ...]
) -> dict[str, Any]:
    (X_train, y), (X_test, y_test) = train, test
    learnt = {
        scaling: second_row.learnt(
            task.method, recipe, second_row.Samples.of(X, y, shape), task.seed, X_test[scaling]
        )
        for scaling, X in X_train.items()
    }
    begun = perf_counter()
    mistakes = {
        scaling: int(np.sum(one.model.predict(X_test[scaling]) != y_test))
        for scaling, one in learnt.items()
    }
    predict_seconds = perf_counter() - begun
    # Of equal scores the first scaling.
    best = max(learnt, key=lambda scaling: round(learnt[scaling].score, 12))
    chosen = learnt[best]
    return {
        "error": mistakes[best] / len(y_test),
        "fit_seconds": sum(one.seconds for one in learnt.values()),
        "predict_seconds": predict_seconds,
        "chosen": {"scaling": best, "d": chosen.d, **chosen.parameters},
        "details": {
            "candidates": packed({one.tried(s): mistakes[s] for s, one in learnt.items()}),
            "scores": {scaling: one.score for scaling, one in learnt.items()},
        },
    }
