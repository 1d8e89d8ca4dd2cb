"""Model selection with landmarks: on a subsample that stands for all, then one full pass."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import blobs_of
from nsse import NSSE, NSSECV


@pytest.fixture(scope="module")
def data():
    """Overlapping classes of different sizes, in random order."""
    blobs = blobs_of((300, 240, 180, 120), n_features=6, seed=3, spread=1.2)
    order = np.random.default_rng(0).permutation(len(blobs.codes))
    return blobs.X[order], np.array(["ant", "bee", "cat", "dog"])[blobs.codes[order]]


@pytest.mark.slow
@pytest.mark.parametrize("landmarks", [None, "per-class", "random", "kmeans++", "indices", "array"])
def test_search_on_a_subsample_and_one_full_pass(data, landmarks):
    X, y = data
    how = {"indices": np.arange(0, 840, 12), "array": X[::12] + 0.01}.get(landmarks, landmarks)
    n = None if landmarks in ("indices", "array") else 70
    search = NSSECV(NSSE(n_landmarks=n, landmarks=how), n_subsample=200, n_repeats=3).fit(X, y)
    best = search.best_estimator_
    assert best.embedding_.shape[0] == len(y)
    assert best.n_landmarks_ == 70
    params = {"normalization": "classes", "embedding_scale": "unit"} | search.best_params_
    again = NSSE(n_landmarks=n, landmarks=how, **params).fit(X, y)
    np.testing.assert_array_equal(best.embedding_, again.embedding_)


@pytest.mark.slow
def test_same_choice_from_arrays_memory_maps_and_blocks(data, tmp_path):
    X, y = data
    path = tmp_path / "X.npy"
    np.save(path, X)
    blocks = [(X[:400], y[:400]), (X[400:], y[400:])]
    params = {"estimator": NSSE(n_landmarks=40), "n_subsample": 150, "n_repeats": 2}
    fits = [
        NSSECV(**params).fit(X, y),
        NSSECV(**params).fit(np.load(path, mmap_mode="r"), y),
        NSSECV(**params).fit_blocks(blocks),
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
    with pytest.raises(ValueError, match="`n_landmarks` must be given for blocks"):
        NSSECV().fit_blocks([(X, y)])
    broken = NSSECV(NSSE(n_landmarks=20))
    with pytest.raises(ValueError, match="Block 1 is not usable"):
        broken.fit_blocks([(X, y), (X * np.nan, y)])
    assert not hasattr(broken, "n_features_in_")


@pytest.mark.slow
def test_auto_decides_by_the_number_of_all_samples(data, monkeypatch):
    X, y = data
    exact = NSSECV(NSSE(n_landmarks="auto"), n_subsample=100, n_repeats=2).fit(X[:150], y[:150])
    assert exact.best_estimator_.n_landmarks_ == 150
    monkeypatch.setattr("nsse.estimators._centers.AUTO_EXACT", 300)
    monkeypatch.setattr("nsse.estimators._centers.AUTO_CENTERS", 50)
    few = NSSECV(NSSE(n_landmarks="auto"), n_subsample=100, n_repeats=2).fit(X, y)
    assert few.best_estimator_.n_landmarks_ == 50


def test_memory_does_not_grow_with_the_samples():
    search = NSSECV(NSSE(n_landmarks=500))
    few, many = (search.estimate_memory(n, 50) for n in (10_000, 20_000))
    assert many - few <= 10_000 * 10 * 8 * 4  # embeddings, nothing else


def test_what_is_wrong_about_landmarks(data):
    with pytest.raises(ValueError, match="`n_subsample` must"):
        NSSECV(NSSE(n_landmarks=20), n_subsample=0).fit(*data)
    with pytest.raises(ValueError, match=r"`n_landmarks` must not exceed .* 840. Got 841"):
        NSSECV(NSSE(n_landmarks=841), n_repeats=2).fit(*data)
    with pytest.raises(ValueError, match="`landmarks` must be distinct indices from 0 to 839"):
        NSSECV(NSSE(landmarks=np.arange(830, 841)), n_repeats=2).fit(*data)
