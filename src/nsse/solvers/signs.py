"""The one sign rule. Eigenvectors come with an arbitrary sign; ours never do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsse.graphs.between_class import class_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Candidates within this share of the largest are ties; the first of them decides. Without it, the
# sign of two equally large entries of opposite sign (two balanced classes) would hang on rounding.
TIE = 0.9


def fix_signs(Y: Floats, codes: Ints) -> Floats:
    """Sign (+1 or −1) for every column of ``Y``.

    The first class, in the order of the codes, whose mean is among the largest in magnitude gets a
    positive mean. A column whose class means all vanish is decided by its largest entry instead.
    """
    counts = np.bincount(codes)
    means = class_sums(Y, codes) / counts[:, np.newaxis]
    spread = np.abs(Y).max(axis=0)
    by_class = np.abs(means).max(axis=0) > 1e-3 * spread
    signs = np.where(by_class, _sign_of_first_large(means), _sign_of_first_large(Y))
    return signs


def _sign_of_first_large(A: Floats) -> Floats:
    large = np.abs(A) >= TIE * np.abs(A).max(axis=0)
    first = np.argmax(large, axis=0)
    values = A[first, np.arange(A.shape[1])]
    return np.where(values < 0, -1.0, 1.0)
