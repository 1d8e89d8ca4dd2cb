"""One fit of one method on one split, and its test errors: the work of `methods_table.py`."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from methods_grids import GRIDS, candidate, dimensions
from nsse.datasets import load_dataset
from nsse.evaluation.splits import per_class_split

WHOLE = "all"  # dimension of an embedding that was not cut

Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]


class Task(NamedTuple):
    """One fit: which method, with which parameters, on which split."""

    dataset: str
    n_per_class: int
    method: str
    parameters: dict[str, Any]
    seed: int


@cache
def data(name: str) -> Arrays:
    """Samples and labels of a data set, divided by their norm unless its name says raw."""
    loaded = load_dataset(name.removesuffix("-raw"), unit_norm=not name.endswith("-raw"))
    return loaded.X, loaded.y


def test_errors(task: Task) -> dict[str, float]:
    """Test error in per cent for every dimension at which the embedding is cut."""
    X, y = data(task.dataset)
    train, test = per_class_split(y, task.n_per_class, task.seed)
    n_classes = len(np.unique(y))
    model = candidate(task.method, task.parameters, len(train), n_classes)
    with threadpool_limits(1), warnings.catch_warnings():
        # Unreachable tolerances and degenerate embeddings are part of a grid.
        warnings.simplefilter("ignore")
        model.fit(X[train], y[train])
        if GRIDS[task.method].largest is None:
            return {WHOLE: _percent(model.predict(X[test]), y[test])}
        embedded = np.asarray(model.embedding_), np.asarray(model.transform(X[test]))
    whole = embedded[0].shape[1]
    cuts = {str(d): d for d in dimensions(n_classes) if d < whole} | {WHOLE: whole}
    return {name: _nearest_error(embedded, y[train], y[test], d) for name, d in cuts.items()}


def _nearest_error(
    embedded: tuple[Any, Any], y_train: NDArray[Any], y_test: NDArray[Any], d: int
) -> float:
    """Error of the nearest neighbour in the first d coordinates."""
    nearest = KNeighborsClassifier(1).fit(embedded[0][:, :d], y_train)
    return _percent(nearest.predict(embedded[1][:, :d]), y_test)


def _percent(predicted: NDArray[Any], y: NDArray[Any]) -> float:
    return 100.0 * float(np.mean(predicted != y))
