"""Check a reproduction: make its tables again from the rows, and compute random rows again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from threadpoolctl import threadpool_limits

from reproduction.paper.candidates import Tried, unpacked
from reproduction.paper.settings import MANY, N_CLASSES, OURS, Profile
from reproduction.paper.tables import table_frame, table_text
from reproduction.paper.work import measured
from reproduction.rows import Row, Task

# Another processor or BLAS rounds differently, and can break a tie differently. Fractions of the
# test samples.
TOLERANCE = 0.005
# For NSSE: at most a fraction BEYOND of the candidates may differ by more than BORDER test samples (see
# ``grid_row``). The choice and its error may not differ.
BORDER, BEYOND = 3, 0.05
# Rows are computed again if their fits took at most so many seconds: those of the paper, and ours.
SHORT = {False: 60.0, True: 5.0}

Finding = tuple[bool, str]  # whether it agrees, and a sentence


def findings(
    rows: list[Row], profile: Profile, out: Path, wanted: tuple[set[str], set[str]], n_rows: int = 1
) -> Iterator[Finding]:
    """Compare the table with its rows, and ``n_rows`` rows of every data set and kind with new ones.

    ``wanted`` are the data sets and the methods whose rows are computed again.
    """
    yield _file(out / "tables.csv", table_text(table_frame(rows, profile)))
    for dataset in sorted({row.task.dataset for row in rows} & wanted[0]):
        own = [row for row in rows if row.task.dataset == dataset and row.task.method in wanted[1]]
        for is_ours in (False, True):
            kind = [row for row in own if (row.task.method in OURS) == is_ours]
            quick = [row for row in kind if _is_quick(row, is_ours)]
            for row in random.sample(quick, min(n_rows, len(quick))):
                yield _row(row, profile)


def _is_quick(row: Row, is_ours: bool) -> bool:
    task = row.task
    few = task.method != "NSSE" or task.n_train * N_CLASSES[task.dataset] <= MANY
    return few and row.fit_seconds < SHORT[is_ours]


def _file(path: Path, text: str) -> Finding:
    """Compare a file with the text that its rows give."""
    if not path.exists():
        return False, f"{path.name} is MISSING. Run `python -m reproduction tables`."
    stored, made = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
    if stored == made:
        return True, f"{path.name}: {len(made) - 1} lines, all computed from the rows."
    wrong = [line for line in stored if line not in made]
    missing = [line for line in made if line not in stored]
    return False, f"{path.name} DIFFERS from its rows: has {wrong[:3]}, lacks {missing[:3]}."


def _is_determined(task: Task, tried: Tried) -> bool:
    """Return False if SUPLAP is cut among its first M − 1 eigenvalues, which are equal."""
    d = tried.d
    return task.method != "SUPLAP" or not isinstance(d, int) or d >= N_CLASSES[task.dataset] - 1


def _row(row: Row, profile: Profile) -> Finding:
    """Compute a row again, and compare its choice and all errors."""
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
