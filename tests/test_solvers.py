"""The solvers against the paper's own method, against high precision, and against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

import oracles
from nsse.kernels import gaussian
from nsse.solvers import (
    Problem,
    extrapolation,
    fix_signs,
    krylov,
    pencil,
    solve_alternating,
    solve_fixed,
    solve_joint,
    solve_pencil,
)
from nsse.solvers.descent import descend
from nsse.solvers.factors import _stacked_qr, factorize

EPS = np.finfo(float).eps
BOUNDS = (0.1, 4.0)


def dense_parts(problem):
    """W_w and S of a problem as matrices; S from the definitions of its Laplacians."""
    N, mu1 = problem.n_samples, problem.graph.mu1
    codes = problem.graph.codes
    W = np.asarray(problem.affinity(problem.D2, codes, np.arange(N)).toarray())
    return W, oracles.shifted_matrix(W, codes, mu1)


def joint_of(problem, bounds=BOUNDS, tol=1e-9, max_iter=60, listener=None):
    return solve_joint(
        problem, bounds, tol=tol, max_iter=max_iter, rng=np.random.default_rng(0), listener=listener
    )


def alternating_of(
    problem, bounds=BOUNDS, sigma_init=1.0, n_sigmas=25, tol=0.0, max_iter=60, listener=None
):
    return solve_alternating(
        problem, bounds, sigma_init=sigma_init, n_sigmas=n_sigmas, tol=tol, max_iter=max_iter,
        listener=listener,
    )  # fmt: skip


def projector(Y):
    return Y @ Y.T


def two_points(mu2, mu3):
    """One sample in each of two classes, one unit apart."""
    D2 = np.array([[0.0, 1.0], [1.0, 0.0]])
    return Problem.build(
        D2, np.array([0, 1]), lambda d2, codes, members: np.zeros((len(codes), len(codes))),
        mu1=5.0, mu2=mu2, mu3=mu3, n_components=1,
    )  # fmt: skip


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
    costs = np.diag(Y.T @ S @ Y) + problem.mu2 * np.sum(C**2, axis=0)
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
    scaled = replace(problem, D2=problem.D2 * factor**2, mu3=problem.mu3 * factor**2)
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
    cost = np.trace(Y.T @ S @ Y) + problem.mu2 * np.sum(C**2)
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
    by_cholesky = factorize(K, problem.graph, mu2)
    by_qr = _stacked_qr(K, problem.graph, mu2)
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
        pencil, "factorize", lambda K, graph, mu2, buffers: _stacked_qr(K, graph, mu2)
    )  # fmt: skip
    by_qr = solve_pencil(problem, 0.5)
    assert (by_cholesky.factorization, by_qr.factorization) == ("cholesky", "qr")
    np.testing.assert_allclose(by_qr.eigenvalues, by_cholesky.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(projector(by_qr.embedding), projector(by_cholesky.embedding), atol=1e-7)


def test_a_factor_wider_than_one_panel_is_whole(make_blobs, make_problem):
    problem = make_problem(make_blobs((150, 120), n_features=4))
    K = gaussian(problem.D2, 0.3)
    factor = factorize(K, problem.graph, 0.01)
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
    expected = oracles.least_norm_eigenvalues(K, dense_parts(problem)[1], problem.mu2, d, rank=16)
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
    monkeypatch.setattr(krylov, "LEAST_BLOCKS", 1)
    by_krylov = solve_pencil(problem, 0.6)
    monkeypatch.setattr(krylov, "LEAST_BLOCKS", 10**9)
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
    monkeypatch.setattr(krylov, "MAX_BLOCKS", 1)
    solution = solve_pencil(problem, 0.6)
    assert solution.eigensolver == "full"
    np.testing.assert_allclose(solution.eigenvalues, expected.eigenvalues, rtol=1e-9)


# The kernel scale: joint


def test_two_points_have_the_optimal_scale_on_paper():
    """With t = 1/σ², g = μ2/(1 − e⁻ᵗ)² + μ3 t and g' = 0 where μ3 = 2 μ2 e⁻ᵗ/(1 − e⁻ᵗ)³.

    At e⁻ᵗ = 1/2 that is μ3 = 8 μ2, so σ* = 1/√log 2 and g* = 4 μ2 + 8 μ2 log 2.
    """
    outcome = joint_of(two_points(mu2=0.1, mu3=0.8), bounds=(0.3, 5.0), tol=1e-14)
    assert outcome.solution.sigma == pytest.approx(1 / np.sqrt(np.log(2)), rel=1e-5)
    assert outcome.solution.excess == pytest.approx(0.4 + 0.8 * np.log(2), rel=1e-11)
    assert outcome.converged
    assert not outcome.at_bound


@pytest.mark.parametrize("d", [2, 3, 5])
def test_joint_minimum_equals_that_of_a_dense_grid_refined(blobs, make_problem, d):
    problem = make_problem(blobs, mu2=0.05, mu3=0.5, n_components=d)
    grid = np.geomspace(*BOUNDS, 61)
    best = int(np.argmin([solve_pencil(problem, s).excess for s in grid]))
    refined = minimize_scalar(
        lambda log_sigma: solve_pencil(problem, np.exp(log_sigma)).excess,
        bounds=np.log([grid[best - 1], grid[best + 1]]), method="bounded", options={"xatol": 1e-6},
    )  # fmt: skip
    outcome = joint_of(problem)
    assert outcome.solution.excess == pytest.approx(refined.fun, rel=1e-8)
    assert outcome.solution.sigma == pytest.approx(np.exp(refined.x), rel=1e-3)
    assert outcome.converged


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 4), log_mu2=st.floats(-4, 0),
    ratio=st.floats(0.5, 50), sigma_init=st.floats(0.11, 3.9),
)  # fmt: skip
def test_joint_never_ends_above_alternating(
    make_blobs, make_problem, seed, d, log_mu2, ratio, sigma_init
):
    data = make_blobs((9, 7, 6), seed=seed)
    mu2 = 10.0**log_mu2
    problem = make_problem(data, mu1=0.3, mu2=mu2, mu3=ratio * mu2, n_components=d)
    by_joint = joint_of(problem).solution.excess
    by_alternating = alternating_of(problem, sigma_init=sigma_init).solution.excess
    assert by_joint <= by_alternating * (1 + 1e-7)


def test_joint_keeps_the_best_of_all_that_it_saw(blobs, make_problem):
    outcome = joint_of(make_problem(blobs, mu3=0.5))
    seen = outcome.trace.column("excess")
    assert outcome.solution.excess == seen.min()
    assert outcome.solution.sigma == outcome.trace.column("sigma")[seen.argmin()]
    assert outcome.n_iter == len(outcome.trace)
    assert np.all(outcome.trace.column("sigma") <= BOUNDS[1] * (1 + 1e-12))
    assert np.all(outcome.trace.column("sigma") >= BOUNDS[0] * (1 - 1e-12))


def stages(outcome):
    return {step.stage for step in outcome.trace.steps}


def test_subsamples_lead_to_the_minimum_that_a_scan_finds(make_blobs, make_problem, monkeypatch):
    data = make_blobs((300, 240, 180, 120), n_features=6, spread=3.0)
    problem = make_problem(data, mu2=0.1, mu3=2.0, n_components=3)
    by_subsamples = joint_of(problem)
    monkeypatch.setattr(extrapolation, "SUBSAMPLE_FROM", 10**9)
    by_scan = joint_of(problem)
    assert (stages(by_subsamples), stages(by_scan)) == ({"joint"}, {"scan", "joint"})
    assert by_subsamples.converged
    assert by_scan.converged
    assert by_subsamples.solution.sigma == pytest.approx(by_scan.solution.sigma, rel=1e-3)
    assert by_subsamples.solution.excess == pytest.approx(by_scan.solution.excess, rel=1e-7)
    assert len(by_subsamples.trace) < len(by_scan.trace)


def test_subsamples_do_not_make_joint_end_above_alternating(make_blobs, make_problem):
    """Overlapping classes: g has two valleys, and only all samples show which one is deeper."""
    problem = make_problem(
        make_blobs((300, 240, 180, 120), n_features=3), mu2=0.1, mu3=2.0, n_components=3
    )
    by_joint = joint_of(problem, tol=1e-5)
    by_alternating = alternating_of(problem, sigma_init=0.2, n_sigmas=12, tol=1e-5)
    assert by_joint.solution.excess <= by_alternating.solution.excess * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_smaller_subsampled_problems_end_at_the_minimum_of_the_scan(
    make_blobs, make_problem, monkeypatch, seed
):
    data = make_blobs((70, 50, 40), n_features=6, seed=seed, spread=3.0)
    problem = make_problem(data, mu2=0.1, mu3=1.0)
    by_scan = joint_of(problem)
    monkeypatch.setattr(extrapolation, "SUBSAMPLE_FROM", 60)
    by_subsamples = joint_of(problem)
    assert stages(by_subsamples) == {"joint"}
    assert by_subsamples.solution.sigma == pytest.approx(by_scan.solution.sigma, rel=1e-3)
    assert by_subsamples.solution.excess == pytest.approx(by_scan.solution.excess, rel=1e-7)


def test_subsamples_hold_their_share_of_every_class_and_two_at_least():
    codes = np.repeat([0, 1, 2, 3], [80, 41, 5, 1])
    members = extrapolation._stratified(codes, 8, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(codes[members]), [10, 5, 2, 1])
    assert np.all(np.diff(members) > 0)


def test_subsamples_that_would_not_be_small_are_not_used(make_blobs, make_problem, monkeypatch):
    monkeypatch.setattr(extrapolation, "SUBSAMPLE_FROM", 10)
    many_classes = make_problem(make_blobs((4,) * 10))
    wide = make_problem(make_blobs((40, 40)), n_components=6)
    for problem in (many_classes, wide):
        assert "scan" in stages(joint_of(problem, tol=1e-3))


def test_scales_at_which_the_kernel_loses_rank_do_not_end_the_search(blobs, make_problem):
    problem = make_problem(blobs, mu2=1e-3, mu3=0.1, n_components=50)
    with pytest.raises(ValueError, match=r"`n_components` must not exceed"):
        solve_pencil(problem, 100.0)
    outcome = joint_of(problem, (0.1, 100.0), tol=1e-7)
    assert outcome.converged
    assert outcome.solution.excess <= joint_of(problem, (0.1, 1.0), tol=1e-7).solution.excess * (
        1 + 1e-6
    )


def test_a_subset_is_the_problem_of_its_samples(blobs, make_problem):
    problem = make_problem(blobs)
    members = np.concatenate([np.arange(0, 20, 2), np.arange(25, 60, 3)])
    part = problem.subset(members)
    D2, codes = problem.D2[np.ix_(members, members)], blobs.codes[members]
    direct = Problem.build(
        D2, codes, lambda d2, c, m: problem.affinity(D2, codes, m), mu1=1.0, mu2=1e-2, mu3=0.1,
        n_components=2,
    )  # fmt: skip
    assert solve_pencil(part, 0.5).excess == solve_pencil(direct, 0.5).excess


def test_a_subset_of_a_subset_asks_for_the_weights_of_the_right_samples():
    asked = []

    def affinity(D2, codes, members):
        asked.append(list(members))
        return np.zeros((len(codes), len(codes)))

    codes = np.repeat([0, 1], 4)
    problem = Problem.build(np.zeros((8, 8)), codes, affinity, mu1=1.0, mu2=1.0, mu3=1.0, n_components=1)
    problem.subset(np.array([1, 3, 5, 6])).subset(np.array([0, 3]))
    assert asked == [list(range(8)), [1, 3, 5, 6], [1, 6]]


@pytest.mark.parametrize("route", ["scan", "subsamples"])
@pytest.mark.parametrize(
    ("bounds", "end"),
    [((0.05, 0.13), 1), ((0.07, 0.2), 1), ((0.021, 0.17), 1), ((6.0, 11.0), 0), ((4.7, 7.3), 0)],
)
def test_a_minimum_at_an_end_of_the_interval_says_so(
    make_blobs, make_problem, monkeypatch, bounds, end, route
):
    problem = make_problem(make_blobs((70, 50, 40), n_features=6, spread=3.0), mu2=0.1, mu3=1.0)
    if route == "subsamples":
        monkeypatch.setattr(extrapolation, "SUBSAMPLE_FROM", 60)
    outcome = joint_of(problem, bounds)
    assert stages(outcome) == ({"joint"} if route == "subsamples" else {"scan"})
    assert outcome.solution.sigma == pytest.approx(bounds[end], rel=1e-12)
    assert outcome.at_bound
    assert outcome.converged


@pytest.mark.parametrize(("factors", "end"), [((1.2, 4.0), 0), ((0.2, 0.8), 1)])
def test_a_descent_from_inside_reaches_the_end_of_the_interval_and_says_so(
    blobs, make_problem, factors, end
):
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5)
    free = joint_of(problem).solution.sigma
    bounds = tuple(float(np.log(free * factor)) for factor in factors)
    middle = sum(bounds) / 2
    found = descend(
        lambda x, basis: solve_pencil(problem, float(np.exp(x)), basis), [], middle, bounds,
        tol=1e-9, max_iter=60,
    )  # fmt: skip
    assert found.at_bound
    assert found.converged
    assert found.solution.sigma == pytest.approx(free * factors[end], rel=1e-12)


def test_too_few_iterations_do_not_count_as_converged(blobs, make_problem):
    problem = make_problem(blobs, mu3=0.5)
    for max_iter in range(1, 5):
        outcome = joint_of(problem, tol=0.0, max_iter=max_iter)
        assert not outcome.converged
        assert [step.stage for step in outcome.trace.steps].count("joint") >= max_iter
        assert outcome.solution.excess == outcome.trace.column("excess").min()


@pytest.mark.parametrize(("solve", "stop"), [(joint_of, 3), (joint_of, 12), (alternating_of, 3)])
def test_a_listener_that_returns_true_stops_the_search_with_the_best_so_far(
    blobs, make_problem, solve, stop
):
    heard = []

    def listener(step, solution):
        heard.append((step, solution))
        return len(heard) == stop

    given = {} if solve is joint_of else {"sigma_init": 0.1}
    outcome = solve(make_problem(blobs, mu3=0.5), listener=listener, **given)
    assert len(heard) == len(outcome.trace) == stop
    best = min((solution for _, solution in heard), key=lambda s: s.excess)
    assert outcome.solution is best
    assert [step for step, _ in heard] == list(outcome.trace.steps)
    assert outcome.converged


def test_a_listener_cannot_stop_a_fixed_scale(blobs, make_problem):
    outcome = solve_fixed(make_problem(blobs), 0.5, lambda step, solution: True)
    assert len(outcome.trace) == 1


def test_a_listener_that_returns_false_changes_nothing(blobs, make_problem):
    problem = make_problem(blobs, mu3=0.5)
    heard = []
    outcome = joint_of(problem, listener=lambda step, solution: heard.append(step) or False)
    assert outcome.solution.sigma == joint_of(problem).solution.sigma
    assert heard == list(outcome.trace.steps)


# The kernel scale: alternating


def literal_of(data, problem, sigma_init, n_sigmas=25):
    unit = np.sqrt(oracles.squared_distance_matrix(data.X[:1], data.X[-1:])[0, 0] / problem.D2[0, -1])
    return oracles.literal_nsse(
        data.X / unit, data.codes, problem.n_components, problem.graph.mu1, problem.mu2, problem.mu3,
        dense_parts(problem)[0], np.geomspace(*BOUNDS, n_sigmas), sigma_init,
    )  # fmt: skip


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("start", [0, 5, 9])
def test_alternating_takes_the_path_of_the_literal_method(blobs, make_problem, start, d):
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5, n_components=d)
    sigma_init = float(np.geomspace(*BOUNDS, 25)[start])
    literal = literal_of(blobs, problem, sigma_init)
    outcome = alternating_of(problem, sigma_init=sigma_init)
    steps = outcome.trace.steps
    embedded = [step for step in steps if step.stage == "embedding"]
    scaled = [step for step in steps if step.stage == "scale"]
    assert len(scaled) >= 1
    assert [step.sigma for step in embedded] == literal.sigmas
    assert [step.sigma for step in scaled] == literal.sigmas[1:]
    shift = problem.shift
    np.testing.assert_allclose(
        [step.excess for step in embedded], np.array(literal.after_embedding) + shift, rtol=1e-7
    )
    np.testing.assert_allclose(
        [step.excess for step in scaled], np.array(literal.after_scale)[: len(scaled)] + shift, rtol=1e-7
    )
    assert outcome.solution.sigma == literal.sigma
    np.testing.assert_allclose(projector(outcome.solution.embedding), projector(literal.Y), atol=1e-6)
    signs = np.sign(np.sum(outcome.solution.embedding * literal.Y, axis=0))
    np.testing.assert_allclose(outcome.solution.coef * signs, literal.C, rtol=1e-4, atol=1e-6)
    assert outcome.converged


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 5), log_mu2=st.floats(-4, 1),
    ratio=st.floats(0.1, 100), sigma_init=st.floats(0.05, 6.0),
)  # fmt: skip
def test_alternating_never_raises_the_objective(
    make_blobs, make_problem, seed, d, log_mu2, ratio, sigma_init
):
    data = make_blobs((9, 7, 6), seed=seed)
    mu2 = 10.0**log_mu2
    problem = make_problem(data, mu1=0.3, mu2=mu2, mu3=ratio * mu2, n_components=d)
    outcome = alternating_of(problem, sigma_init=sigma_init)
    excess = outcome.trace.column("excess")
    assert np.all(np.diff(excess) <= 1e-9 * excess[:-1])
    assert outcome.converged
    Y, C = outcome.solution.embedding, outcome.solution.coef
    np.testing.assert_allclose(Y.T @ Y, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(gaussian(problem.D2, outcome.solution.sigma) @ C, Y, atol=1e-8)


@pytest.mark.parametrize("sigma_init", [0.1, 0.777, 3.3])
def test_alternating_ends_at_a_fixed_point(blobs, make_problem, sigma_init):
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5)
    end = alternating_of(problem, sigma_init=sigma_init).solution
    again = alternating_of(problem, sigma_init=end.sigma)
    assert again.solution.sigma == end.sigma
    assert (again.n_iter, again.converged, len(again.trace)) == (1, True, 1)
    assert again.solution.excess == pytest.approx(end.excess, rel=1e-9)


def test_an_initial_scale_better_than_every_grid_point_is_kept(blobs, make_problem):
    """A grid of two bad scales: the initial value, off the grid, stays."""
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5)
    best = joint_of(problem).solution.sigma
    outcome = alternating_of(problem, sigma_init=best, n_sigmas=2)
    assert outcome.solution.sigma == best
    assert not outcome.at_bound
    assert outcome.converged


def test_alternating_says_when_its_scale_lies_at_an_end(blobs, make_problem):
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5)
    for bounds, sigma_init, end in (((0.05, 0.2), 0.1, 1), ((3.0, 9.0), 3.0, 0)):
        outcome = alternating_of(problem, bounds, sigma_init=sigma_init)
        assert outcome.solution.sigma == bounds[end]
        assert outcome.at_bound


def test_alternating_with_too_few_iterations_is_not_converged(blobs, make_problem):
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5)
    outcome = alternating_of(problem, sigma_init=0.1, max_iter=1)
    assert (outcome.n_iter, outcome.converged) == (1, False)


def test_a_loose_tolerance_stops_alternating_early(blobs, make_problem):
    problem = make_problem(blobs, mu1=0.1, mu2=0.05, mu3=1.5)
    loose = alternating_of(problem, sigma_init=0.1, n_sigmas=200, tol=0.1)
    tight = alternating_of(problem, sigma_init=0.1, n_sigmas=200)
    assert loose.converged
    assert loose.n_iter < tight.n_iter


def test_alternating_survives_duplicated_samples(make_blobs, make_problem):
    data = make_blobs((7, 5, 4))
    twice = np.sort(np.concatenate([np.arange(16), [0, 8]]))
    doubled = type(data)(data.X[twice], data.codes[twice])
    problem = make_problem(doubled, mu1=0.1, mu2=0.05, mu3=1.5)
    outcome = alternating_of(problem, sigma_init=0.1)
    excess = outcome.trace.column("excess")
    assert np.all(np.diff(excess) <= 1e-9 * excess[:-1])
    assert outcome.solution.sigma > 0.3
    K = gaussian(problem.D2, outcome.solution.sigma)
    np.testing.assert_allclose(K @ outcome.solution.coef, outcome.solution.embedding, atol=1e-8)
    assert joint_of(problem).solution.excess <= outcome.solution.excess * (1 + 1e-7)


# The trace


def test_a_trace_gives_its_columns(blobs, make_problem):
    trace = alternating_of(make_problem(blobs, mu3=0.5), sigma_init=0.1).trace
    columns = trace.to_dict()
    assert list(columns) == [
        "iteration", "stage", "sigma", "within", "between", "regularity", "scale", "objective", "excess",
        "seconds",
    ]  # fmt: skip
    assert columns["sigma"] == list(trace.column("sigma")) == [step.sigma for step in trace.steps]
    assert columns["stage"][:2] == ["embedding", "scale"]
    assert columns["iteration"][:3] == [0, 0, 1]
    total = sum(trace.column(name) for name in ("within", "between", "regularity", "scale"))
    np.testing.assert_allclose(trace.column("objective"), total, rtol=1e-8)
    assert np.all(trace.column("seconds") > 0)
    assert len(trace) == len(columns["sigma"])


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
    seed=st.integers(0, 999), flips=st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4),
    columns=st.sampled_from([with_class_means, without_class_means]),
)  # fmt: skip
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
