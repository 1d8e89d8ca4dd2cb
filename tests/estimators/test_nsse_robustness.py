"""NSSE under changes that must not matter, in awkward data, and in batches of any size."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_info, threadpool_limits

from nsse import NSSE
from nsse.datasets import load_dataset


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, train_size=200, stratify=y, random_state=0)


@pytest.fixture(scope="module")
def fitted(digits):
    X, _, y, _ = digits
    return NSSE.as_published().fit(X, y)


def blobs(n_samples: int, n_classes: int = 3, n_features: int = 12, spread: float = 1.2, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = spread * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


# --------------------------------------------------------------------- changes that must not matter


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["joint", "alternating"])
@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e5), (1e-3, -40.0)])
def test_units_and_origin_of_x(digits, solver, scale, offset):
    X, X_new, y, _ = digits
    model = NSSE.as_published(solver=solver).fit(X, y)
    moved = NSSE.as_published(solver=solver).fit(scale * X + offset, y)
    np.testing.assert_array_equal(moved.predict(scale * X_new + offset), model.predict(X_new))
    np.testing.assert_allclose(moved.embedding_, model.embedding_, rtol=0, atol=1e-7)
    assert moved.sigma_ == pytest.approx(scale * model.sigma_, rel=1e-7)
    assert moved.length_unit_ == pytest.approx(scale * model.length_unit_, rel=1e-7)


def test_rotation_of_x(fitted, digits):
    X, X_new, y, _ = digits
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))
    turned = NSSE.as_published().fit(X @ Q, y)
    np.testing.assert_array_equal(turned.predict(X_new @ Q), fitted.predict(X_new))
    np.testing.assert_allclose(turned.embedding_, fitted.embedding_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_order_of_the_samples(digits, solver):
    X, X_new, y, _ = digits
    model = NSSE.as_published(solver=solver).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = NSSE.as_published(solver=solver).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.embedding_, model.embedding_[order], rtol=0, atol=1e-8)
    np.testing.assert_allclose(shuffled.coef_, model.coef_[order], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(shuffled.predict(X_new), model.predict(X_new))


@pytest.mark.parametrize(
    "names",
    [np.arange(10)[::-1], np.array(list("jxhgfedcba")), np.arange(10) * 7.0 - 30, np.arange(10) - 3],
    ids=["reversed", "strings", "floats", "negative"],
)
def test_names_of_the_classes(fitted, digits, names):
    X, X_new, y, y_new = digits
    model = NSSE.as_published().fit(X, names[y])
    np.testing.assert_array_equal(model.predict(X_new), names[fitted.predict(X_new)])
    np.testing.assert_array_equal(model.classes_, np.sort(names))
    assert model.score(X_new, names[y_new]) == fitted.score(X_new, y_new)
    assert model.sigma_ == pytest.approx(fitted.sigma_, rel=1e-8)
    order = np.argsort(names)
    P, P_given = fitted.predict_proba(X_new), model.predict_proba(X_new)
    np.testing.assert_array_equal(P_given, P[:, order])


def test_constant_features_change_nothing(fitted, digits):
    X, X_new, y, _ = digits
    wide, wide_new = (np.hstack([A, np.full((len(A), 3), [0.0, -5.0, 1e3])]) for A in (X, X_new))
    model = NSSE.as_published().fit(wide, y)
    np.testing.assert_array_equal(model.predict(wide_new), fitted.predict(X_new))
    np.testing.assert_allclose(model.embedding_, fitted.embedding_, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_number_of_threads(solver):
    X, y = blobs(900, n_classes=4, n_features=40)
    models = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            allowed = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
            assert allowed == {n_threads}
            model = NSSE.as_published(solver=solver, n_sigmas=4, max_iter=20).fit(X, y)
            models.append((model, model.transform(X[::-1])))
            after = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
            assert after == {n_threads}, "the user's limits are left as they were"
    (one, image_one), (two, image_two) = models
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(image_one, image_two)
    assert one.sigma_ == two.sigma_


@pytest.mark.slow
def test_random_state_matters_within_the_tolerance_only():
    X, y = blobs(900)
    models = [
        NSSE.as_published(random_state=seed).fit(X, y) for seed in (0, 1, np.random.RandomState(5))
    ]
    first, others = models[0], models[1:]
    floor = -first.mu1 * len(X) * 2
    starts = {model.trace_[0].sigma for model in models}
    assert len(starts) == 3, "the subsamples differ"
    for model in others:
        assert model.objective_ - floor == pytest.approx(first.objective_ - floor, rel=1e-7)
        np.testing.assert_allclose(model.embedding_, first.embedding_, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(model.predict(X), first.predict(X))
    again = NSSE.as_published(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.embedding_, first.embedding_)


def test_random_state_does_not_matter_to_few_samples(fitted, digits):
    X, _, y, _ = digits
    np.testing.assert_array_equal(
        NSSE.as_published(random_state=7).fit(X, y).embedding_, fitted.embedding_
    )


# -------------------------------------------------------------------------------------- batches


# ---------------------------------------------------------------------------------- awkward data


def literal_nsse(X, y, sigma, d, X_new, mu1=1.0, mu2=0.01):
    """The method as printed, through the inverse of Ψ, with all same-class pairs joined."""
    D2 = cdist(X, X, "sqeuclidean")
    same = y[:, np.newaxis] == y
    off_diagonal = same & ~np.eye(len(y), dtype=bool)
    W_w, W_b = np.where(same, np.exp(-D2 / D2[off_diagonal].mean()), 0.0), (~same).astype(float)
    inverse = np.linalg.inv(np.exp(-D2 / sigma**2))
    A = np.diag(W_w.sum(1)) - W_w - mu1 * (np.diag(W_b.sum(1)) - W_b) + mu2 * inverse @ inverse
    Y = np.linalg.eigh((A + A.T) / 2)[1][:, :d]
    return Y, np.exp(-cdist(X_new, X, "sqeuclidean") / sigma**2) @ (inverse @ Y)


def literal_error(model, X, y, X_new, y_new):
    try:
        Y, Y_new = literal_nsse(X, y, model.sigma_, model.coef_.shape[1], X_new)
    except np.linalg.LinAlgError:
        return 1.0
    return np.mean(y[cdist(Y_new, Y).argmin(axis=1)] != y_new)


def with_duplicates(X, y, noise):
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(X), 20, replace=False)
    return np.vstack([X, X[chosen] + noise * rng.normal(size=X[chosen].shape)]), np.r_[y, y[chosen]]


def check_duplicates(X, X_new, y, y_new, noise):
    clean = NSSE.as_published(n_neighbors=None).fit(X, y)
    error = 1 - clean.score(X_new, y_new)
    # Where the literal method works, ours is the same method ...
    assert abs(literal_error(clean, X, y, X_new, y_new) - error) < 0.005
    X_more, y_more = with_duplicates(X, y, noise)
    model = NSSE.as_published(n_neighbors=None).fit(X_more, y_more)
    assert abs(1 - model.score(X_new, y_new) - error) < 0.005
    np.testing.assert_allclose(model.transform(X_more), model.embedding_, rtol=0, atol=1e-9)
    # ... and where samples coincide, the literal one breaks down.
    assert literal_error(model, X_more, y_more, X_new, y_new) > 0.5


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_duplicated_samples(digits, noise):
    check_duplicates(*digits, noise)


@pytest.fixture(scope="module")
def coil20():
    if not os.environ.get("NSSE_DATA"):
        pytest.skip("NSSE_DATA does not name a folder with the real data")
    return load_dataset("coil20", unit_norm=True)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_duplicated_images_of_coil20(coil20, noise):
    X, y = coil20.X, coil20.y
    split = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
    check_duplicates(*split, noise)


@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_every_sample_twice(digits, solver):
    X, X_new, y, y_new = digits
    model = NSSE.as_published(solver=solver).fit(np.vstack([X, X]), np.r_[y, y])
    assert model.score(X_new, y_new) > 0.94
    np.testing.assert_allclose(model.embedding_[:200], model.embedding_[200:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(9), rtol=0, atol=1e-9)


def test_the_same_sample_in_two_classes(digits):
    X, X_new, y, y_new = digits
    model = NSSE.as_published().fit(np.vstack([X, X[:1]]), np.r_[y, (y[0] + 1) % 10])
    assert model.score(X_new, y_new) > 0.9
    np.testing.assert_allclose(model.embedding_[0], model.embedding_[-1], rtol=0, atol=1e-9)


def check_sound(model, X, y):
    d = model.coef_.shape[1]
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(d), rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.transform(X), model.embedding_, rtol=0, atol=1e-6)
    assert np.isfinite(model.objective_)
    assert model.score(X, y) == 1.0


SOLVERS = pytest.mark.parametrize("solver", ["joint", "alternating"])


@SOLVERS
def test_a_class_of_one_sample(solver):
    X, y = blobs(41)
    y[-1] = 3
    check_sound(NSSE.as_published(solver=solver).fit(X, y), X, y)


@SOLVERS
def test_classes_of_one_sample_only(solver):
    X, _ = blobs(12)
    check_sound(NSSE.as_published(solver=solver).fit(X, np.arange(12)), X, np.arange(12))


@SOLVERS
def test_fewer_samples_than_features(solver):
    X, y = blobs(12, n_features=300)
    check_sound(NSSE.as_published(solver=solver).fit(X, y), X, y)


@SOLVERS
@pytest.mark.parametrize("n_classes", [3, 10])
def test_one_feature_and_more_components(solver, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(60) % n_classes
    X = y[:, np.newaxis] + 0.05 * rng.normal(size=(60, 1))
    model = NSSE.as_published(solver=solver).fit(X, y)
    assert model.embedding_.shape == (60, n_classes - 1)
    check_sound(model, X, y)


@SOLVERS
@pytest.mark.parametrize("n_samples", [2, 3, 50])
def test_two_classes(solver, n_samples):
    X, y = blobs(n_samples, n_classes=2)
    model = NSSE.as_published(solver=solver).fit(X, y)
    assert model.embedding_.shape == (n_samples, 1)
    check_sound(model, X, y)


@pytest.mark.slow
@SOLVERS
@pytest.mark.parametrize("n_features", [8, 50])
def test_two_hundred_classes(solver, n_features):
    X, y = blobs(600, n_classes=200, n_features=n_features, spread=20.0)
    model = NSSE.as_published(solver=solver, n_sigmas=8, max_iter=20).fit(X, y)
    assert model.embedding_.shape == (600, 199)
    check_sound(model, X, y)


@SOLVERS
@pytest.mark.parametrize("n_neighbors", [None, 1, 1000])
def test_any_number_of_neighbours(solver, n_neighbors):
    X, y = blobs(50)
    model = NSSE.as_published(solver=solver, n_neighbors=n_neighbors).fit(X, y)
    check_sound(model, X, y)
    if n_neighbors == 1000:
        everyone = NSSE.as_published(solver=solver, n_neighbors=None).fit(X, y)
        np.testing.assert_allclose(model.embedding_, everyone.embedding_, rtol=0, atol=1e-9)


@SOLVERS
@pytest.mark.parametrize("n_features", [2, 12])
def test_as_many_components_as_samples(solver, n_features):
    X, y = blobs(40, n_features=n_features)
    check_sound(NSSE.as_published(40, solver=solver).fit(X, y), X, y)


@SOLVERS
def test_more_components_than_classes_in_the_plane(solver):
    # At the wide end of sigma_range the kernel matrix has fewer than 20 independent columns.
    X, y = blobs(120, n_features=2, spread=3.0)
    check_sound(NSSE.as_published(20, solver=solver).fit(X, y), X, y)


def test_unbalanced_classes():
    X, y = blobs(120)
    y = np.where(np.arange(120) < 110, 0, 1 + y)
    check_sound(NSSE.as_published().fit(X, y), X, y)


# ----------------------------------------------------------------------- arguments are the user's


def frozen(X):
    X = X.copy()
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        part.flags.writeable = False
    return X


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array])
def test_arguments_are_never_written_to(digits, form):
    X, X_new, y, _ = digits
    X, X_new, y = frozen(form(X)), frozen(form(X_new)), frozen(y)
    W = frozen((y[:, np.newaxis] == y).astype(float))
    for model in (
        NSSE.as_published(),
        NSSE.as_published(solver="alternating"),
        NSSE.as_published(affinity=W),
    ):
        model.fit(X, y).predict(X_new)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_model_does_not_follow_later_changes(digits, form):
    X, X_new, y, _ = digits
    mine, labels = form(X), y.copy()
    model = NSSE.as_published().fit(mine, labels)
    before = model.transform(X_new), model.predict(X_new)
    labels[:] = 0
    (mine.data if sparse.issparse(mine) else mine)[:] = 7.0
    back = pickle.loads(pickle.dumps(model))
    for now in (model, back):
        np.testing.assert_array_equal(now.transform(X_new), before[0])
        np.testing.assert_array_equal(now.predict(X_new), before[1])
