"""One eigendecomposition for every weight: explicit solves, and the pencil of class means."""

import numpy as np
import pytest
from scipy import linalg

from nsse.kernels import gaussian, squared_distances
from nsse.solvers.closed_form import ClassTargets, KernelSpectrum

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


def spectrum_of(K, codes):
    return KernelSpectrum.of(K, ClassTargets.of(codes, codes.max() + 1))


def literal_targets(codes):
    """Row by row: 1 in the column of the own class, less the share of every class."""
    E = np.zeros((len(codes), codes.max() + 1))
    for i, code in enumerate(codes):
        E[i, code] = 1.0
    return E - [np.mean(codes == code) for code in range(codes.max() + 1)]


def class_means_pencil(K, codes, nu):
    """θ and C of B c = θ P c with C'BC = I, B = KGG'K, P = K(I − GG')K + νI, from definitions."""
    G = linalg.orth(literal_targets(codes), rcond=1e-10)
    B = K @ G @ G.T @ K
    P = K @ (np.eye(len(K)) - G @ G.T) @ K + nu * np.eye(len(K))
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


def test_scores_are_those_of_one_solve_per_weight(kernels, codes):
    K, K_new = kernels
    shares = np.bincount(codes) / len(codes)
    found = spectrum_of(K, codes).scores(K_new, NUS)
    for nu, scores in zip(NUS, found, strict=True):
        C = np.linalg.solve(K @ K + nu * np.eye(len(K)), K @ literal_targets(codes))
        np.testing.assert_allclose(scores, K_new @ C + shares, atol=1e-7)


def test_scores_add_up_to_one_and_are_the_shares_far_away(kernels, codes):
    K, K_new = kernels
    found = spectrum_of(K, codes).scores(np.r_[K_new, np.zeros((1, len(K)))], NUS)
    np.testing.assert_allclose(found.sum(axis=2), 1.0, atol=1e-9)
    np.testing.assert_allclose(found[:, -1], np.tile(np.bincount(codes) / len(codes), (len(NUS), 1)))


@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_scores_are_those_of_the_pencil_of_class_means(kernels, codes, nu):
    K, K_new = kernels
    theta, C = class_means_pencil(K, codes, nu)
    sizes = np.bincount(codes)
    f = K @ C
    means = np.array([f[codes == code].mean(axis=0) for code in range(len(sizes))])
    weighted = K_new @ C @ np.diag(theta / (1.0 + theta)) @ (means - f.mean(axis=0)).T
    found = spectrum_of(K, codes).scores(K_new, [nu])[0]
    np.testing.assert_allclose(found, sizes / len(codes) + sizes * weighted, atol=1e-6)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_coordinates_are_those_of_the_pencil_but_for_signs(kernels, codes, nu):
    K, K_new = kernels
    theta, C = class_means_pencil(K, codes, nu)
    weights = np.sqrt(theta / (1.0 + theta))
    own, new = spectrum_of(K, codes).coordinates(K_new, [nu])
    for found, rows in ((own[0], K), (new[0], K_new)):
        np.testing.assert_allclose(np.abs(found), np.abs(rows @ C * weights), atol=1e-6)


def test_duplicates_and_a_constant_kernel_have_scores():
    codes = np.array([0, 0, 1, 1])
    duplicated = gaussian(squared_distances(np.array([[0.0], [0.0], [1.0], [1.0]])), 1.0)
    scores = spectrum_of(duplicated, codes).scores(duplicated, NUS)
    assert np.array_equal(scores.argmax(axis=2), np.tile(codes, (len(NUS), 1)))
    own, new = spectrum_of(np.ones((4, 4)), codes).coordinates(np.ones((1, 4)), NUS)
    assert np.all(own == 0.0)
    assert np.all(new == 0.0)
