"""``nsse bench study``: many sets, sizes and methods; ranks, figures and the page made of them.

Rows go to disk as they finish: stopped at any moment and started again, a run goes on. The page is made
anew of all rows that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse._support.errors import listed, optional, rule_error
from nsse.cli.files import check_out, prepare_folder, replacing
from nsse.cli.options import Json
from nsse.cli.rows import ROWS_AS_TEXT, open_rows
from nsse.cli.screen import Screen, echo, plain_table, running
from nsse.cli.words import STUDY, in_words, typed

if TYPE_CHECKING:
    from nsse.evaluation import RowStore
    from nsse.evaluation.reading import Reading
    from nsse.evaluation.study import Study

PAGE = "when_to_use.md"
QUICK_SETS, QUICK_SIZES = ("iris", "wine"), (5, 10)
QUICK_METHODS = ("NSSECV", "NSSE", "NSSE, Euclidean", "SVC", "shrinkage LDA", "k-NN")


def study(
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds keel, coil-20-proc, … (default: NSSE_DATA)")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the rows.")] = Path("study"),
    page: Annotated[
        Path | None, typer.Option(help="The page to write. (default: when_to_use.md in the folder)")
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--sets", help="Sets, by commas. (default: all that are found)")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", help="Methods; may be given often. (default: all)")
    ] = None,
    sizes: Annotated[str, typer.Option(help="Training samples per class, by commas.")] = "5,10,20,50",
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 3,
    jobs: Annotated[int, typer.Option(help="Worker processes; -1 is one per processor.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers compute.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two small sets and six methods: no data, half a minute.")
    ] = False,
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Compute nothing: the page of the rows that are there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare NSSE with what people use, on many sets: ranks, wins and losses, seconds, a page."""
    from nsse.report import require_matplotlib

    with running(as_json, RuntimeError) as screen, typed(STUDY):
        require_matplotlib()
        prepare_folder(out)
        check_out(page or out / PAGE, (".md",), option="--page")
        problems: list[str] = []
        with open_rows(out) as store:
            if not page_only:
                plan = _plan(data, quick, sets, methods, _numbers(sizes, quick), splits)
                problems = _computed(plan, store, jobs, cluster)
            written = _publish(store, out, page or out / PAGE, screen)
        screen.result = {"out": str(out), "problems": problems} | written
    for problem in problems:
        echo(f"nsse: {problem}", err=True)
    if problems:
        raise typer.Exit(2)


def _plan(
    data: Path | None,
    quick: bool,
    sets: list[str] | None,
    methods: list[str] | None,
    sizes: Sequence[int],
    splits: int,
) -> Study:
    """The study asked for; says what of it cannot be had here."""
    from nsse.cli import study_plan
    from nsse.evaluation.study import Study

    names = [name.strip() for text in sets or [] for name in text.split(",")]
    names = names or list(QUICK_SETS if quick else ())
    wanted = methods or list(QUICK_METHODS if quick else ())
    found, missing = study_plan.sets(data, names)
    known = study_plan.methods()
    if not wanted and len(known) < len(study_plan.METHODS):
        missing.append("Supervised UMAP needs umap-learn. Install it: pip install 'nsse[umap]'")
    for line in missing:
        echo(f"nsse: left out: {in_words(line)}", err=True)
    chosen = (_chosen("--sets", names, found), _chosen("--methods", wanted, known))
    return Study(*chosen, sizes=sizes, n_splits=splits)


def _chosen(option: str, names: Sequence[str], there: Sequence[Any]) -> list[Any]:
    by_name = {one.name: one for one in there}
    for name in names:
        if name not in by_name:
            raise rule_error(
                option, "name what there is", name, f"There are {listed(list(by_name), 60)}."
            )
    return [by_name[name] for name in names] if names else list(there)


