"""Which points of a grid to score, and which of them to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import ParameterGrid

from nsse._errors import rule_error
from nsse.estimators._parameters import check_count, check_number
from nsse.selection.points import Params, identity

Floats = NDArray[np.float64]

# The order in which the paper sets its weights (§5.1); what else there is follows.
PAPER_ORDER = ("mu1", "mu2", "mu3")


class NoPointError(Exception):
    """No point has a score on every split."""


@dataclass(frozen=True)
class Scores:
    """Scores of points: one row per point, one column per split.

    ``sigmas`` are in units of length, averaged; ``mu2`` and ``n_components`` are those of the points,
    whether the grid names them or not.
    """

    points: tuple[Params, ...]
    scores: Floats
    sigmas: Floats
    mu2: Floats
    n_components: NDArray[np.intp]

    @property
    def means(self) -> Floats:
        """Mean score of every point; NaN where any split has none."""
        return self.scores.mean(axis=1)

    def best(self, tolerance: float = 0.0) -> int:
        """The smoothest point within ``tolerance`` standard errors of the highest mean score.

        Smoother is the larger mean σ, then the larger μ2, then the smaller d.
        """
        means = self.means
        if np.all(np.isnan(means)):
            raise NoPointError
        top = int(np.nanargmax(means))
        # Sums of the same counts in another order differ by rounding: those are ties too.
        slack = 1e-12 + tolerance * self._standard_error(top)
        good = np.flatnonzero(means >= means[top] - slack).tolist()
        return max(good, key=self._smoothness)

    def next_best(self, index: int, n_points: int) -> list[int]:
        """Up to ``n_points`` rows that are hardly worse than row ``index``, the best of them first.

        Ties go to the smoother one.
        """
        means = np.round(self.means, 12)
        good = self.hardly_worse(index)
        ranked = sorted(good, key=lambda i: (float(means[i]), *self._smoothness(i)), reverse=True)
        return [i for i in ranked if i != index][:n_points]

    def hardly_worse(self, index: int) -> list[int]:
        """Rows within two standard errors of row ``index``: a vote is of good points, however many."""
        # To twelve digits: sums of the same counts in another order differ by rounding.
        means = np.round(self.means, 12)
        least = means[index] - 2.0 * self._standard_error(index) - 1e-12
        return [int(row) for row in np.flatnonzero(means >= least)]

    def _smoothness(self, row: int) -> tuple[float, float, int, int]:
        return float(self.sigmas[row]), float(self.mu2[row]), -int(self.n_components[row]), -row

    def _standard_error(self, row: int) -> float:
        n_splits = self.scores.shape[1]
        return float(self.scores[row].std(ddof=1) / np.sqrt(n_splits)) if n_splits > 1 else 0.0

    def joined(self, other: Scores) -> Scores:
        """Its own rows and those of another table."""
        pairs = zip(self._columns, other._columns, strict=True)
        return Scores(self.points + other.points, *(np.concatenate(pair) for pair in pairs))

    def rows(self, places: list[int]) -> Scores:
        """Some of its rows."""
        points = tuple(self.points[place] for place in places)
        return Scores(points, *(column[places] for column in self._columns))

    @property
    def _columns(self) -> tuple[Any, Any, Any, Any]:
        return self.scores, self.sigmas, self.mu2, self.n_components


Evaluate = Callable[[Sequence[Params]], Scores]


def run_search(model: Any, grid: Any, base: Any, trial: Any) -> tuple[Scores, int]:
    """The search that the parameters of an `NSSECV` ask for; ``trial`` scores points."""
    tolerance = check_number("tolerance", model.tolerance, cure="0 takes the best point.")
    if model.search != "sequential":
        return joint_search(grid, tolerance, trial)
    if not isinstance(grid, Mapping):
        raise rule_error(
            "param_grid",
            'be one dict for search="sequential"',
            type(grid).__name__,
            'Join the dicts, or take search="full".',
        )
    order = search_order(grid, model.order)
    start = base.get_params() | dict(model.start or {})
    unknown = sorted(set(model.start or {}) - set(order))
    if unknown:
        raise rule_error("start", "name parameters of the grid", unknown, "Set others on `estimator`.")
    n_rounds = check_count("n_rounds", model.n_rounds, cure="1 is what the paper does.")
    trial.check([*ParameterGrid([{name: values} for name, values in grid.items()]), model.start or {}])
    return sequential_search(grid, start, order, n_rounds, tolerance, trial)


def joint_search(grid: Any, tolerance: float, evaluate: Evaluate) -> tuple[Scores, int]:
    """Score the whole grid; returns all scores and the best row."""
    table = evaluate(list(ParameterGrid(grid)))
    return table, table.best(tolerance)


def sequential_search(
    grid: Mapping[str, Sequence[Any]],
    start: Mapping[str, Any],
    order: Sequence[str],
    n_rounds: int,
    tolerance: float,
    evaluate: Evaluate,
) -> tuple[Scores, int]:
    """One parameter at a time, the others kept fixed (§5.1); ends early when a round changes nothing."""
    current = {name: start[name] for name in order}
    table: Scores | None = None
    place: dict[Any, int] = {}
    for _ in range(n_rounds):
        before = _key(current)
        for name in order:
            points = [current | {name: value} for value in grid[name]]
            fresh = list({_key(point): point for point in points if _key(point) not in place}.values())
            if fresh:
                scored = evaluate(fresh)
                place |= {_key(point): len(place) + i for i, point in enumerate(fresh)}
                table = scored if table is None else table.joined(scored)
            assert table is not None
            line = table.rows([place[_key(point)] for point in points])
            current = points[line.best(tolerance)]
        if _key(current) == before:
            break
    assert table is not None
    return table, place[_key(current)]


def _key(point: Params) -> Any:
    return tuple((name, identity(value)) for name, value in sorted(point.items()))


def search_order(grid: Mapping[str, Any], order: Sequence[str] | None) -> list[str]:
    """The order of a sequential search: the one given, or the paper's and then the rest."""
    if order is None:
        first = [name for name in PAPER_ORDER if name in grid]
        return first + [name for name in grid if name not in first]
    if sorted(order) != sorted(grid):
        raise rule_error(
            "order",
            f"name each parameter of the grid once, {sorted(grid)}",
            list(order),
            "Leave it None for mu1, mu2, mu3 and then the others.",
        )
    return list(order)


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
    results["mean_sigma"] = table.sigmas
    return results
