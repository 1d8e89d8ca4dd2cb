"""Fit a model to training rows, with its metric, hull, regression, coordinates and left-out values.

Everything here is a function of rows and settings, so that the model can be fitted again without a fold
of its samples (`nsse.left_out`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nsse._support.arrays import is_dask
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import Affine
from nsse.base import signs_of
from nsse.centers import EXACT_UP_TO, chosen_centers, mapped_centers
from nsse.columns import standardizing
from nsse.distances import median_distance, squared_distances
from nsse.hull import Hull
from nsse.kernels import Kernel
from nsse.kernels.flaws import solvable
from nsse.left_out import (
    LEFT_OUT_ALL,
    LEFT_OUT_OF_METRIC,
    LEFT_OUT_SOME,
    LeftOut,
    Neighbors,
    by_folds,
    in_groups,
    left_out_positions,
    of_sums,
    one_by_one,
)
from nsse.maps import KernelMap
from nsse.metrics.base import Metric, own_metric
from nsse.metrics.learned import Learned
from nsse.metrics.names import unfitted_metric
from nsse.ridge import Ridge
from nsse.rows import Rows
from nsse.scores import Scores
from nsse.sources import Source
from nsse.unlabeled import UnlabeledUse, labeled_by

# Samples from which the metric and the unit of length are taken, at most.
METRIC_SAMPLES, UNIT_SAMPLES = 5000, 2000
# Single precision can represent the squares of larger kernel widths and their inverses.
LEAST_SINGLE = 1e-15

# Is given all rows, the number of centers, and the rows that the metric is learned from.
Look = Callable[[Rows, int, Rows], None]


@dataclass(frozen=True)
class Settings:
    """Checked parameters of a model.

    Attributes
    ----------
    kernel : Kernel
        The kernel, whose width is not used.
    sigma, smoothness, decision, metric, centers, augment, standardize
        Parameters of `SmoothEmbedding`.
    unlabeled : UnlabeledUse
        How rows without a label are used.
    seed : int
        Draws centers and samples.
    """

    kernel: Kernel
    sigma: float
    smoothness: float
    decision: str
    metric: str | BaseEstimator | None
    centers: Any
    augment: Callable[..., Any] | None
    unlabeled: UnlabeledUse
    seed: int
    standardize: bool = False


@dataclass(frozen=True)
class Space:
    """The space in which the kernel measures distances.

    Attributes
    ----------
    metric : Metric
        The fitted metric.
    affine : Affine
        Takes samples there.
    unit : float
        Factor from lengths in the units of the samples to lengths there.
    is_projected : bool
        Whether new rows are projected onto the hull of the training rows.
    """

    metric: Metric
    affine: Affine
    unit: float
    is_projected: bool


@dataclass(frozen=True)
class Model:
    """A fitted model before its probabilities are calibrated.

    Attributes
    ----------
    rows : Rows
        Training rows behind the metric.
    space : Space
        The space in which the kernel measures distances.
    ridge : Ridge
        The solved regression.
    rotation : ndarray of shape (n_classes, n_classes - 1)
        The matrix that maps s − π to coordinates.
    map : KernelMap
        f.
    scores : Scores
        Values of the classes as functions of f, with a temperature of 1.
    left_out : LeftOut or None
        Class scores of left-out rows, if a formula gives them.
    neighbors : Neighbors or None
        The labeled rows in the embedding, if the nearest one decides.
    hull : Hull or None
        The hull onto which new rows are projected.
    """

    rows: Rows
    space: Space
    ridge: Ridge
    rotation: Floats
    map: KernelMap
    scores: Scores
    left_out: LeftOut | None
    neighbors: Neighbors | None
    hull: Hull | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """Return the labels."""
        return self.scores.classes

    def values(self, X: SamplesLike) -> Floats:
        """Return class scores, or minus squared distances to the nearest sample of each class."""
        F = self.map(X)
        values = self.scores.values(F)
        return values if self.neighbors is None else values - np.square(F).sum(axis=1)[:, np.newaxis]

    def heights(self, X: SamplesLike) -> Floats | None:
        """Return squared distances of samples from the hull. None if they are not projected onto it."""
        return self.space.metric.heights(self.map.metric, X) if self.space.is_projected else None


def learned(
    given: Rows, settings: Settings, *, leave_out: bool = True, look: Look | None = None
) -> Model:
    """Learn a model from rows, with scores of left-out rows if they are wanted and a formula gives them.

    ``look`` is called before the metric is learned.
    """
    rng, wanted = np.random.default_rng(settings.seed), settings.centers
    rows = given.augmented(settings.augment)
    if settings.decision == "nearest":
        rows = rows.placed()
    if settings.standardize:
        front = standardizing(given)
        rows, wanted = rows.through(front), mapped_centers(wanted, front)
    centers = chosen_centers(wanted, rows, rng)
    some = rows.sample(METRIC_SAMPLES, rng)
    if look is not None:
        look(rows, len(rows) if centers is None else centers.shape[0], some)
    is_whole = len(some) == len(rows)
    metric = unfitted_metric(settings.metric, some.held())
    found = metric.learn(some, with_hull=is_whole).projected()
    affine = found.affine.of_scaled_columns(front.scale) if settings.standardize else found.affine
    space = Space(metric, affine, found.unit, found.hull is not None)
    near = labeled_by(settings.unlabeled, rows.through(found.affine))
    if centers is not None and near.is_labeled.sum() > rows.is_labeled.sum():
        # Propagated labels determine the classes of the other samples.
        centers = chosen_centers(wanted, replace(rows, codes=near.codes), rng)
    left = None
    if centers is None and settings.unlabeled.is_exact:
        ridge, left = exact_ridge(near, metric, found, is_whole, settings, leave_out)
    else:
        unit = median_distance(found.distances(evenly(len(some))))
        kernel = settings.kernel.at(settings.sigma * unit)
        points = near.held() if centers is None else found.affine(centers)
        with solvable(kernel, settings.smoothness):
            ridge = Ridge.over(near, points, kernel, settings.smoothness, settings.unlabeled)
    return replace(read(near, space, ridge, left, settings.decision), hull=found.hull)


def exact_ridge(
    near: Rows, metric: Metric, space: Learned, is_whole: bool, settings: Settings, leave_out: bool
) -> tuple[Ridge, LeftOut | None]:
    """Solve the regression whose centers are the rows, with scores of left-out rows."""
    centers = space.rows if is_whole else near.held()
    D2 = space.distances() if is_whole else squared_distances(centers, centers)
    part = D2 if len(D2) <= UNIT_SAMPLES else D2[np.ix_(*2 * [evenly(len(D2))])]
    kernel = settings.kernel.at(settings.sigma * median_distance(part))
    if leave_out and is_whole and metric.is_fixed and space.hull is None:
        with solvable(kernel, settings.smoothness):
            ridge = Ridge.exact(near, centers, kernel, settings.smoothness, D2)
        return ridge, in_groups(near, ridge, left_out_positions(near, LEFT_OUT_ALL, LEFT_OUT_SOME))
    left = left_out_positions(near, LEFT_OUT_OF_METRIC, LEFT_OUT_OF_METRIC)
    # Rows leave the metric and the hull one by one. Augmented samples have several rows.
    found, heights = None, None
    if leave_out and is_whole and near.per_sample == 1:
        found = metric.left_out_distances(D2, near, left)
    if found is not None and space.hull is not None:
        heights = heights_of(near, space.hull, left)
        found = np.maximum(found - heights[:, np.newaxis], 0.0)
    K_left = None if found is None else kernel(found)
    with solvable(kernel, settings.smoothness):
        ridge = Ridge.exact(near, centers, kernel, settings.smoothness, D2)
    return ridge, None if K_left is None else one_by_one(near, ridge, left, K_left, heights)


def heights_of(near: Rows, hull: Hull, left: Ints) -> Floats:
    """Return squared heights of rows over the hull of the others. A row keeps its equal samples."""
    heights = hull.heights(left)
    heights[near.removed[left] < near.weights[left]] = 0.0
    return heights


def read(near: Rows, space: Space, ridge: Ridge, left: LeftOut | None, decision: str) -> Model:
    """Return the coordinates and the decision of a solved regression."""
    V = ridge.coordinates()
    V *= signs_of(ridge.class_means @ V)
    f = KernelMap(space.affine, ridge.centers, ridge.kernel, ridge.coef @ V)
    scores, neighbors = Scores(near.classes, V, ridge.shares, np.arange(len(V))), None
    if decision == "nearest":
        neighbors = neighbors_of(near, f, ridge, V)
        scores = neighbors.scores(near.classes)
    return Model(near, space, ridge, V, f, scores, left, neighbors)


def neighbors_of(near: Rows, f: KernelMap, ridge: Ridge, V: Floats) -> Neighbors:
    """Return the labeled rows in the embedding."""
    own = np.flatnonzero(near.is_labeled)
    if ridge.fitted is None:
        behind = replace(f, metric=Affine.identity(near.source.n_features))
        embedding = near.source.apply(behind)[own]
    else:
        embedding = (ridge.fitted @ V)[own]
    places, weights = near.places[own], near.weights[own]
    return Neighbors(embedding, near.codes[own], places, weights, own, near.per_sample)


def left_out(given: Rows, model: Model, settings: Settings) -> LeftOut:
    """Return values of the classes for left-out samples, by a formula or by fits without folds."""
    rows = model.rows
    ridge = model.ridge
    found = model.left_out
    if found is None:
        folds = by_refits(given, model, settings, LEFT_OUT_OF_METRIC)
        if folds is not None:
            # A part of the samples may be fewer than the features if all of them are more.
            return folds if model.space.is_projected else replace(folds, heights=None)
        left = left_out_positions(rows, LEFT_OUT_ALL, LEFT_OUT_SOME)
        formula = of_sums if ridge.fitted is None else in_groups
        found = formula(rows, ridge, left)
    if model.neighbors is not None:
        F = (found.values - ridge.shares) @ model.rotation
        values = model.neighbors.left_out(F, found.rows, rows.removed[found.rows])
        found = replace(found, values=values, gain=1.0)
    return replace(found, rows=found.rows // rows.per_sample)


def by_refits(given: Rows, model: Model, settings: Settings, enough: float) -> LeftOut | None:
    """Return values of ``enough`` samples by fits without folds of the samples.

    None if the metric hardly changes without a sample, if some samples have no label, or if a fold would
    leave fewer than two classes.
    """
    has_many = given.is_labeled.sum() >= model.space.metric.settled_at * given.source.n_features
    if has_many or not given.is_labeled.all():
        return None
    absent = 0.0 if model.neighbors is None else -np.inf
    return by_folds(given, partial(learned, settings=settings, leave_out=False), absent, enough)


@dataclass(frozen=True)
class Fitted:
    """The attributes that a fit assigns to the estimator, all at once."""

    classes_: NDArray[Any]
    metric_: BaseEstimator
    map_: KernelMap
    sigma_: float
    _length_unit: float
    scores_: Scores
    _leave_one_out: Floats
    _leave_one_out_labels: NDArray[Any]
    _leave_one_out_counts: Floats
    _leave_one_out_heights: Floats | None
    _leave_one_out_gain: float
    leave_one_out_score_: float

    @classmethod
    def of(cls, model: Model, found: LeftOut, sigma: float, had_label: Bools | slice) -> Fitted:
        """Calibrate a model on left-out samples.

        ``sigma`` is the width in median distances. ``had_label`` selects the samples whose labels were
        given and not propagated, because new samples come with labels of this kind.
        """
        usable = np.isfinite(found.values).all(axis=1)
        values = found.values[usable]
        codes = found.codes[usable]
        weights = found.weights[usable]
        is_right = found.values.argmax(axis=1) == found.codes
        width = model.map.kernel.sigma / model.space.unit
        return cls(
            classes_=model.classes,
            metric_=own_metric(model.space.metric),
            map_=model.map,
            sigma_=width,
            _length_unit=width / sigma,
            scores_=model.scores.calibrated(values, codes, weights),
            _leave_one_out=found.values[had_label],
            _leave_one_out_labels=model.classes[found.codes[had_label]],
            _leave_one_out_counts=found.counts[had_label],
            _leave_one_out_heights=None if found.heights is None else found.heights[had_label],
            _leave_one_out_gain=found.gain,
            leave_one_out_score_=float(np.average(is_right, weights=found.weights)),
        )


@dataclass(frozen=True)
class Samples:
    """The attributes of the training samples that a fit assigns to the estimator, in their order."""

    embedding_: NDArray[Any]
    labels_: NDArray[Any]
    transduction_: NDArray[Any]

    @classmethod
    def of(cls, model: Model, source: Source, y: LabelsLike, n_components: int | None) -> Samples:
        """Embed samples in their own precision, and predict the labels of those that have none."""
        near, ridge = model.rows, model.ridge
        dtype = np.float32 if getattr(source.X, "dtype", None) == np.float32 else np.float64
        if ridge.fitted is None or np.any(near.given < 0):
            centers = model.map.centers.astype(embedding_precision(model, dtype), copy=False)
            F = source.apply(replace(model.map, centers=centers))
        else:
            F = ridge.fitted[near.given * near.per_sample] @ model.rotation
        d = len(model.classes) - 1 if n_components is None else int(n_components)
        classes, codes = near.labels
        labels = classes[codes]
        if np.any(codes < 0):
            labels = np.where(codes >= 0, labels, model.scores.predict(F))
        given = np.asarray(y.compute() if is_dask(y) else y)
        return cls(F[:, :d].astype(dtype, copy=False), given, labels)


def embedding_precision(model: Model, dtype: type[np.floating[Any]]) -> type[np.floating[Any]]:
    """Return the precision in which samples of a type are embedded.

    Many samples of single precision are embedded in single precision. A kernel that is narrow because
    far rows set the scale would underflow there, and a kernel that is not smooth at zero needs more
    digits of small distances.
    """
    kernel = model.map.kernel
    is_safe = kernel.sigma > LEAST_SINGLE and np.isfinite(kernel.curvature)
    return dtype if len(model.rows) > EXACT_UP_TO and is_safe else np.float64


def evenly(n_rows: int) -> Ints:
    """Return positions of at most `UNIT_SAMPLES` rows from everywhere."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, UNIT_SAMPLES)).astype(np.intp))
