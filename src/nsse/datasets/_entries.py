"""Entries of the columns of a table: text without spaces around it, gaps, numbers and dates.

A call of Polars takes longer than the work on a short column. Tables with thousands of columns are
therefore converted many columns at a time, and `_columns` looks at single columns only if they hold
something else than numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.types import Bools, Floats
from nsse.datasets._tables import Table, import_polars

# How people write that there is nothing, in lower case.
NOTHING = ("", "-", "?", "n/a", "na", "nan", "none", "null")
# How people write dates and times.
DATES = (
    *(f"%Y-%m-%d{time}" for time in ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", "T%H:%M:%S", "T%H:%M")),
    *(f"{day}{time}" for day in ("%d.%m.%Y", "%Y/%m/%d") for time in ("", " %H:%M", " %H:%M:%S")),
    *(f"{day}{time}" for day in ("%d/%m/%Y", "%m/%d/%Y") for time in ("", " %H:%M", " %H:%M:%S")),
)
# Entries that are converted together, about 100 MB of text and numbers.
MOST_ENTRIES = 2_000_000


def texts_of(table: Table, name: str) -> Any:
    """Return a column as text without spaces around it."""
    return table.frame[name].cast(import_polars().String, strict=False).str.strip_chars()


def entries_of(table: Table, name: str) -> Any:
    """Return the texts of a column, null where there is nothing."""
    return _without_gaps(table.frame[name].cast(import_polars().String, strict=False))


def cast(column: Any, *, has_commas: bool) -> Any:
    """Return text as numbers, null where an entry is none. Takes a series or an expression."""
    polars = import_polars()
    if has_commas:
        # A point would be one between thousands, or one for decimals: nobody knows.
        column = column.str.replace_all(".", "no number", literal=True)
        column = column.str.replace_all(",", ".", literal=True)
    return column.cast(polars.Float64, strict=False)


def parsed(column: Any, form: str) -> Any:
    """Return text as moments, null where an entry is not written in this form."""
    return column.str.to_datetime(form, strict=False, exact=True)


def plain_numbers(table: Table, names: Sequence[str]) -> dict[str, Floats]:
    """Return the columns that hold finite numbers, NaN where there is nothing.

    Columns are left out if they hold anything else, or nothing at all.
    """
    polars, found = import_polars(), {}
    schema = table.frame.schema
    as_text = [name for name in names if schema[name] == polars.String]
    for some, column in _stacked(table, as_text, polars.String):
        entries = _without_gaps(column)
        numbers = cast(entries, has_commas=table.has_commas)
        is_right = _by_column(numbers.is_not_null() | entries.is_null(), some).all(axis=1)
        found.update(_finite(some, numbers, np.asarray(is_right)))
    typed = [name for name in names if schema[name].is_numeric() or schema[name] == polars.Boolean]
    for some, column in _stacked(table, typed, polars.Float64):
        found.update(_finite(some, column, np.ones(len(some), dtype=bool)))
    return found


def constant_columns(table: Table, names: Sequence[str], *, gaps_count: bool) -> dict[str, str]:
    """Return the columns that have the same entry in every row, with that entry.

    If gaps count, such a column has no gaps. Otherwise they are filled in with the entry.
    """
    polars, found = import_polars(), {}
    schema = table.frame.schema
    flat = [name for name in names if not schema[name].is_nested()]
    for some, column in _stacked(table, flat, polars.String):
        entry = polars.col("entry")
        known = _known(column, some).group_by("column", maintain_order=True)
        of_columns = known.agg(polars.len(), entry.n_unique().alias("n_different"), entry.first())
        for place, n_known, n_different, first in of_columns.rows():
            if n_different == 1 and not (gaps_count and n_known < table.frame.height):
                found[some[place]] = first
    return found


def text_columns(table: Table, names: Sequence[str]) -> set[str]:
    """Return the columns that hold text and no number, because a slip of the pen makes no category."""
    polars, schema = import_polars(), table.frame.schema
    found = {name for name in names if schema[name] in (polars.Categorical, polars.Enum)}
    as_text = [name for name in names if schema[name] == polars.String]
    for some, column in _stacked(table, as_text, polars.String):
        entries = _without_gaps(column)
        readings = [cast(entries, has_commas=either) for either in {False, table.has_commas}]
        has_number = [_by_column(numbers.is_not_null(), some).any(axis=1) for numbers in readings]
        is_text = _by_column(entries.is_not_null(), some).any(axis=1) & ~np.any(has_number, axis=0)
        found.update(name for name, is_so in zip(some, is_text, strict=True) if is_so)
    return found


def date_forms(table: Table, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the forms of dates in which the first entries of columns of text are written."""
    polars, schema = import_polars(), table.frame.schema
    first: dict[str, str] = {}
    as_text = [name for name in names if schema[name] == polars.String]
    for some, column in _stacked(table, as_text, polars.String):
        known = _known(column, some).group_by("column", maintain_order=True).first()
        first.update((some[place], entry) for place, entry in known.rows())
    found: dict[str, list[str]] = {name: [] for name in first}
    entries = polars.Series(list(first.values()), dtype=polars.String)
    for form in DATES:
        fits = parsed(entries, form).is_not_null().to_list()
        for name in (name for name, is_so in zip(first, fits, strict=True) if is_so):
            found[name].append(form)
    return found


def _stacked(table: Table, names: Sequence[str], dtype: Any) -> Iterator[tuple[Sequence[str], Any]]:
    """Yield the entries of some of the columns at a time as one series, column after column."""
    polars = import_polars()
    columns = [table.frame[name].cast(dtype, strict=False) for name in names]
    size = max(1, MOST_ENTRIES // max(1, table.frame.height))
    for start in range(0, len(names), size):
        yield names[start : start + size], polars.concat(columns[start : start + size], rechunk=True)


def _by_column(column: Any, names: Sequence[str]) -> NDArray[Any]:
    """Return the values of stacked columns, one row for each column."""
    return np.asarray(column.to_numpy()).reshape(len(names), -1)


def _known(column: Any, names: Sequence[str]) -> Any:
    """Return a frame of the entries of stacked columns without gaps, with the place of their columns."""
    places = np.repeat(np.arange(len(names)), len(column) // len(names))
    frame = import_polars().DataFrame({"column": places, "entry": _without_gaps(column)})
    return frame.drop_nulls()


def _without_gaps(column: Any) -> Any:
    """Return text without spaces around it, null where there is nothing."""
    polars, text = import_polars(), column.str.strip_chars()
    return polars.select(polars.when(~text.str.to_lowercase().is_in(NOTHING)).then(text)).to_series()


def _finite(names: Sequence[str], column: Any, is_usable: Bools) -> dict[str, Floats]:
    """Return those of the stacked columns that have no infinite number, and at least one number."""
    values = _by_column(column.fill_null(np.nan), names)
    is_usable = is_usable & ~np.isinf(values).any(axis=1) & ~np.isnan(values).all(axis=1)
    return {name: values[place] for place, name in enumerate(names) if is_usable[place]}
