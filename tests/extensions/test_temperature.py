"""A temperature of scores: the smallest log-loss, and never a sample that is infinitely wrong."""

import numpy as np
import pytest

from nsse.extensions import as_columns, fitted_temperature, softmax, with_largest


def loss(tau, scores, codes, weights):
    """The definition: the mean row of any class counts as one sample more."""
    total = 0.0
    for s, code, w in zip(scores, codes, weights, strict=True):
        p = np.exp(s / tau) / np.exp(s / tau).sum()
        total -= w * np.log(p[code]) + w / sum(weights) * np.mean(np.log(p))
    return total


@pytest.fixture
def told():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 80)
    return 0.3 * np.eye(4)[codes] + 0.2 * rng.normal(size=(80, 4)), codes


def test_it_is_that_of_the_smallest_loss(told):
    scores, codes = told
    for weights in (np.ones(80), np.random.default_rng(1).uniform(0.2, 3.0, 80)):
        tau = fitted_temperature(scores, codes, weights)
        around = [loss(tau * (1 + step), scores, codes, weights) for step in (-1e-4, 0.0, 1e-4)]
        assert around[1] < min(around[0], around[2])
        assert all(loss(t, scores, codes, weights) > around[1] for t in (0.01, 0.05, 0.3, 1.0, 5.0))


def test_weights_are_repeated_rows(told):
    scores, codes = told
    weights = np.random.default_rng(1).integers(0, 4, 80)
    repeated = np.repeat(np.arange(80), weights)
    expected = fitted_temperature(scores[repeated], codes[repeated], np.ones(len(repeated)))
    assert fitted_temperature(scores, codes, weights.astype(float)) == pytest.approx(expected, rel=1e-10)


def test_scores_that_are_all_right_or_all_wrong_have_one(told):
    _, codes = told
    right = fitted_temperature(np.eye(4)[codes], codes, np.ones(80))
    # p of the own class is then (N + 1/M)/(N + 1), N samples and one of any class.
    p = softmax(np.eye(4)[codes], right)[np.arange(80), codes]
    np.testing.assert_allclose(p, 80.25 / 81, rtol=1e-9)
    assert fitted_temperature(-np.eye(4)[codes], codes, np.ones(80)) == 100.0
    assert fitted_temperature(np.zeros((80, 4)), codes, np.ones(80)) == 100.0
    assert fitted_temperature(np.zeros((0, 4)), codes[:0], np.ones(0)) == 1.0


def test_the_label_is_the_first_largest():
    values = np.array([[1.0, 1.0, 0.0], [0.5, 0.2, 0.1]])
    assert with_largest(values, np.array([1, 0])).argmax(axis=1).tolist() == [1, 0]
    np.testing.assert_allclose(with_largest(values, np.array([1, 0])), values)
    both = np.array([[0.3, 0.3], [0.3, 0.3], [0.1, 0.9], [0.9, 0.1]])
    signs = as_columns(both, np.array([0, 1, 1, 0])) > 0
    assert signs.tolist() == [False, True, True, False]
