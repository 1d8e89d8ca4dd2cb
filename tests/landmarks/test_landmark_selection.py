"""Model selection with landmarks: one sweep on a subsample that stands for all, then one full pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from conftest import blobs_of
from nsse import NSSE, NSSECV
from nsse.estimators._centers import CenterPlan
from nsse.kernels import KernelRows
from nsse.landmarks import MeasuredRows, Neighbors
from nsse.landmarks.scale import pose_sample
from nsse.selection.center_grid import Fold, _rows
from nsse.solvers import Objective, solve_pencil
from nsse.solvers.sweep import Sweep, Wanted

GRID = {"mu1": [0.1, 1.0], "mu2": [0.01, 1.0], "n_components": [2, 3], "mu3": [0.1, 3.0]}


@pytest.fixture(scope="module")
def data():
    """Overlapping classes of different sizes, in random order."""
    blobs = blobs_of((300, 240, 180, 120), n_features=6, seed=3, spread=1.2)
    order = np.random.default_rng(0).permutation(len(blobs.codes))
    return blobs.X[order], np.array(["ant", "bee", "cat", "dog"])[blobs.codes[order]]


def sweep_of(X, codes, centers, counts, neighbors):
    kernel = KernelRows.at(centers, 1.5, np.float64)
    rows = MeasuredRows.of(X, codes, kernel, counts)
    graphs = [rows.graph(Neighbors(k, None), 0.0, 1.0) for k in neighbors]
    D2_new = kernel.squared_distances(kernel.measured(X[:7]))
    return Sweep(rows.D2, D2_new, graphs, 3, is_exact=False)


def test_sweep_solves_what_the_search_for_sigma_solves(data):
    """Two routes: many weights from shared products, and one problem at a time."""
    X, y = data
    _, codes = np.unique(y, return_inverse=True)
    counts = 5.0 * np.bincount(codes)
    weights = [Objective(mu1, mu2, 0.0, 3) for mu1 in (0.1, 1.0) for mu2 in (0.01, 2.0)]
    wanted = [Wanted(graph, objective) for graph in (0, 1) for objective in weights]
    sweep = sweep_of(X, codes, X[::20], counts, (4, None))
    for sigma in (0.7, 1.9):
        for one, node in zip(wanted, sweep.solve(sigma, wanted), strict=True):
            neighbors = Neighbors((4, None)[one.graph], None)
            problem = pose_sample(X, codes, X[::20], counts, one.objective, neighbors, 1.5)
            alone = solve_pencil(problem, sigma)
            np.testing.assert_allclose(node.eigenvalues, alone.eigenvalues, rtol=1e-8)
            assert node.slopes.sum() == pytest.approx(alone.slope, rel=1e-5)
            np.testing.assert_allclose(node.Y.T @ node.Y, np.eye(3), atol=1e-8)
            signs = np.sign((node.Y * alone.embedding).sum(axis=0))
            np.testing.assert_allclose(node.Y * signs, alone.embedding, atol=1e-6)
            np.testing.assert_allclose(
                np.abs(node.Z), np.abs(NewPoints(problem, X[:7], X[::20], sigma)(alone.coef)), atol=1e-6
            )


class NewPoints:
    """f at new points by its definition."""

    def __init__(self, problem, X, centers, sigma):
        D2 = ((X[:, None] - centers[None]) ** 2).sum(-1) / 1.5**2
        self._K = np.exp(-D2 / sigma**2)

    def __call__(self, coef):
        return self._K @ coef


def test_sweep_gives_as_many_coordinates_as_there_are():
    """Twelve rows at five distinct points: no more than five coordinates."""
    X = np.tile(np.eye(5), (4, 1))
    codes = np.tile([0, 0, 1, 1, 1], 4)
    kernel = KernelRows.at(X[:5], 1.0, np.float64)
    rows = MeasuredRows.of(X, codes, kernel, np.bincount(codes).astype(float))
    graph = rows.graph(Neighbors(2, None), 0.0, 1.0)
    sweep = Sweep(rows.D2, rows.D2[:2], [graph], 5, is_exact=False)
    (node,) = sweep.solve(30.0, [Wanted(0, Objective(1.0, 1e-9, 0.0, 5))])
    assert 0 < node.rank <= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_scores_are_those_of_a_grid_search(data, kind):
    """Without a subsample, NSSECV must score the very models that NSSE fits."""
    X, y = kind(data[0][:300]), data[1][:300]
    base = NSSE.as_published(n_landmarks=25, classifier=KNeighborsClassifier(5))
    ours = NSSECV(GRID, estimator=base, cv=3).fit(X, y)
    theirs = GridSearchCV(base, GRID, cv=3).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.011
    )
    assert "fits of their own" not in ours.counts_
    assert ours.best_estimator_.n_landmarks_ == 25


@pytest.mark.slow
@pytest.mark.parametrize("landmarks", [None, "per-class", "random", "kmeans++", "indices", "array"])
def test_search_on_a_subsample_and_one_full_pass(data, landmarks):
    X, y = data
    how = {"indices": np.arange(0, 840, 12), "array": X[::12] + 0.01}.get(landmarks, landmarks)
    n = None if landmarks in ("indices", "array") else 70
    base = NSSE.as_published(n_landmarks=n, landmarks=how)
    search = NSSECV(GRID, estimator=base, n_subsample=200, n_repeats=3).fit(X, y)
    best = search.best_estimator_
    assert best.embedding_.shape[0] == len(y)
    assert best.n_landmarks_ == 70
    again = NSSE.as_published(n_landmarks=n, landmarks=how, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(best.embedding_, again.embedding_)
    assert search.counts_["kernel matrices"] > 0
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_a_subsample_stands_for_all_samples(data):
    """The σ of a point on a subsample is near the one of all samples, not that of few samples."""
    X, y = data
    params = {"mu2": 5.0, "mu3": 30.0}
    whole = NSSE.as_published(n_landmarks=60, **params).fit(X, y)
    few = NSSE.as_published(n_landmarks=60, **params).fit(X[:170], y[:170])
    grid = {name: [value] for name, value in params.items()}
    search = NSSECV(grid, estimator=NSSE.as_published(n_landmarks=60), n_subsample=200, n_repeats=4).fit(
        X, y
    )
    found = np.log(search.cv_results_["mean_sigma"][0])
    right, wrong = (np.log(model.sigma_ / model.length_unit_) for model in (whole, few))
    assert abs(found - right) < 0.5 * abs(found - wrong)


@pytest.mark.slow
def test_same_choice_from_arrays_memory_maps_and_blocks(data, tmp_path):
    X, y = data
    path = tmp_path / "X.npy"
    np.save(path, X)
    blocks = [(X[:400], y[:400]), (X[400:], y[400:])]
    params = {"estimator": NSSE.as_published(n_landmarks=40), "n_subsample": 150, "n_repeats": 2}
    fits = [
        NSSECV(GRID, **params).fit(X, y),
        NSSECV(GRID, **params).fit(np.load(path, mmap_mode="r"), y),
        NSSECV(GRID, **params).fit_blocks(blocks),
    ]
    for other in fits[1:]:
        assert other.best_params_ == fits[0].best_params_
        np.testing.assert_array_equal(
            other.cv_results_["mean_test_score"], fits[0].cv_results_["mean_test_score"]
        )
        assert other.n_features_in_ == 6
        np.testing.assert_array_equal(other.predict(X[:30]), fits[0].predict(X[:30]))


def test_blocks_need_landmarks_and_leave_nothing_behind(data):
    X, y = data
    search = NSSECV(GRID, estimator=NSSE.as_published())
    with pytest.raises(ValueError, match="`n_landmarks` must be given for blocks"):
        search.fit_blocks([(X, y)])
    broken = NSSECV(GRID, estimator=NSSE.as_published(n_landmarks=20))
    with pytest.raises(ValueError, match="Block 1 is not usable"):
        broken.fit_blocks([(X, y), (X * np.nan, y)])
    assert not hasattr(broken, "n_features_in_")


@pytest.mark.slow
def test_auto_decides_by_the_number_of_all_samples(data, monkeypatch):
    X, y = data
    exact = NSSECV(GRID, estimator=NSSE.as_published(n_landmarks="auto"), n_subsample=100, n_repeats=2)
    exact.fit(X[:150], y[:150])
    assert exact.best_estimator_.n_landmarks_ == 150
    monkeypatch.setattr("nsse.estimators._centers.AUTO_EXACT", 300)
    monkeypatch.setattr("nsse.estimators._centers.AUTO_CENTERS", 50)
    few = NSSECV(
        GRID, estimator=NSSE.as_published(n_landmarks="auto"), n_subsample=100, n_repeats=2
    ).fit(X, y)
    assert few.best_estimator_.n_landmarks_ == 50


def test_points_that_cannot_be_fail_alone(data):
    X, y = data
    grid = {"n_components": [2, 41]}
    search = NSSECV(grid, estimator=NSSE.as_published(n_landmarks=40), n_subsample=200, n_repeats=2)
    with pytest.warns(FitFailedWarning, match="n_subsample"):
        search.fit(X, y)
    means = search.cv_results_["mean_test_score"]
    assert np.isfinite(means[0])
    assert np.isnan(means[1])


def test_rows_that_are_their_own_centre_are_as_many_as_in_the_whole():
    codes = np.repeat([0, 1], [70, 30])
    fold = Fold(np.zeros((100, 2)), codes, np.zeros((1, 2)), np.array([700.0, 300.0]), 1.0)
    indices = np.arange(0, 100, 2)
    used, apart = _rows(fold, CenterPlan(200, "random"), indices, np.random.default_rng(0))
    assert len(np.intersect1d(used, indices)) == 20  # 200 of 1000 samples are centres
    np.testing.assert_array_equal(np.sort(np.concatenate([used, apart])), np.arange(100))


def test_memory_does_not_grow_with_the_samples():
    search = NSSECV(estimator=NSSE.as_published(n_landmarks=500))
    few, many = (search.estimate_memory(n, 50) for n in (10_000, 20_000))
    assert many - few <= 10_000 * 10 * 8 * 4  # embeddings, nothing else


def test_subsample_must_be_a_number(data):
    with pytest.raises(ValueError, match="`n_subsample` must"):
        NSSECV(GRID, estimator=NSSE.as_published(n_landmarks=20), n_subsample=0).fit(*data)
