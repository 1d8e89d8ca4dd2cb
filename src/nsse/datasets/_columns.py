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

from nsse._support.errors import listed, rule_error
from nsse._support.types import Bools, Floats
from nsse.datasets._preparation import Pairs, TablePreparation
from nsse.datasets._tables import Table, import_polars

# How people write that there is nothing, in lower case.
NOTHING = ("", "-", "?", "n/a", "na", "nan", "none", "null")
# More different texts than these, or more than one for every two rows, are rather names than categories.
MOST_CATEGORIES, ROWS_PER_CATEGORY = 50, 2
# How people write dates and times.
DATES = (
    *(f"%Y-%m-%d{time}" for time in ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", "T%H:%M:%S", "T%H:%M")),
    *(f"{day}{time}" for day in ("%d.%m.%Y", "%Y/%m/%d") for time in ("", " %H:%M", " %H:%M:%S")),
    *(f"{day}{time}" for day in ("%d/%m/%Y", "%m/%d/%Y") for time in ("", " %H:%M", " %H:%M:%S")),
)
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
    for parameter, named in (("category", category), ("feature", feature)):
        check_named(table, parameter, named, columns)
    if not columns:
        cure = f"It has {listed(table.names)}."
        raise rule_error("path", "name a table with columns beside the labels", str(table.path), cure)
    categories, medians, dates, constant = {}, {}, {}, []
    for name in columns:
        if name not in (*category, *feature) and _is_constant(table, name, impute):
            constant.append(name)
            continue
        form = None if name in category else _date_form(table, name)
        if form is not None:
            dates[name] = form
        elif name in category or _is_text(table, name):
            categories[name] = _categories(table, name, asked=name in category)
            continue
        numbers = _numbers(table, name, form)
        if name not in feature and form is None:
            _check_no_id(table, name, numbers)
        if impute:
            medians[name] = _median(table, name, numbers)
    kept = tuple(name for name in columns if name not in constant)
    if not kept:
        rule, got = "name a table with columns that differ", f"{table.path}, {listed(constant)} constant"
        raise rule_error("path", rule, got, "Add one that tells rows apart.")
    return replace(
        known,
        columns=kept,
        ignored=(*known.ignored, *constant),
        categories=Pairs(categories.items()),
        dates=Pairs(dates.items()),
        medians=Pairs(medians.items()) if impute else None,
    )


def prepared(table: Table, known: TablePreparation) -> tuple[Floats, tuple[str, ...]]:
    """The features of every row, and sentences on what was filled in."""
    categories, dates = dict(known.categories), dict(known.dates)
    medians = None if known.medians is None else dict(known.medians)
    parts, filled = [], {}
    for name in known.columns:
        if name in categories:
            part, missing = _one_hot(table, name, categories[name])
        else:
            numbers = _numbers(table, name, dates.get(name))
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
    return [text or "" for text in _texts(table, name).to_list()]


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
    left_out = {known.label, known.id, *known.ignored}
    missing = [name for name in known.columns if name not in table.names]
    extra = [name for name in table.names if name not in known.columns and name not in left_out]
    parts = [f"without {listed(missing)}"] * bool(missing) + [f"with {listed(extra)}"] * bool(extra)
    if parts:
        raise rule_error(
            "path",
            "name a table with the columns of the model, in any order",
            f"{table.path} {' and '.join(parts)}",
            "Add what is missing." if missing else "Name what is to be left out with `ignore`.",
        )


def _texts(table: Table, name: str) -> Any:
    polars = import_polars()
    return table.frame[name].cast(polars.String, strict=False).str.strip_chars()


def _entries(table: Table, name: str) -> Any:
    """The texts of a column, null where there is nothing."""
    polars = import_polars()
    texts = _texts(table, name)
    return polars.select(polars.when(~texts.str.to_lowercase().is_in(NOTHING)).then(texts)).to_series()


def _is_constant(table: Table, name: str, impute: bool) -> bool:
    """Whether every row has the same entry, those that are filled in as well."""
    if table.frame[name].dtype.is_nested():
        return False  # which is said when it is to be a number
    entries = _entries(table, name)
    return entries.drop_nulls().n_unique() == 1 and (impute or not entries.is_null().any())


def _is_text(table: Table, name: str) -> bool:
    """Whether a column holds text and no number: a slip of the pen does not make categories."""
    polars = import_polars()
    column = table.frame[name]
    if column.dtype in (polars.Categorical, polars.Enum):
        return True
    if column.dtype != polars.String:
        return False
    entries = _entries(table, name)
    numbers = [_cast(entries, has_commas=either) for either in (False, table.has_commas)]
    return bool(entries.is_not_null().any()) and not any(bool(n.is_not_null().any()) for n in numbers)


def _date_form(table: Table, name: str) -> str | None:
    """How a column of dates is written, "" where the file says so itself; None where it holds others."""
    polars = import_polars()
    column = table.frame[name]
    if column.dtype == polars.Date or isinstance(column.dtype, polars.Datetime):
        return ""
    if column.dtype != polars.String:
        return None
    entries = _entries(table, name).drop_nulls()
    forms = [form for form in DATES if len(entries) and not _parsed(entries, form).is_null().any()]
    if len(forms) > 1 and entries.n_unique() > 1:
        first = f"{entries[0]!r}: the day or the month may come first"
        raise _text(table.path, name, f"dates such as {first}, so write them 2024-03-31")
    return forms[0] if forms else None


def _parsed(entries: Any, form: str) -> Any:
    return entries.str.to_datetime(form, strict=False, exact=True)


def _cast(entries: Any, *, has_commas: bool) -> Any:
    """Numbers, null where an entry is none."""
    polars = import_polars()
    if has_commas:
        # A point would be one between thousands, or one for decimals: nobody knows.
        entries = entries.str.replace_all(".", "no number", literal=True)
        entries = entries.str.replace_all(",", ".", literal=True)
    return entries.cast(polars.Float64, strict=False)


def _numbers(table: Table, name: str, date_form: str | None = None) -> Floats:
    """A column as numbers, NaN where there is nothing; an error names the first entry that is none.

    Dates are days since 1970.
    """
    polars = import_polars()
    column = table.frame[name]
    if date_form is not None:
        entries = column if date_form == "" else _entries(table, name)
        is_right = column.dtype == polars.String if date_form else column.dtype.is_temporal()
        moments = _parsed(entries, date_form) if date_form and is_right else entries
        wrong = (moments.is_null() & entries.is_not_null()).arg_true()
        if len(wrong) or not is_right:
            got = (
                f"{entries[wrong[0]]!r} in row {wrong[0] + 1}" if len(wrong) else f"type {column.dtype}"
            )
            raise _text(table.path, name, f"{got}, no date as the model knows them")
        seconds = moments.cast(polars.Datetime("ms")).dt.timestamp("ms")
        return (seconds.cast(polars.Float64) / 86_400_000).to_numpy().astype(np.float64)
    if not (column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.String, polars.Null)):
        raise _text(table.path, name, f"of type {column.dtype}")
    if column.dtype == polars.String:
        entries = _entries(table, name)
        values = _cast(entries, has_commas=table.has_commas)
        wrong = (values.is_null() & entries.is_not_null()).arg_true()
        if len(wrong):
            raise _text(table.path, name, f"{entries[wrong[0]]!r} in row {wrong[0] + 1}")
    else:
        values = column.cast(polars.Float64)
    numbers: Floats = values.to_numpy().astype(np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise _text(table.path, name, f"{numbers[infinite[0]]} in row {infinite[0] + 1}")
    return numbers


def _categories(table: Table, name: str, *, asked: bool) -> tuple[str, ...]:
    found = _entries(table, name)
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
    found = _entries(table, name).to_list()
    one_hot = np.zeros((len(found), len(known)))
    for row, text in enumerate(found):
        if text is None:
            continue
        if text not in place:
            raise rule_error(
                "path",
                f"hold categories only that the model knows, in column {name} {listed(known)}",
                f"{table.path} with {text!r} in row {row + 1}",
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
    distinct = len(np.unique(numbers)) == len(numbers) > 1 and bool(np.all(numbers == np.round(numbers)))
    if distinct and _LIKE_AN_ID.fullmatch(name.strip()):
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
