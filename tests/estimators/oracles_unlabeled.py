"""The objective with samples that have no label, by double loops over all of them and nothing else."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def neighbor_weights(X, k):
    """W_ij = exp(−‖x_i − x_j‖²/β) where j is one of the k nearest of i or i of j; β half their mean."""
    N = len(X)
    d2 = np.array([[float(np.sum((a - b) ** 2)) for b in X] for a in X])
    pairs = []
    for i in range(N):
        others = sorted((j for j in range(N) if j != i), key=lambda j: d2[i, j])
        pairs += [(i, j) for j in others[:k]]
    beta = np.mean([d2[i, j] for i, j in pairs]) / 2
    W = np.zeros((N, N))
    for i, j in pairs:
        W[i, j] = W[j, i] = np.exp(-d2[i, j] / beta)
    return W


def class_weights(X, codes, k):
    """The same inside every class, with one β."""
    pairs = []
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i and codes[j] == codes[i]]
        others.sort(key=lambda j: float(np.sum((X[i] - X[j]) ** 2)))
        pairs += [(i, j) for j in others[:k]]
    beta = np.mean([float(np.sum((X[i] - X[j]) ** 2)) for i, j in pairs])
    W = np.zeros((len(X), len(X)))
    for i, j in pairs:
        W[i, j] = W[j, i] = np.exp(-np.sum((X[i] - X[j]) ** 2) / beta)
    return W


def kernel(X, Z, sigma):
    return np.array([[np.exp(-np.sum((x - z) ** 2) / sigma**2) for z in Z] for x in X])


def objective(X, codes, labeled, C, *, Z, sigma, mu1, mu2, mu3, mu4, n_neighbors, k=3):
    """All terms at coefficients C; ``codes`` are those of the labelled samples, in their order."""
    Y = kernel(X, Z, sigma) @ C
    own, X_own = Y[labeled], X[labeled]
    n, N, M = len(own), len(X), int(codes.max()) + 1
    W, W_all = class_weights(X_own, codes, n_neighbors), neighbor_weights(X, k)
    within = same = along = 0.0
    for i in range(n):
        for j in range(n):
            gap = float(np.sum((own[i] - own[j]) ** 2))
            within += W[i, j] * gap / 2
            same += (codes[i] == codes[j]) * gap / 2
    for i in range(N):
        for j in range(N):
            along += W_all[i, j] * float(np.sum((Y[i] - Y[j]) ** 2)) / 2
    along /= W_all.sum() / N  # the mean degree
    centring = (1.0 if M > 2 else 1.0 / (n + 1.0)) / M
    pull = same + centring * float(np.sum(own.sum(axis=0) ** 2))
    return within + mu1 * pull + mu2 * np.sum(C**2) + mu3 / sigma**2 + mu4 * along


def solved(X, codes, labeled, n_components, **params):
    """The least values of the objective, one per coordinate, and its coordinates at all samples.

    P is read off the objective itself: its values at sums of unit vectors.
    """
    Z, sigma = params["Z"], params["sigma"]
    m, free = len(Z), params | {"mu3": 0.0}
    unit = np.eye(m)
    single = [objective(X, codes, labeled, unit[:, [a]], **free) for a in range(m)]
    P = np.diag(single).astype(float)
    for a in range(m):
        for b in range(a):
            both = objective(X, codes, labeled, unit[:, [a]] + unit[:, [b]], **free)
            P[a, b] = P[b, a] = (both - single[a] - single[b]) / 2
    K = kernel(X, Z, sigma)
    own, n = K[labeled], int(np.sum(labeled))
    means = np.array([own[codes == c].mean(axis=0) for c in range(int(codes.max()) + 1)])
    sizes = np.bincount(codes)
    centred = means - own.mean(axis=0)
    B = sum(size * np.outer(row, row) for size, row in zip(sizes, centred, strict=True))
    assert n == sizes.sum()
    theta, C = eigh(B, P)
    theta, C = theta[::-1][:n_components], C[:, ::-1][:, :n_components]
    return 1.0 / theta, K @ (C / np.sqrt(theta))
