"""Which rows the benchmark of maps has, and how one is measured.

A map is fitted to training samples alone, and test samples pass through the same function. Columns are
standardized by the training samples. The first split of every data set and method comes before any
second one, with 20 samples per class and two coordinates first, so that partial results are balanced.
"""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from nsse._support.types import Floats, Ints
from reproduction.maps import measures, page, sets
from reproduction.maps.methods import COMPILED, FLAT, METHODS, REFERENCES, FittedMap, Place, available
from reproduction.rows import Row, RowFile, Task
from reproduction.running import chosen, run_tasks
from reproduction.study.study import standardised

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs" / "research"
# `null` and `refit` need three more fits, and are measured in the plane on the first split alone.
SPLITS, SPLITS_OF_REFITS = 3, 1
# Part of every key: counted up if a method, a measure or how samples are prepared changes.
RECIPE = {"recipe": 1}


def run(options: Namespace) -> list[str]:
    """Compute the rows that are not stored yet, or write the page."""
    out = options.out or HERE
    if options.page:
        page.publish(RowFile(out / "rows.jsonl").rows(), (options.out or DOCS) / "maps.md", out)
        return []
    names = chosen("--sets", options.sets, sets.names())
    compared = chosen("--methods", options.methods, [*available(), *REFERENCES])
    benchmark = Benchmark(names, compared, options.sizes or sets.SIZES, options.splits or SPLITS)
    return run_tasks(benchmark.tasks(), measured, RowFile(out / "rows.jsonl"), options.jobs).reasons


@dataclass(frozen=True)
class Benchmark:
    """Data sets, methods, training samples per class, and the number of splits."""

    names: Sequence[str]
    methods: Sequence[str]
    sizes: Sequence[int]
    n_splits: int

    def tasks(self) -> list[Task]:
        """Return all tasks: the first split, then the plane of the others, then more coordinates."""
        codes = {name: sets.samples(name)[1] for name in self.names}
        return [
            Task(name, method, size, seed, d, RECIPE, "maps")
            for seed, is_flat in self._passes()
            for size in self.sizes
            for name in self.names
            if sets.takes_part(codes[name], size)
            for method in self.methods
            for d in self._dimensions(method, codes[name], is_flat)
        ]

    def _passes(self) -> list[tuple[int, bool]]:
        others = range(1, self.n_splits)
        flat = [(seed, True) for seed in others]
        return [(0, True), (0, False), *flat, *((seed, False) for seed in others)]

    @staticmethod
    def _dimensions(method: str, y: Ints, is_flat: bool) -> list[int | None]:
        """Return the number of coordinates: two, or one less than classes; None without a map."""
        if method in REFERENCES:
            return [None] if is_flat else []
        if is_flat:
            return [2]
        d = int(y.max())
        return [] if d == 2 or method in FLAT else [d]


@dataclass(frozen=True)
class Split:
    """Standardized training samples with their classes, test samples, and their numbers."""

    X: Floats
    y: Ints
    unseen: measures.Unseen
    shape: dict[str, int]


@lru_cache(maxsize=2)  # tasks of a split follow one another
def _split(name: str, size: int, seed: int) -> Split:
    X, y = sets.samples(name)
    train, test = sets.draw(y, size, seed)
    own, new = standardised(X[train], X[test])
    shape = {"features": X.shape[1], "classes": int(y.max()) + 1, "train": len(train)}
    shape["test"] = len(test)
    shape["largest class"] = int(np.bincount(y[train]).max())
    return Split(own, y[train], measures.Unseen(new, y[test]), shape)


def measured(task: Task) -> Row:
    """Draw the samples of a task, fit, and measure every map of the fit."""
    split = _split(task.dataset, task.n_train, task.seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # methods on few samples warn often
        if task.method in REFERENCES:
            return _reference(task, split)
        return _map(task, split)


def _reference(task: Task, split: Split) -> Row:
    """Measure a classifier of all features, which has only an accuracy."""
    start = process_time()
    model = REFERENCES[task.method]().fit(split.X, split.y)
    fitted = process_time()
    right = float(model.score(split.unseen.X, split.unseen.y))
    seconds = fitted - start, process_time() - fitted
    found = {task.method: {"accuracy": float(f"{right:.4g}")}}
    return Row(task, 1.0 - right, *seconds, {}, {"maps": found, **split.shape})


def _map(task: Task, split: Split) -> Row:
    """Measure the maps of a fit, and in the plane of fits to permuted classes and bootstrap samples."""
    method, d = METHODS[task.method], task.d or 2

    def fit(X: Floats, y: Ints) -> list[FittedMap]:
        return method(X, y, d)

    if task.method in COMPILED:
        _compiled(task.method)
    X, y, unseen = split.X, split.y, split.unseen
    start = process_time()
    maps = fit(X, y)
    fitted = process_time()
    first = maps[0].place(unseen.X)
    placed = process_time()
    # Fitted and left-out positions share a function.
    places = {one.place: one.place(unseen.X) for one in maps[1:] if one.place is not maps[0].place}
    places |= {maps[0].place: first}
    shared = {place: _of_positions(place, unseen, F) for place, F in places.items()}
    found = {
        one.name: _of_classes(one, y, places[one.place], unseen.y) | shared[one.place] for one in maps
    }
    if d == 2 and task.seed < SPLITS_OF_REFITS:
        permuted = np.random.default_rng(task.seed).permutation(y)
        for one in fit(X, permuted):
            found[one.name]["null"] = measures.left_out_accuracy(one.train, permuted)
            found[one.name]["null silhouette"] = measures.silhouette(one.train, permuted)
        for name, distance in measures.refit(fit, X, y, unseen.X, task.seed).items():
            found[name]["refit"] = distance
    rounded = {
        name: {key: float(f"{value:.4g}") for key, value in own.items()} for name, own in found.items()
    }
    details = {"maps": rounded, "bytes": measures.n_bytes(maps[0].model), **split.shape}
    error = 1.0 - found[maps[0].name]["accuracy"]
    return Row(task, error, fitted - start, (placed - fitted) / len(unseen.X), {}, details)


def _of_classes(one: FittedMap, y: Ints, F: Floats, y_test: Ints) -> dict[str, float]:
    """Return the accuracy of a map on test samples, and how much better it looks on its own samples."""
    right = measures.accuracy(one.train, y, F, y_test)
    return {"accuracy": right, "gap": measures.left_out_accuracy(one.train, y) - right}


def _of_positions(place: Place, unseen: measures.Unseen, F: Floats) -> dict[str, float]:
    """Return what depends on the positions of test samples alone."""
    return {
        **measures.trust(unseen, F),
        "structure": measures.structure(unseen, F),
        "alone": measures.alone(place, unseen.X, F),
    }


@cache
def _compiled(method: str) -> None:
    """Use a method once in this process, so that its code is compiled before anything is timed."""
    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).normal(size=(40, 5)) + y[:, np.newaxis]
    for one in METHODS[method](X, y, 2):
        one.place(X)
