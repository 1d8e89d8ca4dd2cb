"""Any other method on one split: the mistakes of its whole grid, and the choice of cross-validation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from nsse.extensions import nearest_labels
from nsse.paper.candidates import WHOLE, Labels, Tried
from nsse.paper.grids import GRIDS, Params, candidate, dimensions_below
from nsse.paper.settings import Recipe
from nsse.paper.validation import validation_splits

# Where a point of a grid cannot be fitted to some split, it is no candidate there.
UNFIT = (ValueError, np.linalg.LinAlgError, ArithmeticError)

Failures = Counter[str]  # kind of error -> fits


def mistakes(
    method: str,
    recipe: Recipe,
    scaling: str,
    train: tuple[Any, Labels],
    test: tuple[Any, Labels],
    failures: Failures,
) -> dict[Tried, int]:
    """Wrong labels of test samples for every parameter and d; one fit serves all d."""
    (X, y), (X_test, y_test) = train, test
    counts: dict[Tried, int] = {}
    for parameters in recipe.parameters:
        try:
            labels = _labels(method, parameters, recipe, X, y, X_test)
        except UNFIT as error:
            failures[type(error).__name__] += 1
            continue
        for d, predicted in labels.items():
            counts[Tried(scaling, d, parameters)] = int(np.sum(predicted != y_test))
    return counts


def choose(
    method: str, recipe: Recipe, data: dict[str, Any], y: Labels, seed: int, failures: Failures
) -> dict[Tried, float]:
    """Mean validation error of every candidate that could be fitted on every split."""
    totals: dict[Tried, list[float]] = {}
    splits = list(validation_splits(recipe, y, seed))
    for scaling, X in data.items():
        for train, valid in splits:
            parts = (X[train], y[train]), (X[valid], y[valid])
            for tried, count in mistakes(method, recipe, scaling, *parts, failures).items():
                totals.setdefault(tried, []).append(count / len(valid))
    return {tried: float(np.mean(t)) for tried, t in totals.items() if len(t) == len(splits)}


def _labels(
    method: str, parameters: Params, recipe: Recipe, X: Any, y: Labels, X_test: Any
) -> dict[int | str | None, Labels]:
    n_classes = len(np.unique(y))
    model = candidate(method, parameters, X, n_classes).fit(X, y)
    if GRIDS[method].largest is not None:
        embedded = np.asarray(model.embedding_), np.asarray(model.transform(X_test))
    elif isinstance(model, Pipeline) and method == "LDA":
        embedded = model[:-1].transform(X), model[:-1].transform(X_test)
    else:
        return {None: model.predict(X_test)}
    whole = embedded[0].shape[1]
    cuts: dict[int | str | None, int] = {d: d for d in _dimensions(recipe, n_classes) if d < whole}
    cuts[WHOLE] = whole
    return {name: nearest_labels(embedded[0][:, :d], y, embedded[1][:, :d]) for name, d in cuts.items()}


def _dimensions(recipe: Recipe, n_classes: int) -> list[int]:
    multiples = {round(multiple * n_classes) for multiple in recipe.multiples}
    return sorted({*dimensions_below(n_classes, recipe.shares), *multiples})
