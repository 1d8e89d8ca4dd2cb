"""Arrays, memory maps, sparse matrices, blocks and Dask arrays give the same model."""

import numpy as np
import pytest
from scipy import sparse

from conftest import blobs_of
from nsse import SmoothEmbedding, WithinMetric
from nsse.centers import CentersPerClass, KMeansCenters
from nsse.unlabeled import GraphPenalty, LabelPropagation

CENTERS = [None, 15, KMeansCenters(12), CentersPerClass(20), np.arange(0, 24, 2), "rows"]


def shifted(X):
    return [X + 0.2]


def configuration(seed):
    """Random samples, weights, equal rows, centres, copies and types."""
    rng = np.random.default_rng(seed)
    data = blobs_of(tuple(rng.integers(12, 40, rng.integers(2, 5))), n_features=4, seed=seed, spread=1.0)
    X, y = data.X.astype(rng.choice([np.float32, np.float64])), data.codes
    order = rng.permutation(np.r_[np.arange(len(y)), rng.integers(0, len(y), rng.integers(0, 10))])
    X, y = X[order], y[order]
    centers = CENTERS[rng.integers(len(CENTERS))]
    unlabeled = [None, None, None, GraphPenalty(), LabelPropagation()][rng.integers(5)]
    if unlabeled is not None:
        y = np.where(rng.random(len(y)) < 0.3, -1, y)
    model = SmoothEmbedding(
        centers=X[::5] if isinstance(centers, str) else centers,
        metric=[None, "within", WithinMetric(0.5)][rng.integers(3)],
        augment=[None, None, shifted][rng.integers(3)],
        unlabeled=unlabeled,
        class_weight=[None, "balanced"][rng.integers(2)],
        decision=["scores", "nearest"][rng.integers(2)],
        random_state=int(rng.integers(9)),
    )
    weights = rng.uniform(0.3, 3.0, len(y)) if rng.random() < 0.6 else None
    return X, y, weights, model, rng


def blocks_of(X, y, rng):
    cuts = np.sort(rng.choice(np.arange(1, len(X)), rng.integers(1, 6), replace=False))
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def same(one, other, X):
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-8)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-8)
    np.testing.assert_array_equal(one.transduction_, other.transduction_)


def check_sources(seed, tmp_path):
    X, y, weights, model, rng = configuration(seed)
    params = model.get_params(deep=False)
    array = SmoothEmbedding(**params).fit(X, y, weights)
    blocks = SmoothEmbedding(**params).fit_blocks(blocks_of(X, y, rng), weights)
    same(blocks, array, X)
    np.save(tmp_path / "X.npy", X)
    mapped = SmoothEmbedding(**params).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y, weights)
    same(mapped, array, X)
    da = pytest.importorskip("dask.array")
    chunks = (int(rng.integers(5, len(X))), X.shape[1])
    lazy = SmoothEmbedding(**params).fit(da.from_array(X, chunks=chunks), y, weights)
    same(lazy, array, X)
    if (
        model.augment is None
        and model.metric is None
        and not isinstance(model.centers, int | KMeansCenters)
    ):
        same(SmoothEmbedding(**params).fit(sparse.csr_array(X), y, weights), array, X)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The weights have a mean of:UserWarning")
@pytest.mark.parametrize("seed", range(25))
def test_sources_agree(seed, tmp_path):
    check_sources(seed, tmp_path)


def test_lazy_predictions_are_those_of_arrays(blobs):
    da = pytest.importorskip("dask.array")
    model = SmoothEmbedding().fit(blobs.X, blobs.codes)
    X = da.from_array(np.array(blobs.X), chunks=(17, 2))
    for method in ("transform", "predict", "decision_function", "predict_proba", "predict_log_proba"):
        lazy = getattr(model, method)(X)
        assert hasattr(lazy, "compute")
        np.testing.assert_allclose(lazy.compute(), getattr(model, method)(blobs.X), atol=1e-10)


