"""Attacks of our models: projected gradients within a ball around each sample.

An attack climbs the largest decision function of another class minus the largest one of the label. It
starts at the sample, on the way to the nearest training sample of another class, and at a random point.
What counts is `predict`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from nsse._support.types import Bools, Floats, Ints

STEPS = 20
# Changes end a hair inside the ball, because sums are rounded.
INSIDE = 1.0 - 1e-9


def withstands(
    model: Any, X: Floats, y: Ints, radius: float, Z: Floats, codes: Ints, seed: int = 0
) -> Bools:
    """Return which samples keep their right label in all attacks of a radius.

    ``Z`` with classes ``codes`` are the training samples of the model.
    """
    holds = np.asarray(model.predict(X) == y)
    for direction in _directions(X, y, Z, codes, seed):
        change = radius * INSIDE * direction
        for step in range(STEPS):
            holds &= model.predict(X + change) == y
            slope = lead_gradients(model, X + change, y)
            change = change + 2.0 * radius * _unit(slope) / (1 + step) ** 0.75
            length = np.linalg.norm(change, axis=1, keepdims=True)
            change *= np.minimum(1.0, radius / np.maximum(length, 1e-300)) * INSIDE
        holds &= model.predict(X + change) == y
    return holds


def _directions(X: Floats, y: Ints, Z: Floats, codes: Ints, seed: int) -> list[Floats]:
    distances = np.where(codes == y[:, np.newaxis], np.inf, cdist(X, Z))
    toward = Z[distances.argmin(axis=1)] - X
    random = np.random.default_rng(seed).standard_normal(X.shape)
    return [np.zeros_like(X), _unit(toward), _unit(random)]


def _unit(V: Floats) -> Floats:
    return V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300)


def lead_gradients(model: Any, X: Floats, y: Ints) -> Floats:
    """Return the gradients of the largest function of another class minus that of the class y."""
    scores = model.scores_
    values = np.asarray(scores.functions(model.map_(X)))
    is_own = scores.codes == np.searchsorted(model.classes_, y)[:, np.newaxis]
    own = np.where(is_own, values, -np.inf).argmax(axis=1)
    other = np.where(is_own, -np.inf, values).argmax(axis=1)
    return np.asarray(model.map_.gradients(X, scores.weights[other] - scores.weights[own]))
