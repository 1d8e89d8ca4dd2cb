"""The steps of ``python -m reproduction``: rows, run times, figures, publishing, the check.

Every step says what it did. What is shown is always made anew of all rows that are there.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nsse import __version__
from nsse._support.errors import rule_error
from nsse.datasets import DatasetNotFoundError
from nsse.figures import save_figure
from reproduction.paper import check, figures, findings, pages, tables
from reproduction.paper.manifest import manifest
from reproduction.paper.picture import cells_picture
from reproduction.paper.runtime import run_times
from reproduction.paper.settings import ALL_METHODS, COMPUTED, FULL, OF_0_2, QUICK, TITLES, Profile
from reproduction.paper.work import measured, unreadable
from reproduction.rows import Row, RowFile, csv_text, marked, renamed, write_text
from reproduction.running import chosen, run_tasks

HERE = Path(__file__).resolve().parents[1]
AUGMENT = HERE.parent / "docs" / "research" / "measurements.md"
PICTURE = Path("figures") / "cells.svg"


@dataclass(frozen=True)
class Run:
    """What was asked for, checked: a profile, its folder, and the data sets that can be read."""

    profile: Profile
    out: Path
    datasets: Sequence[str] = ()
    problems: Sequence[str] = ()

    @property
    def rows(self) -> RowFile:
        """The rows of the folder, to be added to."""
        return RowFile(self.out / "rows.jsonl")

    @property
    def stored(self) -> list[Row]:
        """The rows of the folder, those of version 0.2 under names that say so."""
        return renamed(self.rows.rows(), OF_0_2)


def requested(options: Namespace) -> Run:
    """Quick results have a folder of their own: they do not replace the real ones unless told to."""
    default = Path("reproduction-quick") if options.quick else HERE
    return Run(QUICK if options.quick else FULL, options.out or default)


def planned(options: Namespace) -> Run:
    """The run that options ask for; one data set that was named and cannot be read is a problem."""
    run = requested(options)
    names = chosen("--datasets", options.datasets, run.profile.sizes)
    chosen("--methods", getattr(options, "methods", None), COMPUTED)
    wrong = unreadable(names)
    absent = [] if options.datasets else [n for n in wrong if isinstance(wrong[n], DatasetNotFoundError)]
    if len(wrong) == len(names):
        raise FileNotFoundError(f"{next(iter(wrong.values()))} Or try --quick, which needs no data.")
    if absent:
        print(f"Not found and left out: {', '.join(absent)}.")
    problems = [f"{name}: {error}" for name, error in wrong.items() if name not in absent]
    return replace(run, datasets=[name for name in names if name not in wrong], problems=problems)


def compute(run: Run, options: Namespace) -> list[str]:
    """Compute the rows that are not there yet; the reasons of those that could not be."""
    methods = options.methods or COMPUTED
    tasks = run.profile.tasks(run.datasets, methods, options.repeats, options.sizes)
    return run_tasks(tasks, partial(measured, run.profile), run.rows, options.jobs).reasons


def measure_times(run: Run) -> None:
    """Table 7; written after every line, so that what is done is kept."""
    lines: list[dict[str, Any]] = []
    for line in run_times(run.datasets):
        lines.append(line)
        write_text(run.out / "runtime.csv", csv_text(lines))
        print("Run time:", *line.values())


def draw(run: Run) -> None:
    """Everything that can be drawn of the data sets asked for and the rows that are there."""
    rows, there = run.stored, run.datasets
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
    """Everything that is made of the rows, anew."""
    out, rows = run.out, run.stored
    found = tables.cells(rows, run.profile)
    write_text(out / "tables.csv", csv_text(tables.table_frame(found)))
    write_text(out / "choices.csv", csv_text(tables.choice_frame(found)))
    facts = manifest(run.profile, rows, __version__)
    write_text(out / "manifest.json", json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    errors = findings.HonestErrors.of(rows, run.profile)
    picture = _first_picture(out, findings.picture_frame(errors))
    opening = findings.opening(errors, found)
    sentences = [*findings.about_now(errors), *findings.about_the_paper(found)]
    shown, times = pages.error_tables(found), pages.run_time_tables(out / "runtime.csv")
    first = [f"![{pages.TEXTS['picture']}]({PICTURE})"] if picture else []
    listed = "\n".join(f"- {sentence}" for sentence in sentences)
    text = [*first, " ".join(opening), listed, *pages.INTRODUCTION]
    write_text(out / "tables.md", pages.markdown_page(text, [*shown, *times]))
    if out == HERE:
        write_text(AUGMENT, with_copies(AUGMENT.read_text(encoding="utf-8"), rows, run.profile))
    print("\n".join([*opening, f"Page: {out / 'tables.md'}"]))


def with_copies(text: str, rows: Sequence[Row], profile: Profile) -> str:
    """The site's page about augmentation with what copies do in the cells."""
    errors, found = findings.HonestErrors.of(rows, profile), tables.cells(rows, profile)
    return marked(text, "copies", pages.markdown_table(pages.copies_table(errors, found)))


def _first_picture(out: Path, marks: figures.Frame) -> str:
    """What the page opens with, on disk too; nothing where no cell has a mark."""
    if not marks:
        return ""
    write_text(out / PICTURE.with_suffix(".csv"), csv_text(marks))
    picture = cells_picture(marks, TITLES)
    write_text(out / PICTURE, picture + "\n")
    return picture


def check_rows(options: Namespace) -> Iterator[check.Finding]:
    """Whether tables and rows agree with what is computed now, line by line."""
    run = requested(options)
    profile, out = run.profile, run.out
    wanted = set(options.datasets or TITLES), set(options.methods or ALL_METHODS)
    rows = [row for row in run.stored if profile.owns(row.task)]
    if not rows:
        cure = "Run `python -m reproduction tables` first."
        raise rule_error("--out", "hold rows of these settings", str(out), cure)
    yield from check.findings(rows, profile, out, wanted, options.rows)
    text = AUGMENT.read_text(encoding="utf-8") if out == HERE else ""
    if text and text != with_copies(text, rows, profile):
        yield False, f"{AUGMENT.name} DIFFERS from the rows. Run `python -m reproduction page`."


def _save(out: Path, name: str, frame: figures.Frame, drawn: Callable[[figures.Frame], Any]) -> None:
    """A frame on disk first, then a picture; nothing of an empty one."""
    path = out / "figures" / name
    if frame:
        write_text(path.with_suffix(".csv"), csv_text(frame))
        save_figure(drawn(frame), path.with_suffix(".png"), "png")
        print(f"Figure: {path}.png")
