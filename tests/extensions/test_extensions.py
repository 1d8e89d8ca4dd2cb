"""The RBF map: the double loop, forms of points, digits far from the origin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import oracles
from nsse.extensions import GaussianExpansion, rbf

WIDTHS = [1, 2, 7, 64, 785]


def expansion(n_features, n_centers=90, d=3, dtype=np.float64, kind=np.asarray):
    rng = np.random.default_rng(n_features)
    Z = rng.standard_normal((n_centers, n_features)).astype(dtype)
    C = rng.standard_normal((n_centers, d))
    return GaussianExpansion.at(kind(Z), C, 1.3 * np.sqrt(n_features))


def points(n, n_features, dtype=np.float64):
    return np.random.default_rng(1000 + n).standard_normal((n, n_features)).astype(dtype)


@pytest.mark.parametrize("n_features", WIDTHS)
def test_map_equals_the_double_loop(n_features):
    rng = np.random.default_rng(0)
    Z, C, X = rng.standard_normal((20, n_features)), rng.standard_normal((20, 3)), points(9, n_features)
    sigma = 1.3 * np.sqrt(n_features)
    expected = [oracles.rbf_map(x, Z, C, sigma) for x in X]
    np.testing.assert_allclose(GaussianExpansion.at(Z, C, sigma)(X), expected, rtol=1e-10, atol=1e-12)


def test_panels_of_centers_add_up_to_the_double_loop(monkeypatch):
    monkeypatch.setattr(rbf, "PANEL", 8)
    rng = np.random.default_rng(0)
    Z, C, X = rng.standard_normal((37, 5)), rng.standard_normal((37, 3)), points(9, 5)
    f = GaussianExpansion.at(Z, C, 2.0)
    assert len(f._panels()) > 2
    np.testing.assert_allclose(f(X), [oracles.rbf_map(x, Z, C, 2.0) for x in X], rtol=1e-10, atol=1e-12)


def test_single_precision_points_are_mapped_in_double():
    f, X = expansion(7), points(20, 7, np.float32)
    assert f(X).dtype == np.float64
    np.testing.assert_array_equal(f(X), f(X.astype(np.float64)))


@pytest.mark.parametrize("centers", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("queries", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_sparse_and_dense_agree(queries, centers):
    X = points(40, 30)
    X[np.abs(X) < 1] = 0.0
    result = expansion(30, kind=centers)(queries(X))
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, expansion(30)(X), atol=1e-10)


def test_no_points_give_no_rows():
    assert expansion(7)(np.empty((0, 7))).shape == (0, 3)


def test_map_leaves_points_and_coefficients_as_they_were():
    Z, C, X = points(30, 7), points(30, 3), points(20, 7)
    kept = [A.copy() for A in (Z, C, X)]
    GaussianExpansion.at(Z, C, 2.0)(X)
    for array, before in zip((Z, C, X), kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_map_far_from_the_origin_keeps_its_digits():
    Z = np.random.default_rng(0).integers(-512, 512, (30, 5)) / 512.0
    X = np.random.default_rng(1).integers(-512, 512, (12, 5)) / 512.0
    C = points(30, 2)
    moved = GaussianExpansion.at(Z + 1e5, C, 0.8)(X + 1e5)
    np.testing.assert_allclose(moved, GaussianExpansion.at(Z, C, 0.8)(X), atol=1e-9)
