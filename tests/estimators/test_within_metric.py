"""The within-class metric: its definition, a contraction, what it does not depend on."""

import pickle
import tracemalloc

import numpy as np
import oracles_within_metric as oracle
import pytest
from scipy import linalg, sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import oracles
from nsse import NSSE, WithinMetric
from nsse.datasets import load_dataset

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


def matrix(X, codes, shrinkage, k=5):
    """A of samples: what becomes of the unit vectors."""
    return WithinMetric(shrinkage, n_neighbors=k).fit(X, codes).transform(np.eye(X.shape[1]))


# The definition


@pytest.mark.parametrize("k", [1, 3, 5, None])
@pytest.mark.parametrize("shrinkage", SHRINKAGES)
def test_matrix_is_the_definition(labelled, k, shrinkage):
    X, codes = labelled
    expected = oracle.within_metric(X, codes, k, shrinkage)
    np.testing.assert_allclose(matrix(X, codes, shrinkage, k), expected, atol=1e-11)


def test_deviations_are_those_of_the_edges(labelled):
    X, codes = labelled
    model = WithinMetric(n_neighbors=3).fit(X, codes)
    S = oracle.scatter_of_edges(X, oracle.within_edges(X, codes, 3))
    V, s = model.axes_, model.deviations_**2
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
    np.testing.assert_allclose(V @ np.diag(s) @ V.T, S, atol=1e-13 * np.trace(S))
    assert np.all(np.diff(s) <= 0)


def test_axes_are_orthonormal_where_variances_differ_much(make_blobs):
    X, codes = make_blobs((15, 16), 90)
    V = WithinMetric().fit(X * np.geomspace(1, 1e-6, 90), codes).axes_  # through squares of 1e-12
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

    A = matrix(X, codes, 0.3)
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
    np.testing.assert_allclose(matrix(X, codes, 0.7, None), expected, atol=1e-12)


# A contraction, and what it does not depend on


@pytest.mark.parametrize("shrinkage", [1e-300, 1e-6, *SHRINKAGES, 1e12])
def test_metric_is_a_contraction(labelled, shrinkage):
    X, codes = labelled
    model = WithinMetric(shrinkage).fit(X, codes)
    assert np.all((model.factors_ > 0) & (model.factors_ <= 1))
    assert np.all(np.diff(model.factors_) >= 0)
    values = linalg.eigvalsh(matrix(X, codes, shrinkage))
    assert values[-1] <= 1 + 1e-14
    assert values[0] > model.factors_.min() - 1e-14
    before, after = cdist(X, X), cdist(model.transform(X), model.transform(X))
    assert np.all(after <= before * (1 + 1e-12) + 1e-13 * before.max())


def test_infinite_shrinkage_is_the_euclidean_metric(labelled):
    X, codes = labelled
    model = WithinMetric(np.inf).fit(X, codes)
    np.testing.assert_array_equal(model.factors_, 1.0)
    np.testing.assert_array_equal(model.transform(X), X)


def test_directions_without_edges_are_left_alone(make_blobs):
    X, codes = make_blobs((8, 9), 40)
    X = np.c_[X, np.full(len(X), 3.0)]  # a constant feature
    model = WithinMetric(0.1).fit(X, codes)
    assert model.axes_.shape == (41, 15)  # N minus the number of classes
    outside = np.c_[linalg.null_space(model.axes_.T), np.eye(41)[-1]].T
    np.testing.assert_allclose(model.transform(outside), outside, atol=1e-14)


@pytest.mark.parametrize("factor", [1e-160, 1e-3, 1000.0, 1e160])
def test_rescaling_leaves_the_metric(labelled, factor):
    X, codes = labelled
    np.testing.assert_allclose(matrix(X * factor, codes, 0.3), matrix(X, codes, 0.3), atol=1e-12)
    one, other = (WithinMetric().fit(Z, codes) for Z in (X, X * factor))
    np.testing.assert_allclose(other.deviations_, one.deviations_ * factor, rtol=1e-9)


def test_metric_follows_a_rotation(labelled):
    X, codes = labelled
    Q = linalg.qr(np.random.default_rng(1).standard_normal((X.shape[1],) * 2))[0]
    turned = Q.T @ matrix(X, codes, 0.3) @ Q
    np.testing.assert_allclose(matrix(X @ Q, codes, 0.3), turned, atol=1e-11)


def test_order_of_samples_and_names_of_classes_do_not_matter(labelled):
    X, codes = labelled
    order = np.random.default_rng(1).permutation(len(X))
    other = matrix(X[order], 2 - codes[order], 0.3)
    np.testing.assert_allclose(other, matrix(X, codes, 0.3), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_places_of_the_classes_cost_no_digits(labelled, form):
    X, codes = labelled
    X = np.round(X * 2.0**20) / 2.0**20  # so that adding a place is exact
    places = 2.0**20 * np.arange(3 * X.shape[1]).reshape(3, -1)
    moved = matrix(form(X + places[codes]), codes, 0.3)
    np.testing.assert_allclose(moved, matrix(form(X), codes, 0.3), atol=1e-12)


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
    """And its radii are those of x, where the pipeline's are of Ax."""
    X, codes = told
    own = NSSE(shrinkage=shrinkage, relevance=1.0).fit(X, codes)
    metric = WithinMetric(shrinkage, relevance=1.0).fit(X, codes)
    behind = NSSE(metric="euclidean").fit(metric.transform(X), codes)
    new = X[:7] + 0.1
    np.testing.assert_allclose(own.transform(new), behind.transform(metric.transform(new)), atol=1e-9)
    in_metric = own.certified_radius(new, units="metric")
    np.testing.assert_allclose(in_metric, behind.certified_radius(metric.transform(new)), rtol=1e-6)
    assert np.all(own.certified_radius(new) >= in_metric * (1 - 1e-9))


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
    halves = StratifiedShuffleSplit(1, train_size=10 * 38, random_state=0)
    train, test = next(halves.split(data.X, data.y))
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
