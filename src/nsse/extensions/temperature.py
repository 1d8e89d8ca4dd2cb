"""Probabilities from scores: p_c ∝ exp(s_c/τ), with τ from scores of samples that were left out.

The log-loss is convex in 1/τ. One sample more is counted, placed like the others and of any class with
the same chance: without it samples that are all right would make τ zero, and one mistake infinitely bad.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# 1/τ of scores that tell nothing, or the wrong class: probabilities are nearly equal, in their order.
LEAST_SHARPNESS = 0.01
MOST_SHARPNESS = 1e12


def softmax(scores: Floats, temperature: float) -> Floats:
    """exp(s/τ) of every row, divided by its sum."""
    moved = (scores - scores.max(axis=1, keepdims=True)) / temperature
    powers = np.exp(moved)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def fitted_temperature(scores: Floats, codes: Ints, weights: Floats) -> float:
    """τ of the smallest log-loss, each row as often as its weight says; 1 where there is none."""
    if len(scores) == 0:
        return 1.0
    scores = scores - scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(codes)), codes]
    shares = weights / weights.sum()
    wanted = weights @ own + shares @ scores.mean(axis=1)

    def slope(sharpness: float) -> float:
        expected = np.einsum("ij,ij->i", softmax(scores, 1.0 / sharpness), scores)
        return float((weights + shares) @ expected - wanted)

    if slope(LEAST_SHARPNESS) >= 0.0:
        return 1.0 / LEAST_SHARPNESS
    high = 1.0
    while slope(high) < 0.0 and high < MOST_SHARPNESS:
        high *= 4.0
    if slope(high) < 0.0:  # scores that differ by rounding only
        return 1.0
    return 1.0 / float(brentq(slope, LEAST_SHARPNESS, high, xtol=1e-13, rtol=1e-14))


def with_largest(values: Floats, codes: Ints) -> Floats:
    """The values of classes with that of the label as the first largest, raised by rounding if need be.

    Labels settle ties by rules of their own; ``argmax`` takes the first.
    """
    off = np.flatnonzero(values.argmax(axis=1) != codes)
    if off.size:
        values = values.copy()
        values[off, codes[off]] = np.nextafter(values[off].max(axis=1), np.inf)
    return values


def as_columns(values: Floats, codes: Ints) -> Any:
    """Values of classes as a decision function has them: of two classes, the second's less the first's.

    The second one's only if it is positive.
    """
    values = with_largest(values, codes)
    if values.shape[1] != 2:
        return values
    difference = values[:, 1] - values[:, 0]
    tiny = np.finfo(np.float64).tiny
    return np.where(codes == 1, np.maximum(difference, tiny), np.minimum(difference, 0.0))
