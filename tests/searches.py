"""What the tests of searches share: few digits, and splits of them."""

from __future__ import annotations

import re

import numpy as np
from sklearn.datasets import load_digits

from nsse.selection import BalancedSplits


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


def split_scores(search):
    names = [name for name in search.cv_results_ if re.fullmatch(r"split\d+_test_score", name)]
    return np.array([search.cv_results_[name] for name in names])
