"""Classical multidimensional scaling of geodesic distances: the second half of Isomap.

B = −½ J G² J with J = I − 11'/N holds the inner products of points at distances G, if there are such
points. Geodesics are seldom Euclidean: B then has negative eigenvalues, along which lengths would be
imaginary. They take no coordinates, and their share of Σ|λ| is handed on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from nsse._threads import one_blas_thread

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaling:
    """All coordinates that exist, with their eigenvalues, descending; share of the negative ones."""

    coordinates: Floats
    eigenvalues: Floats
    negative_share: float


def classical_mds(G: Floats) -> Scaling:
    """Coordinates Y = V √λ of the positive eigenpairs of B, one column each.

    Columns are orthogonal and in the order of their eigenvalues: the first d are the best d.
    """
    B = double_centred(G**2)
    with one_blas_thread():
        values, vectors = eigh(B)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = len(B) * np.finfo(np.float64).eps * np.abs(values).max()
    n_positive = int(np.sum(values > rounding))
    sizes = np.abs(values).sum()
    share = -values[values < 0].sum() / sizes if sizes > 0 else 0.0
    positive = values[:n_positive]
    return Scaling(vectors[:, :n_positive] * np.sqrt(positive), positive, float(share))


def double_centred(G2: Floats) -> Floats:
    """−½ J G2 J, symmetric to the bit."""
    means = G2.mean(axis=0)
    B = -0.5 * (G2 - means - means[:, np.newaxis] + means.mean())
    return 0.5 * (B + B.T)
