"""One row of the tables: a method on one split of one experiment, computed once for both protocols.

``row.error`` and ``row.chosen`` belong to the protocol `honest`: everything is chosen on the training
samples. ``row.details["candidates"]`` contains the mistakes of all candidates on the test samples, from
which the protocol of the paper chooses. For NSSE, ``row.details["validation"]`` contains the mistakes on
the inner splits, which set its weights.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from nsse.datasets import Dataset, load_dataset, per_class_split
from reproduction.paper.candidates import Split
from reproduction.paper.extended_row import extended_row
from reproduction.paper.grid_row import grid_row
from reproduction.paper.settings import IMAGE_SIZE, OURS, Profile
from reproduction.rows import Row, Task


def measured(profile: Profile, task: Task) -> Row:
    """Compute the row of a task: load, split, choose, fit and count mistakes."""
    recipe = profile.recipe(task.dataset, task.method, task.n_train)
    sets = {name: samples(task.dataset, name, recipe.image_size) for name in recipe.scalings}
    first = next(iter(sets.values()))
    train, test = per_class_split(first.y, task.n_train, task.seed)
    X, X_test = ({name: data.X[part] for name, data in sets.items()} for part in (train, test))
    shape = first.image_shape or ()
    own = Split(task, recipe, X, first.y[train], X_test, first.y[test], shape)
    with warnings.catch_warnings(record=True) as caught:
        # Grids contain unreachable tolerances and degenerate embeddings. Their warnings are counted.
        warnings.simplefilter("always")
        row = (extended_row if task.method in OURS else grid_row)(own)
    counts = Counter(warning.category.__name__ for warning in caught)
    row["details"] |= {"n_test": len(test), "warnings": dict(counts)}
    return Row(task, **row)


@lru_cache(maxsize=4)
def samples(dataset: str, scaling: str, size: tuple[int, int]) -> Dataset:
    """Return a data set of the paper, which is cached for the next row."""
    return load_dataset(dataset, size=size, unit_norm=scaling == "unit")


def unreadable(datasets: Iterable[str]) -> dict[str, Exception]:
    """Return the data sets that cannot be read, with the reasons."""
    problems: dict[str, Exception] = {}
    for dataset in datasets:
        try:
            samples(dataset, "unit", IMAGE_SIZE)
        except (OSError, ValueError) as error:
            problems[dataset] = error
    return problems
