"""Compute Laplacian eigenmaps, whose coordinates vary little along the edges of a graph.

- `smallest_eigenpairs` minimizes tr(Y'AY) subject to Y'Y = I, for a symmetric A (Eq. 2 of the paper).
- `normalized_eigenmap` does the same for A = I − D^(−1/2) W D^(−1/2), without its trivial eigenvector
  D^(1/2) 1. If V is the solution, D^(−1/2) V minimizes tr(Y'LY) subject to Y'DY = I (Belkin & Niyogi
  2003). V are the eigenvectors of the normalized kernel matrix that the Nyström formula extends.

If the last eigenvalue in use equals the first one that is left out, the problem does not determine the
coordinates, for example if the graph has several pieces. ``gap`` measures this.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from nsse._support.errors import rule_error
from nsse._support.types import Floats
from nsse.base import row_signs
from nsse.exceptions import DegenerateEmbeddingWarning
from nsse.graphs import degrees
from nsse.methods._method import check_n_components

# A gap, relative to the matrix, that is rounding.
SMALLEST_GAP = 1e-10
# Degrees whose square root and inverse are far from over- and underflow are larger.
SMALLEST_DEGREE = 1e-200


@dataclass(frozen=True)
class Eigenmap:
    """Eigenvalues ascending, orthonormal eigenvectors, and the gap to the next eigenvalue.

    ``gap`` is relative to the size of the matrix, and infinite if there is no next eigenvalue.
    """

    eigenvalues: Floats
    vectors: Floats
    gap: float

    def warn_if_degenerate(self, cure: str) -> None:
        """Warn if the problem does not determine the coordinates."""
        if self.gap <= SMALLEST_GAP:
            d = len(self.eigenvalues)
            warnings.warn(
                f"The embedding in {d} dimensions is one of many that are equally good: eigenvalues {d} "
                f"and {d + 1} of its graph agree. {cure}",
                DegenerateEmbeddingWarning,
                stacklevel=5,  # the caller of `fit`, which is above `_learn`, `fit` and its decorator
            )


def smallest_eigenpairs(A: Floats, n_components: int) -> Eigenmap:
    """Return the smallest eigenpairs of a symmetric matrix."""
    last = min(n_components, len(A) - 1)  # one more than wanted, to see the gap
    values, vectors = eigh(A, subset_by_index=(0, last), check_finite=False)
    size = max(float(np.abs(A).sum(axis=1).max()), np.finfo(np.float64).tiny)
    gap = float(values[-1] - values[-2]) / size if len(values) > n_components else np.inf
    return Eigenmap(values[:n_components], np.ascontiguousarray(vectors[:, :n_components]), gap)


def normalized_eigenmap(W: Any, n_components: int) -> Eigenmap:
    """Return the smallest eigenpairs of I − D^(−1/2) W D^(−1/2) except the trivial one."""
    D = degrees(W)
    trivial = np.sqrt(D / D.sum())
    A = (W.toarray() if hasattr(W, "toarray") else W) * np.outer(-(D**-0.5), D**-0.5)
    # Eigenvalues lie in [0, 2]. The trivial one is moved from 0 to 4, beyond all others.
    A += np.outer(4.0 * trivial, trivial)
    A[np.diag_indices_from(A)] += 1.0
    return smallest_eigenpairs(A, n_components)


def unsupervised_signs(Y: Floats) -> Floats:
    """Set the signs of embeddings that must not depend on labels, as if all samples were one class."""
    return row_signs(Y, np.zeros(len(Y), dtype=np.intp))


def check_eigenmap_components(value: Any, n_samples: int, n_classes: int) -> int:
    """Return d, from 1 to N − 1 without the trivial coordinate. None means n_classes − 1."""
    d = check_n_components(value, n_samples, n_classes)
    if d == n_samples:
        cure = f"Lower it; None takes n_classes - 1 = {n_classes - 1}."
        raise rule_error("n_components", f"be less than the number of samples, {d}", d, cure)
    return d


def check_no_sample_alone(W: Any, beta: float | None) -> None:
    """Raise an error if a sample has no neighbor, because its coordinate would be 0/0."""
    alone = int(np.sum(degrees(W) <= SMALLEST_DEGREE))
    if alone:
        rule = "be large enough for every sample to have a neighbor of positive weight"
        raise rule_error("beta", rule, beta, f"Raise it: samples without any: {alone}.")
