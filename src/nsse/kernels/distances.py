"""Squared Euclidean distances, computed once per fit and reused for every σ.

‖x − z‖² is expanded as ‖x‖² + ‖z‖² − 2x'z so that a matrix product does the work. The expansion
loses digits when the data lie far from the origin; dense data are therefore shifted by the mean of
the centres first, which changes no distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from nsse._errors import rule_error

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shifted:
    """Points in float64, moved so that their mean lies at the origin (sparse points stay put)."""

    points: Any
    shift: Floats | None
    norms: Floats

    @classmethod
    def of(cls, X: Any) -> Shifted:
        """Shift ``X`` by its own mean."""
        shift = None if sparse.issparse(X) else np.asarray(np.mean(X, axis=0, dtype=np.float64))
        points = X.astype(np.float64) if shift is None else X - shift
        return cls(points, shift, row_norms(points, squared=True))

    def squared_distances_from(self, X: Any) -> Floats:
        """‖x_i − z_j‖² from the rows of ``X`` to these points, never below zero."""
        rows = X.astype(np.float64) if self.shift is None else _dense(X) - self.shift
        D2 = _dense(rows @ self.points.T)
        D2 *= -2.0
        D2 += row_norms(rows, squared=True)[:, np.newaxis]
        D2 += self.norms
        return np.maximum(D2, 0.0, out=D2)


def squared_distances(X: Any) -> Floats:
    """All ‖x_i − x_j‖² of the rows of ``X``: symmetric, with an exact zero diagonal."""
    shifted = Shifted.of(X)
    D2 = _dense(shifted.points @ shifted.points.T)
    D2 *= -2.0
    D2 += shifted.norms[:, np.newaxis]
    D2 += shifted.norms
    np.maximum(D2, 0.0, out=D2)
    np.fill_diagonal(D2, 0.0)
    return D2


def median_distance(D2: Floats) -> float:
    """Median distance over the pairs of distinct points: our unit of length.

    Pairs at distance zero are left out, so that duplicated samples do not change the unit much and
    never make it zero.
    """
    pairs = np.concatenate([D2[i, :i] for i in range(1, len(D2))])
    # Rounding leaves duplicates at a tiny positive distance; they are still no distance at all.
    pairs = pairs[pairs > 1e-14 * pairs.max(initial=0.0)]
    if pairs.size == 0:
        raise rule_error(
            "X", "contain at least two distinct samples", "samples that are all equal",
            "There is no distance between them from which a kernel could be built.",
        )  # fmt: skip
    return float(np.sqrt(np.median(pairs)))


def _dense(A: Any) -> Floats:
    return np.asarray(A.toarray() if hasattr(A, "toarray") else A)
