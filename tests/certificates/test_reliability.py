"""Answers carry the probabilities of models."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import NSSE, NSSECV
from nsse.certificates import answers


def test_answers_know_the_probabilities_of_models():
    X, y = load_digits(return_X_y=True)
    for model in (
        NSSE(),
        NSSE(n_landmarks=30),
        NSSE(classifier=LogisticRegression()),
        NSSE(classifier=NearestCentroid()),
        NSSECV(n_repeats=2, n_voters=3),
        make_pipeline(StandardScaler(), NSSE()),
    ):
        model.fit(X[:100], y[:100])
        if not hasattr(model, "predict_proba"):  # the centroids of older versions have none
            continue
        said = answers(model, X[100:300])
        np.testing.assert_array_equal(said.probabilities, model.predict_proba(X[100:300]))
    for model in (NSSE.as_published(), NSSE(classifier="nearest")):
        assert answers(model.fit(X[:100], y[:100]), X[100:300]).probabilities is None
