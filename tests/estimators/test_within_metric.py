"""The within-class metric: its definition, a contraction, one decomposition for every shrinkage."""

import functools
import operator
import pickle
import tracemalloc

import numpy as np
import oracles_within_metric as oracle
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import oracles
from nsse import NSSE, WithinMetric
from nsse.certificates.jacobians import steepness
from nsse.datasets import load_dataset
from nsse.evaluation.splits import per_class_split
from nsse.extensions import Contraction
from nsse.graphs import ClassRows, ScatterSum, class_neighbor_graph, metric, within_scatter
from nsse.graphs.relevance import feature_weights
from nsse.kernels import SplitDistances, median_distance, squared_distances
from nsse.landmarks import (
    ArrayRows,
    moments,
    read_blocks,
    scatter,
    scatter_of,
    scatter_of_source,
    sources,
)

SHRINKAGES = (0.01, 0.3, 1.0, 10.0)
# Fewer features than samples, about as many, and more; one class has a single sample.
SHAPES = [((9, 1, 12), 4), ((9, 1, 12), 19), ((9, 1, 12), 70), ((2, 2), 3)]


@pytest.fixture(params=SHAPES, ids=str)
def labelled(request, make_blobs):
    counts, n_features = request.param
    X, codes = make_blobs(counts, n_features)
    shuffled = np.random.default_rng(0).permutation(len(X))
    # Variances from 1 to 1e-3: there are axes to tell apart.
    return X[shuffled] * np.geomspace(1, 0.03, n_features), codes[shuffled]


def scatter_and_graph(X, codes, k=5):
    rows = ClassRows.of(X, codes)
    W = class_neighbor_graph(rows, k, squared_distances)
    return within_scatter(rows, W), W


# The definition


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shrinkage", [0.1, 3.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_of_samples_give_the_metric_once_and_twice(labelled, form, shrinkage, weighted):
    X, codes = labelled
    scatter, _ = scatter_and_graph(X, codes)
    weights = np.linspace(0.2, 1.0, X.shape[1]) if weighted else None
    metric = Contraction(scatter.axes, scatter.factors(shrinkage), weights)
    A = (np.eye(X.shape[1]) if weights is None else np.diag(weights)) @ scatter.matrix(shrinkage)
    near, along = metric.parts(form(X))
    np.testing.assert_array_equal(near, metric(form(X)))
    np.testing.assert_allclose(near, X @ A, atol=1e-12)
    along_the_axes = (X if weights is None else X * weights) @ scatter.axes
    np.testing.assert_allclose(along, along_the_axes, atol=1e-12)
    np.testing.assert_allclose(metric.again(near, along), X @ A @ A.T, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 5, None])
def test_graph_has_the_edges_of_the_definition(labelled, k):
    X, codes = labelled
    _, W = scatter_and_graph(X, codes, k)
    expected = np.zeros(W.shape)
    for i, j in oracle.within_edges(X, codes, k):
        expected[i, j] = expected[j, i] = 1.0
    np.testing.assert_array_equal(W.toarray(), expected)


@pytest.mark.parametrize("k", [1, 3, 5, None])
@pytest.mark.parametrize("shrinkage", SHRINKAGES)
def test_matrix_is_the_definition(labelled, k, shrinkage):
    X, codes = labelled
    A = scatter_of(X, codes, k).matrix(shrinkage)
    np.testing.assert_allclose(A, oracle.within_metric(X, codes, k, shrinkage), atol=1e-11)


def test_deviations_are_those_of_the_edges(labelled):
    X, codes = labelled
    scatter = scatter_of(X, codes, 3)
    S = oracle.scatter_of_edges(X, oracle.within_edges(X, codes, 3))
    V, s = scatter.axes, scatter.deviations**2
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
    np.testing.assert_allclose(V @ np.diag(s) @ V.T, S, atol=1e-13 * np.trace(S))
    assert np.all(np.diff(s) <= 0)
    assert scatter.n_features == X.shape[1]


