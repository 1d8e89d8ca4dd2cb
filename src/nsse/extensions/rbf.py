"""The RBF map of Eq. (6): f(x) = Σ_i c_i exp(−‖x − z_i‖²/σ²), or ‖A(x − z_i)‖² for a metric A.

Blocks of rows go to our own threads, one of BLAS each, and bound the memory; a few points go to several
threads by panels of centres.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from nsse._errors import rule_error
from nsse._threads import in_parallel, one_blas_thread
from nsse.extensions.blocks import in_blocks
from nsse.extensions.linear import Contraction
from nsse.kernels import KernelRows, Shifted, gaussian, interpolation_coefficients

Floats = NDArray[np.float64]

# Points up to which threads share the centres, not the points.
FEW = 8
# Most centres whose kernel values are computed at a time.
PANEL = 1024
# So many features of a centre take as long as the kernel value of one row.
FEATURES_PER_VALUE = 2


@dataclass(frozen=True)
class GaussianExpansion:
    """A Gaussian RBF expansion, ready to be evaluated at many points."""

    read: Shifted
    coef: Floats
    sigma: float
    metric: Contraction | None = None

    @classmethod
    def at(
        cls,
        centers: Any,
        coef: Floats,
        sigma: float,
        metric: Contraction | None = None,
        parts: tuple[Floats, Floats] | None = None,
    ) -> GaussianExpansion:
        """Prepare f for the given centres, coefficients (N × d), kernel scale and metric.

        ``parts`` are those of the centres in the metric, where they are known.
        """
        read = Shifted.of(centers) if metric is None else _read_in(metric, centers, parts)
        return cls(read, np.ascontiguousarray(coef), sigma, metric)

    @cached_property
    def centers(self) -> Shifted:
        """The centres where distances are Euclidean, Az in a metric, less their mean."""
        if self.metric is None:
            return self.read
        points = self.metric.adjoint_inverse(self.read.points)
        assert self.read.shift is not None
        shift = self.metric(self.read.shift[np.newaxis])[0]
        return Shifted(points, shift, self.read.norms)

    def moved(self, X: Any) -> Any:
        """The rows of ``X`` beside ``centers``: in the metric, by the same shift."""
        return self.centers.moved(X if self.metric is None else self.metric(X))

    def __call__(self, X: Any) -> Floats:
        """f at the rows of ``X``, dense or sparse, in float64."""
        if X.shape[0] <= FEW:
            with one_blas_thread():
                return self._few(X)
        return in_blocks(self._block, X, *self.coef.shape)

    def _few(self, X: Any) -> Floats:
        rows, squares = self._measured(X)
        # The kernel values of one row fit into the cache, and two threads are enough.
        panels = (
            self._panels() if X.shape[0] > 1 else self._shares(2 if len(self.coef) > PANEL // 2 else 1)
        )
        parts = np.empty((len(panels), X.shape[0], self.coef.shape[1]))

        def fill(place: int) -> None:
            parts[place] = self._panel(rows, squares, panels[place])

        work = self.read.points.shape[0] * self.read.points.shape[1]
        in_parallel(fill, range(len(panels)), work // FEATURES_PER_VALUE)
        return _total(parts)

    def _block(self, X: Any) -> Floats:
        rows, squares = self._measured(X)
        return _total(self._panel(rows, squares, panel) for panel in self._panels())

    def _measured(self, X: Any) -> tuple[Any, Floats]:
        """Rows, moved, and their squared lengths in the metric."""
        rows = self.read.moved(X)
        if self.metric is None:
            return rows, row_norms(rows, squared=True)
        return rows, self.metric.squares(rows)

    def _panels(self) -> list[slice]:
        """Equal shares of the centres, an even number of them where there are many."""
        n_centers = len(self.coef)
        return self._shares(2 * -(-n_centers // (2 * PANEL)) if n_centers > PANEL // 2 else 1)

    def _shares(self, number: int) -> list[slice]:
        n_centers = len(self.coef)
        width = -(-n_centers // number)
        return [slice(start, start + width) for start in range(0, n_centers, width)]

    def _panel(self, rows: Any, squares: Floats, panel: slice) -> Floats:
        return self.read.kernel_from_moved(rows, self.sigma, panel, squares) @ self.coef[panel]


def _read_in(metric: Contraction, centers: Any, parts: tuple[Floats, Floats] | None) -> Shifted:
    """A'Az of every centre, moved: (x − m)'A'A(z − m) is a product with x itself, not with Ax."""
    shift = np.asarray(centers.mean(axis=0), dtype=np.float64).ravel()
    near, along = (part - part.mean(axis=0) for part in parts or metric.parts(centers))
    return Shifted(metric.again(near, along), shift, row_norms(near, squared=True))


@dataclass(frozen=True)
class SingleExpansion:
    """The same map in the precision of kernel rows, σ in their units: for the samples of a fit.

    In single precision it takes half the time; a fitted model does not use it.
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
