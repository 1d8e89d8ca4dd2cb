"""Decide in the embedding by the largest of some affine functions of f.

    v_j(f) = w_j'f + b_j,   label = class of the largest v_j:

class scores (one function per class), linear classifiers, and the nearest training sample, which has the
largest 2 y_i'f − ‖y_i‖². Labels, decision values, probabilities, certified radii, exports and the report
use nothing else of a decision. Probabilities are p_c ∝ exp(v_c/τ), where v_c is the largest function of
class c. The temperature τ makes the values of left-out samples most likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

from nsse._support.types import Floats, Ints

# 1/τ of values without information or with the wrong class, and the limit from which values differ by
# rounding only.
LEAST_SHARPNESS, MOST_SHARPNESS = 0.01, 1e12
BLOCK_VALUES = 4_000_000  # values of functions held at a time, 32 MB


@dataclass(frozen=True)
class Scores:
    """Affine functions of f, each of a class.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the codes.
    weights : ndarray of shape (n_functions, d)
        w_j. Functions of a class stand side by side, classes in the order of `classes`.
    offsets : ndarray of shape (n_functions,)
        b_j.
    codes : ndarray of shape (n_functions,)
        The class of every function, ascending.
    temperature : float
        τ.
    """

    classes: NDArray[np.generic]
    weights: Floats
    offsets: Floats
    codes: Ints
    temperature: float = 1.0

    @classmethod
    def of_classes(cls, classes: NDArray[np.generic], weights: Floats, offsets: Floats) -> Scores:
        """Make scores with one function per class."""
        return cls(classes, weights, offsets, np.arange(len(classes)))

    @classmethod
    def nearest(cls, classes: NDArray[np.generic], embedding: Floats, codes: Ints) -> Scores:
        """Choose the label of the nearest row of ``embedding``, with the largest 2 y_i'f − ‖y_i‖²."""
        order = np.argsort(codes, kind="stable")
        Y = np.asarray(embedding, dtype=np.float64)[order]
        return cls(classes, 2.0 * Y, -np.einsum("ij,ij->i", Y, Y), codes[order])

    @property
    def has_one_per_class(self) -> bool:
        """Whether every class has one function."""
        return len(self.codes) == len(self.classes)

    def functions(self, F: Floats) -> Floats:
        """Return v_j at the rows of ``F``, of shape (n_samples, n_functions)."""
        return F @ self.weights.T + self.offsets

    def values(self, F: Floats) -> Floats:
        """Return the largest function of every class, of shape (n_samples, n_classes)."""
        v = self.functions(F)
        return v if self.has_one_per_class else self.largest_of_class(v)

    def largest_of_class(self, v: Floats) -> Floats:
        """Return the largest of the functions ``v`` (n_samples, n_functions) of every class."""
        starts = np.searchsorted(self.codes, np.arange(len(self.classes)))
        return np.maximum.reduceat(v, starts, axis=1)

    def predict(self, F: Floats) -> NDArray[np.generic]:
        """Return the labels."""
        return self.classes[self.codes[self.functions(F).argmax(axis=1)]]

    def decision(self, F: Floats) -> Floats:
        """Return `values`, or for two classes the value of the second minus the value of the first."""
        return as_decision(self.values(F))

    def probabilities(self, F: Floats) -> Floats:
        """Return exp(v_c/τ) over their sum, of shape (n_samples, n_classes)."""
        return np.asarray(softmax(self.values(F) / self.temperature, axis=1))

    def log_probabilities(self, F: Floats) -> Floats:
        """Return the logarithms of `probabilities`."""
        return np.asarray(log_softmax(self.values(F) / self.temperature, axis=1))

    def calibrated(self, values: Floats, codes: Ints, sample_weight: Floats) -> Scores:
        """Return scores with the temperature of the smallest log-loss of left-out ``values``."""
        return replace(self, temperature=fitted_temperature(values, codes, sample_weight))


def nearest_scores(classes: NDArray[np.generic], embedding: Floats, codes: Ints) -> Scores:
    """Return `Scores.nearest`, calibrated on its rows without each row's own function."""
    values = left_out_nearest(embedding, codes, len(classes))
    return Scores.nearest(classes, embedding, codes).calibrated(values, codes, np.ones(len(codes)))


def left_out_nearest(embedding: Floats, codes: Ints, n_classes: int) -> Floats:
    """Return values of `Scores.nearest` at its rows without each row's function: (n_rows, n_classes).

    −∞ for the class of a row that is alone in it.
    """
    scores = Scores.nearest(np.arange(n_classes), embedding, codes)
    order = np.argsort(codes, kind="stable")
    values = np.empty((len(codes), n_classes))
    size = max(1, BLOCK_VALUES // len(codes))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        v = scores.functions(np.asarray(embedding, dtype=np.float64)[rows])
        here = np.arange(len(rows))
        v[here, start + here] = -np.inf
        values[rows] = scores.largest_of_class(v)
    return values


def as_decision(values: Floats) -> Floats:
    """Return class values as a decision function of scikit-learn, one column for two classes."""
    return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


def fitted_temperature(values: Floats, codes: Ints, sample_weight: Floats) -> float:
    """Return τ with the smallest log-loss, which is convex in 1/τ, or 1 if nothing was left out.

    Rows that have −∞ for their own class are not counted, because their class is unknown without them.
    One more sample is added, which is placed like the others and belongs equally to all classes.
    Otherwise, τ would be zero if all samples are correct, and one mistake would be infinitely unlikely.
    """
    known = np.isfinite(values[np.arange(len(codes)), codes])
    values = values[known]
    codes = codes[known]
    sample_weight = sample_weight[known]
    if len(values) == 0:
        return 1.0
    moved = values - values.max(axis=1, keepdims=True)
    own = moved[np.arange(len(codes)), codes]
    shares = sample_weight / sample_weight.sum()
    wanted = sample_weight @ own + shares @ moved.mean(axis=1)

    def slope(sharpness: float) -> float:
        powers = np.exp(moved * sharpness)
        expected = np.einsum("ij,ij->i", powers, moved) / powers.sum(axis=1)
        return float((sample_weight + shares) @ expected - wanted)

    low = LEAST_SHARPNESS
    high = 1.0
    at_high = slope(1.0)
    if at_high >= 0.0 and slope(low) >= 0.0:
        return 1.0 / low
    while at_high < 0.0 and high < MOST_SHARPNESS:
        low, high = high, 4.0 * high
        at_high = slope(high)
    if at_high < 0.0:  # values that differ by rounding only
        return 1.0
    return 1.0 / float(brentq(slope, low, high, rtol=1e-9))
