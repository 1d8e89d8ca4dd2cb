"""What NSSECV chooses from few samples, and the splits it chooses on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsse import NSSECV
from nsse.selection.splits import BalancedSplits
from searches import X, Y

# ---------------------------------------------------------------------------------------- few samples


def test_two_samples_of_each_of_forty_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 2)
    X = 3.0 * rng.normal(size=(40, 20))[y] + rng.normal(size=(80, 20))
    search = NSSECV(n_repeats=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.embedding_.shape[0] == 80


def test_a_class_with_one_sample_is_never_held_out():
    keep = np.concatenate([np.flatnonzero(Y < 3), np.flatnonzero(Y == 3)[:1]])
    with pytest.warns(UserWarning, match=r"Classes \[3\] have a single sample each") as caught:
        search = NSSECV(n_repeats=4).fit(X[keep], Y[keep])
    assert caught[0].filename == __file__
    assert list(search.classes_) == [0, 1, 2, 3]
    for train, valid in BalancedSplits(9, 0.5, 0).split(None, Y[keep]):
        assert len(keep) - 1 in train
        assert len(keep) - 1 not in valid


def test_one_sample_of_every_class_is_an_error():
    _, first = np.unique(Y, return_index=True)
    search = NSSECV()
    with pytest.raises(ValueError, match="`y` must have a class with at least 2 samples"):
        search.fit(X[first], Y[first])
    assert not hasattr(search, "n_features_in_")


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    fraction=st.floats(0.0, 0.99),
    n_repeats=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_balanced_splits(sizes, fraction, n_repeats, seed):
    y = np.random.RandomState(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    splits = list(BalancedSplits(n_repeats, fraction, seed).split(None, y))
    again = list(BalancedSplits(n_repeats, fraction, seed).split(None, y))
    assert len(splits) == n_repeats
    times = np.zeros(len(y), dtype=int)
    for (train, valid), (train_again, valid_again) in zip(splits, again, strict=True):
        np.testing.assert_array_equal(train, train_again)
        np.testing.assert_array_equal(valid, valid_again)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, valid])), np.arange(len(y)))
        for label, size in enumerate(sizes):
            held_out = int(np.sum(y[valid] == label))
            assert held_out == min(max(1, round(fraction * size)), size - 1)
            assert np.sum(y[train] == label) >= 1
        times[valid] += 1
    for label in range(len(sizes)):
        assert np.ptp(times[y == label]) <= 1


def test_seeds_give_other_splits():
    first, second = (list(BalancedSplits(3, 0.3, seed).split(None, Y)) for seed in (0, 1))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, second, strict=True))
    assert BalancedSplits(3, 0.3).get_n_splits() == 3