def test_axes_are_orthonormal_where_variances_differ_much(make_blobs):
    X, codes = make_blobs((15, 16), 90)
    X = X * np.geomspace(1, 1e-6, 90)
    V = scatter_of(X, codes, 5).axes  # through the samples, that is through squares of 1e-12
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-14)


def test_two_classes_in_the_plane():
    """Edges along the first axis only: S_w = diag(s, 0), ρ = shrinkage · s/2, a² = ρ/(s + ρ)."""
    X, y = [[0.0, 0.0], [1.0, 0.0], [5.0, 9.0], [6.0, 9.0]], [0, 0, 1, 1]
    model = WithinMetric(shrinkage=1.0).fit(X, y)
    np.testing.assert_allclose(np.abs(model.axes_), [[1.0], [0.0]], atol=1e-15)
    np.testing.assert_allclose(model.deviations_, [np.sqrt(0.5)])
    np.testing.assert_allclose(model.factors_, [np.sqrt(1 / 3)])
    np.testing.assert_allclose(model.transform([[3.0, 7.0]]), [[np.sqrt(3.0), 7.0]])


def test_squared_metric_is_the_best_by_its_own_objective(make_blobs):
    """A² minimises tr(M S_w) + ρ tr(M) − ρ log det M over positive definite M, up to a constant."""
    X, codes = make_blobs((9, 14), 5)
    S = oracle.scatter_of_edges(X, oracle.within_edges(X, codes, 5))
    rho = 0.3 * np.trace(S) / 5

    def objective(M):
        return np.trace(M @ S) + rho * np.trace(M) - rho * np.linalg.slogdet(M)[1]

    A = scatter_of(X, codes, 5).matrix(0.3)
    best, rng = objective(A @ A), np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            E = size * rng.standard_normal((5, 5))
            turned = linalg.expm((E + E.T) / 2)
            assert objective(A @ turned @ A) > best


def test_all_pairs_of_equal_classes_are_the_covariance_of_lda(make_blobs):
    X, codes = make_blobs((12, 12, 12), 6)
    lda = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(X, codes)
    expected = oracle.metric_of_scatter(lda.covariance_, 0.7)
    np.testing.assert_allclose(scatter_of(X, codes, None).matrix(0.7), expected, atol=1e-12)


# A contraction, and what it does not depend on


@pytest.mark.parametrize("shrinkage", [1e-300, 1e-6, *SHRINKAGES, 1e12])
def test_metric_is_a_contraction(labelled, shrinkage):
    X, codes = labelled
    scatter = scatter_of(X, codes, 5)
    factors = scatter.factors(shrinkage)
    assert np.all(factors > 0)
    assert np.all(factors <= 1)
    assert np.all(np.diff(factors) >= 0)
    values = linalg.eigvalsh(scatter.matrix(shrinkage))
    assert values[-1] <= 1 + 1e-14
    assert values[0] > factors.min() - 1e-14
    before = squared_distances(X)
    after = squared_distances(X @ scatter.matrix(shrinkage))
    assert np.all(after <= before * (1 + 1e-12) + 1e-13 * before.max())


def test_infinite_shrinkage_is_the_euclidean_metric_to_the_bit(labelled):
    X, codes = labelled
    model = WithinMetric(np.inf).fit(X, codes)
    np.testing.assert_array_equal(model.factors_, 1.0)
    np.testing.assert_array_equal(model.transform(X), X)
    np.testing.assert_array_equal(scatter_of(X, codes, 5).matrix(np.inf), np.eye(X.shape[1]))


