"""Class means normalised in place of the samples: the literal eigenproblem, its slope, its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

import oracles
from nsse.graphs import ShiftedGraph, class_contrasts, contrast_values, gaussian_affinity
from nsse.kernels import gaussian, squared_distances
from nsse.solvers import Objective, Problem, solve_pencil
from nsse.solvers.constraint import ClassMeans
from nsse.solvers.factors import stacked_qr
from nsse.solvers.gram_pencil import solve_gram
from nsse.solvers.pencil import RankError, coordinates
from problems import BOUNDS, alternating_of, dense_parts, joint_of


def of_classes(problem, **changes):
    return replace(problem, objective=replace(problem.objective, normalization="classes", **changes))


def mean_projector(codes):
    """GG': entry by entry, a sample's value to the mean of its class less the mean of all."""
    N = len(codes)
    counts = np.bincount(codes)
    out = np.full((N, N), -1.0 / N)
    for i in range(N):
        for j in range(N):
            if codes[i] == codes[j]:
                out[i, j] += 1.0 / counts[codes[i]]
    return out


def literal(K, S, codes, mu2, d):
    """The generalised eigenproblem (B_b, P) as it is written, by SciPy: λ ascending, C with C'BC = I."""
    P = K.T @ S @ K + mu2 * np.eye(K.shape[1])
    B = K.T @ mean_projector(codes) @ K
    theta, C = eigh(B, P)
    theta, C = theta[::-1][:d], C[:, ::-1][:, :d]
    return 1.0 / theta, C / np.sqrt(theta)


def assert_same_columns(found, expected, rtol):
    """Up to sign."""
    signs = np.sign(np.einsum("ij,ij->j", found, expected))
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(found * signs / scale, expected / scale, atol=rtol)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.5])
@pytest.mark.parametrize(("mu1", "mu2"), [(0.01, 1e-2), (1.0, 1e-2), (0.5, 2.0), (100.0, 10.0)])
def test_it_is_the_literal_generalised_eigenproblem(blobs, make_problem, mu1, mu2, sigma, d):
    problem = of_classes(make_problem(blobs, mu1=mu1, mu2=mu2, n_components=d))
    _, S = dense_parts(problem)
    K = gaussian(problem.D2, sigma)
    values, C = literal(K, S, blobs.codes, mu2, d)
    solution = solve_pencil(problem, sigma)
    np.testing.assert_allclose(solution.eigenvalues, values, rtol=1e-6)
    assert_same_columns(solution.embedding, K @ C, 1e-5)
    np.testing.assert_allclose(K @ solution.coef, solution.embedding, atol=1e-8)
    M = mean_projector(blobs.codes)
    Y = solution.embedding
    np.testing.assert_allclose(Y.T @ M @ Y, np.eye(d), atol=1e-9)
    assert solution.excess == pytest.approx(values.sum() + 0.1 / sigma**2, rel=1e-6)


