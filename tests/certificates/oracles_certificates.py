"""Slow, obvious definitions for the certificates: loops over samples, nothing expanded or blocked."""

from __future__ import annotations

import numpy as np


def value(Z, C, sigma, x):
    """f(x), a term at a time."""
    return sum(c * np.exp(-np.sum((x - z) ** 2) / sigma**2) for z, c in zip(Z, C, strict=True))


def gram(Z, C, sigma):
    """G = Σ_ij c_i c_j' k(z_i, z_j)."""
    total = np.zeros((C.shape[1], C.shape[1]))
    for z, c in zip(Z, C, strict=True):
        for other, e in zip(Z, C, strict=True):
            total += np.outer(c, e) * np.exp(-np.sum((z - other) ** 2) / sigma**2)
    return total


def solved_radius(norm, distance, sigma):
    """The r at which norm · √(2 − 2 exp(−r²/σ²)) reaches the distance, by halving intervals."""
    if distance <= 0:
        return 0.0
    if norm * np.sqrt(2) <= distance:
        return np.inf
    low, high = 0.0, sigma
    while norm * np.sqrt(2 - 2 * np.exp(-((high / sigma) ** 2))) < distance:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        inside = norm * np.sqrt(-2 * np.expm1(-((middle / sigma) ** 2))) < distance
        low, high = (middle, high) if inside else (low, middle)
    return low


def nearest_neighbor_radius(Z, C, sigma, Y, y, x):
    """Best own neighbour, worst rival: the distance of f(x) to the bisector of every pair."""
    G, f = gram(Z, C, sigma), value(Z, C, sigma, x)
    label = y[np.argmin(np.linalg.norm(Y - f, axis=1))]
    best = 0.0
    for i in np.flatnonzero(y == label):
        worst = np.inf
        for j in np.flatnonzero(y != label):
            a = (Y[j] - Y[i]) / np.linalg.norm(Y[j] - Y[i])
            to_bisector = a @ ((Y[i] + Y[j]) / 2 - f)
            worst = min(worst, solved_radius(np.sqrt(a @ G @ a), to_bisector, sigma))
        best = max(best, worst)
    return best


def separation(Y, y, point, label, skip=None):
    """(b − a)/max(a, b) of one point."""
    distances = [
        (np.linalg.norm(point - z), c) for k, (z, c) in enumerate(zip(Y, y, strict=True)) if k != skip
    ]
    a = min((r for r, c in distances if c == label), default=np.inf)
    b = min(r for r, c in distances if c != label)
    return -1.0 if np.isinf(a) else (b - a) / max(a, b)


def theorem_terms(X, Y, y, delta):
    """γ, A_δ and the smallest share of a class in an open ball, class by class."""
    gamma, A = np.inf, 0.0
    for i in range(len(y)):
        for j in range(i):
            apart = np.linalg.norm(Y[i] - Y[j])
            if y[i] != y[j]:
                gamma = min(gamma, apart)
            elif np.linalg.norm(X[i] - X[j]) <= 2 * delta:
                A = max(A, apart)
    eta = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        inside = [
            sum(np.linalg.norm(X[i] - X[j]) < delta for j in members if j != i) / (len(members) - 1)
            for i in members
        ]
        eta.append(min(inside))
    return gamma, A, np.array(eta)
