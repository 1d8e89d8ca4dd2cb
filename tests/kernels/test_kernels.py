"""Distances and kernels: digits far from the origin, sparse and dense, the unit of length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

import oracles
from nsse.kernels import (
    Shifted,
    distances,
    gaussian,
    gaussian_log_derivative,
    median_distance,
    squared_distances,
)


def some_zeros(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * (rng.random(shape) < 0.4)


def test_squared_distances_equal_the_double_loop(blobs):
    expected = oracles.squared_distance_matrix(blobs.X, blobs.X)
    np.testing.assert_allclose(squared_distances(blobs.X), expected, rtol=1e-12, atol=1e-13)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 9), n_features=st.integers(1, 9), seed=st.integers(0, 99), scale=st.floats(-6, 6)
)
def test_distances_are_symmetric_never_negative_and_zero_on_the_diagonal(n, n_features, seed, scale):
    X = 10.0**scale * np.random.default_rng(seed).standard_normal((n, n_features))
    D2 = squared_distances(X)
    assert np.array_equal(D2, D2.T)
    assert np.all(D2 >= 0)
    assert np.all(np.diag(D2) == 0)


@pytest.mark.parametrize("n", [255, 256, 257, 515])
def test_distances_of_many_samples_are_whole_and_symmetric(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    D2 = squared_distances(X)
    np.testing.assert_allclose(D2, cdist(X, X, "sqeuclidean"), rtol=1e-11, atol=1e-13)
    assert np.array_equal(D2, D2.T)
    assert np.all(np.diag(D2) == 0)


def test_sparse_distances_are_symmetric_with_a_zero_diagonal():
    D2 = squared_distances(sparse.csr_array(some_zeros((30, 50))))
    assert np.array_equal(D2, D2.T)
    assert np.all(np.diag(D2) == 0)


def test_a_large_offset_keeps_the_digits():
    """Dyadic samples, so that adding 1e6 rounds nothing: what is lost would be lost by us."""
    X = np.random.default_rng(0).integers(-1024, 1024, (40, 6)) / 1024.0
    expected = oracles.squared_distance_matrix(X, X)
    np.testing.assert_allclose(squared_distances(X + 1e6), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        Shifted.of(X + 1e6).squared_distances_from(X + 1e6), expected, rtol=1e-9, atol=1e-8
    )


def test_single_precision_samples_are_measured_in_double():
    X = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float32)
    expected = oracles.squared_distance_matrix(X.astype(float), X.astype(float))
    np.testing.assert_allclose(squared_distances(X), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(Shifted.of(X).squared_distances_from(X), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_distances_equal_dense_ones(kind):
    X = some_zeros((30, 12))
    np.testing.assert_allclose(squared_distances(kind(X)), squared_distances(X), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("centers", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("points", [np.asarray, sparse.csr_array])
def test_distances_to_centers_equal_the_double_loop(points, centers):
    X, Z = some_zeros((7, 12)), some_zeros((5, 12), seed=1)
    D2 = Shifted.of(centers(Z)).squared_distances_from(points(X))
    assert isinstance(D2, np.ndarray)
    np.testing.assert_allclose(D2, oracles.squared_distance_matrix(X, Z), rtol=1e-11, atol=1e-12)


def test_distances_leave_their_arguments_as_they_were(blobs):
    X = blobs.X.copy()
    squared_distances(X)
    Shifted.of(X).squared_distances_from(X)
    np.testing.assert_array_equal(X, blobs.X)


# The unit of length


def test_median_distance_is_the_median_over_pairs(blobs):
    X = blobs.X[:59]  # 1711 pairs: one of them is the median
    pairs = [np.linalg.norm(X[i] - X[j]) for i in range(59) for j in range(i)]
    assert median_distance(squared_distances(X)) == pytest.approx(np.median(pairs), rel=1e-12)


@pytest.mark.parametrize("n_values", [2000, 2001])
@pytest.mark.parametrize("kind", ["spread", "tied", "sorted", "two", "periodic"])
def test_the_median_of_many_is_found_between_two_bounds(monkeypatch, kind, n_values):
    monkeypatch.setattr(distances, "MANY_PAIRS", 1000)
    monkeypatch.setattr(distances, "SOME_PAIRS", 50)
    rng = np.random.default_rng(0)
    values = {
        "spread": rng.random(n_values),
        "tied": rng.integers(0, 3, n_values).astype(float),
        "sorted": np.sort(rng.random(n_values)),
        "two": (np.arange(n_values) < n_values // 2).astype(float),
        # Every 40th is small: what is looked at says nothing of the others.
        "periodic": np.where(np.arange(n_values) % 40 == 0, 0.01, 1.0) * rng.random(n_values),
    }[kind]
    assert distances._median(values) == np.median(values)


def test_median_distance_leaves_pairs_of_duplicates_out():
    """Points 0, 0, 0, 1, 3: the pairs apart have 1, 1, 1, 2, 3, 3, 3."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [3.0]])
    assert median_distance(squared_distances(X)) == pytest.approx(2.0)


def test_many_duplicates_do_not_change_the_unit():
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 40)) * 1e3, 20, axis=0)
    distinct = squared_distances(X[::20])
    pairs = np.sqrt(distinct[np.tril_indices(3, -1)])
    assert median_distance(squared_distances(X)) == pytest.approx(np.median(pairs), rel=1e-9)


def test_what_rounding_leaves_between_duplicates_is_no_distance_either():
    D2 = np.array([[0, 1e-16, 4.0], [1e-16, 0, 9.0], [4.0, 9.0, 0]])
    assert median_distance(D2) == pytest.approx(np.sqrt(6.5))


def test_equal_samples_have_no_unit_of_length():
    with pytest.raises(ValueError, match=r"`X` must contain at least two distinct samples\. Got"):
        median_distance(squared_distances(np.ones((4, 3))))


@pytest.mark.parametrize("factor", [1e-4, 1e3])
def test_median_distance_follows_the_units_of_the_samples(blobs, factor):
    unit = median_distance(squared_distances(blobs.X))
    assert median_distance(squared_distances(blobs.X * factor)) == pytest.approx(
        factor * unit, rel=1e-10
    )


# The kernel


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_kernel_equals_the_double_loop_and_scikit_learn(blobs, sigma):
    K = gaussian(squared_distances(blobs.X), sigma)
    np.testing.assert_allclose(K, oracles.kernel_matrix(blobs.X, blobs.X, sigma), rtol=1e-9)
    np.testing.assert_allclose(K, rbf_kernel(blobs.X, gamma=1 / sigma**2), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 600])
def test_kernel_is_filled_to_its_last_row(n):
    D2 = np.random.default_rng(0).random((n, 3))
    np.testing.assert_allclose(gaussian(D2, 0.5), np.exp(-D2 / 0.25), rtol=1e-14)


def test_kernel_derivative_is_the_difference_quotient_in_log_sigma(blobs):
    D2, sigma, h = squared_distances(blobs.X), 2.0, 1e-5
    above, below = gaussian(D2, sigma * np.exp(h)), gaussian(D2, sigma * np.exp(-h))
    slope = gaussian_log_derivative(gaussian(D2, sigma), D2, sigma)
    np.testing.assert_allclose(slope, (above - below) / (2 * h), atol=1e-8)


def test_kernel_keeps_its_arguments(blobs):
    D2 = squared_distances(blobs.X)
    before = D2.copy()
    K = gaussian(D2, 1.0)
    kept = K.copy()
    gaussian_log_derivative(K, D2, 1.0)
    np.testing.assert_array_equal(D2, before)
    np.testing.assert_array_equal(K, kept)
