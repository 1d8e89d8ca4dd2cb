"""Points of a parameter grid, scored on one split: from a sweep that they share, or by a fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._centers import CenterPlan
from nsse.estimators._fitting import in_search
from nsse.estimators._parameters import check_n_components
from nsse.estimators._posing import affinity_rule, objective_of
from nsse.estimators._reading import Reading, SolvedRows
from nsse.estimators._settings import Settings
from nsse.extensions import NearestSample, nearest_labels
from nsse.graphs import ShiftedGraph, check_affinity
from nsse.kernels import median_distance
from nsse.selection.center_grid import Fold, sweep_with_centers
from nsse.selection.counting import ONCE, Counted, as_argument
from nsse.selection.points import GridPoint, Params, dimensions_below, with_params
from nsse.selection.rulers import Rulers
from nsse.solvers import fix_signs
from nsse.solvers.many import Embedded, embed_all
from nsse.solvers.sweep import Sweep, Wanted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NOT_ON_A_SUBSAMPLE = (
    "it cannot be solved with landmarks on the subsample: lower `n_components`, raise `mu2` or "
    "`n_subsample`, or give a `sigma`"
)
# Coordinates beyond the largest d: the gap that follows them lets solutions be interpolated.
SPARE = 4


def default_param_grid(n_classes: int) -> dict[str, list[Any]]:
    """The grid that `NSSECV` searches if none is given.

    It reaches both regimes of the method: classes that collapse (small μ2, small σ, d = M − 1) and a
    smooth map into fewer dimensions (large μ3 and hence σ, d well below M).

    Parameters
    ----------
    n_classes : int
        M.

    Returns
    -------
    dict
        Values of mu1, mu2, mu3, n_components and n_neighbors.

    See Also
    --------
    nsse.NSSECV : Searches it with ``search="full"``.

    Examples
    --------
    >>> from nsse.selection import default_param_grid
    >>> sorted(default_param_grid(3))
    ['mu1', 'mu2', 'mu3', 'n_components', 'n_neighbors']
    """
    return {
        "mu1": [0.1, 1.0],
        "mu2": [0.001, 0.01],
        "mu3": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0],
        "n_components": dimensions_below(n_classes),
        "n_neighbors": [2, 5],
    }


@dataclass
class SplitScores:
    """Scores of all points on one split; NaN and the reason where a point cannot be fitted."""

    scores: Floats
    sigmas: Floats
    failures: dict[int, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Split:
    """Samples, their squared distances, and which of them train and which validate.

    Where these are a subsample, ``whole`` has the class sizes of all samples and ``places`` says which
    of them these are. ``counted`` says how many times samples count.
    """

    X: Any
    y: NDArray[Any]
    D2: Floats
    train: Ints
    valid: Ints
    whole: Floats | None = None
    places: Ints | None = None
    counted: Counted = ONCE

    @property
    def judging(self) -> Floats | None:
        """How many times each of those held out counts."""
        return None if self.counted.judging is None else self.counted.judging[self.valid]

    @property
    def weights(self) -> Floats | None:
        """How many times each of those that train counts, its class aside, which a fit looks after."""
        return None if self.counted.weights is None else self.counted.weights[self.train]

    def plan(self, point: GridPoint, n_represented: int) -> CenterPlan | None:
        """The landmarks of a point on this split."""
        plan = point.settings.centers
        if plan is None:
            return None
        n_samples = len(self.y) if self.whole is None else int(self.whole.sum())
        train, valid = self.train, self.valid
        if self.places is not None:
            train, valid = self.places[train], self.places[valid]
        return plan.within(n_samples, train, valid, n_represented)

    def sizes(self, classes: NDArray[Any]) -> Floats:
        """How many samples of each of the training classes there are, or are stood for."""
        if self.whole is not None:
            return self.whole[np.isin(np.unique(self.y), classes)]
        return np.unique(self.y[self.train], return_counts=True)[1].astype(np.float64)


Scorer = Callable[[NDArray[Any], Split], float]


def score_points(split: Split, points: Sequence[GridPoint], score: Scorer) -> SplitScores:
    """Fit every point on the training samples of a split and score it on the others."""
    result = SplitScores(np.full(len(points), np.nan), np.full(len(points), np.nan))
    rulers = _rulers(split)
    families: dict[Any, list[int]] = defaultdict(list)
    alike = split.weights is None  # a sweep counts every sample once
    for place, point in enumerate(points):
        families[point.family if alike and point.shares else ("alone", place)].append(place)
    for places in families.values():
        members = [points[place] for place in places]
        try:
            left = places
            if alike and members[0].shares:
                left = _share(split, rulers, members, places, score, result)
        except (ValueError, np.linalg.LinAlgError) as error:
            left = []
            result.failures.update({p: str(error) for p in places if np.isnan(result.scores[p])})
        for place in left:
            _fit_alone(split, points[place], place, score, result)
    return result


def _rulers(split: Split) -> Rulers:
    codes = np.unique(split.y[split.train], return_inverse=True)[1].astype(np.intp)
    return Rulers.of_split(split.X, split.D2, codes, split.train, split.valid)


def _share(
    split: Split,
    rulers: Rulers,
    members: Sequence[GridPoint],
    places: Sequence[int],
    score: Scorer,
    result: SplitScores,
) -> list[int]:
    """Score points from one sweep; returns the places of those that must be fitted on their own."""
    left, y = [], split.y[split.train]
    sizes = split.sizes(np.unique(y))
    for index, embedded in _sweep(split, rulers, members, result.counts):
        place = places[index]
        if embedded is None:
            left.append(place)
            continue
        try:
            labels = _labels(members[index], embedded, y, sizes, split.X.dtype)
            result.scores[place] = score(labels, split)
            result.sigmas[place] = embedded.sigma
        except ValueError as error:  # a classifier may refuse some embeddings and take others
            result.failures[place] = str(error)
    return left


def _fit_alone(split: Split, point: GridPoint, place: int, score: Scorer, result: SplitScores) -> None:
    """What Algorithm 1 needs, and ill-conditioned points: a fit of its own."""
    if split.whole is not None and point.has_centers(int(split.whole.sum())):
        result.failures[place] = NOT_ON_A_SUBSAMPLE
        return
    result.counts["fits of their own"] += 1
    try:
        model = with_params(point.model, _params_on(split, point))
        with in_search():
            model.fit(split.X[split.train], split.y[split.train], **as_argument(split.weights))
        result.scores[place] = score(model.predict(split.X[split.valid]), split)
    except (ValueError, np.linalg.LinAlgError) as error:
        result.failures[place] = str(error)
        return
    result.sigmas[place] = point.settings.sigma or model.sigma_ / model.length_unit_


def _params_on(split: Split, point: GridPoint) -> Params:
    """What counts samples, put for those of a split."""
    params = {"affinity": _affinity(split, point.settings)}
    plan = split.plan(point, len(split.train))
    if plan is None or plan.is_auto:
        return params
    if isinstance(plan.how, str):
        return params | {"n_landmarks": plan.n}
    return params | {"n_landmarks": None, "landmarks": plan.how}


def _sweep(
    split: Split, rulers: Rulers, points: Sequence[GridPoint], counts: Counter[str]
) -> Iterator[tuple[int, Embedded | None]]:
    """Embeddings for points that differ in swept parameters only, the samples in the user's order.

    None where a point has to be fitted on its own.
    """
    y = split.y[split.train]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("the training samples of a split are of one class")
    sizes = split.sizes(classes)
    points = [point.weighted(float(sizes.sum()), len(classes)) for point in points]
    first = points[0]
    if first.has_centers(int(sizes.sum())):
        yield from _sweep_with_centers(split, rulers, points, codes, sizes, counts)
        return
    order = np.argsort(codes, kind="stable")
    among, to_new = rulers.distances(first.settings)
    D2, unit = _in_units(among[np.ix_(order, order)], first.settings.length_unit)
    D2_new = to_new[:, order] / unit**2
    candidates: dict[int, Wanted] = {}
    graphs = _Graphs(split, codes, order, D2)
    for place, point in enumerate(points):
        try:
            candidates[place] = _candidate(point, len(codes), len(classes), graphs)
        except ValueError:
            yield place, None  # a fit of its own says why it cannot be
    if not candidates:
        return
    largest = max(candidate.objective.n_components for candidate in candidates.values())
    sweep = Sweep(D2, D2_new, graphs.built, min(largest + SPARE, len(codes)), counts)
    places = list(candidates)
    found = embed_all(sweep, first.settings.sigma_range, list(candidates.values()))
    for index, embedded in found:
        place = places[index]
        yield place, embedded and _as_fitted(embedded, codes, order, points[place].model.classifier)


def _as_fitted(embedded: Embedded, codes: Ints, order: Ints, classifier: Any) -> Embedded:
    """The samples in the user's order, and the signs of a fit."""
    # Distances and products are the same to the last bit whatever the signs: our readers need none.
    ours = classifier is None or isinstance(classifier, str)
    signs = 1.0 if ours else fix_signs(embedded.Y, codes[order])
    Y = np.empty_like(embedded.Y)
    Y[order] = embedded.Y * signs
    return Embedded(Y, embedded.Z * signs, embedded.sigma, embedded.eigenvalues)


