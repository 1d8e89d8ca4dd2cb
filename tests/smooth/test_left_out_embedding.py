"""`left_out_embedding_`: positions of training samples by the model without them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

import nsse
from nsse import SmoothEmbedding
from nsse.augment import Noise
from nsse.unlabeled import GraphPenalty

X, Y = load_digits(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
X, Y = X[ORDER], Y[ORDER]
WIDE = np.random.default_rng(1).normal(size=(1797, 260)) * 6.0
WIDE[:, :64] += X


def scores_at(model, x):
    """Class scores by the model at one sample."""
    values = model.decision_function(x[np.newaxis])[0]
    return values if values.ndim else np.array([0.5 - values / 2, 0.5 + values / 2])


def refitted(model, samples, y, rows):
    """The definition: class scores by a fit without the row, turned to the coordinates of the model."""
    V, shares = model.scores_.weights, model.scores_.offsets
    found = []
    for row in rows:
        others = np.arange(len(y)) != row
        without = clone(model).fit(samples[others], y[others])
        found.append((scores_at(without, samples[row]) - shares) @ V)
    return np.array(found)


CASES = {
    # parameters, number of samples, samples, tolerance
    "formula, few samples": ({}, 150, X, 0.03),
    "formula, more samples": ({}, 260, X, 0.02),
    "formula, more features than samples": ({}, 240, WIDE, 0.03),
    "formula, Euclidean": ({"metric": None}, 300, X, 0.01),
    "formula, Euclidean, more features": ({"metric": None}, 240, WIDE, 0.01),
    "folds, fewer centers": ({"centers": 60}, 260, X, 0.25),
    "folds, augmented samples": ({"augment": Noise(0.1, copies=1)}, 120, X, 0.15),
    "folds, metric of another library": ({"metric": NeighborhoodComponentsAnalysis(8)}, 120, X, 0.9),
    "sums, given centers": ({"centers": X[:80]}, 800, X, 0.02),
    "nearest sample": ({"decision": "nearest"}, 260, X, 0.02),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_positions_are_those_of_a_model_that_is_fitted_without_the_sample(case):
    given, n, samples, tolerance = CASES[case]
    samples, y, rows = samples[:n], Y[:n], [0, 17, 40, 99]
    model = SmoothEmbedding(**given).fit(samples, y)
    reference = clone(model).set_params(decision="scores").fit(samples, y)
    expected = refitted(reference, samples, y, rows)
    found = model.left_out_embedding_
    assert found.shape == model.embedding_.shape == (n, 9)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[rows], expected, atol=tolerance)
    away = np.linalg.norm(found[rows] - expected, axis=1).mean()
    assert away < 0.6 * np.linalg.norm(model.embedding_[rows] - expected, axis=1).mean()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("samples", [X, WIDE], ids=["few features", "more features"])
def test_all_samples_by_one_formula_are_the_calibration_samples_by_another(samples, weighted):
    weights = np.random.default_rng(0).integers(1, 4, 255) if weighted else None
    model = SmoothEmbedding().fit(samples[:255], Y[:255], weights)
    positions = (model._leave_one_out - model.scores_.offsets) @ model.scores_.weights
    assert len(positions) == 200
    distances = np.abs(model.left_out_embedding_ - positions[:, np.newaxis]).max(axis=2)
    assert distances.min(axis=1).max() < 1e-9


def test_training_samples_are_classified_as_well_as_new_ones():
    y, new = Y[:400], slice(400, None)
    model = SmoothEmbedding().fit(X[:400], y)
    knn = KNeighborsClassifier(5)
    unseen = knn.fit(model.embedding_, y).score(model.transform(X[new]), Y[new])
    assert cross_val_score(knn, model.embedding_, y).mean() > unseen + 0.015
    assert abs(cross_val_score(knn, model.left_out_embedding_, y).mean() - unseen) < 0.015


def test_equal_samples_have_one_position_and_samples_of_weight_zero_their_own():
    samples, y = np.r_[X[:120], X[:10]], np.r_[Y[:120], Y[:10]]
    weights = np.ones(130)
    weights[50:60] = 0.0
    model = SmoothEmbedding().fit(samples, y, weights)
    found = model.left_out_embedding_
    np.testing.assert_array_equal(found[:10], found[120:])
    np.testing.assert_allclose(found[50:60], model.embedding_[50:60], atol=1e-12)
    # One of two equal samples stays, so the positions of the others move further.
    moved = np.linalg.norm(found - model.embedding_, axis=1)
    assert moved[:10].mean() < 0.5 * moved[60:120].mean()


def test_samples_without_a_label_have_no_position():
    y = np.where(np.arange(200) % 2, Y[:200], -1)
    model = SmoothEmbedding(unlabeled=GraphPenalty()).fit(X[:200], y)
    is_missing = np.isnan(model.left_out_embedding_)
    np.testing.assert_array_equal(is_missing, np.repeat((y == -1)[:, np.newaxis], 9, axis=1))


def test_coordinates_and_precision_are_those_of_the_embedding():
    whole = SmoothEmbedding().fit(X[:250], Y[:250])
    plane = SmoothEmbedding(2).fit(X[:250].astype(np.float32), Y[:250])
    assert plane.left_out_embedding_.dtype == np.float32
    np.testing.assert_allclose(plane.left_out_embedding_, whole.left_out_embedding_[:, :2], atol=1e-5)
    two = Y[:300] < 2
    assert SmoothEmbedding().fit(X[:300][two], Y[:300][two]).left_out_embedding_.shape == (two.sum(), 1)


@pytest.mark.parametrize("n", [150, 260])
def test_files_and_pickles_contain_the_positions(n, tmp_path):
    model = SmoothEmbedding().fit(X[:n], Y[:n])
    pickled = pickle.loads(pickle.dumps(model))
    nsse.save(model, tmp_path / "model.nsse")
    loaded = nsse.load(tmp_path / "model.nsse")
    for other in (pickled, loaded, pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(other.left_out_embedding_, model.left_out_embedding_)
    nsse.save(loaded, tmp_path / "again.nsse")
    again = nsse.load(tmp_path / "again.nsse")
    np.testing.assert_array_equal(again.left_out_embedding_, model.left_out_embedding_)
    with pytest.raises(AttributeError, match="is not fitted yet"):
        clone(model).left_out_embedding_  # noqa: B018


def test_many_samples_travel_only_if_their_positions_were_read(tmp_path):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(2100, 3))
    model = SmoothEmbedding(centers=20).fit(samples, samples[:, 0] > 0)
    assert "left_out_embedding_" not in dir(model)  # scikit-learn's HTML page would compute it
    for other in (pickle.loads(pickle.dumps(model)), through_file(model, tmp_path)):
        with pytest.raises(AttributeError, match="Read it once before"):
            other.left_out_embedding_  # noqa: B018
    assert model.left_out_embedding_.shape == (2100, 1)
    assert "left_out_embedding_" in dir(model)
    for other in (pickle.loads(pickle.dumps(model)), through_file(model, tmp_path)):
        np.testing.assert_array_equal(other.left_out_embedding_, model.left_out_embedding_)


def through_file(model, folder):
    nsse.save(model, folder / "model.nsse")
    return nsse.load(folder / "model.nsse")


def test_changes_after_the_fit_are_noticed(tmp_path):
    samples = X[:250].copy()
    model = SmoothEmbedding(metric=nsse.WithinMetric()).fit(samples, Y[:250])
    expected = clone(model).fit(samples, Y[:250]).left_out_embedding_
    model.set_params(metric__shrinkage=0.01)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).left_out_embedding_, expected)
    samples *= 2.0
    with pytest.raises(ValueError, match=r"`X` must stay as it was during the fit"):
        model.left_out_embedding_  # noqa: B018
    with pytest.raises(AttributeError, match="Read it once before"):
        through_file(model, tmp_path).left_out_embedding_  # noqa: B018


def test_blocks_and_dask_arrays_give_the_positions_of_one_array():
    da = pytest.importorskip("dask.array")
    whole = SmoothEmbedding(centers=np.arange(0, 300, 6)).fit(X[:700], Y[:700])
    blocks = [(X[i : i + 100], Y[i : i + 100]) for i in range(0, 700, 100)]
    by_blocks = clone(whole).fit_blocks(blocks)
    by_dask = clone(whole).fit(da.from_array(X[:700], chunks=(150, -1)), Y[:700])
    for other in (by_blocks, by_dask):
        np.testing.assert_allclose(other.left_out_embedding_, whole.left_out_embedding_, atol=1e-8)


def test_updated_models_leave_out_the_samples_that_they_keep():
    model = SmoothEmbedding(metric=None, centers=60).fit(X[:300], Y[:300])
    model.partial_fit(X[300:900], Y[300:900])
    found = model.left_out_embedding_
    assert found.shape == model.embedding_.shape == (900, 9)
    fixed = {"centers": model.centers_, "metric": None}
    unit = SmoothEmbedding(**fixed).fit(X[:900], Y[:900])._length_unit
    literal = SmoothEmbedding(**fixed, sigma=model.sigma_ / unit).fit(X[:900], Y[:900])
    np.testing.assert_allclose(
        np.linalg.norm(found[300:], axis=1),
        np.linalg.norm(literal.left_out_embedding_[300:], axis=1),
        atol=1e-6,
    )