def _numbers(sizes: str, quick: bool) -> list[int]:
    if quick:
        return list(QUICK_SIZES)
    try:
        found = [int(text) for text in sizes.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 2:
        rule = "be whole numbers from 2 upwards, separated by commas"
        raise rule_error("--sizes", rule, sizes, "5,10,20,50 is what the page has.")
    return found


def _computed(plan: Study, store: RowStore, jobs: int, cluster: str | None) -> list[str]:
    """Compute the rows that are not there yet; the reasons of those that could not be."""
    from nsse.evaluation import run_tasks

    with _workers(cluster):
        ran = run_tasks(plan.tasks(), plan, store, n_jobs=jobs if cluster is None else None)
    echo(f"Rows: {ran.found} found, {ran.computed} computed, {len(ran.failures)} failed.")
    return ran.reasons


@contextmanager
def _workers(cluster: str | None) -> Iterator[None]:
    """Processes of this machine, or the workers of a cluster."""
    if cluster is None:
        yield
        return
    distributed = optional("distributed", "A cluster needs Dask", "dask")
    from joblib import parallel_config

    try:
        client = distributed.Client(cluster)
    except (OSError, ValueError) as error:
        cure = "Pass what the scheduler printed, tcp://host:8786 say."
        raise rule_error("--cluster", f"answer ({error})", cluster, cure) from error
    with client, parallel_config(backend="dask"):
        yield


def _publish(store: RowStore, out: Path, page: Path, screen: Screen) -> dict[str, Any]:
    """Rows as text, figures and the page."""
    from nsse.cli import study_plan
    from nsse.evaluation import write_rows
    from nsse.evaluation.reading import read
    from nsse.evaluation.study import RECIPE, half_of

    write_rows(store, out / ROWS_AS_TEXT)
    rows = [row for row in store.rows() if row.task.parameters.get("recipe") == RECIPE]
    there = {row.task.method for row in rows}
    methods = [method.name for method in study_plan.METHODS if method.name in there]
    everything, left_out = read(rows, methods)
    if not everything.cases or not study_plan.compared(methods):
        cure = "Give --methods NSSECV, NSSE and two others at least, or none for all."
        raise rule_error("--out", "hold rows of our methods and others", sorted(there), cure)
    names = everything.names
    halves = {
        half: everything.of_sets([name for name in names if half_of(name) == half])
        for half in ("report", "choose")
    }
    text = _page_text(out, everything, halves, left_out)
    images = _draw(page, everything, halves)
    with replacing(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    _show(screen, halves["report"] if halves["report"].cases else everything)
    screen.say(f"Page: {page}")
    return {"page": str(page), "images": [str(path) for path in images], "ranks": everything.ranks}


def _page_text(out: Path, everything: Reading, halves: Mapping[str, Reading], left_out: int) -> str:
    from nsse.cli import study_plan
    from nsse.evaluation.reading import TIE
    from nsse.report.study_page import StudyPage

    kinds = {
        kind: (halves["report"].where(belongs), everything.where(belongs))
        for kind, belongs in study_plan.KINDS.items()
    }
    rows = (out / ROWS_AS_TEXT).as_posix()
    made = StudyPage(
        everything, halves["report"], halves["choose"], kinds, "nsse bench study", rows, "images",
        "study", left_out, TIE,
    )  # fmt: skip
    return made.text()


def _draw(page: Path, everything: Reading, halves: Mapping[str, Reading]) -> list[Path]:
    """The four figures, in the folder ``images`` beside the page."""
    from nsse.cli import study_plan
    from nsse.evaluation.ranks import alike
    from nsse.report import study_figures as figures
    from nsse.report.page import save_small_png

    folder = page.parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    told = {"reported half": halves["report"], "all sets": everything}
    ranked = {
        f"{name}, {size} per class: {_count(part.names)}": part
        for name, reading in told.items()
        for size, part in _few_and_many(reading)
    }
    pictures = [name for name in everything.names if name in study_plan.PICTURE_SETS]
    tables = {
        f"Tables, {half}": [name for name in reading.names if name not in pictures]
        for half, reading in (("reported half", halves["report"]), ("other half", halves["choose"]))
    }
    timed = halves["report"] if halves["report"].cases else everything
    drawn = {
        "ranks": figures.rank_figure(ranked, alike, "Mean ranks, the best to the left"),
        "duels": figures.duel_figure(
            {name: reading.duels("NSSECV") for name, reading in told.items() if reading.cases},
            "NSSECV beside each of the others",
        ),
        "sizes": figures.size_figure(
            _by_size(everything, tables | {"Pictures, both halves": pictures}),
            "Error by training samples per class",
        ),
        "times": figures.time_figure(
            {f"reported half, {size} per class": timed.of_sizes(size) for size in _ends(timed.sizes)},
            "Error by time",
        ),
    }
    paths = []
    for name, figure in drawn.items():
        paths.append(folder / f"study_{name}.png")
        save_small_png(figure, paths[-1])
    return paths


def _by_size(reading: Reading, panels: Mapping[str, Sequence[str]]) -> dict[str, dict[int, Reading]]:
    """Panel, size, reading, of the sets that go to every size."""
    found = {}
    for name, own in panels.items():
        whole = [one for one in own if reading.of_sets([one]).sizes == reading.sizes]
        if whole:
            there = reading.of_sets(whole)
            found[f"{name}: {_count(whole)}"] = {size: there.of_sizes(size) for size in reading.sizes}
    return found


def _ends(sizes: Sequence[int]) -> list[int]:
    return sorted({sizes[0], sizes[-1]})


def _count(names: Sequence[str]) -> str:
    return f"{len(names)} set{'s' * (len(names) != 1)}"


def _few_and_many(reading: Reading) -> Iterator[tuple[str, Reading]]:
    few = [size for size in reading.sizes if size <= 20]
    many = [size for size in reading.sizes if size > 20]
    for chosen in (few, many):
        if chosen:
            name = str(chosen[0]) if len(chosen) == 1 else f"{chosen[0]} to {chosen[-1]}"
            yield name, reading.of_sizes(*chosen)


def _show(screen: Screen, reading: Reading) -> None:
    columns = ("method", "mean rank", "mean error", "seconds")
    table = plain_table(*columns, right=columns[1:])
    for method in reading.by_rank:
        error, seconds = reading.mean_error(method), reading.seconds(method)
        table.add_row(method, f"{reading.ranks[method]:.2f}", f"{error:.1f} %", f"{seconds:.2g}")
    screen.say(f"{_count(reading.names)}, critical difference {reading.critical_difference:.2f}:")
    screen.show(table)
