"""The seven other methods as a NumPy user writes them from the formulas: what ours are timed against.

Plainly but not slowly: no loops over samples, distances by scikit-learn's product, LAPACK asked for
no more eigenvectors than are used, positive definite systems solved as such. Matrices are dense. The
parameters are the defaults of our estimators, so that both compute the same embedding; nothing is
checked, and no classifier is fitted.

Every function takes training samples and labels, and returns the embedding of the training samples and
the map of new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.decomposition import sparse_encode
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
Map = Callable[[Floats], Floats]


def suplap(X: Floats, y: Labels, n_neighbors: int | None = None) -> tuple[Floats, Map]:
    """Eigenvectors of L_w − μ L_b, interpolated; ``n_neighbors`` None takes the adaptive rule."""
    mu, ridge, d = 0.01, 1e-10, len(np.unique(y)) - 1
    D2, unit = _distances(X)
    N = len(X)
    S = np.exp(-D2 / (D2.sum() / (N * (N - 1))))
    same = y[:, np.newaxis] == y
    if n_neighbors is None:
        near_w = near_b = S.mean(axis=1, keepdims=True) < S
    else:
        near_w, near_b = _nearest(D2, same, n_neighbors), _nearest(D2, ~same, n_neighbors)
    W_w = np.where(same & (near_w | near_w.T), S, 0.0)
    W_b = np.where(~same & (near_b | near_b.T), 1.0, 0.0)
    np.fill_diagonal(W_w, 0.0)
    _, Y = eigh(_laplacian(W_w) - mu * _laplacian(W_b), subset_by_index=(0, d - 1))
    return _gaussian_map(X, D2, Y, unit, ridge)


def lfda(X: Floats, y: Labels) -> tuple[Floats, Map]:
    """Local Fisher discriminant analysis on the principal axes, columns weighted by √λ."""
    N, counts = len(X), np.bincount(y)
    D2 = euclidean_distances(X, squared=True)
    same = y[:, np.newaxis] == y
    scale = np.sqrt(np.sort(np.where(same, D2, np.inf), axis=1)[:, 7])  # 7th neighbour in the class
    A = np.where(same, np.exp(-D2 / np.outer(scale, scale)), 0.0)
    share = 1.0 / counts[y]
    W_lw = A * share
    W_lb = np.where(same, A * (1.0 / N - share), 1.0 / N)
    mean, axes, Z = _principal(X, N - len(counts))
    values, V = eigh(Z.T @ _laplacian(W_lb) @ Z, Z.T @ _laplacian(W_lw) @ Z)
    return _linear_map(X, mean, axes, V * np.sqrt(np.maximum(values, 0.0)))


def lde(X: Floats, y: Labels) -> tuple[Floats, Map]:
    """Local discriminant embedding on the principal axes."""
    D2, _ = _distances(X)
    same = y[:, np.newaxis] == y
    near_w, near_b = _nearest(D2, same, 5), _nearest(D2, ~same, 20)
    beta = np.concatenate([D2[near_w], D2[near_b]]).mean()
    S = np.exp(-D2 / beta)
    W_w, W_b = np.where(near_w | near_w.T, S, 0.0), np.where(near_b | near_b.T, S, 0.0)
    n_pieces, _ = connected_components(csr_matrix(W_w), directed=False)
    mean, axes, Z = _principal(X, len(X) - n_pieces)
    _, V = eigh(Z.T @ _laplacian(W_b) @ Z, Z.T @ _laplacian(W_w) @ Z)
    return _linear_map(X, mean, axes, V)


def nys(X: Floats, y: Labels, n_neighbors: int | None = None) -> tuple[Floats, Map]:
    """Eigenvectors of the normalised kernel matrix and the Nyström formula."""
    N, d = len(X), len(np.unique(y)) - 1
    D2 = euclidean_distances(X, squared=True)
    kept = np.ones(D2.shape, dtype=bool)
    if n_neighbors is not None:
        kept = _nearest(D2, kept, n_neighbors)
        kept = kept | kept.T
        np.fill_diagonal(kept, True)
    sigma2 = D2[kept].sum() / (kept.sum() - N)
    K = np.where(kept, np.exp(-D2 / sigma2), 0.0)
    means = K.mean(axis=1)
    values, Y = eigh(K / np.sqrt(np.outer(means, means)), subset_by_index=(N - d - 1, N - 2))
    coef = Y / (values * np.sqrt(means)[:, np.newaxis])

    def extend(X_new: Floats) -> Floats:
        if n_neighbors is not None:
            raise NotImplementedError("neighbours of new samples")
        K_new = np.exp(-euclidean_distances(X_new, X, squared=True) / sigma2)
        return np.asarray(K_new @ coef / np.sqrt(K_new.mean(axis=1, keepdims=True)))

    return Y, extend


def spe(X: Floats, y: Labels) -> tuple[Floats, Map]:
    """Laplacian eigenmap of the full Gaussian graph, extended by sparse codes."""
    alpha, N, d = 0.5, len(X), len(np.unique(y)) - 1
    D2 = euclidean_distances(X, squared=True)
    W = np.exp(-D2 / (D2.sum() / (N * (N - 1))))
    np.fill_diagonal(W, 0.0)
    _, Y = eigh(_laplacian(W), np.diag(W.sum(axis=1)), subset_by_index=(1, d))
    atoms = normalize(X)
    gram = atoms @ atoms.T

    def extend(X_new: Floats) -> Floats:
        # In units of the penalty at which its code vanishes every sample has the same one.
        targets = X_new / np.abs(X_new @ atoms.T).max(axis=1, keepdims=True)
        codes = np.abs(sparse_encode(targets, atoms, gram=gram, algorithm="lasso_cd", alpha=alpha))
        return np.asarray(codes @ Y / codes.sum(axis=1, keepdims=True))

    return Y, extend


def isokrr(X: Floats, y: Labels) -> tuple[Floats, Map]:
    """Isomap of class-dependent dissimilarities, extended by kernel ridge regression."""
    k, beta, alpha, N, d = 15, 10.0, 1e-6, len(X), len(np.unique(y)) - 1
    D2, unit = _distances(X)
    same = y[:, np.newaxis] == y
    D = np.where(same, np.sqrt(1.0 - np.exp(-D2 / beta)), np.exp(D2 / beta / 2))
    near = _nearest(D, np.ones(D.shape, dtype=bool), k)
    G = csr_matrix(np.where(near | near.T, D, 0.0))
    G = shortest_path(_joined(G, D), method="D", directed=False)
    J = np.eye(N) - 1.0 / N
    values, V = eigh(-0.5 * J @ G**2 @ J, subset_by_index=(N - d, N - 1))
    return _gaussian_map(X, D2, V * np.sqrt(values), unit, alpha)


def mreg(X: Floats, y: Labels) -> tuple[Floats, Map]:
    """Laplacian regularised least squares, one column of targets per class."""
    gamma_A, gamma_I, N = 1e-6, 1.0, len(X)
    D2, unit = _distances(X)
    near = _nearest(D2, np.ones(D2.shape, dtype=bool), 5)
    W = np.where(near | near.T, np.exp(-D2 / D2[near].mean()), 0.0)
    roots = np.sqrt(W.sum(axis=1))
    L = _laplacian(W) / np.outer(roots, roots)
    K = np.exp(-D2)
    A = K + gamma_A * N * np.eye(N) + gamma_I / N * (L @ K)
    coef = np.linalg.solve(A, np.eye(len(np.unique(y)))[y])
    return K @ coef, _expansion(X, coef, unit)


def _distances(X: Floats) -> tuple[Floats, float]:
    """Squared distances in units of the median distance, and the unit."""
    D2 = euclidean_distances(X, squared=True)
    unit2 = float(np.median(D2[np.triu_indices(len(D2), 1)]))
    return D2 / unit2, unit2**0.5


def _nearest(D: Floats, allowed: Mask, k: int) -> Mask:
    """Directed graph of the k nearest allowed samples, none its own neighbour."""
    D = np.where(allowed, D, np.inf)
    np.fill_diagonal(D, np.inf)
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, np.argpartition(D, k - 1, axis=1)[:, :k], True, axis=1)
    return near


def _laplacian(W: Floats) -> Floats:
    return np.diag(W.sum(axis=1)) - W


def _principal(X: Floats, within_rank: int) -> tuple[Floats, Floats, Floats]:
    """Mean, leading principal axes, samples on them: all axes, or 95 % of the variance if too many."""
    mean = X.mean(axis=0)
    U, s, axes = np.linalg.svd(X - mean, full_matrices=False)
    kept = int(np.sum(s > max(X.shape) * np.finfo(float).eps * s[0]))
    if kept > within_rank:
        shares = np.cumsum(s**2) / np.sum(s**2)
        kept = min(int(np.searchsorted(shares, 0.95)) + 1, within_rank)
    return mean, axes[:kept], U[:, :kept] * s[:kept]


def _linear_map(X: Floats, mean: Floats, axes: Floats, V: Floats) -> tuple[Floats, Map]:
    components = axes.T @ V[:, ::-1]

    def project(X_new: Floats) -> Floats:
        return np.asarray((X_new - mean) @ components)

    return project(X), project


def _gaussian_map(X: Floats, D2: Floats, Y: Floats, unit: float, ridge: float) -> tuple[Floats, Map]:
    """The Gaussian map with σ of one unit whose ridge regression on Y has the given ridge."""
    K = np.exp(-D2)
    coef = solve(K + ridge * np.eye(len(K)), Y, assume_a="pos")
    return K @ coef, _expansion(X, coef, unit)


def _expansion(X: Floats, coef: Floats, unit: float) -> Map:
    def evaluate(X_new: Floats) -> Floats:
        return np.asarray(np.exp(-euclidean_distances(X_new, X, squared=True) / unit**2) @ coef)

    return evaluate


def _joined(graph: csr_matrix, D: Floats) -> csr_matrix:
    """The graph with every two of its pieces joined by the shortest edge between them."""
    n_pieces, piece = connected_components(graph, directed=False)
    graph = graph.tolil()
    for a, b in combinations(range(n_pieces), 2):
        rows, cols = np.flatnonzero(piece == a), np.flatnonzero(piece == b)
        block = D[np.ix_(rows, cols)]
        i, j = np.unravel_index(block.argmin(), block.shape)
        graph[rows[i], cols[j]] = block[i, j]
    return graph.tocsr()
