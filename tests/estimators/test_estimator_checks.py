"""scikit-learn's contract: every check passes for every public estimator, none is expected to fail."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import nsse

# As they are by default, and once more with whatever takes another way: several options in one.
ESTIMATORS = [
    nsse.NSSE(),
    nsse.NSSE(solver="alternating", classifier=LogisticRegression()),
    nsse.NSSE(sigma=1.0, n_neighbors=None, n_landmarks="auto"),
    nsse.NSSE(n_landmarks=5),
    nsse.NSSE.as_published(),
    nsse.NSSECV({"n_components": [1, None], "sigma": [0.5]}, n_repeats=1),
    nsse.NSSECV(n_repeats=2, n_voters=2),
    nsse.LFDA(),
    nsse.LFDA(n_components=1, affinity="ones", metric="plain", pca=None, reg=0.1),
    nsse.LDE(),
    nsse.LDE(n_neighbors=None, n_neighbors_between=None, classifier=LogisticRegression()),
    nsse.IsoKRR(),
    nsse.IsoKRR(n_neighbors=3, overlap=0.0, classifier=LogisticRegression()),
    nsse.MReg(),
    nsse.MReg(unlabeled=-99, normalized=False, classifier=LogisticRegression()),
    nsse.SUPLAP(),
    nsse.SUPLAP(mu=0.1, n_neighbors=3, n_neighbors_between=None, classifier=LogisticRegression(C=1e3)),
    nsse.NYS(),
    nsse.NYS(sigma=1.0, n_neighbors=15, classifier=LogisticRegression(C=1e3)),
    nsse.SPE(),
    nsse.WithinMetric(),
    nsse.WithinMetric(0.1, n_neighbors=None),
]


@pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
@pytest.mark.filterwarnings("ignore::nsse.ConditioningWarning")  # class weights from 1e-4 to 1e3
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    public = {name for name in nsse.__all__ if isinstance(getattr(nsse, name), type)}
    estimators = {name for name in public if hasattr(getattr(nsse, name), "fit")}
    assert estimators == {type(e).__name__ for e in ESTIMATORS}