@pytest.mark.parametrize("mu2", [1e-2, 1.0])
@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0])
def test_the_slope_is_that_of_differences(blobs, make_problem, sigma, mu2):
    problem = of_classes(make_problem(blobs, mu2=mu2))
    h = 1e-4
    up, down = (solve_pencil(problem, sigma * np.exp(s * h)).excess for s in (1, -1))
    assert solve_pencil(problem, sigma).slope == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_contrasts_are_orthonormal_centred_and_constant_in_classes(blobs):
    g = contrast_values(np.bincount(blobs.codes))
    G = g[blobs.codes]
    np.testing.assert_allclose(G.T @ G, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(G.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(G @ G.T, mean_projector(blobs.codes), atol=1e-14)
    np.testing.assert_allclose(class_contrasts(blobs.X, blobs.codes), G.T @ blobs.X, atol=1e-13)


def test_rows_that_stand_for_several_samples_weigh_as_many(blobs):
    """Class c repeated w_c times, and the problem of all copies written out."""
    X, codes = blobs.X, blobs.codes
    times = np.array([2, 1, 3, 2])
    copies = np.repeat(np.arange(len(codes)), times[codes])
    centers = X[::4]
    W = gaussian_affinity(squared_distances(X), codes, 4)
    sizes = (np.bincount(codes) * times).astype(float)
    plain = ShiftedGraph.from_affinity(W, codes, 0.7)
    graph = ShiftedGraph.from_blocks(plain.blocks, codes, 0.7, sizes)
    D2 = oracles.squared_distance_matrix(X, centers) / 16.0
    K = np.exp(-D2[copies] / 0.8**2)
    L = oracles.laplacian_matrix(np.asarray(W.toarray()))
    L_w = L[np.ix_(copies, copies)].copy()
    # Edges join copies of the same turn only.
    turn = np.concatenate([np.arange(times[c]) for c in codes])
    L_w[turn[:, np.newaxis] != turn] = 0.0
    big = codes[copies]
    L_b = oracles.laplacian_matrix(oracles.between_class_weights(big))
    S = L_w + 0.7 * (len(big) * np.eye(len(big)) - L_b)
    values, C = literal(K, S, big, 0.05, 3)
    problem = Problem(D2, graph, Objective(0.7, 0.05, 0.0, 3, "classes"), is_exact=False)
    solution = solve_pencil(problem, 0.8)
    np.testing.assert_allclose(solution.eigenvalues, values, rtol=1e-8)
    assert_same_columns(solution.coef, C, 1e-6)


def test_both_factorisations_give_the_same(blobs, make_problem):
    problem = of_classes(make_problem(blobs, mu2=0.1, n_components=3))
    kernel = problem.kernel(0.7)
    found = coordinates(problem, kernel, stacked_qr(kernel.K, problem.graph, 0.1), 0.7, None)
    solution = solve_pencil(problem, 0.7)
    assert solution.factorization == "cholesky"
    np.testing.assert_allclose(found.eigenvalues, solution.eigenvalues, rtol=1e-9)
    assert_same_columns(found.Y, solution.embedding, 1e-7)


def test_an_ill_conditioned_problem_is_solved_by_qr(blobs, make_problem):
    """A tiny μ2 and a wide kernel."""
    problem = of_classes(make_problem(blobs, mu2=1e-13, n_components=3))
    solution = solve_pencil(problem, 1.5)
    assert solution.factorization == "qr"
    Y = solution.embedding
    np.testing.assert_allclose(Y.T @ mean_projector(blobs.codes) @ Y, np.eye(3), atol=1e-8)


def test_where_classes_collapse_both_normalisations_are_one(blobs, make_problem):
    problem = make_problem(blobs, mu1=1.0, mu2=1e-7, n_components=3)
    samples, classes = solve_pencil(problem, 0.4), solve_pencil(of_classes(problem), 0.4)
    assert classes.eigenvalues.max() < 1e-3
    size = np.linalg.norm(classes.embedding, axis=0)
    assert_same_columns(classes.embedding / size, samples.embedding, 1e-3)


def test_where_f_is_smooth_only_the_samples_prefer_a_constant(blobs, make_problem):
    """The reason for it: the first coordinate of Y'Y = I hardly differs between classes."""
    problem = make_problem(blobs, mu1=1e-3, mu2=30.0, n_components=1)

    def share(Y):
        M = mean_projector(blobs.codes)
        return float((Y.T @ M @ Y)[0, 0] / (Y.T @ Y)[0, 0])

    samples, classes = solve_pencil(problem, 2.0), solve_pencil(of_classes(problem), 2.0)
    assert share(samples.embedding) < 0.2 < 0.5 < share(classes.embedding)


@pytest.mark.slow
def test_the_search_finds_the_least_of_a_fine_grid(blobs, make_problem):
    problem = of_classes(make_problem(blobs, mu2=0.1, n_components=3))
    found = joint_of(problem)
    values = [solve_pencil(problem, s).excess for s in np.geomspace(*BOUNDS, 400)]
    assert found.converged
    assert found.solution.excess <= min(values) * (1 + 1e-9)


def test_algorithm_1_never_rises_and_ends_near(blobs, make_problem):
    problem = of_classes(make_problem(blobs, mu2=0.1, n_components=3))
    trace = alternating_of(problem).trace
    assert np.all(np.diff(trace.column("excess")) <= 1e-9)
    assert trace[len(trace) - 1].excess <= 1.1 * joint_of(problem).solution.excess


def test_the_terms_of_a_step_add_up_and_are_the_literal_ones(blobs, make_problem):
    problem = of_classes(make_problem(blobs, mu1=0.3, mu2=0.1, n_components=3))
    found = joint_of(problem)
    step = min(found.trace.steps, key=lambda s: s.excess)
    total = step.within + step.between + step.regularity + step.scale
    assert step.objective == step.excess == pytest.approx(total, rel=1e-8)
    W, S = dense_parts(problem)
    Y = found.solution.embedding
    assert step.within == pytest.approx(oracles.weighted_spread(Y, W), rel=1e-8)
    literal_S = np.trace(Y.T @ S @ Y)
    assert step.within + step.between == pytest.approx(literal_S, rel=1e-8)


def test_more_coordinates_than_class_means_are_a_rank_error(blobs, make_problem):
    with pytest.raises(RankError, match="n_components"):
        solve_pencil(of_classes(make_problem(blobs, n_components=4)), 0.5)


def test_from_sums_it_is_the_same(blobs, make_problem):
    problem = of_classes(make_problem(blobs, mu2=0.1, n_components=3))
    _, S = dense_parts(problem)
    K = gaussian(problem.D2, 0.7)
    P = K @ S @ K + 0.1 * np.eye(len(K))
    G = contrast_values(np.bincount(blobs.codes))[blobs.codes]
    found = solve_gram(ClassMeans(K.T @ G), P, np.ones((len(K), 1)), 3, 1e-16)
    exact = solve_pencil(problem, 0.7)
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-8)
    assert_same_columns(found.coef, exact.coef, 1e-6)