def test_directions_without_edges_are_left_alone(make_blobs):
    X, codes = make_blobs((8, 9), 40)
    X = np.c_[X, np.full(len(X), 3.0)]  # a constant feature
    scatter = scatter_of(X, codes, 5)
    assert scatter.axes.shape == (41, 15)  # N minus the number of classes
    A = scatter.matrix(0.1)
    np.testing.assert_allclose(A[-1], np.eye(41)[-1], atol=1e-14)
    outside = linalg.null_space(scatter.axes.T)
    np.testing.assert_allclose(A @ outside, outside, atol=1e-14)


@pytest.mark.parametrize("factor", [1e-160, 1e-3, 1000.0, 1e160])
def test_rescaling_leaves_the_metric(labelled, factor):
    X, codes = labelled
    scatter, other = (scatter_of(Z, codes, 5) for Z in (X, X * factor))
    np.testing.assert_allclose(other.matrix(0.3), scatter.matrix(0.3), atol=1e-12)
    np.testing.assert_allclose(other.deviations, scatter.deviations * factor, rtol=1e-9)


def test_rescaling_by_a_power_of_two_changes_no_bit(labelled):
    X, codes = labelled
    scatter, other = (scatter_of(Z, codes, 5) for Z in (X, X * 2.0**300))
    np.testing.assert_array_equal(other.axes, scatter.axes)
    np.testing.assert_array_equal(other.factors(0.3), scatter.factors(0.3))


def test_metric_follows_a_rotation(labelled):
    X, codes = labelled
    Q = linalg.qr(np.random.default_rng(1).standard_normal((X.shape[1],) * 2))[0]
    A, turned = (scatter_of(Z, codes, 5).matrix(0.3) for Z in (X, X @ Q))
    np.testing.assert_allclose(turned, Q.T @ A @ Q, atol=1e-11)


