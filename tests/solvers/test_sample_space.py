"""The embedding from a factor of K: the definition, where it is used, and where it steps aside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

import oracles
from nsse import NSSE
from nsse.kernels import gaussian
from nsse.solvers import sample_space, solve_pencil
from problems import dense_parts, projector


@pytest.fixture(autouse=True)
def for_few_rows(monkeypatch):
    monkeypatch.setattr(sample_space, "LEAST_ROWS", 10)


def without(problem, sigma, monkeypatch, residual=1e-9):
    """The pencil's own solution."""
    with monkeypatch.context() as patch:
        patch.setattr(sample_space, "LEAST_ROWS", 10**9)
        return solve_pencil(problem, sigma, residual=residual)


@pytest.mark.parametrize("counts", [(20, 20, 20), (30, 7, 12, 3)])
@pytest.mark.parametrize(("mu1", "mu2"), [(1.0, 1e-2), (100.0, 1e-3), (1e4, 1e-5)])
def test_it_is_the_solution_as_printed(make_blobs, make_problem, counts, mu1, mu2):
    """The smallest eigenvectors of L_w − μ1 L_b + μ2 Ψ⁻², where Ψ can be inverted."""
    data, sigma, d = make_blobs(counts, n_features=8), 0.4, len(counts) - 1
    problem = make_problem(data, mu1=mu1, mu2=mu2, n_components=d)
    A = oracles.literal_matrix(problem.D2, data.codes, dense_parts(problem)[0], mu1, mu2, sigma)
    values, Y = eigh(A, subset_by_index=(0, d - 1))
    solution = solve_pencil(problem, sigma)
    assert (solution.factorization, solution.eigensolver) == ("kernel", "class indicators")
    np.testing.assert_allclose(projector(solution.embedding), projector(Y), atol=1e-6)
    printed = values + mu1 * len(data.codes)
    np.testing.assert_allclose(solution.eigenvalues, printed, rtol=1e-6, atol=1e-12 * mu1 * 100)
    np.testing.assert_allclose(solution.embedding.T @ solution.embedding, np.eye(d), atol=1e-10)
    K = gaussian(problem.D2, sigma)
    np.testing.assert_allclose(K @ solution.coef, solution.embedding, atol=1e-10)


@pytest.mark.parametrize("sigma", [0.2, 0.4, 0.6])
def test_it_agrees_with_the_pencil_in_value_and_slope(digits, make_problem, monkeypatch, sigma):
    problem = make_problem(digits, mu1=10.0, mu2=1e-3, mu3=0.05, n_components=9)
    here, there = solve_pencil(problem, sigma), without(problem, sigma, monkeypatch)
    assert (here.factorization, there.factorization) == ("kernel", "cholesky")
    assert here.excess == pytest.approx(there.excess, rel=1e-10)
    assert here.slope == pytest.approx(there.slope, rel=1e-5)
    np.testing.assert_allclose(projector(here.embedding), projector(there.embedding), atol=1e-6)


@pytest.mark.parametrize("nearby", [0.61, 0.7])
def test_a_start_nearby_saves_steps_and_changes_nothing(digits, make_problem, monkeypatch, nearby):
    problem = make_problem(digits, mu1=1.0, mu2=1e-2, n_components=9)
    start, widths = solve_pencil(problem, nearby).basis, []
    of = sample_space._Space.of
    counted = classmethod(lambda _, V, *rest: widths.append(V.shape[1]) or of(V, *rest))
    monkeypatch.setattr(sample_space._Space, "of", counted)
    cold = solve_pencil(problem, 0.6)
    n_cold = len(widths)
    warm = solve_pencil(problem, 0.6, start)
    assert len(widths) - n_cold < n_cold
    assert warm.eigensolver == "class indicators"
    assert warm.excess == pytest.approx(cold.excess, rel=1e-10)
    assert warm.slope == pytest.approx(cold.slope, rel=1e-5)
    np.testing.assert_allclose(projector(warm.embedding), projector(cold.embedding), atol=1e-6)


def test_a_rough_solution_lies_above(digits, make_problem):
    problem = make_problem(digits, mu2=1e-2, n_components=9)
    exact, rough = solve_pencil(problem, 0.5), solve_pencil(problem, 0.5, residual=1e-2)
    assert rough.is_rough
    assert exact.excess < rough.excess < exact.excess * (1 + 1e-3)


def test_where_the_kernel_is_nearly_singular_the_pencil_takes_over(digits, make_problem, monkeypatch):
    problem = make_problem(digits, mu2=1e-2, n_components=9)
    assert solve_pencil(problem, 0.4).factorization == "kernel"
    wide = solve_pencil(problem, 3.0)
    assert wide.factorization == "cholesky"
    assert wide.excess == without(problem, 3.0, monkeypatch).excess
    # From there on it is not tried again, and below it is.
    assert 0.4 < problem.workspace.stiff_from <= 3.0
    assert solve_pencil(problem, 0.4).factorization == "kernel"


def test_steps_that_do_not_suffice_leave_it_to_the_pencil(digits, make_problem, monkeypatch):
    problem = make_problem(digits, mu2=1e-2, n_components=9)
    monkeypatch.setattr(sample_space, "MOST_STEPS", 1)
    assert solve_pencil(problem, 0.4).factorization == "cholesky"


def test_other_problems_are_not_for_it(digits, make_problem):
    problem = make_problem(digits, mu2=1e-2, n_components=9)
    others = {
        "mu1": make_problem(digits, mu1=0.0, mu2=1e-2, n_components=9),
        "d": make_problem(digits, mu2=1e-2, n_components=10),
        "means": replace(problem, objective=replace(problem.objective, normalization="classes")),
    }
    for name, other in others.items():
        assert solve_pencil(other, 0.4).factorization != "kernel", name


def test_weights_far_apart_are_no_reason_to_warn(make_blobs):
    """μ1 = 10⁵ with μ2 = 10⁻⁷: P is ill-conditioned, K is not. A warning would fail the test."""
    X, y = make_blobs((30, 25, 20), n_features=8)
    model = NSSE.as_published(mu1=1e5, mu2=1e-7, sigma=0.4).fit(X, y)
    assert model.condition_.factorization == "kernel"
    assert model.score(X, y) == 1.0
