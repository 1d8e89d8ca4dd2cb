"""Tables in CSV, TSV and Parquet files, and arrays in NumPy's files.

Text may be in UTF-8, UTF-16 or Latin-1. Columns may be separated by commas, semicolons or tabs, and
numbers may have decimal points or commas. The note of a table names what differs from UTF-8 with commas
between columns and decimal points. `Table.features` returns columns for a `TableEncoder`. Messages count
rows from 1, below the names of the columns. An ``.npz`` file has an array ``X`` and its labels ``y``. An
``.npy`` file has one array.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import (
    Described,
    abridged,
    listed,
    optional,
    row_number,
    rule_error,
    rule_message,
)
from nsse._support.types import Bools

# The text of an entry that is missing, in lower case.
MISSING = ("", "-", "?", "n/a", "na", "nan", "nat", "<na>", "none", "null")
PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv")
# Separators of columns and their names. The first one that splits the header into most columns is used.
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# Windows wrote Latin-1 with dashes and quotation marks in places that Latin-1 leaves empty.
_ENCODINGS = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16", "cp1252": "Latin-1"}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# The same in capitals and with a first capital.
_MISSING = {form for text in MISSING for form in (text, text.upper(), text.capitalize(), "NaN", "NaT")}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # eighteen digits fit into 64 bits
_COMMA_NUMBER = r"^\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, which are text in a CSV file. `note` describes an unusual format."""

    path: Path
    frame: Any
    has_commas: bool = False  # in its numbers, for points
    note: str = ""

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)

    def features(self, drop: Collection[str], categorical: Collection[str] = ()) -> Any:
        """Return a data frame without some columns, in which text that contains only numbers is numbers.

        Columns that are named in `categorical` remain text.
        """
        polars = import_polars()
        frame = self.frame.drop(drop, strict=False)
        kinds = frame.schema.items()  # once, because it takes as long as it has columns
        text = [name for name, kind in kinds if kind == polars.String and name not in categorical]
        if not text:
            return frame
        entries = frame.select(polars.col(text).str.strip_chars())
        known = entries.select(polars.col(text).replace(list(_MISSING), None))
        numbers = known.select(_as_number(polars.col(name), self.has_commas) for name in text)
        gaps = zip(text, known.null_count().row(0), numbers.null_count().row(0), strict=True)
        all_numbers = [name for name, before, after in gaps if before == after < frame.height]
        if self.has_commas:
            self._check_points(known.select(name for name in text if name not in all_numbers))
        return frame.with_columns(numbers[name] for name in all_numbers)

    def _check_points(self, text: Any) -> None:
        """Raise an error for points in a file with decimal commas, which may separate thousands."""
        for name in text.columns:
            column = text[name]
            is_number = _as_number(column, True).is_not_null()
            has_points = _as_number(column, False).is_not_null().any()
            if is_number.any() or has_points:
                row = int((~is_number & column.is_not_null()).arg_true()[0])
                got = Described(f"{abridged(column[row])!r} in {row_number(row)}")
                cure = "Correct it. If the entries are categories, name the column in `categorical`."
                raise rule_error("X", f"have numbers with decimal commas in column {name}", got, cure)

    def labels(self, name: str, unlabeled: str | None) -> tuple[NDArray[Any], Bools]:
        """Return the labels of the rows that have one, and which rows have the entry for no label.

        Labels are integers if all of them are, and text otherwise.
        """
        texts = self.texts(name)
        hidden = np.array([unlabeled is not None and text == unlabeled.strip() for text in texts])
        missing = [row for row, text in enumerate(texts) if not text and not hidden[row]]
        if missing:
            count = "1 row" if len(missing) == 1 else f"{len(missing)} rows"
            got = Described(f"{count} of {self.path} without one, the first is {row_number(missing[0])}")
            cure = 'Fill them in, or pass `unlabeled=""` to learn from rows without labels as well.'
            raise rule_error("label", f"have an entry in every row of column {name}", got, cure)
        kept = [text for text, is_hidden in zip(texts, hidden, strict=True) if not is_hidden]
        whole = all(_WHOLE.fullmatch(text) for text in kept)
        return np.array([int(text) for text in kept] if whole else kept), hidden

    def check_label(self, label: str | None) -> None:
        """Raise an error if a table lacks the column of labels."""
        if label is None:
            rule = f"name the column of labels, because {self.path} is a table"
            raise rule_error("label", rule, Described("nothing"), f"It has {listed(self.names)}.")
        self.check_named("label", [label])

    def texts(self, name: str) -> list[str]:
        """Return the entries of a column as text without spaces around it."""
        column = self.frame[name].cast(import_polars().String, strict=False)
        return [text or "" for text in column.str.strip_chars().to_list()]

    def check_named(self, parameter: str, names: Collection[str | None]) -> None:
        """Raise an error for names of columns that the table does not have."""
        unknown = [str(name) for name in names if name not in self.names]
        if unknown:
            rule, cure = f"name columns of {self.path}", f"It has {listed(self.names)}."
            raise rule_error(parameter, rule, Described(listed(unknown)), cure)


