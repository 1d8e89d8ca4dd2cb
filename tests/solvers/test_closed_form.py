"""One eigendecomposition for every weight: the explicit solves, the pencil of class means, rows left out."""

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
    """Row by row: 1/n_c in the column of the own class, and 1/N less everywhere."""
    sizes = np.bincount(codes)
    E = np.zeros((len(codes), len(sizes)))
    for i, code in enumerate(codes):
        E[i, code] = 1.0 / sizes[code]
    return E - 1.0 / len(codes)


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
    np.testing.assert_allclose(targets.scaled, literal_targets(codes), atol=1e-15)
    G = targets.orthonormal
    np.testing.assert_allclose(G.T @ G, np.eye(codes.max()), atol=1e-13)
    np.testing.assert_allclose(G.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(G @ (G.T @ targets.scaled), targets.scaled, atol=1e-13)


def test_scores_are_those_of_one_solve_per_weight(kernels, codes):
    K, K_new = kernels
    found = spectrum_of(K, codes).scores(K_new, NUS)
    for nu, scores in zip(NUS, found, strict=True):
        C = np.linalg.solve(K @ K + nu * np.eye(len(K)), K @ literal_targets(codes))
        np.testing.assert_allclose(scores, K_new @ C, atol=1e-7)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_scores_are_those_of_the_pencil_of_class_means(kernels, codes, nu):
    K, K_new = kernels
    theta, C = class_means_pencil(K, codes, nu)
    means = np.array([(K @ C)[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    weights = theta / (1.0 + theta)
    expected = K_new @ C @ np.diag(weights) @ (means - (K @ C).mean(axis=0)).T
    np.testing.assert_allclose(spectrum_of(K, codes).scores(K_new, [nu])[0], expected, atol=1e-7)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_coordinates_are_those_of_the_pencil_but_for_signs(kernels, codes, nu):
    K, K_new = kernels
    theta, C = class_means_pencil(K, codes, nu)
    weights = np.sqrt(theta / (1.0 + theta))
    own, new = spectrum_of(K, codes).coordinates(K_new, [nu])
    for found, rows in ((own[0], K), (new[0], K_new)):
        np.testing.assert_allclose(np.abs(found), np.abs(rows @ C * weights), atol=1e-6)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_a_row_left_out_is_left_out_of_the_regression(kernels, codes, nu):
    K, _ = kernels
    found = spectrum_of(K, codes).left_out_scores([nu])[0]
    targets = literal_targets(codes)
    for i in range(len(codes)):
        rest = np.delete(np.arange(len(codes)), i)
        C = np.linalg.solve(K[rest].T @ K[rest] + nu * np.eye(len(K)), K[rest].T @ targets[rest])
        np.testing.assert_allclose(found[i], K[i] @ C, atol=1e-8)


def test_duplicates_and_a_constant_kernel_have_scores():
    codes = np.array([0, 0, 1, 1])
    duplicated = gaussian(squared_distances(np.array([[0.0], [0.0], [1.0], [1.0]])), 1.0)
    scores = spectrum_of(duplicated, codes).scores(duplicated, NUS)
    assert np.array_equal(scores.argmax(axis=2), np.tile(codes, (len(NUS), 1)))
    own, new = spectrum_of(np.ones((4, 4)), codes).coordinates(np.ones((1, 4)), NUS)
    assert np.all(own == 0.0)
    assert np.all(new == 0.0)
