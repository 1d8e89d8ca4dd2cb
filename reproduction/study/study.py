"""The study: which rows there are, how one of them is measured, and the pages.

Samples are drawn class by class (for imbalanced tables in the proportions of the classes) and
standardized by the training samples alone. Every method receives the same samples. Seconds are
processor seconds on one thread.
"""

from __future__ import annotations

import random
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from nsse.datasets import per_class_split
from reproduction.rows import Row, RowFile, Task, marked, write_text
from reproduction.running import chosen, run_tasks
from reproduction.study import imbalanced, methods, page, sets, unlabeled

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs" / "research"
UNLABELED = "measurements.md"
BENCHMARKS = HERE.parents[1] / "docs" / "explanation" / "benchmarks.md"
FIGURE = HERE.parents[1] / "docs" / "images" / "ranks.png"
# Larger experiments are left out. If there are more test samples, a random part of them is used.
MOST_TRAINING, MOST_TEST = 1000, 1000
SIZES, SPLITS = (5, 10, 20, 50), 3
QUICK_SETS, QUICK_SIZES = ("iris", "wine"), (5, 10)
# A part of every key. It increases if a grid, an inner split or the preparation of samples changes.
RECIPE = {"recipe": 1}
# A check computes rows again that took at most this many seconds.
SHORT = 5.0


def run(options: Namespace) -> list[str]:
    """Compute the missing rows, and write the page of all rows."""
    quick = options.quick
    out = options.out or (Path("study-quick") if quick else HERE)
    rows, problems = RowFile(out / "rows.jsonl"), []
    if not options.page_only:
        wanted = options.sets or (QUICK_SETS if quick else ())
        where, missing = sets.found(None, wanted)
        for line in missing:
            print(f"Left out: {line}")
        compared = chosen("--methods", options.methods, methods.QUICK if quick else methods.available())
        where = {name: where[name] for name in chosen("--sets", wanted, where)}
        sizes = options.sizes or (QUICK_SIZES if quick else SIZES)
        study = Study(where, compared, sizes, options.splits or SPLITS)
        problems = run_tasks(study.tasks(), study, rows, options.jobs).reasons
    if quick or options.out:
        page.publish(rows.rows(), out / "study.md", out / "ranks.png")
    else:
        page.publish(rows.rows(), DOCS / "study.md", FIGURE)
        write_text(BENCHMARKS, with_ranks(BENCHMARKS.read_text(encoding="utf-8"), rows.rows()))
    return problems


def with_ranks(text: str, rows: Sequence[Row]) -> str:
    """Return the page of benchmarks with the mean ranks of these rows."""
    return marked(text, "ranks", page.summary(rows))


def run_imbalanced(options: Namespace) -> list[str]:
    """Compute the missing rows of one half of the imbalanced tables, and write their page."""
    out = options.out or HERE
    rows, problems = RowFile(out / "imbalanced.jsonl"), []
    if not options.page_only:
        there = [name for name in sets.keel_names("imbalanced") if sets.half_of(name) == "report"]
        where = dict.fromkeys(chosen("--sets", options.sets, there), "imbalanced")
        compared = chosen("--methods", options.methods, methods.IMBALANCED)
        study = Study(where, compared, options.sizes or (20,), options.splits or 1)
        problems = run_tasks(study.tasks(), study, rows, options.jobs).reasons
    imbalanced.publish(rows.rows(), (options.out or DOCS) / "imbalanced.md")
    return problems


def run_unlabeled(options: Namespace) -> list[str]:
    """Compute the rows with few labels, and write their tables on the page of measurements."""
    return unlabeled.run(options, options.out or HERE, (options.out or DOCS) / UNLABELED)


def check(n_rows: int, out: Path = HERE) -> Iterator[tuple[bool, str]]:
    """Compare pages with their rows, and random rows of every kind of data with new ones."""
    rows, few_labels = (RowFile(out / name).rows() for name in ("rows.jsonl", "unlabeled.jsonl"))
    texts = {name: (DOCS / name).read_text(encoding="utf-8") for name in ("study.md", UNLABELED)}
    made = page.text_of(rows, "../images/ranks.png"), unlabeled.filled(texts[UNLABELED], few_labels)
    for (name, text), again in zip(texts.items(), made, strict=True):
        verdict = "agrees with" if text == again else "DIFFERS from"
        yield text == again, f"{name} {verdict} the rows of the study."
    where, missing = sets.found(None)
    yield from ((True, f"Left out: {line}") for line in missing)
    there = [row for row in rows if row.task.method in methods.available()]
    for kind in sorted({sets.kind_of(name) for name in where}):
        own = [row for row in there if sets.kind_of(row.task.dataset) == kind]
        yield from _again(Study(where, (), (), 0), own, where, n_rows)
    known = [row for row in few_labels if row.task.method in unlabeled.METHODS]
    yield from _again(unlabeled.measured, known, where, n_rows)


