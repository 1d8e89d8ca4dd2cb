"""Slow, obvious definitions of the compared methods, written from their papers and from nothing else.

NumPy, SciPy's eigensolver and scikit-learn's coordinate descent only. Samples are the rows of X.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, null_space
from sklearn.linear_model import Lasso

# Shared


def distance2(a, b):
    return float(np.sum((np.asarray(a, dtype=float) - np.asarray(b, dtype=float)) ** 2))


def gaussian(A, B, sigma):
    return np.array([[np.exp(-distance2(a, b) / sigma**2) for b in B] for a in A])


def nearest_of(i, X, candidates, k=None):
    """The k candidates nearest to sample i, itself left out; all where k is None or there are fewer."""
    others = sorted((j for j in candidates if j != i), key=lambda j: distance2(X[i], X[j]))
    return others if k is None else others[:k]


def laplacian(W):
    L = np.zeros_like(W)
    for i in range(len(W)):
        for j in range(len(W)):
            L[i, j] -= W[i, j]
            L[i, i] += W[i, j]
    return L


def neighbor_weights(X, k=None, beta=None):
    """exp(−‖x_i − x_j‖²/β) between neighbours; β the mean squared length of the directed edges."""
    edges = [(i, j) for i in range(len(X)) for j in nearest_of(i, X, range(len(X)), k)]
    beta = np.mean([distance2(X[i], X[j]) for i, j in edges]) if beta is None else beta
    W = np.zeros((len(X), len(X)))
    for i, j in edges:
        W[i, j] = W[j, i] = np.exp(-distance2(X[i], X[j]) / beta)
    return W


def left_out_neighbors(Y, codes, n_classes):
    """2 y_j'y_i − ‖y_j‖² of the nearest other sample of every class, for samples not alone in theirs."""
    values, own = [], []
    for i in range(len(Y)):
        rows = [[j for j in range(len(Y)) if j != i and codes[j] == c] for c in range(n_classes)]
        if rows[codes[i]]:
            values.append([max(2 * Y[j] @ Y[i] - Y[j] @ Y[j] for j in of_class) for of_class in rows])
            own.append(codes[i])
    return np.array(values), np.array(own)


# SUPLAP: Raducanu & Dornaika 2012


def suplap_neighbors(D2, i, allowed, kind, beta):
    """Which of the allowed samples are neighbours of x_i."""
    if kind is None:
        return allowed
    if kind == "adaptive":
        mean = np.mean([np.exp(-D2[i, k] / beta) for k in range(len(D2))])
        return [j for j in allowed if np.exp(-D2[i, j] / beta) > mean]
    return sorted(allowed, key=lambda j: D2[i, j])[:kind]


def suplap_matrix(X, codes, within, between, mu, beta=None):
    """L_w − μ L_b; edges if either is a neighbour of the other, Gaussian within, one between."""
    N = len(X)
    D2 = np.array([[distance2(a, b) for b in X] for a in X])
    beta = np.mean([D2[i, j] for i in range(N) for j in range(i)]) if beta is None else beta
    W_w, W_b = np.zeros((N, N)), np.zeros((N, N))
    for i in range(N):
        same = [j for j in range(N) if j != i and codes[j] == codes[i]]
        for j in suplap_neighbors(D2, i, same, within, beta):
            W_w[i, j] = W_w[j, i] = np.exp(-D2[i, j] / beta)
        other = [j for j in range(N) if codes[j] != codes[i]]
        for j in suplap_neighbors(D2, i, other, between, beta):
            W_b[i, j] = W_b[j, i] = 1.0
    return laplacian(W_w) - mu * laplacian(W_b)


# LFDA: Sugiyama 2007


def local_scale(i, X, members, k):
    """σ_i: distance to the k-th neighbour; where that is 0, to the nearest one farther than 0."""
    distances = [np.sqrt(distance2(X[i], X[j])) for j in nearest_of(i, X, members)]
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
                A[i, j] = np.exp(-distance2(X[i], X[j]) / product) if product > 0 else 1.0
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


# LDE: Chen, Chang & Liu 2005


