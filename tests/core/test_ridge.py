"""The regression against its literal definition, by loops and solves that share no code with it."""

import numpy as np
import pytest

from nsse import SmoothEmbedding, WithinMetric

SIGMA, SMOOTHNESS = 0.8, 0.3


def literal_kernel(U, V, sigma):
    return np.array([[np.exp(-np.sum((u - v) ** 2) / sigma**2) for v in V] for u in U])


def literal_unit(U):
    return np.median([np.linalg.norm(U[i] - U[j]) for i in range(len(U)) for j in range(i)])


def literal_scores(U, V, codes, weights, centers=None, shares=None):
    """Class scores at V of the model of the rows U, by the normal equations of its definition."""
    centers = U if centers is None else centers
    sigma = SIGMA * literal_unit(U)
    E = np.eye(codes.max() + 1)[codes]
    shares = weights @ E / weights.sum() if shares is None else shares
    K, K_ZZ = literal_kernel(U, centers, sigma), literal_kernel(centers, centers, sigma)
    W = np.diag(weights)
    C = np.linalg.lstsq(K.T @ W @ K + SMOOTHNESS * K_ZZ, K.T @ W @ (E - shares), rcond=1e-15)[0]
    return literal_kernel(V, centers, sigma) @ C + shares


@pytest.fixture(scope="module")
def data(make_blobs):
    return make_blobs((14, 11, 8), n_features=3, seed=3, spread=1.0)


@pytest.fixture(scope="module")
def new(make_blobs):
    return make_blobs((7, 7, 7), n_features=3, seed=4, spread=1.0).X


def scores(model, X):
    values = model.decision_function(X)
    return values if values.ndim == 2 else np.column_stack([-values, values]) / 2


def test_exact_scores_are_those_of_the_definition(data, new):
    model = SmoothEmbedding(sigma=SIGMA, smoothness=SMOOTHNESS, metric=None).fit(data.X, data.codes)
    expected = literal_scores(data.X, new, data.codes, np.ones(len(data.codes)))
    np.testing.assert_allclose(scores(model, new), expected, atol=1e-9)


def test_scores_minimise_the_objective(data):
    """Any other coefficients have a larger value of Σ w ‖s − e‖² + λ ‖s − π‖²."""
    model = SmoothEmbedding(sigma=SIGMA, smoothness=SMOOTHNESS, metric=None).fit(data.X, data.codes)
    K = literal_kernel(data.X, data.X, SIGMA * literal_unit(data.X))
    T = np.eye(3)[data.codes] - np.bincount(data.codes) / len(data.codes)
    C = model.coef_ @ model.scores_.weights.T

    def objective(C):
        return np.sum((K @ C - T) ** 2) + SMOOTHNESS * np.trace(C.T @ K @ C)

    rng = np.random.default_rng(0)
    for step in (1e-1, 1e-3):
        assert all(objective(C + step * rng.normal(size=C.shape)) > objective(C) for _ in range(20))


def test_weights_and_centres_are_those_of_the_definition(data, new):
    rng = np.random.default_rng(1)
    weights, centers = rng.uniform(0.2, 3.0, len(data.codes)), data.X[::3] + 0.1
    model = SmoothEmbedding(sigma=SIGMA, smoothness=SMOOTHNESS, metric=None, centers=centers)
    model.fit(data.X, data.codes, sample_weight=weights)
    expected = literal_scores(data.X, new, data.codes, weights, centers)
    np.testing.assert_allclose(scores(model, new), expected, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", [None, "within"])
def test_centres_at_the_rows_give_the_exact_model(data, new, weighted, metric):
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(data.codes)) if weighted else None
    exact = SmoothEmbedding(metric=metric).fit(data.X, data.codes, weights)
    summed = SmoothEmbedding(metric=metric, centers=data.X).fit(data.X, data.codes, weights)
    np.testing.assert_allclose(summed.decision_function(new), exact.decision_function(new), atol=1e-8)
    np.testing.assert_allclose(summed.embedding_, exact.embedding_, atol=1e-8)
    if metric is None:  # rows leave a metric only where they are the centres
        np.testing.assert_allclose(summed._leave_one_out, exact._leave_one_out, atol=1e-8)


