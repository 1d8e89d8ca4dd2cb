"""The nearest training sample of a point in the embedding, as in the paper; its label and its rivals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._compat import remembered_neighbors, search_tree
from nsse._threads import in_parallel
from nsse.kernels import Shifted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Distances in flight per block: 4 MB.
BLOCK_VALUES = 500_000


class NearestSample(KNeighborsClassifier):
    """The label of the nearest sample."""

    def __init__(self) -> None:
        super().__init__(n_neighbors=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of rows."""
        return np.asarray(self.classes_[self._codes(X)])

    def labels_of(self, Y: NDArray[Any]) -> NDArray[Any]:
        """The same for rows that need no check: of the map that it was fitted on."""
        return np.asarray(self.classes_[self._codes_of(np.ascontiguousarray(Y))])

    def predict_proba(self, X: Any) -> Floats:
        """1 for the label that `predict` gives, 0 for the others."""
        return np.asarray(np.eye(len(self.classes_))[self._codes(X)])

    def _codes(self, X: Any) -> Ints:
        check_is_fitted(self)
        Z = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        return self._codes_of(Z)

    def _codes_of(self, Z: NDArray[Any]) -> Ints:
        Y, codes, _ = remembered_neighbors(self)
        if len(Z) == 1:  # all distances are there before a tree is searched
            differences = np.subtract(Y, Z, dtype=np.float64)
            return np.asarray(codes[[np.einsum("ij,ij->i", differences, differences).argmin()]])
        tree = search_tree(self)
        found = nearest_rows(Z, Y) if tree is None else tree.query(Z, return_distance=False)[:, 0]
        return np.asarray(codes[found])


def nearest_labels(Y: NDArray[Any], y: NDArray[Any], Z: NDArray[Any]) -> NDArray[Any]:
    """For every row of ``Z`` the label of the nearest row of ``Y``."""
    return np.asarray(y[nearest_rows(Z, Y)])


def nearest_rows(Z: NDArray[Any], Y: NDArray[Any]) -> Ints:
    """For every row of ``Z`` the index of the nearest row of ``Y``."""
    found = np.empty(len(Z), dtype=np.intp)

    def fill(block: slice, D2: Floats) -> None:
        found[block] = D2.argmin(axis=1)

    _with_distances(fill, Z, Y)
    return found


def nearest_of_classes(Y: NDArray[Any], codes: Ints, Z: NDArray[Any], n_classes: int) -> Floats:
    """Distances (points × classes) from the rows of ``Z`` to the nearest row of ``Y`` of every class."""
    members = [np.flatnonzero(codes == c) for c in range(n_classes)]
    out = np.empty((len(Z), n_classes))

    def fill(block: slice, D2: Floats) -> None:
        for c, own in enumerate(members):
            out[block, c] = _smallest(D2[:, own], Y[own], Z[block])

    _with_distances(fill, Z, Y)
    return out


def vote_of_neighbors(Y: NDArray[Any], codes: Ints, Z: NDArray[Any], n_classes: int, k: int) -> Floats:
    """By how much each class wins the vote of the k nearest rows of ``Y``, in distances; else loses it.

    With r midway between the k-th distance from z and the next, and a_cj the distance to the j-th
    nearest row of class c less than r (r − d_cj), c has more votes than e by

        s_ce = max_j min(a_cj, −a_ej) > 0:

    j of its rows lie within r, and fewer than j of e's. Of as many votes the first class wins, so that c
    wins over e by s_ce if it comes after it, and else by −s_ec; its margin is the least of these. All of
    it is continuous in z, where shares of votes jump.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_components)
        Rows that vote.
    codes : ndarray of shape (n_samples,)
        Their classes.
    Z : ndarray of shape (n_points, n_components)
        Points asked about.
    n_classes : int
        Number of codes.
    k : int
        How many vote, at most n_samples.

    Returns
    -------
    ndarray of shape (n_points, n_classes)
        Not negative for the class that wins, not positive for the others.
    """
    members = [np.flatnonzero(codes == c) for c in range(n_classes)]
    out = np.empty((len(Z), n_classes))

    def fill(block: slice, D2: Floats) -> None:
        last = np.sqrt(np.partition(D2, [k - 1, min(k, len(Y) - 1)], axis=1)[:, k - 1 : k + 1])
        inside = np.full((len(D2), n_classes, k), -np.inf)
        for c, own in enumerate(members):
            near = np.sort(D2[:, own], axis=1)[:, :k]
            inside[:, c, : near.shape[1]] = last.mean(axis=1, keepdims=True) - np.sqrt(near)
        out[block] = _least_wins(inside)

    _with_distances(fill, Z, Y)
    return out


def _least_wins(inside: Floats) -> Floats:
    """The margins of `vote_of_neighbors`, from a (points × classes × j)."""
    least = np.full(inside.shape[:2], np.inf)
    for c in range(1, inside.shape[1]):
        own, before = inside[:, c : c + 1], inside[:, :c]
        wins = np.minimum(own, -before).max(axis=2)  # over the classes before it
        least[:, c] = np.minimum(least[:, c], wins.min(axis=1))
        least[:, :c] = np.minimum(least[:, :c], -wins)
    return least


def nearest_own_and_other(
    Y: Floats, y: NDArray[Any], points: Floats, labels: NDArray[Any], *, same: bool
) -> tuple[Floats, Floats]:
    """Distances from ``points`` to the nearest rows of ``Y`` with their label and with another one.

    With `same` the points are the rows of ``Y``, and no point is its own neighbour. Infinite where there
    is no such row.
    """
    own, other = np.empty(len(points)), np.empty(len(points))

    def fill(block: slice, D2: Floats) -> None:
        if same:
            here = np.arange(len(D2))
            D2[here, block.start + here] = np.inf
        mine = labels[block, np.newaxis] == y
        for out, wanted in ((own, mine), (other, ~mine)):
            out[block] = _smallest(np.where(wanted, D2, np.inf), Y, points[block])

    _with_distances(fill, points, Y)
    return own, other


def _with_distances(use: Callable[[slice, Floats], None], Z: NDArray[Any], Y: NDArray[Any]) -> None:
    """Hand squared distances from the rows of ``Z`` to those of ``Y`` on, a block of rows at a time."""
    among, rows = Shifted.of(Y), max(1, BLOCK_VALUES // len(Y))

    def fill(start: int) -> None:
        block = slice(start, start + rows)
        use(block, among.squared_distances_from(Z[block]))

    in_parallel(fill, range(0, len(Z), rows), len(Z) * len(Y))


def _smallest(D2: Floats, Y: Floats, points: Floats) -> Floats:
    """Distance to the nearest row; from the coordinates, for D2 has lost digits where it is small."""
    nearest = D2.argmin(axis=1)
    exact = np.linalg.norm(points - Y[nearest], axis=1)
    return np.where(np.isinf(D2[np.arange(len(D2)), nearest]), np.inf, exact)
