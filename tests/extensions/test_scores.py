"""Scores of the class means: the sums they stand for, the same bits in any batch, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from nsse.extensions import ClassScores, weighted_scores


@pytest.fixture(scope="module")
def embedded(blobs):
    return blobs.X[:, :3], np.array(["ape", "bear", "cat", "dog"])[blobs.codes]


def test_scores_are_weighted_products_with_class_means(embedded):
    Y, y = embedded
    w = np.array([1.0, 0.5, 0.1])
    model = ClassScores(w).fit(Y, y)
    expected = np.zeros((len(Y), 4))
    for i in range(len(Y)):
        for c, label in enumerate(["ape", "bear", "cat", "dog"]):
            own = Y[y == label]
            mean = own.mean(axis=0) - Y.mean(axis=0)
            expected[i, c] = len(own) / 15 * sum(w[k] * Y[i, k] * mean[k] for k in range(3))
    np.testing.assert_allclose(model.decision_function(Y), expected, atol=1e-13)
    assert model.predict(Y).tolist() == model.classes_[expected.argmax(axis=1)].tolist()
    proba = model.predict_proba(Y)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(Y))
    np.testing.assert_array_equal(proba.sum(axis=1), 1.0)


def test_of_two_classes_the_sign_tells(embedded):
    Y, y = embedded
    two = np.isin(y, ["ape", "cat"])
    model = ClassScores().fit(Y[two], y[two])
    lead = model.decision_function(Y)
    assert lead.shape == (len(Y),)
    np.testing.assert_array_equal(model.predict(Y), np.where(lead > 0, "cat", "ape"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_has_the_same_bits_in_any_batch(embedded, dtype):
    Y, y = embedded
    Y = Y.astype(dtype)
    model = ClassScores().fit(Y, y)
    alone = np.vstack([model.decision_function(row[np.newaxis]) for row in Y])
    np.testing.assert_array_equal(alone, model.decision_function(Y))


def test_units_of_the_embedding_change_no_label(embedded):
    Y, y = embedded
    new = np.random.default_rng(0).standard_normal((200, 3))
    labels = ClassScores().fit(Y, y).predict(new)
    np.testing.assert_array_equal(ClassScores().fit(1e3 * Y, y).predict(1e3 * new), labels)


def test_weights_are_what_separates_beside_what_it_costs(embedded):
    """w = b/(b + λ/(μ1 n̄)) by its definition, with class sizes that are not those of the rows."""
    Y, y = embedded
    sizes, eigenvalues, mu1 = np.array([10.0, 20.0, 30.0, 40.0]), np.array([0.1, 1.0, 7.0]), 0.3
    found = weighted_scores(Y, y, sizes, eigenvalues, mu1).weights
    for k in range(3):
        means = np.array([Y[y == label, k].mean() for label in np.unique(y)])
        grand = sum(n * m for n, m in zip(sizes, means, strict=True)) / 100.0
        b = sum(n * (m - grand) ** 2 for n, m in zip(sizes, means, strict=True))
        assert found[k] == pytest.approx(b / (b + eigenvalues[k] / (mu1 * 25.0)))


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, np.nan, 0.0], np.eye(3)])
def test_weights_of_another_kind_are_refused(embedded, weights):
    with pytest.raises(ValueError, match=r"^`weights` must be 3 finite numbers"):
        ClassScores(weights).fit(*embedded)


def test_clones_are_unfitted_and_keep_their_weights(embedded):
    w = np.array([1.0, 0.5, 0.1])
    copy = clone(ClassScores(w).fit(*embedded))
    assert not hasattr(copy, "coef_")
    np.testing.assert_array_equal(copy.weights, w)
