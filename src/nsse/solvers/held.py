"""The kernel matrix at one σ, held whole: products with it, and B = K'K, which is never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.linalg.blas import dsyrk

from nsse._threads import in_parallel

if TYPE_CHECKING:
    from nsse.solvers.factors import Factor

Floats = NDArray[np.float64]

PANEL = 512
MAX_BLOCKS = 12
# A space of fewer blocks seldom converges, and a full solve of so few centres takes no longer.
LEAST_BLOCKS = 4


@dataclass(frozen=True)
class HeldKernel:
    """K (rows × centres) and K'; a symmetric K is its own, and is read by rows both times."""

    K: Floats
    transposed: Floats

    @property
    def n_centers(self) -> int:
        """m."""
        return self.K.shape[1]

    def image(self, C: Floats) -> Floats:
        """Y = KC."""
        return times(self.K, C)

    def pulled(self, Y: Floats) -> Floats:
        """K'Y: B C of Y = KC."""
        return times(self.transposed, Y)

    def reduced(self, U: Floats, Y: Floats, V: Floats) -> Floats:
        """U'MU in the space of the columns of U = RC, with Y = KC: it is Y'Y."""
        return Y.T @ Y

    def most_blocks(self, width: int) -> int:
        """Of a Krylov space: 0 where a full solve is better."""
        room = self.n_centers // (2 * width)
        return min(MAX_BLOCKS, room) if room >= LEAST_BLOCKS else 0

    def whole(self, factor: Factor) -> Floats | tuple[Floats, Floats]:
        """M = R⁻ᵀBR⁻¹, upper half; of a QR factor, which M would square, the eigenpairs by an SVD."""
        G = factor.solve_transposed(self.transposed)
        if factor.method == "qr":
            U, root_theta, _ = svd(G, full_matrices=False, check_finite=False)
            return root_theta**2, U
        return dsyrk(1.0, G)


def times(K: Floats, A: Floats) -> Floats:
    """K A, in panels of rows."""
    out = np.empty((len(K), A.shape[1]))

    def fill(start: int) -> None:
        np.matmul(K[start : start + PANEL], A, out=out[start : start + PANEL])

    in_parallel(fill, range(0, len(K), PANEL), K.size)
    return out
