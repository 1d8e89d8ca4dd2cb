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


def precise_distances(X, Z, V, a):
    """‖A(x − z)‖² with A = I − V diag(1 − a) V', from the differences, in extended precision."""
    X, Z, V, a = (np.asarray(part, dtype=np.longdouble) for part in (X, Z, V, a))
    D2 = np.zeros((len(X), len(Z)), dtype=np.longdouble)
    for i in range(len(X)):
        for j in range(len(Z)):
            along = V.T @ (X[i] - Z[j])
            outside = (X[i] - Z[j]) - V @ along
            D2[i, j] = outside @ outside + np.sum((a * along) ** 2)
    return D2


def literal_share(column, codes):
    """1 − mean square within / mean square of all, each by its degrees of freedom."""
    column, codes = list(column), list(codes)
    mean = sum(column) / len(column)
    total = sum((x - mean) ** 2 for x in column) / (len(column) - 1)
    within = 0.0
    for code in set(codes):
        own = [x for x, c in zip(column, codes, strict=True) if c == code]
        within += sum((x - sum(own) / len(own)) ** 2 for x in own)
    within /= len(column) - len(set(codes))
    return 1.0 - within / total if total > 1e-30 else 0.0  # 0.1 has no exact mean


def literal_weights(X, codes, relevance):
    """max(√(r_j/r_1), 1/20)^relevance, r_j the larger share of a feature or of its deviation."""
    shares = []
    for column in np.asarray(X).T:
        middle = float(np.median(column))
        both = literal_share(column, codes), literal_share([abs(x - middle) for x in column], codes)
        shares.append(max(*both, 0.0))
    best = max(shares)
    if best == 0:
        return np.ones(len(shares))
    return np.array([max((share / best) ** 0.5, 0.05) ** relevance for share in shares])
