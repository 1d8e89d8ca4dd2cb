"""NSSE on one split: every point of its grid on inner splits and on the test samples (§5.1).

Every point is a fit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.estimators import NSSE
from nsse.paper.candidates import Labels, Tried
from nsse.paper.grids import Params, dimensions_below
from nsse.paper.settings import Recipe
from nsse.paper.validation import validation_splits

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Accuracy of points and their σ in units of length: one row per point, one column per split."""

    points: tuple[Params, ...]
    scores: Floats
    sigmas: Floats

    def best(self) -> int:
        """The highest mean score; ties go to the smoother map: larger mean σ, larger μ2, smaller d."""
        means = np.round(self.scores.mean(axis=1), 12)
        if np.all(np.isnan(means)):
            raise ValueError("No point of the grid could be fitted on every split.")
        sigmas = self.sigmas.mean(axis=1)
        good = np.flatnonzero(means == np.nanmax(means)).tolist()

        def smoothness(row: int) -> tuple[float, float, int]:
            point = self.points[row]
            return float(sigmas[row]), float(point["mu2"]), -int(point["n_components"])

        return max(good, key=smoothness)


@dataclass(frozen=True)
class Scored:
    """The grid under one scaling: scores on the inner splits, and wrong labels there, all together."""

    scaling: str
    table: Table
    wrong: tuple[float, ...]  # NaN where some split has no score

    def candidates(self) -> list[Tried]:
        """What the rows of the table are called in the tables of the paper."""
        return [_candidate(self.scaling, point) for point in self.table.points]


def validated(recipe: Recipe, data: dict[str, Any], y: Labels, seed: int) -> list[Scored]:
    """Scores of the whole grid at every d on splits of the training samples, held by scaling."""
    dims = dimensions_below(len(np.unique(y)), recipe.shares)
    sizes = np.array([len(valid) for _, valid in validation_splits(recipe, y, seed)])
    found = []
    for scaling, X in data.items():
        table = cross_validated(recipe, X, y, dims, seed)
        found.append(Scored(scaling, table, tuple((1.0 - table.scores) @ sizes)))
    return found


def best(scored: Sequence[Scored]) -> Tried:
    """The best point of all on the inner splits; ties go to the smoother one, as in `NSSECV`."""
    tables = [one.table for one in scored]
    points = tuple(point for table in tables for point in table.points)
    columns = (np.concatenate([getattr(t, name) for t in tables]) for name in ("scores", "sigmas"))
    place = Table(points, *columns).best()
    return [candidate for one in scored for candidate in one.candidates()][place]


def validation_mistakes(scored: Sequence[Scored]) -> dict[Tried, int]:
    """Wrong labels on all inner splits together, of every point that was fitted on each."""
    pairs = [
        (c, wrong)
        for one in scored
        for c, wrong in zip(one.candidates(), one.wrong, strict=True)
        if np.isfinite(wrong)
    ]
    return {candidate: round(wrong) for candidate, wrong in pairs}


def test_mistakes(
    recipe: Recipe, scaling: str, train: tuple[Any, Labels], test: tuple[Any, Labels]
) -> dict[Tried, int]:
    """Wrong labels of test samples for every point and d, fitted on all training samples."""
    points = _points(recipe, dimensions_below(len(np.unique(train[1])), recipe.shares))
    right = [_fit_and_score(point, train, test)[0] for point in points]
    return {
        _candidate(scaling, point): round((1.0 - share) * len(test[1]))
        for point, share in zip(points, right, strict=True)
        if np.isfinite(share)
    }


def cross_validated(recipe: Recipe, X: Any, y: Labels, dims: Sequence[int], seed: int) -> Table:
    """Scores of all points of the grid at all d."""
    points = _points(recipe, dims)
    splits = list(validation_splits(recipe, y, seed))
    told = np.array(
        [
            [_fit_and_score(p, (X[train], y[train]), (X[valid], y[valid])) for train, valid in splits]
            for p in points
        ]
    )
    return Table(tuple(points), told[:, :, 0], told[:, :, 1])


def fitted(choice: Tried, X: Any, y: Labels) -> NSSE:
    """NSSE with what was chosen, on all training samples."""
    return NSSE.as_published(n_components=int(choice.d or 0), **choice.parameters).fit(X, y)


def _points(recipe: Recipe, dims: Sequence[int]) -> list[Params]:
    return [point | {"n_components": d} for d in dims for point in recipe.parameters]


def _fit_and_score(
    point: Params, train: tuple[Any, Labels], test: tuple[Any, Labels]
) -> tuple[float, float]:
    """Accuracy on the test samples, and σ in units of length; NaN where it cannot be fitted."""
    try:
        model = NSSE.as_published(**point).fit(*train)
    except (ValueError, np.linalg.LinAlgError):
        return np.nan, np.nan
    right = float(np.mean(model.predict(test[0]) == test[1]))
    return right, model.sigma_ / model.length_unit_


def _candidate(scaling: str, point: dict[str, Any]) -> Tried:
    weights = {name: value for name, value in point.items() if name != "n_components"}
    return Tried(scaling, point["n_components"], weights)
