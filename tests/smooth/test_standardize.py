"""`standardize=True`, and the warning about columns that dominate the distances."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import SmoothEmbedding, WithinMetric
from nsse.augment import Noise
from nsse.certificates import certified_radius
from nsse.explanations import explain
from nsse.metrics import FixedMetric
from nsse.unlabeled import GraphPenalty

X, Y = datasets.load_wine(return_X_y=True)
TRAIN, NEW = np.arange(178) % 2 == 0, np.arange(178) % 2 == 1
WIDE = np.random.default_rng(0).normal(size=(178, 200)) * np.geomspace(1e-3, 1e3, 200)
WIDE[:, :13] += X
CASES = {
    "default": ({}, X),
    "Euclidean": ({"metric": None}, X),
    "more features than samples": ({}, WIDE),
    "own metric": ({"metric": WithinMetric(0.1, relevance=0.0)}, WIDE),
    "nearest": ({"decision": "nearest"}, X),
    "random centers": ({"centers": np.arange(0, 89, 3)}, X),
    "k-means": ({"centers": 20}, X),
}


def pipeline_and_model(given, samples):
    """A pipeline with a scaler, and a model that standardizes; both fitted to the same samples."""
    pipeline = make_pipeline(StandardScaler(), SmoothEmbedding(**given)).fit(samples[TRAIN], Y[TRAIN])
    return pipeline, SmoothEmbedding(standardize=True, **given).fit(samples[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("case", CASES)
def test_it_gives_what_a_pipeline_with_a_scaler_gives(case):
    given, samples = CASES[case]
    pipeline, model = pipeline_and_model(given, samples)
    new = samples[NEW]
    for method in ("decision_function", "transform"):
        expected = getattr(pipeline, method)(new)
        np.testing.assert_allclose(getattr(model, method)(new), expected, atol=1e-9)
    last, scaler = pipeline[-1], pipeline[0]
    np.testing.assert_allclose(model.embedding_, last.embedding_, atol=1e-9)
    centers = scaler.inverse_transform(last.centers_)
    np.testing.assert_allclose(model.centers_, centers, atol=1e-9 * np.abs(samples).max())
    radii = certified_radius(pipeline, new)
    np.testing.assert_allclose(model.certified_radius(new), radii, rtol=1e-6)
    gradients = explain(pipeline, new[:5]).gradient
    np.testing.assert_allclose(model.explain(new[:5]).gradient, gradients, rtol=1e-6, atol=1e-12)


def test_centers_are_given_in_the_units_of_the_samples():
    scaler = StandardScaler().fit(X[TRAIN])
    centers = X[::9]
    model = SmoothEmbedding(standardize=True, centers=centers).fit(X[TRAIN], Y[TRAIN])
    other = SmoothEmbedding(centers=scaler.transform(centers)).fit(scaler.transform(X[TRAIN]), Y[TRAIN])
    expected = other.decision_function(scaler.transform(X[NEW]))
    np.testing.assert_allclose(model.decision_function(X[NEW]), expected, atol=1e-9)
    np.testing.assert_allclose(np.sort(model.centers_[:, 0]), np.sort(centers[:, 0]), atol=1e-9)


def test_units_of_columns_change_nothing():
    units = np.geomspace(1e-150, 1e150, 13)
    model = SmoothEmbedding(standardize=True).fit(X[TRAIN], Y[TRAIN])
    other = SmoothEmbedding(standardize=True).fit(X[TRAIN] * units, Y[TRAIN])
    found = other.decision_function(X[NEW] * units)
    np.testing.assert_allclose(found, model.decision_function(X[NEW]), atol=1e-8)
    np.testing.assert_allclose(other.left_out_embedding_, model.left_out_embedding_, atol=1e-8)
    np.testing.assert_allclose(other.typicality(X[NEW] * units), model.typicality(X[NEW]), atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_constant_columns_stay_as_they_are(offset):
    rounding = 0.1 + np.resize([0.0, 2.0**-56], 178) if offset == 0.0 else np.full(178, 0.1)
    more = np.column_stack([X + offset, np.full(178, 7.0), rounding])
    scaler = StandardScaler().fit(X[TRAIN] + offset)
    model = SmoothEmbedding(standardize=True).fit(more[TRAIN], Y[TRAIN])
    other = SmoothEmbedding().fit(scaler.transform(X[TRAIN] + offset), Y[TRAIN])
    expected = other.predict(scaler.transform(X[NEW] + offset))
    np.testing.assert_array_equal(model.predict(more[NEW]), expected)
    np.testing.assert_allclose(model.map_.metric.scale[-2:], 1.0 * model.map_.metric.scale[-1])


@pytest.mark.filterwarnings("ignore:The weights have a mean of:UserWarning")
def test_weights_count_samples():
    weights = np.random.default_rng(0).integers(0, 4, TRAIN.sum())
    weighted = SmoothEmbedding(standardize=True, class_weight="balanced")
    weighted.fit(X[TRAIN], Y[TRAIN], weights)
    repeated = SmoothEmbedding(standardize=True, class_weight="balanced")
    repeated.fit(np.repeat(X[TRAIN], weights, axis=0), np.repeat(Y[TRAIN], weights))
    found = weighted.predict_proba(X[NEW])
    np.testing.assert_allclose(found, repeated.predict_proba(X[NEW]), atol=1e-8)
    scaler = StandardScaler().fit(X[TRAIN], sample_weight=weights)
    other = SmoothEmbedding(class_weight="balanced").fit(scaler.transform(X[TRAIN]), Y[TRAIN], weights)
    expected = other.predict_proba(scaler.transform(X[NEW]))
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("shift", [0.0, 40.0])
def test_sparse_samples_stay_sparse(shift):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((178, 120)) < 0.3, rng.normal(size=(178, 120)), 0.0)
    dense[:, :13] += X
    dense[:, 20] += shift
    dense *= np.geomspace(1e-3, 1e3, 120)
    model = SmoothEmbedding(standardize=True).fit(sparse.csr_array(dense[TRAIN]), Y[TRAIN])
    assert sparse.issparse(model.map_.metric.matrix)  # columns are training samples
    other = SmoothEmbedding(standardize=True, metric="euclidean").fit(dense[TRAIN], Y[TRAIN])
    found = model.decision_function(sparse.csr_matrix(dense[NEW]))
    np.testing.assert_allclose(found, other.decision_function(dense[NEW]), atol=1e-8)
    # More samples than columns: nothing is projected, and the centers are the samples.
    many = sparse.csr_array(np.r_[dense, dense + 0.1 * (dense != 0.0)])
    tall = SmoothEmbedding(standardize=True).fit(many, np.r_[Y, Y])
    assert sparse.issparse(tall.map_.centers)


def test_blocks_and_dask_arrays_are_standardized_as_one_array():
    da = pytest.importorskip("dask.array")
    given = {"standardize": True, "centers": np.arange(0, 89, 3)}
    whole = SmoothEmbedding(**given).fit(X[TRAIN], Y[TRAIN])
    blocks = [(X[TRAIN][i : i + 30], Y[TRAIN][i : i + 30]) for i in range(0, 89, 30)]
    by_blocks = SmoothEmbedding(**given).fit_blocks(blocks)
    by_dask = SmoothEmbedding(**given).fit(da.from_array(X[TRAIN], chunks=(20, -1)), Y[TRAIN])
    for other in (by_blocks, by_dask):
        found = other.decision_function(X[NEW])
        np.testing.assert_allclose(found, whole.decision_function(X[NEW]), atol=1e-9)


def test_later_samples_are_divided_by_the_first_deviations():
    first, later = np.arange(0, 178, 3), np.setdiff1d(np.arange(178), np.arange(0, 178, 3))
    scaler = StandardScaler().fit(X[first])
    model = SmoothEmbedding(standardize=True).partial_fit(X[first], Y[first])
    model.partial_fit(X[later], Y[later])
    other = SmoothEmbedding().partial_fit(scaler.transform(X[first]), Y[first])
    other.partial_fit(scaler.transform(X[later]), Y[later])
    found, expected = (m.decision_function(s) for m, s in ((model, X), (other, scaler.transform(X))))
    np.testing.assert_allclose(found, expected, atol=1e-8)
    forgotten = model.forget(X[later], Y[later])
    again = SmoothEmbedding(standardize=True).fit(X[first], Y[first])
    np.testing.assert_allclose(forgotten.decision_function(X), again.decision_function(X), atol=1e-6)


def test_augmented_samples_are_made_before_columns_are_divided():
    model = SmoothEmbedding(standardize=True, augment=Noise(0.1, copies=1)).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[NEW], Y[NEW]) > 0.9
    is_known = np.arange(89) % 2 == 0
    y = np.where(is_known, Y[TRAIN], -1)
    helped = SmoothEmbedding(standardize=True, unlabeled=GraphPenalty()).fit(X[TRAIN], y)
    assert helped.score(X[NEW], Y[NEW]) > 0.9


def test_files_and_graphs_take_samples_in_their_units(tmp_path):
    model = SmoothEmbedding(standardize=True).fit(X[TRAIN], Y[TRAIN])
    nsse.save(model, tmp_path / "model.nsse")
    loaded = nsse.load(tmp_path / "model.nsse")
    assert loaded.standardize is True
    np.testing.assert_array_equal(loaded.predict_proba(X[NEW]), model.predict_proba(X[NEW]))
    np.testing.assert_array_equal(loaded.certified_radius(X[NEW]), model.certified_radius(X[NEW]))
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = nsse.to_onnx(model).SerializeToString()
    outputs = onnxruntime.InferenceSession(graph).run(None, {"X": X[NEW].astype(np.float32)})
    assert any(np.array_equal(output, model.predict(X[NEW])) for output in outputs)


def test_it_is_a_parameter_like_others():
    search = GridSearchCV(SmoothEmbedding(), {"standardize": [False, True]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, Y)
    assert search.best_params_ == {"standardize": True}
    with pytest.raises(ValueError, match=r"`standardize` must be True or False\. Got 'auto'"):
        SmoothEmbedding(standardize="auto").fit(X, Y)
    tiny = X * np.where(np.arange(13) == 3, 1e-305, 1.0)
    with pytest.raises(ValueError, match="standard deviations above 1e-300"):
        SmoothEmbedding(standardize=True).fit(tiny, Y)


def warnings_of(samples, y, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SmoothEmbedding(**given).fit(samples, y)
    return [str(warning.message) for warning in caught]


def test_wine_has_one_column_that_dominates():
    (message,) = warnings_of(X, Y)
    assert message.startswith("Distances depend almost only on column 12, with 99.")
    assert "of the variance within classes" in message
    assert "12 of 13 columns have less than 1 % each" in message
    assert "standardize=True" in message
    with pytest.warns(UserWarning, match="column 'proline'") as caught:
        SmoothEmbedding().fit(*datasets.load_wine(return_X_y=True, as_frame=True))
    assert caught[0].filename == __file__
    assert warnings_of(X, Y, standardize=True) == []
    assert warnings_of(StandardScaler().fit_transform(X), Y) == []
    scores = cross_val_score(SmoothEmbedding(standardize=True), X, Y, cv=5)
    assert scores.mean() > 0.97


def test_breast_cancer_has_two_columns_that_dominate():
    (message,) = warnings_of(*datasets.load_breast_cancer(return_X_y=True, as_frame=True))
    assert "columns 'mean area', 'worst area'" in message


def test_sparse_samples_with_one_large_column_are_noticed():
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(0.2, size=(100, 30)).astype(float))
    lengths = sparse.csr_array(rng.normal(1000.0, 300.0, size=(100, 1)))
    samples = sparse.csr_array(sparse.hstack([counts, lengths]))
    (message,) = warnings_of(samples, np.arange(100) % 2)
    assert "column 30" in message
    assert warnings_of(counts, np.arange(100) % 2) == []


@pytest.mark.parametrize("name", ["iris", "digits"])
def test_columns_in_one_unit_are_not_warned_of(name):
    assert warnings_of(*getattr(datasets, f"load_{name}")(return_X_y=True)) == []


def test_texts_and_two_columns_alike_are_not_warned_of():
    texts = [
        f"{a} {b} of the {c}"
        for a in ["red", "green", "blue"]
        for b in ["cat", "dog", "owl"]
        for c in ["sea", "sky"]
    ]
    samples = TfidfVectorizer().fit_transform(texts)
    assert warnings_of(samples, np.arange(len(texts)) // 6) == []
    rng = np.random.default_rng(0)
    assert warnings_of(rng.normal(size=(60, 2)) * [1.0, 5.0], np.arange(60) % 2) == []
    (message,) = warnings_of(rng.normal(size=(60, 2)) * [1.0, 20.0], np.arange(60) % 2)
    assert "column 1" in message
    apart = rng.normal(size=(60, 2)) + np.c_[1e3 * (np.arange(60) % 2), np.zeros(60)]
    assert warnings_of(apart, np.arange(60) % 2) == []


def test_metrics_of_the_user_may_have_units_of_their_own():
    assert warnings_of(X, Y, metric=FixedMetric(np.diag(1.0 / X.std(axis=0)))) == []
    assert len(warnings_of(X, Y, metric=WithinMetric(1.0))) == 1
