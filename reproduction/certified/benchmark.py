"""Which rows the table of certified accuracy has, and how one is measured."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nsse._support.types import Floats, Ints
from reproduction.certified import page, sets
from reproduction.certified.attack import withstands
from reproduction.certified.methods import METHODS, RADII, Tuned
from reproduction.rows import Row, RowFile, Task, plain
from reproduction.running import chosen, run_tasks

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs" / "research"
SPLITS = 5
# Part of every key: counted up if a grid, an attack or how samples are prepared changes.
RECIPE = {"recipe": 1}


def run(options: Namespace) -> list[str]:
    """Compute the rows that are not stored yet, or write the page."""
    out = options.out or HERE
    if options.page:
        page.publish(RowFile(out / "rows.jsonl").rows(), (options.out or DOCS) / "certified.md")
        return []
    names = chosen("--sets", options.sets, sets.names())
    compared = chosen("--methods", options.methods, METHODS)
    tasks = tasks_of(names, compared, tuple(options.sizes or sets.SIZES), options.splits or SPLITS)
    return run_tasks(tasks, measured, RowFile(out / "rows.jsonl"), options.jobs).reasons


def tasks_of(
    names: Sequence[str], methods: Sequence[str], sizes: tuple[int, ...], n_splits: int
) -> list[Task]:
    """Return all tasks. The first split comes before the second, and few samples before many."""
    places = [
        (place, size, name) for name in names for place, size in enumerate(sets.sizes_of(name, sizes))
    ]
    return [
        Task(name, method, size, seed, None, RECIPE, "certified")
        for seed in range(n_splits)
        for _, size, name in sorted(places, key=lambda one: one[0])
        for method in methods
    ]


def measured(task: Task) -> Row:
    """Tune a classifier for every radius, and measure certified and attacked accuracy at all of them."""
    X, y, X_test, y_test = sets.split(task.dataset, task.n_train, task.seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of linear models that have not converged
        start = process_time()
        tuned = METHODS[task.method](X, y)
        fitted = process_time()
        found = {
            str(radius): _of_model(one, radius, X, y, X_test, y_test) for radius, one in tuned.items()
        }
        measured = process_time()
    choices = {str(radius): dict(one.chosen) for radius, one in tuned.items()}
    details = {"tuned": found, "train": len(X), "test": len(X_test), "features": X.shape[1]}
    details["classes"] = int(y.max()) + 1
    error = 1.0 - found[str(0.0)]["certified"][str(0.0)]
    return Row(task, error, fitted - start, measured - fitted, choices, plain(details))


def _of_model(
    one: Tuned, tuned_for: float, X: Floats, y: Ints, X_test: Floats, y_test: Ints
) -> dict[str, Any]:
    """Return the certified and the attacked accuracy by radius.

    Exact radii need no attack, because the accuracy under the best attack is the certified accuracy. A
    model that was tuned for a radius is attacked at this radius alone, and one that was tuned for
    accuracy at all of them. Samples that are certified need no attack.
    """
    right, radii = one.model.predict(X_test) == y_test, one.radii(one.model, X_test)
    certified = {str(0.0): float(right.mean())}
    attacked = dict(certified)
    holds = right.copy()
    for radius in RADII:
        proved = right & (radii >= radius)
        certified[str(radius)] = float(proved.mean())
        if one.is_exact:
            attacked[str(radius)] = certified[str(radius)]
        elif tuned_for in (0.0, radius):
            open_cases = np.flatnonzero(holds & ~proved)
            if len(open_cases):
                some = X_test[open_cases], y_test[open_cases]
                holds[open_cases] = withstands(one.model, *some, radius, X, y)
            attacked[str(radius)] = float(holds.mean())
    return {"certified": certified, "attacked": attacked}
