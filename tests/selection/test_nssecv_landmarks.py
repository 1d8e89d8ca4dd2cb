"""NSSECV with landmarks of the user's own choice, or more of them than a split has samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from conftest import blobs_of
from nsse import NSSE, NSSECV
from nsse.estimators._settings import check_settings
from nsse.landmarks import ArrayRows
from nsse.selection.grid import Split
from nsse.selection.points import GridPoint
from nsse.selection.subsample import searched_samples

GRID = {"mu2": [0.01, 1.0], "mu3": [0.1, 3.0], "n_components": [2, 3]}


@pytest.fixture(scope="module")
def data():
    """Overlapping classes of different sizes, sorted by class: places tell samples far apart."""
    blobs = blobs_of((75, 60, 45, 30), n_features=6, seed=3, spread=1.2)
    return blobs.X, np.array(["ant", "bee", "cat", "dog"])[blobs.codes]


def scores(search, point, n_splits):
    return [search.cv_results_[f"split{k}_test_score"][point] for k in range(n_splits)]


def literal_scores(model, X, y, chosen, splits):
    """One fit per split, with the rows of those landmarks that are not held out as centres."""
    found = []
    for train, valid in splits:
        rows = X[np.setdiff1d(chosen, valid)]
        fitted = model.set_params(landmarks=rows).fit(X[train], y[train])
        found.append(fitted.score(X[valid], y[valid]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_indices_mean_samples_of_the_whole(data, kind):
    X, y = kind(data[0]), data[1]
    chosen = np.arange(0, 210, 7)  # the last ones are beyond the rows of any split
    splits = list(StratifiedKFold(3).split(X, y))
    base = NSSE.as_published(landmarks=chosen, sigma=0.6)  # where σ is given, scores are those of a fit
    ours = NSSECV(GRID, estimator=base, cv=splits, n_voters=1).fit(X, y)
    for point, params in enumerate(ours.cv_results_["params"]):
        theirs = literal_scores(NSSE.as_published(sigma=0.6, **params), X, y, chosen, splits)
        assert scores(ours, point, 3) == theirs
    assert abs(ours.best_estimator_.centers_ - X[chosen]).max() == 0
    assert ours.best_estimator_.n_landmarks_ == 30


def test_indices_do_not_depend_on_the_order_of_a_split(data):
    X, y = data
    rng = np.random.default_rng(0)
    splits = [(rng.permutation(train), valid) for train, valid in StratifiedKFold(3).split(X, y)]
    ordered = [(np.sort(train), valid) for train, valid in splits]
    base = NSSE.as_published(landmarks=np.arange(0, 210, 7), sigma=0.5)
    one, other = (NSSECV(GRID, estimator=base, cv=cv, n_voters=1).fit(X, y) for cv in (splits, ordered))
    for point in range(len(one.cv_results_["params"])):
        assert scores(one, point, 3) == scores(other, point, 3)


@pytest.mark.slow
def test_indices_in_the_grid_mean_the_same(data):
    X, y = data
    near, far = np.arange(0, 60, 3), np.arange(0, 210, 10)
    common = {"cv": 3, "n_voters": 1}
    both = NSSECV(
        {"landmarks": [near, far], "mu2": [0.01]}, **common, estimator=NSSE.as_published()
    ).fit(X, y)
    for place, chosen in enumerate((near, far)):
        alone = NSSECV({"mu2": [0.01]}, estimator=NSSE.as_published(landmarks=chosen), **common).fit(
            X, y
        )
        assert scores(both, place, 3) == scores(alone, 0, 3)


@pytest.mark.parametrize("where", ["estimator", "grid"])
def test_indices_mean_the_same_on_a_subsample(data, where):
    X, y = data
    chosen = np.arange(0, 210, 7)
    grid, base = GRID, NSSE.as_published(landmarks=chosen)
    common = {"n_subsample": 100, "cv": [(np.arange(0, 100, 2), np.arange(1, 100, 2))], "n_voters": 1}
    if where == "grid":  # what makes a search one on a subsample is the estimator
        grid, base = GRID | {"landmarks": [chosen]}, NSSE.as_published(landmarks=np.arange(5, 200, 9))
    search = NSSECV(grid, estimator=base, **common).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    again = NSSE.as_published(**{"landmarks": chosen} | search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.embedding_, again.embedding_)
    if where == "grid":
        alone = NSSECV(GRID, estimator=NSSE.as_published(landmarks=chosen), **common).fit(X, y)
        np.testing.assert_array_equal(
            search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
        )


def test_held_out_samples_are_no_centres(data):
    """Every landmark is held out on the one split: there is nothing to fit with."""
    X, y = data
    held_out = np.arange(0, 210, 3)
    cv = [(np.setdiff1d(np.arange(210), held_out), held_out)]
    search = NSSECV(GRID, estimator=NSSE.as_published(landmarks=held_out[::2]), cv=cv)
    with pytest.raises(ValueError, match=r"No point of `param_grid` could be fitted.*`landmarks` must"):
        search.fit(X, y)


def test_too_few_landmarks_left_for_some_points_are_named(data):
    X, y = data
    held_out = np.arange(0, 210, 3)
    cv = [(np.setdiff1d(np.arange(210), held_out), held_out)]
    chosen = np.append(held_out[:20], [1, 2])  # two of them are in the training part
    search = NSSECV(GRID, estimator=NSSE.as_published(landmarks=chosen), cv=cv, n_voters=1)
    with pytest.warns(FitFailedWarning, match="`landmarks` must be no fewer than the components, 3"):
        search.fit(X, y)
    assert search.best_params_["n_components"] == 2


def test_on_a_subsample_held_out_samples_are_no_centres(data):
    X, y = data
    searched = searched_samples(
        ArrayRows(X), y, check_settings(NSSE.as_published(n_landmarks=20)), 100, 0
    )
    chosen = np.union1d(searched.places[::3], np.setdiff1d(np.arange(210), searched.places)[::4])
    point = GridPoint.of(NSSE.as_published(landmarks=chosen), {})
    point = replace(point, settings=searched.settled(point.settings))
    train, valid = np.arange(0, 100, 2), np.arange(1, 100, 2)
    split = Split(searched.X, searched.y, None, train, valid, searched.whole, searched.places)
    kept = np.setdiff1d(chosen, searched.places[valid])
    assert 0 < len(kept) < len(chosen)
    np.testing.assert_array_equal(split.plan(point, 210).how, X[kept])


@pytest.mark.parametrize("n_landmarks", [200, 210])
def test_more_landmarks_than_a_split_has_samples(data, n_landmarks):
    """All samples of the split are landmarks then: what NSSE does with as many as it has samples."""
    X, y = data
    splits = list(ShuffleSplit(3, test_size=0.15, random_state=0).split(X))
    base = NSSE.as_published(n_landmarks=n_landmarks, sigma=0.6)
    search = NSSECV({"mu2": [0.01, 1.0]}, estimator=base, cv=splits, n_voters=1).fit(X, y)
    for point, params in enumerate(search.cv_results_["params"]):
        fits = [
            NSSE.as_published(n_landmarks=len(train), sigma=0.6, **params).fit(X[train], y[train])
            for train, _ in splits
        ]
        theirs = [fit.score(X[v], y[v]) for fit, (_, v) in zip(fits, splits, strict=True)]
        assert scores(search, point, 3) == theirs
    assert search.best_estimator_.n_landmarks_ == n_landmarks


def test_more_landmarks_than_samples_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"`n_landmarks` must not exceed .* 210. Got 211"):
        NSSECV(GRID, estimator=NSSE.as_published(n_landmarks=211)).fit(X, y)
    with pytest.raises(ValueError, match="`landmarks` must be distinct indices from 0 to 209"):
        NSSECV(GRID, estimator=NSSE.as_published(landmarks=np.arange(200, 211))).fit(X, y)