def test_bad_blocks_are_named(blobs):
    X, y = np.array(blobs.X), blobs.codes
    with pytest.raises(TypeError, match="generator"):
        SmoothEmbedding().fit_blocks(pair for pair in [(X, y)])
    with pytest.raises(ValueError, match="block 1"):
        SmoothEmbedding().fit_blocks([(X, y), (X[:, :3], y)])
    with pytest.raises(ValueError, match="Block 1"):
        SmoothEmbedding().fit_blocks([(X, y), (np.full_like(X, np.nan), y)])
    with pytest.raises(ValueError, match="one label per row"):
        SmoothEmbedding().fit_blocks([(X, y[:-1])])
    with pytest.raises(ValueError, match="at least one block"):
        SmoothEmbedding().fit_blocks([])


CHANGES = {
    "shuffled": ("other labels in block 0", lambda parts, rng: [shuffled(parts, rng)]),
    "values": (
        "other rows in block 2",
        lambda parts, rng: [*parts[:2], (parts[2][0] + 1e-9, parts[2][1])],
    ),
    "labels": (
        "other labels in block 1",
        lambda parts, rng: [parts[0], (parts[1][0], parts[1][1][::-1])],
    ),
    "shorter": ("2 blocks instead of 3", lambda parts, rng: parts[:2]),
    "short block": ("other labels in block 0", lambda parts, rng: [(parts[0][0][:5], parts[0][1][:5])]),
    "longer": ("one block more than the 3", lambda parts, rng: [*parts, parts[0]]),
}


def shuffled(parts, rng):
    order = rng.permutation(len(parts[0][1]))
    return parts[0][0][order], parts[0][1][order]


@pytest.mark.parametrize(("got", "change"), CHANGES.values(), ids=CHANGES)
def test_a_source_that_changes_between_passes_is_refused(blobs, got, change):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(blobs.codes))
    parts = [(blobs.X[part], blobs.codes[part]) for part in np.array_split(order, 3)]
    passes = []

    def loader():
        passes.append(1)
        return parts if len(passes) < 3 else change(parts, rng)

    model = SmoothEmbedding(centers=20)
    with pytest.raises(ValueError, match=rf"same blocks at every pass. Got {got}.* at pass 3"):
        model.fit_blocks(loader)
    assert not hasattr(model, "map_")


def test_blocks_of_data_frames_have_named_columns(blobs):
    pandas = pytest.importorskip("pandas", reason="data frames come from pandas")
    frame = pandas.DataFrame(blobs.X).add_prefix("column_")
    half = len(frame) // 2
    first, second = (frame[:half], blobs.codes[:half]), (frame[half:], blobs.codes[half:])
    model = SmoothEmbedding().fit_blocks([first, second])
    assert model.feature_names_in_.tolist() == list(frame.columns)
    expected = SmoothEmbedding().fit(frame, blobs.codes).decision_function(frame)
    np.testing.assert_allclose(model.decision_function(frame), expected, rtol=1e-8, atol=1e-8)
    for other in (second[0][frame.columns[::-1]], second[0].to_numpy()):
        with pytest.raises(ValueError, match=r"columns of the first one.*other names in block 1"):
            model.fit_blocks([first, (other, second[1])])
    assert model.feature_names_in_.tolist() == list(frame.columns)
    model.fit_blocks([(first[0].to_numpy(), first[1]), (second[0].to_numpy(), second[1])])
    assert not hasattr(model, "feature_names_in_")


def test_a_fit_to_a_dask_array_forgets_the_names_of_an_earlier_fit(blobs):
    pandas = pytest.importorskip("pandas", reason="data frames come from pandas")
    dask_array = pytest.importorskip("dask.array", reason="Dask: pip install 'nsse[dask]'")
    model = SmoothEmbedding().fit(pandas.DataFrame(blobs.X).add_prefix("column_"), blobs.codes)
    model.fit(dask_array.from_array(blobs.X, chunks=(10, -1)), blobs.codes)
    assert not hasattr(model, "feature_names_in_")