def _sweep_with_centers(
    split: Split,
    rulers: Rulers,
    points: Sequence[GridPoint],
    codes: Ints,
    sizes: Floats,
    counts: Counter[str],
) -> Iterator[tuple[int, Embedded | None]]:
    first = points[0].settings
    unit = (
        median_distance(rulers.distances(first)[0]) if first.length_unit is None else first.length_unit
    )
    near: Any = rulers.contraction(first) or (lambda X: X)
    X, X_new = (near(split.X[part]) for part in (split.train, split.valid))
    fold = Fold(X, codes.astype(np.intp), X_new, sizes, unit)
    models = [p.model for p in points]
    plan = split.plan(points[0], fold.n_samples)  # the same for all of them
    if plan is not None and not isinstance(plan.how, str) and not plan.is_indices:
        plan = replace(plan, how=near(plan.how))
    settings = [replace(p.settings, centers=plan) for p in points]
    yield from sweep_with_centers(fold, models, settings, counts)


def _in_units(D2: Floats, length_unit: float | None) -> tuple[Floats, float]:
    unit = median_distance(D2) if length_unit is None else length_unit
    D2 /= unit**2
    return D2, unit


def _candidate(point: GridPoint, n_samples: int, n_classes: int, graphs: _Graphs) -> Wanted:
    settings = point.settings
    d = check_n_components(point.model.n_components, n_samples, n_classes, settings.normalization)
    return Wanted(graphs.index(settings), objective_of(settings, d), settings.sigma)


