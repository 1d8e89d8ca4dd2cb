"""Sets of labels: the true one is there as often as said, in every class too, and after any move."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from nsse import NSSE, NSSECV
from nsse.certificates import ConformalClassifier
from nsse.certificates.conformal import sets_by_the_others, strangeness, threshold

DRAWS, CALIBRATED = 100, 150


@pytest.fixture(scope="module")
def told():
    """A model of few digits, so that it errs, and the others."""
    X, y = load_digits(return_X_y=True)
    return NSSE().fit(X[:60], y[:60]), X[60:], y[60:]


def test_strangeness_by_hand():
    scores = np.array([[0.5, 0.2, 0.3], [0.4, 0.4, 0.2]])
    np.testing.assert_allclose(strangeness(scores), [[-0.2, 0.3, 0.2], [0.0, 0.0, 0.2]])


def test_the_threshold_by_hand():
    values = np.arange(1.0, 20.0)  # 19 of them: 20 · 0.9 = 18
    assert threshold(values, 0.1) == 18.0
    assert threshold(values, 0.05) == 19.0
    assert threshold(values, 0.04) == np.inf
    assert threshold(np.array([]), 0.5) == np.inf


@pytest.mark.parametrize("n_fair", [0, 1, 9, 10, 19, 40])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
def test_sets_by_the_others_are_those_of_calibrating_again(n_fair, alpha):
    rng = np.random.default_rng(n_fair)
    strange = np.round(rng.normal(size=(45, 3)), 1)  # many are equal
    codes, fair = rng.integers(0, 3, 45), np.arange(45) < n_fair
    sets, q = sets_by_the_others(strange, codes, fair, alpha)
    for i in range(45):
        others = np.flatnonzero(fair & (np.arange(45) != i))
        own = threshold(strange[others, codes[others]], alpha)
        np.testing.assert_array_equal(sets[i], strange[i] <= own)
    assert q == threshold(strange[fair, codes[fair]], alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("per_class", [False, True])
def test_coverage_over_draws(told, alpha, per_class):
    model, X, y = told
    rng = np.random.default_rng(0)
    # One evaluation for all draws: the sets are made of the decision function alone.
    known = Known(model.decision_function(X), model.classes_)
    n = 600 if per_class else CALIBRATED
    covered = []
    for _ in range(DRAWS):
        order = rng.permutation(len(y))
        some, rest = order[:n], order[n:]
        sets = ConformalClassifier(known, alpha=alpha, per_class=per_class).fit(some, y[some])
        holds = sets.predict_set(rest)[np.arange(len(rest)), y[rest]]
        covered.append([holds[y[rest] == c].mean() for c in range(10)] if per_class else [holds.mean()])
    mean, error = np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(DRAWS)
    smallest = np.bincount(y).min() * n / len(y) * 0.7 if per_class else n
    # Two standard errors; of ten classes one or another may be beyond.
    times = 2.5 if per_class else 2.0
    assert (mean > 1 - alpha - times * error).all()
    assert (mean < 1 - alpha + 1 / smallest + times * error).all()


class Known(BaseEstimator):
    """Stands for a model whose decision function is known at all samples, by their index."""

    def __init__(self, scores, classes):
        self.scores, self.classes, self.classes_ = scores, classes, classes

    def fit(self):
        """Fitted from the start."""

    def decision_function(self, index):
        return self.scores[index]


@pytest.mark.parametrize("classifier", ["scores", LogisticRegression()])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_sets_hold_under_any_move_below_the_radius(classifier, n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X = X / 16.0
    model = NSSE(classifier=classifier).fit(X[:80], y[:80])
    sets = ConformalClassifier(model, alpha=0.2).fit(X[80:280], y[80:280])
    samples, rng = X[280:330], np.random.default_rng(0)
    clean = sets.predict_set(samples)
    for radius in (0.05, 0.5):
        for trial in range(30):
            steps = rng.normal(size=samples.shape)
            if trial % 2:  # towards another sample, the shortest way to another label
                steps = X[rng.integers(0, 80, len(samples))] - samples
            steps *= 0.999 * radius / np.linalg.norm(steps, axis=1, keepdims=True)
            robust = sets.predict_set(samples + steps, radius=radius)
            assert (robust >= clean).all()
    assert (sets.predict_set(samples, radius=1e-12) >= clean).all()
    assert sets.predict_set(samples, radius=1e-6).sum() < sets.predict_set(samples, radius=0.5).sum()


def test_of_votes_and_neighbours_too():
    X, y = load_digits(return_X_y=True)
    for model in (
        NSSECV(n_repeats=2, n_voters=3).fit(X[:80], y[:80]),
        NSSE.as_published().fit(X[:80], y[:80]),
        NSSE(classifier=KNeighborsClassifier(3)).fit(X[:80], y[:80]),
    ):
        sets = ConformalClassifier(model, alpha=0.1).fit(X[80:900], y[80:900])
        held = sets.predict_set(X[900:])[np.arange(len(y) - 900), y[900:]]
        assert held.mean() > 0.86
        np.testing.assert_array_equal(sets.predict(X[900:905]), model.predict(X[900:905]))


def test_it_survives_a_pickle(told):
    model, X, y = told
    sets = ConformalClassifier(model, per_class=True).fit(X[:500], y[:500])
    again = pickle.loads(pickle.dumps(sets))
    np.testing.assert_array_equal(again.predict_set(X[500:600]), sets.predict_set(X[500:600]))
