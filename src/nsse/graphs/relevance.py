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


def feature_weights(X: Any, codes: Ints, relevance: float, counts: Floats | None = None) -> Floats:
    """w of every feature of samples, dense or sparse; 1 each where nothing can be said.

    ``counts`` say how many times every sample counts.
    """
    n_samples, n_features = X.shape
    shares = np.zeros(n_features)
    n_counted = n_samples if counts is None else float(counts.sum())
    if relevance > 0 and n_counted > len(np.unique(codes)):
        width = max(1, BLOCK_VALUES // n_samples)
        for start in range(0, n_features, width):
            block: Any = X[:, start : start + width]
            dense = block.toarray() if hasattr(block, "toarray") else block
            shares[start : start + width] = _shares(np.asarray(dense, dtype=np.float64), codes, counts)
    largest = shares.max(initial=0.0)
    if largest <= 0.0:
        return np.ones(n_features)
    return np.asarray(np.maximum(np.sqrt(shares / largest), LEAST) ** relevance)


def _shares(X: Floats, codes: Ints, counts: Floats | None) -> Floats:
    """The larger share of every column, not below 0."""
    deviations = X - (np.median(X, axis=0) if counts is None else counted_medians(X, counts))
    unit = np.max(np.abs(deviations), axis=0)  # so that squares neither overflow nor underflow
    deviations /= np.where(unit > 0, unit, 1.0)
    both = [between_share(values, codes, counts) for values in (deviations, np.abs(deviations))]
    return np.maximum(np.maximum(*both), 0.0)


def counted_medians(X: Floats, counts: Floats) -> Floats:
    """The median of every column, whose values count as often as ``counts`` says.

    Where exactly half of the weight lies up to a value, the middle between it and the next one.
    """
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    reached, half = np.cumsum(counts[order], axis=0), counts.sum() / 2.0
    near = 1e-12 * half
    place = (reached < half - near).sum(axis=0)
    columns = np.arange(X.shape[1])
    following = np.minimum(place + 1, len(X) - 1)
    between = np.abs(reached[place, columns] - half) <= near
    low = values[place, columns]
    return np.asarray(np.where(between, (low + values[following, columns]) / 2.0, low))


def between_share(X: Floats, codes: Ints, counts: Floats | None = None) -> Floats:
    """r of every column; 0 for one that is constant."""
    classes, places = np.unique(codes, return_inverse=True)
    n_classes, E = len(classes), np.eye(len(classes))[places]
    # Σ (x − mean of its class)² = Σ (x − mean)² − Σ n_c (mean of c − mean)²: nothing of the size of X
    # more than x − mean, from which all sums are taken, so that r keeps its digits.
    if counts is None:
        n_samples: float = len(X)
        centred = X - X.mean(axis=0)
        total = np.einsum("ij,ij->j", centred, centred)
    else:
        n_samples, E = float(counts.sum()), E * counts[:, np.newaxis]
        centred = X - counts @ X / n_samples
        total = counts @ centred**2
    within = total - ((E.T @ centred) ** 2 / E.sum(axis=0)[:, np.newaxis]).sum(axis=0)
    within, total = within / (n_samples - n_classes), total / (n_samples - 1)
    # What rounding leaves of a constant column is no variance.
    varies = total > np.finfo(np.float64).eps ** 2 * n_samples
    return np.where(varies, 1.0 - within / np.where(varies, total, 1.0), 0.0)
