"""Columns of a table as features: numbers, categories, dates, medians for gaps; labels and names.

`learned` finds out what the columns are, `prepared` does to another table what was found out. An entry
that is missing, no number or an unknown category is named with its row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import abridged, listed, rule_error
from nsse._support.types import Bools, Floats
from nsse.datasets._entries import (
    cast,
    constant_columns,
    date_forms,
    entries_of,
    parsed,
    plain_numbers,
    text_columns,
    texts_of,
)
from nsse.datasets._preparation import Pairs, TablePreparation
from nsse.datasets._tables import Table, import_polars

# More different texts than these, or more than one for every two rows, are rather names than categories.
MOST_CATEGORIES, ROWS_PER_CATEGORY = 50, 2
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # eighteen digits fit into 64 bits
_LIKE_AN_ID = re.compile(
    r"(?i:(.*[\W_])?(id|ids|uid|uuid|guid|index|idx|key|nr|no|number|row|record|#)|unnamed: 0)"
    r"|.*[a-z](Id|ID|Nr|No)"
)


def learned(
    table: Table,
    known: TablePreparation,
    *,
    impute: bool = False,
    category: Collection[str] = (),
    feature: Collection[str] = (),
) -> TablePreparation:
    """Find out what the columns hold: categories as they occur, dates, medians of numbers if `impute`.

    `known` names the columns of labels, of names and those to leave out, to which those with the same
    entry in every row are added. Columns of text hold categories, and so do those named in `category`. A
    column that looks like an id is asked about unless it is named in `feature`.
    """
    left_out = {known.label, known.id, *known.ignored}
    columns = [name for name in table.names if name not in left_out]
    of_categories, asked = set(category), {*category, *feature}
    for parameter, named in (("category", category), ("feature", feature)):
        check_named(table, parameter, named, columns)
    if not columns:
        cure = f"It has {listed(table.names)}."
        raise rule_error("path", "name a table with columns beside the labels", str(table.path), cure)
    plain = plain_numbers(table, [name for name in columns if name not in of_categories])
    others = [name for name in columns if name not in plain and name not in of_categories]
    forms, of_text = date_forms(table, others), text_columns(table, others)
    alike = [name for name in columns if name not in asked and not _differs(plain.get(name))]
    constant = constant_columns(table, alike, gaps_count=not impute)
    _check_finite(table, constant)
    categories, medians, dates = {}, {}, {}
    for name in columns:
        if name in constant:
            continue
        numbers, form = plain.get(name), None
        if numbers is None and name not in of_categories:
            form = _date_form(table, name, forms.get(name, []))
        if form is not None:
            dates[name] = form
        elif name in of_categories or name in of_text:
            categories[name] = _categories(table, name, asked=name in of_categories)
            continue
        numbers = _numbers(table, name, form) if numbers is None else numbers
        if name not in feature and form is None:
            _check_no_id(table, name, numbers)
        if impute:
            medians[name] = _median(table, name, numbers)
    kept = tuple(name for name in columns if name not in constant)
    if not kept:
        rule, got = "name a table with columns that differ", f"{table.path}, {listed(columns)} constant"
        raise rule_error("path", rule, got, "Add one that tells rows apart.")
    return replace(
        known,
        columns=kept,
        ignored=(*known.ignored, *(name for name in columns if name in constant)),
        categories=Pairs(categories.items()),
        dates=Pairs(dates.items()),
        medians=Pairs(medians.items()) if impute else None,
    )


def prepared(table: Table, known: TablePreparation) -> tuple[Floats, tuple[str, ...]]:
    """The features of every row, and sentences on what was filled in."""
    categories, dates = dict(known.categories), dict(known.dates)
    medians = None if known.medians is None else dict(known.medians)
    of_numbers = [name for name in known.columns if name not in categories and name not in dates]
    plain = plain_numbers(table, of_numbers)
    parts, filled = [], {}
    for name in known.columns:
        if name in categories:
            part, missing = _one_hot(table, name, categories[name])
        else:
            numbers = plain[name] if name in plain else _numbers(table, name, dates.get(name))
            missing = np.isnan(numbers)
            part = np.where(missing, (medians or {}).get(name, np.nan), numbers)[:, np.newaxis]
        if missing.any() and (medians is None or np.isnan(part).any()):
            raise _missing(table.path, name, np.flatnonzero(missing))
        if missing.any():
            filled[name] = int(missing.sum())
        parts.append(part)
    return np.hstack(parts), _about_filled(filled, categories)


def _about_filled(filled: dict[str, int], categories: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What was done about missing numbers, and about missing words."""
    sentences = []
    for of_words, what in (
        (False, "numbers, filled with the medians of their columns"),
        (True, "words, taken as none of the known categories"),
    ):
        own = {name: count for name, count in filled.items() if (name in categories) == of_words}
        if own:
            each = listed([f"{name} {count}" for name, count in own.items()])
            sentences.append(f"Missing {what}: {each}.")
    return tuple(sentences)


