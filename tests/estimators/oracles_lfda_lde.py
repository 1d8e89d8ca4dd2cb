"""Slow, obvious definitions of LFDA and LDE, written from their papers. NumPy only, double loops.

LFDA: Sugiyama (2007), JMLR 8. LDE: Chen, Chang & Liu (2005), CVPR. Samples are the rows of X.
"""

from __future__ import annotations

import numpy as np


def squared_length(x, z):
    return float(np.sum((x - z) ** 2))


def nearest_of(i, X, candidates, k=None):
    """The k candidates nearest to sample i, itself left out; all where k is None or there are fewer."""
    others = sorted((j for j in candidates if j != i), key=lambda j: squared_length(X[i], X[j]))
    return others if k is None else others[:k]


# LFDA


def local_scale(i, X, members, k):
    """σ_i: distance to the k-th neighbour; where that is 0, to the nearest one farther than 0."""
    distances = [np.sqrt(squared_length(X[i], X[j])) for j in nearest_of(i, X, members)]
    sigma = distances[:k][-1] if distances else 0.0
    farther = [distance for distance in distances if distance > 0]
    return sigma if sigma > 0 or not farther else farther[0]


def local_scaling(X, codes, k):
    """A_ij = exp(−‖x_i − x_j‖²/(σ_i σ_j)) inside classes; 1 in a class that is all in one place."""
    N = len(X)
    sigma = [local_scale(i, X, np.flatnonzero(codes == codes[i]), k) for i in range(N)]
    A = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if codes[i] == codes[j]:
                product = sigma[i] * sigma[j]
                A[i, j] = np.exp(-squared_length(X[i], X[j]) / product) if product > 0 else 1.0
    return A


def pairwise_scatter(W, X):
    """½ Σ_ij W_ij (x_i − x_j)(x_i − x_j)'."""
    S = np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        for j in range(len(X)):
            S += 0.5 * W[i, j] * np.outer(X[i] - X[j], X[i] - X[j])
    return S


def lfda_scatters(A, X, codes):
    """S_lb and S_lw from their weights, pair by pair."""
    N = len(X)
    W_lb, W_lw = np.zeros((N, N)), np.zeros((N, N))
    for i in range(N):
        n_c = int(np.sum(codes == codes[i]))
        for j in range(N):
            if codes[i] == codes[j]:
                W_lw[i, j] = A[i, j] / n_c
                W_lb[i, j] = A[i, j] * (1 / N - 1 / n_c)
            else:
                W_lb[i, j] = 1 / N
    return pairwise_scatter(W_lb, X), pairwise_scatter(W_lw, X)


# LDE


def lde_graphs(X, codes, k, k_between, t=None):
    """W and W' with weights exp(−‖x_i − x_j‖²/t); without t, the mean over all directed edges."""
    N = len(X)
    within, between = [], []
    for i in range(N):
        same = [j for j in range(N) if codes[j] == codes[i]]
        other = [j for j in range(N) if codes[j] != codes[i]]
        within += [(i, j) for j in nearest_of(i, X, same, k)]
        between += [(i, j) for j in nearest_of(i, X, other, k_between)]
    if t is None:
        t = np.mean([squared_length(X[i], X[j]) for i, j in within + between])
    W, W_between = np.zeros((N, N)), np.zeros((N, N))
    for edges, weights in ((within, W), (between, W_between)):
        for i, j in edges:
            weights[i, j] = weights[j, i] = np.exp(-squared_length(X[i], X[j]) / t)
    return W, W_between, t


# What any solution must do


def rayleigh_quotient(B, A, V):
    """tr((V'AV)⁻¹ V'BV): what the leading generalised eigenvectors maximise over all subspaces."""
    return float(np.trace(np.linalg.solve(V.T @ A @ V, V.T @ B @ V)))


def cosines_between(V, U):
    """Cosines of the principal angles between the column spaces of V and U."""
    Q, _ = np.linalg.qr(V)
    R, _ = np.linalg.qr(U)
    return np.linalg.svd(Q.T @ R, compute_uv=False)