def _as_number(column: Any, has_commas: bool) -> Any:
    """Return text as numbers, null if an entry is none. Takes a series or an expression."""
    if has_commas:
        column = column.str.replace_all(".", "no number", literal=True)
        column = column.str.replace_all(",", ".", literal=True)
    return column.cast(import_polars().Float64, strict=False)


def require_file(path: Path) -> None:
    """Raise an error for a path that is no file. A pipe or a device may never end."""
    if not path.is_file():
        is_stream = path.exists() and not path.is_dir()
        cure = "Copy a device or a pipe to a file first." if is_stream else "Check its spelling."
        raise FileNotFoundError(rule_message("path", "name a file that exists", str(path), cure))


def read_table(path: Path) -> Table:
    """Read a CSV, TSV or Parquet file."""
    polars = import_polars()
    require_file(path)
    if path.stat().st_size == 0:
        raise no_table(path, "empty")
    if path.suffix.lower() not in PARQUET:
        table = _read_text(path, polars)
    else:
        try:
            with path.open("rb") as stream:  # Polars reads brackets and stars in a path as patterns
                table = Table(path, polars.read_parquet(stream))
        except polars.exceptions.PolarsError as error:
            raise no_table(path, _first_line(error)) from error
    if table.frame.height == 0:
        raise no_table(path, "names of columns and no row below them")
    return table


def _read_text(path: Path, polars: Any) -> Table:
    text, encoding = _decoded(path)
    try:
        separator = "\t" if path.suffix.lower() == ".tsv" else _separator(text)
        records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        names = _checked_names(path, next(records, []))
        # Without inference, every column is text.
        frame = polars.read_csv(text.encode(), separator=separator, infer_schema_length=0)
    except csv.Error as error:
        raise no_table(path, _first_line(error)) from error
    except polars.exceptions.PolarsError as error:
        raise no_table(path, _long_row(records, len(names)) or _first_line(error)) from error
    # Polars leaves a quotation mark within a name doubled, as CSV writes it.
    frame = frame.rename(dict(zip(frame.columns, names, strict=False)))
    has_commas = separator == ";" and _has_comma_numbers(frame)
    return Table(path, frame, has_commas, _note(path, encoding, separator, has_commas))


def _decoded(path: Path) -> tuple[str, str]:
    """Return the text of a file and its encoding."""
    content = path.read_bytes()
    for encoding in _ENCODINGS:
        # Without these two bytes, almost any file could be read as UTF-16.
        is_possible = encoding != "utf-16" or content.startswith(_UTF_16)
        with suppress(UnicodeDecodeError):
            if is_possible:
                return content.decode(encoding), encoding
    cure = "Save it as CSV in UTF-8."
    raise no_table(path, f"text in none of {', '.join(_ENCODINGS.values())}", cure)


def _separator(text: str) -> str:
    """Return the sign that divides the names of columns into most parts, if not in quotation marks."""
    header = text.partition("\n")[0]
    lengths = {sign: len(next(csv.reader([header], delimiter=sign), [])) for sign in _SEPARATORS}
    return max(lengths, key=lambda sign: lengths[sign])


def _has_comma_numbers(frame: Any) -> bool:
    return any(bool(frame[name].str.contains(_COMMA_NUMBER).any()) for name in frame.columns)


def _note(path: Path, encoding: str, separator: str, has_commas: bool) -> str:
    """Describe how a file was read if it is not UTF-8 with commas between columns and decimal points."""
    parts = []
    if encoding != "utf-8-sig":
        parts.append(f"in {_ENCODINGS[encoding]}")
    if path.suffix.lower() == ".csv" and separator != ",":
        parts.append(f"with {_SEPARATORS[separator]} between columns")
    if has_commas:
        parts.append("with commas for decimal points")
    return f"It is written {', '.join(parts)}." if parts else ""


