"""However rows are cut, the model is that of the array: blocks and chunks are regrouped to our own."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from conftest import blobs_of
from nsse import NSSE
from nsse.landmarks.moments import BLOCK_ROWS

N = 9000
# Without the pull of μ1 the graph, and with it who is whose neighbour, decides alone.
PARAMS = {"n_landmarks": 60, "random_state": 2, "mu1": 0.0}
CUTS = {
    "2500 rows": [2500, 2500, 2500, 1500],
    "few rows": [321] * 28 + [12],
    "uneven": [1, 4095, 4097, 7, 800],
    "more than a block": [5000, 4000],
    "all rows": [N],
    "our own": [BLOCK_ROWS, BLOCK_ROWS, N - 2 * BLOCK_ROWS],
}
TOLERANCE = {np.float64: 1e-9, np.float32: 1e-6}
# Every cut in double precision; in single precision those that fall beside our own blocks.
every_cut = pytest.mark.parametrize(
    ("cut", "dtype"),
    [*((cut, np.float64) for cut in CUTS), ("2500 rows", np.float32), ("uneven", np.float32)],
)
both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture(scope="module")
def data():
    blobs = blobs_of((4000, 3000, 2000), n_features=8, seed=5, spread=0.7)
    order = np.random.default_rng(0).permutation(N)
    return blobs.X[order], np.array(["ant", "bee", "cat"])[blobs.codes[order]]


@pytest.fixture(scope="module")
def whole(data):
    """Factory: samples of a precision, labels, and the model of them as one array."""

    @cache
    def of(dtype):
        X, y = data[0].astype(dtype), data[1]
        return X, y, NSSE.as_published(**PARAMS).fit(X, y)

    return of


@pytest.fixture(scope="module")
def sparse_rows(data):
    """Sparse samples, labels, and the model of them as one matrix."""
    X, y = sparse.csr_array(np.maximum(data[0] - 1.0, 0.0)), data[1]
    return X, y, NSSE.as_published(**PARAMS).fit(X, y)


def parts(X, sizes):
    stops = np.cumsum(sizes)
    return [X[stop - size : stop] for stop, size in zip(stops, sizes, strict=True)]


def blocks_of(X, y, sizes):
    return list(zip(parts(X, sizes), parts(y, sizes), strict=True))


def assert_same(other, model, tolerance):
    assert other.sigma_ == pytest.approx(model.sigma_, rel=tolerance)
    centers, expected = (np.asarray(sparse.csr_array(m.centers_).toarray()) for m in (other, model))
    np.testing.assert_array_equal(centers, expected)
    for name in ("coef_", "embedding_", "eigenvalues_"):
        value, expected = getattr(other, name), getattr(model, name)
        atol = tolerance * np.abs(expected).max()
        np.testing.assert_allclose(value, expected, rtol=0, atol=atol, err_msg=name)


@pytest.mark.slow
@every_cut
def test_blocks(whole, cut, dtype):
    X, y, model = whole(dtype)
    other = NSSE.as_published(**PARAMS).fit_blocks(blocks_of(X, y, CUTS[cut]))
    assert_same(other, model, TOLERANCE[X.dtype.type])


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["2500 rows", "uneven"])
def test_sparse_blocks(sparse_rows, cut):
    X, y, model = sparse_rows
    assert_same(NSSE.as_published(**PARAMS).fit_blocks(blocks_of(X, y, CUTS[cut])), model, 1e-9)


@pytest.mark.slow
def test_blocks_of_several_types_are_rows_of_one(data):
    """Bytes, single and double precision: the centres are of the widest, wherever they were drawn."""
    X, y = np.round(20 * (data[0] - data[0].min())), data[1]
    kinds = [np.uint16, np.float32, np.float64, np.float32]
    blocks = [
        (part.astype(kind), labels)
        for kind, (part, labels) in zip(kinds, blocks_of(X, y, CUTS["2500 rows"]), strict=True)
    ]
    params = PARAMS | {"landmarks": np.arange(60)}  # all of them in the first block
    params.pop("n_landmarks")
    model, other = NSSE.as_published(**params).fit(X, y), NSSE.as_published(**params).fit_blocks(blocks)
    assert_same(other, model, 1e-9)
    assert other.centers_.dtype == np.float64


@pytest.mark.slow
@both_precisions
def test_source_may_write_its_blocks_over_each_other(whole, dtype):
    X, y, model = whole(dtype)
    place = np.empty((1000, X.shape[1]), X.dtype)

    def blocks():
        for start in range(0, N, 1000):
            place[:] = X[start : start + 1000]
            yield place, y[start : start + 1000]

    assert_same(NSSE.as_published(**PARAMS).fit_blocks(blocks), model, TOLERANCE[X.dtype.type])


class TestDask:
    """The same of chunks."""

    @pytest.fixture(autouse=True)
    def threads(self):
        dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'nsse[dask]'")
        pytest.importorskip("dask.array")
        with dask.config.set(scheduler="threads"):
            yield

    @pytest.mark.slow
    @every_cut
    def test_chunks(self, whole, cut, dtype):
        import dask.array as da

        X, y, model = whole(dtype)
        lazy = da.from_array(X, chunks=(tuple(CUTS[cut]), 3))
        assert_same(NSSE.as_published(**PARAMS).fit(lazy, y), model, TOLERANCE[X.dtype.type])

    @pytest.mark.slow
    def test_empty_chunks(self, whole):
        import dask.array as da

        X, y, model = whole(np.float64)
        lazy = da.from_array(X, chunks=((2500, 2500, 4000), -1))
        first = da.from_array(np.arange(N) < 5000, chunks=((2500, 2500, 4000),))
        lazy = da.concatenate([lazy[first], lazy[~first]]).compute_chunk_sizes()
        assert lazy.chunks[0] == (2500, 2500, 0, 0, 0, 4000)
        assert_same(NSSE.as_published(**PARAMS).fit(lazy, y), model, TOLERANCE[X.dtype.type])

    @pytest.mark.slow
    @pytest.mark.parametrize("cut", ["2500 rows", "uneven"])
    def test_sparse_chunks(self, sparse_rows, cut):
        import dask
        import dask.array as da

        X, y, model = sparse_rows
        blocks = [
            da.from_delayed(dask.delayed(part), part.shape, meta=X[:0]) for part in parts(X, CUTS[cut])
        ]
        assert_same(NSSE.as_published(**PARAMS).fit(da.concatenate(blocks), y), model, 1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_rows", [700, 2500, BLOCK_ROWS])
    def test_no_task_holds_more_than_a_block(self, data, n_rows):
        import dask
        import dask.array as da
        from dask.callbacks import Callback

        X, y = data
        held = []

        class Watch(Callback):
            def _posttask(self, key, result, dsk, state, worker_id):
                if getattr(result, "shape", ())[1:] == X.shape[1:]:
                    held.append(len(result))

        with dask.config.set(scheduler="synchronous"), Watch():
            NSSE.as_published(**PARAMS).fit(da.from_array(X, chunks=(n_rows, -1)), y)
        # The unit of length and σ need their subsamples, landmarks their candidates: the rest is blocks.
        assert max(held) <= BLOCK_ROWS