def lde_scatters(X, codes, k=5, k_between=20, t=None):
    """Scatters of W' and W with weights exp(−‖x_i − x_j‖²/t), and t: the mean over directed edges."""
    N = len(X)
    within, between = [], []
    for i in range(N):
        same = [j for j in range(N) if codes[j] == codes[i]]
        other = [j for j in range(N) if codes[j] != codes[i]]
        within += [(i, j) for j in nearest_of(i, X, same, k)]
        between += [(i, j) for j in nearest_of(i, X, other, k_between)]
    if t is None:
        t = np.mean([distance2(X[i], X[j]) for i, j in within + between])
    scatters = []
    for edges in (between, within):
        W = np.zeros((N, N))
        for i, j in edges:
            W[i, j] = W[j, i] = np.exp(-distance2(X[i], X[j]) / t)
        scatters.append(pairwise_scatter(W, X))
    return *scatters, t


# NYS: Bengio et al. 2004


def normalized_kernel_matrix(A, X, sigma):
    """K̃(a, x) = K(a, x) / √(E_z K(a, z) E_z K(x, z)), z over the training samples X."""
    K, means = gaussian(A, X, sigma), gaussian(X, X, sigma).mean(axis=1)
    return np.array(
        [[K[i, j] / np.sqrt(K[i].mean() * means[j]) for j in range(len(X))] for i in range(len(A))]
    )


def eigenmap_of_kernel(K, d):
    """Eigenvectors to the largest eigenvalues but the first, which belongs to √(row means)."""
    values, vectors = eigh(K)
    return values[::-1][1 : d + 1], vectors[:, ::-1][:, 1 : d + 1]


def nystrom(X, Y, eigenvalues, A, sigma):
    """y_k(a) = (1/λ_k) Σ_i Y_ik K̃(a, x_i)."""
    K = normalized_kernel_matrix(A, X, sigma)
    return np.array([sum(Y[j] * K[i, j] for j in range(len(X))) for i in range(len(A))]) / eigenvalues


# SPE: Belkin & Niyogi 2003, Dornaika & Raducanu 2013


def laplacian_eigenmap(W, d):
    """L y = λ D y, the constant vector left out."""
    values, vectors = eigh(laplacian(W), np.diag(W.sum(axis=1)))
    return values[1 : d + 1], vectors[:, 1 : d + 1]


