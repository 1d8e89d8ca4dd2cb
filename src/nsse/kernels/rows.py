"""Rows of the kernel matrix K(x_i, z_j) between many samples and a fixed set of centres.

Samples come a block at a time, in single or double precision. They are moved by the mean of the centres
and measured in units of length *in double precision*, and only then rounded: what is left to the single
precision are numbers of order one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from nsse._errors import rule_error
from nsse._threads import in_parallel
from nsse.kernels.distances import as_dense, complete_squares
from nsse.kernels.gaussian import fill_gaussian

Floats = NDArray[np.float64]
Rows = NDArray[Any]
Metric = Callable[[Any], Floats]

PANEL = 256  # rows computed at a time
# Coordinates in units of length whose squares, and sums of them, do not overflow.
FARTHEST = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e140}


def precision_of(dtype: Any) -> np.dtype[Any]:
    """Single for float32 and for whole numbers that it holds exactly (bytes), double for all others."""
    single = np.result_type(dtype, np.float32) == np.float32
    return np.dtype(np.float32 if single else np.float64)


@dataclass(frozen=True)
class KernelRows:
    """Centres, ready for distances and kernel values from blocks of samples.

    Attributes
    ----------
    points : ndarray or csr of shape (m, n)
        Centres, moved and in units of length.
    shift : ndarray of shape (n,) or None
        What the samples are moved by; sparse ones stay put.
    norms : ndarray of shape (m,)
        Squared lengths of ``points``.
    unit : float
        The unit of length, in the units of the samples.
    metric : callable or None
        What samples go through before they are moved, where distances are not Euclidean.
    """

    points: Any
    shift: Floats | None
    norms: Rows
    unit: float
    metric: Metric | None = None

    @classmethod
    def at(cls, centers: Any, unit: float, precision: Any, metric: Metric | None = None) -> KernelRows:
        """Prepare centres, which are in the metric already, for blocks in a precision."""
        dense = not sparse.issparse(centers)
        shift = np.asarray(np.mean(centers, axis=0, dtype=np.float64)) if dense else None
        points = _measured(centers, shift, unit, precision)
        return cls(points, shift, row_norms(points, squared=True), unit, metric)

    @property
    def n_centers(self) -> int:
        """m."""
        return int(self.points.shape[0])

    @property
    def precision(self) -> np.dtype[Any]:
        """Of all that is computed here."""
        return np.dtype(self.points.dtype)

    def measured(self, X: Any) -> Any:
        """Samples moved and in units of length, as the centres are."""
        near = X if self.metric is None else self.metric(X)
        return _measured(near, self.shift, self.unit, self.precision)

    def squared_distances(self, rows: Any) -> Rows:
        """‖x_i − z_j‖² from `measured` rows, in squared units of length."""
        return squared_distances_between(rows, self.points, self.norms)

    def kernel(self, rows: Any, sigma: float) -> Rows:
        """K(x_i, z_j) = exp(−‖x_i − z_j‖²/σ²) from `measured` rows; σ in units of length."""
        K = np.empty((rows.shape[0], self.n_centers), dtype=self.precision)

        def fill(start: int) -> None:
            self.fill_kernel(rows[start : start + PANEL], sigma, K[start : start + PANEL])

        in_parallel(fill, range(0, len(K), PANEL), K.size)
        return K

    def fill_kernel(self, rows: Any, sigma: float, K: Rows) -> None:
        """The same of a few rows, written to ``K``, on this thread."""
        if isinstance(rows, np.ndarray):
            np.matmul(rows, self.points.T, out=K)
        else:
            K[:] = as_dense(rows @ self.points.T)
        complete_squares(K, row_norms(rows, squared=True), self.norms)
        fill_gaussian(K, sigma, K)


def squared_distances_between(A: Any, B: Any, norms_of_B: Rows | None = None) -> Rows:
    """‖a_i − b_j‖² between the rows of two matrices, in their precision, never below zero."""
    b = row_norms(B, squared=True) if norms_of_B is None else norms_of_B
    return complete_squares(as_dense(A @ B.T), row_norms(A, squared=True), b)


def _measured(X: Any, shift: Floats | None, unit: float, precision: Any) -> Any:
    if shift is not None:
        rows = as_dense(X)
        out = np.empty(rows.shape, dtype=precision)

        def fill(start: int) -> None:
            panel = slice(start, start + PANEL)
            moved = np.subtract(rows[panel], shift, dtype=np.float64)
            moved /= unit
            _check_squarable(moved, precision)
            out[panel] = moved

        in_parallel(fill, range(0, len(out), PANEL), out.size)
        return out
    # Not in place: the conversion may share its values with X.
    measured: Any = sparse.csr_array(X, dtype=np.float64) / unit
    _check_squarable(measured.data, precision)
    return measured.astype(precision)


def _check_squarable(values: Floats, precision: Any) -> None:
    """Refuse samples so far out that their squared length overflows, and with it every distance."""
    most = FARTHEST[np.dtype(precision)]
    if values.size and not max(values.max(), -values.min()) <= most:
        raise rule_error(
            "X",
            f"have samples no more than {most:.0e} units of length from the centres",
            f"one at {np.abs(values).max():.3g}",
            "Leave it out, or rescale the features, by their logarithms for instance.",
        )
