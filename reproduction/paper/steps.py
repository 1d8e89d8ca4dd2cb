"""The steps of ``python -m reproduction``: rows, run times, figures, the page, the check.

Tables and figures are always made from all stored rows.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nsse._support.errors import rule_error
from nsse.datasets import DatasetNotFoundError
from nsse.figures import save_figure
from reproduction.paper import check, figures, page, tables
from reproduction.paper.runtime import run_times
from reproduction.paper.settings import ALL_METHODS, FULL, QUICK, TITLES, Profile
from reproduction.paper.work import measured, unreadable
from reproduction.rows import Row, RowFile, csv_text, marked, write_text
from reproduction.running import chosen, run_tasks

HERE = Path(__file__).resolve().parents[1]
AUGMENT = HERE.parent / "docs" / "research" / "measurements.md"
FIGURE = Path("figures") / "errors.png"


@dataclass(frozen=True)
class Run:
    """The options of a run, checked: a profile, its folder, and the data sets that can be read."""

    profile: Profile
    out: Path
    datasets: Sequence[str] = ()
    problems: Sequence[str] = ()

    @property
    def rows(self) -> RowFile:
        """The rows of the folder."""
        return RowFile(self.out / "rows.jsonl")


def requested(options: Namespace) -> Run:
    """Return the run of some options. Quick results have a folder of their own."""
    default = Path("reproduction-quick") if options.quick else HERE
    return Run(QUICK if options.quick else FULL, options.out or default)


def planned(options: Namespace) -> Run:
    """Return the run, with the data sets that can be read. Requested ones that cannot are a problem."""
    run = requested(options)
    names = chosen("--datasets", options.datasets, run.profile.sizes)
    chosen("--methods", getattr(options, "methods", None), ALL_METHODS)
    wrong = unreadable(names)
    absent = [] if options.datasets else [n for n in wrong if isinstance(wrong[n], DatasetNotFoundError)]
    if len(wrong) == len(names):
        raise FileNotFoundError(f"{next(iter(wrong.values()))} Or try --quick, which needs no data.")
    if absent:
        print(f"Not found and left out: {', '.join(absent)}.")
    problems = [f"{name}: {error}" for name, error in wrong.items() if name not in absent]
    return replace(run, datasets=[name for name in names if name not in wrong], problems=problems)


def compute(run: Run, options: Namespace) -> list[str]:
    """Compute the missing rows, and return the reasons of failures."""
    methods = options.methods or ALL_METHODS
    tasks = run.profile.tasks(run.datasets, methods, options.repeats, options.sizes)
    return run_tasks(tasks, partial(measured, run.profile), run.rows, options.jobs).reasons


def measure_times(run: Run) -> None:
    """Measure Table 7. The file is written after every line."""
    lines: list[dict[str, Any]] = []
    for line in run_times(run.datasets):
        lines.append(line)
        write_text(run.out / "runtime.csv", csv_text(lines))
        print("Run time:", *line.values())


def draw(run: Run) -> None:
    """Draw the figures of the requested data sets from the stored rows."""
    rows, there = run.rows.rows(), run.datasets
    for dataset in [name for name in figures.CONVERGENCE_SETS if name in there][:1]:
        _save(
            run.out, f"convergence-{dataset}", figures.convergence(dataset), figures.convergence_figure
        )
    for dataset in there:
        frame = figures.error_against_dimension(rows, run.profile, dataset)
        _save(run.out, f"dimension-{dataset}", frame, figures.dimension_figure)
    for dataset in [name for name in figures.PLANE_SETS if name in there][:1]:
        frame = figures.plane_embeddings(run.profile, dataset)
        _save(run.out, f"embedding-{dataset}", frame, figures.embeddings_figure)


def publish(run: Run) -> None:
    """Write the tables, the first figure and the page of all stored rows."""
    out, rows = run.out, run.rows.rows()
    table = tables.table_frame(rows, run.profile)
    errors = tables.honest_errors(rows, run.profile)
    write_text(out / "tables.csv", tables.table_text(table))
    _save(out, FIGURE.stem, page.figure_frame(table), figures.errors_figure)
    link = f"![Errors of NSSE and of our estimators]({FIGURE.as_posix()})"
    write_text(out / "tables.md", page.page_text(table, errors, out / "runtime.csv", link))
    if out == HERE:
        text = with_augmented(AUGMENT.read_text(encoding="utf-8"), rows, run.profile)
        write_text(AUGMENT, text)
    print(f"Page: {out / 'tables.md'}")


def with_augmented(text: str, rows: Sequence[Row], profile: Profile) -> str:
    """Return the page of measurements with the errors with augmented samples."""
    table, errors = tables.table_frame(rows, profile), tables.honest_errors(rows, profile)
    return marked(text, "augmented", page.augmented_table(table, errors))


def check_rows(options: Namespace) -> Iterator[check.Finding]:
    """Compare tables with their rows, and rows with new ones."""
    run = requested(options)
    profile, out = run.profile, run.out
    wanted = set(options.datasets or TITLES), set(options.methods or ALL_METHODS)
    rows = [row for row in run.rows.rows() if profile.owns(row.task)]
    if not rows:
        cure = "Run `python -m reproduction tables` first."
        raise rule_error("--out", "hold rows of these settings", str(out), cure)
    yield from check.findings(rows, profile, out, wanted, options.rows)
    text = AUGMENT.read_text(encoding="utf-8") if out == HERE else ""
    if text and text != with_augmented(text, rows, profile):
        yield False, f"{AUGMENT.name} DIFFERS from the rows. Run `python -m reproduction page`."


def _save(out: Path, name: str, frame: figures.Frame, drawn: Callable[[figures.Frame], Any]) -> None:
    """Write a frame as CSV, and its figure. An empty frame has neither."""
    path = out / "figures" / name
    if frame:
        write_text(path.with_suffix(".csv"), csv_text(frame))
        save_figure(drawn(frame), path.with_suffix(".png"), "png")
        print(f"Figure: {path}.png")
