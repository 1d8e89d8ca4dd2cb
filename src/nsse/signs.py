"""The one sign rule: coordinates come with an arbitrary sign; ours never do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Class means within this share of the largest count as large: two equal ones of opposite sign, as those
# of two balanced classes, must not let rounding decide.
LARGE = 0.9
# Class means below this share of the largest entry vanish.
VANISHING = 1e-3


def signs_of(class_means: Floats) -> Floats:
    """+1 or −1 for every column of class means: the first class that lies far out is positive."""
    size = np.abs(class_means)
    first = np.argmax(size >= LARGE * size.max(axis=0), axis=0)
    return np.where(class_means[first, np.arange(class_means.shape[1])] < 0, -1.0, 1.0)


def row_signs(Y: Floats, codes: NDArray[np.intp]) -> Floats:
    """+1 or −1 for every column of coordinates of rows: `signs_of` their class means.

    Where all class means vanish, the sum of the largest entries is positive. The order of rows is
    ignored.
    """
    sizes = np.bincount(codes)
    sums = np.zeros((len(sizes), Y.shape[1]))
    np.add.at(sums, codes, Y)
    means = sums / sizes[:, np.newaxis]
    size = np.abs(Y)
    far_out = np.where(size >= LARGE * size.max(axis=0), Y, 0.0).sum(axis=0)
    vanish = np.abs(means).max(axis=0) <= VANISHING * size.max(axis=0)
    return np.where(vanish, np.where(far_out < 0, -1.0, 1.0), signs_of(means))
