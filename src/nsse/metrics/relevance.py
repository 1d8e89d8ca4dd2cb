"""Compute weights of features from how much of their variance lies between classes.

The share of the variance of a feature that lies between the M classes is

    r = 1 − [within/(N − M)] / [total/(N − 1)],

which is the adjusted η² of an analysis of variance. The same share is computed for the squared distance
of the feature from its mean, unless ``spreads`` is False. Let r_j be the larger of the two shares of
feature j, or 0 if both are negative. The weight of the feature is

    weight_j = max(√(r_j / max r), 1/20)^relevance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Factor of a feature that does not separate the classes alone, but perhaps together with others.
LEAST_WEIGHT = 0.05
# Deviations from the mean, as a share of it, and variances of their squares, as a share of fourth
# powers, that are rounding.
CONSTANT, CONSTANT_SPREAD = 1e-14, 1e-8


def feature_weights(X: Floats, codes: Ints, weight: Floats, relevance: float, spreads: bool) -> Floats:
    """Return the factor of every feature for rows of order one, or 1 if it is undetermined."""
    n_classes, N = int(codes.max()) + 1, float(weight.sum())
    if relevance == 0.0 or n_classes < 2 or n_classes >= N:
        return np.ones(X.shape[1])
    E = np.zeros((n_classes, len(codes)))
    E[codes, np.arange(len(codes))] = weight
    mean, sizes = weight @ X / N, E.sum(axis=1)[:, np.newaxis]
    powers = X - mean
    first = E @ powers
    np.square(powers, out=powers)
    second = E @ powers
    variance = second.sum(axis=0) / N
    # The variance of a constant column is a rounding error.
    shares = np.maximum(_between_share(first, variance, sizes, (CONSTANT * mean) ** 2), 0.0)
    if spreads:
        fourth = weight @ np.square(powers, out=powers) / N
        least = CONSTANT_SPREAD * fourth
        second -= sizes * variance
        shares = np.maximum(shares, _between_share(second, fourth - variance**2, sizes, least))
    most = float(shares.max(initial=0.0))
    if most <= 0.0:
        return np.ones(X.shape[1])
    return np.maximum(np.sqrt(shares / most), LEAST_WEIGHT) ** relevance


def _between_share(sums: Floats, variance: Floats, sizes: Floats, least: Floats) -> Floats:
    """Return r of every centered column from its sums over classes, or 0 if it is constant."""
    N, n_classes = float(sizes.sum()), len(sizes)
    between = (np.square(sums) / sizes).sum(axis=0)
    varies = variance > least
    total = np.where(varies, variance, 1.0) * N
    return np.where(varies, 1.0 - (total - between) / (N - n_classes) * (N - 1) / total, 0.0)
