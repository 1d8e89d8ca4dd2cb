"""The embedding at one σ against the paper's own eigenproblem, and against high precision."""

from __future__ import annotations

import numpy as np
import oracles_published as oracles
import pytest
from problems_published import EPS, dense_parts, kernel_of, problem_of, projector
from scipy.linalg import eigh

from nsse.published import embedding
from nsse.published.embedding import RankError, embed

SIGMA = 0.5


@pytest.mark.parametrize("d", [1, 3, 4, 9, 60])
@pytest.mark.parametrize("sigma", [0.2, 0.45])
@pytest.mark.parametrize(("mu1", "mu2"), [(0.01, 1e-4), (1.0, 1e-2), (0.5, 2.0), (100.0, 0.1)])
def test_it_solves_the_literal_eigenproblem(blobs, mu1, mu2, sigma, d):
    problem = problem_of(*blobs, mu1=mu1, mu2=mu2, n_components=d)
    A = oracles.literal_matrix(problem.D2, blobs.codes, dense_parts(problem)[0], mu1, mu2, sigma)
    values, vectors = eigh(A)
    found = embed(problem, sigma)
    # Eigenvalues of A are ours less μ1 N; the literal ones are good to ε‖A‖.
    floor = 100 * EPS * np.abs(values).max()
    np.testing.assert_allclose(found.eigenvalues, values[:d] + mu1 * 60, rtol=1e-6, atol=floor)
    gap = values[d] - values[d - 1] if d < 60 else np.inf
    tolerance = 1e-7 + 10 * floor / gap
    np.testing.assert_allclose(projector(found.Y), projector(vectors[:, :d]), atol=tolerance)


@pytest.mark.parametrize(("sigma", "d"), [(0.2, 1), (0.2, 60), (0.45, 9), (1.5, 1), (1.5, 9)])
def test_it_is_orthonormal_and_carried_by_its_coefficients(blobs, sigma, d):
    problem = problem_of(*blobs, n_components=d)
    found = embed(problem, sigma)
    np.testing.assert_allclose(found.Y.T @ found.Y, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(kernel_of(problem, sigma) @ found.coef, found.Y, atol=1e-8)
    costs = np.diag(found.Y.T @ dense_parts(problem)[1] @ found.Y) + 1e-2 * np.sum(found.coef**2, axis=0)
    np.testing.assert_allclose(costs, found.eigenvalues, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_embedding_is_cheaper(make_blobs, seed):
    problem = problem_of(*make_blobs((6, 5, 4), seed=seed), n_components=3)
    Y = np.linalg.qr(np.random.default_rng(seed).standard_normal((15, 3)))[0]
    C = np.linalg.solve(kernel_of(problem, SIGMA), Y)
    cost = np.trace(Y.T @ dense_parts(problem)[1] @ Y) + problem.weights.mu2 * np.sum(C**2)
    assert embed(problem, SIGMA).eigenvalues.sum() <= cost * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0])
def test_slope_is_the_difference_quotient(blobs, sigma, d):
    problem, h = problem_of(*blobs, mu1=0.5, n_components=d), 1e-4
    above, below = (embed(problem, sigma * np.exp(step)).excess for step in (h, -h))
    found = embed(problem, sigma)
    assert found.slope == pytest.approx((above - below) / (2 * h), rel=1e-5, abs=1e-6 * found.excess)


def test_a_tiny_kernel_scale_gives_the_class_means(make_blobs):
    """K = I where σ is far below every distance, so A + μ1 N I = S + μ2 I.

    S vanishes on vectors that are constant on classes and sum to zero: two classes of 6 and 3 samples
    have one, y = ±(√(3/(6·9)), −√(6/(3·9))), with λ = μ2.
    """
    X, codes = make_blobs((6, 3))
    found = embed(problem_of(X, codes, mu1=2.0, mu2=0.05, n_components=1), 1e-3)
    y = found.Y[:, 0]
    expected = np.where(codes == 0, np.sqrt(3 / 54), -np.sqrt(6 / 27))
    np.testing.assert_allclose(y * np.sign(y[0]), expected, atol=1e-8)
    assert found.eigenvalues[0] == pytest.approx(0.05, rel=1e-10)


def test_two_points_have_the_embedding_on_paper():
    """K = [[1, k], [k, 1]], k = exp(−1/σ²); y = (1, −1)/√2 with λ = μ2/(1 − k)²."""
    problem = problem_of(np.array([[0.0], [1.0]]), np.array([0, 1]), mu1=5.0, mu2=0.1, n_components=1)
    found, k = embed(problem, 0.8), np.exp(-1 / 0.8**2)
    np.testing.assert_allclose(np.abs(found.Y[:, 0]), np.sqrt(0.5), rtol=1e-12)
    assert found.eigenvalues[0] == pytest.approx(0.1 / (1 - k) ** 2, rel=1e-12)


# Conditioning


