"""NSSE on one split: every point of its grid on inner splits and on the test samples (§5.1).

All points are had from sweeps over the kernel scale, as in `NSSECV`: their embeddings are interpolated
between shared scales. The one that is chosen on the training samples is fitted on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsse.estimators import NSSE
from nsse.kernels import squared_distances
from nsse.paper.candidates import Labels, Tried
from nsse.paper.settings import Recipe
from nsse.paper.validation import validation_splits
from nsse.selection.grid import Split, SplitScores, score_points
from nsse.selection.points import GridPoint, dimensions_below
from nsse.selection.scoring import accuracy
from nsse.selection.search import NoPointError, Scores
from nsse.selection.trial import scores_of


@dataclass(frozen=True)
class Scored:
    """The grid under one scaling: scores on the inner splits, and wrong labels there, all together."""

    scaling: str
    table: Scores
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
    joined = scored[0].table
    for other in scored[1:]:
        joined = joined.joined(other.table)
    try:
        place = joined.best()
    except NoPointError:
        raise ValueError("No point of the grid could be fitted on every split.") from None
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
    X, y = (np.concatenate(parts) for parts in zip(train, test, strict=True))
    n_train = len(train[1])
    indices = np.arange(n_train), np.arange(n_train, len(y))
    points = _points(recipe, dimensions_below(len(np.unique(y)), recipe.shares))
    scores = _scores(points, Split(X, y, squared_distances(X), *indices)).scores
    wrong = (1.0 - scores) * len(indices[1])
    return {
        _candidate(scaling, point.params): round(count)
        for point, count in zip(points, wrong, strict=True)
        if np.isfinite(count)
    }


def cross_validated(recipe: Recipe, X: Any, y: Labels, dims: Sequence[int], seed: int) -> Scores:
    """Scores of all points of the grid at all d, one sweep per split."""
    points = _points(recipe, dims)
    D2 = squared_distances(X)
    splits = validation_splits(recipe, y, seed)
    columns = [_scores(points, Split(X, y, D2, *parts)) for parts in splits]
    return scores_of(points, columns, len(np.unique(y)))


def fitted(choice: Tried, X: Any, y: Labels) -> NSSE:
    """NSSE with what was chosen, on all training samples."""
    return NSSE.as_published(n_components=int(choice.d or 0), **choice.parameters).fit(X, y)


def _points(recipe: Recipe, dims: Sequence[int]) -> list[GridPoint]:
    params = [point | {"n_components": d} for d in dims for point in recipe.parameters]
    return [GridPoint.of(NSSE.as_published(), point) for point in params]


def _scores(points: Sequence[GridPoint], split: Split) -> SplitScores:
    return score_points(split, points, accuracy)


def _candidate(scaling: str, point: dict[str, Any]) -> Tried:
    weights = {name: value for name, value in point.items() if name != "n_components"}
    return Tried(scaling, point["n_components"], weights)
