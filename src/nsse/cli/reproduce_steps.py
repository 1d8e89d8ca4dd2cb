"""The steps of ``nsse reproduce``: what is asked for, rows, run times, figures, publishing, the check.

Every step says what it did; what it shows is made by ``nsse.paper`` and ``nsse.report``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._support.errors import rule_error
from nsse.cli.files import prepare_folder, replacing, write_csv
from nsse.cli.rows import ROWS_AS_TEXT, open_rows
from nsse.cli.screen import echo

if TYPE_CHECKING:
    from nsse.paper.settings import Profile

TABLES, RUN_TIMES = "tables.csv", "runtime.csv"
PICTURE = Path("figures") / "cells.svg"


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
    profile, folder = _profile_and_folder(quick, out)
    chosen = _methods(methods)
    names = _chosen("--datasets", datasets, list(profile.sizes)) or list(profile.sizes)
    there = sorted({str(size) for name in names for size in profile.sizes[name]}, key=int)
    numbers = [int(size) for size in _chosen("--sizes", sizes, there)] or None
    prepare_folder(folder)
    found, problems = _readable(names, named=datasets is not None)
    return Request(profile, folder, found, chosen, numbers, repeats, jobs, problems)


def compute(asked: Request) -> list[str]:
    """Compute the rows that are not there yet; the reasons of those that could not be."""
    from nsse.evaluation import run_tasks
    from nsse.paper.work import Work

    tasks = asked.profile.tasks(asked.datasets, asked.methods, asked.repeats, asked.sizes)
    with open_rows(asked.out) as store:
        ran = run_tasks(tasks, Work(asked.profile), store, n_jobs=asked.jobs)
    echo(f"Rows: {ran.found} found, {ran.computed} computed, {len(ran.failures)} failed.")
    return ran.reasons


def measure_times(asked: Request) -> None:
    """Table 7; written after every line, so that what is done is kept."""
    from nsse.paper.runtime import TIME_HEADER, run_times

    lines = []
    for line in run_times(asked.profile, asked.datasets):
        lines.append(line.columns())
        write_csv(asked.out / RUN_TIMES, TIME_HEADER, lines)
        echo(f"Run time: {line}")


def draw(asked: Request) -> None:
    """Everything that can be drawn of the data sets asked for and the rows that are there."""
    from nsse.paper import figures
    from nsse.report import require_matplotlib
    from nsse.report.reproduction_figures import convergence_figure, dimension_figure, embeddings_figure

    with open_rows(asked.out) as store:
        rows = store.rows()
    require_matplotlib()
    folder = asked.out / "figures"
    folder.mkdir(exist_ok=True)
    for dataset in _first(figures.CONVERGENCE_SETS, asked.datasets):
        frame = figures.convergence(dataset)
        _save(folder, f"convergence-{dataset}", frame, convergence_figure(frame))
    for dataset in asked.datasets:
        frame = figures.error_against_dimension(rows, asked.profile, dataset)
        if frame["d"]:
            picture = dimension_figure(frame, figures.DIMENSION_GROUPS)
            _save(folder, f"dimension-{dataset}", frame, picture)
        else:
            echo(f"No rows for the error against d on {dataset}: run `nsse reproduce tables` first.")
    for dataset in _first(figures.PLANE_SETS, asked.datasets):
        frame = figures.plane_embeddings(asked.profile, dataset)
        _save(folder, f"embedding-{dataset}", frame, embeddings_figure(frame))


def publish(asked: Request) -> Path:
    """Everything that is made of the rows, anew; the page."""
    from nsse import __version__
    from nsse.evaluation import write_rows
    from nsse.paper import pages, second_edition, verdict
    from nsse.paper.manifest import manifest, told
    from nsse.paper.second_edition import HonestErrors
    from nsse.paper.tables import CHOICE_HEADER, TABLE_HEADER, cells, choice_lines, table_lines
    from nsse.report.reproduction import html_page, markdown_page

    out = asked.out
    with open_rows(out) as store:
        rows = store.rows()
        write_rows(store, out / ROWS_AS_TEXT)
    found = cells(rows, asked.profile)
    write_csv(out / TABLES, TABLE_HEADER, table_lines(found))
    write_csv(out / "choices.csv", CHOICE_HEADER, choice_lines(found))
    facts = manifest(asked.profile, rows, __version__)
    _write(out / "manifest.json", json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    errors = HonestErrors.of(rows, asked.profile)
    picture = _first_picture(out, second_edition.picture_lines(errors))
    tables = pages.error_tables(found)
    opening = second_edition.opening(errors, found)
    findings = [*second_edition.findings(errors), *verdict.findings(found)]
    listed = "\n".join(f"- {sentence}" for sentence in findings)
    shown_first = [f"![{pages.PICTURE}]({PICTURE})"] if picture else []
    first = [*shown_first, " ".join(opening), listed, *pages.INTRODUCTION]
    _write(out / "tables.md", markdown_page(pages.TITLE, first, tables))
    shown = (
        pages.notes_of(out / "notes.md"),
        [*tables, *pages.run_time_tables(out / RUN_TIMES)],
        pages.figures_in(out / "figures"),
    )
    page = out / "index.html"
    texts = opening, pages.INTRODUCTION, findings
    _write(page, html_page(pages.TITLE, picture, *texts, *shown, told(facts)))
    for sentence in opening:
        echo(sentence)
    echo(f"Page: {page}")
    return page


def _first_picture(out: Path, lines: list[list[Any]]) -> str:
    """What the page opens with, on disk too; nothing where no cell has a mark."""
    from nsse.paper.second_edition import PICTURE_HEADER
    from nsse.paper.settings import TITLES
    from nsse.report.reproduction_picture import cells_picture

    if not lines:
        return ""
    (out / PICTURE).parent.mkdir(exist_ok=True)
    write_csv(out / PICTURE.with_suffix(".csv"), PICTURE_HEADER, lines)
    picture = cells_picture([dict(zip(PICTURE_HEADER, line, strict=True)) for line in lines], TITLES)
    _write(out / PICTURE, picture + "\n")
    return picture


def check_rows(quick: bool, out: Path | None) -> bool:
    """Whether tables and rows agree with what is computed now; says so line by line."""
    from nsse.paper.check import findings

    profile, folder = _profile_and_folder(quick, out)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"`--out` must be a folder of results. Got {str(folder)!r}. "
            "Run `nsse reproduce tables` first."
        )
    with open_rows(folder) as store:
        rows = [row for row in store.rows() if profile.owns(row.task)]
    if not rows:
        raise ValueError(
            f"`--out` must hold rows of these settings. Got {str(folder)!r} without any. "
            "Run `nsse reproduce tables` first."
        )
    agreed = True
    for agrees, line in findings(rows, profile, folder / TABLES, folder / PICTURE.with_suffix(".csv")):
        echo(line)
        agreed &= agrees
    return agreed


def _profile_and_folder(quick: bool, out: Path | None) -> tuple[Profile, Path]:
    """Quick results have a folder of their own: they do not replace the real ones unless told to."""
    from nsse.paper.settings import FULL, QUICK

    default = "reproduction-quick" if quick else "reproduction"
    return (QUICK if quick else FULL), Path(default) if out is None else out


def _first(wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    return [name for name in wanted if name in there][:1]


def _save(folder: Path, name: str, frame: dict[str, list[Any]], figure: Any) -> None:
    """A frame on disk first, then a picture."""
    from nsse.report import save_figure

    write_csv(folder / f"{name}.csv", list(frame), list(zip(*frame.values(), strict=True)))
    for kind in ("svg", "png"):
        save_figure(figure, folder / f"{name}.{kind}", kind)
    echo(f"Figure: {folder / name}.svg")


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _methods(methods: list[str] | None) -> list[str]:
    from nsse.paper.grids import umap_installed
    from nsse.paper.settings import ALL_METHODS

    chosen = _chosen("--methods", methods, ALL_METHODS)
    if "UMAP" in chosen and not umap_installed():
        raise ImportError("The method UMAP needs umap-learn. Install it: pip install 'nsse[umap]'")
    return chosen or [name for name in ALL_METHODS if name != "UMAP" or umap_installed()]


def _chosen(option: str, given: list[str] | None, known: Sequence[str]) -> list[str]:
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
    from nsse.paper.work import unreadable

    wrong = unreadable(names)
    absent = [n for n in wrong if isinstance(wrong[n], DatasetNotFoundError) and not named]
    problems = [f"{name}: {error}" for name, error in wrong.items() if name not in absent]
    if len(wrong) == len(names):
        first = [*problems, *(f"{name}: {wrong[name]}" for name in absent)][0]
        raise FileNotFoundError(f"{first} Or try --quick, which needs no data.")
    if absent:
        left_out = ", ".join(absent)
        echo(f"Not found and left out: {left_out}. Name one with --datasets to see where to get it.")
    return [name for name in names if name not in wrong], problems
