"""Many sets, sizes and methods: which rows there are to be, and how one is measured.

Sets and methods are data: a name, and a function of a module that reads or builds. Samples are drawn
class by class, standardised by the training samples alone, and every method sees the same ones.
"""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from time import process_time
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nsse._errors import rule_error
from nsse.evaluation.apart import apart
from nsse.evaluation.rivals import Shape
from nsse.evaluation.splits import per_class_split
from nsse.evaluation.tasks import Row, Task

Samples: TypeAlias = tuple[NDArray[np.float64], NDArray[Any]]
PROTOCOL = "study"
# Beyond, a fit takes minutes; test samples beyond are left, at random.
MOST_TRAINING, MOST_TEST = 1000, 1000
# Part of every key: counted up when a grid, an inner split or how samples are prepared changes.
RECIPE = 1


@dataclass(frozen=True)
class StudySet:
    """A data set: ``read(*arguments)`` gives samples and labels."""

    name: str
    read: Callable[..., Samples]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class StudyMethod:
    """A method: ``build(shape)`` gives a classifier; `apart`, in a process of its own."""

    name: str
    build: Callable[[Shape], Any]
    apart: bool = False


def half_of(name: str) -> str:
    """The half of the sets that a name belongs to, for ever: "choose" or "report".

    Defaults, grids and splits of ours are chosen on one half, and reported on the other.
    """
    return "report" if zlib.crc32(name.encode()) % 2 else "choose"


@dataclass(frozen=True)
class Study:
    """What is to be measured. It is the `work` of `run_tasks`, too.

    Attributes
    ----------
    sets, methods : sequences
        What is measured.
    sizes : sequence of int
        Training samples per class; a set joins in as far as it goes.
    n_splits : int
        Splits of every set and size, of the seeds 0, 1, ...
    """

    sets: Sequence[StudySet]
    methods: Sequence[StudyMethod]
    sizes: Sequence[int] = (5, 10, 20, 50)
    n_splits: int = 3

    def tasks(self) -> list[Task]:
        """All tasks; every set, size and method has its first split before any has its second."""
        return [
            Task(found.name, method.name, size, seed, parameters={"recipe": RECIPE}, protocol=PROTOCOL)
            for seed in range(self.n_splits)
            for found, size in self._cells
            for method in self.methods
        ]

    @cached_property
    def _cells(self) -> list[tuple[StudySet, int]]:
        return [
            (found, size) for size in self.sizes for found in self.sets if goes(_labels(found), size)
        ]

    def __call__(self, task: Task) -> Row:
        """Draw the samples of a task, fit, and count mistakes.

        Seconds are those of the processor, of all threads of a process: give workers one thread each.
        """
        data, method = _named(task.dataset, self.sets), _named(task.method, self.methods)
        train, test, y_train, y_test = drawn(*_read(data.read, data.arguments), task)
        shape = Shape(len(train), train.shape[1], len(np.unique(y_train)))
        call = apart if method.apart else _at_once
        found = call(measured, method.build, shape, train, y_train, test, method.apart)
        sizes = {"train": len(train), "test": len(test)}
        kind = {"features": shape.n_features, "classes": shape.n_classes}
        return Row(
            task,
            float(np.mean(found.labels != y_test)),
            found.fit_seconds,
            found.predict_seconds,
            chosen=found.chosen,
            details=sizes | kind | {"warnings": found.warnings},
        )


@dataclass(frozen=True)
class Measured:
    """Labels of test samples, seconds, what a search chose, how often which warnings were raised."""

    labels: NDArray[Any]
    fit_seconds: float
    predict_seconds: float
    chosen: dict[str, Any]
    warnings: dict[str, int]


def goes(y: NDArray[Any], n_per_class: int) -> bool:
    """Whether every class has a sample more, and all of them are not too many."""
    sizes = np.unique(y, return_counts=True)[1]
    return bool(sizes.min() > n_per_class and n_per_class * len(sizes) <= MOST_TRAINING)


def drawn(X: NDArray[Any], y: NDArray[Any], task: Task) -> tuple[NDArray[Any], ...]:
    """Training samples, test samples, and the labels of both; standardised by the former."""
    train, test = per_class_split(y, task.n_train, task.seed)
    test = np.sort(np.random.default_rng(task.seed).permutation(test)[:MOST_TEST])
    center, spread = X[train].mean(axis=0), X[train].std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (X[train] - center) / spread, (X[test] - center) / spread, y[train], y[test]


def measured(
    build: Callable[[Shape], Any],
    shape: Shape,
    X: NDArray[Any],
    y: NDArray[Any],
    X_test: NDArray[Any],
    is_compiled: bool,
) -> Measured:
    """Fit and predict, timed by the clock of the processor, on one thread.

    What compiles its code when it is first used does so in a fit that is not timed.
    """
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # searches on few samples have much to say: counted, not shown
        if is_compiled:
            _compiled(build)
        start = process_time()
        model = build(shape).fit(X, y)
        fitted = process_time()
        labels = model.predict(X_test)
        end = process_time()
    told = Counter(warning.category.__name__ for warning in caught)
    return Measured(labels, fitted - start, end - fitted, _chosen(model), dict(told))


def _chosen(model: Any) -> dict[str, Any]:
    """Parameters that a search took; rows hold finite numbers, an infinite one by its name."""
    found = getattr(model, "best_params_", {}).items()
    return {
        name: value if np.isscalar(value) and value != np.inf else str(value) for name, value in found
    }


@cache
def _compiled(build: Callable[[Shape], Any]) -> None:
    """Use a method once in this process."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 5)) + y[:, np.newaxis]
    build(Shape(40, 5, 2)).fit(X, y).predict(X)


def _at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _labels(found: StudySet) -> NDArray[Any]:
    return _read(found.read, found.arguments)[1]


@cache
def _read(read: Callable[..., Samples], arguments: tuple[Any, ...]) -> Samples:
    """Samples, kept for the next row; functions of modules are the same in every process."""
    X, y = read(*arguments)
    return np.asarray(X, dtype=np.float64), np.asarray(y)


def _named(name: str, among: Iterable[Any]) -> Any:
    found = next((one for one in among if one.name == name), None)
    if found is None:
        known = ", ".join(one.name for one in among)
        raise rule_error("task", "name a set and a method of this study", name, f"It has {known}.")
    return found
