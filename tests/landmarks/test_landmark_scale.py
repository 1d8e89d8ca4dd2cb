"""The kernel scale of a model with landmarks: subsamples that stand for all samples, and the search."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from conftest import blobs_of
from nsse import NSSE
from nsse.landmarks import fitting
from nsse.landmarks.neighborhoods import Neighbors
from nsse.landmarks.scale import draw_subsample, pose_sample
from nsse.solvers import Objective, solve_pencil
from nsse.solvers.extrapolation import bottoms, seen_from_afar
from nsse.solvers.joint import find_scale
from nsse.solvers.pencil import RankError
from nsse.solvers.survey import Look


@pytest.fixture(scope="module")
def data():
    """Samples of four classes, one after the other."""
    blobs = blobs_of((70, 50, 40, 20), n_features=6, seed=3)
    return blobs.X, blobs.codes


def test_slope_on_a_subsample_is_the_derivative(data):
    X, codes = data
    objective = Objective(0.7, 0.01, 0.3, 3)
    counts = 5.0 * np.bincount(codes)
    problem = pose_sample(X, codes, X[::9], counts, objective, Neighbors(4, None), 1.5)
    h = 1e-5
    for log_sigma in (-0.3, 0.5):
        low, middle, high = (solve_pencil(problem, np.exp(log_sigma + t)) for t in (-h, 0.0, h))
        assert middle.slope == pytest.approx((high.excess - low.excess) / (2 * h), rel=1e-5)


def test_subsample_keeps_the_share_of_centres():
    codes = np.random.default_rng(0).integers(0, 5, 40_000)
    centers = np.sort(np.random.default_rng(1).choice(40_000, 4000, replace=False))
    sample = draw_subsample(codes, centers, 4000, 100, np.random.default_rng(2))
    own = np.isin(sample.rows, centers).sum()
    assert own == round(len(sample.rows) * 0.1)
    assert set(sample.rows[np.isin(sample.rows, centers)]) <= set(centers[sample.centers])
    counts = np.bincount(codes[sample.rows]) / np.bincount(codes)
    assert counts.max() / counts.min() < 1.3


def test_subsample_where_all_samples_are_centres():
    codes = np.repeat([0, 1], [3000, 2000])
    sample = draw_subsample(codes, np.arange(5000), 5000, 20, np.random.default_rng(0))
    assert len(sample.centers) == 1000
    np.testing.assert_array_equal(sample.rows, sample.centers)


def test_subsample_has_every_class():
    codes = np.repeat([0, 1, 2], [9000, 3000, 3])
    centers = np.r_[np.arange(0, 9000, 30), [12_000, 12_001, 12_002]]
    sample = draw_subsample(codes, centers, len(centers), 20, np.random.default_rng(0))
    assert set(codes[sample.rows]) == {0, 1, 2}
    assert len(np.unique(sample.rows)) == len(sample.rows)


@pytest.mark.slow
def test_a_thinner_subsample_leads_to_the_same_scale(monkeypatch):
    """Two routes to the least g: valleys from few rows, or a scan of all that is there."""
    blobs = blobs_of((700, 400, 300, 100), n_features=6, seed=1)
    monkeypatch.setattr(fitting, "THIN_ROWS", 300)
    model = NSSE.as_published(n_landmarks=600, random_state=0)
    thin = model.fit(blobs.X, blobs.codes)
    sigma, excess, steps = thin.sigma_, thin.trace_.steps[-1].excess, len(thin.trace_)
    monkeypatch.setattr(fitting, "THINNER", np.inf)
    scanned = model.fit(blobs.X, blobs.codes)
    assert steps < len(scanned.trace_) / 2
    assert sigma == pytest.approx(scanned.sigma_, rel=0.01)
    assert excess == pytest.approx(scanned.trace_.steps[-1].excess, rel=1e-5)


def bowl(bottom, beyond=np.inf):
    """g(x) = 1 + (x − bottom)², unsolvable beyond some x = log σ."""

    def evaluate(x, basis=None):
        if x > beyond:
            raise RankError(1, 2)
        return SimpleNamespace(
            sigma=float(np.exp(x)),
            excess=1 + (x - bottom) ** 2,
            slope=2 * (x - bottom),
            basis=None,
            is_rough=False,
        )

    return evaluate


class Cheaper:
    """Guesses from another function."""

    def __init__(self, evaluate):
        self._evaluate = evaluate

    def starts(self, bounds, max_iter):
        scanned, reach = seen_from_afar(self._evaluate, lambda sigma: 0.0, bounds)
        return bottoms(self._evaluate, scanned, reach, max_iter), reach


def end_of(g, cheaper, low=-3.0, high=3.0):
    bounds = (float(np.exp(low)), float(np.exp(high)))
    look = Look(g, lambda sigma: 0.0)
    return find_scale(look, g, bounds, 1e-10, 30, Cheaper(cheaper))


def test_where_the_thinner_valley_cannot_be_solved_all_is_scanned():
    g = bowl(-1.0, beyond=0.5)
    for cheaper in (bowl(2.0), bowl(-0.9)):
        assert np.log(end_of(g, cheaper).solution.sigma) == pytest.approx(-1.0, abs=1e-4)


def test_an_end_that_only_the_thinner_problem_has_is_no_end():
    """Fewer centres carry fewer coordinates: a thinner kernel loses its rank at a smaller σ."""
    end = end_of(bowl(1.8), bowl(2.0, beyond=0.6))
    assert np.log(end.solution.sigma) == pytest.approx(1.8, abs=1e-4)
    assert not end.at_bound


def test_an_end_of_the_interval_is_an_end():
    """g falls beyond σ_max: no closer look at all of it changes that."""
    end = end_of(bowl(4.0), bowl(5.0))
    assert np.log(end.solution.sigma) == pytest.approx(3.0)
    assert end.at_bound