def labels_of(table: Table, name: str, unlabeled: str | None) -> tuple[NDArray[Any], Bools]:
    """Labels of the rows that have one, and which rows have an entry that says they have none.

    Labels are whole numbers where all of them are, text otherwise: a file and its half give the same.
    """
    texts = names_of(table, name)
    hidden = np.array([unlabeled is not None and text == unlabeled.strip() for text in texts])
    missing = [row for row, text in enumerate(texts) if not text and not hidden[row]]
    if missing:
        raise _missing(table.path, name, missing)
    kept = [text for text, is_hidden in zip(texts, hidden, strict=True) if not is_hidden]
    whole = all(_WHOLE.fullmatch(text) for text in kept)
    return np.array([int(text) for text in kept] if whole else kept), hidden


def names_of(table: Table, name: str) -> list[str]:
    """What the rows are called."""
    return [text or "" for text in texts_of(table, name).to_list()]


def check_label(table: Table, label: str | None) -> None:
    """Refuse a table without the column of labels."""
    if label not in table.names:
        rule = f"name the column of {table.path} that holds the labels"
        raise rule_error("label", rule, label, f"It has {listed(table.names)}.")


def check_named(table: Table, parameter: str, named: Collection[str], present: Sequence[str]) -> None:
    """Refuse columns that are not there."""
    unknown = [name for name in named if name not in present]
    if unknown:
        rule, got = f"name columns of {table.path}", ", ".join(unknown)
        raise rule_error(parameter, rule, got, f"It has {listed(present)}.")


def check_same(table: Table, known: TablePreparation) -> None:
    """Refuse a table that lacks columns of the model, or has others that nobody spoke of."""
    named = {known.label, known.id, *known.ignored, *known.columns}
    present = set(table.names)
    missing = [name for name in known.columns if name not in present]
    extra = [name for name in table.names if name not in named]
    parts = [f"without {listed(missing)}"] * bool(missing) + [f"with {listed(extra)}"] * bool(extra)
    if parts:
        raise rule_error(
            "path",
            "name a table with the columns of the model, in any order",
            f"{table.path} {' and '.join(parts)}",
            "Add what is missing." if missing else "Name what is to be left out with `ignore`.",
        )


def _check_finite(table: Table, constant: dict[str, str]) -> None:
    """Refuse columns that would be left out although their only entry is infinite."""
    polars = import_polars()
    entries = polars.Series(list(constant.values()), dtype=polars.String)
    is_infinite = cast(entries, has_commas=table.has_commas).is_infinite().fill_null(False).to_list()
    for name in (name for name, is_so in zip(constant, is_infinite, strict=True) if is_so):
        _numbers(table, name)  # which names the row


def _differs(numbers: Floats | None) -> bool:
    """Return whether a column holds different numbers."""
    return numbers is not None and bool(np.nanmin(numbers) < np.nanmax(numbers))


def _date_form(table: Table, name: str, forms: Sequence[str]) -> str | None:
    """Return how a column of dates is written, or None if it holds something else.

    "" means that the file itself says so. ``forms`` are those of the first entry.
    """
    polars = import_polars()
    column = table.frame[name]
    if column.dtype == polars.Date or isinstance(column.dtype, polars.Datetime):
        return ""
    if not forms:
        return None
    entries = entries_of(table, name).drop_nulls()
    forms = [form for form in forms if not parsed(entries, form).is_null().any()]
    if len(forms) > 1 and entries.n_unique() > 1:
        first = f"{entries[0]!r}: the day or the month may come first"
        raise _text(table.path, name, f"dates such as {first}, so write them 2024-03-31")
    return forms[0] if forms else None


