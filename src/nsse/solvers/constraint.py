"""B of the constraint C'BC = I: as the kernel matrix K at one σ, B = K'K, or as a sum over samples.

Where the class means are normalised instead of the samples, B = K'GG'K, of rank M − 1: `ClassMeans`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
# Rows of K'SK computed at a time; of one with up to so many rows fewer: less of its other half with it.
GRAM_PANEL, SMALL_PANEL, SMALL_GRAM = 256, 64, 1024
# A sum of so many products takes as long as one plain value.
TERMS = 64
MAX_BLOCKS, MAX_SUMMED_BLOCKS = 12, 16
# A space of fewer blocks seldom converges, and a full solve of so few centres takes no longer; where
# residuals may be as large as `ROUGH`, two blocks mostly do, but take as long with fewer centres than
# so many blocks have columns.
LEAST_BLOCKS, LEAST_ROUGH_BLOCKS, ROUGH = 4, 2, 1e-3
ROUGH_FROM_BLOCKS = 7
# Centres per column of a space, for all digits and for few: with fewer a full solve takes less time.
CENTERS_PER_COLUMN, CENTERS_PER_ROUGH_COLUMN = 3, 2
# Up to so many centres for more rows a full solve takes less time: there is no cliff in the spectrum.
FULL_UP_TO = 400


@dataclass(frozen=True)
class HeldKernel:
    """K (rows × centres) and K'; a symmetric K is its own, and is read by rows both times."""

    K: Floats
    transposed: Floats

    @property
    def is_symmetric(self) -> bool:
        """Whether the centres are the rows."""
        return self.K is self.transposed

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

    def opening(self, start: Floats) -> Floats:
        """From a guess of Y the first block of a Krylov space, as K'Y."""
        return self.pulled(start)

    def products(self, F: Floats, out: Floats) -> None:
        """K'F on and below the diagonal, where it is symmetric."""
        panel = SMALL_PANEL if len(out) <= SMALL_GRAM else GRAM_PANEL

        def fill(start: int) -> None:
            stop = min(start + panel, len(out))
            np.matmul(self.transposed[start:stop], F[:, :stop], out=out[start:stop, :stop])

        work = out.size if self.is_symmetric else out.size * max(1, len(F) // TERMS)
        in_parallel(fill, reversed(range(0, len(out), panel)), work)  # the longest panels first

    def reduced(self, U: Floats, Y: Floats, V: Floats) -> Floats:
        """U'MU in the space of the columns of U = RC, with Y = KC: it is Y'Y."""
        return Y.T @ Y

    def most_blocks(self, width: int, tol: float) -> int:
        """Of a Krylov space for residuals of ``tol``: 0 where a full solve is better."""
        per_column, least = CENTERS_PER_COLUMN, LEAST_BLOCKS
        if tol >= ROUGH:
            per_column, least = CENTERS_PER_ROUGH_COLUMN, LEAST_ROUGH_BLOCKS
        room = self.n_centers // (per_column * width)
        full = room < least or (not self.is_symmetric and self.n_centers <= FULL_UP_TO)
        full = full or (tol >= ROUGH and self.n_centers < ROUGH_FROM_BLOCKS * width)
        return 0 if full else min(MAX_BLOCKS, room)

    @cached_property
    def _summed(self) -> SummedMatrix:
        """B formed, once for all weights that are tried at this σ."""
        B = np.zeros((self.n_centers, self.n_centers))
        self.products(self.K, out=B)
        return SummedMatrix(np.tril(B) + np.tril(B, -1).T)

    def whole(self, factor: Factor) -> Floats | tuple[Floats, Floats]:
        """M = R⁻ᵀBR⁻¹, lower half; of a QR factor, which M would square, the eigenpairs by an SVD."""
        if factor.method == "cholesky" and not self.is_symmetric:
            return self._summed.whole(factor)
        G = factor.solve_transposed(self.K.T)  # stored by columns, as BLAS takes it
        if factor.method == "qr":
            U, root_theta, _ = svd(G, full_matrices=False, check_finite=False)
            return root_theta**2, U
        return dsyrk(1.0, G, lower=1)


@dataclass(frozen=True)
class SummedMatrix:
    """B as the matrix that it is, where no K is held: the image of C is C."""

    B: Floats

    @property
    def n_centers(self) -> int:
        """m."""
        return len(self.B)

    @property
    def largest(self) -> float:
        """Of the diagonal of B."""
        return float(np.diag(self.B).max())

    def image(self, C: Floats) -> Floats:
        """C itself."""
        return C

    def pulled(self, Y: Floats) -> Floats:
        """BC."""
        return self.B @ Y

    def opening(self, start: Floats) -> Floats:
        """The start itself, which is a guess of BC."""
        return start

    def reduced(self, U: Floats, Y: Floats, V: Floats) -> Floats:
        """U'MU = U'V, made symmetric."""
        found = U.T @ V
        return (found + found.T) / 2

    def most_blocks(self, width: int, tol: float) -> int:
        """Of a Krylov space for residuals of ``tol``: 0 where a full solve is better."""
        m = self.n_centers
        full = m <= max(FULL_UP_TO, width * LEAST_BLOCKS)
        return 0 if full else min(MAX_SUMMED_BLOCKS, m // width)

    def whole(self, factor: Factor) -> Floats:
        """M = R⁻ᵀBR⁻¹."""
        M = factor.solve_transposed(factor.solve_transposed(self.B).T)
        return (M + M.T) / 2


@dataclass(frozen=True)
class ClassMeans:
    """B = K'GG'K, with G the orthonormal centred class indicators, held as its factor K'G."""

    pulled_contrasts: Floats
    kernel: HeldKernel | None = None

    @property
    def n_centers(self) -> int:
        """m."""
        return len(self.pulled_contrasts)

    @property
    def largest(self) -> float:
        """Of the diagonal of B."""
        return float(np.einsum("ij,ij->i", self.pulled_contrasts, self.pulled_contrasts).max())

    def image(self, C: Floats) -> Floats:
        """Y = KC; C itself where no K is held."""
        return C if self.kernel is None else self.kernel.image(C)

    def whole(self, factor: Factor) -> tuple[Floats, Floats]:
        """Eigenpairs of M = HH' with H = R⁻ᵀK'G, by an SVD of its M − 1 columns; θ descends."""
        H = factor.solve_transposed(self.pulled_contrasts)
        U, root_theta, _ = svd(H, full_matrices=False, check_finite=False)
        return root_theta**2, U


Constraint = HeldKernel | SummedMatrix


def times(K: Floats, A: Floats) -> Floats:
    """K A, in panels of rows."""
    out = np.empty((len(K), A.shape[1]))

    def fill(start: int) -> None:
        np.matmul(K[start : start + PANEL], A, out=out[start : start + PANEL])

    in_parallel(fill, range(0, len(K), PANEL), K.size)
    return out
