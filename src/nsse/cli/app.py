"""The table of subcommands. A new command is a function in its own file and one line here."""

from __future__ import annotations

from typing import Annotated

import typer

from nsse.cli.demo import demo
from nsse.cli.reproduce import app as reproduce

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(demo)
app.add_typer(reproduce, name="reproduce")


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
) -> None:
    """Nonlinear Supervised Smooth Embedding: supervised maps that hold on new data."""
