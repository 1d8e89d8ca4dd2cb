"""A d-dimensional embedding seen in the plane, with the classes at the corners of a polygon.

A supervised embedding of M classes needs M − 1 dimensions to hold them all apart: its first two
coordinates hide most of it. The polygon view shows all d at once. It is the affine map
p(y) = y A + b that minimises, over the *training* samples,

    Σ_i ‖ y_i A + b − v(class of i) ‖²,      v(1), …, v(M) the corners of a regular polygon.

Being affine, it invents nothing: it cannot pull apart what the embedding mixes, and a sample between
two classes of the embedding lands between their corners. Test samples take no part in finding it, and
the rule is the same for every embedding, so pictures of different methods can be compared. It may
overlay what lies apart in d dimensions, as every flat picture may.

Two corners span a line, on which points would hide each other. Of two classes the line runs across, and
heights, which mean nothing then, keep points apart: each class has a band of its own, as wide as its
points are dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsse._support.errors import rule_error

# Of the heights of a line: bins in which points are counted, and how high the band of a class is.
BINS, BAND = 48, 0.8

Points: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PolygonView:
    """The frame of a figure: every sample in the plane, with its label.

    Attributes
    ----------
    name : str
        What made the embedding.
    n_components : int
        Its dimension.
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    corners : ndarray of shape (n_classes, 2)
        Corner of every class, clockwise from the top; of two, left and right.
    train, test : ndarray of shape (n, 2)
        Positions; `test` may be empty.
    train_codes, test_codes : ndarray of int
        Index of every sample's label in `classes`.
    predicted_codes : ndarray of int or None
        The same for what was predicted for the test samples, if anything was.

    See Also
    --------
    nsse.report.polygon_view : Makes one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.report import polygon_view
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> view = polygon_view("NSSE", model.embedding_, y[::3], model.transform(X), y, model.predict(X))
    >>> view.corners.shape, view.test.shape
    ((3, 2), (150, 2))
    """

    name: str
    n_components: int
    classes: NDArray[Any]
    corners: Points
    train: Points
    train_codes: NDArray[np.intp]
    test: Points
    test_codes: NDArray[np.intp]
    predicted_codes: NDArray[np.intp] | None

    @property
    def is_line(self) -> bool:
        """Whether only places across mean something: two classes."""
        return len(self.classes) == 2

    @property
    def wrong(self) -> NDArray[np.intp]:
        """Indices of the test samples whose prediction is not their label."""
        if self.predicted_codes is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(self.predicted_codes != self.test_codes)


def polygon_view(
    name: str,
    embedding: ArrayLike,
    labels: ArrayLike,
    test_embedding: ArrayLike | None = None,
    test_labels: ArrayLike | None = None,
    test_predicted: ArrayLike | None = None,
) -> PolygonView:
    """Project an embedding on the polygon of its classes.

    Parameters
    ----------
    name : str
        What made the embedding; shown in the figure.
    embedding, labels : array-like of shape (n_train, d) and (n_train,)
        Training samples, which decide the projection.
    test_embedding, test_labels, test_predicted : array-like, default=None
        Samples seen through the same projection, their true and predicted labels.

    Returns
    -------
    PolygonView
        Positions and labels.

    See Also
    --------
    nsse.plot.embedding : The same and the drawing in one call.
    nsse.report.embedding_figure : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.report import polygon_view
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> view = polygon_view("NSSE", model.embedding_, y[::3], model.transform(X), y, model.predict(X))
    >>> view.n_components
    2
    """
    Y = np.asarray(embedding, dtype=np.float64)
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    if len(classes) < 2:
        raise rule_error("labels", "hold two classes or more", classes.tolist(), "Add another class.")
    center, matrix, offset, corners = polygon_map(Y, codes)
    Y_test = Y[:0] if test_embedding is None else np.asarray(test_embedding, dtype=np.float64)
    test_codes = _codes("test_labels", test_labels, classes, len(Y_test))
    places = (np.vstack([Y, Y_test]) - center) @ matrix + offset
    if len(classes) == 2:
        places[:, 1], _ = spread_heights(places[:, 0], np.concatenate([codes, test_codes]))
    n, predicted = len(Y), None
    if test_predicted is not None:
        predicted = _codes("test_predicted", test_predicted, classes, len(Y_test))
    parts = (places[:n], codes, places[n:], test_codes, predicted)
    return PolygonView(name, Y.shape[1], classes, corners, *parts)


def polygon_map(Y: Points, codes: NDArray[np.intp]) -> tuple[Points, Points, Points, Points]:
    """The c, A, b of y ↦ (y − c)A + b that brings samples nearest to their classes' corners, and these.

    The corners are those of the classes that occur, ascending.
    """
    present, places = np.unique(codes, return_inverse=True)
    corners = _corners(len(present))
    return *_best_map(Y, corners[places]), corners


def spread_heights(x: Points, codes: NDArray[np.intp]) -> tuple[Points, Points]:
    """Heights that keep the points of a line apart: a band for each class, wide where they are dense.

    Also the middle of every band.
    """
    heights, n_classes = np.empty(len(x)), int(codes.max()) + 1
    middles: Points = BAND * ((n_classes - 1) / 2 - np.arange(n_classes, dtype=np.float64))
    edges = np.linspace(x.min(), x.max() + np.finfo(float).eps, BINS + 1)
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, BINS - 1)
    for code in range(n_classes):
        members = np.flatnonzero(codes == code)
        if not len(members):
            continue
        counts = np.bincount(bins[members], minlength=BINS)
        dense = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
        share = np.sqrt(dense[bins[members]] / dense.max())
        heights[members] = middles[code] + 0.86 * BAND * share * (_halvings(len(members)) - 0.5)
    return heights, middles


def _halvings(n: int) -> Points:
    """The sequence of van der Corput, 1/2, 1/4, 3/4, …: it fills a line evenly at every length."""
    numbers, values, half = np.arange(1, n + 1), np.zeros(n), 0.5
    while numbers.any():
        values += half * (numbers & 1)
        numbers, half = numbers >> 1, half / 2
    return values


def _corners(n_classes: int) -> Points:
    if n_classes == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    turns = np.arange(n_classes) / n_classes
    return np.column_stack([np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)])


def _best_map(Y: Points, targets: Points) -> tuple[Points, Points, Points]:
    """Least squares with intercept; centring keeps it well scaled whatever the units of Y."""
    center, offset = Y.mean(axis=0), targets.mean(axis=0)
    matrix, *_ = np.linalg.lstsq(Y - center, targets - offset, rcond=None)
    return center, matrix, offset


def _codes(
    name: str, labels: ArrayLike | None, classes: NDArray[Any], n_samples: int
) -> NDArray[np.intp]:
    values = classes[:0] if labels is None else np.asarray(labels)
    if len(values) != n_samples:
        cure = f"Pass {n_samples} labels."
        raise rule_error(name, "have one label per test sample", f"{len(values)} labels", cure)
    unknown = np.setdiff1d(values, classes)
    if unknown.size:
        rule, cure = "be labels of training samples", "Leave these samples out."
        raise rule_error(name, rule, unknown.tolist(), cure)
    return np.searchsorted(classes, values)
