"""What the tests of NSSECV share: few digits, their splits, and scikit-learn's search beside ours."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from nsse import NSSE, NSSECV
from nsse.kernels import squared_distances
from nsse.selection.splits import BalancedSplits


def few_digits(per_class=8, seed=0):
    """Some digits of every class, in random order."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.RandomState(seed)
    chosen = [rng.permutation(np.flatnonzero(y == label))[:per_class] for label in range(10)]
    places = rng.permutation(np.concatenate(chosen))
    return X[places], y[places]


X, Y = few_digits()
NEW = few_digits(seed=1)[0]
X.flags.writeable = Y.flags.writeable = False
SPLITS = list(BalancedSplits(3, 0.25, random_state=0).split(X, Y))
SMALL = {"mu2": [0.01, 0.1], "n_components": [5, 9]}
NEARLY_EQUAL = {"mu3": [0.5, 1.0, 2.0], "n_components": [5, 7, 9]}
AT_A_SCALE = {"mu2": [0.001, 0.1], "n_components": [3, 9], "sigma": [0.5]}


def split_scores(search):
    names = [name for name in search.cv_results_ if re.fullmatch(r"split\d+_test_score", name)]
    return np.array([search.cv_results_[name] for name in names])


def both(grid, estimator=None, data=(X, Y), splits=SPLITS, **options):
    estimator = NSSE.as_published() if estimator is None else estimator
    ours = NSSECV(grid, estimator=estimator, cv=splits, **options).fit(*data)
    theirs = GridSearchCV(estimator, grid, cv=splits, refit=False, **options).fit(*data)
    return ours, theirs


def assert_same_choice(ours, theirs):
    """All scores are the same; the choice too, unless several points have the same best score."""
    assert ours.cv_results_["params"] == list(theirs.cv_results_["params"])
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), rtol=0, atol=1e-12)
    means = ours.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means, theirs.cv_results_["mean_test_score"], rtol=0, atol=1e-12)
    for name in ("std_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)
    best = np.flatnonzero(means >= means.max() - 1e-12)
    assert ours.best_index_ in best
    assert ours.cv_results_["mean_sigma"][ours.best_index_] == ours.cv_results_["mean_sigma"][best].max()
    if len(best) == 1:
        assert ours.best_params_ == theirs.best_params_


def within_class_kernel(X, y):
    """An affinity of the user's: complete within every class."""
    return (y[:, np.newaxis] == y) * np.exp(-squared_distances(X) / 1000.0)
