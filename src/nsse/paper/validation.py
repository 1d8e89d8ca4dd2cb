"""Splits of the training samples on which parameters are chosen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nsse.paper.candidates import Labels
from nsse.paper.settings import Recipe
from nsse.selection import BalancedSplits


def validation_splits(recipe: Recipe, y: Labels, seed: int) -> Iterator[tuple[Labels, Labels]]:
    """Indices of training and validation samples.

    Where classes have two samples, holding out one of each leaves nothing to measure the spread of a
    class by, and methods that need it could not be validated. For these every split becomes two
    (``recipe.needs_pairs``): one holds out samples of every second class, the other of the rest.
    """
    splitter = BalancedSplits(recipe.n_splits, recipe.validation_fraction, seed)
    classes, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if sizes.min() > 2 or not recipe.needs_pairs:
        yield from splitter.split(y, y)
        return
    rng = np.random.default_rng(seed)
    for _, held_out in splitter.split(y, y):
        first = np.zeros(len(classes), dtype=bool)
        first[rng.permutation(len(classes))[: len(classes) // 2]] = True
        for part in (first, ~first):
            valid = held_out[part[codes[held_out]]]
            yield np.setdiff1d(np.arange(len(codes)), valid), valid
