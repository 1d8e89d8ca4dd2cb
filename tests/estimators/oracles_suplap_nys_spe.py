"""Slow, obvious definitions of SUPLAP, NYS and SPE, written from their papers and from nothing else."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize


def distance2(a, b):
    return float(np.sum((np.asarray(a, dtype=float) - np.asarray(b, dtype=float)) ** 2))


def mean_squared_distance(X):
    pairs = [distance2(X[i], X[j]) for i in range(len(X)) for j in range(i)]
    return float(np.mean(pairs))


def laplacian(W):
    L = np.zeros_like(W)
    for i in range(len(W)):
        for j in range(len(W)):
            L[i, j] -= W[i, j]
            L[i, i] += W[i, j]
    return L


def spread(Y, W):
    """tr(Y'LY) = ½ Σ_ij ‖y_i − y_j‖² w_ij."""
    return 0.5 * sum(W[i, j] * distance2(Y[i], Y[j]) for i in range(len(Y)) for j in range(len(Y)))


# SUPLAP: Raducanu & Dornaika 2012


def neighbors(D2, i, allowed, kind, beta):
    """Which of the allowed samples are neighbours of x_i."""
    if kind is None:
        return allowed
    if kind == "adaptive":
        mean = np.mean([np.exp(-D2[i, k] / beta) for k in range(len(D2))])
        return [j for j in allowed if np.exp(-D2[i, j] / beta) > mean]
    return sorted(allowed, key=lambda j: D2[i, j])[:kind]


def suplap_weights(X, codes, within, between, beta=None):
    """W_w (Gaussian) and W_b (ones), an edge if either is a neighbour of the other."""
    D2 = np.array([[distance2(a, b) for b in X] for a in X])
    beta = mean_squared_distance(X) if beta is None else beta
    W_w, W_b = np.zeros((len(X), len(X))), np.zeros((len(X), len(X)))
    for i in range(len(X)):
        same = [j for j in range(len(X)) if j != i and codes[j] == codes[i]]
        for j in neighbors(D2, i, same, within, beta):
            W_w[i, j] = W_w[j, i] = np.exp(-D2[i, j] / beta)
        for j in neighbors(D2, i, [j for j in range(len(X)) if codes[j] != codes[i]], between, beta):
            W_b[i, j] = W_b[j, i] = 1.0
    return W_w, W_b


def suplap_objective(Y, W_w, W_b, mu):
    """Eq. (2) of the paper."""
    return spread(Y, W_w) - mu * spread(Y, W_b)


# NYS: Bengio et al. 2004


def reach(X, a, k):
    """Distance from a to the nearest k + 1 training samples, a itself counted if it is one."""
    return np.inf if k is None else sorted(np.sqrt(distance2(a, x)) for x in X)[min(k, len(X) - 1)]


def kernel_matrix(A, X, sigma, k=None):
    """K(a, x), zero between points that are no neighbours."""
    reach_a, reach_x = [reach(X, a, k) for a in A], [reach(X, x, k) for x in X]
    K = np.zeros((len(A), len(X)))
    for i, a in enumerate(A):
        for j, x in enumerate(X):
            if np.sqrt(distance2(a, x)) <= max(reach_a[i], reach_x[j]) * (1 + 1e-9) + 1e-9:
                K[i, j] = np.exp(-distance2(a, x) / sigma**2)
    return K


def normalized_kernel_matrix(A, X, sigma, k=None):
    """K̃(a, x) = K(a, x) / √(E_z K(a, z) E_z K(x, z)), z over the training samples X."""
    K, means = kernel_matrix(A, X, sigma, k), kernel_matrix(X, X, sigma, k).mean(axis=1)
    for i in range(len(A)):
        mean = K[i].mean()
        for j in range(len(X)):
            K[i, j] /= np.sqrt(mean * means[j])
    return K


def eigenmap_of_kernel(K, d):
    """Eigenvectors to the largest eigenvalues but the first, which belongs to √(row means)."""
    values, vectors = eigh(K)
    return values[::-1][1 : d + 1], vectors[:, ::-1][:, 1 : d + 1]


def nystrom(X, Y, eigenvalues, A, sigma, k=None):
    """y_k(a) = (1/λ_k) Σ_i Y_ik K̃(a, x_i)."""
    K = normalized_kernel_matrix(A, X, sigma, k)
    values = np.zeros((len(A), Y.shape[1]))
    for i in range(len(A)):
        for j in range(len(X)):
            values[i] += Y[j] * K[i, j]
    return values / eigenvalues


# SPE: Belkin & Niyogi 2003, Dornaika & Raducanu 2013


def neighbor_weights(X, k=None, beta=None):
    """exp(−‖x_i − x_j‖²/β) between neighbours; β the mean squared length of the directed edges."""
    edges = []
    for i in range(len(X)):
        others = sorted((j for j in range(len(X)) if j != i), key=lambda j: distance2(X[i], X[j]))
        edges += [(i, j) for j in others[:k]]
    beta = np.mean([distance2(X[i], X[j]) for i, j in edges]) if beta is None else beta
    W = np.zeros((len(X), len(X)))
    for i, j in edges:
        W[i, j] = W[j, i] = np.exp(-distance2(X[i], X[j]) / beta)
    return W


def laplacian_eigenmap(W, d):
    """L y = λ D y, the constant vector left out."""
    values, vectors = eigh(laplacian(W), np.diag(W.sum(axis=1)))
    return values[1 : d + 1], vectors[:, 1 : d + 1]


def sparse_code(X, x, alpha):
    """argmin ½‖x − Σ a_i u_i‖² + α max|u_i'x| ‖a‖₁, a = p − q with p, q ≥ 0, by a general optimiser."""
    U = np.array([row / np.linalg.norm(row) for row in X])
    x = x / np.linalg.norm(x)
    penalty = alpha * np.abs(U @ x).max()
    N = len(U)

    def cost(pq):
        residual = x - (pq[:N] - pq[N:]) @ U
        slope = -U @ residual
        value = 0.5 * residual @ residual + penalty * pq.sum()
        return value, np.concatenate([slope + penalty, -slope + penalty])

    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-10}
    found = minimize(
        cost, np.zeros(2 * N), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * N), options=options
    )
    return found.x[:N] - found.x[N:]


def sparse_coding_map(X, Y, x, alpha):
    """y = Σ |a_i| y_i / Σ |a_i|."""
    a = sparse_code(X, x, alpha)
    total, value = 0.0, np.zeros(Y.shape[1])
    for i in range(len(X)):
        value += abs(a[i]) * Y[i]
        total += abs(a[i])
    return value / total