def test_order_of_samples_and_names_of_classes_do_not_matter(labelled):
    X, codes = labelled
    order = np.random.default_rng(1).permutation(len(X))
    A, other = scatter_of(X, codes, 5), scatter_of(X[order], 2 - codes[order], 5)
    np.testing.assert_allclose(other.matrix(0.3), A.matrix(0.3), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_places_of_the_classes_cost_no_digits(labelled, form):
    X, codes = labelled
    X = np.round(X * 2.0**20) / 2.0**20  # so that adding a place is exact
    places = 2.0**20 * np.arange(3 * X.shape[1]).reshape(3, -1)
    A, moved = (scatter_of(form(Z), codes, 5).matrix(0.3) for Z in (X, X + places[codes]))
    np.testing.assert_allclose(moved, A, atol=1e-12)


# Two routes, sparse rows, blocks, subsamples


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_both_sides_give_one_metric(labelled, form, monkeypatch):
    X, codes = labelled
    found = []
    for wide in (0.0, np.inf):  # through the samples, through the features
        monkeypatch.setattr(metric, "WIDE", wide)
        found.append(scatter_of(form(X), codes, 5))
    for shrinkage in SHRINKAGES:
        np.testing.assert_allclose(*(scatter.matrix(shrinkage) for scatter in found), atol=1e-11)
    np.testing.assert_allclose(*(scatter.deviations for scatter in found), rtol=1e-8)


def sparse_samples(N, n, density=0.05, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.integers(N, size=int(density * N * n)), rng.integers(n, size=int(density * N * n))
    return sparse.csr_array((rng.uniform(size=len(places[0])), places), shape=(N, n)), np.arange(N) % 4


@pytest.mark.parametrize("n", [20, 90, 400])
def test_sparse_samples_give_the_metric_of_dense_ones(n):
    X, y = sparse_samples(80, n, density=0.2)
    model, dense = (WithinMetric(0.3).fit(Z, y) for Z in (X, X.toarray()))
    expected = dense.transform(X.toarray())
    for rows in (X, sparse.csc_array(X), sparse.csr_matrix(X)):
        found = model.transform(rows)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_many_sparse_features_are_never_squared():
    X, y = sparse_samples(60, 30_000, density=0.002)
    tracemalloc.start()
    model = WithinMetric().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.axes_.shape == (30_000, 56)
    assert peak < 5 * model.axes_.nbytes  # 30,000 squared would be 500 times as much


def test_axes_too_large_are_refused(monkeypatch):
    X, y = sparse_samples(60, 3000)
    monkeypatch.setattr(metric, "LARGEST_AXES", 1024**2)
    rule = (
        r"`X` must have axes .* of at most 0 GiB. Got '3000 × 56 × 8 bytes = 0.0 GiB'. Take the metric"
    )
    with pytest.raises(ValueError, match=rule):
        WithinMetric().fit(X, y)
    with pytest.raises(ValueError, match="3000 × 3000 × 8 bytes"):
        ScatterSum.of(ClassRows.of(X, y), sparse.csr_array((60, 60)))


def joined_blocks(X, codes, blocks, k=3):
    """Sums of the blocks, and the graph of all samples whose edges lie inside blocks."""
    sums, whole = [], sparse.lil_array((len(X), len(X)))
    for members in blocks:
        rows = ClassRows.of(X[members], codes[members])
        W = class_neighbor_graph(rows, k, squared_distances)
        sums.append(ScatterSum.of(rows, W))
        whole[np.ix_(members, members)] = W.toarray()
    return functools.reduce(operator.add, sums), sparse.csr_array(whole)


def test_blocks_add_up_to_the_whole(make_blobs):
    X, codes = make_blobs((20, 17, 23), 6)
    order = np.random.default_rng(0).permutation(60)
    total, W = joined_blocks(X, codes, np.split(order, [13, 31, 50]))
    whole = within_scatter(ClassRows.of(X, codes), W)
    np.testing.assert_allclose(total.decomposed().matrix(0.3), whole.matrix(0.3), atol=1e-12)
    np.testing.assert_allclose(total.decomposed().deviations, whole.deviations, rtol=1e-10)
    assert total.n_edges == W.nnz // 2


@pytest.mark.parametrize("factor", [1e-160, 1e160])
def test_blocks_of_any_magnitude_add_up(make_blobs, factor):
    X, codes = make_blobs((8, 9), 4)
    X = X * factor
    copies = np.repeat(X[:1], 5, axis=0)  # a block without scatter, and one with hardly any
    blocks = [np.arange(17), np.arange(17, 22), np.arange(22, 39)]
    Z, all_codes = np.r_[X, copies, 1e-9 * X], np.r_[codes, np.zeros(5, int), codes]
    total, W = joined_blocks(Z, all_codes, blocks)
    expected = within_scatter(ClassRows.of(Z, all_codes), W)
    np.testing.assert_allclose(total.decomposed().matrix(1.0), expected.matrix(1.0), atol=1e-12)


def test_blocks_of_many_rows_are_one_more_sum_and_few_stand_for_sparse_ones(make_blobs, monkeypatch):
    X, codes = make_blobs((500, 250), 6)
    X, rng = X * [4, 2, 1, 1, 1, 1], np.random.default_rng(0)
    for module in (moments, sources, scatter):
        monkeypatch.setattr(module, "BLOCK_ROWS", 300)
    places = [np.arange(start, min(start + 300, 750)) for start in range(0, 750, 300)]
    expected = joined_blocks(X, codes, places)[0].decomposed().matrix(1.0)
    pieces = [(X[a : a + 170], codes[a : a + 170]) for a in range(0, 750, 170)]
    for source in (ArrayRows(X), read_blocks(pieces)):
        found, weights = scatter_of_source(source, codes, 3, 0.0, rng)
        np.testing.assert_allclose(found.matrix(1.0), expected, atol=1e-12)
        np.testing.assert_array_equal(weights, 1.0)
    some = scatter_of_source(ArrayRows(sparse.csr_array(X)), codes, None, 0.0, rng)[0].matrix(1.0)
    np.testing.assert_allclose(some, scatter_of(X, codes, None).matrix(1.0), atol=0.1)
    assert not np.array_equal(some, scatter_of(X, codes, None).matrix(1.0))


# Distances


@pytest.mark.parametrize("shrinkage", [1e-8, *SHRINKAGES, np.inf])
def test_distances_for_many_shrinkages(labelled, shrinkage):
    """Eight digits survive even where A shortens by 10⁴; D2 − Σ (1 − a²)(…)² keeps five there."""
    X, codes = labelled
    scatter = scatter_of(X, codes, 5)
    a = scatter.factors(shrinkage)
    exact = oracle.precise_distances(X, X, scatter.axes, a).astype(float)
    D2 = SplitDistances.of(squared_distances(X), X @ scatter.axes).shrunk(a)
    np.testing.assert_allclose(D2, exact, rtol=1e-8, atol=1e-13 * exact.max())
    np.testing.assert_array_equal(D2, D2.T)
    np.testing.assert_array_equal(np.diag(D2), 0.0)
    assert D2.min() >= 0
    A = scatter.matrix(shrinkage)
    direct = squared_distances(X @ A)
    np.testing.assert_allclose(D2, direct, atol=1e-9 * direct.max())
    assert median_distance(D2) == pytest.approx(median_distance(direct), rel=1e-6)


@pytest.mark.parametrize("shrinkage", [1e-8, *SHRINKAGES, np.inf])
def test_distances_from_new_samples(labelled, shrinkage):
    X, codes = labelled
    new = np.r_[X[:2], X[:4] + np.random.default_rng(0).standard_normal((4, 1))]
    scatter = scatter_of(X, codes, 5)
    a = scatter.factors(shrinkage)
    D2 = oracle.precise_distances(new, X, scatter.axes, np.ones_like(a)).astype(float)
    split = SplitDistances.of(D2, new @ scatter.axes, X @ scatter.axes)
    exact = oracle.precise_distances(new, X, scatter.axes, a).astype(float)
    np.testing.assert_allclose(split.shrunk(a), exact, rtol=1e-8, atol=1e-12 * exact.max())
    assert split.shrunk(a).min() >= 0


def test_distances_of_duplicates_are_zero(make_blobs):
    X, codes = make_blobs((8, 9), 40)
    X, codes = np.r_[X, X], np.r_[codes, codes]
    scatter = scatter_of(X, codes, 5)
    D2 = SplitDistances.of(squared_distances(X), X @ scatter.axes).shrunk(scatter.factors(0.1))
    assert np.all(np.diag(D2, 17) < 1e-14 * D2.max())


# Cases


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0, 1.0], [2.0, 3.0]], [0, 1]),  # classes of one sample
        ([[0.1, 0.7], [0.1, 0.7], [0.1, 0.7], [0.3, 0.9], [0.3, 0.9]], [0, 0, 0, 1, 1]),  # duplicates
        ([[0.1, 0.7], [0.1, 0.7]], [0, 0]),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_scatter_the_metric_is_euclidean_and_says_so(X, y, form):
    X = form(np.array(X))
    with pytest.warns(UserWarning, match="No two different samples of a class are joined"):
        model = WithinMetric(0.01).fit(X, y)
    assert model.axes_.shape == (2, 0)
    assert model.deviations_.shape == model.factors_.shape == (0,)
    np.testing.assert_array_equal(model.transform(X), X.toarray() if sparse.issparse(X) else X)


