"""Checks of samples by scikit-learn, with errors that name the columns that cannot be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import validation

from nsse._support.errors import listed

# Words of the errors of scikit-learn and NumPy about samples with missing values, text or dates.
ABOUT_VALUES = ("NaN", "infinity", "convert", "promoted", "real number", "sequence")
MOST_NAMES = 5
GAPS = ("NaN", "inf")
FILL = "Fill the gaps first, for example with SimpleImputer() or nsse.datasets.TableEncoder()."
REPLACE = "Replace these values, or leave out the rows that contain them."
ENCODE = "Encode such columns first, for example with nsse.datasets.TableEncoder()."


def validate_data(model: Any, X: Any = "no_validation", *args: Any, **kwargs: Any) -> Any:
    """Check samples like the function of this name of scikit-learn.

    If samples contain NaN, infinite numbers, text or dates, the error names the columns.
    """
    try:
        return validation.validate_data(model, X, *args, **kwargs)
    except (TypeError, ValueError) as error:
        is_about_values = any(word in str(error) for word in ABOUT_VALUES)
        better = unusable(X) if is_about_values else None
        if better is None:
            raise
        if "real number" in str(error):  # scikit-learn expects this type of error and its words
            raise TypeError(f"{better} ({error})") from None
        raise ValueError(better) from None


def unusable(X: Any) -> str | None:
    """Describe values of samples that are no finite numbers, None if there are none."""
    if isinstance(X, str | PathLike):
        cure = "nsse.datasets.load_inputs reads files."
        return f"`X` must contain finite numbers. Got {str(X)!r}. {cure}"
    found: dict[str, list[str]] = {}
    for name, values in columns_of(X):
        for kind, count in unusable_values(values).items():
            found.setdefault(kind, []).append(f"{name} ({count} {'row' if count == 1 else 'rows'})")
    if not found:
        return None
    got = ", ".join(
        f"{kind} in {'columns' if len(found[kind]) > 1 else 'column'} {listed(found[kind], MOST_NAMES)}"
        for kind in sorted(found, key=lambda kind: (kind in GAPS, kind))
    )
    cure = ENCODE if set(found) - set(GAPS) else FILL if "NaN" in found else REPLACE
    return f"`X` must contain finite numbers. Got {got}. {cure}"


def columns_of(X: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield names or numbers of columns and their values, for sparse samples only the stored ones."""
    if sparse.issparse(X):
        given: Any = X
        parts: Any = sparse.coo_array(given)
        is_bad = ~np.isfinite(parts.data)
        columns = parts.col
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
    """Return how many values of a column are NaN, infinite, or text, dates and other objects, if any."""
    if values.dtype.kind in "mM":
        return {"dates": len(values)}
    if values.dtype.kind in "OUS":
        numbers = [as_number(value) for value in values]
        others = [value for value, number in zip(values, numbers, strict=True) if number is None]
        if others:
            return dict(Counter(map(kind_of, others)))
        values = np.array(numbers, dtype=np.float64)
    if values.dtype.kind != "f":
        return {}
    counts = {"NaN": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    return {kind: count for kind, count in counts.items() if count}


def kind_of(value: Any) -> str:
    """Return what a value that is no number is called in a message."""
    return "text" if isinstance(value, str | bytes) else f"values of type {type(value).__name__}"


def as_number(value: Any) -> float | None:
    """Return a value as a number, NaN if it is missing, None if it is text."""
    if value is None or repr(value) == "<NA>":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
