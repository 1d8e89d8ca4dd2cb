"""The RBF map of Eq. (6): f(x) = Σ_i c_i exp(−‖x − z_i‖²/σ²).

A point gets the same bits alone, in any batch and in any order: rows are padded to whole tiles (BLAS
sums the rows of a partial tile in another order) and BLAS runs on one thread (a second one cuts the
rows at other places). Blocks of rows go to our own threads instead, and bound the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._threads import in_parallel
from nsse.kernels import Shifted

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
        n_rows = X.shape[0]
        out = np.empty((n_rows, self.coef.shape[1]))
        rows = max(TILE, BLOCK_VALUES // len(self.coef) // TILE * TILE)
        # Two blocks at least, so that two threads have something to do.
        rows = min(rows, _whole_tiles(-(-n_rows // 2)))

        def fill(start: int) -> None:
            block = X[start : start + rows]
            out[start : start + rows] = self._block(block)

        in_parallel(fill, range(0, n_rows, rows), n_rows * len(self.coef))
        return out

    def _block(self, X: Any) -> Floats:
        K = self.centers.squared_distances_from_moved(_padded(self.centers.moved(X)))
        K *= -1.0 / self.sigma**2
        return np.asarray(np.exp(K, out=K) @ self.coef)[: X.shape[0]]


def _whole_tiles(n_rows: int) -> int:
    return max(1, -(-n_rows // TILE)) * TILE


def _padded(X: Any) -> Any:
    """Zero rows up to a whole number of tiles."""
    missing = _whole_tiles(X.shape[0]) - X.shape[0]
    if missing == 0:
        return X
    if isinstance(X, np.ndarray):
        return np.vstack([X, np.zeros((missing, X.shape[1]))])
    return sparse.vstack([X, sparse.csr_array((missing, X.shape[1]))], format="csr")
