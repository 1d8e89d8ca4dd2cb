"""scikit-learn's contract: every check passes for every compared method, none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import methods

# As they are by default, and once more with whatever takes another way: several options in one.
ESTIMATORS = [
    methods.SUPLAP(),
    methods.SUPLAP(mu=0.1, n_neighbors=3, n_neighbors_between=None),
    methods.LFDA(),
    methods.LFDA(n_components=1, affinity="ones", metric="plain", pca=None, reg=0.1),
    methods.LDE(),
    methods.LDE(n_neighbors=None, n_neighbors_between=None),
    methods.NYS(),
    methods.NYS(sigma=1.0, n_neighbors=15),
    methods.SPE(),
    methods.IsoKRR(),
    methods.IsoKRR(n_neighbors=3),
    methods.MReg(),
    methods.MReg(n_neighbors=None, normalized=False),
    methods.SemiRBF(),
    methods.SemiRBF(n_neighbors=3, n_rounds=2),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsse._support.warnings.DegenerateEmbeddingWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_method_is_checked():
    kinds = {kind for kind in vars(methods).values() if isinstance(kind, type)}
    assert kinds == {type(estimator) for estimator in ESTIMATORS}
