"""The RBF map of Eq. (6): f(x) = Σ_i c_i exp(−‖x − z_i‖²/σ²).

A point gets the same bits alone, in any batch and in any order: rows are padded to whole tiles (BLAS
sums the rows of a partial tile in another order) and BLAS runs on one thread (a second one cuts the
rows at other places). Blocks of rows go to our own threads instead, and bound the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._errors import rule_error
from nsse._threads import in_parallel, one_blas_thread
from nsse.kernels import KernelRows, Shifted, gaussian, interpolation_coefficients

Floats = NDArray[np.float64]

TILE = 16
# Kernel values in flight per block: 32 MB.
BLOCK_VALUES = 4_000_000


@dataclass(frozen=True)
class GaussianExpansion:
    """A Gaussian RBF expansion, ready to be evaluated at many points."""

    centers: Shifted
    coef: Floats
    sigma: float

    @classmethod
    def at(cls, centers: Any, coef: Floats, sigma: float) -> GaussianExpansion:
        """Prepare f for the given centres, coefficients (N × d) and kernel scale."""
        return cls(Shifted.of(centers), np.ascontiguousarray(coef), sigma)

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, in float64."""
        return in_blocks(self._block, X, *self.coef.shape)

    def _block(self, X: Any) -> Floats:
        K = padded_squared_distances(self.centers, X)
        K *= -1.0 / self.sigma**2
        return np.asarray(np.exp(K, out=K) @ self.coef)


@dataclass(frozen=True)
class CenterExpansion:
    """The same map for a model with centres, in the precision of its kernel rows; σ in their units.

    In single precision it is faster and less accurate: ``benchmarks/throughput.py`` measures both. A
    point has the same bits alone and in any batch here too.
    """

    kernel: KernelRows
    coef: Floats
    sigma: float

    @classmethod
    def at(
        cls, centers: Any, coef: Floats, sigma: float, unit: float, precision: Any
    ) -> CenterExpansion:
        """Prepare f; here σ is in the units of the samples, of which the unit of length is so many."""
        return cls(KernelRows.at(centers, unit, precision), coef, sigma / unit)

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, as float64."""
        return in_blocks(self._block, X, *self.coef.shape)

    def _block(self, X: Any) -> Floats:
        K = self.kernel.squared_distances(_padded(self.kernel.measured(X)))
        K *= -1.0 / self.sigma**2
        return np.asarray(np.exp(K, out=K) @ self.coef.astype(K.dtype), dtype=np.float64)


def interpolate(D2: Floats, Y: Floats, sigma: float, ridge: float) -> Floats:
    """Coefficients of the f that takes the values ``Y`` at its centres, Eq. (7): C = (Ψ + ρI)⁻¹Y.

    ``D2`` holds the squared distances of the centres, ``sigma`` is in its units.
    """
    with one_blas_thread():
        C = interpolation_coefficients(gaussian(D2, sigma), Y, ridge)
    if np.all(np.isfinite(C)):
        return C
    raise rule_error(
        "ridge", "be large enough for the kernel matrix to be invertible in floating point", ridge,
        "Raise it, 1e-10 suffices for most data, or lower `sigma`.",
    )  # fmt: skip


def in_blocks(evaluate: Callable[[Any], Floats], X: Any, n_centers: int, n_components: int) -> Floats:
    """A map at the rows of ``X``, a block of rows at a time; rows that ``evaluate`` pads are cut off."""
    n_rows = X.shape[0]
    out = np.empty((n_rows, n_components))
    rows = max(TILE, BLOCK_VALUES // n_centers // TILE * TILE)
    # Two blocks at least, so that two threads have something to do.
    rows = min(rows, _whole_tiles(-(-n_rows // 2)))

    def fill(start: int) -> None:
        block = X[start : start + rows]
        out[start : start + rows] = evaluate(block)[: block.shape[0]]

    in_parallel(fill, range(0, n_rows, rows), n_rows * n_centers)
    return out


def padded_squared_distances(centers: Shifted, X: Any) -> Floats:
    """‖x_i − z_j‖² from the rows of ``X`` and from zero rows up to a whole number of tiles."""
    return centers.squared_distances_from_moved(_padded(centers.moved(X)))


def _whole_tiles(n_rows: int) -> int:
    return max(1, -(-n_rows // TILE)) * TILE


def _padded(X: Any) -> Any:
    """Zero rows up to a whole number of tiles."""
    missing = _whole_tiles(X.shape[0]) - X.shape[0]
    if missing == 0:
        return X
    if isinstance(X, np.ndarray):
        return np.vstack([X, np.zeros((missing, X.shape[1]), dtype=X.dtype)])
    return sparse.vstack([X, sparse.csr_array((missing, X.shape[1]), dtype=X.dtype)], format="csr")
