"""Our estimators in the cells of the paper's tables, beside the best of its other methods.

Rows are those of the tables: everything is chosen on the training samples of each realisation, the
scaling of the images by the validation score where the tables tried two.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reproduction.paper.printed import METHODS as OF_THE_PAPER
from reproduction.paper.settings import FULL, OF_0_2, SMOOTH, SMOOTH_CV
from reproduction.paper.tables import TableEntry, cells, mean_and_error
from reproduction.paper.work import Work
from reproduction.rows import Row, RowFile, renamed
from reproduction.running import reported

HERE = Path(__file__).resolve().parents[1]
SETS = ("yale", "orl", "coil20")
METHODS = (SMOOTH_CV, SMOOTH)
# Names in ``cells.jsonl``, which version 0.2 left behind.
OLD = {"tuned": "NSSECV 0.2", "svm-within": "SVM within 0.2"}


def run(options: Namespace) -> list[str]:
    """Compute what is missing, print the cells."""
    rows = RowFile((options.out or HERE) / "rows.jsonl")
    tasks = FULL.tasks(options.datasets or SETS, [options.method], options.repeats, options.sizes)
    problems = reported(tasks, Work(FULL), rows, options.jobs)
    stored = renamed(RowFile(HERE / "rows.jsonl").rows(), OF_0_2)
    honest = [entry for entry in cells(stored, FULL) if entry.protocol == "honest"]
    own = [row for row in rows.rows() if row.task.method in METHODS and FULL.owns(row.task)]
    print("\n".join(lines([*renamed(RowFile(HERE / "cells.jsonl").rows(), OLD), *own], honest)))
    return problems


def lines(rows: Sequence[Row], honest: Sequence[TableEntry]) -> list[str]:
    """Mean and standard error of every cell and method, beside the best other method."""
    errors: dict[tuple[str, int, str], list[float]] = {}
    for row in rows:
        place = row.task.dataset, row.task.n_train, row.task.method
        errors.setdefault(place, []).append(100 * row.error)
    told = []
    for (name, size, method), own in sorted(errors.items()):
        average, spread = mean_and_error(own)
        others = [
            e for e in honest if (e.dataset, e.n_train) == (name, size) and e.method in OF_THE_PAPER
        ]
        best = min((e for e in others if e.method != "NSSE"), key=lambda e: e.error)
        ahead = "ahead" if average < best.error else "behind"
        mean = f"{average:6.2f} ± {spread or np.nan:.2f} ({len(own)})"
        told.append(f"{name:7s} {size:3d} {method:17s} {mean}  {best.method} {best.error:.2f}: {ahead}")
    return told
