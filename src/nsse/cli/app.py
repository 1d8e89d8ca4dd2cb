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
from nsse.cli.predict import predict, transform
from nsse.cli.report import report
from nsse.cli.screen import DEBUG

YOURS, OURS = "Your data", "Ours"

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
app.command(rich_help_panel=YOURS)(fit)
app.command(rich_help_panel=YOURS)(predict)
app.command(rich_help_panel=YOURS)(transform)
app.command(rich_help_panel=YOURS)(evaluate)
app.command(rich_help_panel=YOURS)(report)
app.command(rich_help_panel=YOURS)(export)
app.command(rich_help_panel=YOURS)(info)
app.command(rich_help_panel=OURS)(demo)
app.command(rich_help_panel=OURS)(datasets)


def _show_version(asked: bool) -> None:
    if asked:
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
    """Nonlinear Supervised Smooth Embedding: supervised maps that hold on new data."""
    DEBUG.set(debug)