def test_two_samples_of_one_class():
    model = WithinMetric(2.0).fit([[0.0, 0.0], [3.0, 4.0]], ["a", "a"])
    np.testing.assert_allclose(model.axes_ @ model.axes_.T, np.outer([0.6, 0.8], [0.6, 0.8]))
    np.testing.assert_allclose(model.deviations_, [5 / np.sqrt(2)])
    np.testing.assert_allclose(model.factors_, [np.sqrt(1 / 2)])  # ρ = 2 s/2


@pytest.mark.parametrize("magnitude", [1e-160, 1e160])
def test_extreme_magnitudes(blobs, magnitude):
    plain, extreme = (WithinMetric().fit(X, blobs.codes) for X in (blobs.X, blobs.X * magnitude))
    np.testing.assert_allclose(extreme.factors_, plain.factors_, rtol=1e-10)
    expected = plain.transform(blobs.X) * magnitude
    np.testing.assert_allclose(extreme.transform(blobs.X * magnitude), expected, rtol=1e-8)


# As part of scikit-learn


def test_transform_is_the_product_with_the_matrix(labelled):
    X, codes = labelled
    model = WithinMetric(0.3).fit(X, codes)
    A = oracle.within_metric(X, codes, 5, 0.3)
    np.testing.assert_allclose(model.transform(X), X @ A, atol=1e-11)
    np.testing.assert_array_equal(model.fit_transform(X, codes), model.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-11)


