"""``nsse reproduce``: the paper's tables, run times and figures, computed here, beside the printed ones.

Rows go to disk as they finish: stopped at any moment and started again, a run goes on. What is shown is
always made anew of all rows that are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nsse.cli.options import Json
from nsse.cli.screen import echo, running

app = typer.Typer(invoke_without_command=True, add_completion=False)

Datasets = Annotated[
    list[str] | None,
    typer.Option("--datasets", help="Data sets, separated by commas. (default: those that are found)"),
]
Methods = Annotated[
    list[str] | None, typer.Option("--methods", help="Methods, separated by commas. (default: all)")
]
Repeats = Annotated[
    int | None, typer.Option(min=1, help="Realisations. (default: 20, or 5 of the slower methods)")
]
Sizes = Annotated[
    list[str] | None,
    typer.Option("--sizes", help="Training samples per class, separated by commas. (default: all)"),
]
Jobs = Annotated[int, typer.Option(help="Worker processes; -1 is one per processor.")]
Quick = Annotated[bool, typer.Option("--quick", help="Digits and objects: minutes, no data needed.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the results. (default: reproduction, or reproduction-quick)"),
]


@app.callback()
def reproduce(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Compute one random row per table again and compare.")
    ] = False,
    quick: Quick = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: its tables, run times and figures, ours beside the printed values."""
    if context.invoked_subcommand is not None:
        return
    if not check:
        typer.echo(context.get_help())
        return
    from nsse.cli.reproduce_steps import check_rows

    with running(as_json, RuntimeError) as screen:
        agreed = check_rows(quick, out)
        screen.result = {"agreed": agreed}
    raise typer.Exit(0 if agreed else 2)


def _command_with_rows(name: str, told: str, *steps: str) -> None:
    @app.command(name, help=told)
    def command(
        datasets: Datasets = None,
        methods: Methods = None,
        repeats: Repeats = None,
        sizes: Sizes = None,
        jobs: Jobs = 2,
        quick: Quick = False,
        out: Out = None,
        as_json: Json = False,
    ) -> None:
        _run(steps, as_json, quick, out, datasets, methods, sizes, repeats, jobs)


def _command(name: str, told: str, *steps: str) -> None:
    @app.command(name, help=told)
    def command(
        datasets: Datasets = None, quick: Quick = False, out: Out = None, as_json: Json = False
    ) -> None:
        _run(steps, as_json, quick, out, datasets)


def _run(names: Sequence[str], as_json: bool, *options: Any) -> None:
    """The steps asked for, then the page; what could not be had is said last, where it is seen."""
    from nsse.cli import reproduce_steps as steps

    with running(as_json, RuntimeError) as screen:
        asked = steps.request(*options)
        problems = list(asked.problems)
        for name in names:
            problems += getattr(steps, name)(asked) or []
        page = steps.publish(asked)
        screen.result = {
            "out": str(asked.out),
            "page": str(page),
            "datasets": asked.datasets,
            "problems": problems,
        }
    for problem in problems:
        echo(f"nsse: {problem}", err=True)
    if problems:
        raise typer.Exit(2)


TABLES = "Tables 1 to 6: our errors beside the printed ones, under both protocols."
RUNTIME = "Table 7: seconds of a fit, beside Algorithm 1 as it is printed, in the same run."
FIGURES = "Convergence, error against d (of the rows that are there), embeddings in the plane."
ALL = "All of it: tables, run times and figures on one page."

_command_with_rows("tables", TABLES, "compute")
_command("runtime", RUNTIME, "measure_times")
_command("figures", FIGURES, "draw")
_command_with_rows("all", ALL, "compute", "measure_times", "draw")
