"""Combine the members of a search into one map, a weighted sum of their values.

Member k has a map f_k and affine functions of it, each of a class. Its value v_kc(x) is the largest
function of class c. With the weights w_k and temperatures τ_k of the stack (`nsse.stack`), the scores of
the ensemble are S(x) = Σ_k w_k v_k(x)/τ_k, centered so that they add up to zero over the classes.

The coordinates are f(x) = V'S(x) with a matrix V whose columns are orthonormal and add up to zero.
S(x) = V f(x) then follows from the coordinates, so the label, the probabilities and the embedding come
from one map.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nsse._support.types import Floats, Ints, SamplesLike
from nsse.base import signs_of
from nsse.maps import Member
from nsse.scores import Scores


@dataclass(frozen=True)
class EnsembleMap:
    """f(x) = V' Σ_k w_k v_k(x), the rotated class scores of an ensemble.

    It is piecewise affine in the maps of its members, because v_kc is the largest of the functions of
    class c. It therefore has no Gram matrix, and its gradient is the one of the functions that are
    largest at x.

    Attributes
    ----------
    parts : tuple of Member
        Maps with affine functions of the classes and their weights w_k/τ_k.
    rotation : ndarray of shape (n_classes, n_classes - 1)
        V.
    """

    parts: tuple[Member, ...]
    rotation: Floats

    @property
    def n_features(self) -> int:
        """Columns of the rows that it takes."""
        return self.parts[0].map.n_features

    @property
    def n_components(self) -> int:
        """Number of coordinates."""
        return int(self.rotation.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.rotation)

    def members(self, scores: Scores) -> tuple[Member, ...]:
        """Return the members. ``scores`` are the class scores, which are their sum."""
        return self.parts

    def class_scores(self, X: SamplesLike) -> Floats:
        """Return S at the rows of ``X``, which adds up to zero over the classes."""
        return centered(np.sum([part.values(X) for part in self.parts], axis=0))

    def __call__(self, X: SamplesLike) -> Floats:
        """Return f at the rows of ``X``, dense or sparse, in float64."""
        return self.class_scores(X) @ self.rotation

    def jacobian(self, X: SamplesLike) -> Floats:
        """Return df/dx at the rows of ``X``, of shape (n_samples, d, n_features)."""
        every = np.eye(self.n_components)
        columns = [self.gradients(X, np.tile(own, (X.shape[0], 1))) for own in every]
        return np.stack(columns, axis=1)

    def gradients(self, X: SamplesLike, A: Floats) -> Floats:
        """Return the gradients of a_i'f at the rows x_i of ``X``, one direction a_i for each row."""
        of_classes = A @ self.rotation.T  # a'V'S, and the columns of V add up to zero
        total = np.zeros((X.shape[0], X.shape[1]))
        for f, scores, weight in self.parts:
            own = largest_functions(scores, f(X))
            directions = np.einsum("nc,ncd->nd", weight * of_classes, scores.weights[own])
            total += f.gradients(X, directions)
        return total


def centered(values: Floats) -> Floats:
    """Return values of the classes that add up to zero for every sample."""
    return np.asarray(values - values.mean(axis=1, keepdims=True))


def largest_functions(scores: Scores, F: Floats) -> Ints:
    """Return the positions of the largest function of every class, of shape (n_samples, n_classes)."""
    if scores.has_one_per_class:
        return np.broadcast_to(np.arange(len(scores.classes)), (len(F), len(scores.classes)))
    v = scores.functions(F)
    starts = np.append(np.searchsorted(scores.codes, np.arange(len(scores.classes))), len(scores.codes))
    found = np.empty((len(F), len(scores.classes)), dtype=np.intp)
    for c, (start, stop) in enumerate(pairwise(starts)):
        found[:, c] = start + v[:, start:stop].argmax(axis=1)
    return found


def rotation_of(scores: Floats, codes: Ints, weights: Floats, n_classes: int) -> Floats:
    """Return V, the axes of centered scores, sorted by how much the class means differ along them."""
    indicators = np.zeros((n_classes, len(codes)))
    indicators[codes, np.arange(len(codes))] = weights
    sizes = indicators.sum(axis=1)
    means = indicators @ scores / sizes[:, np.newaxis]
    spread = (means - sizes @ means / sizes.sum()) * np.sqrt(sizes / sizes.sum())[:, np.newaxis]
    basis = zero_sum_basis(n_classes)
    _, axes = np.linalg.eigh(basis.T @ (spread.T @ spread) @ basis)
    V = basis @ axes[:, ::-1]
    return np.asarray(V * signs_of(means @ V))


def zero_sum_basis(n: int) -> Floats:
    """Return n − 1 orthonormal columns of n numbers that add up to zero (Helmert's contrasts)."""
    basis = np.triu(np.ones((n, n - 1)))
    j = np.arange(1, n)
    basis[j, j - 1] = -j
    return basis / np.sqrt(j * (j + 1.0))
