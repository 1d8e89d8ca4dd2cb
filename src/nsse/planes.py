"""A plane that separates classes: the corners of a polygon, weighted by probabilities.

    place(x) = Σ_c q_c(x) corner_c,    q_c ∝ p_c^γ,    γ = 0.6 max(1, M/10)

A supervised embedding of M classes needs M − 1 dimensions to hold them all apart: its first two
coordinates hide most of it. Probabilities p have all of them. A sample of one class lies at its corner,
a sample between two classes between their corners, and one that belongs nowhere in the middle. The place
is a closed, smooth function of x, the same alone or in any batch. γ is a matter of sight. Few classes
have room: below one it draws samples that are all but certain away from the corner, where they would
hide each other. The more classes, the nearer their corners, and the more mixtures lie on top of each
other: γ grows as corners draw near, and moves samples outward.

Classes that are confused when samples are left out stand side by side: the ring with the largest sum of
confusions between neighbours, as far as two-opt finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from nsse._support.types import Floats, Ints, SamplesLike
from nsse.pipelines import opened
from nsse.scores import fitted_temperature, left_out_nearest

__all__ = ["plane"]

# Classes up to which there is room, and γ of these.
FEW_CLASSES, SOFTENED = 10, 0.6


@dataclass(frozen=True)
class Plane:
    """Corners of a polygon, one for every class.

    Attributes
    ----------
    corners : ndarray of shape (n_classes, 2)
        Corner of every class, in the order of the classes.
    sharpness : float
        γ.
    """

    corners: Floats
    sharpness: float

    @classmethod
    def of(cls, model: Any) -> Plane:
        """The plane of a fitted model, alone or at the end of a pipeline."""
        _, core = opened(model)
        return cls.of_confusions(confusions(core))

    @classmethod
    def of_confusions(cls, confused: Floats) -> Plane:
        """Classes around the polygon, those side by side that ``confused`` has large values for."""
        n_classes = len(confused)
        corners = np.empty((n_classes, 2))
        corners[ring(confused)] = polygon(n_classes)
        return cls(corners, SOFTENED * max(1.0, n_classes / FEW_CLASSES))

    def __call__(self, probabilities: Floats) -> Floats:
        """Places of samples with these probabilities, of shape (n_samples, 2)."""
        P = np.asarray(probabilities, dtype=np.float64)
        Q = (P / P.max(axis=1, keepdims=True)) ** self.sharpness
        return np.asarray(Q / Q.sum(axis=1, keepdims=True) @ self.corners)


def plane(model: Any, X: SamplesLike) -> Floats:
    """Places of samples in a plane that separates the classes.

    Parameters
    ----------
    model : estimator
        Fitted, a method of this library, alone or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, new or old.

    Returns
    -------
    ndarray of shape (n_samples, 2)
        Means of the corners of a polygon, one corner for each class, weighted by the probabilities of
        the classes to a power that grows with their number. Of two classes the second one is zero.

    See Also
    --------
    nsse.SmoothEmbedding.plot : Draws it.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::6], y[::6])
    >>> nsse.planes.plane(model, X).shape
    (1797, 2)
    """
    return Plane.of(model)(model.predict_proba(X))


def polygon(n_classes: int) -> Floats:
    """Corners of a regular polygon, clockwise from the top; of two classes, left and right."""
    if n_classes == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    turns = np.arange(n_classes) / n_classes
    return np.column_stack([np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)])


def confusions(model: Any) -> Floats:
    """Mean probability of every class for samples of every other one, left out, of shape (M, M).

    Symmetric. Zero where the model kept no samples that were left out and decides by other functions
    than the nearest sample.
    """
    n_classes = len(model.classes_)
    values, codes = left_out_values(model)
    usable = np.isfinite(values).all(axis=1)
    values, codes = values[usable], codes[usable]
    sums = np.zeros((n_classes, n_classes))
    if len(values):
        tau = fitted_temperature(values, codes, np.ones(len(codes)))
        np.add.at(sums, codes, softmax(values / tau, axis=1))
        sums /= np.maximum(np.bincount(codes, minlength=n_classes), 1)[:, np.newaxis]
    confused = (sums + sums.T) / 2.0
    np.fill_diagonal(confused, 0.0)
    return confused


def left_out_values(model: Any) -> tuple[Floats, Ints]:
    """Values of the classes for training samples by the model without them, and their classes."""
    values = getattr(model, "leave_one_out_", None)
    if values is not None and len(values):
        return values, np.searchsorted(model.classes_, model.leave_one_out_labels_).astype(np.intp)
    scores, n_classes = model.scores_, len(model.classes_)
    if scores.has_one_per_class:
        return np.empty((0, n_classes)), np.empty(0, dtype=np.intp)
    return left_out_nearest(scores.weights / 2.0, scores.codes, n_classes), scores.codes


def ring(confused: Floats) -> Ints:
    """Classes in a ring with a large sum of ``confused`` over neighbours: greedy, then two-opt.

    It begins with the first class, and goes on with the lesser of its neighbours.
    """
    order = _two_opt(confused, _greedy(confused))
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    return order if order[1] <= order[-1] else np.roll(order[::-1], 1)


def _greedy(confused: Floats) -> Ints:
    """From the first class on, the class that is most confused with the last one."""
    left, order = np.ones(len(confused), dtype=bool), [0]
    left[0] = False
    while left.any():
        order.append(int(np.where(left, confused[order[-1]], -1.0).argmax()))
        left[order[-1]] = False
    return np.array(order, dtype=np.intp)


def _two_opt(confused: Floats, order: Ints) -> Ints:
    """Turn parts of the ring around as long as its sum grows."""
    n, has_grown = len(order), True
    while has_grown:
        has_grown = False
        for start in range(1, n - 1):
            ends = np.arange(start + 1, n)
            before, first = order[start - 1], order[start]
            last, after = order[ends], order[(ends + 1) % n]
            gains = confused[before, last] + confused[first, after] - confused[before, first]
            gains -= confused[last, after]
            best = int(gains.argmax())
            if gains[best] > 1e-12:
                order[start : ends[best] + 1] = order[start : ends[best] + 1][::-1].copy()
                has_grown = True
    return order
