"""Slow, obvious definitions of the within-class metric. NumPy and SciPy only, loops over edges."""

from __future__ import annotations

import numpy as np
from scipy import linalg

import oracles


def within_edges(X, codes, n_neighbors):
    """Unordered pairs of a class of which one is a nearest neighbour of the other, each once."""
    pairs = oracles.within_class_neighbors(X, codes, n_neighbors)
    return sorted({(min(i, j), max(i, j)) for i, j in pairs})


def scatter_of_edges(X, edges):
    """S_w = Σ over edges (x_i − x_j)(x_i − x_j)' / (2 · edges)."""
    S = np.zeros((X.shape[1], X.shape[1]))
    for i, j in edges:
        S += np.outer(X[i] - X[j], X[i] - X[j])
    return S / (2 * len(edges)) if edges else S


def metric_of_scatter(S, shrinkage):
    """A = (ρ (S + ρI)⁻¹)^½ with ρ = shrinkage · tr(S)/n, inverse and root as they stand."""
    rho = shrinkage * np.trace(S) / len(S)
    return np.real(linalg.sqrtm(rho * linalg.inv(S + rho * np.eye(len(S)))))


def within_metric(X, codes, n_neighbors, shrinkage):
    """A of labelled samples."""
    return metric_of_scatter(scatter_of_edges(X, within_edges(X, codes, n_neighbors)), shrinkage)
