"""Log-loss and reliability, by hand and from the answers of models."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as scikit_learns
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import NSSE, NSSECV
from nsse.certificates import answers
from nsse.certificates.reliability import log_loss, reliability_curve


def test_the_curve_by_hand():
    p = np.array([0.3, 0.45, 0.5, 0.95, 1.0])
    right = np.array([False, True, True, True, False])
    curve = reliability_curve(p, right, (0.0, 0.5, 0.9, 1.0))
    assert [part[:3] for part in curve] == [(0.0, 0.5, 2), (0.5, 0.9, 1), (0.9, 1.0, 2)]
    np.testing.assert_allclose([part[3:] for part in curve], [(0.375, 0.5), (0.5, 1.0), (0.975, 0.5)])
    assert len(reliability_curve(p[:2], right[:2], (0.0, 0.5, 1.0))) == 1


def test_the_loss_is_scikit_learns():
    rng = np.random.default_rng(0)
    P, codes = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    assert log_loss(P, codes) == pytest.approx(scikit_learns(codes, P, labels=range(4)))
    assert log_loss(np.array([[0.0, 1.0]]), np.array([0])) == np.inf


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
