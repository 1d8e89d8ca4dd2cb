"""Points of a grid, scored on all splits: what a search asks for."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import FitFailedWarning

from nsse._progress import progress_bar
from nsse._threads import one_blas_thread
from nsse.estimators._settings import Settings
from nsse.selection.grid import Scorer, Split, SplitScores, score_points
from nsse.selection.points import GridPoint, Params
from nsse.selection.search import Scores

# Grid points that a message names for each reason of failure.
NAMED = 3


def scores_of(points: Sequence[GridPoint], columns: Sequence[SplitScores], n_classes: int) -> Scores:
    """The scores of some points, one column per split, as a table."""
    d = [point.model.n_components for point in points]
    return Scores(
        tuple(dict(point.params) for point in points),
        np.array([column.scores for column in columns]).T,
        np.array([column.sigmas for column in columns]).mean(axis=0),
        np.array([point.settings.mu2 or 0.0 for point in points]),
        np.array([n_classes - 1 if value is None else int(value) for value in d]),
    )


class Trial:
    """Scores points of a grid on all splits, and remembers what it cost and what failed."""

    def __init__(
        self,
        base: Any,
        splits: list[Split],
        score: Scorer,
        *,
        settled: Callable[[Settings], Settings],
        n_jobs: int | None,
        progress: bool | None,
    ) -> None:
        self._base, self._splits, self._score, self._settled = base, splits, score, settled
        self._n_jobs, self._progress = n_jobs, progress
        self.counts: Counter[str] = Counter()
        self.failures: dict[str, str] = {}

    def __call__(self, params: Sequence[Params]) -> Scores:
        """Score some points on all splits."""
        points = self.check(params)
        columns = self._columns(points)
        for column in columns:
            self.counts += column.counts
            for place, reason in column.failures.items():
                self.failures.setdefault(str(params[place]), reason)
        return scores_of(points, columns, len(np.unique(self._splits[0].y)))

    def check(self, params: Sequence[Mapping[str, Any]]) -> list[GridPoint]:
        """The points, if all of them can be judged fit without any work."""
        points = [GridPoint.of(self._base, dict(point)) for point in params]
        return [replace(point, settings=self._settled(point.settings)) for point in points]

    def _columns(self, points: list[GridPoint]) -> list[SplitScores]:
        """One column of scores per split, in their order."""
        parallel = Parallel(n_jobs=self._n_jobs, return_as="generator", batch_size=1)
        results = parallel(delayed(_scored)(split, points, self._score) for split in self._splits)
        columns: list[SplitScores] = []
        try:
            with progress_bar(len(self._splits), "splits", self._progress) as advance:
                for column in results:
                    columns.append(column)
                    advance()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"NSSECV was interrupted: {len(columns)} of {len(self._splits)} splits were scored on "
                f"{len(points)} grid points. The estimator is as it was before `fit`."
            ) from None
        finally:
            results.close()
        return columns

    def warn_about_failures(self, table: Scores) -> None:
        """Name the points that score NaN."""
        if self.failures:
            warnings.warn(
                f"{len(self.failures)} of {len(table.points)} grid points could not be fitted on every "
                f"split and score NaN. {self._reasons()}",
                FitFailedWarning,
                stacklevel=7,
            )

    def total_failure(self) -> ValueError:
        """The error when no point is left."""
        return ValueError(
            f"No point of `param_grid` could be fitted on every split. {self._reasons()} Widen the "
            "grid, or hold fewer samples out."
        )

    def _reasons(self) -> str:
        """Every reason, with the points it holds for."""
        points: dict[str, list[str]] = {}
        for point, reason in self.failures.items():
            points.setdefault(reason.rstrip("."), []).append(point)
        return " ".join(f"{_some_named(failed)}: {reason}." for reason, failed in points.items())


def _some_named(points: list[str]) -> str:
    more = f" and {len(points) - NAMED} more" if len(points) > NAMED else ""
    return ", ".join(points[:NAMED]) + more


def _scored(split: Split, points: list[GridPoint], score: Any) -> SplitScores:
    with one_blas_thread():
        return score_points(split, points, score)
