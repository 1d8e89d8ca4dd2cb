"""One row of the tables: a method on one realisation of one cell, computed once for both protocols.

``row.error`` and ``row.chosen`` are those of `honest`: what was chosen on the training samples alone.
``row.details["candidates"]`` has the mistakes on the test samples of everything that was tried, from
which `paper` is read once all realisations are there. For NSSE ``row.details["validation"]`` has those
on the inner splits, which set its weights.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from nsse.datasets import Dataset, load_dataset, per_class_split
from reproduction.paper.candidates import Realisation
from reproduction.paper.extended_row import extended_row
from reproduction.paper.grid_row import grid_row
from reproduction.paper.settings import EXTENDED, IMAGE_SIZE, Profile
from reproduction.rows import Row, Task


def measured(profile: Profile, task: Task) -> Row:
    """The row of a task: load, split, choose, fit and count mistakes."""
    recipe = profile.recipe(task.dataset, task.method, task.n_train)
    sets = {name: samples(task.dataset, name, recipe.image_size) for name in recipe.scalings}
    first = next(iter(sets.values()))
    train, test = per_class_split(first.y, task.n_train, task.seed)
    X, X_test = ({name: data.X[part] for name, data in sets.items()} for part in (train, test))
    shape = first.image_shape or ()
    own = Realisation(task, recipe, X, first.y[train], X_test, first.y[test], shape)
    with warnings.catch_warnings(record=True) as caught:
        # Unreachable tolerances and degenerate embeddings are part of a grid: counted, not shown.
        warnings.simplefilter("always")
        row = (extended_row if task.method in EXTENDED else grid_row)(own)
    counts = Counter(warning.category.__name__ for warning in caught)
    row["details"] |= {"n_test": len(test), "warnings": dict(counts)}
    return Row(task, **row)


@lru_cache(maxsize=4)
def samples(dataset: str, scaling: str, size: tuple[int, int]) -> Dataset:
    """A data set of the paper, its images divided by their norm or not; kept for the next row."""
    return load_dataset(dataset, size=size, unit_norm=scaling == "unit")


def unreadable(datasets: Iterable[str]) -> dict[str, Exception]:
    """The data sets that are not there, or not whole, and why."""
    problems: dict[str, Exception] = {}
    for dataset in datasets:
        try:
            samples(dataset, "unit", IMAGE_SIZE)
        except (OSError, ValueError) as error:
            problems[dataset] = error
    return problems
