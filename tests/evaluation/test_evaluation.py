"""Splits and comparisons, against their definitions and a hand-made estimator."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

from nsse.evaluation import Fit, compare, per_class_split, summarize

LABELS = np.repeat([3, 1, 2], [6, 9, 4])
LABELS.flags.writeable = False


@given(
    codes=st.lists(st.integers(0, 3), min_size=0, max_size=30).map(
        lambda extra: [0, 1, 2, 3] * 3 + extra
    ),
    n_per_class=st.integers(1, 2),
    seed=st.integers(0, 2**32),
)
def test_split_is_a_partition_with_equal_classes_whatever_their_names(codes, n_per_class, seed):
    y = np.array(codes)
    train, test = per_class_split(y, n_per_class, seed)
    assert sorted([*train, *test]) == list(range(len(y)))
    assert np.bincount(y[train]).tolist() == [n_per_class] * 4
    renamed = np.array(["zebra", "ant", "mole", "bee"])[y]
    np.testing.assert_array_equal(per_class_split(renamed, n_per_class, seed)[0], train)


def test_split_follows_its_seed_and_grows():
    small, _ = per_class_split(LABELS, 1, seed=5)
    again, _ = per_class_split(LABELS, 1, seed=5)
    large, _ = per_class_split(LABELS, 3, seed=5)
    np.testing.assert_array_equal(small, again)
    assert set(small) < set(large)
    assert len({tuple(per_class_split(LABELS, 3, seed)[0]) for seed in range(20)}) > 15


def test_every_sample_of_a_class_is_equally_likely_to_train():
    counts = np.zeros(len(LABELS))
    for seed in range(2000):
        counts[per_class_split(LABELS, 2, seed)[0]] += 1
    expected = 2000 * 2 / np.array([{3: 6, 1: 9, 2: 4}[label] for label in LABELS])
    # Five standard deviations of a binomial count.
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


@pytest.mark.parametrize("n_per_class", [0, -1, 2.0, True, "3", None])
def test_split_refuses_what_is_not_a_count(n_per_class):
    with pytest.raises(
        ValueError, match=r"`n_per_class` must be a positive whole number\. Got .*1 or more"
    ):
        per_class_split(LABELS, n_per_class, 0)


def test_split_names_the_class_that_is_too_small():
    match = r"smaller than every class, and class 2 has 4 samples\. Got 4\. Pass at most 3\."
    with pytest.raises(ValueError, match=match):
        per_class_split(LABELS, 4, 0)
    with pytest.raises(ValueError, match=r"class 'b' has 1 sample\. Got 1\. Leave that class out"):
        per_class_split(["a", "a", "b"], 1, 0)


class Parrot(ClassifierMixin, BaseEstimator):
    """Says `word` of everything, and counts what it was fitted to."""

    def __init__(self, word=0):
        self.word = word

    def fit(self, X, y):
        self.n_seen_ = len(X)
        return self

    def predict(self, X):
        return np.full(len(X), self.word)


def test_rows_are_the_errors_of_a_parrot():
    X, methods = np.zeros((len(LABELS), 1)), {"says 1": Parrot(1), "says 3": Parrot(3)}
    rows = list(compare(methods, X, LABELS, sizes=(2, 3), seeds=(7, 8)))
    keys = [(row.seed, row.n_per_class, row.method) for row in rows]
    assert keys == [(seed, size, name) for seed in (7, 8) for size in (2, 3) for name in methods]
    # 19 samples; of the tests, all but those of the parrot's own class are wrong.
    expected = {
        ("says 1", 2): 1 - 7 / 13,
        ("says 3", 2): 1 - 4 / 13,
        ("says 1", 3): 1 - 6 / 10,
        ("says 3", 3): 1 - 3 / 10,
    }
    for row in rows:
        assert row.error == pytest.approx(expected[row.method, row.n_per_class])
        assert row.fit_seconds >= 0
        assert row.predict_seconds >= 0
    assert not hasattr(methods["says 1"], "n_seen_")


def test_rows_come_one_by_one_but_a_bad_size_is_found_at_the_call():
    with pytest.raises(ValueError, match="class 2 has 4 samples"):
        compare({"parrot": Parrot()}, np.zeros((len(LABELS), 1)), LABELS, sizes=(2, 5), seeds=(0,))
    methods = {"parrot": Parrot(1), "broken": "not an estimator"}
    rows = compare(methods, np.zeros((len(LABELS), 1)), LABELS, sizes=(2,), seeds=(0,))
    assert next(rows).method == "parrot"


def test_summary_is_mean_and_standard_error():
    rows = [Fit("a", 5, seed, error, 2.0, 1.0) for seed, error in enumerate((0.1, 0.2, 0.6))]
    several, single = summarize([*rows, Fit("b", 5, 0, 0.25, 1.0, 1.0)])
    assert (several.method, several.n_per_class, several.count) == ("a", 5, 3)
    assert several.mean == pytest.approx(0.3)
    # Squared deviations 0.04 + 0.01 + 0.09 = 0.14; sqrt(0.14 / 2) / sqrt(3).
    assert several.standard_error == pytest.approx(math.sqrt(0.07 / 3))
    assert several.fit_seconds == 2.0
    assert (single.count, single.mean) == (1, 0.25)
    assert math.isnan(single.standard_error)