def _again(
    work: Callable[[Task], Row], rows: Sequence[Row], where: Container[str], n_rows: int
) -> Iterator[tuple[bool, str]]:
    short = [row for row in rows if row.task.dataset in where and row.fit_seconds < SHORT]
    for row in random.sample(short, min(n_rows, len(short))):
        again = work(row.task)
        # Another processor or BLAS rounds differently, and can break a tie differently.
        agrees = abs(again.error - row.error) <= max(0.005, 1.5 / again.details["test"])
        told = f"{100 * row.error:.2f} % stored, {100 * again.error:.2f} % now"
        yield agrees, f"{row.task}: {'agrees' if agrees else 'DIFFERS'}, {told}."


@dataclass(frozen=True)
class Study:
    """The experiments: data sets with their families, methods, training sizes and splits.

    A data set is used with a size if every class has one more sample. ``study(task)`` computes a row.
    """

    where: Mapping[str, str]
    methods: Sequence[str]
    sizes: Sequence[int]
    n_splits: int

    def tasks(self) -> list[Task]:
        """Return all tasks. The first split of every experiment comes before any second one.

        The reporting half comes first.
        """
        names = sorted(self.where, key=lambda name: sets.half_of(name) == "choose")
        places = [(size, name) for size in self.sizes for name in names if self._goes(name, size)]
        return [
            Task(name, method, size, seed, None, *self._protocol(name))
            for seed in range(self.n_splits)
            for size, name in places
            for method in self.methods
            if methods.applies(method, sets.kind_of(name), len(self._class_sizes(name)))
        ]

    def _protocol(self, name: str) -> tuple[dict[str, int], str]:
        return ({}, "imbalanced") if self.where[name] == "imbalanced" else (RECIPE, "study")

    def _goes(self, name: str, size: int) -> bool:
        """Return whether every class has one more sample, and the training set is not too large."""
        sizes = self._class_sizes(name)
        enough = self.where[name] == "imbalanced" or sizes.min() > size
        return bool(enough and size * len(sizes) <= MOST_TRAINING)

    def _class_sizes(self, name: str) -> NDArray[Any]:
        return np.unique(sets.samples(self.where[name], name)[1], return_counts=True)[1]

    def __call__(self, task: Task) -> Row:
        """Draw the samples of a task, fit the method, and count mistakes."""
        X, y = sets.samples(self.where[task.dataset], task.dataset)
        draw = proportional_split if task.protocol == "imbalanced" else per_class_split
        train, test = draw(y, task.n_train, task.seed)
        test = np.sort(np.random.default_rng(task.seed).permutation(test)[:MOST_TEST])
        own, new = X[train], X[test]
        if task.method not in methods.RAW:
            own, new = standardised(own, new)
        table = methods.IMBALANCED if task.protocol == "imbalanced" else methods.METHODS
        if task.method in methods.COMPILED:
            _compiled(task.method)
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")  # Searches on few samples warn often. They are counted.
            start = process_time()
            model = table[task.method](own, y[train]).fit(own, y[train])
            fitted = process_time()
            wrong = float(np.mean(model.predict(new) != y[test]))
            seconds = fitted - start, process_time() - fitted
        shape = {"features": X.shape[1], "classes": len(np.unique(y))}
        counts = dict(Counter(warning.category.__name__ for warning in caught))
        details = {"train": len(own), "test": len(new)} | shape | {"warnings": counts}
        return Row(task, wrong, *seconds, chosen_by(model), details)


def proportional_split(y: NDArray[Any], size: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw ``size`` samples per class on average, in proportion and at least two of each."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(y)
    shares = np.round(size * len(sizes) * sizes / len(y)).astype(int)
    wanted = np.clip(shares, 2, sizes - 1)
    train = [rng.permutation(np.flatnonzero(y == c))[:n] for c, n in enumerate(wanted)]
    is_train = np.isin(np.arange(len(y)), np.concatenate(train))
    return np.flatnonzero(is_train), np.flatnonzero(~is_train)


def standardised(X: NDArray[Any], X_new: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both arrays, standardized by the means and standard deviations of the first one."""
    center, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (X - center) / spread, (X_new - center) / spread


def chosen_by(model: Any) -> dict[str, Any]:
    """Return the parameters that a search chose. Infinite values become text."""
    search = model[-1] if isinstance(model, Pipeline) else model
    best = getattr(search, "best_params_", {}).items()
    return {name: v if np.isscalar(v) and v != np.inf else str(v) for name, v in best}


@cache
def _compiled(method: str) -> None:
    """Use a method once in this process, so that no timed fit compiles code."""
    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).normal(size=(40, 5)) + y[:, np.newaxis]
    methods.METHODS[method](X, y).fit(X, y).predict(X)
