"""Landmarks: the literal pencil, the same model from every source, nothing half done."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import nsse.landmarks.moments as moments_module
from conftest import blobs_of
from nsse import NSSE, NSSECV
from nsse.graphs import between_class_laplacian, class_slices, gaussian_affinity, laplacian
from nsse.kernels import KernelRows, precision_of, squared_distances
from nsse.landmarks import SELECTORS
from nsse.landmarks.centers import STEPS, cluster_means, equal_shares, stratified
from nsse.landmarks.moments import Moments, Terms, block_moments, gram_matrices
from nsse.landmarks.neighborhoods import Neighbors, within_class_laplacians
from nsse.solvers import constraint
from nsse.solvers.constraint import SummedMatrix
from nsse.solvers.gram_pencil import IndefiniteError, solve_gram


@pytest.fixture(scope="module")
def data():
    """Samples of four classes in random order."""
    blobs = blobs_of((70, 50, 40, 20), n_features=6, seed=3)
    order = np.random.default_rng(0).permutation(len(blobs.codes))
    return blobs.X[order], blobs.codes[order]


def literal_pencil(X, codes, centers, sigma, mu1, mu2, n_neighbors):
    """B and P by their definition, with L_b as a matrix and no sum over blocks."""
    K = np.array([[np.exp(-np.sum((x - z) ** 2) / sigma**2) for z in centers] for x in X])
    L_w = laplacian(gaussian_affinity(squared_distances(X), codes, n_neighbors)).toarray()
    S = L_w + mu1 * (len(X) * np.eye(len(X)) - between_class_laplacian(codes))
    return K, K.T @ K, K.T @ S @ K + mu2 * np.eye(len(centers))


def terms_for(X, codes, centers, sigma, mu1, n_neighbors, precision=np.float64, seed=0):
    counts = np.bincount(codes).astype(float)
    references = np.random.default_rng(seed).uniform(0, 0.2, (len(counts), len(centers)))
    references = references.astype(precision).astype(float)
    kernel = KernelRows.at(centers, 1.0, precision)
    return Terms(kernel, sigma, mu1 * counts, references, Neighbors(n_neighbors, None))


@pytest.mark.parametrize(("precision", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_moments_are_the_literal_matrices(data, precision, tolerance):
    X, codes = data
    centers = X[::9]
    terms = terms_for(X, codes, centers, 2.0, 0.7, 4, precision)
    grams = gram_matrices(block_moments(terms, X, codes), terms.references, 0.7, 0.01)
    K, B, P = literal_pencil(X, codes, centers, 2.0, 0.7, 0.01, 4)
    np.testing.assert_allclose(grams.B, B, rtol=0, atol=tolerance * abs(B).max())
    np.testing.assert_allclose(grams.P, P, rtol=0, atol=tolerance * abs(P).max())
    sums = np.array([K[codes == c].sum(axis=0) for c in range(4)])
    np.testing.assert_allclose(grams.class_sums, sums, rtol=0, atol=tolerance * sums.max())


def test_moments_of_two_halves_add_up(data, monkeypatch):
    """A sum of parts is the whole in blocks of their size."""
    X, codes = data
    terms = terms_for(X, codes, X[::9], 2.0, 0.7, 3)
    halves = block_moments(terms, X[:90], codes[:90]) + block_moments(terms, X[90:], codes[90:])
    monkeypatch.setattr(moments_module, "BLOCK_ROWS", 90)
    whole = block_moments(terms, X, codes)
    for a, b in zip(vars(halves).values(), vars(whole).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("beta", [None, 3.0])
@pytest.mark.parametrize("n_neighbors", [1, 4, 300, None])
def test_laplacian_of_a_block_is_the_literal_one(n_neighbors, beta, as_rows):
    """Classes of several panels, of one, and of a single row."""
    blobs = blobs_of((600, 256, 30, 1), n_features=5, seed=8)
    laplacians = within_class_laplacians(as_rows(blobs.X), blobs.codes, Neighbors(n_neighbors, beta))
    W = gaussian_affinity(squared_distances(blobs.X), blobs.codes, n_neighbors, beta)
    A = np.random.default_rng(0).normal(size=(len(blobs.codes), 3))
    for run, L_c in zip(class_slices(blobs.codes), laplacians, strict=True):
        np.testing.assert_allclose(L_c @ A[run], (laplacian(W) @ A)[run], rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_neighbors", [5, None])
def test_laplacian_of_duplicates(n_neighbors):
    """No edge has a length: every weight is one."""
    codes = np.repeat([0, 1], 4)
    for L_c in within_class_laplacians(np.ones((8, 3)), codes, Neighbors(n_neighbors, None)):
        np.testing.assert_allclose(L_c @ np.eye(4), 4 * np.eye(4) - 1, atol=1e-12)


@pytest.mark.parametrize("full_up_to", [0, 10**6], ids=["Krylov", "full"])
def test_gram_pencil_against_lapack(data, full_up_to, monkeypatch):
    monkeypatch.setattr(constraint, "FULL_UP_TO", full_up_to)
    X, codes = data
    _, B, P = literal_pencil(X, codes, X, 2.0, 1.0, 0.1, 4)
    theta, _ = eigh(B, P)
    for d in (1, 3, 8):
        start = np.eye(len(B))[:, :4]
        found = solve_gram(SummedMatrix(B), P.copy(), start, d, 1e-16)
        assert found.eigensolver == ("full" if full_up_to else "block Krylov")
        np.testing.assert_allclose(found.eigenvalues, 1 / theta[::-1][:d], rtol=1e-8)
        np.testing.assert_allclose(found.coef.T @ B @ found.coef, np.eye(d), atol=1e-8)


def test_indefinite_matrix_gets_a_recorded_jitter():
    B = np.eye(40)
    P = np.diag(np.linspace(1.0, 2.0, 40))
    P[0, 0] = -1e-13
    with pytest.raises(IndefiniteError, match="`mu2` must be large enough"):
        solve_gram(SummedMatrix(B), P - 1e-3 * np.eye(40), np.ones((40, 1)), 2, 1e-13)
    found = solve_gram(SummedMatrix(B), P.copy(), np.ones((40, 1)), 2, 1e-13)
    assert found.jitter == pytest.approx(10 * 1e-13 * 2.0)
    assert found.eigenvalues[0] == pytest.approx(found.jitter - 1e-13, rel=1e-3)


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
    L_w = laplacian(gaussian_affinity(squared_distances(X) / model.length_unit_**2, y, 5)).toarray()
    within = np.trace(Y.T @ L_w @ Y)
    between = np.trace(Y.T @ between_class_laplacian(y) @ Y)
    assert last.within == pytest.approx(within, rel=1e-6)
    assert last.between == pytest.approx(-between, rel=1e-9)
    assert last.regularity == pytest.approx(0.01 * np.sum(model.coef_**2))
    assert model.objective_ == pytest.approx(last.within + last.between + last.regularity + last.scale)
    assert model.eigenvalues_.sum() + last.scale == pytest.approx(model.objective_)
    assert N * d * 1.0 + model.objective_ == pytest.approx(last.excess)


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_selectors_give_distinct_centres(data, name):
    X, codes = data
    chosen = SELECTORS[name](codes, 30, np.random.default_rng(0), lambda i: X[i])
    assert len(np.unique(chosen.rows, axis=0)) == 30
    if name == "kmeans":
        assert chosen.indices is None
    else:
        assert np.all(np.diff(chosen.indices) > 0)
        np.testing.assert_array_equal(chosen.rows, X[chosen.indices])


def test_cluster_means_are_those_of_lloyd(data):
    """Against a literal loop from the same start."""
    X = data[0]
    start = np.sort(np.random.default_rng(7).choice(len(X), 12, replace=False))
    means = [X[i] for i in start]
    for _ in range(STEPS):
        owner = [min(range(12), key=lambda j: float(np.sum((x - means[j]) ** 2))) for x in X]
        for j in range(12):
            own = [x for x, o in zip(X, owner, strict=True) if o == j]
            means[j] = np.mean(own, axis=0) if own else means[j]
    found = cluster_means(X, 12, np.random.default_rng(7))
    np.testing.assert_allclose(found, means, atol=1e-12)


def test_means_belong_to_their_class():
    """Two classes far apart: no centre lies between them."""
    X = np.concatenate([np.random.default_rng(c).normal(100 * c, 1, (60, 2)) for c in range(2)])
    chosen = SELECTORS["kmeans"](np.repeat([0, 1], 60), 10, np.random.default_rng(0), lambda i: X[i])
    assert sorted((chosen.rows[:, 0] > 50).tolist()) == 5 * [False] + 5 * [True]


def test_shares_are_equal_as_far_as_the_samples_go():
    np.testing.assert_array_equal(equal_shares(np.array([100, 5, 100]), 65), [30, 5, 30])
    np.testing.assert_array_equal(equal_shares(np.array([2, 2]), 4), [2, 2])
    codes = np.repeat([0, 1], [990, 10])
    drawn = stratified(codes, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(codes[drawn]), [99, 2])


def test_spread_landmarks_cover_better_than_random_ones(data):
    X, codes = data
    reach = {}
    for name in ("random", "kmeans++", "kmeans"):
        far = []
        for seed in range(20):
            chosen = SELECTORS[name](codes, 20, np.random.default_rng(seed), lambda i: X[i])
            far.append(((X[:, None] - chosen.rows) ** 2).sum(-1).min(axis=1).mean())
        reach[name] = np.mean(far)
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
def test_same_model_from_every_source(data, tmp_path, monkeypatch, how):
    monkeypatch.setattr(moments_module, "BLOCK_ROWS", 64)
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
    assert precision_of(np.int32) == precision_of(np.float64) == np.float64


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


def test_model_selection_scores_models_with_landmarks(data):
    """NSSECV must not score exact models where the estimator has landmarks."""
    X, y = data
    folds = [(np.arange(0, 180, 2), np.arange(1, 180, 2))]
    search = NSSECV({"mu2": [0.01, 10.0]}, estimator=NSSE.as_published(n_landmarks=8), cv=folds).fit(
        X, y
    )
    by_hand = NSSE.as_published(n_landmarks=8, mu2=0.01).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(by_hand)
    assert search.best_estimator_.n_landmarks_ == 8


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


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_landmarks": 181}, "not exceed the number of training samples, 180. Got 181"),
        ({"n_landmarks": 1}, "at least 2. Got 1"),
        ({"n_landmarks": 2}, "no less than the number of components, 3. Got 2"),
        ({"n_landmarks": "many"}, "'auto'. Got 'many'"),
        ({"landmarks": "random"}, "say how many landmarks.*Got None"),
        ({"n_landmarks": 9, "landmarks": "best"}, "'kmeans\\+\\+'. Got 'best'"),
        ({"landmarks": [0, 1, 1]}, "distinct indices from 0 to 179"),
        ({"landmarks": [0, 1, 180]}, "distinct indices from 0 to 179"),
        ({"landmarks": np.ones((4, 5))}, "the 6 features of the training samples. Got 5"),
        ({"landmarks": np.ones(4)}, "indices of two samples or more, or a matrix of centres"),
        ({"n_landmarks": 9, "landmarks": [0, 1, 2]}, "number of `landmarks` given, 3. Got 9"),
        ({"n_landmarks": 9, "solver": "alternating"}, '"joint" where there are landmarks'),
        ({"n_landmarks": 9, "affinity": lambda X, y: None}, '"gaussian" where there are landmarks'),
    ],
)
def test_parameters_are_checked(data, params, match):
    model = NSSE.as_published(**params)
    with pytest.raises(ValueError, match=match):
        model.fit(*data)
    assert not hasattr(model, "coef_")


def test_blocks_need_landmarks(data):
    with pytest.raises(ValueError, match="`n_landmarks` must be given for blocks"):
        NSSE.as_published().fit_blocks([data])


def test_ill_conditioned_single_precision_warns(data):
    """Kernels much wider than the data have one direction only, in single precision."""
    X, y = data
    with pytest.warns(nsse_warning(), match="pass X as float64"):
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


def nsse_warning():
    from nsse import ConditioningWarning

    return ConditioningWarning


def test_nothing_is_warned_about_in_an_ordinary_fit(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NSSE.as_published(n_landmarks=40).fit(X.astype(np.float32), y)


def test_moments_start_at_zero():
    zero = Moments.zero(3, 4)
    assert all(not part.any() for part in vars(zero).values())