def test_single_precision_stays(blobs):
    X = blobs.X.astype(np.float32)
    model = WithinMetric().fit(X, blobs.codes)
    assert model.transform(X).dtype == model.inverse_transform(X).dtype == np.float32
    double = WithinMetric().fit(X.astype(float), blobs.codes)
    np.testing.assert_array_equal(model.axes_, double.axes_)
    np.testing.assert_array_equal(
        model.transform(X), double.transform(X.astype(float)).astype(np.float32)
    )


def test_result_does_not_depend_on_the_number_of_threads(digits):
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(WithinMetric().fit(digits.X, digits.codes).transform(digits.X))
    np.testing.assert_array_equal(*found)


def test_features_keep_their_names(blobs):
    model = WithinMetric().fit(blobs.X, blobs.codes)
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4"]
    assert model.get_feature_names_out(list("abcde")).tolist() == list("abcde")


def test_model_is_cloned_and_pickled(blobs):
    model = WithinMetric(0.2, n_neighbors=3).fit(blobs.X, blobs.codes)
    assert clone(model).get_params() == {"shrinkage": 0.2, "n_neighbors": 3, "relevance": 0.0}
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.transform(blobs.X), model.transform(blobs.X))


# Relevance


@pytest.fixture
def told(make_blobs):
    """Blobs of which some features tell little: in small units, or noise."""
    X, codes = make_blobs((12, 9, 14), 6)
    noise = np.random.default_rng(1).normal(size=(35, 3)) * [1.0, 5.0, 0.2]
    return np.c_[X[:, :3], noise], codes


@pytest.mark.parametrize("shrinkage", [0.3, 3.0, np.inf])
@pytest.mark.parametrize("relevance", [0.5, 1.0])
def test_features_are_weighted_then_directions_shortened(told, shrinkage, relevance):
    X, codes = told
    weights = oracles.literal_weights(X, codes, relevance)
    A = np.eye(6)
    if np.isfinite(shrinkage):
        A = oracle.within_metric(X * weights, codes, 5, shrinkage)
    model = WithinMetric(shrinkage, relevance=relevance).fit(X, codes)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-10)
    near = model.transform(X)
    np.testing.assert_allclose(near, X * weights @ A, atol=1e-11)
    np.testing.assert_allclose(model.inverse_transform(near), X, atol=1e-10)
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), codes).transform(X), near, atol=1e-11)


