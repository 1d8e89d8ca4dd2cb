"""Projected gradient attacks: look for a point near x that gets another label.

The attack climbs the difference between the best score of a rival class and the best of x's own class,
with the exact gradient of the map, and goes back to the ball after every step. What counts is `predict`.
Behind affine steps z = xM + b the gradient is M times that in z, and the ball is one of x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import Floats
from nsse.certificates import Decision, decision_of, expansion_of, opened
from nsse.certificates.steps import Passage
from nsse.extensions import GaussianExpansion

BLOCK = 500
LOOK = 4  # steps between looks at the label


def changed(
    model: Any, X: Floats, radius: Floats, *, starts: int, steps: int, seed: int
) -> NDArray[np.bool_]:
    """Whether some point found within ``radius`` of each row gets another label."""
    rng = np.random.default_rng(seed)
    found = np.zeros(len(X), dtype=bool)
    for begin in range(0, len(X), BLOCK):
        rows = slice(begin, begin + BLOCK)
        found[rows] = _attack(model, X[rows], radius[rows, np.newaxis], starts, steps, rng)
    return found


def _attack(
    model: Any, X: Floats, radius: Floats, starts: int, steps: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    before, last = opened(model)
    expansion, decision = expansion_of(last), decision_of(last)
    whole = Passage.of(before, X[:1]).whole if before else None
    labels = model.predict(X)
    own = decision.codes == np.searchsorted(decision.classes, labels)[:, np.newaxis]
    found = np.zeros(len(X), dtype=bool)
    for start in range(starts):
        moved = X + start_at(start, X, radius, rng)
        for step in range(steps):
            if whole is None:
                ascent = _ascent(expansion, decision, moved, own)
            else:
                ascent = _ascent(expansion, decision, model[:-1].transform(moved), own) @ whole.matrix.T
            length = np.linalg.norm(ascent, axis=1, keepdims=True)
            ascent /= np.where(length > 0, length, 1.0)
            moved = _projected(moved + 2.0 * radius * ascent / (1 + step) ** 0.75, X, radius)
            if step % LOOK == LOOK - 1 or step == steps - 1:
                found |= model.predict(moved) != labels
    return found


def start_at(start: int, X: Floats, radius: Floats, rng: np.random.Generator) -> Floats:
    """The sample itself first, then random points of the sphere or inside it."""
    if start == 0:
        return np.zeros_like(X)
    direction = rng.standard_normal(X.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    share = 1.0 if start % 2 else rng.random((len(X), 1))
    return direction * radius * share


def _ascent(
    expansion: GaussianExpansion, decision: Decision, X: Floats, own: NDArray[np.bool_]
) -> Floats:
    """Gradient at every row of the best rival score less the best own score."""
    points = expansion.moved(X)
    K = np.exp(-expansion.centers.squared_distances_from_moved(points) / expansion.sigma**2)
    scores = K @ expansion.coef @ decision.weights.T + decision.offsets
    mine = np.where(own, scores, -np.inf).argmax(axis=1)
    rival = np.where(own, -np.inf, scores).argmax(axis=1)
    w = decision.weights[rival] - decision.weights[mine]
    weights = K * (w @ expansion.coef.T)
    gradient = points * weights.sum(axis=1, keepdims=True) - weights @ expansion.centers.points
    gradient *= -2.0 / expansion.sigma**2
    return gradient if expansion.metric is None else expansion.metric.adjoint(gradient)


def _projected(moved: Floats, X: Floats, radius: Floats) -> Floats:
    """Back into the ball, a hair inside: the sum X + change rounds."""
    change = moved - X
    length = np.linalg.norm(change, axis=1, keepdims=True)
    outside = length > radius
    return X + np.where(outside, change * (radius / np.where(outside, length, 1.0)) * (1 - 1e-9), change)
