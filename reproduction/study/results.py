"""The rows of the study as data frames: errors by experiment and by data set, ranks, ratios.

An experiment is a data set with one number of training samples per class. Experiments of one data
set are not independent. Therefore every mean over data sets first averages the experiments of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from reproduction.rows import Row
from reproduction.study import ranks as tests
from reproduction.study.ranks import Ratio
from reproduction.study.sets import is_reported, kind_of

EXPERIMENT = ["dataset", "size"]
# Errors that differ by at most this many percentage points are a tie. It is about the standard error
# of a difference on a thousand test samples.
TIE = 1.0
COLUMNS = ("dataset", "size", "split", "method", "error", "seconds")
FACTS = ("kind", "is_reported", "train", "test", "features", "classes")


def frame_of(rows: Iterable[Row]) -> pd.DataFrame:
    """Return one line per row, with its error in percent."""
    lines = []
    for row in rows:
        task, details = row.task, row.details
        line = {"dataset": task.dataset, "size": task.n_train, "split": task.seed, "method": task.method}
        line |= {"error": 100.0 * row.error, "seconds": row.fit_seconds + row.predict_seconds}
        line |= {"kind": kind_of(task.dataset), "is_reported": is_reported(task.dataset)}
        lines.append(line | {name: details.get(name) for name in FACTS[2:]})
    return pd.DataFrame(lines, columns=[*COLUMNS, *FACTS])


@dataclass(frozen=True)
class Results:
    """Errors of several methods on the same splits of the same experiments.

    `splits` has one line for each split of each experiment and one column for each method. `seconds`
    and `facts` have one line for each experiment.
    """

    methods: tuple[str, ...]
    splits: pd.DataFrame
    seconds: pd.DataFrame
    facts: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, methods: Sequence[str]) -> Results:
        """Return the results on the splits that all methods have on all experiments of a size."""
        own = frame[frame["method"].isin(methods)]
        errors = own.pivot(index=[*EXPERIMENT, "split"], columns="method", values="error")
        errors = errors.reindex(columns=list(methods)).dropna()
        counts = errors.groupby(["size", "split"]).size()
        even = counts.index[counts == counts.groupby("size").transform("max")]
        errors = errors[errors.index.droplevel("dataset").isin(even)]
        facts = own.groupby(EXPERIMENT)[list(FACTS)].first()
        seconds = own.pivot_table("seconds", EXPERIMENT, "method").reindex(columns=list(methods))
        return cls(tuple(methods), errors, seconds, facts).on(errors.groupby(EXPERIMENT).size().index)

    def on(self, experiments: pd.Index) -> Results:
        """Return the results on some experiments."""
        of_split = self.splits.index.droplevel("split")
        splits = self.splits[of_split.isin(experiments)]
        return replace(
            self, splits=splits, seconds=self.seconds.loc[experiments], facts=self.facts.loc[experiments]
        )

    def where(self, condition: str) -> Results:
        """Return the results on the experiments that fulfill a condition on `size` and `facts`."""
        return self.on(self.facts.query(condition).index)

    @cached_property
    def errors(self) -> pd.DataFrame:
        """Mean errors in percent, one line for each experiment."""
        return self.splits.groupby(EXPERIMENT).mean()

    @cached_property
    def by_set(self) -> pd.DataFrame:
        """Mean errors in percent, one line for each data set."""
        return self.errors.groupby("dataset").mean()

    @property
    def n_splits(self) -> str:
        """The number of splits of every experiment, by training samples per class if it differs."""
        counts = self.splits.reset_index().groupby("size")["split"].nunique()
        if counts.nunique() == 1:
            return str(counts.iloc[0])
        sizes = counts.groupby(counts, sort=False).groups.items()
        return " and ".join(f"{n} with {_listed(own)} samples per class" for n, own in sizes)

    @property
    def names(self) -> list[str]:
        """The data sets in alphabetical order."""
        return list(self.by_set.index)

    @cached_property
    def ranks(self) -> pd.Series:
        """Mean ranks over data sets, the lowest one first."""
        return self.by_set.rank(axis=1).mean().sort_values(kind="stable")

    @property
    def critical_difference(self) -> float:
        """The critical difference of two mean ranks by Nemenyi's test at 5 %."""
        return tests.critical_difference(len(self.methods), len(self.by_set))

    @property
    def friedman_p(self) -> float:
        """The p-value of Friedman's test, which compares all methods at once."""
        return tests.friedman_p(self.by_set.to_numpy())

    @cached_property
    def _logs(self) -> pd.DataFrame:
        """Logarithms of the share of mistakes. Half a mistake is added, so that all are finite."""
        n = self.facts["test"]
        return np.log(self.errors.mul(n / 100.0, axis=0).add(0.5).div(n + 1.0, axis=0))

    def ratio(self, one: str, other: str) -> Ratio:
        """Return the errors of a method divided by those of another, as a geometric mean."""
        logs = (self._logs[one] - self._logs[other]).groupby("dataset").mean()
        return tests.ratio(logs.to_numpy())

    def counts(self, one: str, other: str) -> str:
        """Return the numbers of experiments that the first method won, tied and lost."""
        gained = self.errors[other] - self.errors[one]
        won, lost = int((gained > TIE).sum()), int((gained < -TIE).sum())
        return f"{won}, {len(gained) - won - lost}, {lost}"

    def lowest(self, but: Sequence[str]) -> str:
        """Return the method with the lowest geometric mean of errors, other than some methods."""
        means = self._logs.drop(columns=list(but)).groupby("dataset").mean().mean()
        return str(means.idxmin())

    def worse(self, one: str, other: str) -> str:
        """Return how many experiments of how many a method loses by more than a standard error."""
        more = (self.splits[one] - self.splits[other]).groupby(EXPERIMENT).agg(["mean", "sem"]).dropna()
        return f"{int((more['mean'] > more['sem'] + 1e-9).sum())} of {len(more)}"


def _listed(sizes: Iterable[int]) -> str:
    *first, last = map(str, sizes)
    return f"{', '.join(first)} or {last}" if first else last
