"""Which points of a grid to score, and which of them to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from nsse._errors import rule_error

Floats = NDArray[np.float64]
Params = dict[str, Any]

# The order in which the paper sets its weights (§5.1); what else there is follows.
PAPER_ORDER = ("mu1", "mu2", "mu3")


class NoPointError(Exception):
    """No point has a score on every split."""


@dataclass(frozen=True)
class Table:
    """Scores of points: one row per point, one column per split; σ in units of length, averaged."""

    points: tuple[Params, ...]
    scores: Floats
    sigmas: Floats

    @property
    def means(self) -> Floats:
        """Mean score of every point; NaN where any split has none."""
        return self.scores.mean(axis=1)

    def best(self) -> int:
        """The point of the highest mean score; of equal ones the smoother.

        Smoother is the larger mean σ, then the larger μ2, then the smaller d.
        """
        means = self.means
        if np.all(np.isnan(means)):
            raise NoPointError
        # Sums of the same counts in another order differ by rounding: those are ties too.
        tied = np.flatnonzero(means >= np.nanmax(means) - 1e-12)
        return int(max(tied, key=lambda i: (self.sigmas[i], *_smoothness(self.points[i]), -i)))

    def joined(self, other: Table) -> Table:
        """Its own rows and those of another table."""
        return Table(
            self.points + other.points,
            np.vstack([self.scores, other.scores]),
            np.concatenate([self.sigmas, other.sigmas]),
        )


Evaluate = Callable[[Sequence[Params]], Table]


def joint_search(grid: Any, evaluate: Evaluate) -> tuple[Table, Params]:
    """Score the whole grid."""
    table = evaluate(list(ParameterGrid(grid)))
    return table, table.points[table.best()]


def sequential_search(
    grid: Mapping[str, Sequence[Any]],
    start: Mapping[str, Any],
    order: Sequence[str],
    n_rounds: int,
    evaluate: Evaluate,
) -> tuple[Table, Params]:
    """One parameter at a time, the others kept fixed (§5.1); ends early when a round changes nothing."""
    current = {name: start[name] for name in order}
    table: Table | None = None
    for _ in range(n_rounds):
        before = dict(current)
        for name in order:
            points = [current | {name: value} for value in grid[name]]
            known = () if table is None else table.points
            fresh = [point for point in points if point not in known]
            if fresh:
                scored = evaluate(fresh)
                table = scored if table is None else table.joined(scored)
            assert table is not None
            rows = [table.points.index(point) for point in points]
            line = Table(tuple(points), table.scores[rows], table.sigmas[rows])
            current = dict(points[line.best()])
        if current == before:
            break
    assert table is not None
    return table, current


def search_order(grid: Mapping[str, Any], order: Sequence[str] | None) -> list[str]:
    """The order of a sequential search: the one given, or the paper's and then the rest."""
    if order is None:
        first = [name for name in PAPER_ORDER if name in grid]
        return first + [name for name in grid if name not in first]
    if sorted(order) != sorted(grid):
        raise rule_error(
            "order", f"name each parameter of the grid once, {sorted(grid)}", list(order),
            "Leave it None for mu1, mu2, mu3 and then the others.",
        )  # fmt: skip
    return list(order)


def _smoothness(params: Params) -> tuple[float, float]:
    d = params.get("n_components")
    return float(params.get("mu2", 0.0)), -float(np.inf if d is None else d)
