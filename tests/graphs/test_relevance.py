"""Weights of features by what they tell of the classes."""

import numpy as np
import pytest
from scipy import sparse, stats

import oracles
from nsse.graphs import relevance
from nsse.graphs.relevance import between_share, feature_weights


@pytest.fixture
def mixed():
    """Features that differ in their means, in their spread, in nothing, and one that is constant."""
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1, 2], [30, 20, 25])
    noise = rng.normal(size=(75, 4))
    noise[:, 0] += codes
    noise[:, 1] *= 1.0 + 2.0 * (codes == 1)
    return np.c_[noise, np.full(75, 0.1)], codes


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_weights_are_literal(mixed, exponent):
    X, codes = mixed
    expected = oracles.literal_weights(X, codes, exponent)
    np.testing.assert_allclose(feature_weights(X, codes, exponent), expected, rtol=1e-10)


def test_features_that_tell_are_long(mixed):
    weights = feature_weights(*mixed, 1.0)
    assert weights.max() == 1.0
    assert min(weights[:2]) > 0.4 > max(weights[2:])
    assert weights[4] == relevance.LEAST


def test_share_follows_from_the_f_ratio(mixed):
    """F = (between/(M − 1))/(within/(N − M)), of which SciPy's analysis of variance is the oracle."""
    X, codes = mixed
    N, M = len(codes), 3
    F = stats.f_oneway(*(X[codes == c, :4] for c in range(3))).statistic
    ratio = (M - 1) * F / (N - M)  # between/within
    np.testing.assert_allclose(between_share(X[:, :4], codes), 1 - (N - 1) / (N - M) / (1 + ratio))


def test_chance_is_no_relevance_on_average():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 6)
    shares = between_share(rng.normal(size=(12, 20_000)), codes)
    assert abs(shares.mean()) < 0.01
    assert 0.3 < (shares > 0).mean() < 0.5


def test_units_and_places_do_not_matter(mixed):
    X, codes = mixed
    weights = feature_weights(X, codes, 1.0)
    moved = X * [1e150, 1e-150, 3.0, 1.0, 1.0] + [0.0, 0.0, 7.0, -2.0, 5.0]
    np.testing.assert_allclose(feature_weights(moved, codes, 1.0), weights, rtol=1e-9)


def test_sparse_and_blocks_of_columns(mixed, monkeypatch):
    X, codes = mixed
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = feature_weights(X, codes, 1.0)
    monkeypatch.setattr(relevance, "BLOCK_VALUES", 2 * len(X))
    for form in (X, sparse.csr_array(X), X.astype(np.float32).astype(np.float64)):
        np.testing.assert_allclose(feature_weights(form, codes, 1.0), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("X", "codes", "exponent"),
    [
        (np.ones((6, 3)), [0, 0, 0, 1, 1, 1], 1.0),
        (np.arange(6.0).reshape(2, 3), [0, 1], 1.0),
        (np.random.default_rng(0).normal(size=(6, 3)), [0, 0, 0, 1, 1, 1], 0.0),
    ],
    ids=["constant", "classes of one", "no relevance"],
)
def test_where_nothing_can_be_said_all_weigh_alike(X, codes, exponent):
    np.testing.assert_array_equal(feature_weights(X, np.array(codes), exponent), 1.0)
