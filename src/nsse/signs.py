"""The one sign rule: coordinates come with an arbitrary sign; ours never do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Class means within this share of the largest count as large: two equal ones of opposite sign, as those
# of two balanced classes, must not let rounding decide.
LARGE = 0.9


def signs_of(class_means: Floats) -> Floats:
    """+1 or −1 for every column of class means: the first class that lies far out is positive."""
    size = np.abs(class_means)
    first = np.argmax(size >= LARGE * size.max(axis=0), axis=0)
    return np.where(class_means[first, np.arange(class_means.shape[1])] < 0, -1.0, 1.0)
