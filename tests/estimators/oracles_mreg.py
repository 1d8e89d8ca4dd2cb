"""Slow definitions of what MReg computes, from the paper of its authors; NumPy only."""

from __future__ import annotations

import numpy as np


def graph_laplacian(X, k, normalized):
    """Laplacian of the Gaussian neighbour graph whose width is the mean squared length of k-NN edges."""
    N = len(X)
    D2 = np.array([[float(np.sum((a - b) ** 2)) for b in X] for a in X])
    directed = []
    for i in range(N):
        others = sorted((j for j in range(N) if j != i), key=lambda j: D2[i, j])
        directed += [(i, j) for j in others[:k]]
    beta = np.mean([D2[pair] for pair in directed])
    W = np.zeros((N, N))
    for i, j in directed:
        W[i, j] = W[j, i] = np.exp(-D2[i, j] / beta)
    degrees = [sum(W[i]) for i in range(N)]
    L = np.diag(degrees) - W
    if not normalized:
        return L
    return np.array([[L[i, j] / np.sqrt(degrees[i] * degrees[j]) for j in range(N)] for i in range(N)])


def lap_rls_objective(alpha, K, L, y, labeled, gamma_A, gamma_I):
    """Belkin, Niyogi & Sindhwani (2006), Section 4.2, for one column of targets."""
    f = K @ alpha
    loss = np.mean([(y[i] - f[i]) ** 2 for i in range(len(y)) if labeled[i]])
    smoothness = sum(f[i] * L[i, j] * f[j] for i in range(len(f)) for j in range(len(f)))
    return float(loss + gamma_A * alpha @ K @ alpha + gamma_I / len(f) ** 2 * smoothness)


def lap_rls_coefficients(K, L, y, labeled, gamma_A, gamma_I):
    """Their Eq. 8 as printed, with an inverse."""
    N, n_labeled = len(K), int(np.sum(labeled))
    J = np.diag(np.asarray(labeled, dtype=float))
    A = J @ K + gamma_A * n_labeled * np.eye(N) + gamma_I * n_labeled / N**2 * L @ K
    return np.linalg.inv(A) @ (J @ y)
