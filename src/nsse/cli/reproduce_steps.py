"""The steps of ``nsse reproduce``: what is asked for, rows, run times, figures, publishing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsse._errors import rule_error
from nsse.cli.files import prepare_folder, replacing, write_csv
from nsse.cli.screen import echo

if TYPE_CHECKING:
    from nsse.evaluation import Failure, RowStore
    from nsse.paper.settings import Profile

ROWS, ROWS_AS_TEXT = "rows.sqlite", "rows.jsonl"


@dataclass(frozen=True)
class Request:
    """What was asked for, checked."""

    profile: Profile
    out: Path
    datasets: list[str]
    methods: list[str]
    sizes: list[int] | None
    repeats: int | None
    jobs: int
    problems: list[str]  # data sets that were asked for and cannot be read


def profile_and_folder(quick: bool, out: Path | None) -> tuple[Profile, Path]:
    """Quick results have a folder of their own: they do not replace the real ones unless told to."""
    from nsse.paper.settings import FULL, QUICK

    default = "reproduction-quick" if quick else "reproduction"
    return (QUICK if quick else FULL), Path(default) if out is None else out


def request(
    quick: bool,
    out: Path | None,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    sizes: list[str] | None = None,
    repeats: int | None = None,
    jobs: int = 1,
) -> Request:
    """Check everything that can be checked before any work is done."""
    profile, folder = profile_and_folder(quick, out)
    chosen = _methods(methods)
    names = _listed("--datasets", datasets, list(profile.sizes)) or list(profile.sizes)
    there = sorted({str(size) for name in names for size in profile.sizes[name]}, key=int)
    numbers = [int(size) for size in _listed("--sizes", sizes, there)] or None
    prepare_folder(folder)
    found, problems = _readable(names, named=datasets is not None)
    return Request(profile, folder, found, chosen, numbers, repeats, jobs, problems)


def compute(asked: Request) -> list[str]:
    """Compute the rows that are not there yet; the reasons of those that could not be."""
    from nsse.evaluation import run_tasks
    from nsse.paper.work import Work

    tasks = asked.profile.tasks(asked.datasets, asked.methods, asked.repeats, asked.sizes)
    with opened(asked.out) as store:
        outcome = run_tasks(tasks, Work(asked.profile), store, n_jobs=asked.jobs)
    echo(f"Rows: {outcome.found} found, {outcome.computed} computed, {len(outcome.failures)} failed.")
    return _reasons(outcome.failures)


def opened(out: Path) -> RowStore:
    """Open the store, with the rows that a copy of the project brings as text."""
    from nsse.evaluation import RowStore, take_over

    store = RowStore(out / ROWS)
    try:
        taken = take_over(store, out / ROWS_AS_TEXT)
    except BaseException:
        store.close()
        raise
    if taken:
        echo(f"Rows taken over from {ROWS_AS_TEXT}: {taken}.")
    return store


def measure_times(asked: Request) -> None:
    """Table 7."""
    from nsse.paper.runtime import TIME_HEADER, run_times

    lines = []
    for line in run_times(asked.profile, asked.datasets):
        lines.append(line.columns())
        write_csv(
            asked.out / "runtime.csv", TIME_HEADER, lines
        )  # after every line: what is done is kept
        echo(f"Run time: {line}")


def draw(asked: Request) -> None:
    """The frames of the figures, and the figures."""
    from nsse.cli.reproduce_figures import draw_all

    with opened(asked.out) as store:
        rows = store.rows()
    draw_all(asked, rows)


def publish(asked: Request) -> None:
    """Everything that is made of the rows, anew."""
    from nsse.cli.reproduce_page import manifest, markdown, page
    from nsse.evaluation import write_rows
    from nsse.paper.tables import CHOICE_HEADER, TABLE_HEADER, cells, choice_lines, table_lines

    with opened(asked.out) as store:
        rows = store.rows()
        write_rows(store, asked.out / ROWS_AS_TEXT)
    found = cells(rows, asked.profile)
    write_csv(asked.out / "tables.csv", TABLE_HEADER, table_lines(found))
    write_csv(asked.out / "choices.csv", CHOICE_HEADER, choice_lines(found))
    facts = manifest(asked.profile, rows)
    _write(asked.out / "manifest.json", json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    _write(asked.out / "tables.md", markdown(found))
    _write(asked.out / "index.html", page(found, asked.out, facts))
    echo(f"Page: {asked.out / 'index.html'}")


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _methods(methods: list[str] | None) -> list[str]:
    from nsse.paper.grids import umap_installed
    from nsse.paper.settings import ALL_METHODS

    chosen = _listed("--methods", methods, ALL_METHODS)
    if "UMAP" in chosen and not umap_installed():
        raise ImportError("The method UMAP needs umap-learn. Install it: pip install 'nsse[umap]'")
    return chosen or [name for name in ALL_METHODS if name != "UMAP" or umap_installed()]


def _listed(option: str, given: list[str] | None, known: Sequence[str]) -> list[str]:
    """Names separated by commas, each of them known, each once; none where nothing was given."""
    names = list(dict.fromkeys(name.strip() for part in given or [] for name in part.split(",")))
    for name in names:
        if name not in known:
            raise rule_error(option, f"be among {', '.join(known)}", name, "Separate them by commas.")
    return names


def _readable(names: list[str], named: bool) -> tuple[list[str], list[str]]:
    """Which data sets can be read, and what is wrong with the others.

    One that is not there is no mistake unless it was named; one that is there in part always is.
    """
    from nsse.datasets import DatasetNotFoundError
    from nsse.paper.settings import IMAGE_SIZE
    from nsse.paper.work import samples

    found: list[str] = []
    problems: list[str] = []
    absent: list[str] = []
    for name in names:
        try:
            samples(name, "unit", IMAGE_SIZE)
            found.append(name)
        except DatasetNotFoundError as error:
            (problems if named else absent).append(f"{name}: {error}")
        except (OSError, ValueError) as error:
            problems.append(f"{name}: {error}")
    if not found:
        raise FileNotFoundError(f"{[*problems, *absent][0]} Or try --quick, which needs no data.")
    if absent:
        left_out = ", ".join(line.partition(":")[0] for line in absent)
        echo(f"Not found and left out: {left_out}. Name one with --datasets to see where to get it.")
    return found, problems


def _reasons(failures: Sequence[Failure]) -> list[str]:
    """One line per reason, with the number of rows that it cost."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.reason, []).append(failure)
    return [
        f"{group[0].task}: {reason}" + (f" (and {len(group) - 1} rows more)" if len(group) > 1 else "")
        for reason, group in groups.items()
    ]