@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize(
    ("mu1", "mu2", "sigma", "route"),
    [
        (0.1, 1e-8, 0.5, "cholesky"),
        (0.1, 1e-12, 2.0, "qr"),
        (100.0, 1e-12, 8.0, "qr"),
        (1.0, 1e-15, 40.0, "qr"),
        (100.0, 1e-14, 2.0, "qr"),
    ],
)
def test_ill_conditioned_problems_agree_with_sixty_digits(make_blobs, mu1, mu2, sigma, route, d):
    X, codes = make_blobs((6, 4, 3), n_features=3)
    problem = problem_of(X, codes, mu1=mu1, mu2=mu2, n_components=d, n_neighbors=3)
    W = dense_parts(problem)[0]
    expected = oracles.precise_eigenvalues(problem.D2, W, codes, mu1, mu2, sigma, d)
    found = embed(problem, sigma)
    assert found.factorization == route
    # S itself is known to ε μ1 N: an eigenvalue below that has no digits to keep.
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-5, atol=4 * EPS * mu1 * 13)
    np.testing.assert_allclose(found.Y.T @ found.Y, np.eye(d), atol=1e-10)
    np.testing.assert_allclose(kernel_of(problem, sigma) @ found.coef, found.Y, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 2, 4])
@pytest.mark.parametrize(("mu1", "mu2", "sigma"), [(5e3, 1e-6, 0.2), (5e3, 1e-6, 0.3), (1e4, 1e-5, 0.4)])
def test_coordinates_beyond_the_classes_are_those_of_a_direct_solution(
    make_blobs, mu1, mu2, sigma, seed
):
    """Weights far apart: coordinates within classes have θ ten orders below the leading ones."""
    X, codes = make_blobs((12, 10, 8), seed=seed)
    problem = problem_of(X, codes, mu1=mu1, mu2=mu2, n_components=5)
    A = oracles.literal_matrix(problem.D2, codes, dense_parts(problem)[0], mu1, mu2, sigma)
    Y = eigh(A, subset_by_index=(0, 4))[1]
    cosines = np.linalg.svd(Y.T @ embed(problem, sigma).Y, compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-6)


@pytest.mark.parametrize("d", [3, 5, 8])
def test_ordinary_weights_do_not_need_qr(digits, blobs, d):
    for data, sigma in ((digits, 0.3), (digits, 1.0), (blobs, 0.5), (blobs, 3.0)):
        assert embed(problem_of(*data, n_components=d), sigma).factorization == "cholesky"


@pytest.mark.parametrize("d", [2, 5, 12])
def test_duplicates_give_the_solution_of_least_norm(make_blobs, d):
    X, codes = make_blobs((7, 5, 4))
    twice = np.sort(np.concatenate([np.arange(16), [0, 0, 8, 13]]))
    problem = problem_of(X[twice], codes[twice], mu1=0.5, n_components=d, n_neighbors=None)
    S = dense_parts(problem)[1]
    expected = oracles.least_norm_eigenvalues(kernel_of(problem, 0.4), S, 1e-2, d, rank=16)
    found = embed(problem, 0.4)
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-8)
    np.testing.assert_allclose(found.Y[0], found.Y[1], atol=1e-8)
    np.testing.assert_allclose(found.coef[0], found.coef[1], rtol=1e-6, atol=1e-8)


def test_as_many_components_as_distinct_samples_are_found_and_no_more(make_blobs):
    X, codes = make_blobs((7, 5, 4))
    twice = np.sort(np.concatenate([np.arange(16), [0, 8]]))
    assert embed(problem_of(X[twice], codes[twice], n_components=16), 0.4).Y.shape == (18, 16)
    with pytest.raises(RankError, match=r"`n_components` must .* Got 17\. Only 16 independent"):
        embed(problem_of(X[twice], codes[twice], n_components=17), 0.4)


# Independent routes agree


@pytest.mark.parametrize("d", [2, 5, 9])
def test_subspace_iteration_and_full_solver_agree(digits, monkeypatch, d):
    problem = problem_of(*digits, mu2=0.05, n_components=d)
    by_iteration = embed(problem, 0.6)
    monkeypatch.setattr(embedding, "MOST_STEPS", 0)
    by_full = embed(problem, 0.6)
    np.testing.assert_allclose(by_iteration.eigenvalues, by_full.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(projector(by_iteration.Y), projector(by_full.Y), atol=1e-6)


@pytest.mark.parametrize("d", [2, 5])
def test_qr_and_cholesky_agree(blobs, monkeypatch, d):
    problem = problem_of(*blobs, n_components=d)
    by_cholesky = embed(problem, SIGMA)
    monkeypatch.setattr(embedding, "LARGEST_CONDITION", 0.0)
    by_qr = embed(problem, SIGMA)
    assert (by_cholesky.factorization, by_qr.factorization) == ("cholesky", "qr")
    np.testing.assert_allclose(by_qr.eigenvalues, by_cholesky.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(projector(by_qr.Y), projector(by_cholesky.Y), atol=1e-7)
