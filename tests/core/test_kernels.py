"""Distances, kernel, median and graphs against SciPy, scikit-learn and plain loops."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import kneighbors_graph

from nsse.affine import Affine
from nsse.distances import median_distance, squared_distances
from nsse.graphs import laplacian, neighbor_graph, within_class_graph
from nsse.kernels import Gaussian
from nsse.maps import KernelMap, LinearMap


def test_distances_are_those_of_scipy(blobs):
    A, B = blobs.X[:20], blobs.X[20:]
    np.testing.assert_allclose(squared_distances(A, B), cdist(A, B, "sqeuclidean"), atol=1e-12)
    one = sparse.csr_array(A)
    np.testing.assert_allclose(squared_distances(one, one), cdist(A, A, "sqeuclidean"), atol=1e-12)


def test_rows_beyond_all_numbers_are_infinitely_far(blobs):
    D2 = squared_distances(np.full((1, 5), 1e200), blobs.X)
    assert np.all(np.isinf(D2))
    assert np.all(Gaussian().at(1.0)(D2) == 0.0)


@pytest.mark.parametrize("n_rows", [2, 7, 60, 700])  # from many pairs on only the middle is looked at
def test_the_median_is_that_of_all_pairs(n_rows):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    assert median_distance(squared_distances(X, X)) == pytest.approx(np.median(pdist(X) ** 2) ** 0.5)


def test_pairs_in_one_place_do_not_count():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [3.0]])
    assert median_distance(squared_distances(X, X)) == 2.0


@pytest.mark.parametrize("far", [1e6, 1e8, 999999999.0, 1e15])
def test_a_far_row_does_not_change_which_other_pairs_count(far):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[1] = X[0]
    X[2] = far
    pairs = pdist(X)
    expected = np.median(pairs[pairs > 0] ** 2) ** 0.5
    assert median_distance(squared_distances(X, X)) == pytest.approx(expected)


def test_far_rows_that_rounding_makes_equal_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:15, 0] = 1e9
    with pytest.raises(ValueError, match=r"rounding makes them equal\. Got .* marks gaps"):
        median_distance(squared_distances(X, X))


def test_the_kernel_and_its_slope():
    r, h = np.linspace(0.01, 4, 200), 1e-5
    kernel = Gaussian().at(1.3)
    values = kernel(r[:, np.newaxis] ** 2)
    np.testing.assert_allclose(values[:, 0], np.exp(-(r**2) / 1.69))
    slopes = np.abs(np.gradient(values[:, 0], r))
    assert slopes.max() <= kernel.slope < slopes.max() * 1.001
    wider, narrower = Gaussian().at(1.3 * np.exp(h)), Gaussian().at(1.3 * np.exp(-h))
    expected = (wider(r[:, np.newaxis] ** 2) - narrower(r[:, np.newaxis] ** 2)) / (2 * h)
    derivative = kernel.log_derivative(values, r[:, np.newaxis] ** 2)
    np.testing.assert_allclose(derivative, expected, atol=1e-8)


def test_reach_inverts_the_bound():
    kernel, r = Gaussian().at(0.7), np.array([0.0, 0.1, 0.5, 2.0])
    change = np.sqrt(2 - 2 * np.exp(-(r**2) / 0.49))
    np.testing.assert_allclose(kernel.reach(change), r, atol=1e-7)
    assert np.isinf(kernel.reach(np.array([np.sqrt(2.0), 3.0]))).all()


def test_graphs_join_the_nearest(blobs):
    W = within_class_graph(blobs.X, blobs.codes, 4).toarray()
    for c in range(4):
        own = blobs.codes == c
        nearest = kneighbors_graph(blobs.X[own], 4).toarray()
        np.testing.assert_array_equal(W[np.ix_(own, own)], np.maximum(nearest, nearest.T))
        assert not W[np.ix_(own, ~own)].any()
    joined = neighbor_graph(blobs.X, 3).toarray() > 0
    nearest = kneighbors_graph(blobs.X, 3).toarray() > 0
    np.testing.assert_array_equal(joined, nearest | nearest.T)


def test_the_laplacian_is_the_sum_over_edges(blobs):
    W = neighbor_graph(blobs.X, 3)
    v = np.random.default_rng(0).normal(size=len(blobs.codes))
    dense = W.toarray()
    expected = 0.5 * np.sum(dense * (v[:, np.newaxis] - v) ** 2)
    assert v @ (laplacian(W) @ v) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["gaussian", "linear"])
def test_jacobians_are_finite_differences(kind):
    rng = np.random.default_rng(0)
    affine = Affine.linear(rng.normal(size=4), rng.normal(size=(4, 3)))
    if kind == "linear":
        f = LinearMap(affine)
    else:
        f = KernelMap(affine, rng.normal(size=(6, 3)), Gaussian().at(2.0), rng.normal(size=(6, 2)))
    X, h = rng.normal(size=(3, 4)), 1e-6
    J = f.jacobian(X)
    for j in range(4):
        step = h * np.eye(4)[j]
        np.testing.assert_allclose(J[:, :, j], (f(X + step) - f(X - step)) / (2 * h), atol=1e-7)