def _numbers(table: Table, name: str, date_form: str | None = None) -> Floats:
    """A column as numbers, NaN where there is nothing; an error names the first entry that is none.

    Dates are days since 1970.
    """
    polars = import_polars()
    column = table.frame[name]
    if date_form is not None:
        entries = column if date_form == "" else entries_of(table, name)
        is_right = column.dtype == polars.String if date_form else column.dtype.is_temporal()
        moments = parsed(entries, date_form) if date_form and is_right else entries
        wrong = (moments.is_null() & entries.is_not_null()).arg_true()
        if len(wrong) or not is_right:
            got = (
                f"{abridged(entries[wrong[0]])!r} in row {wrong[0] + 1}"
                if len(wrong)
                else f"type {column.dtype}"
            )
            raise _text(table.path, name, f"{got}, no date as the model knows them")
        seconds = moments.cast(polars.Datetime("ms")).dt.timestamp("ms")
        return (seconds.cast(polars.Float64) / 86_400_000).to_numpy().astype(np.float64)
    if not (column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.String, polars.Null)):
        raise _text(table.path, name, f"of type {column.dtype}")
    if column.dtype == polars.String:
        entries = entries_of(table, name)
        values = cast(entries, has_commas=table.has_commas)
        wrong = (values.is_null() & entries.is_not_null()).arg_true()
        if len(wrong):
            raise _text(table.path, name, f"{abridged(entries[wrong[0]])!r} in row {wrong[0] + 1}")
    else:
        values = column.cast(polars.Float64)
    numbers: Floats = values.to_numpy().astype(np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise _text(table.path, name, f"{numbers[infinite[0]]} in row {infinite[0] + 1}")
    return numbers


def _categories(table: Table, name: str, *, asked: bool) -> tuple[str, ...]:
    found = entries_of(table, name)
    known = tuple(sorted(text for text in found.unique().to_list() if text is not None))
    most = min(MOST_CATEGORIES, len(found) // ROWS_PER_CATEGORY)
    if len(known) > most and not asked:
        raise rule_error(
            "path",
            "name a table whose columns of text hold a few categories each",
            f"{table.path}, column {name}: {len(known)} different texts in {len(found)} rows",
            "Keep it as names with `id`, leave it out with `ignore`, or say that it is a `category`.",
        )
    return known


def _one_hot(table: Table, name: str, known: tuple[str, ...]) -> tuple[Floats, Bools]:
    """A column for every category, 1 where the entry is that; and where there is no entry."""
    place = {category: code for code, category in enumerate(known)}
    found = entries_of(table, name).to_list()
    one_hot = np.zeros((len(found), len(known)))
    for row, text in enumerate(found):
        if text is None:
            continue
        if text not in place:
            raise rule_error(
                "path",
                f"hold categories only that the model knows, in column {name} {listed(known)}",
                f"{table.path} with {abridged(text)!r} in row {row + 1}",
                "Leave the row out, or fit the model to such rows too.",
            )
        one_hot[row, place[text]] = 1.0
    return one_hot, np.array([text is None for text in found])


def _median(table: Table, name: str, numbers: Floats) -> float:
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        rule, got = (
            "name a table with numbers in every column",
            f"{table.path}, nothing in column {name}",
        )
        raise rule_error("path", rule, got, "Leave the column out with `ignore`.")
    return float(np.median(present))


def _check_no_id(table: Table, name: str, numbers: Floats) -> None:
    """A number of its own for every row, under such a name, would be learned by heart."""
    if not _LIKE_AN_ID.fullmatch(name.strip()):
        return
    distinct = len(np.unique(numbers)) == len(numbers) > 1
    if distinct and np.all(numbers == np.round(numbers)):
        raise rule_error(
            "path",
            "name a table whose columns are features, labels or names of the rows",
            f"{table.path}, column {name}: another whole number in every row, and the name of an id",
            "Keep it as names with `id`, leave it out with `ignore`, or say that it is a `feature`.",
        )


def _missing(path: Path, name: str, rows: Sequence[int] | NDArray[Any]) -> ValueError:
    more = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
    return rule_error(
        "path",
        "name a table without missing values",
        f"{path} with nothing in row {rows[0] + 1}, column {name}{more}",
        'Fill them in, leave the row or the column out, or fit with `impute="median"`.',
    )


def _text(path: Path, name: str, what: str) -> ValueError:
    return rule_error(
        "path",
        "name a table of finite numbers, categories or dates, but for its labels",
        f"{path}, column {name}: {what}",
        "Turn it into numbers, leave the column out with `ignore`, or say that it is a `category`.",
    )
