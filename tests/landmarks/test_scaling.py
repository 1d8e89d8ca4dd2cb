"""Landmarks: the literal pencil, the same model from every source, nothing half done."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import oracles
from conftest import blobs_of
from nsse import NSSE, ConditioningWarning


@pytest.fixture(scope="module")
def data():
    """Samples of four classes in random order."""
    blobs = blobs_of((70, 50, 40, 20), n_features=6, seed=3)
    order = np.random.default_rng(0).permutation(len(blobs.codes))
    return blobs.X[order], blobs.codes[order]


@pytest.mark.parametrize(
    "params", [{"sigma": 0.8}, {}, {"sigma": 1.5, "n_components": 6, "mu1": 0.1, "n_neighbors": None}]
)
def test_all_samples_as_landmarks_are_exact(data, params):
    X, y = data
    exact = NSSE.as_published(**params).fit(X, y)
    centres = NSSE.as_published(n_landmarks=len(y), **params).fit(X, y)
    assert centres.n_landmarks_ == exact.n_landmarks_ == len(y)
    assert centres.sigma_ == pytest.approx(exact.sigma_, rel=1e-6)
    assert centres.trace_[-1].excess == pytest.approx(exact.trace_[-1].excess, rel=1e-7)
    np.testing.assert_allclose(centres.embedding_, exact.embedding_, atol=1e-6)
    np.testing.assert_allclose(centres.transform(X[:9] + 0.1), exact.transform(X[:9] + 0.1), atol=1e-6)


def test_embedding_is_orthonormal_and_every_term_adds_up(data):
    X, y = data
    model = NSSE.as_published(n_landmarks=40).fit(X, y)
    d = model.embedding_.shape[1]
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(d), atol=1e-8)
    np.testing.assert_array_equal(model.embedding_, model.transform(X))
    last = model.trace_[-1]
    assert last.stage == "centres"
    Y, N = model.embedding_, len(y)
    W = oracles.within_class_weights(X / model.length_unit_, y, 5)
    within = np.trace(Y.T @ oracles.laplacian_matrix(W) @ Y)
    between = np.trace(Y.T @ oracles.laplacian_matrix((y[:, np.newaxis] != y).astype(float)) @ Y)
    assert last.within == pytest.approx(within, rel=1e-6)
    assert last.between == pytest.approx(-between, rel=1e-9)
    assert last.regularity == pytest.approx(0.01 * np.sum(model.coef_**2))
    assert model.objective_ == pytest.approx(last.within + last.between + last.regularity + last.scale)
    assert model.eigenvalues_.sum() + last.scale == pytest.approx(model.objective_)
    assert N * d * 1.0 + model.objective_ == pytest.approx(last.excess)


@pytest.mark.parametrize("how", ["kmeans", "per-class", "random", "kmeans++"])
def test_centres_are_distinct_and_samples_unless_they_are_means(data, how):
    X, y = data
    centers = NSSE(n_landmarks=30, landmarks=how).fit(X, y).centers_
    assert len(np.unique(centers, axis=0)) == 30
    are_samples = (centers[:, np.newaxis] == X).all(axis=2).any(axis=1)
    assert are_samples.all() == (how != "kmeans")


def test_means_belong_to_their_class():
    """Two classes far apart: no centre lies between them, and each has half of them."""
    X = np.concatenate([np.random.default_rng(c).normal(100 * c, 1, (60, 2)) for c in range(2)])
    centers = NSSE(n_landmarks=10, sigma=0.5).fit(X, np.repeat([0, 1], 60)).centers_
    assert sorted((centers[:, 0] > 50).tolist()) == 5 * [False] + 5 * [True]
    assert (np.abs(centers - np.round(centers, -2)) < 5).all()


def test_spread_landmarks_cover_better_than_random_ones(data):
    X, y = data
    reach = {}
    for how in ("random", "kmeans++", "kmeans"):
        models = [NSSE(n_landmarks=20, landmarks=how, random_state=s).fit(X, y) for s in range(12)]
        reach[how] = np.mean([cdist(X, model.centers_).min(axis=1).mean() for model in models])
    assert reach["kmeans"] < reach["kmeans++"] < reach["random"]


def sources(X, y, folder):
    """The same samples from a memory map, a sparse matrix and blocks."""
    path = folder / "X.npy"
    np.save(path, X)
    yield "memmap", lambda m: m.fit(np.load(path, mmap_mode="r"), y)
    rows = sparse.csr_array(X)
    rows.data.flags.writeable = False
    yield "sparse", lambda m: m.fit(rows, y)
    cuts = [slice(0, 64), slice(64, 128), slice(128, len(y))]
    blocks = [(X[c], y[c]) for c in cuts]
    yield "list of blocks", lambda m: m.fit_blocks(blocks)
    yield "function", lambda m: m.fit_blocks(lambda: ((X[c], y[c]) for c in cuts))
    yield "sparse blocks", lambda m: m.fit_blocks([(sparse.csr_matrix(a), b) for a, b in blocks])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kmeans", "per-class", "random", "kmeans++", "indices", "array"])
def test_same_model_from_every_source(data, tmp_path, how):
    X, y = data
    landmarks = {"indices": np.arange(0, 180, 6), "array": X[::6] + 0.01}.get(how, how)
    params = {"landmarks": landmarks, "n_landmarks": 30, "random_state": 4}
    model = NSSE.as_published(**params).fit(X, y)
    for name, fit in sources(X, y, tmp_path):
        if how == "kmeans" and "sparse" in name:
            with pytest.raises(ValueError, match="means of sparse rows"):
                fit(NSSE.as_published(**params))
            continue
        other = fit(NSSE.as_published(**params))
        assert other.sigma_ == pytest.approx(model.sigma_, rel=1e-7), name
        np.testing.assert_allclose(other.embedding_, model.embedding_, atol=1e-7, err_msg=name)
        np.testing.assert_array_equal(other.predict(X[:20]), model.predict(X[:20]))
        assert other.n_features_in_ == 6


def test_default_landmarks(data):
    X, y = data
    dense, rows = (
        NSSE.as_published(n_landmarks=20).fit(X, y),
        NSSE.as_published(n_landmarks=20).fit(sparse.csr_array(X), y),
    )
    np.testing.assert_array_equal(
        dense.centers_, NSSE.as_published(n_landmarks=20, landmarks="kmeans").fit(X, y).centers_
    )
    chosen = NSSE.as_published(n_landmarks=20, landmarks="per-class").fit(X, y).centers_
    np.testing.assert_allclose(rows.centers_.toarray(), chosen)


def test_bytes_and_single_precision(data):
    X, y = data
    scaled = np.clip((X - X.min()) * 20, 0, 255).astype(np.uint8)
    models = {
        kind: NSSE.as_published(n_landmarks=40, sigma=0.9).fit(scaled.astype(kind), y)
        for kind in (np.uint8, np.float32, np.float64)
    }
    exact = models[np.float64]
    assert exact.condition_.precision == "float64"
    for kind in (np.uint8, np.float32):
        assert models[kind].condition_.precision == "float32"
        np.testing.assert_allclose(models[kind].embedding_, exact.embedding_, atol=1e-4)
    assert models[np.uint8].embedding_.dtype == np.float64
    assert models[np.float32].transform(scaled.astype(np.float32)).dtype == np.float32


def test_single_precision_far_from_the_origin(data):
    """The shift is taken off in double precision before anything is rounded."""
    X, y = data
    far = (X.astype(np.float32) + np.float32(2.0**12)).astype(np.float32)
    near = far.astype(np.float64) - 2.0**12
    a, b = (
        NSSE.as_published(n_landmarks=40, sigma=0.9).fit(far, y),
        NSSE.as_published(n_landmarks=40, sigma=0.9).fit(near, y),
    )
    np.testing.assert_allclose(a.embedding_, b.embedding_, atol=1e-4)
    raw = far - far.mean(axis=0, dtype=np.float32)  # what single precision alone would make of it
    assert np.abs(raw - (near - near.mean(axis=0))).max() > 1e-5


def test_auto_is_exact_while_samples_are_few(data, monkeypatch):
    X, y = data
    few = NSSE.as_published(n_landmarks="auto").fit(X, y)
    np.testing.assert_array_equal(few.embedding_, NSSE.as_published().fit(X, y).embedding_)
    assert few.n_landmarks_ == len(y)
    monkeypatch.setattr("nsse.estimators._centers.AUTO_EXACT", 100)
    monkeypatch.setattr("nsse.estimators._centers.AUTO_CENTERS", 50)
    many = NSSE.as_published(n_landmarks="auto").fit(X, y)
    assert many.n_landmarks_ == len(many.centers_) == 50


def test_units_do_not_matter(data):
    X, y = data
    a, b = (
        NSSE.as_published(n_landmarks=40).fit(X, y),
        NSSE.as_published(n_landmarks=40).fit(1000 * X, y),
    )
    assert b.sigma_ == pytest.approx(1000 * a.sigma_, rel=1e-6)
    np.testing.assert_array_equal(a.predict(X + 0.3), b.predict(1000 * (X + 0.3)))


def test_callback_sees_every_step_and_may_stop(data):
    X, y = data
    seen = []
    model = NSSE.as_published(n_landmarks=40, callback=seen.append).fit(X, y)
    assert len(seen) == model.n_iter_ == len(model.trace_)
    assert {s.stage for s in seen} == {"subsample", "centres"}
    stopped = NSSE.as_published(n_landmarks=40, callback=lambda step: step.iteration == 4).fit(X, y)
    best = min(stopped.trace_.steps[:-1], key=lambda s: s.excess)
    assert len(stopped.trace_) == 6
    assert stopped.sigma_ == pytest.approx(best.sigma)


def test_voting(data):
    X, y = data
    model = NSSE.as_published(n_landmarks=40, classifier=KNeighborsClassifier(7)).fit(X, y)
    expected = KNeighborsClassifier(7).fit(model.embedding_, y).predict(model.transform(X))
    np.testing.assert_array_equal(model.predict(X), expected)


def test_memory_is_estimated_for_both_modes():
    exact, centres = NSSE.as_published(), NSSE.as_published(n_landmarks=2000)
    assert exact.estimate_memory(20_000, 784) > 10 * centres.estimate_memory(20_000, 784)
    growth = centres.estimate_memory(2_000_000, 784) - centres.estimate_memory(1_000_000, 784)
    assert growth <= 1_000_000 * 10 * 8 * 4  # embeddings, nothing else
    auto = NSSE.as_published(n_landmarks="auto")
    assert auto.estimate_memory(4000, 50) == exact.estimate_memory(4000, 50)
    assert auto.estimate_memory(60_000, 50) < exact.estimate_memory(60_000, 50) / 100


class BrokenDiskError(OSError):
    """An error of the source's own."""


