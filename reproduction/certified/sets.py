"""The data sets of the table of certified accuracy.

Pixels are in [0, 1]. The columns of spectra have many units, so spectra are divided by one number, for
which the median distance between training samples becomes 10, about that of MNIST. The mean of the
training samples is subtracted from all samples. This changes no distance and helps the linear SVM, which
penalizes its intercept.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial.distance import pdist

from nsse._support.types import Floats, Ints
from nsse.datasets import DatasetNotFoundError, load_dataset, per_class_split
from reproduction.study import sets as study_sets

IMAGES = ("mnist", "digits", "orl", "coil20")
# The two sets of spectra whose smallest class is largest.
SPECTRA = ("spectra_wine", "spectra_coffee")
SIZES = (10, 20, 50)
# ORL has ten images of a person.
FEWER = {"orl": (5,)}
MOST_TEST = 500
# The images of the training part of MNIST come first.
N_TRAIN_OF_MNIST = 60_000
MEDIAN_DISTANCE = 10.0


def names() -> list[str]:
    """Return the data sets that can be read."""
    found = []
    for name in (*IMAGES, *SPECTRA):
        try:
            samples(name)
            found.append(name)
        except DatasetNotFoundError as error:
            print(f"Left out: {error}")
    return found


@cache
def samples(name: str) -> tuple[Floats, Ints]:
    """Return all samples of a data set with their classes."""
    if name in SPECTRA:
        X, y = study_sets.read_wide(name)
    else:
        data = load_dataset(name)
        X, y = data.X, data.y
    return np.asarray(X, dtype=np.float64), study_sets.codes_of(y)


def sizes_of(name: str, wanted: tuple[int, ...]) -> list[int]:
    """Return the training sizes for which every class has a sample more."""
    least = int(np.bincount(samples(name)[1]).min())
    return [size for size in (FEWER.get(name) or wanted) if size < least]


def split(name: str, size: int, seed: int) -> tuple[Floats, Ints, Floats, Ints]:
    """Return training samples, their classes, at most 500 test samples, and their classes.

    The test samples of MNIST are of its own test part.
    """
    X, y = samples(name)
    n_first = N_TRAIN_OF_MNIST if name == "mnist" else len(y)
    train, test = per_class_split(y[:n_first], size, seed)
    if n_first < len(y):
        test = np.arange(n_first, len(y))
    test = np.random.default_rng(seed).permutation(test)[:MOST_TEST]
    scale = MEDIAN_DISTANCE / np.median(pdist(X[train])) if name in SPECTRA else 1.0
    center = X[train].mean(axis=0)
    return scale * (X[train] - center), y[train], scale * (X[test] - center), y[test]
