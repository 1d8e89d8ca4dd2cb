"""Slow, obvious definitions, written from Sections 3 and 4 of the paper and from nothing else.

Double loops where a test may wait. `literal_nsse` is Algorithm 1 as printed and the baseline for speed:
as plain as the paper, with no work that the paper does not ask for. NumPy and SciPy only.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from scipy.linalg import eigh, inv, solve
from scipy.spatial.distance import cdist

# Graphs (Section 4.1)


def within_class_neighbors(X, codes, n_neighbors=None):
    """Directed pairs (i, j): j is one of the nearest samples to i in the class of i."""
    pairs = []
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i and codes[j] == codes[i]]
        others.sort(key=lambda j: float(np.sum((X[i] - X[j]) ** 2)))
        pairs += [(i, j) for j in (others if n_neighbors is None else others[:n_neighbors])]
    return pairs


def within_class_weights(X, codes, n_neighbors=None, beta=None):
    """(W_w)_ij = exp(−‖x_i − x_j‖²/β) where i is a neighbour of j or j of i."""
    pairs = within_class_neighbors(X, codes, n_neighbors)
    if beta is None:
        lengths = [float(np.sum((X[i] - X[j]) ** 2)) for i, j in pairs]
        beta = float(np.mean(lengths)) if lengths and max(lengths) > 0 else 1.0
    W = np.zeros((len(X), len(X)))
    for i, j in pairs:
        W[i, j] = W[j, i] = np.exp(-np.sum((X[i] - X[j]) ** 2) / beta)
    return W


def between_class_weights(codes):
    """(W_b)_ij = 1 where the labels differ."""
    N = len(codes)
    W = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if codes[i] != codes[j]:
                W[i, j] = 1.0
    return W


def degree_matrix(W):
    """D_ii = Σ_j W_ij."""
    D = np.zeros_like(W)
    for i in range(len(W)):
        D[i, i] = sum(W[i, j] for j in range(len(W)))
    return D


def laplacian_matrix(W):
    """L = D − W."""
    return degree_matrix(W) - W


def shifted_matrix(W_w, codes, mu1):
    """S = L_w + μ1 (N I − L_b), from the definitions of L_w and L_b."""
    L_b = laplacian_matrix(between_class_weights(codes))
    return laplacian_matrix(W_w) + mu1 * (len(codes) * np.eye(len(codes)) - L_b)


# The kernel and the map (Eq. 6)


def squared_distance_matrix(X, Z):
    """‖x_i − z_j‖², pair by pair."""
    D2 = np.zeros((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            D2[i, j] = np.sum((X[i] - Z[j]) ** 2)
    return D2


def kernel_matrix(X, Z, sigma):
    """Ψ_ij = φ(‖x_i − z_j‖), φ(r) = exp(−r²/σ²)."""
    return np.exp(-squared_distance_matrix(X, Z) / sigma**2)


def rbf_map(x, centers, C, sigma):
    """f(x) = Σ_i c_i φ(‖x − x_i‖)."""
    value = np.zeros(C.shape[1])
    for center, c in zip(centers, C, strict=True):
        value += c * np.exp(-np.sum((x - center) ** 2) / sigma**2)
    return value


# The objective (Eq. 11)


def weighted_spread(Y, W):
    """Σ over pairs of ‖y_i − y_j‖² w_ij = tr(Y'LY), every pair once."""
    total = 0.0
    for i in range(len(Y)):
        for j in range(i):
            total += W[i, j] * np.sum((Y[i] - Y[j]) ** 2)
    return total


@dataclass(frozen=True)
class Terms:
    """The four terms of Eq. (11), with their weights and signs."""

    within: float
    between: float
    regularity: float
    scale: float

    @property
    def objective(self):
        return self.within + self.between + self.regularity + self.scale


def objective_terms(Y, C, sigma, W_w, codes, mu1, mu2, mu3):
    """Eq. (11) at an embedding with its coefficients: tr(Y'Ψ⁻²Y) = ‖C‖²."""
    return Terms(
        within=weighted_spread(Y, W_w),
        between=-mu1 * weighted_spread(Y, between_class_weights(codes)),
        regularity=mu2 * float(np.sum(C**2)),
        scale=mu3 / sigma**2,
    )


# Algorithm 1


@dataclass(frozen=True)
class Literal:
    """What Algorithm 1 returns, and the objective after each of its half-steps."""

    Y: np.ndarray
    C: np.ndarray
    sigma: float
    eigenvalues: np.ndarray
    sigmas: list[float]
    after_embedding: list[float]
    after_scale: list[float]


def literal_matrix(D2, codes, W_w, mu1, mu2, sigma):
    """A = L_w − μ1 L_b + μ2 Ψ⁻², Eq. (13), with Ψ inverted."""
    W_b = (codes[:, np.newaxis] != codes).astype(float)
    L_w = np.diag(W_w.sum(axis=1)) - W_w
    L_b = np.diag(W_b.sum(axis=1)) - W_b
    Psi_inverse = inv(np.exp(-D2 / sigma**2))
    return L_w - mu1 * L_b + mu2 * Psi_inverse @ Psi_inverse


def literal_nsse(X, codes, d, mu1, mu2, mu3, W_w, sigmas, sigma_init, tol=1e-12, max_iter=100):
    """Algorithm 1: alternate between Y and σ until the objective is stable.

    ``sigmas`` is the dense sampling of [σ_min, σ_max] that line 5 searches.
    """
    D2 = cdist(X, X, "sqeuclidean")
    sigma, previous = sigma_init, np.inf
    started_from, after_embedding, after_scale = [], [], []
    for _ in range(max_iter):
        started_from.append(sigma)
        # Line 4: Y, the eigenvectors of A to its d smallest eigenvalues
        A = literal_matrix(D2, codes, W_w, mu1, mu2, sigma)
        eigenvalues, Y = eigh(A, subset_by_index=(0, d - 1))
        after_embedding.append(eigenvalues.sum() + mu3 / sigma**2)
        # Line 5: σ, by exhaustive search; only the last two terms depend on it
        costs = [mu2 * np.sum(solve(np.exp(-D2 / s**2), Y) ** 2) + mu3 / s**2 for s in sigmas]
        graph_part = after_embedding[-1] - _scale_cost(D2, Y, sigma, mu2, mu3)
        best = int(np.argmin(costs))
        sigma, objective = float(sigmas[best]), float(graph_part + costs[best])
        after_scale.append(objective)
        if sigma == started_from[-1] or abs(previous - objective) <= tol * abs(objective):
            break
        previous = objective
    C = solve(np.exp(-D2 / sigma**2), Y)
    return Literal(Y, C, sigma, eigenvalues, started_from, after_embedding, after_scale)


def _scale_cost(D2, Y, sigma, mu2, mu3):
    return mu2 * np.sum(solve(np.exp(-D2 / sigma**2), Y) ** 2) + mu3 / sigma**2


# References for ill-conditioned problems


def least_norm_eigenvalues(Psi, S, mu2, d, rank):
    """Smallest eigenvalues of S + μ2 (Ψ⁺)² on the range of a singular Ψ: y = Ψc with the shortest c."""
    values, vectors = eigh(Psi)
    values, vectors = values[-rank:], vectors[:, -rank:]
    return eigh(vectors.T @ S @ vectors + mu2 * np.diag(values**-2.0), eigvals_only=True)[:d]


def precise_eigenvalues(D2, W_w, codes, mu1, mu2, sigma, d, digits=60):
    """Smallest eigenvalues of A + μ1 N I, the inverse of Ψ and all, in 60 decimal digits."""
    with localcontext() as context:
        context.prec = digits
        N = len(codes)
        exact = [[Decimal(float(D2[max(i, j), min(i, j)])) for j in range(N)] for i in range(N)]
        Psi = [[(-value / Decimal(sigma) ** 2).exp() for value in row] for row in exact]
        Psi_inverse = _precise_inverse(Psi)
        A = [[Decimal(mu2) * v for v in row] for row in _precise_product(Psi_inverse, Psi_inverse)]
        weights = [[Decimal(float(W_w[i, j])) for j in range(N)] for i in range(N)]
        for i in range(N):
            for j in range(N):
                w_between = Decimal(mu1) if codes[i] != codes[j] else Decimal(0)
                A[i][j] += w_between - weights[i][j]  # −W_w + μ1 W_b
                A[i][i] += weights[i][j] - w_between  # D_w − μ1 D_b
            A[i][i] += Decimal(mu1) * N
        return np.array([float(value) for value in _jacobi_eigenvalues(A, digits)[:d]])


def _precise_product(A, B):
    columns = list(zip(*B, strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in A]


def _precise_inverse(A):
    """Gauss and Jordan, with row pivots."""
    N = len(A)
    rows = [list(row) + [Decimal(int(i == j)) for j in range(N)] for i, row in enumerate(A)]
    for k in range(N):
        pivot = max(range(k, N), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for r in range(N):
            if r != k:
                factor = rows[r][k]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[N:] for row in rows]


def _jacobi_eigenvalues(A, digits):
    """Jacobi rotations until nothing is left beside the diagonal."""
    N = len(A)
    while True:
        beside = max(abs(A[i][j]) for i in range(N) for j in range(i))
        if beside <= Decimal(10) ** (15 - digits) * max(abs(A[i][i]) for i in range(N)):
            return sorted(A[i][i] for i in range(N))
        for p in range(N):
            for q in range(p + 1, N):
                if A[p][q] != 0:
                    _rotate(A, p, q)


def _rotate(A, p, q):
    ratio = (A[q][q] - A[p][p]) / (2 * A[p][q])
    tangent = (1 if ratio >= 0 else -1) / (abs(ratio) + (ratio * ratio + 1).sqrt())
    cosine = 1 / (tangent * tangent + 1).sqrt()
    sine = tangent * cosine
    for k in range(len(A)):
        A[k][p], A[k][q] = cosine * A[k][p] - sine * A[k][q], sine * A[k][p] + cosine * A[k][q]
    for k in range(len(A)):
        A[p][k], A[q][k] = cosine * A[p][k] - sine * A[q][k], sine * A[p][k] + cosine * A[q][k]
