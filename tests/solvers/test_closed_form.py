"""One eigendecomposition for every weight: explicit solves, and the pencil of class means."""

import numpy as np
import pytest
from scipy import linalg

from nsse.kernels import gaussian, squared_distances
from nsse.solvers.closed_form import ClassTargets, KernelSpectrum

PRICES = (0.01, 1.0, np.inf)
NUS = (1e-6, 1e-3, 0.1, 10.0)
SIZES = {"equal": (8, 8, 8), "unequal": (3, 15, 6, 1), "two": (4, 17)}


@pytest.fixture(params=SIZES.values(), ids=SIZES.keys())
def codes(request):
    codes = np.repeat(np.arange(len(request.param)), request.param)
    return np.random.default_rng(1).permutation(codes)


@pytest.fixture
def kernels(codes):
    """K of the samples and K from five new ones to them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(codes) + 5, 3)) + np.r_[codes, np.zeros(5)][:, np.newaxis]
    K = gaussian(squared_distances(X), 1.5)
    return K[: len(codes), : len(codes)], K[len(codes) :, : len(codes)]


def spectrum_of(K, codes, price):
    return KernelSpectrum.of(K, ClassTargets.of(codes, codes.max() + 1), price)


def literal_targets(codes):
    """Row by row: 1 in the column of the own class, less the share of every class."""
    E = np.zeros((len(codes), codes.max() + 1))
    for i, code in enumerate(codes):
        E[i, code] = 1.0
    return E - [np.mean(codes == code) for code in range(codes.max() + 1)]


def class_means_pencil(K, codes, nu, price):
    """θ and C of B c = θ P c with C'BC = I, from definitions."""
    N = len(K)
    G = linalg.orth(literal_targets(codes), rcond=1e-10)
    B = K @ G @ G.T @ K
    P = K @ (np.eye(N) - G @ G.T - np.ones((N, N)) / (N + price)) @ K + nu * np.eye(N)
    theta, C = linalg.eigh(B, P)
    theta, C = theta[::-1][: G.shape[1]], C[:, ::-1][:, : G.shape[1]]
    return theta, C / np.sqrt(theta)  # eigh has C'PC = I


def test_targets_are_centred_and_orthonormal(codes):
    targets = ClassTargets.of(codes, codes.max() + 1)
    np.testing.assert_allclose(targets.centred, literal_targets(codes), atol=1e-15)
    G = targets.orthonormal
    np.testing.assert_allclose(G.T @ G, np.eye(codes.max()), atol=1e-13)
    np.testing.assert_allclose(G.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(G @ (G.T @ targets.centred), targets.centred, atol=1e-13)


@pytest.mark.parametrize("price", PRICES)
def test_scores_are_those_of_one_solve_per_weight(kernels, codes, price):
    K, K_new = kernels
    N = len(K)
    shares = np.bincount(codes) / N
    # A column of ones, or without a constant none, and its own penalty.
    A, A_new = (np.c_[k, np.ones(len(k))] if np.isfinite(price) else k for k in (K, K_new))
    found = spectrum_of(K, codes, price).scores(K_new, NUS)
    for nu, scores in zip(NUS, found, strict=True):
        penalties = np.diag(np.r_[np.full(N, nu), price][: A.shape[1]])
        C = np.linalg.solve(A.T @ A + penalties, A.T @ literal_targets(codes))
        np.testing.assert_allclose(scores, A_new @ C + shares, atol=1e-6)


@pytest.mark.parametrize("price", PRICES)
def test_scores_add_up_to_one(kernels, codes, price):
    K, K_new = kernels
    found = spectrum_of(K, codes, price).scores(np.r_[K_new, np.zeros((1, len(K)))], NUS)
    np.testing.assert_allclose(found.sum(axis=2), 1.0, atol=1e-9)
    if np.isinf(price):  # far from all samples
        np.testing.assert_allclose(found[:, -1], np.tile(np.bincount(codes) / len(codes), (len(NUS), 1)))


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_scores_are_those_of_the_pencil_of_class_means(kernels, codes, nu, price):
    K, K_new = kernels
    theta, C = class_means_pencil(K, codes, nu, price)
    sizes = np.bincount(codes)
    f, mean = K @ C, (K @ C).mean(axis=0)
    means = np.array([f[codes == code].mean(axis=0) for code in range(len(sizes))])
    moved = K_new @ C - mean * len(K) / (len(K) + price)
    expected = sizes / len(codes) + sizes * (moved * theta / (1.0 + theta) @ (means - mean).T)
    found = spectrum_of(K, codes, price).scores(K_new, [nu])[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_coordinates_are_those_of_the_pencil_but_for_signs(kernels, codes, nu, price):
    K, K_new = kernels
    theta, C = class_means_pencil(K, codes, nu, price)
    weights = np.sqrt(theta / (1.0 + theta))
    own, new = spectrum_of(K, codes, price).coordinates(K_new, [nu])
    for found, rows in ((own[0], K), (new[0], K_new)):
        np.testing.assert_allclose(np.abs(found), np.abs(rows @ C * weights), atol=1e-6)


def test_duplicates_and_a_constant_kernel_have_scores():
    codes = np.array([0, 0, 1, 1])
    duplicated = gaussian(squared_distances(np.array([[0.0], [0.0], [1.0], [1.0]])), 1.0)
    scores = spectrum_of(duplicated, codes, 1.0).scores(duplicated, NUS)
    assert np.array_equal(scores.argmax(axis=2), np.tile(codes, (len(NUS), 1)))
    own, new = spectrum_of(np.ones((4, 4)), codes, 1.0).coordinates(np.ones((1, 4)), NUS)
    assert np.all(own == 0.0)
    assert np.all(new == 0.0)
