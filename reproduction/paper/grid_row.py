"""A method of the paper on one split: its whole grid on inner splits and on the test samples.

Every candidate of NSSE is a separate fit. Most stored rows come from sweeps over the kernel scale, which
interpolated embeddings between scales. Single test samples may get another label there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from nsse import NSSE
from reproduction.paper.candidates import WHOLE, Split, Tried, packed
from reproduction.paper.grids import GRIDS, Params, candidate
from reproduction.paper.settings import Recipe

# If a fit raises one of these, the candidate is left out.
UNFIT = (ValueError, np.linalg.LinAlgError, ArithmeticError)


class Scored(NamedTuple):
    """Mean error of a candidate on inner splits, its wrong labels, and its mean σ."""

    error: float
    wrong: int
    sigma: float


NEVER = Scored(np.inf, 0, 0.0)


def grid_row(own: Split) -> dict[str, Any]:
    """Return the columns of the row: choice and error, and the mistakes of every candidate."""
    start = perf_counter()
    method, failures = own.task.method, Counter[str]()
    mistakes = {
        tried: int(np.sum(labels != own.y_test))
        for scaling, X in own.X.items()
        for tried, labels, _ in fits(
            method, own.recipe, scaling, (X, own.y), own.X_test[scaling], failures
        )
    }
    if not mistakes:
        raise ValueError(f"No candidate could be fitted: {dict(failures)}.")
    scored: dict[Tried, Scored] = {}
    if len(mistakes) > 1:
        scored = validated(method, own.recipe, own.X, own.y, own.task.seed, failures)
    if method == "NSSE":
        chosen = best(method, scored)
        more: dict[str, Any] = {"validation": packed({t: one.wrong for t, one in scored.items()})}
    else:
        # Candidates that do not exist for smaller training sets are left out.
        chosen = best(method, {tried: scored.get(tried, NEVER) for tried in mistakes})
        more = {"failures": dict(failures)}
    unsaid = {} if chosen in scored or len(mistakes) == 1 else {"validated": False}
    return {
        "error": mistakes[chosen] / len(own.y_test),
        "fit_seconds": perf_counter() - start,
        "predict_seconds": 0.0,  # included in the fits
        "chosen": chosen.chosen | unsaid,
        "details": {"candidates": packed(mistakes)} | more,
    }


def validated(
    method: str, recipe: Recipe, data: Mapping[str, Any], y: Any, seed: int, failures: Counter[str]
) -> dict[Tried, Scored]:
    """Return the scores of the candidates that could be fitted on all inner splits."""
    found: dict[Tried, list[tuple[float, int, float]]] = {}
    splits = list(recipe.splits(y, seed))
    for scaling, X in data.items():
        for train, valid in splits:
            given = (X[train], y[train]), X[valid], failures
            for tried, labels, sigma in fits(method, recipe, scaling, *given):
                wrong = int(np.sum(labels != y[valid]))
                found.setdefault(tried, []).append((wrong / len(valid), wrong, sigma))
    whole = {tried: np.array(own).T for tried, own in found.items() if len(own) == len(splits)}
    return {
        tried: Scored(float(errors.mean()), int(wrong.sum()), float(sigmas.mean()))
        for tried, (errors, wrong, sigmas) in whole.items()
    }


def best(method: str, scored: Mapping[Tried, Scored]) -> Tried:
    """Return the candidate with the lowest error. For NSSE, the smoother map wins ties."""
    if not scored:
        raise ValueError("No candidate could be fitted on every split.")
    if method != "NSSE":
        return min(scored, key=lambda tried: scored[tried].error)

    def place(tried: Tried) -> tuple[float, float, float, int]:
        # Sums in another order differ by rounding, which is a tie.
        error, mu2 = round(scored[tried].error, 12), float(tried.parameters["mu2"])
        return -error, scored[tried].sigma, mu2, -int(tried.d or 0)

    return max(scored, key=place)


Fits = Iterator[tuple[Tried, Any, float]]


def fits(
    method: str, recipe: Recipe, scaling: str, train: tuple[Any, Any], X_new: Any, failures: Counter[str]
) -> Fits:
    """Return candidates with the labels of new samples and σ of NSSE. Failures are counted."""
    n_classes = len(np.unique(train[1]))
    shared = method != "NSSE"  # one fit serves all d
    for d in (None,) if shared else recipe.dimensions(n_classes):
        for parameters in recipe.parameters:
            try:
                if shared:
                    for cut, labels in _labels(method, parameters, recipe, train, X_new).items():
                        yield Tried(scaling, cut, parameters), labels, 0.0
                else:
                    model = NSSE(n_components=d, **parameters).fit(*train)
                    sigma = float(model.sigma_ / model.length_unit_)
                    yield Tried(scaling, d, parameters), model.predict(X_new), sigma
            except UNFIT as error:
                failures[type(error).__name__] += 1


def _labels(
    method: str, parameters: Params, recipe: Recipe, train: tuple[Any, Any], X_new: Any
) -> dict[int | str | None, Any]:
    X, y = train
    n_classes = len(np.unique(y))
    model = candidate(method, parameters, X, n_classes).fit(X, y)
    if GRIDS[method]["largest"] is not None:
        embedded = np.asarray(model.embedding_), np.asarray(model.transform(X_new))
    elif isinstance(model, Pipeline) and method == "LDA":
        embedded = model[:-1].transform(X), model[:-1].transform(X_new)
    else:
        return {None: model.predict(X_new)}
    whole = embedded[0].shape[1]
    tried = {*recipe.dimensions(n_classes), *(round(m * n_classes) for m in recipe.multiples)}
    cuts: dict[int | str | None, int] = {d: d for d in sorted(tried) if d < whole}
    cuts[WHOLE] = whole
    nearest = KNeighborsClassifier(1, algorithm="brute")
    return {
        name: nearest.fit(embedded[0][:, :d], y).predict(embedded[1][:, :d]) for name, d in cuts.items()
    }
