"""Print the results of commands, and end them.

Lines and tables are printed to stdout. With ``--json``, stdout contains one object and nothing else, and
the lines go to stderr, like warnings and progress. Names of files and classes are shown as plain text,
whatever they contain (`nsse._support.files`). The exit code is 0, or 2 with one line about the error and
its cure, or 130 after Ctrl-C. ``nsse --debug`` also shows where an error came from.

Messages use the words of the user. Our errors put names of parameters between grave accents. A command
that calls a function replaces them by its own options, with ``with typed(DATA): ...``.
"""

from __future__ import annotations

import json
import math
import re
import sys
import traceback
import warnings
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from nsse._support.files import shown
from nsse.cli import system_message

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Set anew by every call of `nsse`.
DEBUG: ContextVar[bool] = ContextVar("debug", default=False)
# Errors that users can cure. Any other error is a bug and shows its traceback.
CURABLE = (OSError, ImportError, ValueError, TypeError, MemoryError)
MEMORY_CURE = "Take fewer samples, smaller images (--size), or fit with fewer --centers."


@dataclass
class Screen:
    """The output of a command. `result` is the object of ``--json``, and `code` is the exit code."""

    as_json: bool
    result: dict[str, Any] = field(default_factory=dict)
    code: int = 0

    def say(self, line: str) -> None:
        """Print one line of text."""
        _console().print(shown(line), soft_wrap=True)

    def show(self, table: Any) -> None:
        """Print a table."""
        if not self.as_json:
            _console().print(table)

    def fits(self, table: Any) -> bool:
        """Return whether the screen is wide enough for the whole table."""
        return bool(_console(width=10_000).measure(table).maximum <= _console().width)

    def busy(self, what: str) -> Any:
        """Show a spinner on stderr during the block, if there is a terminal."""
        if not sys.stderr.isatty():
            return nullcontext()
        from rich.text import Text

        return _console(stderr=True).status(Text(shown(what)))


def plain_table(*columns: str, right: Container[str] = ()) -> Table:
    """Return a table without lines. The columns that `right` names are aligned to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    return table


def _console(**settings: Any) -> Console:
    """Return text without markup, because names of classes and files may look like Rich's commands."""
    from rich.console import Console

    class PlainConsole(Console):
        """Every string goes through here, those in the cells of tables as well."""

        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(shown(text), **options)

    return PlainConsole(highlight=False, markup=False, emoji=False, **settings)


def echo(line: str, *, err: bool = False) -> None:
    """Print one line without Rich."""
    typer.echo(shown(line), err=err)


@contextmanager
def running(as_json: bool) -> Iterator[Screen]:
    """Run a command and print its lines, its warnings and its result."""
    screen, stdout = Screen(as_json), sys.stdout
    with _one_line_errors(), warnings.catch_warnings():
        warnings.showwarning = _tell
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            yield screen
    if as_json:
        stdout.write(f"{json.dumps(_strict(screen.result), allow_nan=False)}\n")
    if screen.code:
        raise typer.Exit(screen.code)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn errors that the user can cure into one line and exit code 2, and Ctrl-C into 130."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our output has stopped reading
    except CURABLE as error:
        if DEBUG.get():
            for line in traceback.format_exc().splitlines():
                echo(line, err=True)
        echo(f"nsse: {_one_line(error)}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as stopped:
        echo(f"nsse: stopped. {stopped}".rstrip(), err=True)
        raise typer.Exit(130) from stopped


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:  # the system's words
        return system_message(error)
    if isinstance(error, MemoryError) and "of memory" not in text:  # not one of ours
        return f"out of memory{f' ({text})' if text else ''}. {MEMORY_CURE}"
    return text or type(error).__name__


def _tell(message: Any, *_where: Any, **_more: Any) -> None:
    echo(f"nsse: warning: {' '.join(in_words(str(message)).split())}", err=True)


def _strict(value: Any) -> Any:
    """Return the same values with null instead of infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _strict(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


Words = Mapping[str, str]


def _options(*names: str) -> dict[str, str]:
    return {name: f"--{name.replace('_', '-')}" for name in names}


DATA: Words = {
    **_options("label", "drop", "size", "unit_norm", "skip_broken", "id", "categorical", "keep"),
    **_options("missing", "encoder", "augment"),
    "path": "DATA",
    "X": "DATA",
    "unit_norm=False": "--raw",
    'missing="median"': "--missing median",
    'unlabeled=""': '--unlabeled-label ""',
    "unlabeled": "--unlabeled-label",
}
MODEL: Words = {"path": "MODEL", "model": "MODEL", "metadata": "MODEL", **_options("dtype", "encoder")}
FIT: Words = {
    **_options("n_components", "sigma", "smoothness", "decision", "metric", "centers"),
    "X": "DATA",
    "y": "--label",
    "augment": "--augment",
    "unlabeled": "--unlabeled-label",
    "shape": "--size",
}
PAGE: Words = {"path": "--out", "model": "MODEL", "samples.y": "DATA"}
KNOWN: Words = {"name": "NAME", "data_home": "NSSE_DATA", "n_per_class": "--train"}

_WORDS: ContextVar[Words] = ContextVar("words", default={})  # noqa: B039 (never changed in place)
_NAMED = re.compile("`([^`]+)`")


@contextmanager
def typed(words: Words) -> Iterator[None]:
    """Replace names in errors and warnings within the block by the options that were typed."""
    before = _WORDS.set(words)
    try:
        yield
    except Exception as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (in_words(error.args[0]),)
        raise
    finally:
        _WORDS.reset(before)


def in_words(message: str) -> str:
    """Replace the known names in a message."""
    words = _WORDS.get()
    return _NAMED.sub(lambda found: f"`{words.get(found[1], found[1])}`", message)
