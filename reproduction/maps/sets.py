"""The data sets of the benchmark of maps, and how training and test samples are drawn.

Data sets are 26 tables of the folder ``maps``, five wide sets, digits and the pictures of the paper. A
column of words becomes one column of zeros and ones for every word.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse._support.types import Floats, Ints
from nsse.datasets import DatasetNotFoundError
from reproduction.study import sets as study_sets

IMAGES = ("digits", *study_sets.IMAGES)
# Its first column names the animals, and all names but one are different.
WITHOUT_CLASSES = ("zoo",)
# Wide sets: families, in turn, how many, and what a set must have.
WIDE_FAMILIES, N_WIDE = ("embedded", "genes", "series"), 5
LEAST_OF_A_CLASS, MOST_CLASSES = 40, 20
# A class with fewer samples cannot be on both sides of a split.
LEAST_SAMPLES = 4
# A split has at most so many test samples, chosen at random, and so many training samples.
MOST_TEST, MOST_TRAINING = 500, 1000
SIZES = (20, 10, 50)


def names() -> list[str]:
    """Return the names of all data sets that are available, the tables first."""
    found: list[str] = []
    for group in (table_names, wide_names, lambda: image_names(IMAGES)):
        try:
            found += group()
        except DatasetNotFoundError as error:
            print(f"Left out: {error}")
    return found


def table_names() -> list[str]:
    """Return the names of the tables of the folder ``maps``."""
    every = sorted(path.stem for path in study_sets.folder("maps").glob("*.csv"))
    return [name for name in every if name not in WITHOUT_CLASSES]


def wide_names() -> list[str]:
    """Return five wide sets of the reporting half, from three families in turn.

    Every class must have at least 40 samples, so that 20 can be drawn for training, and there must be at
    most 20 classes. Within a family, sets are taken in the order of their names.
    """
    turns = zip_longest(*(_fitting(family) for family in WIDE_FAMILIES))
    return sorted(islice((name for name in chain.from_iterable(turns) if name), N_WIDE))


def _fitting(family: str) -> Iterator[str]:
    for path in sorted(study_sets.folder("wide").glob(f"{family}_*.npz")):
        with np.load(path) as arrays:
            counts = np.unique(arrays["y"], return_counts=True)[1]
        is_reported = study_sets.half_of(path.stem) == "report"
        if is_reported and counts.min() >= LEAST_OF_A_CLASS and len(counts) <= MOST_CLASSES:
            yield path.stem


def image_names(wanted: tuple[str, ...]) -> list[str]:
    """Return the image data sets that can be read."""
    found = []
    for name in wanted:
        try:
            study_sets.samples(name, name)
            found.append(name)
        except DatasetNotFoundError as error:
            print(f"Left out: {error}")
    return found


def kind_of(name: str) -> str:
    """Return the kind of a data set: images, wide data or tables."""
    if name in IMAGES:
        return "images"
    return "wide data" if name.partition("_")[0] in study_sets.WIDE else "tables"


@cache
def samples(name: str) -> tuple[Floats, Ints]:
    """Return the samples of a data set with their classes, without classes of fewer than 4 samples."""
    if kind_of(name) == "images":
        X, y = study_sets.samples(name, name)
    elif kind_of(name) == "wide data":
        X, y = study_sets.read_wide(name)
    else:
        X, y = read_table(study_sets.folder("maps") / f"{name}.csv")
    is_enough = np.unique(y, return_counts=True)[1] >= LEAST_SAMPLES
    codes = study_sets.codes_of(y)
    kept = is_enough[codes]
    return np.asarray(X, dtype=np.float64)[kept], study_sets.codes_of(codes[kept])


def read_table(path: Path) -> tuple[Floats, Ints]:
    """Return the samples of a file with a header and the class in the first column.

    Lines of classes of fewer than 4 samples are left out. A column with a question mark is one of words.
    """
    with path.open(encoding="utf-8", newline="") as file:
        _, *lines = ([entry.strip() for entry in line] for line in csv.reader(file) if line)
    if len({len(line) for line in lines}) != 1:
        found = sorted({len(line) for line in lines})
        raise rule_error(path.name, "have as many entries in every row", found, "Take it again.")
    counts = Counter(line[0] for line in lines)
    # Before columns are read: a second line of names would turn all columns into words.
    labels, *columns = zip(*(line for line in lines if counts[line[0]] >= LEAST_SAMPLES), strict=True)
    return np.hstack([study_sets.numbers(column) for column in columns]), study_sets.codes_of(labels)


def takes_part(y: NDArray[np.intp], size: int) -> bool:
    """Return whether a data set has enough samples for a training size.

    At least half of the classes must have twice the size. The smallest size is for every data set.
    """
    counts = np.bincount(y)
    is_enough = bool(np.mean(counts >= 2 * size) >= 0.5) or size == min(SIZES)
    return is_enough and np.minimum(size, counts // 2).sum() <= MOST_TRAINING


def draw(y: NDArray[np.intp], size: int, seed: int) -> tuple[Ints, Ints]:
    """Return the places of training and of test samples.

    Every class gives ``size`` training samples, but at most half of its samples. At most 500 of the
    other samples are test samples.
    """
    priority = np.random.default_rng(seed).permutation(len(y))
    counts = np.bincount(y)
    wanted = np.minimum(size, counts // 2)
    order = np.lexsort((priority, y))
    rank_in_class = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_train = np.zeros(len(y), dtype=bool)
    is_train[order] = rank_in_class < wanted[y[order]]
    rest = np.flatnonzero(~is_train)
    test = rest[np.argsort(priority[rest])][:MOST_TEST]
    return np.flatnonzero(is_train), np.sort(test)