@pytest.mark.parametrize("shrinkage", [1.0, np.inf])
def test_a_map_in_weighted_features_is_the_one_behind_them(told, shrinkage):
    """And its slopes, radii and Lipschitz bounds are those of x, where the pipeline's are of Ax."""
    X, codes = told
    own = NSSE(shrinkage=shrinkage, relevance=1.0).fit(X, codes)
    metric = WithinMetric(shrinkage, relevance=1.0).fit(X, codes)
    behind = NSSE(metric="euclidean").fit(metric.transform(X), codes)
    new = X[:7] + 0.1
    np.testing.assert_allclose(own.transform(new), behind.transform(metric.transform(new)), atol=1e-9)
    step = 1e-6
    slopes = [
        (own.transform(new + step * e) - own.transform(new - step * e)) / (2 * step) for e in np.eye(6)
    ]
    steepest = [np.linalg.norm(J, 2) for J in np.stack(slopes).transpose(1, 0, 2)]
    found = steepness(own.expansion_, own.expansion_.moved(new), own.expansion_.metric)
    np.testing.assert_allclose(found, steepest, rtol=1e-5)
    in_metric = own.certified_radius(new, units="metric")
    np.testing.assert_allclose(in_metric, behind.certified_radius(metric.transform(new)), rtol=1e-6)
    assert np.all(own.certified_radius(new) >= in_metric * (1 - 1e-9))


def test_weights_of_many_rows_come_from_some_of_them(make_blobs, monkeypatch):
    X, codes = make_blobs((500, 250), 6)
    X = np.c_[X[:, :4], np.random.default_rng(0).normal(size=(750, 2))]
    for module in (moments, sources, scatter):
        monkeypatch.setattr(module, "BLOCK_ROWS", 300)
    rng = np.random.default_rng(0)
    found, weights = scatter_of_source(ArrayRows(X), codes, 3, 1.0, rng)
    np.testing.assert_allclose(weights, feature_weights(X, codes, 1.0), atol=0.25)
    places = [np.arange(start, min(start + 300, 750)) for start in range(0, 750, 300)]
    expected = joined_blocks(X * weights, codes, places)[0].decomposed().matrix(1.0)
    np.testing.assert_allclose(found.matrix(1.0), expected, atol=1e-12)


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf, True, "auto", None])
def test_relevance_that_is_none(blobs, value):
    for model in (WithinMetric(relevance=value), NSSE(relevance=value)):
        with pytest.raises(ValueError, match=r"`relevance` must be .* Got .*\. 0 weighs all"):
            model.fit(blobs.X, blobs.codes)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, -np.inf, True, "auto", None, [1.0]])
def test_shrinkage_that_is_none(blobs, value):
    with pytest.raises(
        ValueError, match=r"`shrinkage` must be a positive number or inf. Got .*\. 1.0 is"
    ):
        WithinMetric(value).fit(blobs.X, blobs.codes)


@pytest.mark.parametrize("value", [0, 2.5, True, "all"])
def test_neighbors_that_are_none(blobs, value):
    with pytest.raises(ValueError, match="`n_neighbors` must be a whole number, at least 1"):
        WithinMetric(n_neighbors=value).fit(blobs.X, blobs.codes)


def test_failed_fit_leaves_no_trace(blobs):
    model = WithinMetric().fit(blobs.X, blobs.codes)
    before = model.transform(blobs.X)
    with pytest.raises(ValueError, match="continuous"):
        model.fit(blobs.X[:, :2], blobs.X[:, 0])
    np.testing.assert_array_equal(model.transform(blobs.X), before)


@pytest.mark.slow
def test_pipeline_selects_the_shrinkage():
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(WithinMetric(), NSSE.as_published()),
        {"withinmetric__shrinkage": [0.3, 3.0, np.inf]},
        cv=3,
    )
    search.fit(X[:200], y[:200])
    assert search.score(X[200:400], y[200:400]) > 0.85


@pytest.mark.slow
@pytest.mark.usefixtures("nsse_data")
def test_metric_sees_through_the_light_on_faces():
    """Yale, ten images of each face: light moves an image further than another face does."""
    data = load_dataset("yale", unit_norm=True)
    train, test = per_class_split(data.y, 10, seed=0)
    plain, within = (
        NSSE.as_published(mu2=1e-3),
        make_pipeline(WithinMetric(), NSSE.as_published(mu2=1e-3)),
    )
    errors = [
        100 * (1 - model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test]))
        for model in (plain, within)
    ]
    assert errors[0] > 18
    assert errors[1] < 12
