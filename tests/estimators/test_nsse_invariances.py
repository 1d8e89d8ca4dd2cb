"""NSSE with copies of its samples is NSSE of the enlarged set, however and wherever it is fitted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

from nsse import NSSE
from nsse.invariances import Enlarged, Images, Noise, Signals, enlarged

VIEWS = Images((8, 8), mirror=True)
FITTED = ("coef_", "centers_", "eigenvalues_", "sigma_", "length_unit_", "objective_")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X.setflags(write=False)
    return X[:60], y[:60], X[200:300]


def brightened(X):
    return [X + 1.0, X - 1.0]


def assert_same_map(model, other):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("views", [VIEWS, Signals(), Noise(0.5, copies=2), brightened])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"metric": "euclidean", "sigma": None, "normalization": "samples", "classifier": "nearest"},
        {"n_landmarks": 40},
        {"n_landmarks": 40, "landmarks": "per-class", "metric": "euclidean", "sigma": None},
        {"n_landmarks": "auto"},
    ],
)
def test_it_is_nsse_of_the_enlarged_set(digits, views, params):
    X, y, new = digits
    E, labels = enlarged(views, X), np.repeat(y, len(enlarged(views, X)) // len(X))
    model = NSSE(invariances=views, **params).fit(X, y)
    k = len(E) // len(X)
    whole = NSSE(n_neighbors=5 * k, **params).fit(E, labels)
    assert_same_map(model, whole)
    assert model.n_copies_ == k - 1
    np.testing.assert_array_equal(model.embedding_, whole.embedding_[::k])
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.transform(new), whole.transform(new))
    np.testing.assert_array_equal(model.predict(new), whole.predict(new))


@pytest.mark.parametrize("params", [{}, {"n_landmarks": 50}])
def test_samples_embed_as_they_did_in_the_fit(digits, params):
    X, y, _ = digits
    model = NSSE(invariances=VIEWS, **params)
    np.testing.assert_allclose(model.fit_transform(X, y), model.transform(X), rtol=1e-10, atol=1e-12)
    assert model.embedding_.shape == (60, 9)


def test_rows_from_blocks_are_those_of_an_array(digits):
    X, y, _ = digits
    by = Images((8, 8))
    model = NSSE(invariances=by, n_landmarks=40)
    parts = [(X[a:b], y[a:b]) for a, b in ((0, 7), (7, 41), (41, 60))]
    blocks = clone(model).fit_blocks(parts)
    assert_same_map(blocks, model.fit(X, y))
    np.testing.assert_array_equal(blocks.embedding_, model.embedding_)
    np.testing.assert_array_equal(blocks.labels_, y)


@pytest.mark.slow
def test_many_blocks_are_those_of_an_array_in_single_precision():
    X, labels = load_digits(return_X_y=True)
    many, labels = X[:1200].astype(np.uint8), labels[:1200]
    views = Images((8, 8), rotate=None)  # 1200 samples: 6000 rows, of which a block has 4096
    model = NSSE(invariances=views, n_landmarks=40)
    array = clone(model).fit(many, labels)
    whole = NSSE(n_landmarks=40, n_neighbors=25).fit(enlarged(views, many), np.repeat(labels, 5))
    blocks = clone(model).fit_blocks([(many[:700], labels[:700]), (many[700:], labels[700:])])
    for other in (whole, blocks):
        assert_same_map(array, other)
    np.testing.assert_array_equal(array.embedding_, whole.embedding_[::5])


@pytest.mark.slow
def test_dask_arrays_have_the_same_copies(digits):
    da = pytest.importorskip("dask.array")
    X, y, _ = digits
    model = NSSE(invariances=VIEWS, n_landmarks=40)
    lazy = clone(model).fit(da.from_array(X, chunks=(23, 64)), y)
    assert_same_map(lazy, model.fit(X, y))
    np.testing.assert_array_equal(lazy.labels_, y)


@pytest.mark.slow
def test_not_all_copies_are_made_at_once(digits, monkeypatch):
    X, y, _ = digits
    many, labels = np.tile(X, (30, 1)).astype(np.float32), np.tile(y, 30)
    made = []

    class Watched(Enlarged):
        def __getitem__(self, which):
            rows = super().__getitem__(which)
            made.append(len(rows))
            return rows

    monkeypatch.setattr("nsse.landmarks.copied.Enlarged", Watched)
    NSSE(invariances=Images((8, 8), rotate=None), n_landmarks=20).fit(many, labels)
    assert sum(made) > 10_000
    assert max(made) <= 4096 + 10  # a subsample has some of every class


def test_copies_stay_on_their_side_of_a_split():
    """Labels without a meaning: nothing can be learned, unless a copy of what is held out was seen."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(90, 36)), np.arange(90) % 3
    views = Noise(0.05)
    honest = cross_val_score(NSSE(invariances=views), X, y, cv=5).mean()
    E, order = enlarged(views, X), rng.permutation(90 * 5)
    leaking = cross_val_score(NSSE(), E[order], np.repeat(y, 5)[order], cv=5).mean()
    assert honest < 0.55 < 0.8 < leaking


def test_shifts_teach_what_does_not_matter():
    """Bars that stand anywhere: with shifted copies those at other places are recognised."""

    def bars(n, seed):
        rng = np.random.default_rng(seed)
        X, y = np.zeros((n, 9, 9)), np.arange(n) % 2
        for picture, upright in zip(X, y, strict=True):
            place = rng.integers(2, 7)
            picture[(slice(2, 7), place) if upright else (place, slice(2, 7))] = 1.0
        return X.reshape(n, -1) + 0.2 * rng.normal(size=(n, 81)), y

    (X, y), (new, truth) = bars(16, 0), bars(300, 1)
    with_copies = NSSE(invariances=Images((9, 9), shift=(1, 2), rotate=None)).fit(X, y)
    assert with_copies.score(new, truth) > NSSE().fit(X, y).score(new, truth) + 0.05


def test_parameters_of_invariances_are_parameters_of_the_model(digits):
    X, y, _ = digits
    model = NSSE(invariances=Images((8, 8))).set_params(invariances__mirror=True)
    assert clone(model).fit(X, y).n_copies_ == 13
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    assert again.invariances == model.invariances
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_a_fit_without_copies_has_none(digits):
    X, y, _ = digits
    assert NSSE().fit(X, y).n_copies_ == 0


def test_copies_count_in_the_memory_that_is_announced():
    for params in ({}, {"n_landmarks": 300}):
        plain, copied = NSSE(**params), NSSE(invariances=VIEWS, **params)
        assert copied.estimate_memory(500, 64) == plain.estimate_memory(7000, 64)
    own = NSSE(invariances=lambda X: [X / X])
    assert own.estimate_memory(500, 64) == NSSE().estimate_memory(1000, 64)
