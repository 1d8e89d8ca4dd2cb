"""Positions of training samples by models without them, in the coordinates of the whole model.

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

import numpy as np
from sklearn.base import clone

from nsse._support.errors import Described, rule_error
from nsse._support.types import Floats
from nsse.distances import squared_distances
from nsse.equal_rows import FEW_COLUMNS, row_hashes
from nsse.left_out import LEFT_OUT_ALL, LeftOut, every_one, in_groups, of_all_sums
from nsse.metrics.names import named_metric
from nsse.model import Model, Settings, by_refits, heights_of, learned
from nsse.rows import Rows
from nsse.sources import Source


def known_positions(given: Rows, model: Model, found: LeftOut) -> Floats | None:
    """Return the positions of all rows if the calibration of a fit has left out all of them.

    ``found`` are the values of the calibration.
    """
    scores = found if model.neighbors is None else model.left_out
    if scores is None or model.rows.per_sample > 1 or len(np.unique(scores.rows)) < len(given):
        return None
    return positions_of(given, model, scores)


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
        """Whether the rows are in memory and few enough to go along with copies of a model."""
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
