"""The search for σ, joint and alternating, against each other and Algorithm 1 as printed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import oracles
from nsse.kernels import gaussian
from nsse.solvers import Objective, Problem, extrapolation, solve_pencil
from nsse.solvers.descent import descend
from problems import BOUNDS, alternating_of, dense_parts, joint_of, projector, two_points

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
        bounds=np.log([grid[best - 1], grid[best + 1]]),
        method="bounded",
        options={"xatol": 1e-6},
    )
    outcome = joint_of(problem)
    assert outcome.solution.excess == pytest.approx(refined.fun, rel=1e-8)
    assert outcome.solution.sigma == pytest.approx(np.exp(refined.x), rel=1e-3)
    assert outcome.converged


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 4),
    log_mu2=st.floats(-4, 0),
    ratio=st.floats(0.5, 50),
    sigma_init=st.floats(0.11, 3.9),
)
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        D2, codes, lambda d2, c, m: problem.affinity(D2, codes, m), Objective(1.0, 1e-2, 0.1, 2)
    )
    assert solve_pencil(part, 0.5).excess == solve_pencil(direct, 0.5).excess


def test_a_subset_of_a_subset_asks_for_the_weights_of_the_right_samples():
    asked = []

    def affinity(D2, codes, members):
        asked.append(list(members))
        return np.zeros((len(codes), len(codes)))

    codes = np.repeat([0, 1], 4)
    problem = Problem.build(np.zeros((8, 8)), codes, affinity, Objective(1.0, 1.0, 1.0, 1))
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
    # A scan is solved roughly: the end that it finds is solved again.
    assert stages(outcome) == ({"joint"} if route == "subsamples" else {"scan", "joint"})
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
        lambda x, basis: solve_pencil(problem, float(np.exp(x)), basis),
        [],
        middle,
        bounds,
        tol=1e-9,
        max_iter=60,
    )
    assert found.at_bound
    assert found.converged
    assert found.solution.sigma == pytest.approx(free * factors[end], rel=1e-12)


def test_too_few_iterations_do_not_count_as_converged(blobs, make_problem):
    problem = make_problem(blobs, mu3=0.5)
    for max_iter in range(1, 4):
        outcome = joint_of(problem, tol=0.0, max_iter=max_iter)
        assert not outcome.converged
        assert [step.stage for step in outcome.trace.steps].count("joint") >= max_iter
        assert outcome.solution.excess == outcome.trace.column("excess").min()


# The kernel scale: alternating


def literal_of(data, problem, sigma_init, n_sigmas=25):
    weights = problem.objective
    unit = np.sqrt(oracles.squared_distance_matrix(data.X[:1], data.X[-1:])[0, 0] / problem.D2[0, -1])
    return oracles.literal_nsse(
        data.X / unit,
        data.codes,
        weights.n_components,
        weights.mu1,
        weights.mu2,
        weights.mu3,
        dense_parts(problem)[0],
        np.geomspace(*BOUNDS, n_sigmas),
        sigma_init,
    )


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
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    log_mu2=st.floats(-4, 1),
    ratio=st.floats(0.1, 100),
    sigma_init=st.floats(0.05, 6.0),
)
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


@pytest.mark.slow
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
        "iteration",
        "stage",
        "sigma",
        "within",
        "between",
        "regularity",
        "scale",
        "objective",
        "excess",
        "seconds",
    ]
    assert columns["sigma"] == list(trace.column("sigma")) == [step.sigma for step in trace.steps]
    assert {len(column) for column in columns.values()} == {len(trace)}
    assert columns["stage"][:2] == ["embedding", "scale"]
    assert columns["iteration"][:3] == [0, 0, 1]
    total = sum(trace.column(name) for name in ("within", "between", "regularity", "scale"))
    np.testing.assert_allclose(trace.column("objective"), total, rtol=1e-8)
    assert np.all(trace.column("seconds") > 0)
    assert len(trace) == len(columns["sigma"])
