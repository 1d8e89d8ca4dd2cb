"""The affine hull of the rows against least squares, and maps that project new rows onto it."""

import numpy as np
import pytest
from scipy import sparse

from nsse import SmoothEmbedding
from nsse.hull import Hull, squared_heights

RNG = np.random.default_rng(0)


def rows_in_special_position(n_rows, n_features):
    """Rows of which some are equal, and one lies in the hull of three others."""
    Z = RNG.normal(size=(n_rows, n_features))
    Z[5] = Z[3]
    Z[7] = (Z[1] + Z[2] + Z[4]) / 3
    return Z


def twice_the_shortest(n_rows, n_features):
    """Rows of −1 and 1 of which the one with the smallest norm is there twice."""
    Z = np.sign(RNG.normal(size=(n_rows, n_features)))
    Z[3] *= 0.9
    Z[8] = Z[3]
    return Z


def nearest_in_hull(x, Z):
    """The point of the affine hull of the rows Z that is nearest to x."""
    D = (Z[1:] - Z[0]).T
    return Z[0] + D @ np.linalg.lstsq(D, x - Z[0], rcond=1e-9)[0]


CASES = {
    "general": RNG.normal(size=(10, 30)),
    "special": rows_in_special_position(20, 40),
    "the origin twice": twice_the_shortest(12, 40),
    "as many as features": RNG.normal(size=(12, 12)),
    "more than features": RNG.normal(size=(30, 25)),
    "one far away": np.concatenate([RNG.normal(size=(9, 30)), np.full((1, 30), 1e5)]),
}


@pytest.mark.parametrize("Z", CASES.values(), ids=CASES)
def test_heights_and_coordinates_are_those_of_least_squares(Z):
    hull = Hull.of(Z @ Z.T)
    basis = hull.combinations @ Z
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-8)
    np.testing.assert_allclose((Z - Z[hull.origin]) @ basis.T, hull.coordinates, rtol=1e-9, atol=1e-8)
    squares = [np.sum((z - nearest_in_hull(z, np.delete(Z, i, axis=0))) ** 2) for i, z in enumerate(Z)]
    np.testing.assert_allclose(hull.heights(np.arange(len(Z))), squares, rtol=1e-6, atol=1e-8)
    X = RNG.normal(size=(5, Z.shape[1]))
    expected = [np.sum((x - nearest_in_hull(x, Z)) ** 2) for x in X]
    found = squared_heights(Z @ Z.T, X @ Z.T, np.square(X).sum(axis=1))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.fixture(scope="module")
def wide(make_blobs):
    return make_blobs((9, 8, 7), n_features=60, seed=1, spread=1.0)


def behind(model, x):
    """Rows before the metric, and the metric of all rows."""
    metric = model.metric_
    return x if metric is None else metric.transform(x)


@pytest.mark.parametrize("metric", [None, "within"])
@pytest.mark.parametrize("centers", [None, 10])
def test_new_rows_are_projected_in_the_metric(wide, metric, centers):
    """Scores of new rows are those of the nearest points of the hull, and of nothing else."""
    model = SmoothEmbedding(metric=metric, centers=centers).fit(wide.X, wide.codes)
    new = RNG.normal(size=(6, 60))
    U, Z = behind(model, new), behind(model, wide.X)
    projected = np.array([nearest_in_hull(u, Z) for u in U])
    centers_ = behind(model, model.centers_)
    distances = ((projected[:, np.newaxis] - centers_) ** 2).sum(axis=2)
    F = np.exp(-distances / model.sigma_**2) @ model.coef_
    np.testing.assert_allclose(model.transform(new), F, atol=1e-8)
    np.testing.assert_allclose(model.transform(wide.X), model.embedding_, atol=1e-8)
    if centers is None:
        np.testing.assert_allclose(model.centers_, wide.X, atol=1e-8)


def test_sparse_rows_are_projected_like_dense_ones(wide):
    X = np.where(np.abs(wide.X) > 0.8, wide.X, 0.0)
    dense = SmoothEmbedding(metric=None).fit(X, wide.codes)
    model = SmoothEmbedding(metric=None).fit(sparse.csr_array(X), wide.codes)
    new = sparse.csr_array(RNG.normal(size=(8, 60)) * (RNG.random((8, 60)) < 0.3))
    np.testing.assert_allclose(model.transform(new), dense.transform(new.toarray()), atol=1e-9)
    np.testing.assert_allclose(model.typicality(new), dense.typicality(new.toarray()))
    assert sparse.issparse(model.centers_)
    np.testing.assert_allclose(model.centers_.toarray(), X, atol=1e-10)


def test_far_outside_of_the_hull_scores_are_not_the_priors(make_blobs):
    """A component that no training row has tells nothing about the classes."""
    X, codes = make_blobs((20, 20), n_features=200, seed=2, spread=1.0)
    model = SmoothEmbedding().fit(X, codes)
    weights = model.metric_.weights_  # feature weights do not commute with a Euclidean projection
    directions = np.linalg.svd((X - X[0]) * weights)[2][40:]
    moved = X + 1000.0 * directions[0] / weights
    np.testing.assert_allclose(model.decision_function(moved), model.decision_function(X), atol=1e-6)
    assert np.all(model.typicality(moved) <= 1 / 40)
    assert np.mean(model.typicality(X)) > 0.4


def test_with_more_rows_than_features_nothing_is_projected(make_blobs):
    X, codes = make_blobs((20, 20), n_features=5, seed=2, spread=1.0)
    model = SmoothEmbedding().fit(X, codes)
    assert model.map_.metric.n_outputs == 5
    far = X[:1] + 1e4
    assert np.abs(model.decision_function(far)).max() < 1e-12
