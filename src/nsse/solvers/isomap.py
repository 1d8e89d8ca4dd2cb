"""Classical multidimensional scaling of geodesic distances: the second half of Isomap.

B = −½ J G² J with J = I − 11'/N holds the inner products of points at distances G, if there are such
points. Geodesics are seldom Euclidean: B then has negative eigenvalues, along which lengths would be
imaginary. They take no coordinates, and their share of Σ|λ| is handed on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from nsse._threads import one_blas_thread
from nsse.solvers.eigenmap import RESOLUTION, lanczos, worth_lanczos

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaling:
    """The leading coordinates; all positive eigenvalues, descending; the share of the negative ones."""

    coordinates: Floats
    eigenvalues: Floats
    negative_share: float


def classical_mds(G: Floats, n_components: int | None = None) -> Scaling:
    """Coordinates Y = V √λ of the positive eigenpairs of B, one column each.

    Columns are orthogonal and in the order of their eigenvalues: the first d are the best d. There are
    ``n_components`` of them, or as many as there are positive eigenvalues; None means all.
    """
    B = double_centred(G**2)
    with one_blas_thread():
        values, vectors = _eigenpairs(B, len(B) if n_components is None else n_components)
    rounding = len(B) * np.finfo(np.float64).eps * np.abs(values).max()
    positive = values[values > rounding]
    sizes = np.abs(values).sum()
    share = np.abs(values[values < 0]).sum() / sizes if sizes > 0 else 0.0
    d = min(vectors.shape[1], len(positive))
    return Scaling(vectors[:, :d] * np.sqrt(positive[:d]), positive, float(share))


def _eigenpairs(B: Floats, d: int) -> tuple[Floats, Floats]:
    """All eigenvalues, descending, and the eigenvectors of the first d.

    The eigenvalues alone take a fraction of the time, and tell whether Lanczos has missed one.
    """
    if not worth_lanczos(len(B), d):
        values, vectors = eigh(B)
        return values[::-1], vectors[:, ::-1][:, :d]
    values = np.asarray(eigvalsh(B), dtype=np.float64)
    found = lanczos(B, d, "LA", None)
    if found is None or np.abs(found[0] - values[-d:]).max() > RESOLUTION * np.abs(values).max():
        found = eigh(B, subset_by_index=(len(B) - d, len(B) - 1))
    return values[::-1], found[1][:, ::-1]


def double_centred(G2: Floats) -> Floats:
    """−½ J G2 J, symmetric to the bit."""
    means = G2.mean(axis=0)
    B = -0.5 * (G2 - means - means[:, np.newaxis] + means.mean())
    return 0.5 * (B + B.T)
