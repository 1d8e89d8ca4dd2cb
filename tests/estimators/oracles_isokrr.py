"""Slow definitions of what IsoKRR computes, from the papers of its authors; NumPy only."""

from __future__ import annotations

import numpy as np


def class_dissimilarity_matrix(X, codes, beta, alpha):
    """Geng, Zhan & Zhou (2005), Eq. 4, pair by pair."""
    N = len(X)
    D = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            d2 = float(np.sum((X[i] - X[j]) ** 2))
            if codes[i] == codes[j]:
                D[i, j] = np.sqrt(1.0 - np.exp(-d2 / beta))
            else:
                D[i, j] = np.sqrt(np.exp(d2 / beta)) - alpha
    return D


def mean_distance(X):
    """Over all pairs of different samples."""
    N = len(X)
    lengths = [np.sqrt(np.sum((X[i] - X[j]) ** 2)) for i in range(N) for j in range(N) if i != j]
    return float(np.mean(lengths))


def neighbor_edges(D, k):
    """Pairs {i, j} with j among the k nearest of i or the other way round."""
    edges = set()
    for i in range(len(D)):
        others = sorted((j for j in range(len(D)) if j != i), key=lambda j: D[i, j])
        edges |= {frozenset((i, j)) for j in others[:k]}
    return edges


def pieces(edges, N):
    """Connected pieces as sets of samples."""
    found = [{i} for i in range(N)]
    for edge in edges:
        touching = [piece for piece in found if piece & edge]
        found = [piece for piece in found if not piece & edge] + [set().union(*touching)]
    return found


def joined(D, edges):
    """The edges, and the shortest one between every two pieces."""
    parts = pieces(edges, len(D))
    links = set()
    for a in range(len(parts)):
        for b in range(a):
            pairs = [(i, j) for i in parts[a] for j in parts[b]]
            links.add(frozenset(min(pairs, key=lambda pair: D[pair])))
    return edges | links


def floyd_warshall(D, edges):
    """Lengths of shortest paths, by three loops."""
    N = len(D)
    G = np.full((N, N), np.inf)
    for i in range(N):
        G[i, i] = 0.0
    for i, j in map(tuple, edges):
        G[i, j] = G[j, i] = D[i, j]
    for m in range(N):
        for i in range(N):
            for j in range(N):
                G[i, j] = min(G[i, j], G[i, m] + G[m, j])
    return G


def scaled_inner_products(G):
    """B = −½ J G² J with J = I − 11'/N."""
    N = len(G)
    J = np.eye(N) - np.ones((N, N)) / N
    return -0.5 * J @ (G**2) @ J
