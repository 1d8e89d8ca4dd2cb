"""scikit-learn's contract: every check passes for every public estimator, none is expected to fail."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import nsse

ESTIMATORS = [
    nsse.NSSE(),
    nsse.NSSE(solver="alternating"),
    nsse.NSSE(n_components=1, sigma=1.0, n_neighbors=None),
    nsse.NSSE(classifier=LogisticRegression()),
]


@pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    public = {name for name in nsse.__all__ if isinstance(getattr(nsse, name), type)}
    estimators = {name for name in public if hasattr(getattr(nsse, name), "fit")}
    assert estimators == {type(e).__name__ for e in ESTIMATORS}
