"""Whether a reproduction holds: tables made again of the rows, random rows of each computed anew."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from threadpoolctl import threadpool_limits

from reproduction.paper.candidates import Tried, unpacked
from reproduction.paper.findings import HonestErrors, picture_frame
from reproduction.paper.settings import COMPUTED, EXTENDED, MANY, N_CLASSES, Profile
from reproduction.paper.tables import cells, table_frame
from reproduction.paper.work import measured
from reproduction.rows import Row, Task, csv_text

# Another processor or BLAS rounds differently, and a tie may fall the other way: shares of test samples.
TOLERANCE = 0.005
# A row of NSSE: test samples on the border of two classes that a candidate may count otherwise, and the
# share of candidates that may do so for more: see ``grid_row``. What was chosen, and its error, may not.
BORDER, BEYOND = 3, 0.05
# Seconds that a row took, if it is to be computed again, and training samples of one of NSSE.
SHORT = {True: 5.0, False: 60.0}

Finding = tuple[bool, str]  # whether it agrees, and what was found


def findings(
    rows: list[Row], profile: Profile, out: Path, wanted: tuple[set[str], set[str]], n_rows: int = 1
) -> Iterator[Finding]:
    """The files against their rows, then of every data set so many rows, the paper's and the others.

    ``wanted`` are the data sets and the methods whose rows are looked at.
    """
    yield _file(out / "tables.csv", csv_text(table_frame(cells(rows, profile))))
    marks = picture_frame(HonestErrors.of(rows, profile))
    if marks:
        yield _file(out / "figures" / "cells.csv", csv_text(marks))
    n_old = sum(row.task.method not in COMPUTED for row in rows)
    if n_old:
        yield True, f"{n_old} rows of version 0.2 are kept as they are: only that version computes them."
    rows = [row for row in rows if row.task.method in COMPUTED]
    for dataset in sorted({row.task.dataset for row in rows} & wanted[0]):
        own = [row for row in rows if row.task.dataset == dataset and row.task.method in wanted[1]]
        for is_extended in (False, True):
            kind = [row for row in own if (row.task.method in EXTENDED) == is_extended]
            quick = [row for row in kind if _is_quick(row, is_extended)]
            for row in random.sample(quick, min(n_rows, len(quick))):
                yield _row(row, profile)


def _is_quick(row: Row, is_extended: bool) -> bool:
    task = row.task
    few = task.method != "NSSE" or task.n_train * N_CLASSES[task.dataset] <= MANY
    return few and row.fit_seconds < SHORT[is_extended]


def _file(path: Path, text: str) -> Finding:
    """What is on disk is made of the rows: no cell was edited."""
    if not path.exists():
        return False, f"{path.name} is MISSING. Run `python -m reproduction tables`."
    stored, made = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
    if stored == made:
        return True, f"{path.name}: {len(made) - 1} lines, all made of the rows."
    wrong = [line for line in stored if line not in made]
    missing = [line for line in made if line not in stored]
    return False, f"{path.name} DIFFERS from its rows: has {wrong[:3]}, lacks {missing[:3]}."


def _is_determined(task: Task, tried: Tried) -> bool:
    """Not where SUPLAP is cut among its first M − 1 eigenvalues, which are equal."""
    d = tried.d
    return task.method != "SUPLAP" or not isinstance(d, int) or d >= N_CLASSES[task.dataset] - 1


def _row(row: Row, profile: Profile) -> Finding:
    """Compute it anew; the choice made and every error must be the same."""
    with threadpool_limits(1):
        again = measured(profile, row.task)
    before, after = (unpacked(r.details["candidates"]) for r in (row, again))
    if set(before) != set(after):
        return False, f"{row.task}: DIFFERS, other candidates could be fitted."
    moved = [abs(before[c] - after[c]) for c in before if _is_determined(row.task, c)]
    if len(moved) < len(before):
        kind = "DIFFERS" if any(moved) else "identical where eigenvalues determine the embedding"
        return not any(moved), f"{row.task}: {kind} ({len(moved)} candidates)."
    told = f"error {100 * row.error:.2f} stored, {100 * again.error:.2f} now, {len(before)} candidates"
    same = row.error == again.error and row.chosen == again.chosen
    if same and not any(moved):
        return True, f"{row.task}: identical ({told})."
    told += f", {sum(map(bool, moved))} of them by up to {max(moved)} test samples"
    if row.task.method == "NSSE":
        agrees = same and sum(count > BORDER for count in moved) <= BEYOND * len(moved)
    else:
        shares = abs(row.error - again.error), max(moved) / row.details["n_test"]
        agrees = max(shares) <= TOLERANCE
    kind = "same choice and error, candidates within rounding" if same else "agrees within rounding"
    return agrees, f"{row.task}: {kind if agrees else 'DIFFERS'} ({told})."
