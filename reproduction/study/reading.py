"""What the rows of a study say: errors by set, size and method, as frames to be shown."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median

import numpy as np

from reproduction.rows import Row
from reproduction.study import ranks as tests
from reproduction.study.ranks import Comparison, Floats, Ratio

# Errors in per cent that differ by so much or less are a tie: about the standard error of a
# difference on the thousand test samples that a row has at most.
TIE = 1.0


@dataclass(frozen=True)
class Case:
    """A set at one size: errors in per cent and mean seconds of every method, over its splits.

    `errors` are means; `splits` has a line per method; `logs` are logarithms of the mean share of
    mistakes, half a mistake added, so that none is infinite.
    """

    name: str
    size: int
    n_train: int
    n_features: int
    n_classes: int
    n_splits: int
    splits: dict[str, Floats]
    logs: dict[str, float]
    seconds: dict[str, float]

    @cached_property
    def errors(self) -> dict[str, float]:
        """Mean errors in per cent."""
        return {method: float(errors.mean()) for method, errors in self.splits.items()}


@dataclass(frozen=True)
class Reading:
    """Cases of which every method has all splits; `methods` are the columns, ours first."""

    methods: tuple[str, ...]
    cases: tuple[Case, ...]

    def where(self, wanted: Callable[[Case], bool]) -> Reading:
        """The same of some of the cases."""
        return Reading(self.methods, tuple(case for case in self.cases if wanted(case)))

    def of_sizes(self, *sizes: int) -> Reading:
        """The cases of some sizes."""
        return self.where(lambda case: case.size in sizes)

    @cached_property
    def sizes(self) -> list[int]:
        """Training samples per class, ascending."""
        return sorted({case.size for case in self.cases})

    @cached_property
    def names(self) -> list[str]:
        """The sets, in the order of their names."""
        return sorted({case.name for case in self.cases})

    @cached_property
    def case_errors(self) -> Floats:
        """A line per case."""
        return np.array([[case.errors[method] for method in self.methods] for case in self.cases])

    @cached_property
    def set_errors(self) -> Floats:
        """A line per set, the mean over its sizes: sets are independent, sizes of a set are not."""
        of = np.array([case.name for case in self.cases])
        return np.array([self.case_errors[of == name].mean(axis=0) for name in self.names])

    @cached_property
    def ranks(self) -> dict[str, float]:
        """Mean rank by method, over sets."""
        return dict(zip(self.methods, map(float, tests.mean_ranks(self.set_errors)), strict=True))

    @property
    def by_rank(self) -> list[str]:
        """Methods, the best mean rank first."""
        return sorted(self.methods, key=lambda method: self.ranks[method])

    @property
    def critical_difference(self) -> float:
        """Nemenyi's, at 5 %."""
        return tests.critical_difference(len(self.methods), len(self.names))

    def comparisons(self, one: str) -> list[Comparison]:
        """One method beside the others: cases within `TIE` are ties; the test is over sets."""
        return tests.comparisons(self.set_errors, self.methods, one, self.case_errors, TIE)

    def ratio(self, one: str, other: str) -> Ratio:
        """The error of one over that of another: geometric mean over sets, each that of its sizes."""
        logs = np.array([case.logs[one] - case.logs[other] for case in self.cases])
        of = np.array([case.name for case in self.cases])
        return tests.ratio(np.array([logs[of == name].mean() for name in self.names]))

    def lowest(self, but: Container[str] = ()) -> str:
        """The method with the least error, in the geometric mean over sets."""
        others = (method for method in self.methods if method not in but)
        return min(others, key=lambda method: self.ratio(method, self.methods[0]).mean)

    def worse(self, one: str, other: str) -> tuple[int, int]:
        """Cases in which one has a higher error by over a standard error, of all with splits."""
        more = [case.splits[one] - case.splits[other] for case in self.cases if case.n_splits > 1]
        lost = [m.mean() > m.std(ddof=1) / np.sqrt(len(m)) + 1e-9 for m in more]
        return int(np.sum(lost)), len(lost)

    def mean_error(self, method: str) -> float:
        """Mean over sets, in per cent."""
        return float(self.set_errors[:, self.methods.index(method)].mean())

    def seconds(self, method: str) -> float:
        """Median over cases of the seconds of a fit and its predictions."""
        return median(case.seconds[method] for case in self.cases)


def read(rows: Iterable[Row], methods: Sequence[str]) -> Reading:
    """Rows as cases, of which all methods have a split at least.

    A split counts where all methods have it: a run that was stopped compares like with like.
    """
    cells: dict[tuple[str, int], dict[int, dict[str, Row]]] = {}
    for row in rows:
        task = row.task
        if task.method in methods:
            splits = cells.setdefault((task.dataset, task.n_train), {})
            splits.setdefault(task.seed, {})[task.method] = row
    whole = {
        key: [of for of in splits.values() if len(of) == len(methods)] for key, splits in cells.items()
    }
    cases = (_case(*key, splits, methods) for key, splits in sorted(whole.items()) if splits)
    return Reading(tuple(methods), tuple(cases))


def _case(name: str, size: int, splits: list[dict[str, Row]], methods: Sequence[str]) -> Case:
    details = splits[0][methods[0]].details
    errors = {m: np.array([100.0 * of[m].error for of in splits]) for m in methods}
    n = details["test"]
    logs = {m: float(np.log((errors[m].mean() / 100.0 * n + 0.5) / (n + 1.0))) for m in methods}
    seconds = {m: fmean(of[m].fit_seconds + of[m].predict_seconds for of in splits) for m in methods}
    shape = (details["train"], details["features"], details["classes"])
    return Case(name, size, *shape, len(splits), errors, logs, seconds)
