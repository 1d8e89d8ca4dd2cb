"""Checks of samples by scikit-learn, with errors that name the columns that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import validation

from nsse._support.errors import listed

# Words of scikit-learn's errors of samples with missing values or text.
ABOUT_VALUES = ("NaN", "infinity", "convert")
MOST_NAMES = 5
FILL = "Fill the gaps first, for example with SimpleImputer() or nsse.datasets.TableEncoder()."
ENCODE = "Encode such columns first, for example with nsse.datasets.TableEncoder()."


def validate_data(model: Any, X: Any = "no_validation", *args: Any, **kwargs: Any) -> Any:
    """Check samples like the function of this name of scikit-learn.

    If samples contain NaN, infinite numbers or text, the error names the columns.
    """
    try:
        return validation.validate_data(model, X, *args, **kwargs)
    except ValueError as error:
        is_about_values = any(word in str(error) for word in ABOUT_VALUES)
        better = unusable(X) if is_about_values else None
        if better is None:
            raise
        raise better from None


def unusable(X: Any) -> ValueError | None:
    """Return the error of samples with values that are no finite numbers, None if there are none."""
    found: dict[str, list[str]] = {"text": [], "NaN": [], "inf": []}
    for name, values in columns_of(X):
        for kind, count in unusable_values(values).items():
            found[kind].append(f"{name} ({count} {'row' if count == 1 else 'rows'})")
    kinds = [kind for kind, names in found.items() if names]
    if not kinds:
        return None
    got = ", ".join(
        f"{kind} in {'columns' if len(found[kind]) > 1 else 'column'} {listed(found[kind], MOST_NAMES)}"
        for kind in kinds
    )
    return ValueError(f"`X` must contain finite numbers. Got {got}. {ENCODE if found['text'] else FILL}")


def columns_of(X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the names or numbers of columns and their values. Of sparse samples, only stored ones."""
    if sparse.issparse(X):
        given: Any = X
        parts: Any = sparse.coo_array(given)
        is_bad = ~np.isfinite(parts.data)
        columns = parts.coords[1]
        for column in np.unique(columns[is_bad]).tolist():
            yield str(column), parts.data[is_bad & (columns == column)]
        return
    names = getattr(X, "columns", None)
    if names is not None:
        for name in names:
            yield repr(str(name)), np.asarray(X[name])
        return
    values = np.asarray(X)
    if values.ndim == 2:
        for column in range(values.shape[1]):
            yield str(column), values[:, column]


def unusable_values(values: NDArray[Any]) -> dict[str, int]:
    """Return how many values of a column are text, NaN and infinite, if any."""
    if values.dtype.kind in "OUS":
        numbers = np.array([as_number(value) for value in values.tolist()], dtype=object)
        n_text = sum(number is None for number in numbers)
        if n_text:
            return {"text": n_text}
        values = numbers.astype(np.float64)
    if values.dtype.kind != "f":
        return {}
    counts = {"NaN": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    return {kind: count for kind, count in counts.items() if count}


def as_number(value: Any) -> float | None:
    """Return a value as a number, NaN if it is missing, None if it is text."""
    if value is None or repr(value) == "<NA>":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
