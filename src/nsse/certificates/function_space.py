"""The map f as a function of the space of its kernel: Gram matrix, norms, and how far it rounds.

For every direction a, g = a'f has the norm √(a'Ga) with G = C'K_ZZ C, and by Cauchy–Schwarz

    |g(u) − g(v)| ≤ √(a'Ga) ‖k_u − k_v‖ = √(a'Ga) √(2 − 2 exp(−‖u − v‖²/σ²)),      |g(u)| ≤ √(a'Ga).

That holds for real numbers. A certificate is about the numbers a computer gets, so G is raised and f is
surrounded by what rounding can do at most: products of length k have a relative error of k ε, distances
are expanded, and the constants are doubled to cover terms of second order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nsse._support.threads import one_blas_thread
from nsse.extensions import GaussianExpansion
from nsse.extensions.blocks import in_blocks

Floats = NDArray[np.float64]

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class FunctionSpace:
    """What certificates need to know of a Gaussian expansion.

    Attributes
    ----------
    expansion : GaussianExpansion
        The map f.
    gram : ndarray of shape (n_components, n_components)
        An upper bound, in the order of symmetric matrices, of G = C'K_ZZ C.
    rounding : float
        How far the computed f(x) may be from the exact one, for any x.

    See Also
    --------
    nsse.certificates.expansion_of : The map of a fitted model.
    nsse.certificates.lipschitz_bounds : How steep it is at most.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import FunctionSpace
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> space = FunctionSpace.of(model.expansion_)
    >>> space.gram.shape
    (2, 2)
    """

    expansion: GaussianExpansion
    gram: Floats
    rounding: float

    @classmethod
    def of(cls, expansion: GaussianExpansion) -> FunctionSpace:
        """Compute the Gram matrix in blocks: O(N²(n + d)) time, no N × N matrix."""
        return cls(expansion, gram_bound(expansion), evaluation_error(expansion))

    @property
    def sigma(self) -> float:
        """The kernel scale."""
        return self.expansion.sigma

    @cached_property
    def largest_norm(self) -> float:
        """√λmax(G): no ‖f(x)‖ is larger."""
        return float(np.sqrt(np.linalg.eigvalsh(self.gram)[-1]))

    @cached_property
    def factor(self) -> Floats:
        """F with FF' = G, so that ‖F'w‖ is the norm of w'f."""
        eigenvalues, vectors = np.linalg.eigh(self.gram)
        return np.asarray(vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))


def gram_bound(expansion: GaussianExpansion) -> Floats:
    """G = C'K_ZZ C, raised by the identity times what its rounding may be."""
    C, centers = expansion.coef, expansion.centers
    N, d = C.shape
    both = np.hstack([C, np.abs(C)])

    def smoothed(rows: Floats) -> Floats:
        return np.asarray(centers.kernel_from_moved(rows, expansion.sigma) @ both)

    with one_blas_thread():
        KC = in_blocks(smoothed, centers.points, N, 2 * d)
        G, absolute = C.T @ KC[:, :d], np.abs(C).T @ KC[:, d:]
    relative = 2.0 * EPS * (_distance_terms(expansion) + 2 * N + 8)
    raised = 0.5 * (G + G.T)
    raised[np.diag_indices(d)] += relative * np.linalg.norm(absolute)
    return np.asarray(raised)


def evaluation_error(expansion: GaussianExpansion) -> float:
    """Bound of ‖computed f(x) − f(x)‖ over all x.

    With t = ‖x − z‖²/σ² and R = max ‖z − mean‖, the expansion of t is wrong by at most
    ε n (2t + 8R²/σ²), hence the kernel by that times e^{−t}, and t e^{−t} < 1/2. In a metric both are
    lengths of Ax, and what is rounded is x, longer by ‖A⁻¹‖ at most.
    """
    N = len(expansion.coef)
    rows = float(np.linalg.norm(expansion.coef, axis=1).sum())
    return 2.0 * EPS * rows * (_features(expansion) + 2.0 * _distance_terms(expansion) + N)


def _distance_terms(expansion: GaussianExpansion) -> float:
    """(n + 12) · 4R²/σ²: the rounding of ‖z_i − z_j‖²/σ² in units of ε, in a metric by its strain."""
    centers = expansion.centers
    return float(_features(expansion) * 4.0 * centers.norms.max() / expansion.sigma**2)


def _features(expansion: GaussianExpansion) -> float:
    """n + 12, the terms of a squared length; times ‖A⁻¹‖² in a metric, where x itself is rounded."""
    strain = 1.0 if expansion.metric is None else expansion.metric.strain
    # Two products in the place of one: by the axes, and by the centres.
    products = 1 if expansion.metric is None else 3
    return float((expansion.read.points.shape[1] + 12) * products * strain**2)
