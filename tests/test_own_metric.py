"""Metrics that a user writes, and those of other libraries, from the fit to the file."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

import nsse
from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.certificates import lipschitz_bounds
from nsse.methods import LFDA
from nsse.metrics import Euclidean, FixedMetric, Metric
from nsse.report import Samples, write_report

# The digits of one writer follow each other in the file.
X, Y = shuffle(*load_digits(return_X_y=True), random_state=0)
# Constant columns make the components of metric-learn's LFDA complex, and these are refused.
X += 0.01 * np.random.default_rng(0).standard_normal(X.shape)
TRAIN, TEST = (X[:200], Y[:200]), (X[200:400], Y[200:400])


class BetweenClasses(Metric):
    """Stretches the directions in which class means differ: learned, and no formula for leaving out."""

    def __init__(self, stretch=2.0):
        self.stretch = stretch

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        means = np.array([np.average(X[y == c], axis=0, weights=weights[y == c]) for c in np.unique(y)])
        V = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][:5]
        self.components_ = np.eye(X.shape[1]) + self.stretch * V.T @ V
        return self


class Overfitted(Metric):
    """Knows its rows by heart: every class has a direction of its own for each training row."""

    def fit(self, X, y, sample_weight=None):
        targets = np.eye(len(np.unique(y)))[np.unique(y, return_inverse=True)[1]]
        self.components_ = np.vstack([np.linalg.pinv(X) @ targets @ np.eye(targets.shape[1]) * 3]).T
        return self


class LastOfPlain(BaseEstimator):
    """Not a `Metric`: an estimator that sets components_, as those of other libraries do."""

    def fit(self, X, y):
        self.components_ = np.diag(1.0 / (1.0 + X.std(axis=0)))
        return self


METRICS = {
    "own": BetweenClasses(),
    "duck": LastOfPlain(),
    "NCA": NeighborhoodComponentsAnalysis(n_components=8, max_iter=5, random_state=0),
    "PCA": PCA(12),
    "LFDA": LFDA(9),
    "fixed": FixedMetric(np.diag(np.linspace(0.5, 2.0, 64))),
    "fixed, sparse": FixedMetric(sparse.diags_array(np.linspace(0.5, 2.0, 64), format="csr")),
}


@pytest.fixture(scope="module", params=METRICS.values(), ids=METRICS)
def model(request):
    return SmoothEmbedding(metric=request.param).fit(*TRAIN)


def literal_scores(model, X):
    """Class scores by the definition, in the distances of components_."""
    L = model.metric_.components_
    L = L.toarray() if sparse.issparse(L) else L
    U, Z = X @ L.T, TRAIN[0] @ L.T

    def squares(A, B):
        return ((A[:, np.newaxis] - B) ** 2).sum(axis=2)

    D2 = squares(Z, Z)
    sigma = model.sigma * np.median(np.sqrt(D2[np.triu_indices(len(D2), 1)]))
    K = np.exp(-D2 / sigma**2)
    shares = np.bincount(TRAIN[1]) / len(K)
    C = np.linalg.solve(K + model.smoothness * np.eye(len(K)), np.eye(10)[TRAIN[1]] - shares)
    return np.exp(-squares(U, Z) / sigma**2) @ C + shares


@pytest.mark.filterwarnings("ignore")  # those of the other library
@pytest.mark.parametrize("parameters", [{}, {"centers": 60}, {"decision": "nearest"}], ids=str)
def test_metrics_of_metric_learn_are_certified_and_stored(tmp_path, parameters):
    metric_learn = pytest.importorskip("metric_learn", reason="metric-learn is not installed")
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8):
        pytest.skip("metric-learn 0.7 needs scikit-learn below 1.8")
    model = SmoothEmbedding(metric=metric_learn.LFDA(n_components=9), **parameters).fit(*TRAIN)
    test_no_step_inside_a_radius_changes_a_label(model)
    test_a_file_and_a_graph_give_the_same(model, tmp_path)


def test_scores_are_those_of_the_definition(model):
    expected = literal_scores(model, TEST[0])
    np.testing.assert_allclose(model.decision_function(TEST[0]), expected, atol=1e-8)
    assert hasattr(model.metric_, "components_")


def test_no_step_inside_a_radius_changes_a_label(model):
    points, labels = TEST[0][:40], model.predict(TEST[0][:40])
    radius = model.certified_radius(points)
    assert np.mean(radius > 0) > 0.9
    rng = np.random.default_rng(0)
    J = model.map_.jacobian(points)
    values = model.decision_function(points)
    order = np.argsort(values, axis=1)
    a = model.scores_.weights[order[:, -2]] - model.scores_.weights[order[:, -1]]
    steepest = np.einsum("id,idn->in", a, J)
    for trial in range(30):
        step = (
            TRAIN[0][rng.integers(200, size=40)] - points if trial % 2 else rng.normal(size=points.shape)
        )
        step = steepest if trial == 0 else step
        step *= 0.999 * (radius / np.linalg.norm(step, axis=1))[:, np.newaxis]
        np.testing.assert_array_equal(model.predict(points + step), labels)


def test_a_file_and_a_graph_give_the_same(model, tmp_path):
    nsse.save(model, tmp_path / "m.nsse")
    loaded = nsse.load(tmp_path / "m.nsse")
    np.testing.assert_array_equal(loaded.predict_proba(TEST[0]), model.predict_proba(TEST[0]))
    np.testing.assert_array_equal(loaded.typicality(TEST[0]), model.typicality(TEST[0]))
    np.testing.assert_allclose(loaded.certified_radius(TEST[0]), model.certified_radius(TEST[0]))
    again = clone(loaded).fit(*TRAIN)
    np.testing.assert_allclose(
        again.decision_function(TEST[0]), model.decision_function(TEST[0]), atol=1e-8
    )
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX: pip install 'nsse[onnx]'")
    graph = nsse.to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(graph)
    names = [output.name for output in session.get_outputs()]
    (inputs,) = session.get_inputs()
    dtype = np.float64 if "double" in inputs.type else np.float32
    found = dict(zip(names, session.run(None, {inputs.name: TEST[0].astype(dtype)}), strict=True))
    np.testing.assert_array_equal(found["label"], model.predict(TEST[0]))


@pytest.mark.parametrize("parameters", [{}, {"centers": 30}, {"standardize": True}], ids=str)
def test_a_metric_may_ignore_features(tmp_path, parameters):
    """Its components are singular, so that many samples are in the same place."""
    weights = np.where(np.arange(64) % 4 == 1, 0.0, 1.0)
    model = SmoothEmbedding(metric=FixedMetric(np.diag(weights)), **parameters).fit(*TRAIN)
    changed = TEST[0][:9] + 5.0 * (weights == 0.0)
    np.testing.assert_allclose(model.transform(changed), model.transform(TEST[0][:9]), atol=1e-10)
    again = model.map_.metric(model.centers_)
    np.testing.assert_allclose(again, model.map_.centers, atol=1e-8)
    assert np.all(model.explain(TEST[0][:3]).gradient[:, weights == 0.0] == 0.0)
    assert np.isfinite(lipschitz_bounds(model).steepest).all()
    assert write_report(tmp_path / "page.html", model, Samples(*TEST)).path.exists()


@pytest.mark.parametrize("centers", [None, 30], ids=["exact", "centers"])
@pytest.mark.parametrize("n_features", [64, 400])
def test_new_rows_of_many_features_are_projected_in_any_metric(make_blobs, centers, n_features):
    """The map measures from the nearest point of the hull, and typicality sees the distance from it."""
    X, y = make_blobs((20, 20), n_features=n_features, seed=0, spread=1.0)
    model = SmoothEmbedding(metric=BetweenClasses(), centers=centers).fit(X, y)
    L = model.metric_.components_
    U, D = X @ L.T, (X[1:] - X[0]) @ L.T
    new = np.random.default_rng(1).normal(size=(5, n_features))
    inside = [U[0] + D.T @ np.linalg.lstsq(D.T, u - U[0], rcond=None)[0] for u in new @ L.T]
    preimages = np.linalg.solve(L, np.transpose(inside)).T
    np.testing.assert_allclose(model.transform(new), model.transform(preimages), atol=1e-7)
    squares = np.square(new @ L.T - inside).sum(axis=1) * (model.map_.kernel.sigma / model.sigma_) ** 2
    from nsse.metrics.base import as_metric

    found = as_metric(model.metric_).heights(model.map_.metric, new)
    np.testing.assert_allclose(found, squares, rtol=1e-6)


def test_a_metric_that_overfits_does_not_look_better_than_it_is():
    """Without a formula, samples are left out by fits without folds."""
    model = SmoothEmbedding(metric=Overfitted()).fit(*TRAIN)
    assert model.score(*TRAIN) > 0.99
    assert abs(model.leave_one_out_score_ - model.score(*TEST)) < 0.08


def test_distances_of_candidates_are_those_of_fitted_metrics(make_blobs):
    data = make_blobs((9, 8), n_features=4, seed=2, spread=1.0)
    from nsse.rows import Rows
    from nsse.sources import Source

    rows = Rows.of(Source.of(np.array(data.X)), data.codes)
    assert BetweenClasses().candidates() == [{}]
    settings = [{"stretch": 0.0}, {"stretch": 3.0}]
    new = np.random.default_rng(0).normal(size=(3, 4))
    for setting, (D2, E2) in zip(settings, BetweenClasses().distances(rows, new, settings), strict=True):
        L = BetweenClasses(**setting).fit(data.X, data.codes).components_
        expected = (((new[:, np.newaxis] - data.X) @ L.T) ** 2).sum(axis=2)
        np.testing.assert_allclose(E2 / E2[0, 0], expected / expected[0, 0], rtol=1e-8)
        assert D2.shape == (17, 17)


def test_weights_reach_metrics_that_take_them():
    weights = np.where(TRAIN[1] < 5, 3.0, 1.0)
    weighted = SmoothEmbedding(metric=BetweenClasses()).fit(*TRAIN, sample_weight=weights)
    times = weights.astype(int)
    copies = SmoothEmbedding(metric=BetweenClasses()).fit(
        *(np.repeat(part, times, axis=0) for part in TRAIN)
    )
    np.testing.assert_allclose(weighted.predict_proba(TEST[0]), copies.predict_proba(TEST[0]), atol=1e-8)


class SparseDeviation(Metric):
    def fit(self, X, y, sample_weight=None):
        self.components_ = sparse.diags_array(1.0 / (0.5 + X.std(axis=0)), format="csc")
        return self


def test_sparse_components_of_many_features_are_stored(make_blobs, tmp_path):
    """A dense array of them would take 4 GB."""
    data = make_blobs((9, 8), n_features=22_000, seed=2, spread=1.0)
    model = SmoothEmbedding(metric=SparseDeviation()).fit(*data)
    nsse.save(model, tmp_path / "m.nsse")
    loaded = nsse.load(tmp_path / "m.nsse")
    assert sparse.issparse(loaded.metric_.components_)
    np.testing.assert_array_equal(loaded.predict_proba(data.X), model.predict_proba(data.X))


class WithoutWeights(Metric):
    def fit(self, X, y):
        self.components_ = np.eye(X.shape[1])
        return self


def test_a_metric_may_ignore_weights():
    weights = np.where(TRAIN[1] < 5, 3.0, 1.0)
    model = SmoothEmbedding(metric=WithoutWeights()).fit(*TRAIN, sample_weight=weights)
    same = SmoothEmbedding(metric="euclidean").fit(*TRAIN, sample_weight=weights)
    np.testing.assert_allclose(model.transform(TEST[0]), same.transform(TEST[0]), atol=1e-10)


@pytest.mark.parametrize("name", ["euclidean", None, Euclidean()], ids=str)
def test_euclidean_distances_have_three_names(name):
    model = SmoothEmbedding(metric=name).fit(*TRAIN)
    assert isinstance(model.metric_, Euclidean)
    same = SmoothEmbedding(metric=None).fit(*TRAIN)
    np.testing.assert_array_equal(model.decision_function(TEST[0]), same.decision_function(TEST[0]))


def test_components_of_wide_metrics_are_operators_or_sparse(make_blobs):
    """Nothing of n_features × n_features is formed unless it is asked for."""
    data = make_blobs((9, 8), n_features=500, seed=2, spread=1.0)
    metric = WithinMetric().fit(data.X, data.codes)
    assert isinstance(metric.components_, LinearOperator)
    moved = metric.transform(data.X) - metric.transform(data.X[:1])
    np.testing.assert_allclose((metric.components_ @ (data.X - data.X[0]).T).T, moved, atol=1e-10)
    np.testing.assert_allclose(metric.dense_components() @ (data.X[1] - data.X[0]), moved[1], atol=1e-10)
    text = sparse.random(30, 50_000, density=0.001, random_state=0, format="csr")
    model = SmoothEmbedding(metric="euclidean").fit(text, np.arange(30) % 2)
    assert model.metric_.components_.nnz == 50_000
    operator = FixedOperator().fit(data.X, data.codes)
    scores = SmoothEmbedding(metric=FixedOperator()).fit(*data).decision_function(data.X)
    dense = SmoothEmbedding(metric=FixedMetric(operator.components_ @ np.eye(500))).fit(*data)
    np.testing.assert_allclose(scores, dense.decision_function(data.X), atol=1e-8)


class FixedOperator(Metric):
    def fit(self, X, y, sample_weight=None):
        self.components_ = aslinearoperator(sparse.diags_array(np.linspace(1.0, 2.0, X.shape[1])))
        return self


def test_parameters_of_the_default_metric_can_be_set():
    model = SmoothEmbedding().set_params(metric__shrinkage=1.0)
    assert model.metric.shrinkage == 1.0
    assert clone(model).get_params()["metric__shrinkage"] == 1.0
    assert SmoothEmbedding().set_params(metric="euclidean").metric == "euclidean"
    grid = {"metric__shrinkage": [0.3, 3.0], "metric__relevance": [0.0, 1.0]}
    search = GridSearchCV(SmoothEmbedding(), grid, cv=2).fit(*TRAIN)
    assert set(search.best_params_) == set(grid)
    mixed = GridSearchCV(SmoothEmbedding(), {"metric": ["euclidean", BetweenClasses()]}, cv=2)
    assert len(mixed.fit(*TRAIN).cv_results_["params"]) == 2


class WithoutParameters:
    """It is no estimator, so that no unfitted copy can be made."""

    def fit(self, X, y):
        self.components_ = np.eye(X.shape[1])
        return self


NO_METRICS = {
    "no estimator": WithoutParameters(),
    "number": 3,
    "name": "cosine",
    "scaler": StandardScaler(),
    "class": BetweenClasses,
    "array": np.eye(64),
}


@pytest.mark.parametrize("metric", NO_METRICS.values(), ids=NO_METRICS)
def test_what_is_no_metric_is_refused(metric):
    model = SmoothEmbedding(metric=metric)
    with pytest.raises(ValueError, match="`metric` must be"):
        model.fit(*TRAIN)
    assert not hasattr(model, "map_")
    with pytest.raises(ValueError, match="metric"):
        SmoothEmbeddingCV(SmoothEmbedding(metric=metric)).fit(*TRAIN)


@pytest.mark.parametrize("metric", [BetweenClasses(), METRICS["NCA"]], ids=["own", "NCA"])
def test_a_search_takes_other_metrics_and_stores_them(metric, tmp_path):
    search = SmoothEmbeddingCV(SmoothEmbedding(metric=metric)).fit(*TRAIN)
    untuned = SmoothEmbedding(metric=metric).fit(*TRAIN)
    assert search.score(*TEST) > untuned.score(*TEST) - 0.05
    nsse.save(search, tmp_path / "search.nsse")
    loaded = nsse.load(tmp_path / "search.nsse")
    np.testing.assert_array_equal(loaded.predict_proba(TEST[0]), search.predict_proba(TEST[0]))


WRONG_COMPONENTS = {
    "NaN": np.full((2, 64), np.nan),
    "columns": np.ones((2, 3)),
    "complex": np.eye(64) + 1e-9j,
    "text": np.full((2, 64), "a"),
    "complex operator": aslinearoperator(np.eye(64, dtype=complex)),
}


@pytest.mark.parametrize("components", WRONG_COMPONENTS.values(), ids=WRONG_COMPONENTS)
def test_wrong_components_are_refused(components):
    class Wrong(Metric):
        def fit(self, X, y, sample_weight=None):
            self.components_ = components
            return self

    with pytest.raises(ValueError, match="`metric` must set real, finite components_ of 64 columns"):
        SmoothEmbedding(metric=Wrong()).fit(*TRAIN)


def test_a_fixed_metric_needs_as_many_columns_as_there_are_features():
    with pytest.raises(ValueError, match="64 columns"):
        SmoothEmbedding(metric=FixedMetric(np.eye(3))).fit(*TRAIN)