def failing(X, y, reading):
    """Blocks of which the second cannot be read at the given reading, and all can before."""
    readings = []

    def blocks():
        readings.append(None)
        yield X[:90], y[:90]
        if len(readings) == reading:
            raise BrokenDiskError("sector 7")
        yield X[90:], y[90:]

    return blocks


@pytest.mark.parametrize("reading", [1, 2, 3, 4, 5])
def test_source_that_fails_half_way_leaves_no_trace(data, reading):
    X, y = data
    model = NSSE.as_published(n_landmarks=20)
    with pytest.raises(BrokenDiskError, match="sector 7"):
        model.fit_blocks(failing(X, y, reading))
    assert vars(model) == vars(clone(model))
    fitted = NSSE.as_published(n_landmarks=20).fit(X, y)
    before = dict(vars(fitted))
    with pytest.raises(BrokenDiskError):
        fitted.fit_blocks(failing(X, y, reading))
    assert vars(fitted) == before


def test_blocks_are_read_as_often_as_the_documentation_says(data):
    X, y = data
    readings = []

    def blocks():
        readings.append(None)
        yield X, y

    NSSE.as_published(n_landmarks=20).fit_blocks(blocks)
    assert len(readings) == 5


@pytest.mark.parametrize(
    ("blocks", "error", "match"),
    [
        (lambda X, y: iter([(X, y)]), TypeError, "used up after one pass"),
        (lambda X, y: [], ValueError, "at least one block"),
        (lambda X, y: [X], ValueError, r"pairs \(X, y\).*block 0"),
        (lambda X, y: [(X, y), (X[:, :3], y)], ValueError, "6 features in block 1"),
        (lambda X, y: [(X, y), (X, y[:9])], ValueError, "180 rows and 9 labels in block 1"),
        (lambda X, y: [(X, y), (X * np.nan, y)], ValueError, "Block 1 is not usable.*NaN"),
    ],
)
def test_blocks_that_cannot_be_used(data, blocks, error, match):
    with pytest.raises(error, match=match):
        NSSE.as_published(n_landmarks=20).fit_blocks(blocks(*data))


