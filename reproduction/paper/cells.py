"""Estimators of this library in the cells of the paper's tables, beside the best of its other methods.

The splits are those of the tables; everything is chosen on the training samples of each realisation, the
scaling of the images by the validation score where the tables tried two.
"""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from nsse.evaluation import per_class_split

from nsse import NSSE, NSSECV
from reproduction.paper.printed import METHODS as OF_THE_PAPER
from reproduction.paper.printed import PRINTED
from reproduction.paper.settings import FULL, IMAGE_SIZE, REALISATIONS, SCALINGS
from reproduction.paper.tables import TableEntry, cells
from reproduction.paper.work import samples
from reproduction.rows import Row, RowFile, Task
from reproduction.running import run_tasks

HERE = Path(__file__).resolve().parents[1]
CELLS = {name: tuple(PRINTED[name]) for name in ("yale", "orl", "coil20")}


# Another estimator is a line.
METHODS: dict[str, Callable[[], Any]] = {"tuned": NSSECV, "plain": NSSE}


def run(options: Namespace) -> list[str]:
    """Measure what is missing, print the cells."""
    rows = RowFile((options.out or HERE) / "cells.jsonl")
    tasks = [
        Task(name, options.method, size, seed, protocol="cells")
        for seed in range(options.repeats or REALISATIONS)
        for name in options.datasets or CELLS
        for size in CELLS[name]
        if not options.sizes or size in options.sizes
    ]
    outcome = run_tasks(tasks, measured, rows, options.jobs)
    print(outcome)
    honest = [e for e in cells(RowFile(HERE / "rows.jsonl").rows(), FULL) if e.protocol == "honest"]
    print("\n".join(lines(rows.rows(), honest)))
    return outcome.reasons


def measured(task: Task) -> Row:
    """Test error; of several scalings that of the one that validates best."""
    tried: list[tuple[float, int, float, str]] = []
    start = perf_counter()
    scalings = SCALINGS.get(task.dataset, ("unit",))
    for scaling in scalings[:1] if task.method == "plain" else scalings:
        data = samples(task.dataset, scaling, IMAGE_SIZE)
        train, test = per_class_split(data.y, task.n_train, task.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = METHODS[task.method]().fit(data.X[train], data.y[train])
        wrong = float(np.mean(model.predict(data.X[test]) != data.y[test]))
        tried.append((-getattr(model, "best_score_", 0.0), len(tried), wrong, scaling))
    best = min(tried)
    return Row(task, best[2], perf_counter() - start, 0.0, {"scaling": best[3]})


def lines(rows: Sequence[Row], honest: Sequence[TableEntry]) -> list[str]:
    """Mean and standard error of every cell and method, beside the best other method."""
    errors: dict[tuple[str, int, str], list[float]] = {}
    for row in rows:
        place = row.task.dataset, row.task.n_train, row.task.method
        errors.setdefault(place, []).append(100 * row.error)
    told = []
    for (name, size, method), own in sorted(errors.items()):
        spread = np.std(own, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
        others = [
            e for e in honest if (e.dataset, e.n_train) == (name, size) and e.method in OF_THE_PAPER
        ]
        best = min((e for e in others if e.method != "NSSE"), key=lambda e: e.error)
        ahead = "ahead" if np.mean(own) < best.error else "behind"
        mean = f"{np.mean(own):6.2f} ± {spread:.2f} ({len(own)})"
        told.append(f"{name:7s} {size:3d} {method:10s} {mean}  {best.method} {best.error:.2f}: {ahead}")
    return told