def sparse_code(X, x, alpha):
    """argmin ½‖x − Σ a_i u_i‖² + α max|u_i'x| ‖a‖₁, by coordinate descent."""
    U = np.array([row / np.linalg.norm(row) for row in X])
    x = x / np.linalg.norm(x)
    penalty = alpha * np.abs(U @ x).max() / len(x)  # scikit-learn divides the squares by their number
    return Lasso(penalty, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(U.T, x).coef_


def sparse_coding_map(X, Y, x, alpha):
    """y = Σ |a_i| y_i / Σ |a_i|."""
    a = np.abs(sparse_code(X, x, alpha))
    return sum(a[i] * Y[i] for i in range(len(X))) / a.sum()


# IsoKRR: Geng, Zhan & Zhou 2005


def class_dissimilarities(X, codes, beta, alpha):
    """Their Eq. 4, pair by pair; without β the square of the mean distance."""
    N = len(X)
    if beta is None:
        beta = np.mean([np.sqrt(distance2(X[i], X[j])) for i in range(N) for j in range(i)]) ** 2
    D = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            d2 = distance2(X[i], X[j])
            same = codes[i] == codes[j]
            D[i, j] = np.sqrt(1.0 - np.exp(-d2 / beta)) if same else np.sqrt(np.exp(d2 / beta)) - alpha
    return D


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


# MReg: Belkin, Niyogi & Sindhwani 2006


def mreg_laplacian(X, k, normalized):
    """Of the Gaussian neighbour graph, divided by the roots of both degrees where it is normalised."""
    W = neighbor_weights(X, k)
    L, D = laplacian(W), W.sum(axis=1)
    return (
        np.array([[L[i, j] / np.sqrt(D[i] * D[j]) for j in range(len(D))] for i in range(len(D))])
        if normalized
        else L
    )


def lap_rls_coefficients(K, L, y, labeled, gamma_A, gamma_I, n_labeled=None):
    """Their Eq. 8 as printed, with an inverse; ``n_labeled`` is l, if not their number."""
    N, n_labeled = len(K), int(np.sum(labeled)) if n_labeled is None else n_labeled
    J = np.diag(np.asarray(labeled, dtype=float))
    A = J @ K + gamma_A * n_labeled * np.eye(N) + gamma_I * n_labeled / N**2 * L @ K
    return np.linalg.inv(A) @ (J @ y)


# SemiRBF: Vural & Guillemot 2016


def refinement(K, Y, codes, ridge, n_rounds):
    """Coefficients and classes of all samples, labelled ones first: sample by sample, in lists."""
    n, N = len(Y), len(K)
    members, targets = list(range(n)), list(Y)
    for r in range(1, n_rounds + 1):
        A = np.array([[K[i, j] for j in members] for i in members]) + ridge * np.eye(len(members))
        C = np.linalg.inv(A) @ np.array(targets)
        found = []
        for u in range(n, N):
            f = sum(K[u, j] * c for j, c in zip(members, C, strict=True))
            distances = [np.linalg.norm(f - y) for y in Y]
            of_classes = [
                [d for d, k in zip(distances, codes, strict=True) if k == c] for c in set(codes)
            ]
            first, second = sorted(min(own) for own in of_classes)[:2]
            found.append(((second - first) / (second + first), u, int(np.argmin(distances))))
        surest = sorted(found, key=lambda one: (-one[0], one[1]))[: round(r * (N - n) / n_rounds)]
        chosen = sorted(surest, key=lambda one: one[1])
        members = list(range(n)) + [u for _, u, _ in chosen]
        targets = list(Y) + [Y[nearest] for _, _, nearest in chosen]
    C = np.linalg.inv(K + ridge * np.eye(N)) @ np.array(targets)
    return C, [*codes, *(codes[nearest] for _, _, nearest in chosen)]


# LPP: He & Niyogi 2004


def lpp_forms(X, codes, k, beta=None, supervised=False):
    """X'LX and X'DX of centred samples; complete class graphs, with k None, have weights 1/n_c."""
    N, X = len(X), X - X.mean(axis=0)
    W = np.zeros((N, N))
    if supervised and k is None:
        for i in range(N):
            for j in range(N):
                if codes[i] == codes[j]:
                    W[i, j] = 1 / np.sum(codes == codes[i])
    else:
        allowed = [[j for j in range(N) if not supervised or codes[j] == codes[i]] for i in range(N)]
        edges = [(i, j) for i in range(N) for j in nearest_of(i, X, allowed[i], k)]
        beta = np.mean([distance2(X[i], X[j]) for i, j in edges]) if beta is None else beta
        for i, j in edges:
            W[i, j] = W[j, i] = np.exp(-distance2(X[i], X[j]) / beta)
    degrees = sum(W.sum(axis=1)[i] * np.outer(X[i], X[i]) for i in range(N))
    return pairwise_scatter(W, X), degrees


# NPE: He, Cai, Yan & Zhang 2005


def reconstruction(X, neighbors):
    """W: weights of sum one that reconstruct every sample, one small system each."""
    W = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbors):
        if len(near):
            differences = X[i] - X[near]
            G = differences @ differences.T
            G += np.eye(len(near)) * (1e-3 * np.trace(G) if np.trace(G) > 0 else 1.0)
            w = np.linalg.solve(G, np.ones(len(near)))
            W[i, near] = w / w.sum()
    return W


def residual_scatter(X, neighbors):
    """Σ_i r_i r_i', r_i = x_i − Σ_j w_ij x_j, of samples that have neighbours."""
    W = reconstruction(X, neighbors)
    S = np.zeros((X.shape[1], X.shape[1]))
    for i, near in enumerate(neighbors):
        if len(near):
            r = X[i] - sum(W[i, j] * X[j] for j in near)
            S += np.outer(r, r)
    return S


