"""Scores of samples that lose their label: the same as of a regression solved anew."""

import numpy as np
import pytest

from nsse.graphs import mean_degree_laplacian
from nsse.graphs.unsupervised import neighbor_affinity
from nsse.kernels import gaussian, squared_distances
from nsse.solvers.label_kernel import label_kernel, scores_without_labels


@pytest.mark.parametrize("price", [1.0, np.inf])
@pytest.mark.parametrize(("nu", "kappa"), [(0.3, 0.0), (1e-2, 5.0), (2.0, 40.0)])
def test_every_split_is_a_regression_of_its_own(price, nu, kappa):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3))
    n, M = 14, 3
    codes = np.arange(n) % M
    D2 = squared_distances(X)
    K, L = gaussian(D2, 1.2), mean_degree_laplacian(neighbor_affinity(D2, 3, None))
    H = label_kernel(K, K @ (L @ K), n, nu, kappa)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n)
        train, valid = order[:9], order[9:]
        found = scores_without_labels(H, codes, train, valid, M, price)
        Q = nu * np.eye(30) + kappa * K @ L.toarray() @ K
        A, A_new = K[train], K[valid]
        if np.isfinite(price):
            A, A_new = np.c_[A, np.ones(9)], np.c_[A_new, np.ones(5)]
            Q = np.block([[Q, np.zeros((30, 1))], [np.zeros((1, 30)), price * np.eye(1)]])
        shares = np.array([np.mean(codes[train] == c) for c in range(M)])
        c = np.linalg.solve(A.T @ A + Q, A.T @ (np.eye(M)[codes[train]] - shares))
        np.testing.assert_allclose(found, shares + A_new @ c, atol=1e-8)


def test_what_cannot_be_factored_is_told():
    K = np.ones((5, 5))
    assert label_kernel(K, -np.eye(5), 3, 1e-9, 1.0) is None
