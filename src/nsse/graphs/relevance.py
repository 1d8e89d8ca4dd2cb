"""How much each feature has to do with the classes: weights that make distances short along the others.

Of the variance of a feature, and of its deviation from the median, this share lies between classes:

    r = 1 − [Σ (x_i − mean of its class)²/(N − M)] / [Σ (x_i − mean)²/(N − 1)],

at most 1 and, where it is chance, as often below 0 as above: the adjusted η² of an analysis of variance.
The first sees classes that differ in their means, the second those that differ in their spread. With r_j
the larger of the two, not below 0, and r_1 the largest of all features,

    w_j = max(√(r_j/r_1), 1/20)^relevance:

no feature is lost, none gets longer, and units drop out. See ``docs/derivation.md``, section 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# What is left of a feature that says nothing: it may say something together with others.
LEAST = 0.05
# Values of a block of columns: 64 MB.
BLOCK_VALUES = 8_000_000


def feature_weights(X: Any, codes: Ints, relevance: float) -> Floats:
    """w of every feature of samples, dense or sparse; 1 each where nothing can be said."""
    n_samples, n_features = X.shape
    shares = np.zeros(n_features)
    if relevance > 0 and n_samples > len(np.unique(codes)):
        width = max(1, BLOCK_VALUES // n_samples)
        for start in range(0, n_features, width):
            block: Any = X[:, start : start + width]
            dense = block.toarray() if hasattr(block, "toarray") else block
            shares[start : start + width] = _shares(np.asarray(dense, dtype=np.float64), codes)
    largest = shares.max(initial=0.0)
    if largest <= 0.0:
        return np.ones(n_features)
    return np.asarray(np.maximum(np.sqrt(shares / largest), LEAST) ** relevance)


def _shares(X: Floats, codes: Ints) -> Floats:
    """The larger share of every column, not below 0."""
    deviations = X - np.median(X, axis=0)
    unit = np.max(np.abs(deviations), axis=0)  # so that squares neither overflow nor underflow
    deviations /= np.where(unit > 0, unit, 1.0)
    both = [between_share(values, codes) for values in (deviations, np.abs(deviations))]
    return np.maximum(np.maximum(*both), 0.0)


def between_share(X: Floats, codes: Ints) -> Floats:
    """r of every column; 0 for one that is constant."""
    classes, places = np.unique(codes, return_inverse=True)
    n_samples, n_classes = len(X), len(classes)
    E = np.eye(n_classes)[places]
    means = (E.T @ X) / E.sum(axis=0)[:, np.newaxis]
    within = np.sum((X - means[places]) ** 2, axis=0) / (n_samples - n_classes)
    total = np.sum((X - X.mean(axis=0)) ** 2, axis=0) / (n_samples - 1)
    # What rounding leaves of a constant column is no variance.
    varies = total > np.finfo(np.float64).eps ** 2 * n_samples
    return np.where(varies, 1.0 - within / np.where(varies, total, 1.0), 0.0)
