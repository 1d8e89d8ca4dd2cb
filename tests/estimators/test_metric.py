"""NSSE in the within-class metric: what a `WithinMetric` in front gives, and what is promised beside."""

from __future__ import annotations

import numpy as np
import oracles_within_metric as oracle
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

import nsse
import oracles
from nsse import NSSE, NSSECV, WithinMetric
from nsse.certificates import lipschitz_bounds, theorem_1

LANDMARKS = {
    "exact": {},
    "kmeans": {"n_landmarks": 40},
    "per-class": {"n_landmarks": 40, "landmarks": "per-class"},
    "indices": {"landmarks": np.arange(0, 120, 3)},
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def fitted(digits):
    X, y = digits
    return NSSE.as_published(metric="within", shrinkage=0.1).fit(X[:200], y[:200])


def wide(make_blobs):
    """More features than samples."""
    X, codes = make_blobs((12, 9, 10), 60)
    return X * np.geomspace(1, 0.05, 60), codes


# The same as the pipeline


@pytest.mark.parametrize("kind", LANDMARKS)
def test_is_the_pipeline(digits, kind):
    X, y = digits
    params = LANDMARKS[kind]
    alone = NSSE.as_published(metric="within", shrinkage=0.3, **params).fit(X[:120], y[:120])
    pipeline = make_pipeline(WithinMetric(0.3), NSSE.as_published(**params)).fit(X[:120], y[:120])
    atol = 1e-10
    np.testing.assert_allclose(alone.transform(X), pipeline.transform(X), atol=atol)
    np.testing.assert_allclose(alone.embedding_, pipeline[-1].embedding_, atol=atol)
    np.testing.assert_allclose(alone.transform(X[:120]), alone.embedding_, atol=atol)
    assert alone.sigma_ == pytest.approx(pipeline[-1].sigma_, rel=1e-10)
    assert alone.objective_ == pytest.approx(pipeline[-1].objective_, rel=1e-9)
    np.testing.assert_array_equal(alone.predict(X), pipeline.predict(X))
    centers = pipeline[0].transform(alone.centers_)
    np.testing.assert_allclose(centers, pipeline[-1].centers_, atol=1e-10)


def test_is_the_pipeline_with_centers_given(digits):
    X, y = digits
    Z = X[200:240]
    alone = NSSE.as_published(metric="within", landmarks=Z).fit(X[:120], y[:120])
    metric = WithinMetric().fit(X[:120], y[:120])
    other = NSSE.as_published(landmarks=metric.transform(Z)).fit(metric.transform(X[:120]), y[:120])
    np.testing.assert_allclose(alone.transform(X), other.transform(metric.transform(X)), atol=1e-10)
    np.testing.assert_array_equal(alone.centers_, Z)


@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_is_the_pipeline_for_other_kinds_of_samples(make_blobs, kind):
    X, codes = wide(make_blobs)
    X = X.astype(np.float32) if kind == "float32" else sparse.csr_array(np.where(abs(X) > 0.3, X, 0))
    alone = NSSE.as_published(metric="within", shrinkage=0.3).fit(X, codes)
    pipeline = make_pipeline(WithinMetric(0.3), NSSE.as_published()).fit(X, codes)
    atol = 1e-5 if kind == "float32" else 1e-10
    np.testing.assert_allclose(alone.transform(X), pipeline.transform(X), atol=atol)
    assert alone.transform(X).dtype == X.dtype
    assert sparse.issparse(alone.centers_) == sparse.issparse(X)


def test_map_is_the_literal_one(make_blobs):
    """f(x) = Σ c_i exp(−‖A(x − z_i)‖²/σ²) with A by its definition, for n > N and n < N."""
    for X, codes in (wide(make_blobs), make_blobs((30, 25), 4)):
        model = NSSE.as_published(metric="within", shrinkage=0.3).fit(X, codes)
        A = oracle.within_metric(X, codes, 5, 0.3)
        new = X[:7] + 0.3
        expected = [oracles.rbf_map(x, X @ A, model.coef_, model.sigma_) for x in new @ A]
        np.testing.assert_allclose(model.transform(new), expected, rtol=1e-8, atol=1e-10)


def test_infinite_shrinkage_is_euclidean(digits):
    X, y = digits
    same = NSSE.as_published(metric="within", shrinkage=np.inf).fit(X[:100], y[:100])
    np.testing.assert_array_equal(
        same.transform(X), NSSE.as_published().fit(X[:100], y[:100]).transform(X)
    )


@pytest.mark.parametrize("factor", [2.0**-40, 1e5])
@pytest.mark.parametrize("params", [{}, {"n_landmarks": 30}], ids=str)
def test_rescaling_changes_nothing(digits, factor, params):
    X, y = digits
    model, other = (
        NSSE.as_published(metric="within", **params).fit(scale * X[:100], y[:100])
        for scale in (1.0, factor)
    )
    np.testing.assert_allclose(model.transform(X), other.transform(factor * X), atol=1e-7)


# Odd samples


def test_constant_features_duplicates_and_lonely_classes(make_blobs):
    X, codes = make_blobs((9, 1, 12), 6)
    X = np.c_[X, np.ones((len(X), 2))]
    X, codes = np.r_[X, X[:4]], np.r_[codes, codes[:4]]
    alone = NSSE.as_published(metric="within", shrinkage=0.2).fit(X, codes)
    pipeline = make_pipeline(WithinMetric(0.2), NSSE.as_published()).fit(X, codes)
    np.testing.assert_allclose(alone.transform(X), pipeline.transform(X), atol=1e-8)
    moved = X + np.eye(8)[6]  # along a feature in which no edge leads
    assert alone.metric_.transform(moved)[:, 6] == pytest.approx(2.0)


def test_without_scatter_it_is_euclidean_and_says_so(make_blobs):
    X, codes = make_blobs((1, 1, 1, 1), 3)
    with pytest.warns(UserWarning, match="Add samples to the classes"):
        model = NSSE.as_published(metric="within").fit(X, codes)
    np.testing.assert_array_equal(model.transform(X), NSSE.as_published().fit(X, codes).transform(X))


# Rows from elsewhere


def test_blocks_and_arrays_give_the_same_model(make_blobs):
    X, codes = make_blobs((3000, 2500), 6)
    order = np.random.default_rng(0).permutation(len(codes))
    X, codes = X[order] * [4, 2, 1, 1, 0.3, 0.1], codes[order]
    model = NSSE.as_published(metric="within", n_landmarks=20, sigma=0.8)
    whole = model.fit(X, codes).transform(X[:50])
    pieces = [(X[a : a + 777], codes[a : a + 777]) for a in range(0, len(X), 777)]
    np.testing.assert_array_equal(model.fit_blocks(pieces).transform(X[:50]), whole)
    # Neighbours are looked for in blocks: nearly the metric of all samples, not quite.
    everything = WithinMetric().fit(X, codes)
    np.testing.assert_allclose(model.metric_.factors_, everything.factors_, rtol=0.05)
    assert not np.array_equal(model.metric_.factors_, everything.factors_)


def test_dask_gives_the_same_model(make_blobs):
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'nsse[dask]'")
    X, codes = make_blobs((3000, 2500), 6)
    model = NSSE.as_published(metric="within", n_landmarks=20, sigma=0.8)
    expected = model.fit(X, codes).transform(X[:50])
    lazy = da.from_array(np.array(X), chunks=(1000, 3))
    found = model.fit(lazy, codes).transform(X[:50])
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_many_sparse_features_take_bounded_memory():
    import tracemalloc

    N, n, rng = 300, 20_000, np.random.default_rng(0)
    X = sparse.csr_array(np.where(rng.random((N, n)) < 0.005, rng.random((N, n)), 0.0))
    y = np.arange(N) % 6
    X = sparse.csr_array(X + sparse.csr_array((np.ones(N), (np.arange(N), y)), shape=(N, n)))
    tracemalloc.start()
    model = NSSE.as_published(metric="within", sigma=1.0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.score(X, y) == 1.0
    assert peak < 12 * N * n * 8  # n × n would be 67 times N × n


# Certificates


def test_radii_of_the_ball_and_of_the_ellipsoid(fitted, digits):
    X = digits[0][200:300]
    ball, ellipsoid = fitted.certified_radius(X), fitted.certified_radius(X, units="metric")
    assert ellipsoid == pytest.approx(ball)  # constant features: nothing is shorter there, ‖A‖ = 1
    full = fitted_on_few_features()
    model, X = full
    ball, ellipsoid = model.certified_radius(X), model.certified_radius(X, units="metric")
    norm = model.metric_.factors_.max()
    assert norm < 0.9
    assert ball == pytest.approx(ellipsoid / norm)


def fitted_on_few_features():
    X, y = load_digits(return_X_y=True)
    X = X[:, [10, 20, 28, 36, 43, 53]] / 16
    return NSSE.as_published(metric="within", shrinkage=0.1).fit(X[:300], y[:300]), X[300:400]


@pytest.mark.parametrize("which", ["many features", "few features"])
def test_attacks_break_nothing(fitted, digits, which):
    """Towards samples of other classes, at random and along the axes: ≥ 2,000 attempts, both regions."""
    model, X = (fitted, digits[0][200:300]) if which == "many features" else fitted_on_few_features()
    rng, labels = np.random.default_rng(0), model.predict(X)
    others = digits[0][:, [10, 20, 28, 36, 43, 53]] if which == "few features" else digits[0]
    attempts = 0
    for trial in range(12):
        towards = others[rng.permutation(200)[: len(X)]] - X
        random = rng.standard_normal(X.shape)
        along = np.tile(model.metric_.axes_[:, trial % model.metric_.axes_.shape[1]], (len(X), 1))
        for step in (towards, random, along):
            ball = step / np.linalg.norm(step, axis=1, keepdims=True)
            ellipse = step / np.linalg.norm(model.metric_.transform(step), axis=1, keepdims=True)
            for units, unit in (("samples", ball), ("metric", ellipse)):
                radius = model.certified_radius(X, units=units)[:, np.newaxis]
                finite = np.isfinite(radius[:, 0])
                moved = (X + (1 - 1e-12) * radius * unit)[finite]
                np.testing.assert_array_equal(model.predict(moved), labels[finite])
                attempts += len(moved)
    assert attempts >= 2000


def test_ellipsoid_reaches_farther_along_its_axes(fitted, digits):
    X = digits[0][200:210]
    axis = fitted.metric_.axes_[:, 0]
    length = fitted.certified_radius(X, units="metric") / fitted.metric_.factors_[0]
    assert (length > 5 * fitted.certified_radius(X)).all()
    for sign in (1, -1):
        moved = X + sign * (1 - 1e-12) * length[:, np.newaxis] * axis
        np.testing.assert_array_equal(fitted.predict(moved), fitted.predict(X))


def test_lipschitz_constants_hold_in_both_units():
    model, X = fitted_on_few_features()
    rng = np.random.default_rng(0)
    Z = X + 0.01 * rng.standard_normal(X.shape)
    change = np.linalg.norm(model.transform(X) - model.transform(Z), axis=1)
    near = model.metric_.transform(X - Z)
    found = {}
    for units, step in (("samples", X - Z), ("metric", near)):
        bounds = found[units] = lipschitz_bounds(model, X, units=units)
        slope = (change / np.linalg.norm(step, axis=1)).max()
        assert slope <= bounds.best
        assert 0.3 * slope <= bounds.empirical <= bounds.rkhs <= bounds.proposition_1
    norm = model.metric_.factors_.max()
    assert found["samples"].proposition_1 == pytest.approx(norm * found["metric"].proposition_1)
    assert found["samples"].empirical < found["metric"].empirical


def test_steepness_is_that_of_differences():
    model, X = fitted_on_few_features()
    x = lipschitz_bounds(model, X[:5], max_iter=0).steepest
    h = 1e-6
    J = [(model.transform([x + h * e]) - model.transform([x - h * e]))[0] / (2 * h) for e in np.eye(6)]
    found = lipschitz_bounds(model, x[np.newaxis], max_iter=0).empirical
    assert found == pytest.approx(np.linalg.norm(J, 2), rel=1e-5)


def test_theorem_1_in_both_units():
    model, _ = fitted_on_few_features()
    X, y = load_digits(return_X_y=True)
    X, y = X[:300, [10, 20, 28, 36, 43, 53]] / 16, y[:300]
    ours, near = (theorem_1(model, X, y, units=units) for units in ("samples", "metric"))
    pipeline = make_pipeline(WithinMetric(0.1), NSSE.as_published()).fit(X, y)
    expected = theorem_1(pipeline[-1], pipeline[0].transform(X), y)
    assert near.lipschitz == pytest.approx(expected.lipschitz)
    assert near.largest_delta == pytest.approx(expected.largest_delta)
    assert ours.lipschitz == pytest.approx(near.lipschitz * model.metric_.factors_.max())
    assert ours.gamma == near.gamma


# Search, files, graphs


def test_voters_may_have_metrics_of_their_own(digits):
    X, y = digits[0][:120], digits[1][:120]
    search = NSSECV(n_repeats=3).fit(X, y)
    assert len({(voter.metric, voter.shrinkage, voter.relevance) for voter in search.voters_}) > 1
    for voter in search.voters_:
        alone = NSSE.as_published(**voter.get_params()).fit(X, y)
        np.testing.assert_allclose(voter.transform(X), alone.transform(X), atol=1e-12)
    assert (search.certified_radius(digits[0][200:260]) > 0).any()


def test_file_keeps_the_metric(fitted, digits, tmp_path):
    pytest.importorskip("skops", reason="model files need skops: pip install 'nsse[files]'")
    nsse.save(fitted, tmp_path / "model.nsse")
    loaded = nsse.load(tmp_path / "model.nsse")
    np.testing.assert_array_equal(loaded.transform(digits[0]), fitted.transform(digits[0]))
    assert isinstance(loaded.metric_, WithinMetric)


def test_damaged_axes_are_refused(fitted, digits, tmp_path):
    pytest.importorskip("skops", reason="model files need skops: pip install 'nsse[files]'")
    damaged = clone(fitted).fit(digits[0][:200], digits[1][:200])
    damaged.metric_.axes_ = damaged.metric_.axes_ * 1.5
    nsse.save(damaged, tmp_path / "model.nsse")
    with pytest.raises(ValueError, match="axes that are not orthonormal"):
        nsse.load(tmp_path / "model.nsse")