def between_scatter(X, codes):
    """Σ_c n_c (m_c − m)(m_c − m)'."""
    m = X.mean(axis=0)
    means = [X[codes == c].mean(axis=0) - m for c in np.unique(codes)]
    return sum(np.sum(codes == c) * np.outer(v, v) for c, v in zip(np.unique(codes), means, strict=True))


# NPPE: Qiao, Zhang, Wang & Zhang 2013


def polynomial_features(X, degree):
    """Powers of every feature, one after the other, centred."""
    F = np.array([[x**q for q in range(1, degree + 1) for x in row] for row in X - X.mean(axis=0)])
    return F - F.mean(axis=0)


# ESLLE, from an abstract


def lle_matrix(X, neighbors):
    """(I − W)'(I − W)."""
    R = np.eye(len(X)) - reconstruction(X, neighbors)
    return R.T @ R


# MFA: Yan et al. 2007


def mfa_scatters(X, codes, k, n_pairs, groups=None):
    """Scatters of the nearest pairs of every group with other classes, and of neighbours in a group."""
    N, groups = len(X), codes if groups is None else groups
    W, W_between = np.zeros((N, N)), np.zeros((N, N))
    for i in range(N):
        for j in nearest_of(i, X, np.flatnonzero(groups == groups[i]), k):
            W[i, j] = W[j, i] = 1.0
    for g in np.unique(groups):
        pairs = [(i, j) for i in range(N) for j in range(N) if groups[i] == g and codes[j] != codes[i]]
        pairs.sort(key=lambda pair: distance2(X[pair[0]], X[pair[1]]))
        for i, j in pairs[:n_pairs]:
            W_between[i, j] = W_between[j, i] = 1.0
    return pairwise_scatter(W_between, X), pairwise_scatter(W, X)


# SOLDE, from an abstract


def solde_scatters(X, codes, k, k_between, beta, alpha):
    """X'L_F X and X'(α L_S − (1 − α) L_H)X from three graphs."""
    N = len(X)
    S, H, F = np.zeros((N, N)), np.zeros((N, N)), np.zeros((N, N))
    for i in range(N):
        for j in nearest_of(i, X, [j for j in range(N) if codes[j] == codes[i]], k):
            S[i, j] = S[j, i] = np.exp(-distance2(X[i], X[j]) / beta)
            H[i, j] = H[j, i] = 1.0 - S[i, j]
        for j in nearest_of(i, X, [j for j in range(N) if codes[j] != codes[i]], k_between):
            F[i, j] = F[j, i] = np.exp(-distance2(X[i], X[j]) / beta)
    return pairwise_scatter(F, X), alpha * pairwise_scatter(S, X) - (1 - alpha) * pairwise_scatter(H, X)


def orthogonal_maximisers(B, A, d):
    """Ratios and directions, one by one, in a basis of what is orthogonal to those before."""
    ratios, V = [], np.zeros((len(B), 0))
    for _ in range(d):
        basis = null_space(V.T) if V.shape[1] else np.eye(len(B))
        values, U = eigh(basis.T @ B @ basis, basis.T @ A @ basis)
        v = basis @ U[:, -1]
        ratios.append(values[-1])
        V = np.c_[V, v / np.linalg.norm(v)]
    return np.array(ratios), V


# KDA: Baudat & Anouar 2000


def kda_problem(K, codes, ridge):
    """c'K̃BK̃c and c'(K̃AK̃ + ρK̃)c of expansions Σ c_i k̃(x_i, ·), in a basis of where K̃ is regular."""
    N = len(K)
    J = np.eye(N) - np.ones((N, N)) / N
    averages = np.array(
        [[1 / np.sum(codes == codes[i]) * (codes[i] == codes[j]) for j in range(N)] for i in range(N)]
    )
    K = J @ K @ J
    _, U = eigh(K)
    U = U[:, 1:]  # without the constant, on which K̃ vanishes
    between = U.T @ K @ averages @ K @ U
    within = U.T @ K @ (np.eye(N) - averages) @ K @ U
    return between, within + ridge * U.T @ K @ U
