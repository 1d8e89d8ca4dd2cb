"""The Nyström extension of Laplacian eigenmaps (Bengio et al. 2004).

    y_k(x) = (1/λ_k) Σ_i Y_ik K̃(x, x_i),     K̃(a, b) = K(a, b) / √(E_x K(a, x) · E_x K(b, x)),

with K̃ Y_k = λ_k Y_k on the training samples and E the mean over them. It is an expansion in the Gaussian
K whose rows are divided by √E_x K(x, ·): at a training sample it is the eigenmap itself.

With neighbourhoods, K(a, b) is kept where ‖a − b‖ is at most the larger of the radii of a and b, the
radius of a point being its distance to the nearest n_neighbors + 1 training samples: a training sample
counts among its own neighbours, so that the rule is one and the same for old points and new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.extensions.blocks import in_blocks
from nsse.graphs import within_reach
from nsse.kernels import Shifted, fill_gaussian

Floats = NDArray[np.float64]

# Eigenvalues of K̃/N below this are rounding, and no number to divide by.
SMALLEST_EIGENVALUE = 1e-10


@dataclass(frozen=True)
class Neighborhoods:
    """Squared radii of the training samples, their number of neighbours, the slack of a comparison."""

    radii2: Floats
    n_neighbors: int
    slack: float


@dataclass(frozen=True)
class NystromExpansion:
    """The extension, ready to be evaluated at many points."""

    centers: Shifted
    coef: Floats
    sigma: float
    neighborhoods: Neighborhoods | None

    @classmethod
    def at(
        cls, centers: Any, coef: Floats, sigma: float, neighborhoods: Neighborhoods | None = None
    ) -> NystromExpansion:
        """Prepare the map for the given centres, `nystrom_coefficients` and kernel scale."""
        return cls(Shifted.of(centers), np.ascontiguousarray(coef), sigma, neighborhoods)

    def __call__(self, X: Any) -> Floats:
        """The map at the rows of ``X``, dense or sparse, in float64."""
        return in_blocks(self._block, X, *self.coef.shape)

    def _block(self, X: Any) -> Floats:
        return nystrom_values(self._kernel(self.centers.squared_distances_from(X)), self.coef)

    def _kernel(self, D2: Floats) -> Floats:
        """K between new points and centres; ``D2`` is used up."""
        near = self.neighborhoods
        if near is not None:
            # Out of reach: infinitely far, where the kernel vanishes.
            D2[~within_reach(D2, near.radii2, near.n_neighbors, near.slack)] = np.inf
        return fill_gaussian(D2, self.sigma, D2)


def nystrom_values(K: Floats, coef: Floats) -> Floats:
    """The extension at new points, from the kernel K between them and the training samples."""
    # Far from all samples K underflows; K/√E K then tends to zero, and zero is what we give.
    means = np.maximum(K.mean(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(K @ coef / np.sqrt(means))


def nystrom_existing(eigenvalues: Floats, n_samples: int) -> int:
    """How many of the eigenvalues of K̃, descending, are more than rounding."""
    return int(np.sum(eigenvalues > SMALLEST_EIGENVALUE * n_samples))


def nystrom_coefficients(Y: Floats, eigenvalues: Floats, means: Floats) -> Floats:
    """Y_ik / (λ_k √E_x K(x_i, x)), with λ of K̃ and the means of the rows of K."""
    existing = nystrom_existing(eigenvalues, len(Y))
    if existing < len(eigenvalues):
        raise rule_error(
            "n_components",
            f"not exceed the number of coordinates that the kernel has, {existing}",
            len(eigenvalues),
            "Lower it, or lower `sigma`: a wide kernel has few.",
        )
    return Y / (eigenvalues * np.sqrt(means)[:, np.newaxis])
