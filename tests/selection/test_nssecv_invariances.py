"""Copies in a search: made of training samples alone, chosen where they help, none where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from nsse import NSSE, NSSECV
from nsse.invariances import Images, Noise, enlarged, usual_sets
from nsse.kernels import squared_distances
from nsse.selection import InvarianceChoice, choose_invariances
from nsse.selection.quick import COPIED_ROWS, MOST_ROWS, Trained, quick_search, training_rows
from nsse.selection.quick_grid import QuickGrid
from nsse.selection.rulers import Rulers


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:70], y[:70], X[300:500], y[300:500]


def arrows(n, seed=0):
    """Arrows to the left and to the right at any height, in noise: mirrored, one is the other."""
    rng = np.random.default_rng(seed)
    X, y = np.zeros((n, 7, 9)), np.arange(n) % 2
    for picture, right in zip(X, y, strict=True):
        middle = rng.integers(2, 5)
        picture[middle, 1:8] = 1.0
        for step in (1, 2):
            column = 7 - step if right else 1 + step
            picture[[middle - step, middle + step], column] = 1.0
    return X.reshape(n, -1) + 0.35 * rng.normal(size=(n, 63)), y


def bars(n, seed=0):
    """Bars that stand or lie anywhere, in noise: shifted, they are what they were."""
    rng = np.random.default_rng(seed)
    X, y = np.zeros((n, 9, 9)), np.arange(n) % 2
    for picture, upright in zip(X, y, strict=True):
        place = rng.integers(2, 7)
        picture[(slice(2, 7), place) if upright else (place, slice(2, 7))] = 1.0
    return X.reshape(n, -1) + 0.3 * rng.normal(size=(n, 81)), y


def test_a_mirror_that_is_wrong_is_not_taken():
    X, y = arrows(40)
    found = choose_invariances(NSSE(), X, y, [None, Images((7, 9), None, None, mirror=True)])
    assert found.best is None
    assert found.gain[0] < 0
    whole = choose_invariances(NSSE(), X, y, usual_sets((7, 9)))
    assert whole.best is None or not whole.best.mirror


def test_shifts_that_are_right_are_taken():
    X, y = bars(30)
    found = choose_invariances(NSSE(), X, y, [None, Images((9, 9), shift=(1, 2), rotate=None)])
    assert found.best is not None
    gain, error = found.gain
    assert gain > error > 0
    new, truth = bars(300, seed=1)
    with_copies = NSSE(invariances=found.best).fit(X, y).score(new, truth)
    assert with_copies > NSSE().fit(X, y).score(new, truth)


def test_nothing_is_taken_for_a_gain_within_its_error():
    views, none = Images((4, 4)), None
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 16)), np.arange(60) % 2  # nothing to learn
    found = choose_invariances(NSSE(), X, y, [none, views])
    gain, error = found.gain
    assert (found.best is not None) == (gain > error)


def test_scores_are_those_of_cross_validation_of_the_model(digits):
    X, y, _, _ = digits
    splits = list(StratifiedKFold(3).split(X, y))
    candidates = [Images((8, 8)), None]
    found = choose_invariances(NSSE(), X, y, candidates, splits=splits)
    for row, views in zip(found.scores, candidates, strict=True):
        for score, (train, valid) in zip(row, splits, strict=True):
            model = NSSE(invariances=views).fit(X[train], y[train])
            assert score == model.score(X[valid], y[valid])


def test_sets_that_are_behind_are_dropped_and_none_stays():
    X, y = arrows(40)
    mirror = Images((7, 9), None, None, mirror=True)
    found = choose_invariances(NSSE(), X, y, [mirror, None, Noise(0.1, copies=1)])
    assert np.isnan(found.scores[0]).any()
    assert not np.isnan(found.scores[1]).any()
    assert found.index != 0


def test_without_none_there_is_no_gain_to_tell():
    choice = InvarianceChoice((Images((3, 3)),), np.ones((1, 2)), 0)
    assert np.isnan(choice.gain).all()


@pytest.mark.slow
def test_a_search_holds_out_samples_whose_copies_nobody_saw():
    """Labels without a meaning: nothing is learned, unless splits let copies of what is held out in."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 36)), np.arange(60) % 3
    views = Noise(0.02)
    honest = NSSECV(estimator=NSSE(invariances=views), n_repeats=6, n_voters=1).fit(X, y)
    E, labels = enlarged(views, X), np.repeat(y, 5)
    leaking = NSSECV(n_repeats=6, n_voters=1).fit(E, labels)
    assert honest.best_score_ < 0.6 < 0.9 < leaking.best_score_


def test_the_race_scores_training_samples_with_their_copies(digits):
    """The scores of a split, point by point, from a decomposition of the enlarged training part."""
    X, y, _, _ = digits
    grid = QuickGrid((0.0,), (10.0,), (0.8,), (1e-2, 1.0), ("scores", "nearest"))
    views = Images((8, 8), rotate=None)
    splits = list(StratifiedKFold(4).split(X, y))[:2]
    found = quick_search(X, y, splits, grid, invariances=views)
    for scores, (train, valid) in zip(found.scores, splits, strict=True):
        E, labels = enlarged(views, X[train]), np.repeat(y[train], 5)
        D2 = squared_distances(np.vstack([E, X[valid]]))
        n = len(E)
        rulers = Rulers(E, labels, X[valid], D2[:n, :n], D2[n:, :n])
        (_, said), *_ = Trained.on(labels, rulers, 25).labels(grid, [(0, 0, 0)])
        shares = np.bincount(y)[y[valid]] / np.bincount(y[valid])[y[valid]]
        expected = (said == y[valid]) @ (shares / shares.sum())
        np.testing.assert_allclose(scores[0, 0, 0], expected)


