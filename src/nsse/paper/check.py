"""Whether a reproduction holds: tables made again of the rows, random rows of each computed anew."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nsse._threads import one_blas_thread
from nsse.evaluation import Row
from nsse.paper.candidates import unpacked
from nsse.paper.second_edition import PICTURE_HEADER, HonestErrors, picture_lines
from nsse.paper.settings import SECOND, Profile
from nsse.paper.tables import TABLE_HEADER, cells, table_lines
from nsse.paper.work import Work

# Another processor or BLAS rounds differently, and a tie may fall the other way: shares of test samples.
TOLERANCE = 0.005
# Seconds that a row of the second edition took, if it is to be computed again: copies take long.
SHORT = 5.0

Finding = tuple[bool, str]  # whether it agrees, and what was found


def findings(rows: list[Row], profile: Profile, tables: Path, picture: Path) -> Iterator[Finding]:
    """The files against their rows, then of every data set a row of either edition."""
    yield _file(tables, TABLE_HEADER, table_lines(cells(rows, profile)))
    marks = picture_lines(HonestErrors.of(rows, profile))
    if marks:
        yield _file(picture, PICTURE_HEADER, marks)
    for dataset in dict.fromkeys(row.task.dataset for row in rows):
        own = [row for row in rows if row.task.dataset == dataset]
        first = [row for row in own if row.task.method not in SECOND]
        second = [row for row in own if row.task.method in SECOND and row.fit_seconds < SHORT]
        for edition in filter(None, (first, second)):
            yield _row(random.choice(edition), profile)


def _file(path: Path, header: list[str], lines: list[list[Any]]) -> Finding:
    """What is on disk is made of the rows: no cell was edited."""
    if not path.exists():
        return False, f"{path.name} is MISSING. Run `nsse reproduce tables`."
    with path.open(newline="", encoding="utf-8") as stream:
        stored = list(csv.reader(stream))
    made = [header, *([str(value) for value in line] for line in lines)]
    if stored == made:
        return True, f"{path.name}: {len(made) - 1} lines, all made of the rows."
    wrong = [",".join(line) for line in stored if line not in made]
    missing = [",".join(line) for line in made if line not in stored]
    return False, f"{path.name} DIFFERS from its rows: has {wrong[:3]}, lacks {missing[:3]}."


def _row(row: Row, profile: Profile) -> Finding:
    """Compute it anew; the choice made and every error must be the same."""
    with one_blas_thread():
        again = Work(profile)(row.task)
    before, after = (unpacked(r.details["candidates"]) for r in (row, again))
    what = f"{row.task.method} on {row.task.dataset}, {row.task.n_train} per class, seed {row.task.seed}"
    if set(before) != set(after):
        return False, f"{what}: DIFFERS, other candidates could be fitted."
    largest = max(abs(before[c] - after[c]) for c in before) / row.details["n_test"]
    told = f"error {100 * row.error:.2f} stored, {100 * again.error:.2f} now, {len(before)} candidates"
    if largest == 0 and row.chosen == again.chosen:
        return True, f"{what}: identical ({told})."
    agrees = max(abs(row.error - again.error), largest) <= TOLERANCE
    told += f", largest difference of one {100 * largest:.2f} points"
    return agrees, f"{what}: {'agrees within rounding' if agrees else 'DIFFERS'} ({told})."
