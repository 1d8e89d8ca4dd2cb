"""Scores of the class means: the sums they stand for, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from nsse.extensions import ClassScores, total_scatters


@pytest.fixture(scope="module")
def embedded(blobs):
    return blobs.X[:, :3], np.array(["ape", "bear", "cat", "dog"])[blobs.codes]


def test_scores_regress_class_indicators_on_each_coordinate(embedded):
    Y, y = embedded
    t, sizes = np.array([1.0, 50.0, 400.0]), np.array([10.0, 20.0, 30.0, 40.0])
    for scatters, counts in ((t, None), (t, sizes), (None, None)):
        model = ClassScores(scatters, counts).fit(Y, y)
        own = [Y[y == label] for label in np.unique(y)]
        n = [len(rows) for rows in own] if counts is None else counts
        grand = sum(n[c] * own[c].mean(axis=0) for c in range(4)) / sum(n)
        whole = ((Y - grand) ** 2).sum(axis=0) if scatters is None else scatters
        expected = np.zeros((len(Y), 4))
        for i in range(len(Y)):
            for c in range(4):
                mean = own[c].mean(axis=0) - grand
                expected[i, c] = n[c] / sum(n) + n[c] * sum((Y[i] - grand) * mean / whole)
        np.testing.assert_allclose(model.decision_function(Y), expected, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(Y).sum(axis=1), 1.0)
        assert model.predict(Y).tolist() == model.classes_[expected.argmax(axis=1)].tolist()
        proba = model.predict_proba(Y)
        np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(Y))
        np.testing.assert_array_equal(proba.sum(axis=1), 1.0)


def test_far_from_everything_the_largest_class_wins_where_constants_are_dear(embedded):
    Y, y = embedded
    sizes = np.array([10.0, 20.0, 40.0, 30.0])
    dear = ClassScores(sizes=sizes, constant_price=1e12).fit(Y, y)
    np.testing.assert_allclose(dear.decision_function(np.zeros((1, 3))), [sizes / 100], atol=1e-9)
    assert dear.predict(np.zeros((1, 3))) == ["cat"]
    # At a price of 100 samples half of the mean is taken off.
    half, free = (ClassScores(sizes=sizes, constant_price=price).fit(Y, y) for price in (100.0, 0.0))
    middle = (dear.intercept_ + free.intercept_) / 2
    np.testing.assert_allclose(half.intercept_, middle, atol=1e-9)


def test_a_constant_coordinate_says_nothing(embedded):
    Y, y = embedded
    more = ClassScores().fit(np.c_[Y, np.full(len(Y), 7.0)], y)
    np.testing.assert_array_equal(
        more.predict(np.c_[Y, np.zeros(len(Y))]), ClassScores().fit(Y, y).predict(Y)
    )


def test_of_two_classes_the_sign_tells(embedded):
    Y, y = embedded
    two = np.isin(y, ["ape", "cat"])
    model = ClassScores().fit(Y[two], y[two])
    lead = model.decision_function(Y)
    assert lead.shape == (len(Y),)
    np.testing.assert_array_equal(model.predict(Y), np.where(lead > 0, "cat", "ape"))


def test_units_of_the_embedding_change_no_label(embedded):
    Y, y = embedded
    new = np.random.default_rng(0).standard_normal((200, 3))
    labels = ClassScores().fit(Y, y).predict(new)
    np.testing.assert_array_equal(ClassScores().fit(1e3 * Y, y).predict(1e3 * new), labels)


def test_the_whole_of_a_coordinate_is_what_separates_and_what_it_costs(embedded):
    """t = b + λ/(μ1 n̄) by its definition, with class sizes that are not those of the rows."""
    Y, y = embedded
    sizes, eigenvalues, mu1 = np.array([10.0, 20.0, 30.0, 40.0]), np.array([0.1, 1.0, 7.0]), 0.3
    found = total_scatters(Y, y, sizes, eigenvalues, mu1)
    for k in range(3):
        means = np.array([Y[y == label, k].mean() for label in np.unique(y)])
        grand = sum(n * m for n, m in zip(sizes, means, strict=True)) / 100.0
        b = sum(n * (m - grand) ** 2 for n, m in zip(sizes, means, strict=True))
        assert found[k] == pytest.approx(b + eigenvalues[k] / (mu1 * 25.0))


def test_clones_are_unfitted_and_keep_their_scatters(embedded):
    t = np.array([1.0, 0.5, 0.1])
    copy = clone(ClassScores(t).fit(*embedded))
    assert not hasattr(copy, "coef_")
    np.testing.assert_array_equal(copy.scatters, t)
