"""The valleys of g: searches with and without landmarks find the deepest, and lose nothing seen."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from nsse import NSSE
from nsse.solvers import solve_pencil
from nsse.solvers.descent import descend
from nsse.solvers.joint import find_scale
from nsse.solvers.pencil import RankError
from nsse.solvers.survey import Look, deepest, log_grid, scan
from problems import joint_of

BOUNDS = (0.1, 10.0)


def envelope(*pieces):
    """log g as the least of parabolas in log σ, (bottom, depth, curvature) each, with its slope."""

    def evaluate(x, basis=None):
        values = [depth + curvature * (x - bottom) ** 2 / 2 for bottom, depth, curvature in pieces]
        best = int(np.argmin(values))
        bottom, _, curvature = pieces[best]
        excess = float(np.exp(values[best]))
        slope = curvature * (x - bottom) * excess
        return point(x, excess, slope)

    return evaluate


def point(x, excess, slope, is_rough=False):
    sigma = float(np.exp(x))
    return SimpleNamespace(sigma=sigma, excess=excess, slope=slope, basis=None, is_rough=is_rough)


def counted(evaluate):
    seen = []

    def tell(x, basis=None):
        seen.append(evaluate(x))
        return seen[-1]

    return tell, seen


def joint_end(evaluate, floor=lambda sigma: 0.0, widest=np.inf, tol=1e-10):
    return deepest(Look(evaluate, floor, widest), evaluate, BOUNDS, tol, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [993, 168])
def test_thirteen_samples_end_at_the_least_value_of_a_grid(make_problem, seed):
    """993: a descent may end above a point of the scan. 168: a valley between two points of it."""
    X, codes = np.random.default_rng(seed).standard_normal((13, 1)), np.arange(13) % 2
    order = np.argsort(codes, kind="stable")
    data = SimpleNamespace(X=X[order], codes=codes[order])
    problem = make_problem(data, mu1=1.0, mu2=0.01, mu3=0.05, n_components=1, n_neighbors=5)
    outcome = joint_of(problem, BOUNDS, tol=1e-8, max_iter=50)
    assert outcome.solution.excess == outcome.trace.column("excess").min()
    least = min(solve_pencil(problem, float(sigma)).excess for sigma in np.geomspace(*BOUNDS, 400))
    assert outcome.solution.excess <= least * (1 + 1e-6)
    assert outcome.converged


def test_a_descent_does_not_stay_where_it_is():
    X, y = make_blobs(60, 5, centers=4, random_state=248)
    model = NSSE.as_published(sigma_range=(0.01, 100.0)).fit(X, y)  # a warning would fail the test
    _, times = np.unique(model.trace_.column("sigma"), return_counts=True)
    assert times.max() == 1


def test_a_valley_between_two_falling_points_is_found():
    """Cells of 0.38: g falls at both ends of one, and into a narrow valley between them."""
    x = log_grid(BOUNDS)
    middle = (x[4] + x[5]) / 2
    narrow, broad = (middle - 0.02, -0.5, 60.0), (x[5] + 0.3, 0.0, 4.0)
    evaluate, seen = counted(envelope(narrow, broad))
    ends = [evaluate(v) for v in (x[4], x[5])]
    assert all(point.slope < 0 for point in ends)
    look = Look(evaluate, lambda sigma: 0.0)
    for end in (joint_end(evaluate), find_scale(look, evaluate, BOUNDS, 1e-10, 60)):
        assert np.log(end.solution.excess) == pytest.approx(-0.5, abs=1e-8)
        assert end.solution.excess == min(point.excess for point in seen)
        assert end.converged


@pytest.mark.parametrize("seed", range(30))
def test_the_deepest_of_several_valleys_is_found_and_nothing_seen_is_lost(seed):
    rng = np.random.default_rng(seed)
    pieces = [
        (rng.uniform(-2, 2), rng.uniform(0, 1), 10 ** rng.uniform(0.3, 1.2))
        for _ in range(rng.integers(1, 5))
    ]
    evaluate, seen = counted(envelope(*pieces))
    end = joint_end(evaluate, widest=0.13)
    assert end.solution.excess == min(point.excess for point in seen)
    assert np.log(end.solution.excess) == pytest.approx(min(depth for _, depth, _ in pieces), abs=1e-8)


def test_one_smooth_valley_costs_no_closer_look():
    evaluate, seen = counted(envelope((0.3, 0.0, 5.0)))
    joint_end(evaluate)
    assert len(seen) <= 13 + 3


def test_nothing_is_tried_where_the_floor_excludes_a_minimum():
    """g ≥ μ3/σ²: below σ² = μ3/g no minimum can be."""
    evaluate, seen = counted(envelope((0.3, 0.0, 5.0)))
    found, reach = scan(Look(evaluate, lambda sigma: 0.5 / sigma**2), log_grid(BOUNDS))
    assert len(found) == len(seen) < 13
    least, following = min(point.excess for point in seen), found[0].sigma ** 2 / found[1].sigma
    assert found[0].slope < 0
    assert 0.5 / found[0].sigma ** 2 < least <= 0.5 / following**2
    assert reach == tuple(np.log(BOUNDS))
    assert [point.sigma for point in found] == sorted(point.sigma for point in found)


@pytest.mark.parametrize("beyond", [1.0, -0.1, -2.0])
def test_a_scan_ends_where_sigma_is_too_large(beyond):
    smooth = envelope((-2.2, 0.0, 5.0))

    def evaluate(x, basis):
        if x > beyond:
            raise RankError(1, 2)
        return smooth(x)

    found, (low, high) = scan(Look(evaluate, lambda sigma: 0.0), log_grid(BOUNDS))
    grid = [x for x in log_grid(BOUNDS) if x <= beyond]
    np.testing.assert_allclose([np.log(point.sigma) for point in found], grid)
    assert (low, high) == (pytest.approx(grid[0]), pytest.approx(grid[-1]))
    with pytest.raises(RankError):
        scan(Look(evaluate, lambda sigma: 0.0), [beyond + 1, beyond + 2])


def test_wide_intervals_are_not_scanned_more_coarsely():
    assert len(log_grid(BOUNDS)) == 13
    assert np.diff(log_grid((0.01, 100.0))).max() <= 0.4


def test_slopes_that_mislead_do_not_keep_a_descent_from_ending():
    """Values of a bowl with slopes that never flatten: only halving the bracket makes progress."""

    def evaluate(x, basis=None):
        excess = 1.0 + abs(x)
        return point(x, excess, np.sign(x) * 50)

    end = descend(evaluate, [evaluate(-1.0), evaluate(0.7)], None, (-2.0, 2.0), 1e-8, 60)
    assert end.converged
    assert end.solution.excess == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("place", [0.31, 0.3001, 0.3, 0.2])
def test_a_descent_is_not_misled_by_rough_points(place):
    """They are too high, and their slopes are wrong by a hundredth: for a bracket, not for an end."""
    exact = envelope((0.3, 0.0, 5.0))

    def rough(x):
        true = exact(x)
        return point(x, true.excess * (1 + 1e-4), true.slope * 1.01 + 1e-4, is_rough=True)

    end = descend(exact, [rough(-0.2), rough(place), rough(0.6)], None, (-2.0, 2.0), 1e-8, 60)
    assert end.converged
    assert not end.solution.is_rough
    assert end.solution.excess == pytest.approx(1.0, abs=1e-7)


def test_an_end_of_the_interval_is_not_taken_from_a_rough_point():
    exact = envelope((3.0, 0.0, 1.0))
    known = [point(x, exact(x).excess * 1.001, exact(x).slope, is_rough=True) for x in (0.0, 1.0)]
    end = descend(exact, known, None, (0.0, 1.0), 1e-8, 60)
    assert (end.converged, end.at_bound, end.solution.is_rough) == (True, True, False)
    assert end.solution.sigma == pytest.approx(np.e)


@pytest.mark.parametrize("curvature", [0.7, 5.0])
def test_a_scan_upwards_ends_far_above_the_least_value(curvature):
    """Sooner where g rises faster than σ², as it does there with the larger curvature only."""
    evaluate, seen = counted(envelope((0.0, 0.0, curvature)))
    look = Look(evaluate, lambda sigma: 0.0, far_above=10.0, steeply_above=3.0)
    scan(look, log_grid((0.01, 100.0)))
    least = min(p.excess for p in seen)
    *others, highest = sorted((p for p in seen if p.sigma > 0.99), key=lambda p: p.sigma)
    is_steep = highest.slope > 2.0 * highest.excess
    assert is_steep == (curvature == 5.0)
    assert highest.sigma < 50.0
    assert highest.excess > (3.0 if is_steep else 10.0) * least
    assert all(p.excess <= (3.0 if p.slope > 2.0 * p.excess else 10.0) * least for p in others)


def test_a_search_of_many_rows_scans_roughly_and_ends_sharply(make_blobs, make_problem):
    """Against g on a dense grid, solved to all digits."""
    problem = make_problem(make_blobs((60, 50, 40), 5), mu2=0.05, mu3=0.1, n_components=2)
    outcome = joint_of(problem, BOUNDS, tol=1e-8, max_iter=50)
    there = solve_pencil(problem, outcome.solution.sigma)
    assert not outcome.solution.is_rough
    assert outcome.solution.excess == pytest.approx(there.excess, rel=1e-10)
    assert outcome.solution.excess == outcome.trace.column("excess").min()
    least = min(solve_pencil(problem, float(sigma)).excess for sigma in np.geomspace(*BOUNDS, 60))
    assert outcome.solution.excess <= least
