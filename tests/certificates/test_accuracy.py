"""Tests of certified accuracy: its definition, and its use in searches of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.certificates import CertifiedAccuracy, certified_accuracy, certified_radius


@pytest.fixture(scope="module")
def data(make_blobs):
    return make_blobs((15, 15, 15), n_features=6, spread=1.5)


@pytest.mark.parametrize("radius", [0.0, 0.2, 0.5, 1e6])
def test_it_counts_right_samples_with_large_radii(radius, data):
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.X[::2], data.codes[::2])
    X, y = data.X[1::2], data.codes[1::2]
    labels, radii = model.predict(X), certified_radius(model, X)
    pairs = zip(labels, y, radii, strict=True)
    expected = sum(label == own and r >= radius for label, own, r in pairs) / len(y)
    assert certified_accuracy(radius)(model, X, y) == pytest.approx(expected)
    if radius == 0.0:
        assert expected == model.score(X, y)


def test_searches_take_it(data):
    scorer, grid = certified_accuracy(0.3), {"sigma": [0.1, 1.0]}
    search = GridSearchCV(SmoothEmbedding(), grid, scoring=scorer, cv=3).fit(data.X, data.codes)
    assert search.best_params_ == {"sigma": 1.0}
    scores = cross_val_score(SmoothEmbedding(sigma=1.0), data.X, data.codes, scoring=scorer, cv=3)
    assert np.mean(scores) == pytest.approx(search.best_score_)
    assert search.score(data.X, data.codes) == scorer(search.best_estimator_, data.X, data.codes)


def test_the_search_takes_it(data):
    scorer = certified_accuracy(0.3)
    grid = {"sigma": [0.1, 1.0], "smoothness": [0.1], "metric__relevance": [1.0]}
    grid["metric__shrinkage"] = [3.0]
    search = SmoothEmbeddingCV(grid=grid, scoring=scorer, cv=3).fit(data.X, data.codes)
    assert search.best_params_["sigma"] == 1.0
    assert scorer(search, data.X, data.codes) > 0.5


def test_it_can_be_sent_to_other_processes():
    scorer = certified_accuracy(0.5)
    assert scorer == CertifiedAccuracy(0.5) == pickle.loads(pickle.dumps(scorer))
    assert repr(scorer) == "CertifiedAccuracy(radius=0.5)"


def test_wrong_values_are_refused(data):
    for radius in (-0.1, np.nan, np.inf, "large"):
        with pytest.raises((TypeError, ValueError), match="`radius` must be a finite number"):
            certified_accuracy(radius)
    model = SmoothEmbedding().fit(data.X, data.codes)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        certified_accuracy(0.1)(model, data.X, data.codes[:-1])
