"""Compute positions of training samples by models without them, in the coordinates of the whole model.

A model without a sample has coordinates of its own. Its class scores s are therefore mapped by the
rotation V of the whole model, F = (s − π) V, like the scores of the whole model. All positions can then
be compared with each other and with positions of new samples.

The calibration of a fit leaves some of the samples out (`nsse.left_out`). Here all of them are left out,
by the same formulas and folds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from nsse._support.arrays import Home, is_foreign, to_numpy
from nsse._support.errors import Described, rule_error
from nsse._support.types import Floats
from nsse.distances import squared_distances
from nsse.equal_rows import FEW_COLUMNS, row_hashes
from nsse.left_out import LEFT_OUT_ALL, LeftOut, every_one, in_groups, of_all_sums
from nsse.maps import KernelMap
from nsse.metrics.names import named_metric
from nsse.model import Model, Settings, by_refits, heights_of, learned
from nsse.rows import Rows
from nsse.scores import Scores
from nsse.sources import Source
from nsse.updates import Updates


def known_positions(given: Rows, model: Model, found: LeftOut) -> Floats | None:
    """Return the positions of all rows if the calibration of a fit has left out all of them.

    ``found`` are the values of the calibration.
    """
    scores = found if model.neighbors is None else model.left_out
    if scores is None or model.rows.per_sample > 1 or len(np.unique(scores.rows)) < len(given):
        return None
    return positions_of(given, model, scores)


@dataclass(frozen=True)
class Positions:
    """The attributes about left-out positions that a fit assigns to the estimator.

    Attributes
    ----------
    _left_out_embedding : ndarray of shape (n_samples, n_components) or None
        The positions, if they have been computed.
    _training : Training or None
        The data from which they can be computed later, if they have not.
    """

    _left_out_embedding: Any = None
    _training: Training | None = None

    @classmethod
    def of(
        cls, given: Rows, settings: Settings, model: Model, found: LeftOut, embedding: NDArray[Any]
    ) -> Positions:
        """Return the positions if the calibration of the fit has left all rows out."""
        known = known_positions(given, model, found)
        if known is None:
            return cls(_training=Training.of(given, settings))
        return cls(_left_out_embedding=of_samples(given, known, embedding))


class LeftOutPositions:
    """The part of an estimator that computes `left_out_embedding_` when it is first read.

    ``fit`` sets the attributes of `Positions`.
    """

    embedding_: Any
    smoothness: float
    map_: KernelMap
    scores_: Scores
    _left_out_embedding: Any
    _training: Training | None
    _updates: Updates | None

    @property
    def left_out_embedding_(self) -> Any:
        """Return the position of every training sample by the model without it."""
        check_is_fitted(self)
        if self._left_out_embedding is None:
            self._left_out_embedding, self._training = self._computed_left_out(), None
        found, own = self._left_out_embedding, self.embedding_
        if is_foreign(own):
            return found if is_foreign(found) else Home.of(own).array(found)
        return found.astype(own.dtype, copy=False)

    def _compute_left_out(self) -> None:
        """Compute `left_out_embedding_` if there are at most 2000 samples, as `nsse.save` does."""
        check_is_fitted(self)
        training = self._training
        has_samples = training is not None and training.is_small and not training.has_changed
        if self._left_out_embedding is None and (has_samples or self._updates is not None):
            self._left_out_embedding, self._training = self._computed_left_out(), None

    def _computed_left_out(self) -> Floats:
        training, updates = self._training, self._updates
        if training is not None:
            return of_samples(training.given, training.embedding(), to_numpy(self.embedding_))
        if updates is None:
            raise AttributeError(
                "left_out_embedding_ was not computed before the model was saved or copied. Read it "
                "once before you save a model of more than 2000 samples."
            )
        positions = updates.positions(self.map_, self.scores_, float(self.smoothness))
        return positions[:, : self.embedding_.shape[1]]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        training: Training | None = state.get("_training")
        if training is not None and not training.is_small:
            state["_training"] = None
        return state

    def __dir__(self) -> list[str]:
        # scikit-learn reads every attribute that it lists, also for its HTML page. Neither a list of
        # names nor that page may take as long as ten fits.
        later, training = "left_out_embedding_", vars(self).get("_training")
        names = [name for name in object.__dir__(self) if name != later and hasattr(self, name)]
        is_slow = training is not None and not training.is_small
        return names if is_slow or not hasattr(self, "_training") else [*names, later]


def of_samples(given: Rows, positions: Floats, embedding: NDArray[Any]) -> Floats:
    """Return positions of rows as positions of samples.

    Samples of weight zero have no influence on the model, so their positions in ``embedding`` are used.
    """
    places = given.given
    found = np.asarray(positions[places, : embedding.shape[1]], dtype=np.float64)
    if np.any(places < 0):
        found[places < 0] = embedding[places < 0]
    return found


@dataclass(frozen=True)
class Training:
    """The rows and the settings of a fit, from which `left_out_embedding` computes positions later."""

    given: Rows
    settings: Settings

    @classmethod
    def of(cls, given: Rows, settings: Settings) -> Training:
        """Return them with a copy of the metric, because its parameters may be set after the fit."""
        return cls(given, replace(settings, metric=clone(named_metric(settings.metric))))

    @property
    def is_small(self) -> bool:
        """Whether the rows are in memory and few enough to be copied with a model."""
        return type(self.given.source) is Source and len(self.given) <= LEFT_OUT_ALL

    @property
    def has_changed(self) -> bool:
        """Whether the samples were changed in place since the fit."""
        keys = self.given.source.apply(partial(row_hashes, few=FEW_COLUMNS))
        return not np.array_equal(keys, self.given.keys)

    def embedding(self) -> Floats:
        """Return the left-out position of every row."""
        if self.has_changed:
            rule = "stay as it was during the fit until left_out_embedding_ is computed"
            cure = "Read left_out_embedding_ before you change the training samples in place."
            raise rule_error("X", rule, Described("an array that has changed"), cure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit has warned
            return left_out_embedding(self.given, self.settings)


def left_out_embedding(given: Rows, settings: Settings) -> Floats:
    """Return the position of every row by the model without one of its samples, NaN without a label."""
    settings = replace(settings, decision="scores")
    model = learned(given, settings)
    found = every_by_formula(model)
    if found is None:
        found = by_refits(given, model, settings, np.inf)
    if found is None:
        found = every_by_regression(model)
    return positions_of(given, model, found)


def positions_of(given: Rows, model: Model, found: LeftOut) -> Floats:
    """Return class scores of left-out rows as positions in the coordinates of the model, by row."""
    scores = found.by_row(len(given))
    scores[~given.is_labeled] = np.nan
    return np.asarray((scores - model.ridge.shares) @ model.rotation)


def every_by_formula(model: Model) -> LeftOut | None:
    """Return class scores of every row by the model without it, None if there is no formula for many."""
    rows, found = model.rows, model.left_out
    if found is None:
        return None
    if len(found.rows) * rows.per_sample == len(rows):
        return replace(found, rows=found.rows // rows.per_sample)
    if model.space.metric.is_fixed and not model.space.is_projected:
        return every_by_regression(model)
    if len(rows) > LEFT_OUT_ALL:
        return None
    Z, every = model.map.centers, np.arange(len(rows))
    D2 = model.space.metric.left_out_distances(squared_distances(Z, Z), rows, every)
    assert D2 is not None
    if model.hull is not None:
        D2 = np.maximum(D2 - heights_of(rows, model.hull, every)[:, np.newaxis], 0.0)
    return every_one(rows, model.ridge, model.map.kernel(D2))


def every_by_regression(model: Model) -> LeftOut:
    """Return class scores of every sample without its part in the regression alone."""
    rows, ridge = model.rows, model.ridge
    if ridge.fitted is None:
        found = of_all_sums(rows, ridge)
    else:
        found = in_groups(rows, ridge, np.arange(len(rows)))
    return replace(found, rows=found.rows // rows.per_sample)
