"""The between-class graph of the paper: (W_b)_ij = 1 where the labels differ, 0 where they agree.

With class sizes n_c and class indicators E (N × M) its Laplacian has the closed form

    L_b = diag(N − n_c) − 11' + EE',

so that nothing of size N × N is needed to use it. The matrix itself is given for small problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def between_class_laplacian(codes: Ints) -> Floats:
    """L_b = D_b − W_b as a dense matrix; for small N and for looking at it."""
    W_b = (codes[:, np.newaxis] != codes).astype(np.float64)
    return np.diag(W_b.sum(axis=1)) - W_b


def between_class_scatter(
    Y: Floats, codes: Ints, sizes: Floats | None = None, weights: Floats | None = None
) -> float:
    """tr(Y'L_b Y), by the closed form: O(N d).

    ``sizes`` of the classes, where the rows stand for more samples than they are: then those of ``Y``
    are times √w, w = n_c/(rows of c), or the ``weights`` of rows, which add up to these sizes.
    """
    counts = np.bincount(codes) if sizes is None else sizes
    sums = _counted_sums(Y, codes, sizes, weights)
    weighted = (counts.sum() - counts[codes]) @ np.einsum("ij,ij->i", Y, Y)
    total = sums.sum(axis=0)
    return float(weighted - total @ total + np.einsum("ij,ij->", sums, sums))


def contrast_values(sizes: NDArray[Any]) -> Floats:
    """The values g (M × (M − 1)) that G, the orthonormal centred class indicators, has in each class.

    g'diag(n_c)g = I and n'g = 0, so that GG' = E diag(1/n_c) E' − 11'/N: it takes every sample to the
    mean of its class, less the mean of all.
    """
    roots = np.sqrt(sizes)[:, np.newaxis]
    # The complement of √n: the first column of Q.
    Q = np.linalg.qr(roots, mode="complete")[0]
    return np.asarray(Q[:, 1:] / roots)


def class_contrasts(
    Y: Floats, codes: Ints, sizes: Floats | None = None, weights: Floats | None = None
) -> Floats:
    """G'Y; ``sizes`` and ``weights`` as for `between_class_scatter`."""
    sums = _counted_sums(Y, codes, sizes, weights)
    return contrast_values(np.bincount(codes) if sizes is None else sizes).T @ sums


def _counted_sums(Y: Floats, codes: Ints, sizes: Floats | None, weights: Floats | None) -> Floats:
    """Sums over the samples of every class, from rows times √w."""
    if weights is not None:
        return class_sums(Y * np.sqrt(weights)[:, np.newaxis], codes)
    sums = class_sums(Y, codes)
    if sizes is not None:
        sums *= np.sqrt(sizes / np.bincount(codes))[:, np.newaxis]
    return sums


def class_sums(Y: Floats, codes: Ints) -> Floats:
    """E'Y: the sum of the rows of every class."""
    N = len(codes)
    # By columns, one entry in each: nothing is left to sort.
    transposed = sparse.csc_array((np.ones(N), codes, np.arange(N + 1)), shape=(codes.max() + 1, N))
    return np.asarray(transposed @ Y)
