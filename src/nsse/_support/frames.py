"""Return tables as data frames if pandas is installed, and as dicts of columns otherwise."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, TypeAlias

# Columns by name, all of the same length.
Columns: TypeAlias = dict[str, list[Any]]
# A pandas.DataFrame, or `Columns` if pandas is not installed.
Frame: TypeAlias = Any


def as_frame(columns: Columns) -> Frame:
    """Return the columns as a data frame if pandas is installed, and as they are otherwise."""
    if find_spec("pandas") is None:
        return columns
    from pandas import DataFrame

    return DataFrame(columns)
