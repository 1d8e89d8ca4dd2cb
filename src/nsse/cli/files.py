"""Write results with `nsse._support.files.replacing`, so that a file is complete or does not exist.

`check_out` and `prepare_folder` check before any work whether a file can be written.
"""

from __future__ import annotations

import csv
import errno
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nsse._support.errors import Described, optional, rule_error, rule_message
from nsse._support.files import replacing, takes_a_stream, written


def prepare_folder(folder: Path) -> None:
    """Make the folder and try to write in it, before any work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        got, cure = Described(f"{folder} ({error.strerror})"), "Choose another folder."
        raise OSError(rule_message("--out", "be a folder that can be written", got, cure)) from error


def check_out(
    path: Path, endings: Sequence[str] = (), *, read: Sequence[Path] = (), option: str = "--out"
) -> None:
    """Check before any work that a file can be written, and that it is not one of the inputs."""
    if endings and path.suffix.lower() not in endings:
        rule = f"end in {' or '.join(endings)}"
        raise rule_error(option, rule, str(path), "The ending determines the format.")
    if path.exists() and any(other.exists() and path.samefile(other) for other in read):
        raise rule_error(option, "name another file than those read", str(path), "Choose another name.")
    try:
        _try_to_write(path)
    except OSError as error:
        got = Described(f"{path} ({error.strerror})")
        cure = "Choose another place, or make its folder first."
        raise OSError(rule_message(option, "name a file that can be written", got, cure)) from error


def _try_to_write(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder")
    if not takes_a_stream(path):
        with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
            return
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def write_columns(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write columns as CSV or, with Polars, as Parquet, depending on the ending."""
    columns = {name: [_encodable(entry) for entry in column] for name, column in columns.items()}
    if path.suffix.lower() == ".parquet":
        polars = optional("polars", "Parquet files need Polars", "tables")
        with replacing(path) as temporary:
            polars.DataFrame(columns).write_parquet(temporary)
        return
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _encodable(entry: Any) -> Any:
    return written(entry) if isinstance(entry, str) else entry


def table_rows(columns: dict[str, list[Any]]) -> Iterable[dict[str, Any]]:
    """Return the rows of columns as dictionaries."""
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def bytes_of(path: Path) -> int | None:
    """Return the size of a file, or None for a stream."""
    return None if takes_a_stream(path) else path.stat().st_size


def size_of(path: Path) -> str:
    """Return the size of a file in words."""
    from rich.filesize import decimal

    known = bytes_of(path)
    return "a stream" if known is None else decimal(known)
