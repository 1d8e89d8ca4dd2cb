"""Scores without a sample in closed form: the same as of a regression that never saw it."""

import numpy as np
import pytest

from nsse.kernels import gaussian, squared_distances
from nsse.solvers.leave_one_out import (
    IndicatorRegression,
    left_out_of_samples,
    regression_of_samples,
    some_of,
)

SIZES = {"equal": (6, 6, 6), "unequal": (3, 11, 5, 2), "two": (4, 13)}


def literal_scores(K, K_new, codes, n_classes, nu, price):
    """Least squares by stacked rows: indicators less their shares on kernel values and a constant."""
    N = len(K)
    shares = np.array([np.sum(codes == c) for c in range(n_classes)]) / N
    targets = np.array([[float(code == c) for c in range(n_classes)] for code in codes]) - shares
    penalty = np.sqrt(nu) * np.eye(K.shape[1])
    A, A_new = K, K_new
    if np.isfinite(price):
        A, A_new = np.c_[K, np.ones(N)], np.c_[K_new, np.ones(len(K_new))]
        penalty = np.diag(np.append(np.full(K.shape[1], np.sqrt(nu)), np.sqrt(price)))
    stacked = np.vstack([A, penalty])
    coef = np.linalg.lstsq(
        stacked, np.vstack([targets, np.zeros((len(penalty), n_classes))]), rcond=None
    )[0]
    return shares + A_new @ coef


def samples_of(sizes):
    rng = np.random.default_rng(3)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), 3)) + codes[:, np.newaxis]
    return X, codes.astype(np.intp)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("price", [1.0, np.inf])
@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_a_sample_left_out_is_one_never_seen(sizes, price, nu):
    X, codes = samples_of(sizes)
    K, ones = gaussian(squared_distances(X), 1.5), np.ones(len(codes))
    regression, features = regression_of_samples(K, codes, ones, nu, price)
    everyone = np.arange(len(codes))
    found = regression.left_out(features, codes, ones, everyone)
    for i in everyone:
        rest = np.delete(everyone, i)
        K_rest = K[np.ix_(rest, rest)]
        expected = literal_scores(K_rest, K[[i]][:, rest], codes[rest], len(sizes), nu, price)
        np.testing.assert_allclose(found[i], expected[0], atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_one_inverse_leaves_out_what_was_never_seen(sizes, nu):
    X, codes = samples_of(sizes)
    K, everyone = gaussian(squared_distances(X), 1.5), np.arange(len(codes))
    given, some = K.copy(), everyone[::2]
    found = left_out_of_samples(K, codes, nu, some)
    np.testing.assert_array_equal(K, given)
    for place, i in enumerate(some):
        rest = np.delete(everyone, i)
        K_rest = K[np.ix_(rest, rest)]
        expected = literal_scores(K_rest, K[[i]][:, rest], codes[rest], len(sizes), nu, np.inf)
        np.testing.assert_allclose(found[place], expected[0], atol=1e-8)


@pytest.mark.parametrize("price", [1.0, np.inf])
def test_weights_are_repeated_samples_left_out_together(price):
    X, codes = samples_of((5, 7))
    weights = np.random.default_rng(0).integers(1, 4, len(codes)).astype(np.float64)
    K = gaussian(squared_distances(X), 1.5)
    regression, features = regression_of_samples(K, codes, weights, 0.1, price)
    found = regression.left_out(features, codes, weights, np.arange(len(codes)))
    for i in range(len(codes)):
        rest = np.repeat(np.arange(len(codes)), weights.astype(int))
        rest = rest[rest != i]
        K_rest = K[np.ix_(rest, rest)]
        expected = literal_scores(K_rest, K[[i]][:, rest], codes[rest], 2, 0.1, price)
        np.testing.assert_allclose(found[i], expected[0], atol=1e-8)


@pytest.mark.parametrize("price", [1.0, np.inf])
@pytest.mark.parametrize("nu", [1e-2, 1.0])
def test_a_sample_goes_with_its_copies_and_their_centres(price, nu):
    X, codes = samples_of((5, 7, 6))
    rng, k = np.random.default_rng(5), 3
    many = np.repeat(X, k, axis=0) + 0.2 * rng.normal(size=(len(X) * k, 3))
    labels = np.repeat(codes, k)
    chosen = np.sort(rng.permutation(len(many))[:20])  # some rows are centres
    centers = np.r_[many[chosen], X[:2] + 0.5]  # and some centres are no rows
    K = np.exp(-((many[:, np.newaxis] - centers) ** 2).sum(axis=2) / 1.5**2)
    E = np.eye(3)[labels]
    regression = IndicatorRegression(K.T @ K, E.T @ K, E.sum(axis=0), nu, price)
    own = np.full(len(many), -1)
    own[chosen] = np.arange(len(chosen))
    groups = K.reshape(len(X), k, -1), codes, np.ones((len(X), k)), own.reshape(len(X), k)
    found = regression.left_out_together(*groups)
    for i in range(len(X)):
        gone = np.arange(i * k, i * k + k)
        rest = np.delete(np.arange(len(many)), gone)
        kept = np.delete(np.arange(K.shape[1]), own[gone][own[gone] >= 0])
        expected = literal_scores(K[np.ix_(rest, kept)], K[[i * k]][:, kept], labels[rest], 3, nu, price)
        np.testing.assert_allclose(found[i], expected[0], atol=1e-8)


@pytest.mark.parametrize("price", [1.0, np.inf])
def test_centres_that_are_no_samples_stay(price):
    X, codes = samples_of((9, 6, 8))
    centers = np.r_[X[:4], X[10:12] + 0.1]
    D2 = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
    K, ones = np.exp(-D2 / 1.5**2), np.ones(len(codes))
    E = np.eye(3)[codes]
    regression = IndicatorRegression(K.T @ K, E.T @ K, E.sum(axis=0), 0.2, price)
    own = np.where(np.arange(len(codes)) < 4, np.arange(len(codes)), -1)
    found = regression.left_out(K, codes, ones, own)
    for i in range(len(codes)):
        rest = np.delete(np.arange(len(codes)), i)
        kept = np.delete(np.arange(6), i) if i < 4 else np.arange(6)
        expected = literal_scores(K[np.ix_(rest, kept)], K[[i]][:, kept], codes[rest], 3, 0.2, price)
        np.testing.assert_allclose(found[i], expected[0], atol=1e-8)


def test_less_smoothness_than_rounding_is_made_as_much():
    X, codes = samples_of((20, 20))
    K, ones = gaussian(squared_distances(X), 50.0), np.ones(40)
    regression, features = regression_of_samples(K, codes, ones, 1e-30, np.inf)
    by_rows = regression.left_out(features, codes, ones, np.arange(40))
    assert np.isfinite(by_rows).all()
    assert np.isfinite(left_out_of_samples(K, codes, 1e-30, np.arange(40))).all()


def test_no_class_is_left_out_whole_and_all_are_among_the_some():
    codes = np.array([0, 1, 1, 2, 2, 2, 2, 2])
    sizes, ones = np.bincount(codes).astype(float), np.ones(8)
    assert some_of(codes, sizes, ones).tolist() == [1, 2, 3, 4, 5, 6, 7]
    some = some_of(np.repeat(np.arange(5), 100), np.full(5, 100.0), np.ones(500), most=20)
    assert len(some) == 20
    assert set(some // 100) == set(range(5))
