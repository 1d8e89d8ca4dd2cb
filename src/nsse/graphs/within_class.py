"""The within-class weight matrix W_w and its Laplacian.

(W_w)_ij = exp(−‖x_i − x_j‖²/β) where x_i and x_j have the same label and are neighbours, 0 elsewhere.
Neighbours are the ``n_neighbors`` nearest samples *of the same class* (all of them in a class that
has no more), joined if either is a neighbour of the other, so that W_w is symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._errors import rule_error
from nsse.graphs.counted import counted_affinity
from nsse.graphs.neighbors import nearest_of_class, symmetric_graph

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def gaussian_affinity(
    D2: Floats,
    codes: Ints,
    n_neighbors: int | None = None,
    beta: float | None = None,
    weights: Floats | None = None,
) -> sparse.csr_array:
    """W_w from squared distances, class codes and the neighbour rule above.

    Parameters
    ----------
    D2 : ndarray of shape (N, N)
        Squared distances.
    codes : ndarray of shape (N,)
        Class of every sample as an integer.
    n_neighbors : int or None
        Nearest samples of the same class to join; None joins all same-class pairs.
    beta : float or None
        Width of the weights, in the units of ``D2``; None takes the mean squared length of the edges.
    weights : ndarray of shape (N,) or None
        How many times every sample counts: W_w is then that of the repeated samples, summed over the
        copies of a pair (`counted_affinity`).

    Returns
    -------
    csr_array of shape (N, N)
        Symmetric, non-negative, zero between classes and on the diagonal.
    """
    if weights is not None:
        return counted_affinity(D2, codes, weights, n_neighbors, beta)
    rows, cols = nearest_of_class(D2, codes, n_neighbors)
    lengths = D2[rows, cols]
    width = _mean_length(lengths) if beta is None else beta
    return symmetric_graph(rows, cols, np.exp(-lengths / width), len(codes))


def laplacian(W: Any) -> sparse.csr_array:
    """L = D − W with D the diagonal matrix of degrees."""
    return sparse.csr_array(sparse.diags_array(degrees(W)) - W)


def degrees(W: Any) -> Floats:
    """D_ii = Σ_j W_ij, of a dense or sparse W."""
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def check_affinity(W: Any, codes: Ints) -> sparse.csr_array:
    """Accept a W_w made elsewhere, after checking that it is one."""
    N = len(codes)
    W = _as_sparse(W)
    if W.shape != (N, N):
        raise rule_error(
            "affinity",
            f"have shape ({N}, {N}), one row and column per sample",
            W.shape,
            "Build it from the very samples given to fit.",
        )
    if not np.all(np.isfinite(W.data)) or np.any(W.data < 0):
        raise rule_error(
            "affinity",
            "hold finite weights that are not negative",
            _range(W.data),
            "Weights are similarities: 0 for no edge, larger for closer samples.",
        )
    if abs(W - W.T).max() > 1e-10 * max(W.max(), 1e-300):
        raise rule_error("affinity", "be symmetric", "an asymmetric matrix", "Pass `W.maximum(W.T)`.")
    edges = W.tocoo()
    crossing = int(np.sum((codes[edges.row] != codes[edges.col]) & (edges.data > 0)))
    if crossing:
        raise rule_error(
            "affinity",
            "join samples of the same class only",
            f"{crossing} weights between classes",
            "Set them to zero.",
        )
    return W


def _as_sparse(W: Any) -> sparse.csr_array:
    try:
        matrix: Any = W if sparse.issparse(W) else np.asarray(W, dtype=np.float64)
        return sparse.csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise rule_error(
            "affinity",
            "be a matrix of weights, dense or sparse",
            type(W).__name__,
            "Pass an array or a SciPy sparse matrix with one row and column per sample.",
        ) from None


def _mean_length(lengths: Floats) -> float:
    mean = float(lengths.mean()) if lengths.size else 0.0
    return mean if mean > 0 else 1.0  # no edges, or duplicates only: exp(−0/β) = 1 for every β


def _range(values: Floats) -> str:
    return f"weights from {np.min(values)} to {np.max(values)}"
