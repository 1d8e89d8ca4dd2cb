"""Dask arrays on worker processes: the same model as from NumPy, even if a worker dies."""

import os
from pathlib import Path

import numpy as np
import pytest

from conftest import blobs_of
from nsse import SmoothEmbedding, SmoothEmbeddingCV

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

ROWS = 1500
PARAMS = {"centers": 60, "random_state": 2}


@pytest.fixture(scope="module")
def data():
    blobs = blobs_of((2000, 1500, 1000), n_features=8, seed=5, spread=0.7)
    order = np.random.default_rng(0).permutation(len(blobs.codes))
    return blobs.X[order], np.array(["ant", "bee", "cat"])[blobs.codes[order]]


@pytest.fixture(scope="module")
def model(data):
    return SmoothEmbedding(**PARAMS).fit(*data)


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


def assert_same(other, model, X):
    np.testing.assert_allclose(other.embedding_, model.embedding_, atol=1e-8)
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-8)


def test_two_worker_processes(data, model, client):
    X, y = data
    other = SmoothEmbedding(**PARAMS).fit(da.from_array(X, chunks=(ROWS, -1)), da.from_array(y))
    assert_same(other, model, X)


def test_parameters_are_chosen_on_some_of_the_rows(data, client):
    X, y = data
    search = SmoothEmbeddingCV(SmoothEmbedding(**PARAMS), grid={"sigma": [0.65, 1.0]}, max_samples=200)
    lazy = da.from_array(X, chunks=(ROWS, -1))
    there, here = search.fit(lazy, y).best_params_, search.fit(X, y).best_params_
    assert there["sigma"] == here["sigma"]
    assert search.predict(lazy).compute().shape == (len(X),)


def dying_block(X, index, flag):
    """A block of rows; the first process to ask for block 1 after the flag is set dies of it."""
    if index == 1 and Path(flag).exists():
        Path(flag).unlink()
        os._exit(1)
    return X


def test_a_worker_is_killed_in_the_middle_of_a_fit(data, model, client, tmp_path):
    X, y = data
    flag = tmp_path / "flag"
    flag.touch()
    parts = [X[i : i + ROWS] for i in range(0, len(X), ROWS)]
    blocks = [
        da.from_delayed(dask.delayed(dying_block)(part, i, str(flag)), part.shape, X.dtype)
        for i, part in enumerate(parts)
    ]
    other = SmoothEmbedding(**PARAMS).fit(da.concatenate(blocks), y)
    assert not flag.exists(), "no worker was killed"
    assert_same(other, model, X)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda part: np.where(part == part.max(), np.nan, part), "Block 1 is not usable.*NaN"),
        (lambda part: part[:, :5], "8 features in block 1. Got .*5"),
        (lambda part: part[:9], "1500 rows in block 1. Got 9"),
    ],
)
def test_a_bad_block_is_named(data, spoil, match):
    X, y = data
    parts = [X[i : i + ROWS] for i in range(0, len(X), ROWS)]
    real = [part if i != 1 else spoil(part) for i, part in enumerate(parts)]
    blocks = [
        da.from_delayed(dask.delayed(np.array)(part), announced.shape, X.dtype)
        for part, announced in zip(real, parts, strict=True)
    ]
    model = SmoothEmbedding(**PARAMS)
    with dask.config.set(scheduler="threads"), pytest.raises(ValueError, match=match):
        model.fit(da.concatenate(blocks), y)
    assert not hasattr(model, "map_")


def test_chunks_of_unknown_size_and_frames_are_refused():
    X = da.from_array(np.ones((10, 2)), chunks=5)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        SmoothEmbedding().fit(X[X[:, 0] > 0], np.zeros(10))
