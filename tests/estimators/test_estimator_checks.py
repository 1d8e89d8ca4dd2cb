"""scikit-learn's contract: every check passes for every public estimator, none is expected to fail."""

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    check_classifiers_train,
    parametrize_with_checks,
)

import nsse

# As they are by default; of NSSE the other routes too. Options of the others: test_method_contract.
ESTIMATORS = [
    nsse.NSSE(),
    nsse.NSSE(solver="alternating", classifier=LogisticRegression()),
    nsse.NSSE(n_landmarks=5),
    nsse.NSSE.as_published(),
    nsse.NSSE(unlabeled=None, mu4=1.0),
    nsse.NSSECV(n_repeats=2, n_voters=2),
    nsse.LFDA(),
    nsse.LDE(),
    nsse.IsoKRR(),
    nsse.MReg(),
    nsse.SUPLAP(),
    nsse.NYS(),
    nsse.SPE(),
    nsse.SemiRBF(),
    # As scikit-learn checks its own searches: what cannot be fitted is an error, not a score.
    nsse.SequentialSearchCV(nsse.NSSE(), {"mu2": [0.01], "sigma": [0.5]}, cv=2, error_score="raise"),
    nsse.SequentialSearchCV(nsse.LFDA(), {"n_components": [1, None]}, cv=2, error_score="raise"),
    nsse.WithinMetric(),
]


@pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
@pytest.mark.filterwarnings("ignore::nsse.ConditioningWarning")  # class weights from 1e-4 to 1e3
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# scikit-learn's searches look at labels before an estimator does: infinite ones are cast, then refused.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


class Promising(nsse.NSSE):
    """Without the tag that excuses the nearest neighbour from following the weights of classes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = False
        return tags


def test_the_nearest_neighbour_is_excused_from_weights_of_classes_alone():
    """`poor_score` excuses it from more than that; all else it is asked for is met."""
    nearest = Promising(classifier="nearest")
    assert nsse.NSSE(classifier="nearest").__sklearn_tags__().classifier_tags.poor_score
    assert not nsse.NSSE().__sklearn_tags__().classifier_tags.poor_score
    check_classifiers_train("NSSE", clone(nearest))
    check_classifiers_train("NSSE", clone(nearest), readonly_memmap=True)
    with pytest.raises(AssertionError):  # whom it names does not depend on how often a sample counts
        check_class_weight_classifiers("NSSE", clone(nearest))


def test_every_public_estimator_is_checked():
    public = {name for name in nsse.__all__ if isinstance(getattr(nsse, name), type)}
    estimators = {name for name in public if hasattr(getattr(nsse, name), "fit")}
    assert estimators == {type(e).__name__ for e in ESTIMATORS}
