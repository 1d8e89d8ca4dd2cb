"""The solution at one σ against the paper's own method, and against high precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

import oracles
from nsse.kernels import gaussian
from nsse.solvers import constraint, fix_signs, pencil, solve_fixed, solve_pencil
from nsse.solvers.constraint import HeldKernel
from nsse.solvers.factors import factorize, stacked_qr
from problems import EPS, dense_parts, projector, two_points

# One σ: the pencil is the paper's eigenproblem


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 60])
@pytest.mark.parametrize("sigma", [0.2, 0.45])
@pytest.mark.parametrize(("mu1", "mu2"), [(0.01, 1e-4), (1.0, 1e-2), (0.5, 2.0), (100.0, 0.1)])
def test_pencil_equals_the_literal_eigenproblem(blobs, make_problem, mu1, mu2, sigma, d):
    problem = make_problem(blobs, mu1=mu1, mu2=mu2, n_components=d)
    W, _ = dense_parts(problem)
    A = oracles.literal_matrix(problem.D2, blobs.codes, W, mu1, mu2, sigma)
    values, vectors = eigh(A)
    solution = solve_pencil(problem, sigma)
    # Eigenvalues of A are those of the pencil less μ1 N; the literal ones are good to ε‖A‖.
    shifted = values[:d] + mu1 * 60
    floor = 100 * EPS * np.abs(values).max()
    np.testing.assert_allclose(solution.eigenvalues, shifted, rtol=1e-6, atol=floor)
    gap = values[d] - values[d - 1] if d < 60 else np.inf
    tolerance = 1e-7 + 10 * floor / gap
    np.testing.assert_allclose(projector(solution.embedding), projector(vectors[:, :d]), atol=tolerance)


@pytest.mark.parametrize(
    ("sigma", "d"),
    [(0.2, 1), (0.2, 4), (0.2, 60), (0.45, 3), (0.45, 9), (0.45, 60), (1.5, 1), (1.5, 4), (1.5, 9)],
)
def test_embedding_is_orthonormal_and_carried_by_its_coefficients(blobs, make_problem, sigma, d):
    problem = make_problem(blobs, n_components=d)
    solution = solve_pencil(problem, sigma)
    Y, C = solution.embedding, solution.coef
    assert (Y.shape, C.shape) == ((60, d), (60, d))
    np.testing.assert_allclose(Y.T @ Y, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(gaussian(problem.D2, sigma) @ C, Y, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_eigenvalues_equal_those_of_an_independent_pencil_solver(digits, make_problem, d):
    problem = make_problem(digits, mu2=0.1, n_components=d)
    _, S = dense_parts(problem)
    K = gaussian(problem.D2, 0.5)
    expected = eigh(K @ S @ K + 0.1 * np.eye(len(K)), K @ K, eigvals_only=True)[:d]
    np.testing.assert_allclose(solve_pencil(problem, 0.5).eigenvalues, expected, rtol=1e-7)


def test_eigenvalues_rise_and_each_belongs_to_its_column(blobs, make_problem):
    problem = make_problem(blobs, n_components=5)
    solution = solve_pencil(problem, 0.5)
    assert np.all(np.diff(solution.eigenvalues) >= 0)
    _, S = dense_parts(problem)
    Y, C = solution.embedding, solution.coef
    costs = np.diag(Y.T @ S @ Y) + problem.objective.mu2 * np.sum(C**2, axis=0)
    np.testing.assert_allclose(costs, solution.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 5])
def test_recorded_terms_equal_the_double_loops_and_sum_to_the_objective(blobs, make_problem, d):
    problem = make_problem(blobs, mu1=0.3, n_components=d)
    outcome = solve_fixed(problem, 0.4)
    step, solution = outcome.trace[0], outcome.solution
    terms = oracles.objective_terms(
        solution.embedding, solution.coef, 0.4, dense_parts(problem)[0], blobs.codes, 0.3, 1e-2, 0.1
    )
    assert step.within == pytest.approx(terms.within, rel=1e-8)
    assert step.between == pytest.approx(terms.between, rel=1e-9)
    assert step.regularity == pytest.approx(terms.regularity, rel=1e-9)
    assert step.scale == pytest.approx(terms.scale, rel=1e-12)
    assert step.objective == pytest.approx(terms.objective, rel=1e-9)
    assert step.excess == pytest.approx(terms.objective + 0.3 * 60 * d, rel=1e-8)
    assert step.excess == solution.excess
    assert step.excess == pytest.approx(solution.eigenvalues.sum() + 0.1 / 0.4**2, rel=1e-12)
    assert (outcome.n_iter, outcome.converged, outcome.at_bound) == (1, True, False)
    assert (step.stage, step.sigma, len(outcome.trace)) == ("fixed", 0.4, 1)


def test_a_tiny_kernel_scale_gives_the_class_means(make_blobs, make_problem):
    """Ψ = I where σ is far below every distance, so A + μ1 N I = S + μ2 I.

    S vanishes on vectors that are constant on classes and sum to zero: two classes of 6 and 3 samples
    have one, y = ±(√(3/(6·9)), −√(6/(3·9))), with λ = μ2 and tr(y'L_b y) = N.
    """
    data = make_blobs((6, 3))
    problem = make_problem(data, mu1=2.0, mu2=0.05, n_components=1)
    outcome = solve_fixed(problem, 1e-3)
    y = outcome.solution.embedding[:, 0]
    expected = np.where(data.codes == 0, np.sqrt(3 / 54), -np.sqrt(6 / 27))
    np.testing.assert_allclose(y * np.sign(y[0]), expected, atol=1e-8)
    assert outcome.solution.eigenvalues[0] == pytest.approx(0.05, rel=1e-10)
    assert outcome.trace[0].between == pytest.approx(-2.0 * 9, rel=1e-12)


def test_two_points_have_the_embedding_on_paper():
    """Ψ = [[1, k], [k, 1]], k = exp(−1/σ²); y = (1, −1)/√2 with λ = μ2/(1 − k)²."""
    sigma = 0.8
    solution = solve_pencil(two_points(mu2=0.1, mu3=1.0), sigma)
    k = np.exp(-1 / sigma**2)
    y = solution.embedding[:, 0]
    np.testing.assert_allclose(np.abs(y), [np.sqrt(0.5)] * 2, rtol=1e-12)
    assert y[0] * y[1] < 0
    assert solution.eigenvalues[0] == pytest.approx(0.1 / (1 - k) ** 2, rel=1e-12)
    assert solution.excess == pytest.approx(0.1 / (1 - k) ** 2 + 1 / sigma**2, rel=1e-12)


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0])
def test_slope_is_the_difference_quotient_of_the_excess(blobs, make_problem, sigma, d):
    problem = make_problem(blobs, mu1=0.5, n_components=d)
    h = 1e-4
    above, below = (solve_pencil(problem, sigma * np.exp(step)).excess for step in (h, -h))
    expected = (above - below) / (2 * h)
    solution = solve_pencil(problem, sigma)
    assert solution.slope == pytest.approx(expected, rel=1e-5, abs=1e-6 * solution.excess)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), factor=st.floats(0.01, 100.0), d=st.integers(1, 4))
def test_units_of_length_and_the_order_within_classes_change_nothing(
    make_blobs, make_problem, seed, factor, d
):
    data = make_blobs((6, 5, 4), seed=seed)
    problem = make_problem(data, n_components=d, n_neighbors=None)
    solution = solve_pencil(problem, 0.5)
    heavier = replace(problem.objective, mu3=problem.objective.mu3 * factor**2)
    scaled = replace(problem, D2=problem.D2 * factor**2, objective=heavier)
    other = solve_pencil(scaled, 0.5 * factor)
    np.testing.assert_allclose(other.excess, solution.excess, rtol=1e-8)
    np.testing.assert_allclose(other.slope, solution.slope, rtol=1e-6, atol=1e-8 * solution.excess)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.flatnonzero(data.codes == c)) for c in range(3)])
    moved = solve_pencil(problem.subset(order), 0.5)
    np.testing.assert_allclose(moved.eigenvalues, solution.eigenvalues, rtol=1e-8)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), d=st.integers(1, 5))
def test_no_other_embedding_is_cheaper(make_blobs, make_problem, seed, d):
    problem = make_problem(make_blobs((6, 5, 4), seed=seed), n_components=d)
    K = gaussian(problem.D2, 0.5)
    _, S = dense_parts(problem)
    Y = np.linalg.qr(np.random.default_rng(seed).standard_normal((15, d)))[0]
    C = np.linalg.solve(K, Y)
    cost = np.trace(Y.T @ S @ Y) + problem.objective.mu2 * np.sum(C**2)
    assert solve_pencil(problem, 0.5).eigenvalues.sum() <= cost * (1 + 1e-9)


# Conditioning


@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize(
    ("mu1", "mu2", "sigma", "route"),
    [
        (0.1, 1e-8, 0.5, "cholesky"),
        (0.1, 1e-8, 8.0, "cholesky"),
        (0.1, 1e-12, 2.0, "qr"),
        (100.0, 1e-12, 8.0, "qr"),
        (1.0, 1e-15, 40.0, "qr"),
        (100.0, 1e-14, 2.0, "qr"),
    ],
)
def test_ill_conditioned_problems_agree_with_sixty_digits(
    make_blobs, make_problem, mu1, mu2, sigma, route, d
):
    data = make_blobs((6, 4, 3), n_features=3)
    problem = make_problem(data, mu1=mu1, mu2=mu2, n_components=d, n_neighbors=3)
    W, _ = dense_parts(problem)
    expected = oracles.precise_eigenvalues(problem.D2, W, data.codes, mu1, mu2, sigma, d)
    solution = solve_pencil(problem, sigma)
    assert solution.factorization == route
    # S itself is known to ε μ1 N: an eigenvalue below that has no digits to keep.
    np.testing.assert_allclose(solution.eigenvalues, expected, rtol=1e-5, atol=4 * EPS * mu1 * 13)
    Y = solution.embedding
    np.testing.assert_allclose(Y.T @ Y, np.eye(d), atol=1e-10)
    np.testing.assert_allclose(gaussian(problem.D2, sigma) @ solution.coef, Y, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 2, 4])
@pytest.mark.parametrize(("mu1", "mu2", "sigma"), [(5e3, 1e-6, 0.2), (5e3, 1e-6, 0.3), (1e4, 1e-5, 0.4)])
def test_coordinates_beyond_the_classes_are_those_of_a_direct_solution(
    make_blobs, make_problem, mu1, mu2, sigma, seed
):
    """Weights far apart: coordinates within classes have θ ten orders below the leading ones.

    cond(Ψ) is small, so that Eq. (12) can be solved as printed.
    """
    data, d = make_blobs((12, 10, 8), seed=seed), 5
    problem = make_problem(data, mu1=mu1, mu2=mu2, n_components=d)
    W, _ = dense_parts(problem)
    assert np.linalg.cond(gaussian(problem.D2, sigma)) < 200
    A = oracles.literal_matrix(problem.D2, data.codes, W, mu1, mu2, sigma)
    _, Y = eigh(A, subset_by_index=(0, d - 1))
    solution = solve_pencil(problem, sigma)
    assert solution.condition < 1e13  # which says nothing of what is wrong
    cosines = np.linalg.svd(Y.T @ solution.embedding, compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-6)


@pytest.mark.parametrize("d", [3, 5, 8])
def test_residuals_of_ordinary_weights_do_not_ask_for_qr(digits, blobs, make_problem, d):
    for data, sigma in ((digits, 0.3), (digits, 1.0), (blobs, 0.5), (blobs, 3.0)):
        problem = make_problem(data, mu1=1.0, mu2=1e-2, n_components=d)
        assert solve_pencil(problem, sigma).factorization == "cholesky"


def test_a_tiny_weight_spoils_no_coordinate_that_the_kernel_can_carry(make_blobs, make_problem):
    """cond(Ψ) < 10⁴ at σ = 0.5: the kernel has full rank, and four coordinates exist for every μ2."""
    data = make_blobs((6, 4, 3), n_features=3)
    problem = make_problem(data, mu1=100.0, mu2=1e-16, n_components=4, n_neighbors=3)
    assert np.linalg.cond(gaussian(problem.D2, 0.5)) < 1e4
    expected = oracles.precise_eigenvalues(
        problem.D2, dense_parts(problem)[0], data.codes, 100.0, 1e-16, 0.5, 4
    )
    eigenvalues = solve_pencil(problem, 0.5).eigenvalues
    np.testing.assert_allclose(eigenvalues, expected, rtol=1e-5, atol=4 * EPS * 100 * 13)


def test_an_ill_conditioned_problem_agrees_with_the_singular_values_of_stacked_factors(
    blobs, make_problem
):
    """√θ are the singular values of K R⁻¹, R from a QR of [F'K; √μ2 I]; the rows of F' are edges."""
    mu1, mu2, sigma, d = 1.0, 1e-12, 3.0, 3
    problem = make_problem(blobs, mu1=mu1, mu2=mu2, n_components=d)
    W, _ = dense_parts(problem)
    same = blobs.codes[:, np.newaxis] == blobs.codes
    rows = [np.sqrt(mu1) * np.ones(60)]
    for i in range(60):
        for j in range(i):
            if same[i, j]:
                edge = np.zeros(60)
                edge[[i, j]] = 1.0, -1.0
                rows.append(np.sqrt(W[i, j] + mu1) * edge)
    K = gaussian(problem.D2, sigma)
    R = np.linalg.qr(np.vstack([np.array(rows) @ K, np.sqrt(mu2) * np.eye(60)]), mode="r")
    expected = np.linalg.svd(np.linalg.solve(R.T, K), compute_uv=False)[:d] ** -2.0
    solution = solve_pencil(problem, sigma)
    assert solution.factorization == "qr"
    np.testing.assert_allclose(solution.eigenvalues, expected, rtol=1e-6)
    np.testing.assert_allclose(solution.embedding.T @ solution.embedding, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(K @ solution.coef, solution.embedding, atol=1e-8)


@pytest.mark.parametrize("mu2", [1e-3, 1.0])
def test_cholesky_and_qr_give_the_same_factor_of_a_well_conditioned_problem(blobs, make_problem, mu2):
    problem = make_problem(blobs, mu2=mu2)
    K = gaussian(problem.D2, 0.5)
    by_cholesky = factorize(HeldKernel(K, K), problem.graph, mu2)
    by_qr = stacked_qr(K, problem.graph, mu2)
    P = K @ dense_parts(problem)[1] @ K + mu2 * np.eye(60)
    for factor in (by_cholesky, by_qr):
        R = np.triu(factor.R)
        np.testing.assert_allclose(R.T @ R, P, atol=1e-10 * np.abs(P).max())
        np.testing.assert_allclose(R @ factor.solve(np.eye(60)), np.eye(60), atol=1e-8)
        np.testing.assert_allclose(R.T @ factor.solve_transposed(np.eye(60)), np.eye(60), atol=1e-8)
    assert (by_cholesky.method, by_qr.method) == ("cholesky", "qr")
    # Both estimate cond(P), one in the 1-norm and one as the square of that of R.
    true = np.linalg.cond(P)
    assert true / 60 <= by_cholesky.condition <= 60 * true
    assert true / 60 <= by_qr.condition <= 60 * true


def test_forced_qr_and_cholesky_give_the_same_embedding(blobs, make_problem, monkeypatch):
    problem = make_problem(blobs, n_components=5)
    by_cholesky = solve_pencil(problem, 0.5)
    monkeypatch.setattr(
        pencil, "factorize", lambda kernel, graph, mu2, arrays: stacked_qr(kernel.K, graph, mu2)
    )
    by_qr = solve_pencil(problem, 0.5)
    assert (by_cholesky.factorization, by_qr.factorization) == ("cholesky", "qr")
    np.testing.assert_allclose(by_qr.eigenvalues, by_cholesky.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(projector(by_qr.embedding), projector(by_cholesky.embedding), atol=1e-7)


def test_a_factor_wider_than_one_panel_is_whole(make_blobs, make_problem):
    problem = make_problem(make_blobs((150, 120), n_features=4))
    K = gaussian(problem.D2, 0.3)
    factor = factorize(HeldKernel(K, K), problem.graph, 0.01)
    assert factor.method == "cholesky"
    R = np.triu(factor.R)
    P = K @ problem.graph.apply(K) + 0.01 * np.eye(270)
    np.testing.assert_allclose(R.T @ R, P, atol=1e-11 * np.abs(P).max())


@pytest.mark.parametrize("d", [2, 5, 12])
def test_duplicated_samples_give_the_least_norm_solution(make_blobs, make_problem, d):
    data = make_blobs((7, 5, 4))
    twice = np.sort(np.concatenate([np.arange(16), [0, 0, 8, 13]]))
    doubled = type(data)(data.X[twice], data.codes[twice])
    problem = make_problem(doubled, mu1=0.5, n_components=d, n_neighbors=None)
    K = gaussian(problem.D2, 0.4)
    expected = oracles.least_norm_eigenvalues(
        K, dense_parts(problem)[1], problem.objective.mu2, d, rank=16
    )
    solution = solve_pencil(problem, 0.4)
    np.testing.assert_allclose(solution.eigenvalues, expected, rtol=1e-8)
    np.testing.assert_allclose(solution.embedding[0], solution.embedding[1], atol=1e-8)
    np.testing.assert_allclose(solution.coef[0], solution.coef[1], rtol=1e-6, atol=1e-8)


def test_as_many_components_as_distinct_samples_are_found_and_no_more(make_blobs, make_problem):
    data = make_blobs((7, 5, 4))
    twice = np.sort(np.concatenate([np.arange(16), [0, 8]]))
    doubled = type(data)(data.X[twice], data.codes[twice])
    assert solve_pencil(make_problem(doubled, n_components=16), 0.4).embedding.shape == (18, 16)
    with pytest.raises(
        ValueError, match=r"`n_components` must not exceed .*Got 17\. Only 16 independent"
    ):
        solve_pencil(make_problem(doubled, n_components=17), 0.4)


# Eigensolvers


@pytest.mark.parametrize("d", [3, 9, 15])
def test_krylov_space_and_full_solver_agree(digits, make_problem, monkeypatch, d):
    problem = make_problem(digits, mu2=0.05, n_components=d)
    monkeypatch.setattr(constraint, "LEAST_BLOCKS", 1)
    by_krylov = solve_pencil(problem, 0.6)
    monkeypatch.setattr(constraint, "LEAST_BLOCKS", 10**9)
    by_full = solve_pencil(problem, 0.6)
    assert by_full.eigensolver == "full"
    if d <= 9:
        assert by_krylov.eigensolver == "block Krylov"
    np.testing.assert_allclose(by_krylov.eigenvalues, by_full.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(projector(by_krylov.embedding), projector(by_full.embedding), atol=1e-6)


@pytest.mark.parametrize("d", [4, 9, 12])
def test_a_warm_start_does_not_change_the_result(digits, make_problem, d):
    problem = make_problem(digits, mu2=0.05, n_components=d)
    cold = solve_pencil(problem, 0.6)
    for other in (0.1, 0.5, 2.0):
        warm = solve_pencil(problem, 0.6, solve_pencil(problem, other).basis)
        assert warm.excess == pytest.approx(cold.excess, rel=1e-9)
        np.testing.assert_allclose(projector(warm.embedding), projector(cold.embedding), atol=1e-6)


def test_a_krylov_space_that_does_not_converge_gives_way_to_the_full_solver(
    digits, make_problem, monkeypatch
):
    problem = make_problem(digits, mu2=0.05, n_components=9)
    expected = solve_pencil(problem, 0.6)
    monkeypatch.setattr(constraint, "MAX_BLOCKS", 1)
    solution = solve_pencil(problem, 0.6)
    assert solution.eigensolver == "full"
    np.testing.assert_allclose(solution.eigenvalues, expected.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_a_rough_solution_is_an_embedding_a_little_worse(digits, make_problem, sigma):
    problem = make_problem(digits, mu2=0.05, n_components=3)
    exact, rough = solve_pencil(problem, sigma), solve_pencil(problem, sigma, residual=1e-3)
    assert (exact.is_rough, rough.is_rough) == (False, rough.eigensolver == "block Krylov")
    assert exact.excess * (1 - 1e-9) <= rough.excess <= exact.excess * (1 + 1e-4)
    assert rough.slope == pytest.approx(exact.slope, rel=1e-2)
    np.testing.assert_allclose(rough.embedding.T @ rough.embedding, np.eye(3), atol=1e-10)
    Y, mu2 = rough.embedding, problem.objective.mu2
    value = np.trace(problem.graph.quadratic(Y)) + mu2 * (rough.coef**2).sum()
    assert rough.excess == pytest.approx(value + problem.objective.scale_term(sigma), rel=1e-9)


# Signs


def with_class_means(seed, d=4):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [7, 5, 4])
    return rng.standard_normal((3, d))[codes] + 0.1 * rng.standard_normal((16, d)), codes


def without_class_means(seed, d=4):
    Y, codes = with_class_means(seed, d)
    means = np.array([Y[codes == code].mean(axis=0) for code in range(3)])
    return Y - means[codes], codes


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 999),
    flips=st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4),
    columns=st.sampled_from([with_class_means, without_class_means]),
)
def test_signs_do_not_hang_on_the_signs_that_came_in(seed, flips, columns):
    Y, codes = columns(seed)
    flipped = Y * flips
    np.testing.assert_array_equal(flipped * fix_signs(flipped, codes), Y * fix_signs(Y, codes))


@pytest.mark.parametrize("columns", [with_class_means, without_class_means])
def test_signs_do_not_hang_on_the_order_of_the_samples(columns):
    for seed in range(20):
        Y, codes = columns(seed)
        expected = fix_signs(Y, codes)
        order = np.random.default_rng(seed).permutation(len(Y))
        np.testing.assert_array_equal(fix_signs(Y[order], codes[order]), expected)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), sign=st.sampled_from([-1.0, 1.0]))
def test_of_two_balanced_classes_the_first_gets_the_positive_mean(seed, sign):
    """Their means are ±a: which is larger in magnitude hangs on rounding, and must not decide."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], 10)
    Y = (
        sign
        * np.where(codes == 0, 1.0, -1.0)[:, np.newaxis]
        * (1 + 1e-12 * rng.standard_normal((20, 1)))
    )
    assert np.mean((Y * fix_signs(Y, codes))[codes == 0]) > 0


def test_class_means_that_almost_vanish_do_not_decide():
    for seed in range(20):
        Y, codes = without_class_means(seed)
        offsets = 1e-8 * np.random.default_rng(seed).standard_normal((3, 4))[codes]
        np.testing.assert_array_equal(fix_signs(Y + offsets, codes), fix_signs(Y, codes))


def test_the_largest_class_mean_becomes_positive_by_magnitude_and_not_by_order():
    Y = np.array([[0.1], [0.1], [-1.0], [-1.0], [0.2]])
    assert fix_signs(Y, np.array([0, 0, 1, 1, 2])) == [-1.0]
