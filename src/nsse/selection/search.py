"""Scores of points on splits, and which of them to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Params = dict[str, Any]


@dataclass(frozen=True)
class Scores:
    """Scores of points: one row per point, one column per split."""

    points: tuple[Params, ...]
    scores: Floats

    @property
    def means(self) -> Floats:
        """Mean score of every point; NaN where any split has none."""
        return self.scores.mean(axis=1)

    def hardly_worse(self, index: int) -> list[int]:
        """Rows within two standard errors of row ``index``: a vote is of good points, however many."""
        # To twelve digits: sums of the same counts in another order differ by rounding.
        means = np.round(self.means, 12)
        least = means[index] - 2.0 * self._standard_error(index) - 1e-12
        return [int(row) for row in np.flatnonzero(means >= least)]

    def _standard_error(self, row: int) -> float:
        n_splits = self.scores.shape[1]
        return float(self.scores[row].std(ddof=1) / np.sqrt(n_splits)) if n_splits > 1 else 0.0


def cv_results(table: Scores) -> dict[str, Any]:
    """The table in the form of ``GridSearchCV``."""
    results: dict[str, Any] = {}
    for name in sorted({name for point in table.points for name in point}):
        values = np.empty(len(table.points), dtype=object)
        absent = np.ones(len(table.points), dtype=bool)
        for place, point in enumerate(table.points):
            if name in point:
                values[place], absent[place] = point[name], False
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=absent)
    results["params"] = [dict(point) for point in table.points]
    for split, column in enumerate(table.scores.T):
        results[f"split{split}_test_score"] = column.copy()
    means = table.means
    results["mean_test_score"] = means
    results["std_test_score"] = table.scores.std(axis=1)
    worst = np.nanmin(means) - 1 if not np.all(np.isnan(means)) else 0.0
    ranked = rankdata(-np.nan_to_num(means, nan=worst), method="min")
    results["rank_test_score"] = ranked.astype(np.int32)
    return results
