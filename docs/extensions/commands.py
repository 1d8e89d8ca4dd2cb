"""Show the options of commands on their pages, and run their examples in every build.

``{command} fit`` describes a command and its options. ``{typed}`` runs the commands of its body in a
folder with `digits/train`, `digits/test` and `digits.nsse`, and shows what they print.
"""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from functools import cache
from tempfile import mkdtemp
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from nsse.cli.app import app

PREPARED = ("nsse datasets digits --out digits", "nsse fit digits/train --size 8x8 --out digits.nsse")


def command_named(words: list[str]) -> Any:
    """Return the command that these words call, such as ``["fit"]``."""
    found = typer.main.get_command(app)
    for word in words:
        found = found.commands[word]
    return found


class Command(SphinxDirective):
    """Show usage, purpose, arguments and options of a command."""

    required_arguments, final_argument_whitespace = 1, True

    def run(self) -> list[nodes.Node]:
        """Return the description of the command."""
        words = self.arguments[0].split()
        command = command_named(words)
        paragraphs = (command.help or "").split("\n\n")
        told = [nodes.paragraph("", "", *_prose(" ".join(text.split()))) for text in paragraphs]
        return [_usage(words, command), *told, _options(command.params)]


class Typed(SphinxDirective):
    """Run commands and show what each of them prints."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the commands with their output."""
        folder = prepared_folder()
        text = "\n".join(f"$ {line}\n{printed(line, folder)}" for line in self.content).rstrip()
        return [nodes.literal_block(text, text, language="none")]


@cache
def prepared_folder() -> str:
    """Return the folder in which examples run, which is made once."""
    folder = mkdtemp(prefix="nsse-site-")
    for line in PREPARED:
        printed(line, folder)
    return folder


def printed(line: str, folder: str) -> str:
    """Return what a command prints, in 80 columns and without colors. A failure stops the build."""
    program, *arguments = shlex.split(line)
    assert program == "nsse", line
    with chdir(folder):
        result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, arguments)
    if result.exit_code:
        raise RuntimeError(f"{line}: {result.output}") from result.exception
    return "".join(f"{row.rstrip()}\n" for row in result.stdout.splitlines())


def _usage(words: list[str], command: Any) -> nodes.literal_block:
    given = [_spelled(p) for p in command.params if _is_argument(p) or p.required]
    text = " ".join(["nsse", *words, *given, "[OPTIONS]"])
    return nodes.literal_block(text, text, language="none")


def _spelled(parameter: Any) -> str:
    if _is_argument(parameter):
        name = parameter.metavar or parameter.name.upper()
        return name if parameter.required else f"[{name}]"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return " / ".join([*parameter.opts, *parameter.secondary_opts]) + value


def _is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def _options(parameters: list[Any]) -> nodes.table:
    """Return a table with a row for each option, how it is written and what it does."""
    body = nodes.tbody()
    for parameter in parameters:
        body += _row([nodes.literal(text=_spelled(parameter))], _prose(_meaning(parameter)))
    group = nodes.tgroup("", nodes.colspec(colwidth=35), nodes.colspec(colwidth=65), cols=2)
    group += nodes.thead("", _row(_prose("option"), _prose("what it does")))
    group += body
    return nodes.table("", group, classes=["options"])


def _row(*cells: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def _prose(text: str) -> list[nodes.Node]:
    """Return a sentence of the help, with options and words in backticks as code."""
    parts = re.split(r"(`[^`]+`|(?<!\S)--[a-z][a-z-]*)", text)
    return [
        nodes.literal(text=part.strip("`")) if place % 2 else nodes.Text(part)
        for place, part in enumerate(parts)
        if part
    ]


def _meaning(parameter: Any) -> str:
    said, default = parameter.help or "", parameter.default
    if parameter.required or default in (None, False, "") or "(default:" in said:
        return said + (" Required." if parameter.required and not _is_argument(parameter) else "")
    shown = parameter.opts[0] if default is True else default
    return f"{said} (default: {shown})"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives with Sphinx."""
    app.add_directive("command", Command)
    app.add_directive("typed", Typed)
    return {"parallel_read_safe": True}