@pytest.mark.parametrize("centers", [None, "some"])
def test_leaving_one_out_is_refitting(data, centers):
    """One sample of a row is left out: a row of weight 1.7 keeps 0.7. Unit and class shares are kept."""
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(data.codes))
    Z = data.X[::2] if centers else None
    model = SmoothEmbedding(sigma=SIGMA, smoothness=SMOOTHNESS, metric=None, centers=Z)
    model.fit(data.X, data.codes, weights)
    shares = weights @ np.eye(3)[data.codes] / weights.sum()
    sigma = SIGMA * literal_unit(data.X)
    for i in range(0, len(data.codes), 4):
        rest = weights - (np.arange(len(weights)) == i) * np.minimum(weights[i], 1.0)
        others = np.flatnonzero(rest)
        centers_ = data.X[others] if Z is None else Z
        K = literal_kernel(data.X[others], centers_, sigma)
        T = np.eye(3)[data.codes[others]] - shares
        W = rest[others, np.newaxis]
        P = K.T @ (W * K) + SMOOTHNESS * literal_kernel(centers_, centers_, sigma)
        C = np.linalg.lstsq(P, K.T @ (W * T), rcond=1e-15)[0]
        expected = literal_kernel(data.X[i : i + 1], centers_, sigma) @ C + shares
        np.testing.assert_allclose(model._leave_one_out[i], expected[0], atol=1e-8)


def test_copies_leave_together(data):
    """A sample is left out with its augmented copies: as refitting without all of them."""

    def copies(X):
        return [X + 0.3, X * 0.9]

    model = SmoothEmbedding(sigma=SIGMA, smoothness=SMOOTHNESS, metric=None, augment=copies)
    model.fit(data.X, data.codes)
    rows = np.stack([data.X, *copies(data.X)], axis=1).reshape(-1, data.X.shape[1])
    codes, groups = np.repeat(data.codes, 3), np.repeat(np.arange(len(data.codes)), 3)
    shares, sigma = np.bincount(codes) / len(codes), SIGMA * literal_unit(rows)
    for i in range(0, len(data.codes), 5):
        kept = groups != i
        K = literal_kernel(rows[kept], rows[kept], sigma)
        C = np.linalg.solve(K + SMOOTHNESS * np.eye(len(K)), np.eye(3)[codes[kept]] - shares)
        expected = literal_kernel(data.X[i : i + 1], rows[kept], sigma) @ C + shares
        np.testing.assert_allclose(model._leave_one_out[i], expected[0], atol=1e-8)


def test_gram_is_that_of_the_coordinates(data):
    for centers in (None, 12):
        model = SmoothEmbedding(centers=centers).fit(data.X, data.codes)
        f = model.map_
        K = literal_kernel(f.centers, f.centers, f.kernel.sigma)
        np.testing.assert_allclose(f.gram, f.coef.T @ K @ f.coef, atol=1e-8)


def test_coordinates_are_a_rotation_of_scores_that_separates_class_means(data, new):
    model = SmoothEmbedding().fit(data.X, data.codes)
    V = model.scores_.weights
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
    F, S = model.transform(new), scores(model, new)
    np.testing.assert_allclose(F @ V.T + model.scores_.offsets, S, atol=1e-12)
    means = np.array([model.embedding_[data.codes == c].mean(axis=0) for c in range(3)])
    sizes = np.bincount(data.codes)
    centred = np.sqrt(sizes)[:, np.newaxis] * (means - sizes @ means / sizes.sum())
    scatter = centred.T @ centred
    np.testing.assert_allclose(scatter, np.diag(np.diag(scatter)), atol=1e-10)
    assert scatter[0, 0] > scatter[1, 1]


def test_the_metric_is_in_front(data, new):
    """SmoothEmbedding in a metric is SmoothEmbedding without one behind it."""
    metric = WithinMetric(0.5, relevance=0.3).fit(data.X, data.codes)
    inside = SmoothEmbedding(metric=WithinMetric(0.5, relevance=0.3)).fit(data.X, data.codes)
    behind = SmoothEmbedding(metric=None).fit(metric.transform(data.X), data.codes)
    expected = behind.decision_function(metric.transform(new))
    np.testing.assert_allclose(inside.decision_function(new), expected, atol=1e-9)


def test_of_many_samples_some_are_left_out_alike(data, monkeypatch):
    """Another route, by the columns of some of them, to what leaving all out gives."""
    model = SmoothEmbedding(metric=None).fit(data.X, data.codes)
    monkeypatch.setattr("nsse.model.LEFT_OUT_ALL", 20)
    monkeypatch.setattr("nsse.model.LEFT_OUT_SOME", 7)
    some = SmoothEmbedding(metric=None).fit(data.X, data.codes)
    distances = np.abs(model._leave_one_out - some._leave_one_out[:, np.newaxis]).max(axis=2)
    chosen = distances.argmin(axis=1)
    assert len(np.unique(chosen)) == 7
    np.testing.assert_allclose(some._leave_one_out, model._leave_one_out[chosen], atol=1e-12)
