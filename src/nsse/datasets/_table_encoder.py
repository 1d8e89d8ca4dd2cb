"""Turn the columns of a table into features of a model with `TableEncoder`.

A column of numbers or truth values is one feature. A column of categories becomes one feature per
category, which is 1 if the row has the category and 0 otherwise. A date becomes the number of days since
1970-01-01. `_kind_of` decides what a column contains when the encoder is fitted. After that, a column is
read in the same way in every table.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._support.errors import Described, abridged, listed, row_number, rule_error
from nsse._support.parameters import check_choice, check_count
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.datasets._files import MISSING

# The forms in which dates and times are written.
DATES = (
    *(f"%Y-%m-%d{time}" for time in ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", "T%H:%M:%S", "T%H:%M")),
    *(f"{day}{time}" for day in ("%d.%m.%Y", "%Y/%m/%d") for time in ("", " %H:%M", " %H:%M:%S")),
    *(f"{day}{time}" for day in ("%d/%m/%Y", "%m/%d/%Y") for time in ("", " %H:%M", " %H:%M:%S")),
)
TYPED_DATE = ""  # the form of dates that have a type of their own, and of text such as 2024-03-31
TRUTH = {"true": 1.0, "false": 0.0}
# Text with more different entries than one for every two rows contains names rather than categories.
ROWS_PER_CATEGORY = 2
# Columns with at most this number of different entries may have many gaps, so all rows count.
FEW_TEXTS = 10
_LIKE_AN_ID = re.compile(
    r"(?i:(.*[\W_])?(id|ids|uid|uuid|guid|index|idx|key|nr|no|number|row|record|#)|unnamed: 0)"
    r"|.*[a-z](Id|ID|Nr|No)"
)
START = datetime.datetime(1970, 1, 1)
_ONE_DAY = datetime.timedelta(days=1)
_NAME_IT = (
    "If a column contains categories, name it in `categorical`. Otherwise leave it out with `drop`."
)

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Encoded:
    """Features of the rows of a table, and what was missing or unknown in it."""

    X: Floats
    unknown: Ints
    missing_numbers: dict[str, int]
    missing_categories: dict[str, int]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into features.

    Numbers and truth values remain as they are. Each category of a column of text becomes a feature,
    which is 1 if the row has this category and 0 otherwise. Dates become days since 1970-01-01. Missing
    numbers and dates are replaced by the median of their column. A row with a missing category has none
    of the known categories. Text such as "", "-", "?", "NA" and "none" is missing. Columns with the same
    entry in every training row are left out.

    The encoder does not scale features. Use it in front of ``SmoothEmbedding(standardize=True)``. The
    pipeline of both can be saved and exported. It has certified radii if the table has no categories.

    Parameters
    ----------
    categorical : sequence of str, default=()
        Columns that contain categories, whatever their type. Columns of text and of a categorical type
        always do.
    keep : sequence of str, default=()
        Columns that are features although they look like row ids. Without it, ``fit`` raises an error
        for a column such as ``customer_id`` with a different integer in every row.
    drop : sequence of str, default=()
        Columns that are left out if the table has them.
    missing : {"median", "error"}, default="median"
        Whether missing entries are filled in or raise an error.
    handle_unknown : {"ignore", "error"}, default="ignore"
        How `transform` treats a category that is not in the training data. "ignore" treats it like a
        missing category, and `count_unknown` returns how many of them each row has.
    max_categories : int, default=50
        The largest number of categories of a column that is not named in `categorical`. A column of text
        with more different entries, or with more than one for every two entries, raises an error,
        because it usually contains names.

    Attributes
    ----------
    columns_ : list of str
        The columns that become features.
    constant_ : list of str
        The columns that are left out because all training rows have the same entry.
    categories_ : dict of str to list of str
        The categories of each column that has them, sorted.
    medians_ : dict of str to float
        The median of each column of numbers or dates.
    dates_ : dict of str to str
        The form in which the dates of a column are written. It is empty for columns of a date type.
    n_features_in_, feature_names_in_
        The number of columns, and their names if the table has names.

    See Also
    --------
    nsse.datasets.load_inputs : Read a table from a file.
    sklearn.compose.ColumnTransformer : Treat columns differently.

    Examples
    --------
    >>> import pandas as pd
    >>> from nsse.datasets import TableEncoder
    >>> soil = ["clay", "sand", "clay", "sand"]
    >>> plants = pd.DataFrame({"height": [10.0, None, 30.0, 20.0], "soil": soil})
    >>> encoder = TableEncoder().fit(plants)
    >>> encoder.get_feature_names_out()
    array(['height', 'soil=clay', 'soil=sand'], dtype=object)
    >>> encoder.transform(plants)[1]
    array([20.,  0.,  1.])
    >>> encoder.count_unknown(pd.DataFrame({"height": [15.0], "soil": ["loam"]}))
    array([1])
    """

    def __init__(
        self,
        *,
        categorical: Sequence[str] = (),
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
        missing: str = "median",
        handle_unknown: str = "ignore",
        max_categories: int = 50,
    ) -> None:
        self.categorical = categorical
        self.keep = keep
        self.drop = drop
        self.missing = missing
        self.handle_unknown = handle_unknown
        self.max_categories = max_categories

    def fit(self, X: SamplesLike, y: LabelsLike = None) -> Self:
        """Find out what the columns contain.

        Parameters
        ----------
        X : data frame of pandas or Polars, or array-like, of shape (n_samples, n_columns)
            The table.
        y : ignored
            Labels.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._check_parameters()
        columns: Columns
        if is_frame(X):
            columns = _columns_of_frame(X, self.drop)
            own = [name for name in X.columns if str(name) in columns]
            validate_data(self, X[own], skip_check_array=True)
        else:
            columns = self._columns_of_array(X, reset=True)
        self._names = list(columns)
        self._check_named(columns)
        columns = {name: values for name, values in columns.items() if name not in self.drop}
        if self.missing == "error":
            self._check_whole(columns)
        kinds: dict[str, list[str] | str | None] = {
            name: self._kind_of(name, values) for name, values in columns.items()
        }
        self._check_no_names(columns, kinds)
        self.constant_ = [
            name for name, values in columns.items() if name not in self.keep and _is_constant(values)
        ]
        constant = set(self.constant_)
        self.columns_ = [name for name in columns if name not in constant]
        if not self.columns_:
            n_rows = len(next(iter(columns.values()), ()))
            got = f"{listed(list(columns)) or 'no column'}, with n_samples = {n_rows}"
            cure = "Add a column that distinguishes rows."
            raise rule_error("X", "have a column whose entries differ", Described(got), cure)
        used = {name: kinds[name] for name in self.columns_}
        self.categories_ = {name: kind for name, kind in used.items() if isinstance(kind, list)}
        self.dates_ = {name: kind for name, kind in used.items() if isinstance(kind, str)}
        self.medians_ = {
            name: self._median(name, columns[name])
            for name in self.columns_
            if name not in self.categories_
        }
        return self

    def transform(self, X: SamplesLike) -> Floats:
        """Return the features of the rows of a table.

        Parameters
        ----------
        X : data frame of pandas or Polars, or array-like, of shape (n_samples, n_columns)
            A table with the columns of the training table. The columns of a data frame may have another
            order.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The features, in the order of `get_feature_names_out`.
        """
        return self.encoded(X).X

    def count_unknown(self, X: SamplesLike) -> Ints:
        """Return how many entries of each row are categories that the training table does not have.

        Parameters
        ----------
        X : data frame of pandas or Polars, or array-like, of shape (n_samples, n_columns)
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The counts.
        """
        return self.encoded(X).unknown

    def encoded(self, X: SamplesLike) -> Encoded:
        """Return the features with the numbers of missing and unknown entries.

        Parameters
        ----------
        X : data frame of pandas or Polars, or array-like, of shape (n_samples, n_columns)
            As in `transform`.

        Returns
        -------
        Encoded
            The attributes ``X``, ``unknown``, ``missing_numbers`` and ``missing_categories``.
        """
        check_is_fitted(self)
        columns = self._known_columns(X)
        if self.missing == "error":
            self._check_whole(columns)
        parts = list[Floats]()
        numbers = dict[str, int]()
        words = dict[str, int]()
        unknown = np.zeros(len(next(iter(columns.values()))), dtype=np.intp)
        for name in self.columns_:
            if name in self.categories_:
                part, is_missing, is_unknown = self._one_hot(name, columns[name])
                unknown += is_unknown
                counts = words
            else:
                found = _numbers(name, columns[name], self.dates_.get(name))
                is_missing = np.isnan(found)
                part = np.where(is_missing, self.medians_.get(name, np.nan), found)[:, np.newaxis]
                counts = numbers
            if is_missing.any():
                counts[name] = int(is_missing.sum())
            parts.append(part)
        return Encoded(np.hstack(parts), unknown, numbers, words)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features, such as ``height`` and ``soil=clay``.

        Parameters
        ----------
        input_features : ignored
            The encoder knows the names of its columns.

        Returns
        -------
        ndarray of shape (n_features,) of str
            The names.
        """
        check_is_fitted(self)
        known = self.categories_
        names = [
            feature
            for name in self.columns_
            for feature in ([f"{name}={one}" for one in known[name]] if name in known else [name])
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, ("median", "error"))
        check_choice("handle_unknown", self.handle_unknown, ("ignore", "error"))
        check_count("max_categories", self.max_categories, cure="The default is 50.")
        for name in ("categorical", "keep", "drop"):
            if isinstance(getattr(self, name), str):
                cure = f"Pass `{name}=[{getattr(self, name)!r}]`."
                raise rule_error(name, "be a sequence of names", getattr(self, name), cure)

    def _check_named(self, columns: Columns) -> None:
        for parameter in ("categorical", "keep"):
            unknown = [name for name in getattr(self, parameter) if name not in columns]
            if unknown:
                rule, cure = "name columns of the table", f"It has {listed(list(columns))}."
                raise rule_error(parameter, rule, Described(listed(unknown)), cure)

    def _columns_of_array(self, X: SamplesLike, *, reset: bool) -> Columns:
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return {f"x{place}": _as_column(values) for place, values in enumerate(X.T)}

    def _known_columns(self, X: SamplesLike) -> Columns:
        """Return the columns that become features."""
        if not is_frame(X):
            values = self._columns_of_array(X, reset=False).values()
            by_name = dict(zip(self._names, values, strict=True))
            return {name: by_name[name] for name in self.columns_}
        present = [str(name) for name in X.columns]
        set_of_present = set(present)
        known = {*self._names, *self.drop}
        missing = [name for name in self.columns_ if name not in set_of_present]
        extra = [name for name in present if name not in known]
        parts = [f"without {listed(missing)}"] * bool(missing) + [f"with {listed(extra)}"] * bool(extra)
        if parts:
            rule, got = "have the columns of the model, in any order", f"a table {' and '.join(parts)}"
            cure = "Add the missing columns." if missing else "Leave the other columns out with `drop`."
            raise rule_error("X", rule, Described(got), cure)
        columns = _columns_of_frame(X, set_of_present.difference(self.columns_))
        if not len(next(iter(columns.values()))):
            raise rule_error("X", "have rows", Described("none"), "Found array with 0 sample(s).")
        return columns

    def _kind_of(self, name: str, values: NDArray[Any]) -> list[str] | str | None:
        """Return the categories of a column, the form of its dates, or None if it contains numbers."""
        if name in self.categorical:
            return _categories(values)
        if values.dtype.kind == "M":
            return TYPED_DATE
        if values.dtype.kind != "O":
            self._check_no_id(name, values)
            return None
        texts = Texts.of(values).known
        is_number = np.array([_number(text) is not None for text in texts], dtype=bool)
        if is_number.all() or _are_numbers(values):
            self._check_no_id(name, _numbers(name, values))
            return None
        form = _date_form(name, texts)
        if form is not None:
            return form
        if is_number.any():
            wrong = texts[int(np.argmin(is_number))]
            raise _unlike(name, values, wrong, "numbers, categories or dates", _NAME_IT)
        return _categories(values)

    def _check_no_names(self, columns: Columns, kinds: Mapping[str, Any]) -> None:
        """Raise an error that lists all columns of text that contain names rather than categories."""
        found = []
        for name, values in columns.items():
            known, n_rows = kinds[name], len(values)
            if not isinstance(known, list) or name in self.categorical:
                continue
            n = len(known)
            n_gaps = Texts.of(values).rows(lambda text: text is None).size if n > FEW_TEXTS else 0
            if n > min(self.max_categories, (n_rows - n_gaps) // ROWS_PER_CATEGORY):
                within = f"{n_rows - n_gaps} {'entries' if n_gaps else 'rows'}"
                found.append(f"column {name} with {n} different texts in {within}")
        if found:
            rule = "have few categories in each column of text"
            raise rule_error("X", rule, Described(listed(found)), _NAME_IT)

    def _check_no_id(self, name: str, values: NDArray[Any]) -> None:
        """Raise an error for row ids, which a model would memorize."""
        if name in self.keep or not _LIKE_AN_ID.fullmatch(name.strip()):
            return
        numbers = values.astype(np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if len(np.unique(numbers)) == len(numbers) > 1 and np.all(numbers == np.round(numbers)):
            got = f"column {name}, which looks like a row id (a different integer in every row)"
            cure = "Leave it out with `drop`, or name it in `keep` if it is a feature."
            raise rule_error("X", "contain features only", Described(got), cure)

    def _median(self, name: str, values: NDArray[Any]) -> float:
        numbers = _numbers(name, values, self.dates_.get(name))
        present = numbers[~np.isnan(numbers)]
        if not present.size:
            cure = "Leave it out with `drop`."
            got = Described(f"column {name} without any")
            raise rule_error("X", "have entries in every column", got, cure)
        return float(np.median(present))

    def _check_whole(self, columns: Columns) -> None:
        """Raise an error that lists all columns with missing entries."""
        found = []
        for name, values in columns.items():
            rows = Texts.of(values).rows(lambda text: text is None)
            if rows.size:
                found.append(f"{name} ({rows.size} missing, first in row {rows[0] + 1})")
        if found:
            cure = (
                "Rows are counted from 1. Fill the entries in, leave rows or columns out, or pass "
                '`missing="median"`.'
            )
            got = Described(f"missing entries in the columns {listed(found)}")
            raise rule_error("X", "have no missing entries", got, cure)

    def _one_hot(self, name: str, values: NDArray[Any]) -> tuple[Floats, Bools, Bools]:
        """Return a column for each category, and which entries are missing or unknown."""
        known = self.categories_[name]
        place = {category: code for code, category in enumerate(known)}
        texts = Texts.of(values)
        codes = np.array([-1 if text is None else place.get(text, -2) for text in texts.different])
        codes = codes[texts.places]
        unknown = np.flatnonzero(codes == -2)
        if unknown.size and self.handle_unknown == "error":
            rule = f"have known categories in column {name}, which are {listed(known)}"
            entry = str(texts.different[texts.places[unknown[0]]])
            cure = 'Leave the row out, or pass `handle_unknown="ignore"`.'
            got = Described(f"{abridged(entry)!r} in {row_number(unknown[0])}")
            raise rule_error("X", rule, got, cure)
        one_hot = (codes[:, np.newaxis] == np.arange(len(known))).astype(np.float64)
        return one_hot, codes == -1, codes == -2


def is_frame(X: SamplesLike) -> bool:
    """Return whether X is a data frame of pandas or Polars."""
    kind = type(X)
    if kind.__module__.partition(".")[0] not in ("pandas", "polars"):
        return False
    if kind.__name__ == "LazyFrame":
        raise rule_error("X", "be in memory", Described("a LazyFrame"), "Pass `X.collect()`.")
    return kind.__name__ == "DataFrame"


def _columns_of_frame(X: SamplesLike, drop: Iterable[str]) -> Columns:
    """Return the columns of a data frame as arrays of numbers, dates or objects."""
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        cure = "Rename one of them."
        raise rule_error("X", "have different names of columns", Described(f"two {twice}"), cure)
    left_out = set(drop)
    columns = {}
    for name, own in zip(names, X.columns, strict=True):
        if name not in left_out:
            columns[name] = _as_column(np.asarray(X[own].to_numpy()))
    return columns


def _as_column(values: NDArray[Any]) -> NDArray[Any]:
    """Return entries as numbers, dates or objects."""
    if values.dtype.kind in "biufmM":
        return values
    values = values.astype(object)
    known = [v for v in values if v is not None and str(v).lower() not in MISSING]
    if not known or not all(isinstance(v, datetime.date) for v in known):
        return values
    texts = [str(v) for v in values]
    moments = [None if one.lower() in MISSING else _in_utc(one) for one in texts]
    return np.array(moments, dtype="datetime64[us]")


def _in_utc(text: str) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


@dataclass(frozen=True, eq=False)
class Texts:
    """The different entries of a column as text, with None for missing ones, and their places."""

    different: list[str | None]
    places: Ints

    @classmethod
    def of(cls, values: NDArray[Any]) -> Texts:
        """Return entries without spaces around them. Whole numbers have no decimal point."""
        if values.dtype.kind == "f":
            entries: list[Any] = [int(v) if v.is_integer() else v for v in values.astype(float).tolist()]
        else:
            entries = (values.astype(str) if values.dtype.kind in "mM" else values).tolist()
        if values.dtype.kind == "O":  # lists and other objects have no hash
            entries = [entry if isinstance(entry, str) else str(entry) for entry in entries]
        place: dict[Any, int] = {}
        places = [place.setdefault(entry, len(place)) for entry in entries]
        texts = [str(entry).strip() for entry in place]
        different = [None if text.lower() in MISSING else text for text in texts]
        return cls(different, np.array(places, dtype=np.intp))

    @property
    def known(self) -> list[str]:
        """The different entries that are not missing, in the order of their first appearance."""
        return list(dict.fromkeys(text for text in self.different if text is not None))

    def rows(self, wanted: Callable[[str | None], bool]) -> Ints:
        """Return the rows with such entries."""
        return np.flatnonzero(np.array([wanted(text) for text in self.different])[self.places])

    def numbers(
        self, number: Callable[[str], float | None], wrong: Callable[[str], ValueError]
    ) -> Floats:
        """Return the number of each entry, NaN for missing ones. An entry without one is an error."""
        found = np.full(len(self.different), np.nan)
        for place, text in enumerate(self.different):
            value = np.nan if text is None else number(text)
            if value is None:
                raise wrong(str(text))
            found[place] = value
        return np.asarray(found[self.places])


def _categories(values: NDArray[Any]) -> list[str]:
    return sorted(Texts.of(values).known)


def _number(text: str) -> float | None:
    """Return the number that a text means, None if it means none."""
    if text.lower() in TRUTH:
        return TRUTH[text.lower()]
    try:
        return None if "_" in text else float(text)  # Python allows _ between digits
    except ValueError:
        return None


def _are_numbers(values: NDArray[Any]) -> bool:
    """Return whether all entries of an array of objects are numbers or missing."""
    return all(isinstance(v, Number) for v in values if v is not None and str(v).lower() not in MISSING)


def _is_constant(values: NDArray[Any]) -> bool:
    """Return whether a column has at most one entry, apart from missing ones."""
    if values.dtype.kind in "biuf":
        known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        return not known.size or bool(np.isfinite(known).all() and known.min() == known.max())
    return len(_categories(values)) <= 1


def _date_form(name: str, texts: Sequence[str]) -> str | None:
    """Return the form of the dates of a column, None if it contains other text."""
    forms = [form for form in DATES if texts and _moment(texts[0], form) is not None]
    forms = [form for form in forms if all(_moment(text, form) is not None for text in texts)]
    if len(forms) > 1 and len(set(texts)) > 1:
        rule = f"have dates whose order is clear in column {name}"
        cure = "The day or the month may come first, so write dates like 2024-03-31."
        raise rule_error("X", rule, texts[0], cure)
    return forms[0] if forms else None


def _moment(text: str, form: str) -> datetime.datetime | None:
    try:
        if form == TYPED_DATE:
            return datetime.datetime.fromisoformat(text)
        return datetime.datetime.strptime(text, form.replace("%.f", ".%f"))
    except ValueError:
        return None


def _numbers(name: str, values: NDArray[Any], form: str | None = None) -> Floats:
    """Return a column of numbers, or of dates of a form, as numbers. Missing entries are NaN."""
    if form is not None:
        return _days(name, values, form)
    if values.dtype.kind in "mM":
        raise _unlike(name, values, str(values[0]), "numbers", _NAME_IT)
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        numbers = Texts.of(values).numbers(
            _number, lambda text: _unlike(name, values, text, "numbers", _NAME_IT)
        )
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        wrong = str(numbers[infinite[0]])
        got = Described(f"{wrong} in {row_number(infinite[0])}")
        raise rule_error("X", f"have finite numbers in column {name}", got, "Correct the entry.")
    return numbers


def _days(name: str, values: NDArray[Any], form: str) -> Floats:
    """Return dates as days since 1970-01-01."""
    if values.dtype.kind == "M":
        missing = np.isnat(values)
        days = (values - np.datetime64(START)) / np.timedelta64(_ONE_DAY)
        return np.where(missing, np.nan, days)
    kind = f"dates as in the training table ({form or '2024-03-31'})"

    def number(text: str) -> float | None:
        moment = _moment(text, form)
        return None if moment is None else (moment.replace(tzinfo=None) - START) / _ONE_DAY

    def wrong(text: str) -> ValueError:
        return _unlike(name, values, text, kind, "Write them in the same way.")

    return Texts.of(values).numbers(number, wrong)


def _unlike(name: str, values: NDArray[Any], text: str, kind: str, cure: str) -> ValueError:
    """Build the error for an entry of another kind than its column."""
    row = Texts.of(values).rows(lambda one: one == text)[0]
    got = Described(f"{abridged(text)!r} in {row_number(row)}")
    return rule_error("X", f"have {kind} in column {name}", got, cure)
