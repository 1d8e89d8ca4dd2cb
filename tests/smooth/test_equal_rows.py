"""Rows that are equal, rows that only look alike, and equal rows with different labels."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from nsse import SmoothEmbedding
from nsse.augment import Signals

da = pytest.importorskip("dask.array", reason="Dask: pip install 'nsse[dask]'")

RNG = np.random.default_rng(0)


def binary_table(n_rows=300):
    y = np.arange(n_rows) % 3
    shares = RNG.random((3, 30))
    return (RNG.random((n_rows, 30)) < shares[y]).astype(float), y


def fits_of(X, y):
    """The same rows by every way in."""
    parts = np.array_split(np.arange(len(y)), 4)
    model = SmoothEmbedding(metric=None, centers=None)
    yield "array", model.fit(X, y)
    yield "float32", SmoothEmbedding(metric=None).fit(X.astype(np.float32), y)
    yield "sparse", SmoothEmbedding(metric=None).fit(sparse.csr_array(X), y)
    blocks = [(X[part], y[part]) for part in parts]
    yield "blocks", SmoothEmbedding(metric=None).fit_blocks(blocks)
    yield "Dask", SmoothEmbedding(metric=None).fit(da.from_array(X, chunks=(40, -1)), y)


TABLES = {
    "0 and 1": lambda B: B,
    "-1 and 1": lambda B: 2 * B - 1,
    "0 and 2": lambda B: 2 * B,
    "x and -x": lambda B: np.concatenate([B[:150] + 0.25, -B[:150] - 0.25]),
}


@pytest.mark.parametrize("change", TABLES.values(), ids=TABLES)
def test_no_two_different_rows_are_taken_for_equal(change):
    B, y = binary_table()
    X = change(B)
    n_distinct = len(np.unique(np.column_stack([X, y]), axis=0))
    for name, model in fits_of(X, y):
        assert len(model.coef_) == n_distinct, name
    updated = SmoothEmbedding(metric=None).fit(X, y).partial_fit(X[:50] + 0.5, y[:50])
    assert updated._updates.n_came == n_distinct + len(
        np.unique(np.column_stack([X[:50], y[:50]]), axis=0)
    )


def test_exclusive_or_is_learned():
    X = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    y = np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(SmoothEmbedding(metric=None).fit(X, y).predict(X), y)


def test_a_factorial_design_behind_a_scaler_is_learned():
    X = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    y = (X[:, 0] != X[:, 1]).astype(int)
    scaled = StandardScaler().fit_transform(X)
    assert SmoothEmbedding().fit(scaled, y).score(scaled, y) == 1.0


@pytest.fixture(scope="module")
def categorical():
    """Three binary columns with noisy labels: eight places with both labels."""
    weights = 1.5 * RNG.normal(size=3)

    def draw(n):
        X = (RNG.random((n, 3)) < 0.5).astype(float)
        p = 1 / (1 + np.exp(-2.0 * (X @ weights - weights.sum() / 2)))
        return X, (RNG.random(n) < p).astype(int), p

    return draw(1000), draw(4000)


def test_conflicting_labels_give_useful_probabilities(categorical):
    (X, y, _), (X_new, y_new, p) = categorical
    model = SmoothEmbedding().fit(X, y)
    bayes = log_loss(y_new, p)
    assert log_loss(y_new, model.predict_proba(X_new)) < bayes + 0.02
    assert abs(model.leave_one_out_score_ - model.score(X_new, y_new)) < 0.04


def test_the_nearest_sample_respects_weights(categorical):
    (X, y, _), (X_new, y_new, _) = categorical
    scores, nearest = (SmoothEmbedding(decision=rule).fit(X, y) for rule in ("scores", "nearest"))
    assert nearest.score(X_new, y_new) >= scores.score(X_new, y_new) - 0.01
    assert abs(nearest.leave_one_out_score_ - nearest.score(X_new, y_new)) < 0.04
    alone = [nearest.predict(x[np.newaxis])[0] for x in X_new[:50]]
    np.testing.assert_array_equal(alone, nearest.predict(X_new[:50]))


def literal_left_out(X, y, i, model):
    """Class scores of sample i by the regression without it, with the unit and the shares of all."""
    others = np.delete(np.arange(len(y)), i)

    def kernel(A, B):
        return np.exp(-((A[:, np.newaxis] - B) ** 2).sum(axis=2) / model.sigma_**2)

    shares = np.bincount(y) / len(y)
    T = np.eye(len(shares))[y[others]] - shares
    K = kernel(X[others], X[others])
    C = np.linalg.solve(K + model.smoothness * np.eye(len(K)), T)
    return (kernel(X[i : i + 1], X[others]) @ C + shares)[0]


def test_leaving_out_removes_one_of_several_equal_samples():
    X = RNG.normal(size=(12, 2))[RNG.integers(12, size=60)]
    y = RNG.integers(3, size=60)
    model = SmoothEmbedding(metric=None).fit(X, y)
    rows = np.column_stack([X, y])
    _, first = np.unique(rows, axis=0, return_index=True)
    for place, i in enumerate(np.sort(first)):
        expected = literal_left_out(X, y, i, model)
        np.testing.assert_allclose(model._leave_one_out[place], expected, atol=1e-8)


def test_class_weights_do_not_count_samples():
    """A lone sample of a heavy class is left out whole, not one of 25."""
    X, y = RNG.normal(size=(60, 2)), np.r_[np.zeros(54, int), np.ones(6, int)]
    heavy = SmoothEmbedding(metric=None, class_weight={1: 25.0}).fit(X, y)
    lone = heavy._leave_one_out[heavy._leave_one_out_labels == 1]
    copies = SmoothEmbedding(metric=None).fit(X, y, sample_weight=np.where(y == 1, 25.0, 1.0))
    many = copies._leave_one_out[copies._leave_one_out_labels == 1]
    assert lone[:, 1].mean() < many[:, 1].mean() - 0.2


def test_only_weights_of_the_user_are_warned_of(recwarn):
    X = np.repeat(RNG.normal(size=(10, 2)), 30, axis=0)
    SmoothEmbedding().fit(X, np.repeat(np.arange(10) % 2, 30))
    assert not [warning for warning in recwarn if "weights" in str(warning.message)]


@pytest.mark.parametrize("names", [["a", 1, 2], ["1", 1, 2], [2**53, 2**53 + 1, 2.0]], ids=str)
def test_labels_of_mixed_types_are_refused(names):
    from nsse import NSSE
    from nsse.methods import LFDA

    X, y = RNG.normal(size=(30, 2)), np.array(names, dtype=object)[np.arange(30) % 3]
    for model in (SmoothEmbedding(), NSSE(), LFDA()):
        with pytest.raises(ValueError, match="`y` must hold labels of one type"):
            model.fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_augmented_samples_that_equal_other_samples_have_one_label(seed):
    rng = np.random.default_rng(seed)
    X, y = 2.0 * rng.integers(2, size=(60, 5)), rng.integers(3, size=60)
    model = SmoothEmbedding(decision="nearest", augment=Signals(shift=1)).fit(X, y)
    order = rng.permutation(60)
    permuted = SmoothEmbedding(decision="nearest", augment=Signals(shift=1)).fit(X[order], y[order])
    assert permuted.leave_one_out_score_ == pytest.approx(model.leave_one_out_score_, abs=1e-9)
    labels = model.predict(X)
    assert labels.tolist() == [model.predict(row[np.newaxis])[0] for row in X]
    assert labels.tolist() == permuted.predict(X).tolist()