class _Graphs:
    """The within-class graphs that a sweep needs, each built once."""

    def __init__(self, split: Split, codes: Ints, order: Ints, D2: Floats) -> None:
        self._split, self._codes, self._order, self._D2 = split, codes, order, D2
        self._places: dict[Any, int] = {}
        self.built: list[ShiftedGraph] = []

    def index(self, settings: Settings) -> int:
        key = (settings.n_neighbors, settings.beta)
        if key not in self._places:
            self._places[key] = len(self.built)
            self.built.append(self._build(settings))
        return self._places[key]

    def _build(self, settings: Settings) -> ShiftedGraph:
        split, train = self._split, self._split.train
        settings = replace(settings, affinity=_affinity(split, settings))
        rule = affinity_rule(split.X[train], split.y[train], self._codes, self._order, settings)
        codes = self._codes[self._order]
        W = rule(self._D2, codes, np.arange(len(codes)))
        centring = objective_of(settings, 1).centring(len(codes), int(codes.max()) + 1)
        return ShiftedGraph.from_affinity(W, codes, 0.0, centring)


def _affinity(split: Split, settings: Settings) -> Any:
    """The rule for the weights; where they are a matrix, its part for the training samples."""
    if isinstance(settings.affinity, str) or callable(settings.affinity):
        return settings.affinity
    _, codes = np.unique(split.y, return_inverse=True)
    return check_affinity(settings.affinity, codes)[split.train][:, split.train]


def _labels(
    point: GridPoint, embedded: Embedded, y: NDArray[Any], sizes: Floats, dtype: Any
) -> NDArray[Any]:
    """Labels of the validation samples; the embedding is rounded as `NSSE` rounds it.

    ``y`` are those of the training samples, ``sizes`` those of their classes.
    """
    classifier, settings = point.model.classifier, point.settings
    solved = SolvedRows(embedded.Y, y, embedded.eigenvalues)
    reading = Reading.of(classifier, settings, solved, sizes)
    Y, Z = (reading.scaled(A).astype(dtype, copy=False) for A in (embedded.Y, embedded.Z))
    if isinstance(reading.reader, NearestSample):
        return nearest_labels(Y, y, Z)
    return np.asarray(reading.reader.fit(Y, y).predict(Z))
