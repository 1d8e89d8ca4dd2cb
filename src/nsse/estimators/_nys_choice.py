"""Which kernel scale and dimension NYS takes where they are left to the data.

No scale and no number of coordinates serves everywhere: objects want fewer coordinates than classes,
faces under changing light as many as there are. Training samples are held out, embedded by the Nyström
formula from the others, and named by their nearest neighbour; the fewest mistakes win. Departs from
Bengio et al. (2004), who leave both to the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nsse.extensions import nearest_labels, nystrom_coefficients, nystrom_existing, nystrom_values
from nsse.graphs import degrees
from nsse.kernels import gaussian
from nsse.solvers import normalized_eigenmap

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Kernel scales that are tried, in units of length.
SIGMAS = (1.0, 3.0)
# Dimensions that are tried, in numbers of classes, beside n_classes − 1 and all there are.
MULTIPLES = (0.5, 2, 4, 8)
FOLDS = 3
# Of more samples every second, third, … is looked at: every eigenmap of the choice is a complete one.
MOST = 1000


def dimensions_tried(n_samples: int, n_classes: int) -> list[int]:
    """From half the number of classes to N − 1, ascending."""
    wanted = [n_classes - 1, *(round(multiple * n_classes) for multiple in MULTIPLES)]
    return sorted({min(max(1, d), n_samples - 1) for d in [*wanted, n_samples - 1]})


def held_out_choice(
    D2: Floats, codes: Ints, sigmas: Sequence[float], dimensions: Sequence[int]
) -> tuple[float, int]:
    """σ and d with the fewest mistakes on held-out samples; of equal ones the smallest d.

    Parameters
    ----------
    D2 : ndarray of shape (N, N)
        Squared distances between training samples, in squared units of length.
    codes : ndarray of shape (N,)
        Labels.
    sigmas, dimensions : sequences
        What is tried. Several dimensions stand for shares of the coordinates: of fewer samples as many
        fewer are taken.
    """
    mistakes = np.zeros((len(dimensions), len(sigmas)))
    for train, held in _folds(D2, codes):
        share = len(train) / len(codes) if len(dimensions) > 1 else 1.0
        cuts = [min(max(1, round(share * d)), len(train) - 1) for d in dimensions]
        for column, sigma in enumerate(sigmas):
            K, K_held = (gaussian(D2[np.ix_(rows, train)], sigma) for rows in (train, held))
            mistakes[:, column] += _mistakes(K, K_held, codes[train], codes[held], cuts)
    best = int(np.argmin(mistakes))
    return sigmas[best % len(sigmas)], dimensions[best // len(sigmas)]


def _folds(D2: Floats, codes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Samples to embed and samples to hold out, a third of every class in turn.

    By their places from the rim to the middle of the samples, so that their order does not matter.
    """
    order = np.lexsort((gaussian(D2, 1.0).sum(axis=1), codes))
    order = order[:: -(-len(order) // MOST)]
    first = np.searchsorted(codes[order], codes[order])
    fold = (np.arange(len(order)) - first) % FOLDS
    for held in range(FOLDS):
        train, others = order[fold != held], order[fold == held]
        if len(train) > 1 and len(others):
            yield train, others


def _mistakes(K: Floats, K_held: Floats, y: Ints, y_held: Ints, dimensions: Sequence[int]) -> list[int]:
    """Wrong labels of the held-out samples in each dimension, from one eigenmap."""
    n = len(y)
    solution = normalized_eigenmap(K, max(dimensions))
    eigenvalues = n * (1.0 - solution.eigenvalues)
    existing = nystrom_existing(eigenvalues, n)
    Y = solution.vectors[:, :existing]
    Z = nystrom_values(K_held, nystrom_coefficients(Y, eigenvalues[:existing], degrees(K) / n))
    return [int(np.sum(nearest_labels(Y[:, :d], y, Z[:, :d]) != y_held)) for d in dimensions]
