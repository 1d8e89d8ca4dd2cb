"""The one sign rule. Eigenvectors come with an arbitrary sign; ours never do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsse.graphs.between_class import class_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Values within this share of the largest are ties. Without it, the sign of two equally large values of
# opposite sign (two balanced classes) would hang on rounding.
TIE = 0.9


def fix_signs(Y: Floats, codes: Ints, weights: Floats | None = None) -> Floats:
    """Sign (+1 or −1) for every column of ``Y``, whatever the order of the samples.

    The first class, in the order of the codes, whose mean is among the largest in magnitude gets a
    positive mean. A column whose class means all vanish is decided by the sum of its largest entries.
    ``weights`` say how many times every sample counts.
    """
    counted = Y if weights is None else Y * weights[:, np.newaxis]
    means = class_sums(counted, codes) / np.bincount(codes, weights)[:, np.newaxis]
    by_class = np.abs(means).max(axis=0) > 1e-3 * np.abs(Y).max(axis=0)
    return np.where(by_class, _sign(_first_large(means)), _sign(_sum_of_large(Y)))


def _large(A: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(A) >= TIE * np.abs(A).max(axis=0))


def _first_large(A: Floats) -> Floats:
    return A[np.argmax(_large(A), axis=0), np.arange(A.shape[1])]


def _sum_of_large(A: Floats) -> Floats:
    return np.where(_large(A), A, 0.0).sum(axis=0)


def _sign(values: Floats) -> Floats:
    return np.where(values < 0, -1.0, 1.0)
