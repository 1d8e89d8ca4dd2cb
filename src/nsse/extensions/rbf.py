"""The RBF map of Eq. (6): f(x) = Σ_i c_i exp(−‖x − z_i‖²/σ²).

A point gets the same bits alone, in any batch and in any order: `row_products` see to that, and BLAS
runs on one thread (a second one cuts the rows at other places). Blocks of rows go to our own threads
instead, and bound the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse._threads import in_parallel, one_blas_thread
from nsse.kernels import KernelRows, Shifted, gaussian, interpolation_coefficients, row_products
from nsse.kernels.products import TILE

Floats = NDArray[np.float64]

# Most centres whose kernel values are computed at a time.
PANEL = 1024
# So many features of a centre take as long as the kernel value of one row.
FEATURES_PER_VALUE = 2
# Kernel values in flight per block: 32 MB.
BLOCK_VALUES = 4_000_000


@dataclass(frozen=True)
class GaussianExpansion:
    """A Gaussian RBF expansion, ready to be evaluated at many points.

    It is a sum over panels of centres, always the same ones: a few points go to several threads by
    panels, many by blocks of rows, and the bits are the same.
    """

    centers: Shifted
    coef: Floats
    sigma: float

    @classmethod
    def at(cls, centers: Any, coef: Floats, sigma: float) -> GaussianExpansion:
        """Prepare f for the given centres, coefficients (N × d) and kernel scale."""
        return cls(Shifted.of(centers).by_columns(), np.ascontiguousarray(coef), sigma)

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, in float64."""
        if X.shape[0] <= TILE:
            return self._few(X)
        return in_blocks(self._block, X, *self.coef.shape)

    def _few(self, X: Any) -> Floats:
        rows = self.centers.moved(X)
        panels = self._panels()
        parts = np.empty((len(panels), X.shape[0], self.coef.shape[1]))

        def fill(place: int) -> None:
            parts[place] = self._panel(rows, panels[place])

        work = self.centers.points.shape[0] * self.centers.points.shape[1]
        in_parallel(fill, range(len(panels)), work // FEATURES_PER_VALUE)
        return _total(parts)

    def _block(self, X: Any) -> Floats:
        rows = self.centers.moved(X)
        return _total(self._panel(rows, panel) for panel in self._panels())

    def _panels(self) -> list[slice]:
        """Equal shares of the centres, an even number of them where there are many."""
        n_centers = len(self.coef)
        n_panels = 2 * -(-n_centers // (2 * PANEL)) if n_centers > PANEL // 2 else 1
        width = -(-n_centers // n_panels)
        return [slice(start, start + width) for start in range(0, n_centers, width)]

    def _panel(self, rows: Any, panel: slice) -> Floats:
        return row_products(self.centers.kernel_from_moved(rows, self.sigma, panel), self.coef[panel])


@dataclass(frozen=True)
class SingleExpansion:
    """The same map in the precision of kernel rows, σ in their units: for the samples of a fit.

    In single precision it takes half the time. BLAS then gives a row other bits at other places of a
    batch, so that a fitted model does not use it.
    """

    kernel: KernelRows
    coef: Floats
    sigma: float

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, as float64."""
        return in_blocks(self._block, X, *self.coef.shape)

    def _block(self, X: Any) -> Floats:
        rows = self.kernel.measured(X)
        K = np.empty((rows.shape[0], self.kernel.n_centers), dtype=self.kernel.precision)
        self.kernel.fill_kernel(rows, self.sigma, K)
        return np.asarray(K @ self.coef.astype(K.dtype), dtype=np.float64)


def interpolate(D2: Floats, Y: Floats, sigma: float, ridge: float) -> Floats:
    """Coefficients of the f that takes the values ``Y`` at its centres, Eq. (7).

    ``D2`` holds the squared distances of the centres, ``sigma`` is in its units.
    """
    return kernel_ridge(gaussian(D2, sigma), Y, ridge, "ridge")


def kernel_ridge(K: Floats, Y: Floats, ridge: float, name: str = "alpha") -> Floats:
    """C = (Ψ + ρI)⁻¹Y, which minimises ‖Y − ΨC‖² + ρ tr(C'ΨC); ``K`` is used up.

    With a vanishing ridge it interpolates; ``name`` is what the user calls it.
    """
    with one_blas_thread():
        C = interpolation_coefficients(K, Y, ridge)
    if np.all(np.isfinite(C)):
        return C
    rule = "be large enough for the kernel matrix to be invertible in floating point"
    raise rule_error(name, rule, ridge, "Raise it, 1e-10 suffices for most data, or lower `sigma`.")


def _total(parts: Iterable[Floats]) -> Floats:
    """Their sum, from the first to the last."""
    whole: Any = 0.0
    for part in parts:
        whole = whole + part
    return np.asarray(whole)


def in_blocks(
    evaluate: Callable[[Any], Floats], X: Any, n_centers: int, n_components: int, cost: float = 1.0
) -> Floats:
    """A map at the rows of ``X``, a block of rows at a time.

    ``cost`` is that of one row and centre, in units of a kernel value.
    """
    n_rows = X.shape[0]
    out = np.empty((n_rows, n_components))
    rows = max(TILE, BLOCK_VALUES // n_centers // TILE * TILE)
    # Two blocks at least, so that two threads have something to do.
    rows = min(rows, -(-n_rows // (2 * TILE)) * TILE)

    def fill(start: int) -> None:
        out[start : start + rows] = evaluate(X[start : start + rows])

    in_parallel(fill, range(0, n_rows, rows), int(n_rows * n_centers * cost))
    return out
