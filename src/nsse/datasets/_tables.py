"""Tables on disk, as named columns: one row per sample.

Text is read whichever way it was written: in UTF-8, UTF-16 or Latin-1, separated by commas, semicolons
or tabs, with points or commas in its numbers. What differs from the plain way is said. ``_columns``
makes features of the columns. Rows are counted from 1, below the names of the columns.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from nsse._support.errors import abridged, optional, rule_error, rule_message

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv")
# What separates columns, and its name; the first of those that make most of the line of names.
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# Windows wrote Latin-1 with dashes and quotation marks in places that Latin-1 leaves empty.
_ENCODINGS = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16", "cp1252": "Latin-1"}
_BLOCK = 1 << 20
# A number of the countries that write a comma for the point, and semicolons between columns.
_COMMA_NUMBER = r"^\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of a file, those of CSV as text; `note` tells what was not plain about it."""

    path: Path
    frame: Any
    has_commas: bool = False  # in its numbers, for points
    note: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)


@dataclass(frozen=True)
class _Writing:
    """How a text file was written."""

    encoding: str
    separator: str


def read_table(path: Path) -> Table:
    """Read a CSV, TSV or Parquet file."""
    polars = import_polars()
    if not path.is_file():
        raise FileNotFoundError(rule_message("path", "name a file that exists", str(path), "Check it."))
    if path.stat().st_size == 0:
        raise no_table(path, "empty")
    writing = None
    try:
        writing = None if path.suffix.lower() in PARQUET else _writing(path)
        frame = _frame(path, writing, polars)
    except (polars.exceptions.PolarsError, csv.Error) as error:
        raise no_table(path, _why(path, writing, error)) from error
    if frame.height == 0:
        raise no_table(path, "names of columns and no row below them")
    if writing is None:
        return Table(path, frame)
    has_commas = writing.separator == ";" and _has_comma_numbers(frame)
    return Table(path, frame, has_commas, _note(path, writing, has_commas))


def _frame(path: Path, writing: _Writing | None, polars: Any) -> Any:
    # Opened here: in a path, Polars takes brackets and stars for patterns.
    with path.open("rb") as stream:
        if writing is None:
            return polars.read_parquet(stream)
        names = _checked_names(path, writing)
        source: BinaryIO = stream
        if writing.encoding != "utf-8-sig":
            source = io.BytesIO(stream.read().decode(writing.encoding).encode())
        frame = polars.read_csv(source, separator=writing.separator, infer_schema_length=0)  # 0: as text
        # Polars leaves a quotation mark within a name doubled, as CSV writes it.
        return frame.rename(dict(zip(frame.columns, names, strict=False)))


def _writing(path: Path) -> _Writing:
    encoding = next((one for one in _ENCODINGS if _is_written_in(path, one)), None)
    if encoding is None:
        cure = "Save it as CSV in UTF-8."
        raise no_table(path, f"text in none of {', '.join(_ENCODINGS.values())}", cure)
    if path.suffix.lower() == ".tsv":
        return _Writing(encoding, "\t")
    with path.open(newline="", encoding=encoding) as file:
        names = file.readline()
    # Quotation marks may hold any of them, so that counting signs would not do.
    lengths = {sign: len(next(csv.reader([names], delimiter=sign), [])) for sign in _SEPARATORS}
    return _Writing(encoding, max(lengths, key=lambda sign: lengths[sign]))


def _is_written_in(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as stream:
        if encoding == "utf-16" and stream.read(2) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return False
        stream.seek(0)
        try:
            for block in iter(partial(stream.read, _BLOCK), b""):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _has_comma_numbers(frame: Any) -> bool:
    return any(bool(frame[name].str.contains(_COMMA_NUMBER).any()) for name in frame.columns)


def _note(path: Path, writing: _Writing, has_commas: bool) -> str:
    """How a file was read, where it is not UTF-8 with commas between columns and points in numbers."""
    parts = []
    if writing.encoding != "utf-8-sig":
        parts.append(f"in {_ENCODINGS[writing.encoding]}")
    if path.suffix.lower() == ".csv" and writing.separator != ",":
        parts.append(f"with {_SEPARATORS[writing.separator]} between columns")
    if has_commas:
        parts.append("with commas for decimal points")
    return f"It is written {', '.join(parts)}." if parts else ""


def _checked_names(path: Path, writing: _Writing) -> list[str]:
    """Names of the columns, one for each: Polars would make up others in silence."""
    names, seen = next(_records(path, writing), []), set()
    for place, name in enumerate(names):
        if not name.strip():
            raise no_table(path, f"no name for column {place + 1}", "Name it, or drop it.")
        if name in seen:
            raise no_table(path, f"two columns named {name!r}", "Rename one of them.")
        seen.add(name)
    return names


def _records(path: Path, writing: _Writing) -> Iterator[list[str]]:
    with path.open(newline="", encoding=writing.encoding) as file:
        yield from csv.reader(file, delimiter=writing.separator)


def _why(path: Path, writing: _Writing | None, error: Exception) -> str:
    """The reason in one line; which row is too long, Polars does not tell."""
    if writing is not None and "more fields" in str(error):
        with suppress(csv.Error):  # an entry that is longer than Python's limit
            lengths = [len(record) for record in _records(path, writing)]
            row = next((row for row, length in enumerate(lengths) if length > lengths[0]), None)
            if row is not None:
                return f"{lengths[row]} entries in row {row} and {lengths[0]} names of columns"
    return abridged((str(error).splitlines() or [type(error).__name__])[0])


def no_table(path: Path, why: str, cure: str = "Check the file.") -> ValueError:
    """Build the error for a file that is no table."""
    return rule_error("path", "name a table with named columns and rows", f"{path}, {why}", cure)


def import_polars() -> Any:
    """Polars, or an error that names its extra."""
    return optional("polars", "Tables need Polars", "tables")
