"""The metric against its literal definition, by loops over all pairs of samples."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import WithinMetric
from nsse.affine import Affine
from nsse.metrics import Euclidean
from nsse.metrics.relevance import feature_weights
from nsse.rows import Rows
from nsse.sources import Source


@pytest.mark.slow
@parametrize_with_checks([WithinMetric(), Euclidean()])
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def literal_edges(Z, codes, k):
    """Pairs of a class of which either is among the k nearest of the other."""
    edges = set()
    for i in range(len(Z)):
        others = [j for j in range(len(Z)) if codes[j] == codes[i] and j != i]
        others.sort(key=lambda j: np.sum((Z[i] - Z[j]) ** 2))
        edges |= {frozenset((i, j)) for j in (others if k is None else others[:k])}
    return [tuple(edge) for edge in edges]


def literal_quadratic(Z, codes, k, shrinkage, weight):
    """A'A = ρ (S_w + ρI)⁻¹."""
    n, S, total = Z.shape[1], 0.0, 0.0
    for i, j in literal_edges(Z, codes, k):
        omega = (weight[i] + weight[j]) / 2
        S, total = S + omega * np.outer(Z[i] - Z[j], Z[i] - Z[j]), total + omega
    S = S / (2 * total)
    rho = shrinkage * np.trace(S) / n
    return rho * np.linalg.inv(S + rho * np.eye(n))


@pytest.mark.parametrize("n_features", [3, 8, 40])  # n × n, about as many, and fewer rows than features
@pytest.mark.parametrize("k", [2, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_metric_is_that_of_its_definition(make_blobs, n_features, k, weighted):
    data = make_blobs((9, 7, 1, 5), n_features=n_features, seed=n_features)
    weight = np.random.default_rng(0).uniform(0.5, 2, 22) if weighted else np.ones(22)
    metric = WithinMetric(0.7, relevance=0.0, n_neighbors=k)
    U = metric.fit(data.X, data.codes, sample_weight=weight).transform(data.X)
    Q = literal_quadratic(data.X, data.codes, k, 0.7, weight)
    differences = data.X[:, np.newaxis] - data.X
    expected = np.einsum("ijk,kl,ijl->ij", differences, Q, differences)
    np.testing.assert_allclose(((U[:, np.newaxis] - U) ** 2).sum(axis=2), expected, atol=1e-8)


def literal_share(x, codes, weight):
    N, M = weight.sum(), codes.max() + 1
    mean = weight @ x / N
    total = weight @ (x - mean) ** 2
    means = [weight[codes == c] @ x[codes == c] / weight[codes == c].sum() for c in range(M)]
    within = sum(weight[i] * (x[i] - means[codes[i]]) ** 2 for i in range(len(x)))
    return 1 - (within / (N - M)) / (total / (N - 1))


def test_relevance_is_the_adjusted_share_between_classes(blobs):
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, len(blobs.codes))
    wider = rng.normal(size=len(blobs.codes)) * (1 + blobs.codes)  # classes differ in their spread
    X = np.column_stack([blobs.X, wider, rng.normal(size=len(blobs.codes)), np.full(len(wider), 0.1)])
    squares = (X - weight @ X / weight.sum()) ** 2
    with np.errstate(invalid="ignore"):
        first, second = (
            np.array([literal_share(x, blobs.codes, weight) for x in A.T]) for A in (X, squares)
        )
    assert second[-3] > first[-3]
    for spreads, shares in ((True, np.maximum(first, second)), (False, first)):
        shares = np.maximum(shares, 0)
        shares[-1] = 0.0  # a constant column
        expected = np.maximum(np.sqrt(shares / max(shares)), 0.05) ** 0.6
        found = feature_weights(X, blobs.codes, weight, 0.6, spreads)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n_features", [5, 200])
def test_the_metric_contracts(make_blobs, n_features):
    data = make_blobs((12, 12), n_features=n_features)
    affine = WithinMetric(0.1).fit(data.X, data.codes).affine_
    largest = np.linalg.norm(affine.dense(), 2)
    assert largest <= affine.norm * (1 + 1e-12)
    assert affine.norm <= 1.0 + 1e-9  # rounded up


@pytest.mark.parametrize("n_features", [8, 60])
def test_a_fit_has_the_distances_of_its_map(make_blobs, n_features):
    """With few rows distances come from inner products, and the map is formed later: they agree."""
    data = make_blobs((9, 7, 1, 5), n_features=n_features, seed=3)
    weight = np.random.default_rng(0).uniform(0.5, 2, 22)
    metric = WithinMetric(0.2)
    learned = metric.learn(Rows.of(Source.of(np.array(data.X)), data.codes, weight))
    U = metric.affine_.multiplied(learned.unit)(data.X)
    np.testing.assert_allclose(learned.distances(), cdist(U, U, "sqeuclidean"), atol=1e-12)
    rows = learned.rows() if callable(learned.rows) else learned.rows
    np.testing.assert_allclose(rows, U, atol=1e-12)
    plain = WithinMetric(0.2).fit(data.X, data.codes, weight).transform(data.X) * learned.unit
    np.testing.assert_allclose(learned.distances(), cdist(plain, plain, "sqeuclidean"), atol=1e-12)


def test_an_infinite_shrinkage_is_the_euclidean_metric(blobs):
    U = WithinMetric(np.inf, relevance=0.0).fit(blobs.X, blobs.codes).transform(blobs.X)
    np.testing.assert_allclose(U - U[0], blobs.X - blobs.X[0], atol=1e-12)


def test_without_scatter_it_says_so():
    with pytest.warns(UserWarning, match="Euclidean"):
        metric = WithinMetric(relevance=0.0).fit(np.eye(3), [0, 1, 2])
    U = metric.transform(np.eye(3))
    np.testing.assert_allclose(U - U[0], np.eye(3) - np.eye(3)[0], atol=1e-12)


def affine_maps():
    rng = np.random.default_rng(0)
    shift, scale = rng.normal(size=6), rng.uniform(0.5, 2, 6)
    low_rank = rng.normal(size=(6, 2)), 0.1 * rng.normal(size=(2, 6))
    yield Affine.diagonal(shift, scale)
    yield Affine.linear(shift, rng.normal(size=(6, 6)), rng.normal(size=6))
    yield Affine(shift, scale, rng.normal(size=6), None, *low_rank)


@pytest.mark.parametrize("affine", list(affine_maps()), ids=["diagonal", "matrix", "low rank"])
def test_affine_maps_compose_invert_and_pull_gradients_back(affine):
    rng = np.random.default_rng(1)
    X, other = rng.normal(size=(5, 6)), Affine.linear(rng.normal(size=6), rng.normal(size=(6, 3)))
    np.testing.assert_allclose(affine.inverse(affine(X)), X, atol=1e-10)
    np.testing.assert_allclose(other.after(affine)(X), other(affine(X)), atol=1e-10)
    np.testing.assert_allclose(affine.multiplied(3.0)(X), 3.0 * affine(X), atol=1e-12)
    gradient = rng.normal(size=6)
    step = 1e-6 * rng.normal(size=6)
    change = (affine(X + step) - affine(X - step)) @ gradient / 2
    np.testing.assert_allclose(change, np.full(5, affine.pull_back(gradient) @ step), rtol=1e-6)
