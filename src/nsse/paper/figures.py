"""The frames behind the paper's figures: columns of numbers, not pictures.

- `convergence`: Algorithm 1 from a kernel scale that is too high and one that is too low;
- `error_against_dimension`: read from the rows of the tables;
- `plane_embeddings`: NSSE and SUPLAP in two dimensions, training and test samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nsse._threads import one_blas_thread
from nsse.estimators import NSSE, SUPLAP
from nsse.estimators.catalogue import DEFAULTS_0_1
from nsse.evaluation import Row, per_class_split
from nsse.extensions import nearest_labels
from nsse.paper import nsse_row
from nsse.paper.candidates import WHOLE
from nsse.paper.printed import DIMENSION_FIGURES
from nsse.paper.settings import ALL_METHODS, IMAGE_SIZE, N_CLASSES, Profile
from nsse.paper.tables import paper_errors
from nsse.paper.validation import validation_splits
from nsse.paper.work import samples
from nsse.solvers.trace import Step

Frame = dict[str, list[Any]]

# Which data set a figure shows: the first of these that is there.
CONVERGENCE_SETS = ("fei", "orl", "coil20", "objects")
PLANE_SETS = ("csie", "coil20", "objects")
CONVERGENCE_SAMPLES, CONVERGENCE_DIMENSION = 100, 10
STARTS = {"too high": 8.0, "too low": 0.12}  # σ, in units of the median distance
PLANE_CLASSES, PLANE_TRAIN = 10, 7

DIMENSION_GROUPS = (("NSSE", "SUPLAP", "LDA"), ("LFDA", "LDE"))


def convergence(dataset: str) -> Frame:
    """One line per start and step of Algorithm 1: objective, excess, σ and test error.

    As in the paper, 100 training samples in all and d = 10. An iteration has two steps, embedding and
    scale; the test error of a step is that of a fit which a callback ends there.
    """
    data = samples(dataset, "unit", IMAGE_SIZE)
    train, test = per_class_split(data.y, max(2, CONVERGENCE_SAMPLES // N_CLASSES[dataset]), 0)
    names = ("start", "step", "iteration", "stage", "objective", "excess", "sigma", "error")
    frame: Frame = {name: [] for name in names}
    with one_blas_thread():
        for start, sigma in STARTS.items():
            model = NSSE.as_published(
                n_components=CONVERGENCE_DIMENSION, solver="alternating", sigma_init=sigma
            )
            steps: list[Step] = []
            model.set_params(callback=steps.append).fit(data.X[train], data.y[train])
            for number, step in enumerate(steps, start=1):
                model.set_params(callback=_EndAt(number)).fit(data.X[train], data.y[train])
                error = 100.0 * (1.0 - model.score(data.X[test], data.y[test]))
                told = (step.iteration + 1, step.stage, step.objective, step.excess, step.sigma, error)
                _add(frame, start, number, *told)
    return frame


def _add(frame: Frame, *values: Any) -> None:
    for column, value in zip(frame.values(), values, strict=True):
        column.append(value)


class _EndAt:
    """A callback that ends a search after so many steps."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, step: Step) -> bool:
        self._left -= 1
        return self._left == 0


def error_against_dimension(rows: Iterable[Row], profile: Profile, dataset: str) -> Frame:
    """One line per method and d: the smallest mean test error over parameters, in per cent."""
    n_train = DIMENSION_FIGURES.get(dataset, max(profile.sizes[dataset]))
    frame: Frame = {name: [] for name in ("dataset", "n_train", "method", "d", "error", "repeats")}
    mine = [r for r in rows if (r.task.dataset, r.task.n_train) == (dataset, n_train)]
    mine = [row for row in mine if profile.owns(row.task)]
    listed = [name for group in DIMENSION_GROUPS for name in group]
    for method in filter(listed.__contains__, ALL_METHODS):
        group = [row for row in mine if row.task.method == method]
        for d, error in _best_by_dimension(group, N_CLASSES[dataset]).items():
            _add(frame, dataset, n_train, method, d, error, len(group))
    return frame


def _best_by_dimension(rows: Sequence[Row], n_classes: int) -> dict[int, float]:
    best: dict[int, float] = {}
    for candidate, errors in (paper_errors(rows) if rows else {}).items():
        d = candidate.d
        if d == WHOLE and rows[0].task.method == "LDA":
            d = n_classes - 1  # as many as there are
        if isinstance(d, int):
            best[d] = min(best.get(d, np.inf), float(np.mean(errors)))
    return dict(sorted(best.items()))


def plane_embeddings(profile: Profile, dataset: str) -> Frame:
    """One line per method and sample: set, label, two coordinates; and the method's test error.

    Ten classes, seven training samples of each. The weights of NSSE, and of SUPLAP the parameters of
    its grid, are chosen by cross-validation at d = 2.
    """
    data = samples(dataset, "unit", IMAGE_SIZE)
    kept = np.isin(data.y, np.unique(data.y)[:PLANE_CLASSES])
    X, y = data.X[kept], data.y[kept]
    train, test = per_class_split(y, PLANE_TRAIN, 0)
    frame: Frame = {name: [] for name in ("method", "set", "label", "y1", "y2", "error")}
    with one_blas_thread():
        for method, fitted in (("NSSE", _plane_nsse), ("SUPLAP", _plane_suplap)):
            model: Any = fitted(profile, dataset, X[train], y[train])
            error = 100.0 * (1.0 - model.score(X[test], y[test]))
            for part, indices in (("train", train), ("test", test)):
                for label, point in zip(y[indices], model.transform(X[indices]), strict=True):
                    _add(frame, method, part, int(label), float(point[0]), float(point[1]), error)
    return frame


def _plane_nsse(profile: Profile, dataset: str, X: Any, y: Any) -> NSSE:
    recipe = profile.recipe(dataset, "NSSE", PLANE_TRAIN)
    table = nsse_row.cross_validated(recipe, X, y, [2], 0)
    return NSSE.as_published(**table.points[table.best()]).fit(X, y)


def _plane_suplap(profile: Profile, dataset: str, X: Any, y: Any) -> SUPLAP:
    recipe = replace(profile.recipe(dataset, "SUPLAP", PLANE_TRAIN), needs_pairs=False)

    def made(parameters: dict[str, Any]) -> SUPLAP:
        return SUPLAP(2, **DEFAULTS_0_1["SUPLAP"] | parameters)

    def validation_error(parameters: dict[str, Any]) -> float:
        wrong = 0
        for train, valid in validation_splits(recipe, y, 0):
            model = made(parameters).fit(X[train], y[train])
            labels = nearest_labels(model.embedding_, y[train], model.transform(X[valid]))
            wrong += int(np.sum(labels != y[valid]))
        return wrong

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # degenerate embeddings are part of a grid
        return made(min(recipe.parameters, key=validation_error)).fit(X, y)
