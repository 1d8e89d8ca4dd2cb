"""Inputs that cannot be used, or were probably not meant: errors and warnings that name the cure."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import nsse
from nsse import SequentialSearchCV, SmoothEmbedding, WithinMetric
from nsse.centers import KMeansCenters
from nsse.kernels import Matern32
from nsse.unlabeled import GraphPenalty

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=["length", "width", "petal length", "petal width"])
DAY = pd.Timestamp("2024-05-01")
GAPS = X.copy()
GAPS[3:5, 1], GAPS[9, 2] = np.nan, np.inf


def with_gap(frame):
    changed = frame.copy()
    changed.loc[3:9, "width"] = np.nan
    return changed


ARRAY = r"`X` must contain finite numbers\. Got NaN in column 1 \(2 rows\), inf in column 2 \(1 row\)\. "
UNUSABLE = {
    "array": (GAPS, ARRAY + "Fill the gaps first"),
    "sparse": (sparse.csr_matrix(GAPS), ARRAY),
    "single precision": (GAPS.astype(np.float32), ARRAY),
    "frame": (with_gap(FRAME), r"Got NaN in column 'width' \(7 rows\)\. .*TableEncoder"),
    "text": (FRAME.assign(city="Rome"), r"Got text in column 'city' \(150 rows\)\. Encode such columns"),
    "nullable": (FRAME.assign(age=pd.array([None, *range(149)])), r"Got NaN in column 'age' \(1 row\)"),
    "inf": (FRAME.replace(0.2, np.inf), r"Got inf in column 'petal width' \(29 rows\)\. Replace these"),
    "dates, not text": (FRAME.assign(day=DAY), r"Got dates in column 'day' \(150 rows\)\. Encode such"),
    "time zones, not text": (
        FRAME.assign(day=DAY.tz_localize("UTC")),
        r"values of type Timestamp in colu",
    ),
    "lists, not text": (FRAME.assign(pair=[[1, 2]] * 150), r"values of type list in column 'pair'"),
    "path, not text": ("table.csv", r"Got 'table\.csv'\. nsse\.datasets\.load_inputs reads files"),
    "objects": ([*X.tolist()[:-1], ["a", 1, 2, 3]], r"Got text in column 0 \(1 row\)"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_missing_values_and_text_are_named_by_their_columns(kind):
    samples, message = UNUSABLE[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        SmoothEmbedding().fit(samples, Y)
    if "text" not in message:
        with pytest.raises((ValueError, TypeError), match=message):
            WithinMetric().fit(samples, Y)


@pytest.mark.parametrize("method", ["predict", "transform", "predict_proba", "certified_radius"])
def test_new_samples_too(method):
    model = SmoothEmbedding().fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"Got NaN in column 'width' \(7 rows\)"):
        getattr(model, method)(with_gap(FRAME))
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        getattr(model, method)(FRAME.assign(city="Rome"))
    with pytest.raises(ValueError, match=r"Got NaN in column 'width' \(7 rows\)"):
        SmoothEmbedding().fit(FRAME, Y).partial_fit(with_gap(FRAME), Y)


def test_labels_must_be_passed():
    message = r"requires y to be passed, but the target y is None\. Pass one label .*GraphPenalty"
    with pytest.raises(ValueError, match=message):
        SmoothEmbedding().fit(X, None)


def told(y, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SmoothEmbedding(**given).fit(X, y)
    return [(str(warning.message), warning.filename) for warning in caught]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_minus_one_among_other_numbers_is_told(kind):
    y = np.where(np.arange(150) % 2, Y, -1).astype(kind)
    ((message, place),) = told(y)
    assert message.startswith("The label -1 of 75 samples is a class like the others.")
    assert "unlabeled=nsse.unlabeled.GraphPenalty()" in message
    assert place == __file__
    assert told(y, unlabeled=GraphPenalty()) == []


@pytest.mark.parametrize(
    "y",
    [
        np.where(Y == 0, -1, 1),
        Y - 2,
        Y - 1.5,
        np.where(Y == 0, -1, 0),
        Y.astype(str),
        np.where(Y, Y, "-1"),
    ],
    ids=["-1 and 1", "-2 to 0", "halves", "-1 and 0", "text", "text, -1"],
)
def test_other_labels_are_not(y):
    labels = y if np.unique(y).dtype.kind != "f" else y.astype(str)
    assert told(labels) == []


@pytest.mark.parametrize("centers", [1000, KMeansCenters(1000)])
def test_more_centers_than_samples_are_told(centers):
    ((message, place),) = told(Y, centers=centers)
    assert message.startswith("There are only 149 different training samples for 1000 centers.")
    assert place == __file__
    assert told(Y, centers=149) == told(Y, centers=30) == []


def test_parameters_that_cannot_be_used():
    with pytest.raises(ValueError, match=r"For cosine distances, put Normalizer\(\) before the model"):
        SmoothEmbedding(metric="cosine").fit(X, Y)
    with pytest.raises(ValueError, match=r"n_classes - 1 = 1\. Got 2\. .*The method plot draws any"):
        SmoothEmbedding(2).fit(X[:100], Y[:100])
    with pytest.raises(AttributeError, match=r'`decision` must be "scores" .* Got \'nearest\''):
        SmoothEmbedding(decision="nearest").partial_fit(X, Y)
    assert not hasattr(SmoothEmbedding(decision="nearest"), "partial_fit")
    assert hasattr(SmoothEmbedding(), "partial_fit")
    with pytest.raises(
        ValueError, match=r"must be a model of nsse, .*Got 'SVC'\. Keep other estimators"
    ):
        nsse.save(SVC().fit(X, Y), "model.nsse")


def test_grids_of_kernels_and_metrics():
    grid = {"metric__shrinkage": [0.01, 3.0], "kernel": ["gaussian", Matern32()]}
    search = GridSearchCV(
        SmoothEmbedding(), grid, cv=3, scoring="neg_log_loss", error_score="raise"
    ).fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    assert search.best_estimator_.metric_.shrinkage == search.best_params_["metric__shrinkage"]


def test_a_named_metric_has_the_parameters_of_its_object():
    model = SmoothEmbedding()
    assert model.get_params()["metric__shrinkage"] == 3.0
    assert "metric__shrinkage" not in model.get_params(deep=False)
    assert model.set_params(**model.get_params()).metric == "within"
    assert model.set_params(metric__shrinkage=0.5).metric.shrinkage == 0.5
    assert model.set_params(metric="within", metric__relevance=0.0).metric.shrinkage == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'strength'"):
        SmoothEmbedding().set_params(metric__strength=1.0)
    for metric in (None, "euclidean"):
        with pytest.raises(ValueError, match="Invalid parameter 'shrinkage' for estimator Euclidean"):
            SmoothEmbedding(metric=metric).set_params(metric__shrinkage=1.0)
    grid = {"metric__shrinkage": [0.01, 3.0], "sigma": [0.65, 1.0]}
    search = SequentialSearchCV(SmoothEmbedding(), grid, cv=3).fit(X, Y)
    assert set(search.best_params_) == set(grid)


def test_minus_one_is_told_once_by_every_estimator():
    y = np.where(np.arange(150) % 2, Y, -1)
    for model in (nsse.NSSE(sigma=1.0), nsse.SmoothEmbeddingCV()):
        with pytest.warns(UserWarning, match="The label -1 of 75 samples is a class") as caught:
            model.fit(X, y)
        assert [one.filename for one in caught if "label -1" in str(one.message)] == [__file__]


def test_minus_one_among_text_is_told():
    """NumPy turns -1 into text if it is joined with labels that are text."""
    names = np.array(["a", "b"])[np.arange(150) % 2]
    y = np.r_[names[:100], [-1] * 50]
    message = "The label '-1' of 50 samples is a class .* mark them with None"
    for unlabeled in (None, GraphPenalty()):
        with pytest.warns(UserWarning, match=message):
            SmoothEmbedding(unlabeled=unlabeled).fit(X, y)


def test_a_search_names_columns_that_are_no_numbers():
    pandas = pytest.importorskip("pandas", reason="pandas")
    frame = pandas.DataFrame({"size": np.arange(150.0), "kind": ["a", "b", "c"] * 50})
    with pytest.raises(ValueError, match="Got text in column 'kind'"):
        nsse.SmoothEmbeddingCV().fit(frame, Y)


def test_a_search_tells_that_groups_are_too_few():
    with pytest.warns(UserWarning, match="because no split of the groups has samples of two classes"):
        nsse.SmoothEmbeddingCV().fit(X, Y, groups=Y)


EXPLAINERS = {
    "explain": nsse.explanations.explain,
    "feature_relevance": lambda model, _: nsse.explanations.feature_relevance(model),
    "plot": nsse.plot.explanation,
}


@pytest.mark.parametrize("name", EXPLAINERS)
def test_other_models_cannot_be_explained(name):
    with pytest.raises(TypeError, match=r"`model` must have a kernel or linear map\. Got 'SVC'"):
        EXPLAINERS[name](SVC().fit(X, Y), X[:3])


@pytest.mark.parametrize("method", ["explain", "typicality", "plot", "certified_radius", "transform"])
def test_models_must_be_fitted(method):
    with pytest.raises(NotFittedError, match="This SmoothEmbedding instance is not fitted yet"):
        getattr(SmoothEmbedding(), method)(X)


def test_typicality_needs_a_model_with_left_out_samples():
    with pytest.raises(ValueError, match=r"Got 'SVC'\. A fitted SmoothEmbedding has them"):
        nsse.certificates.typicality(SVC().fit(X, Y), X)
