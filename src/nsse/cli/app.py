"""The table of subcommands. A new command is a function in its own file and one line here."""

from __future__ import annotations

from typing import Annotated

import typer

from nsse.cli.datasets import datasets
from nsse.cli.demo import demo
from nsse.cli.evaluate import evaluate
from nsse.cli.export import export
from nsse.cli.fit import fit
from nsse.cli.info import info
from nsse.cli.options import command
from nsse.cli.predict import predict, transform
from nsse.cli.report import report
from nsse.cli.screen import DEBUG
from nsse.cli.update import update

PANELS = {
    "Your data": (fit, update, predict, transform, evaluate, report, export, info),
    "To try it": (demo, datasets),
}


def _unwrapped(docstring: str) -> str:
    """Return each paragraph as one line, because `--help` has the width of the terminal."""
    return "\n\n".join(" ".join(text.split()) for text in docstring.split("\n\n"))


app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
for panel, functions in PANELS.items():
    for function in functions:
        text = _unwrapped(function.__doc__ or "")
        app.command(rich_help_panel=panel, help=text)(command(function))


def _show_version(requested: bool) -> None:
    if requested:
        from nsse import __version__

        typer.echo(f"nsse {__version__}")
        raise typer.Exit


@app.callback()
def nsse(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="NSSE_DEBUG", help="Show where an error came from.")
    ] = False,
) -> None:
    """Train supervised embeddings and apply them to new data.

    Exit codes are 0, 2 for an error, and 130 after Ctrl-C.
    """
    DEBUG.set(debug)
