"""Tables on disk: one row per sample, columns of numbers, and perhaps one of labels.

CSV is read as text and turned into numbers here, column by column, so that an entry that is missing or
no number can be named. Rows are counted from 1, below the names of the columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsse._errors import listed, optional, rule_error, rule_message

Floats: TypeAlias = NDArray[np.float64]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
# How people write that there is nothing, in lower case.
NOTHING = ("", "-", "?", "n/a", "na", "nan", "none", "null")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # eighteen digits fit into 64 bits


@dataclass(frozen=True, eq=False)
class TableContent:
    """Columns of numbers as a matrix, and the labels where they were asked for."""

    X: Floats
    columns: tuple[str, ...]
    y: NDArray[Any] | None


def read_table(
    path: Path,
    label: str | None = None,
    *,
    labelled: bool | None = True,
    ignore: Iterable[str] = (),
    columns: Sequence[str] | None = None,
) -> TableContent:
    """Read a CSV, TSV or Parquet file.

    `labelled` asks for labels (True), leaves them (False) or takes them where they are (None). Where
    `columns` are given the table must have these, in any order, and no others beside the label and those
    to `ignore`; None takes all.
    """
    frame = _frame(path)
    present = list(frame.columns)
    if labelled and label not in present:
        raise _no_label(path, label, present)
    left_out = {label, *ignore}
    if columns is None:
        _check_named(path, "ignore", [name for name in ignore if name not in present], present)
        columns = [name for name in present if name not in left_out]
        if not columns:
            raise rule_error("path", "name a table with columns of numbers", str(path), _cure(present))
    else:
        _check_same(path, present, columns, left_out)
    X = np.column_stack([_numbers(path, name, frame[name]) for name in columns])
    wanted = labelled is not False and label in present
    return TableContent(X, tuple(columns), _labels(path, str(label), frame[label]) if wanted else None)


def _frame(path: Path) -> Any:
    polars = _polars()
    if not path.is_file():
        raise FileNotFoundError(rule_message("path", "name a file that exists", str(path), "Check it."))
    if path.stat().st_size == 0:
        raise _no_table(path, "empty")
    try:
        frame = _read(path, polars)
    except (polars.exceptions.PolarsError, UnicodeDecodeError, csv.Error) as error:
        raise _no_table(path, _why(path, error)) from error
    if frame.height == 0:
        raise _no_table(path, "names of columns and no row below them")
    return frame


def _read(path: Path, polars: Any) -> Any:
    # Opened here: in a path, Polars takes brackets and stars for patterns.
    with path.open("rb") as stream:
        if path.suffix.lower() in PARQUET:
            return polars.read_parquet(stream)
        _check_header(path)
        separator = SEPARATORS[path.suffix.lower()]
        return polars.read_csv(stream, separator=separator, infer_schema_length=0)  # 0: all is text


def _check_header(path: Path) -> None:
    """Every column has a name of its own: Polars would make up others in silence."""
    names = next(_records(path), [])
    for place, name in enumerate(names):
        if not name.strip():
            raise _no_table(path, f"no name for column {place + 1}", "Name it, or drop it.")
        if name in names[:place]:
            raise _no_table(path, f"two columns named {name!r}", "Rename one of them.")


def _records(path: Path) -> Iterator[list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        yield from csv.reader(file, delimiter=SEPARATORS[path.suffix.lower()])


def _why(path: Path, error: Exception) -> str:
    """The reason in one line; which row is too long, Polars does not tell."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    if "more fields" in str(error):
        lengths = [len(record) for record in _records(path)]
        row = next((row for row, length in enumerate(lengths) if length > lengths[0]), None)
        if row is not None:
            return f"{lengths[row]} entries in row {row} and {lengths[0]} names of columns"
    return (str(error).splitlines() or [type(error).__name__])[0]


def _numbers(path: Path, name: str, column: Any) -> Floats:
    """A column as numbers, or an error that names the first entry that is none."""
    polars = _polars()
    if not (column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.String, polars.Null)):
        raise _text(path, name, f"of type {column.dtype}")
    if column.dtype == polars.String:
        text = column.str.strip_chars()
        text = polars.select(polars.when(~text.str.to_lowercase().is_in(NOTHING)).then(text)).to_series()
        values = text.cast(polars.Float64, strict=False)
        wrong = (values.is_null() & text.is_not_null()).arg_true()
        if len(wrong):
            raise _text(path, name, f"{text[wrong[0]]!r} in row {wrong[0] + 1}")
    else:
        values = column.cast(polars.Float64)
    numbers: Floats = values.to_numpy().astype(np.float64)
    missing = np.flatnonzero(np.isnan(numbers))
    if missing.size:
        raise _missing(path, name, missing)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise _text(path, name, f"{numbers[infinite[0]]} in row {infinite[0] + 1}")
    return numbers


def _labels(path: Path, name: str, column: Any) -> NDArray[Any]:
    """Whole numbers where all labels are such, text otherwise: a file and its half give the same."""
    polars = _polars()
    texts = column.cast(polars.String, strict=False).str.strip_chars().to_list()
    missing = [row for row, text in enumerate(texts) if text is None or text.lower() in NOTHING[:1]]
    if missing:
        raise _missing(path, name, missing)
    whole = all(_WHOLE.fullmatch(text) for text in texts)
    return np.array([int(text) for text in texts] if whole else texts)


def _check_same(path: Path, present: list[str], columns: Sequence[str], left_out: set[Any]) -> None:
    missing = [name for name in columns if name not in present]
    extra = [name for name in present if name not in columns and name not in left_out]
    parts = [f"without {listed(missing)}"] * bool(missing) + [f"with {listed(extra)}"] * bool(extra)
    if parts:
        raise rule_error(
            "path",
            "name a table with the columns of the model, in any order",
            f"{path} {' and '.join(parts)}",
            "Add what is missing." if missing else "Name what is to be left out with `ignore`.",
        )


def _check_named(path: Path, parameter: str, unknown: Sequence[str], present: Sequence[str]) -> None:
    if unknown:
        raise rule_error(
            parameter, f"name columns of {path}", ", ".join(unknown), f"It has {listed(present)}."
        )


def _no_label(path: Path, label: str | None, present: Sequence[str]) -> ValueError:
    return rule_error("label", f"name the column of {path} that holds the labels", label, _cure(present))


def _cure(present: Sequence[str]) -> str:
    # One column with semicolons in its name is a table of another country.
    other = " Columns are separated by commas." if len(present) == 1 and ";" in present[0] else ""
    return f"It has {listed(present)}.{other}"


def _no_table(path: Path, why: str, cure: str = "Check the file.") -> ValueError:
    return rule_error("path", "name a table with named columns and rows", f"{path}, {why}", cure)


def _missing(path: Path, name: str, rows: Sequence[int] | NDArray[Any]) -> ValueError:
    more = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
    return rule_error(
        "path",
        "name a table without missing values",
        f"{path} with nothing in row {rows[0] + 1}, column {name}{more}",
        "Fill them in, or leave the row or the column out.",
    )


def _text(path: Path, name: str, what: str) -> ValueError:
    return rule_error(
        "path",
        "name a table of finite numbers, but for its labels",
        f"{path}, column {name}: {what}",
        "Turn it into numbers, or leave the column out with `ignore`.",
    )


def _polars() -> Any:
    return optional("polars", "Tables need Polars", "tables")