def _checked_names(path: Path, names: list[str]) -> list[str]:
    """Raise an error for columns without a name. Polars would invent names without a message."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name.strip():
            cure = "Name it, or drop it. pandas writes row numbers without a name unless index=False."
            raise no_table(path, f"no name for column {place + 1}", cure)
        if name in seen:
            raise no_table(path, f"two columns named {name!r}", "Rename one of them.")
        seen.add(name)
    return names


def _long_row(records: Iterable[list[str]], n_columns: int) -> str:
    """Describe the first row with too many entries. Polars does not report its number."""
    with suppress(csv.Error):  # an entry that is longer than Python's limit
        for row, record in enumerate(records):
            if len(record) > n_columns:
                return f"{len(record)} entries in {row_number(row)} and {n_columns} names of columns"
    return ""


def _first_line(error: Exception) -> str:
    return abridged((str(error).splitlines() or [type(error).__name__])[0])


def no_table(path: Path, why: str, cure: str = "Check the file.") -> ValueError:
    """Build the error for a file that is no table."""
    return rule_error(
        "path", "name a table with named columns and rows", Described(f"{path}, {why}"), cure
    )


def import_polars() -> Any:
    """Import Polars, or raise an error that names its extra."""
    return optional("polars", "Tables need Polars", "tables")


SAMPLES, LABELS = "X", "y"
# Errors that NumPy raises for files that are cut, overwritten or of other formats, and for pickled
# objects.
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def read_arrays(
    path: Path, label: str | None = None, *, labeled: bool | None = True
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return samples and labels. Labels are required (True), ignored (False) or used if present (None).

    For an ``.npz`` file, `label` is the name of the array of labels, and None is ``y``. For an ``.npy``
    file, it is the path of another ``.npy`` file.
    """
    arrays = _arrays(path)
    names = listed(sorted(arrays)) or "nothing"
    if path.suffix.lower() == ".npy":
        X = arrays[""]
        y = None if label is None or labeled is False else _arrays(Path(label))[""]
        rule = "be the .npy file with the labels of"
    else:
        if SAMPLES not in arrays:
            raise _unusable(path, f"arrays {names}, none of them {SAMPLES}")
        X, y = arrays[SAMPLES], None if labeled is False else arrays.get(label or LABELS)
        rule = f"name the array of labels ({LABELS} if not given) in"
    X = _samples(path, X)
    if labeled and y is None:
        has = f"It has {names}." if "" not in arrays else "Pass that file."
        raise rule_error("label", f"{rule} {path}", label, has)
    return X, None if y is None else _labels(path, y, len(X))


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return every array of a file by its name. The array of an .npy file has no name."""
    require_file(path)
    try:
        # Opened here, for NumPy leaves a file open whose end is missing.
        with path.open("rb") as stream:
            found = np.load(stream, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return {"": found}
            with found:
                return {name: found[name] for name in found.files}
    except DAMAGE as error:
        # NumPy takes unknown content for pickled objects, and advises to unpickle it.
        is_unknown = "pickle" in str(error)
        why = "Python objects or no file of NumPy's" if is_unknown else _first_line(error)
        raise _unusable(path, why) from error


def _samples(path: Path, X: NDArray[Any]) -> NDArray[Any]:
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.size == 0:
        raise _unusable(path, f"samples of shape {X.shape} and type {X.dtype}")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    wrong = np.argwhere(~np.isfinite(X))
    if len(wrong):
        row, column = wrong[0]
        raise _unusable(path, f"{X[row, column]} in {row_number(row)}, column {column + 1}")
    return X


def _labels(path: Path, y: NDArray[Any], n_samples: int) -> NDArray[Any]:
    if y.shape != (n_samples,):
        cure = "Give one label for every row."
        raise rule_error(
            "label", f"hold {n_samples} labels for {path}", Described(f"shape {y.shape}"), cure
        )
    return y


def _unusable(path: Path, why: str) -> ValueError:
    return rule_error(
        "path",
        "name a whole .npy or .npz file of plain arrays, the samples as rows of finite numbers",
        Described(f"{path}, {why}"),
        "Write it again with numpy.save or numpy.savez.",
    )
