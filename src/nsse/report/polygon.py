"""What a figure shows: samples in a plane, the classes at the corners of a polygon (`nsse.planes`).

Two corners span a line, on which points would hide each other. Of two classes the line runs across, and
heights, which mean nothing then, keep points apart: each class has a band of its own, as wide as its
points are dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.types import Floats, Ints

# Of the heights of a line: bins in which points are counted, and how high the band of a class is.
BINS, BAND = 48, 0.8


@dataclass(frozen=True, eq=False)
class PolygonView:
    """The frame of a figure: every sample in the plane, with its label.

    Attributes
    ----------
    name : str
        Whose predictions these are.
    n_components : int
        Dimension of the embedding.
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    corners : ndarray of shape (n_classes, 2)
        Corner of every class; of two, left and right.
    sharpness : float
        Power to which probabilities are raised.
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
    >>> view = polygon_view(SmoothEmbedding().fit(X[::3], y[::3]), X, y)
    >>> view.corners.shape, view.test.shape
    ((3, 2), (150, 2))
    """

    name: str
    n_components: int
    classes: NDArray[Any]
    corners: Floats
    sharpness: float
    train: Floats
    train_codes: Ints
    test: Floats
    test_codes: Ints
    predicted_codes: Ints | None

    @property
    def is_line(self) -> bool:
        """Whether only places across mean something: two classes."""
        return len(self.classes) == 2

    @property
    def wrong(self) -> Ints:
        """Indices of the test samples whose prediction is not their label."""
        if self.predicted_codes is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(self.predicted_codes != self.test_codes)


def spread_heights(x: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Heights that keep the points of a line apart: a band for each class, wide where they are dense.

    Also the middle of every band.
    """
    heights, n_classes = np.empty(len(x)), int(codes.max()) + 1
    middles: Floats = BAND * ((n_classes - 1) / 2 - np.arange(n_classes, dtype=np.float64))
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


def _halvings(n: int) -> Floats:
    """The sequence of van der Corput, 1/2, 1/4, 3/4, …: it fills a line evenly at every length."""
    numbers, values, half = np.arange(1, n + 1), np.zeros(n), 0.5
    while numbers.any():
        values += half * (numbers & 1)
        numbers, half = numbers >> 1, half / 2
    return values
