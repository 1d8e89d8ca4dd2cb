"""Writing results: a file is there whole or not at all, and a failure is one line.

Every file is written under a temporary name in its own folder and renamed at the end, so that neither
an interrupt nor a full disk leaves half of one.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from nsse._files import replacing

__all__ = ["one_line_errors", "prepare_folder", "replacing", "write_csv"]


@contextmanager
def one_line_errors(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that the user can cure into one line on stderr and exit code 2."""
    try:
        yield
    except kinds as error:
        typer.echo(f"nsse: {error}", err=True)
        raise typer.Exit(2) from error


def prepare_folder(folder: Path) -> None:
    """Make the folder and try to write in it, before any work is done for nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"`--out` must be a folder that can be written. Got {str(folder)!r} "
            f"({error.strerror}). Choose another folder."
        ) from error


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table with a line of column names."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