def test_source_that_changes_is_noticed(data):
    X, y = data
    rng = np.random.default_rng(0)

    def shuffled():
        order = rng.permutation(len(y))
        yield X[order], y[order]

    with pytest.raises(ValueError, match="same blocks in the same order"):
        NSSE.as_published(n_landmarks=20).fit_blocks(shuffled)


def test_ill_conditioned_single_precision_warns(data):
    """Kernels much wider than the data have one direction only, in single precision."""
    X, y = data
    with pytest.warns(ConditioningWarning, match="pass X as float64"):
        NSSE.as_published(n_landmarks=100, sigma=30.0, mu2=1e-10, n_components=2).fit(
            X.astype(np.float32), y
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_components_than_distinct_samples(dtype):
    """Five distinct points carry five coordinates."""
    X = np.tile(np.eye(5), (8, 1)).astype(dtype)
    y = np.tile([0, 0, 1, 1, 1], 8)
    X += np.finfo(dtype).eps * np.arange(len(X))[:, np.newaxis]  # not quite equal
    with pytest.raises(ValueError, match="`n_components` must not exceed the number of distinct"):
        NSSE.as_published(n_landmarks=30, landmarks="per-class", n_components=9, sigma=1.0).fit(X, y)


def test_nothing_is_warned_about_in_an_ordinary_fit(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NSSE.as_published(n_landmarks=40).fit(X.astype(np.float32), y)
