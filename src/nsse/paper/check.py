"""Whether a reproduction holds: tables made again of the rows, one random row of each computed anew."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from pathlib import Path

from nsse._threads import one_blas_thread
from nsse.evaluation import Row
from nsse.paper.candidates import unpacked
from nsse.paper.settings import Profile
from nsse.paper.tables import TABLE_HEADER, cells, table_lines
from nsse.paper.work import Work

# Another processor or BLAS rounds differently, and a tie may fall the other way: shares of test samples.
TOLERANCE = 0.005

Finding = tuple[bool, str]  # whether it agrees, and what was found


def findings(rows: list[Row], profile: Profile, tables: Path) -> Iterator[Finding]:
    """The tables of a file against their rows, then one row of every data set."""
    yield _tables(rows, profile, tables)
    for dataset in dict.fromkeys(row.task.dataset for row in rows):
        yield _row(random.choice([row for row in rows if row.task.dataset == dataset]), profile)


def _tables(rows: list[Row], profile: Profile, tables: Path) -> Finding:
    """The tables on disk are those of the rows: no cell was edited."""
    with tables.open(newline="", encoding="utf-8") as stream:
        stored = list(csv.reader(stream))
    lines = table_lines(cells(rows, profile))
    made = [TABLE_HEADER, *([str(value) for value in line] for line in lines)]
    if stored == made:
        return True, f"tables.csv: {len(made) - 1} lines, all made of the rows."
    wrong = [",".join(line) for line in stored if line not in made]
    missing = [",".join(line) for line in made if line not in stored]
    return False, f"tables.csv DIFFERS from its rows: has {wrong[:3]}, lacks {missing[:3]}."


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
