"""``nsse reproduce --check``: one random row per table computed again, the tables made again."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import TYPE_CHECKING

from nsse.cli.reproduce_steps import opened, profile_and_folder
from nsse.cli.screen import echo

if TYPE_CHECKING:
    from nsse.evaluation import Row
    from nsse.paper.settings import Profile

# Another processor or BLAS rounds differently, and a tie may fall the other way: shares of test samples.
TOLERANCE = 0.005


def check_rows(quick: bool, out: Path | None) -> bool:
    """Whether everything agrees; says so line by line."""
    profile, folder = profile_and_folder(quick, out)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"`--out` must be a folder of results. Got {str(folder)!r}. "
            "Run `nsse reproduce tables` first."
        )
    with opened(folder) as store:
        rows = [row for row in store.rows() if profile.owns(row.task)]
    if not rows:
        raise ValueError(
            f"`--out` must hold rows of these settings. Got {str(folder)!r} without any. "
            "Run `nsse reproduce tables` first."
        )
    agreed = [_check_tables(rows, profile, folder)]
    for dataset in dict.fromkeys(row.task.dataset for row in rows):
        chosen = random.choice([row for row in rows if row.task.dataset == dataset])
        agreed.append(_check_row(chosen, profile))
    return all(agreed)


def _check_tables(rows: list[Row], profile: Profile, folder: Path) -> bool:
    """The tables on disk are those of the rows: no cell was edited."""
    from nsse.paper.tables import TABLE_HEADER, cells, table_lines

    with (folder / "tables.csv").open(newline="", encoding="utf-8") as stream:
        stored = list(csv.reader(stream))
    made = [
        TABLE_HEADER,
        *([str(value) for value in line] for line in table_lines(cells(rows, profile))),
    ]
    if stored == made:
        echo(f"tables.csv: {len(made) - 1} lines, all made of the rows.")
        return True
    wrong = [",".join(line) for line in stored if line not in made]
    missing = [",".join(line) for line in made if line not in stored]
    echo(f"tables.csv DIFFERS from its rows: has {wrong[:3]}, lacks {missing[:3]}.")
    return False


def _check_row(row: Row, profile: Profile) -> bool:
    """Compute it anew; the choice made and every error must be the same."""
    from nsse._threads import one_blas_thread
    from nsse.paper.candidates import unpacked
    from nsse.paper.work import Work

    with one_blas_thread():
        again = Work(profile)(row.task)
    before, after = (unpacked(r.details["candidates"]) for r in (row, again))
    n_test = row.details["n_test"]
    what = f"{row.task.method} on {row.task.dataset}, {row.task.n_train} per class, seed {row.task.seed}"
    if set(before) != set(after):
        echo(f"{what}: DIFFERS, other candidates could be fitted.")
        return False
    largest = max(abs(before[c] - after[c]) for c in before) / n_test
    gap = abs(row.error - again.error)
    told = f"error {100 * row.error:.2f} stored, {100 * again.error:.2f} now, {len(before)} candidates"
    if largest == 0 and row.chosen == again.chosen:
        echo(f"{what}: identical ({told}).")
        return True
    agrees = max(gap, largest) <= TOLERANCE
    told += f", largest difference of one {100 * largest:.2f} points"
    echo(f"{what}: {'agrees within rounding' if agrees else 'DIFFERS'} ({told}).")
    return agrees
