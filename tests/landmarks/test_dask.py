"""Dask arrays: the same model as from NumPy, on threads and on processes, even if one of them dies."""

from __future__ import annotations

import os
from pathlib import Path

import joblib
import numpy as np
import pytest

from conftest import blobs_of
from nsse import NSSE, NSSECV, SequentialSearchCV

pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'nsse[dask]'")
pytest.importorskip("distributed", reason="distributed is not installed: pip install 'nsse[dask]'")

import dask
import dask.array as da
from dask.distributed import Client, LocalCluster

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*unclosed.*"),
    pytest.mark.filterwarnings("ignore:Port .* is already in use"),
]

ROWS = 4096  # rows of our own blocks: chunks of as many give the same neighbours
PARAMS = {"n_landmarks": 60, "random_state": 2}


@pytest.fixture(scope="module")
def data():
    blobs = blobs_of((4000, 3000, 2000), n_features=8, seed=5, spread=0.7)
    order = np.random.default_rng(0).permutation(len(blobs.codes))
    return blobs.X[order], np.array(["ant", "bee", "cat"])[blobs.codes[order]]


@pytest.fixture(scope="module")
def model(data):
    return NSSE.as_published(**PARAMS).fit(*data)


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def assert_same(other, model):
    assert other.sigma_ == pytest.approx(model.sigma_, rel=1e-6)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6 * np.abs(model.coef_).max())
    np.testing.assert_allclose(other.embedding_, model.embedding_, atol=1e-6)
    np.testing.assert_array_equal(other.classes_, model.classes_)


def test_threads(data, model):
    X, y = data
    with dask.config.set(scheduler="threads"):
        other = NSSE.as_published(**PARAMS).fit(
            da.from_array(X, chunks=(ROWS, 3)), da.from_array(y, chunks=1000)
        )
    assert_same(other, model)


def test_class_means_and_scores(data):
    X, y = data
    params = PARAMS | {"mu2": 1.0, "normalization": "classes", "classifier": "scores"}
    model = NSSE.as_published(**params, embedding_scale="unit").fit(X, y)
    lazy = da.from_array(X, chunks=(ROWS, -1))
    with dask.config.set(scheduler="threads"):
        other = NSSE.as_published(**params, embedding_scale="unit").fit(lazy, y)
        scores, labels = other.decision_function(lazy).compute(), other.predict(lazy).compute()
    assert_same(other, model)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(labels, model.classes_[scores.argmax(axis=1)])
    centred = model.embedding_ - model.embedding_.mean(axis=0)
    means = np.array([centred[y == label].mean(axis=0) for label in model.classes_])
    counts = np.unique(y, return_counts=True)[1]
    whole = 1 + model.eigenvalues_ / (len(y) / 3)  # between, within and smooth, of which b is 1
    np.testing.assert_allclose((means.T * counts) @ means / len(y), np.diag(1 / whole), atol=1e-8)


def test_two_worker_processes(data, model, client):
    X, y = data
    other = NSSE.as_published(**PARAMS).fit(da.from_array(X, chunks=(ROWS, -1)), y)
    assert_same(other, model)


