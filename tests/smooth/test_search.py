"""SmoothEmbeddingCV: what it compares is what refitting gives, and it decides by a vote."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.augment import Images
from nsse.votes import MajorityVote, MeanVote

SMALL = {"relevance": [1.0], "shrinkage": [3.0, np.inf], "sigma": [0.65, 1.6], "smoothness": [0.1, 1.0]}


@pytest.fixture(scope="module")
def split():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:100]], y[order[:100]], X[order[100:]], y[order[100:]]


@pytest.mark.slow
@parametrize_with_checks(
    [SmoothEmbeddingCV(grid=SMALL), SmoothEmbeddingCV(grid=SMALL, cv=2, n_voters=1)]
)
@pytest.mark.filterwarnings("ignore:The metric is the Euclidean one:UserWarning")
@pytest.mark.filterwarnings("ignore:The weights have a mean of:UserWarning")
@pytest.mark.filterwarnings("ignore:The features spread by:UserWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_scores_are_those_of_refitting(split):
    """The mean squared error of every point is that of a model fitted to the training part."""
    X, y, _, _ = split
    cv = StratifiedKFold(3)
    search = SmoothEmbeddingCV(grid=SMALL, cv=cv).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    for point, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        metric = WithinMetric(point["shrinkage"], relevance=point["relevance"])
        errors = []
        for train, held in cv.split(X, y):
            model = SmoothEmbedding(metric=metric, sigma=point["sigma"], smoothness=point["smoothness"])
            S = model.fit(X[train], y[train]).decision_function(X[held])
            errors.append(np.mean(np.sum((S - np.eye(10)[y[held]]) ** 2, axis=1)))
        assert score == pytest.approx(-np.mean(errors), abs=1e-9)


def test_the_best_few_and_the_untuned_model_decide_together(split):
    X, y, X_new, y_new = split
    search = SmoothEmbeddingCV(n_voters=3).fit(X, y)
    assert isinstance(search.vote_, MeanVote)
    assert len(search.voters_) == 4
    values = np.mean([voter.decision_function(X_new) for voter in search.voters_], axis=0)
    np.testing.assert_allclose(search.decision_function(X_new), values, atol=1e-10)
    np.testing.assert_array_equal(search.predict(X_new), values.argmax(axis=1))
    P = search.predict_proba(X_new)
    np.testing.assert_array_equal(P.argmax(axis=1), search.predict(X_new))
    assert search.score(X_new, y_new) > SmoothEmbedding().fit(X, y).score(X_new, y_new) - 0.02
    assert np.all(search.certified_radius(X_new[:20]) >= 0)


def test_one_voter_is_the_best_model(split):
    X, y, X_new, _ = split
    search = SmoothEmbeddingCV(grid=SMALL, n_voters=1).fit(X, y)
    np.testing.assert_array_equal(search.predict(X_new), search.best_estimator_.predict(X_new))
    np.testing.assert_allclose(search.transform(X_new), search.best_estimator_.transform(X_new))


def test_curved_classes_are_read_by_the_nearest_sample():
    rng = np.random.default_rng(0)
    X, y = make_circles(60, noise=0.08, factor=0.6, random_state=0)
    X = np.c_[X, rng.normal(scale=0.3, size=(60, 6))]
    grid = {"sigma": [4.0, 8.0], "smoothness": [3.0, 10.0]}
    search = SmoothEmbeddingCV(grid=grid).fit(X, y)
    decided = isinstance(search.vote_, MajorityVote)
    assert decided == (search.best_params_["decision"] == "nearest")
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_augmentation_is_chosen_where_it_helps(split):
    X, y, _, _ = split

    def rotten(X):
        return [X[:, ::-1] * 3.0]

    search = SmoothEmbeddingCV(grid=SMALL, augment=[None, Images((8, 8), rotate=None), rotten]).fit(X, y)
    assert isinstance(search.best_params_["augment"], Images)
    assert (
        SmoothEmbeddingCV(grid=SMALL, augment=[None, rotten]).fit(X, y).best_params_["augment"] is None
    )


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr", "balanced_accuracy"])
def test_scorers_of_scikit_learn(split, scoring):
    X, y, _, _ = split
    search = SmoothEmbeddingCV(grid=SMALL, scoring=scoring, cv=2).fit(X, y)
    assert np.isfinite(search.best_score_)
    assert np.all(np.diff(search.cv_results_["mean_test_score"]) <= 1e-12)


def test_groups_stay_together(split):
    X, y, _, _ = split
    groups = np.arange(100) % 5
    search = SmoothEmbeddingCV(grid=SMALL, cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert np.isfinite(search.best_score_)
    with pytest.raises(ValueError, match="groups"):
        SmoothEmbeddingCV(grid=SMALL, cv=GroupKFold(5)).fit(X, y)


def test_three_samples():
    search = SmoothEmbeddingCV().fit([[0.0, 1.0], [0.1, 1.0], [3.0, 2.0]], [0, 0, 1])
    assert list(search.predict([[0.0, 1.0], [3.0, 2.0]])) == [0, 1]


def test_many_samples_are_compared_on_some(split):
    X, y, X_new, y_new = split
    search = SmoothEmbeddingCV(grid=SMALL, max_samples=60).fit(X_new[:500], y_new[:500])
    assert len(search.voters_) == 1
    assert search.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("grid", {"mu2": [1.0]}), ("grid", {"sigma": []}), ("n_voters", 0), ("max_samples", 1)],
)
def test_bad_parameters_are_named(split, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        SmoothEmbeddingCV(**{parameter: value}).fit(*split[:2])


def test_interrupted_it_keeps_the_best_of_what_it_has(split, monkeypatch):
    X, y, X_new, y_new = split
    fitted = SmoothEmbedding.fit
    calls = []

    def interrupted(self, *args, **kwargs):
        calls.append(self)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fitted(self, *args, **kwargs)

    monkeypatch.setattr(SmoothEmbedding, "fit", interrupted)
    with pytest.warns(UserWarning, match="Interrupted"):
        search = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    assert len(search.voters_) == 2
    assert search.score(X_new, y_new) > 0.8
