"""NSSE on one split: weights by cross-validation for every d, then the test error at every d (§5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsse.estimators import NSSE
from nsse.estimators._grid import GridPoint, Split, score_points
from nsse.estimators._scoring import accuracy
from nsse.estimators._search import NoPointError, Table
from nsse.estimators._trial import table_of
from nsse.kernels import squared_distances
from nsse.paper.candidates import Candidate, Labels
from nsse.paper.grids import Params, dimensions_below
from nsse.paper.settings import Recipe
from nsse.paper.validation import validation_splits


@dataclass(frozen=True)
class Choice:
    """What cross-validation set for a candidate, and what it found."""

    candidate: Candidate
    weights: Params
    validation_error: float
    sigma: float  # in units of the median distance


def choose(recipe: Recipe, data: dict[str, Any], y: Labels, seed: int) -> tuple[list[Choice], int]:
    """The best weights for every scaling and d, and which of these is best of all.

    `data` holds the training samples by scaling. Ties go to the smoother point, as in `NSSECV`.
    """
    dims = dimensions_below(len(np.unique(y)), recipe.shares)
    tables = {scaling: cross_validated(recipe, X, y, dims, seed) for scaling, X in data.items()}
    choices, best_rows = [], []
    for scaling, table in tables.items():
        for d in dims:
            line = _where(table, d)
            try:
                best = line.best()
            except NoPointError:
                continue  # no weights could be fitted with this d on every split: it is no candidate
            best_rows.append(line.rows([best]))
            weights = {
                name: value for name, value in line.points[best].items() if name != "n_components"
            }
            error = 1.0 - float(line.means[best])
            choices.append(Choice(Candidate(scaling, d), weights, error, float(line.sigmas[best])))
    if not choices:
        raise ValueError(
            "No weights of the grid could be fitted on every split, whatever the dimension."
        )
    joined = best_rows[0]
    for row in best_rows[1:]:
        joined = joined.joined(row)
    return choices, joined.best()


def cross_validated(recipe: Recipe, X: Any, y: Labels, dims: Sequence[int], seed: int) -> Table:
    """Scores of all points of the grid at all d, one sweep per split."""
    params = [point | {"n_components": d} for d in dims for point in recipe.parameters]
    points = [GridPoint.of(NSSE(), point) for point in params]
    D2 = squared_distances(X)
    splits = validation_splits(recipe, y, seed)
    columns = [score_points(Split(X, y, D2, *parts), points, accuracy) for parts in splits]
    return table_of(points, columns, len(np.unique(y)))


def fitted(choice: Choice, X: Any, y: Labels) -> NSSE:
    """NSSE with what was chosen, on all training samples."""
    return NSSE(n_components=int(choice.candidate.d or 0), **choice.weights).fit(X, y)


def _where(table: Table, d: int) -> Table:
    return table.rows([i for i, point in enumerate(table.points) if point["n_components"] == d])