def test_the_rows_of_a_split_are_limited():
    assert training_rows(100, 1) == 100
    assert training_rows(2000, 1) == 2000
    assert training_rows(5000, 1) == MOST_ROWS
    assert training_rows(100, 5) == 500
    assert training_rows(500, 9) == COPIED_ROWS


@pytest.mark.slow
def test_a_search_keeps_the_copies_of_its_estimator(digits):
    X, y, new, truth = digits
    views = Images((8, 8))
    search = NSSECV(estimator=NSSE(invariances=views), n_repeats=4, n_voters=3).fit(X, y)
    assert search.invariances_ == views == search.best_estimator_.invariances
    assert all(voter.n_copies_ == 6 for voter in search.voters_)
    assert search.voters_[0].centers_ is search.voters_[-1].centers_  # held once
    assert search.invariance_results_ == {}
    again = NSSE(**search.best_estimator_.get_params(deep=False)).fit(X, y)
    np.testing.assert_array_equal(again.coef_, search.best_estimator_.coef_)
    mean_size = 7 * 70 / 10
    nus = np.array(search.cv_results_["param_mu2"], dtype=float) / mean_size
    np.testing.assert_allclose(sorted(set(np.log10(nus).round(9))), range(-6, 2))
    assert search.embedding_.shape[0] == 70
    assert search.score(new, truth) > 0.8


def test_a_search_chooses_among_sets(digits):
    X, y, _, _ = digits
    sets = [None, Images((8, 8))]
    search = NSSECV(invariances=sets, n_repeats=6, n_voters=2).fit(X, y)
    told = search.invariance_results_
    assert told["invariances"] == sets
    assert told["split_test_score"].shape == (2, 6)
    assert search.invariances_ in sets
    assert clone(search).invariances == sets
    assert (search.invariances_ is None) == (told["gain"][0] <= told["gain"][1])


@pytest.mark.slow
def test_a_search_chooses_as_the_function_does(digits):
    X, y, _, _ = digits
    sets = [None, Images((8, 8), rotate=None), Images((8, 8))]
    search = NSSECV(invariances=sets, n_voters=1).fit(X, y)
    found = choose_invariances(NSSE(), X, y, sets)
    np.testing.assert_array_equal(search.invariance_results_["split_test_score"], found.scores)
    assert search.invariances_ == found.best


def test_many_samples_are_compared_on_a_part_of_them(digits):
    X, y, _, _ = digits
    seen = []

    def views(rows):
        seen.append(len(rows))
        return [rows + 1.0]

    choose_invariances(NSSE(n_landmarks=20), X, y, [None, views], n_subsample=80)
    assert max(seen) <= 40


def test_a_search_with_landmarks_has_copies(digits):
    X, y, _, _ = digits
    base = NSSE(n_landmarks=60)
    search = NSSECV(estimator=base, invariances=[None, Images((8, 8))], n_repeats=4).fit(X, y)
    assert search.best_estimator_.n_landmarks_ == 60


@pytest.mark.slow
def test_a_subsample_counts_the_copies(digits):
    X, y, _, _ = digits
    many, labels = np.tile(X, (4, 1)) + np.random.default_rng(0).normal(size=(280, 64)), np.tile(y, 4)
    base = NSSE(n_landmarks=40, invariances=Images((8, 8), rotate=None))
    search = NSSECV(estimator=base, n_repeats=2, n_subsample=500).fit(many, labels)
    assert search.best_estimator_.n_landmarks_ == 40


@pytest.mark.slow
def test_copies_travel_with_a_search(digits, tmp_path):
    pytest.importorskip("skops.io")
    import nsse

    X, y, new, _ = digits
    search = NSSECV(invariances=[None, Images((8, 8))], n_repeats=4, n_voters=2).fit(X, y)
    nsse.save(search, tmp_path / "search.nsse")
    again = nsse.load(tmp_path / "search.nsse")
    assert again.invariances_ == search.invariances_
    np.testing.assert_array_equal(again.predict(new), search.predict(new))


def test_copies_count_in_what_a_search_announces():
    plain, copied = NSSECV(), NSSECV(estimator=NSSE(invariances=Images((8, 8))))
    several = NSSECV(invariances=[None, Images((8, 8))])
    assert plain.estimate_memory(200, 64) < copied.estimate_memory(200, 64)
    assert copied.estimate_memory(200, 64) <= several.estimate_memory(200, 64)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"invariances": Images((8, 8))}, "`invariances` must be None or a list"),
        ({"invariances": []}, "`invariances` must be None or a list"),
        ({"invariances": [3]}, "`invariances` must be None or give copies"),
    ],
)
def test_what_cannot_be_is_refused(digits, params, message):
    X, y, _, _ = digits
    with pytest.raises(ValueError, match=message):
        NSSECV(**params).fit(X, y)


def test_sparse_samples_are_refused(digits):
    X, y, _, _ = digits
    with pytest.raises(ValueError, match="`invariances` must be None for sparse samples"):
        NSSECV(estimator=NSSE(invariances=Images((8, 8)))).fit(sparse.csr_array(X), y)
