"""What NSSECV makes of the quick search: what it keeps, what it says beforehand, when it is stopped."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nsse import NSSE, NSSECV
from searches import X, Y


def fitted(**params):
    return NSSECV(n_repeats=2, **params).fit(X, Y)


# ------------------------------------------------------------------------------------- what is kept


def test_an_estimator_that_was_stored_chooses_as_a_new_one():
    """Values count, not objects: workers of joblib get copies."""
    stored = pickle.loads(pickle.dumps(NSSE()))
    found, expected = (fitted(estimator=estimator).cv_results_ for estimator in (stored, NSSE()))
    assert found["params"] == expected["params"]
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])


@pytest.mark.parametrize(
    ("kept", "values"),
    [
        (("metric",), {"metric": ["euclidean"], "shrinkage": [1.0]}),
        (("mu2", "classifier"), {"mu2": [0.01], "classifier": [None]}),
        ((), {"metric": ["euclidean", "within"], "shrinkage": [0.1, 1.0, 10.0]}),
    ],
)
def test_what_is_to_be_kept_is_not_searched(kept, values):
    points = fitted(keep=kept).cv_results_["params"]
    for name, expected in values.items():
        assert sorted({point[name] for point in points}, key=str) == sorted(expected, key=str)


def test_a_weight_that_is_given_is_scored_at_its_own_smoothness():
    """ν = μ2/(μ1 n̄): the points of a whole search at that ν have the same scores."""
    mean_class_size = len(Y) / len(np.unique(Y))
    whole = fitted().cv_results_
    given = fitted(estimator=NSSE(mu2=0.1 * mean_class_size)).cv_results_
    same = [np.isclose(point["mu2"], 0.1 * mean_class_size) for point in whole["params"]]
    assert sum(same) == len(given["params"])
    first = "split0_test_score"
    np.testing.assert_array_equal(given[first], whole[first][same])


@pytest.mark.parametrize("keep", ["metric", ("metrics",), ("n_components",)])
def test_only_what_is_chosen_can_be_kept(keep):
    with pytest.raises(ValueError, match=r"`keep` must list parameters that the quick search chooses"):
        fitted(keep=keep)


def test_without_separation_nothing_is_searched():
    with pytest.raises(ValueError, match=r'`mu1` must be positive for the quick.*search="full"'):
        fitted(estimator=NSSE(mu1=0.0))