def test_transform_and_predict_are_lazy(data, model, client):
    X, _ = data
    lazy = da.from_array(X, chunks=(2500, -1))
    embedded, labels = model.transform(lazy), model.predict(lazy)
    assert isinstance(embedded, da.Array)
    assert isinstance(labels, da.Array)
    assert embedded.shape == (len(X), 2)
    assert labels.shape == (len(X),)
    assert embedded.dtype == np.float64
    assert labels.dtype == model.classes_.dtype
    np.testing.assert_allclose(embedded.compute(), model.transform(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    chances = model.predict_proba(lazy)
    assert isinstance(chances, da.Array)
    np.testing.assert_allclose(chances.compute(), model.predict_proba(X), rtol=0, atol=1e-12)


def test_model_selection_runs_on_the_cluster(data, client):
    X, y = data[0][:120], data[1][:120]
    grid = {"mu2": [0.01, 0.1], "n_components": [1, 2]}
    here = SequentialSearchCV(NSSE(), grid, cv=2).fit(X, y)
    with joblib.parallel_config("dask"):
        there = SequentialSearchCV(NSSE(), grid, cv=2, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=1e-12
    )


def test_parameters_are_chosen_on_a_subsample_of_a_dask_array(data, client):
    X, y = data
    params = {"estimator": NSSE(**PARAMS), "n_subsample": 300, "n_repeats": 2}
    here = NSSECV(**params).fit(X, y)
    there = NSSECV(**params).fit(da.from_array(X, chunks=(ROWS, -1)), da.from_array(y))
    assert there.best_params_ == here.best_params_
    np.testing.assert_array_equal(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"]
    )
    assert_same(there.best_estimator_, here.best_estimator_)
    assert there.n_features_in_ == X.shape[1]
    lazy = da.from_array(X[:500], chunks=(200, -1))
    for name in ("transform", "predict", "predict_proba"):
        answer = getattr(there, name)(lazy)
        assert isinstance(answer, da.Array)
        np.testing.assert_allclose(answer.compute(), getattr(there, name)(X[:500]), rtol=0, atol=1e-12)


def dying_block(X, index, flag):
    """A block of rows; the first process to ask for block 1 after the flag is set dies of it."""
    if index == 1 and Path(flag).exists():
        Path(flag).unlink()
        os._exit(1)
    return X


def test_worker_killed_in_the_middle_of_fit(data, model, client, tmp_path):
    X, y = data
    flag = tmp_path / "flag"
    flag.touch()
    parts = [X[i : i + ROWS] for i in range(0, len(X), ROWS)]
    blocks = [
        da.from_delayed(dask.delayed(dying_block)(part, i, str(flag)), part.shape, X.dtype)
        for i, part in enumerate(parts)
    ]
    other = NSSE.as_published(**PARAMS).fit(da.concatenate(blocks), y)
    assert not flag.exists(), "no worker was killed"
    assert_same(other, model)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda part: np.where(part == part.max(), np.nan, part), "Block 1 is not usable.*NaN"),
        (lambda part: part[:, :5], "8 features in block 1. Got .*5"),
        (lambda part: part[:9], "4096 rows and 8 features in block 1. Got .9, 8"),
    ],
)
@pytest.mark.parametrize("where", ["threads", "processes"])
def test_bad_block_is_named(data, spoil, match, where, request):
    X, y = data
    parts = [X[i : i + ROWS] for i in range(0, len(X), ROWS)]
    real = [part if i != 1 else spoil(part) for i, part in enumerate(parts)]
    blocks = [
        da.from_delayed(dask.delayed(np.array)(part), announced.shape, X.dtype)
        for part, announced in zip(real, parts, strict=True)
    ]
    spoilt = NSSE.as_published(**PARAMS)
    if where == "processes":
        request.getfixturevalue("client")
    with (
        dask.config.set({} if where == "processes" else {"scheduler": "threads"}),
        pytest.raises(ValueError, match=match),
    ):
        spoilt.fit(da.concatenate(blocks), y)
    assert not hasattr(spoilt, "coef_")
    assert not hasattr(spoilt, "n_features_in_")


def test_bad_block_is_named_by_lazy_answers(data, model):
    X = np.array(data[0])
    X[5000, 2] = np.nan
    with dask.config.set(scheduler="threads"), pytest.raises(ValueError, match="Block 1 is not usable"):
        model.predict(da.from_array(X, chunks=(ROWS, -1))).compute()


def test_samples_are_never_gathered(data, model):
    """No task asks for more than a block, and what comes back is not the samples."""
    from dask.callbacks import Callback

    X, y = data
    largest = []

    class Watch(Callback):
        def _posttask(self, key, result, dsk, state, worker_id):
            shape = getattr(result, "shape", ())
            largest.append(shape[0] if len(shape) == 2 and shape[1] == X.shape[1] else 0)

    lazy = da.random.default_rng(0).normal(size=X.shape, chunks=(ROWS, -1))
    with dask.config.set(scheduler="synchronous"), Watch():
        NSSE.as_published(**PARAMS).fit(lazy, y)
    assert max(largest) == ROWS


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda X: (NSSE.as_published(), da.from_array(X)),
            "`n_landmarks` must be given for a Dask array",
        ),
        (lambda X: (NSSE.as_published(**PARAMS), da.from_array(X[:, 0])), "two dimensions"),
        (
            lambda X: (NSSE.as_published(**PARAMS), da.from_array(X)[da.from_array(X[:, 0]) > 0]),
            "compute_chunk_sizes",
        ),
        (
            lambda X: (NSSE.as_published(**PARAMS), da.from_array(X[:-1])),
            "inconsistent numbers of samples",
        ),
    ],
)
def test_what_is_not_accepted(data, make, match):
    X, y = data
    estimator, lazy = make(X)
    with pytest.raises(ValueError, match=match):
        estimator.fit(lazy, y)
