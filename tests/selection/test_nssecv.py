"""NSSECV: what is fitted with the points that were chosen, and who votes."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nsse import NSSE, NSSECV
from searches import NEW, SPLITS, X, Y, split_scores


@pytest.fixture(scope="module")
def search():
    return NSSECV(cv=SPLITS, n_voters=5).fit(X, Y)


def closed_form(params):
    """The model that a point of the search stands for."""
    return NSSE(normalization="classes", embedding_scale="unit", **params)


def test_the_best_estimator_is_a_plain_fit():
    search = NSSECV(NSSE(mu1=0.5), cv=SPLITS, n_voters=1).fit(X, Y)
    plain = closed_form({"mu1": 0.5} | search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, plain.coef_)
    assert search.best_estimator_.get_params() == plain.get_params()
    for name in ("transform", "predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(search, name)(X), getattr(plain, name)(X))
    assert search.score(X, Y) == plain.score(X, Y)
    np.testing.assert_array_equal(search.embedding_, plain.embedding_)
    np.testing.assert_array_equal(search.classes_, plain.classes_)
    np.testing.assert_array_equal(search.get_feature_names_out()[:2], ["nssecv0", "nssecv1"])


def test_the_best_few_vote(search):
    """Models within two standard errors of the best, their votes counted one by one."""
    assert len(search.voters_) == 5
    assert search.voters_[0] is search.best_estimator_
    results, names = search.cv_results_, list(search.best_params_)
    means = {
        tuple(p[n] for n in names): m
        for p, m in zip(results["params"], results["mean_test_score"], strict=True)
    }
    scores = split_scores(search)[:, search.best_index_]
    least = scores.mean() - 2 * scores.std(ddof=1) / np.sqrt(len(scores)) - 1e-9
    for voter in search.voters_:
        assert means[tuple(getattr(voter, n) for n in names)] >= least
    ballots = [model.predict(NEW) for model in search.voters_]
    expected = []
    for row in np.transpose(ballots):
        counts = Counter(row.tolist())
        expected.append(next(label for label in row if counts[label] == max(counts.values())))
    np.testing.assert_array_equal(search.predict(NEW), expected)
    assert any(len(set(row)) > 1 for row in np.transpose(ballots)), "they never disagree: nothing tested"


def test_voters_share_their_centres_before_and_after_a_pickle(search):
    again = pickle.loads(pickle.dumps(search))
    for model in (search, again):
        first, *others = model.voters_
        assert first is model.best_estimator_
        assert others
        for voter in others:
            assert voter.centers_ is first.centers_
    np.testing.assert_array_equal(again.predict(NEW), search.predict(NEW))


def test_bad_points_do_not_outvote_the_best():
    """All but one kernel are hopeless: they are not within two standard errors."""
    fixed = NSSE(metric="euclidean", sigma=0.5, classifier="scores")
    assert len(NSSECV(fixed, cv=SPLITS).fit(X, Y).voters_) == 1


def test_a_voter_that_cannot_be_fitted_is_left_out_and_named(search, monkeypatch):
    original, unlucky = NSSE.fit, search.voters_[2].get_params()

    def fit(self, X, y):
        if self.get_params() == unlucky:
            raise ValueError("no such luck")
        return original(self, X, y)

    monkeypatch.setattr(NSSE, "fit", fit)
    with pytest.warns(FitFailedWarning, match="does not vote: no such luck"):
        others = NSSECV(cv=SPLITS, n_voters=5).fit(X, Y).voters_
    kept = [model.get_params() for place, model in enumerate(search.voters_) if place != 2]
    assert [model.get_params() for model in others] == kept


def test_radii_of_a_vote_are_between_those_of_single_voters(search):
    radii = np.column_stack([model.certified_radius(NEW) for model in search.voters_])
    found = search.certified_radius(NEW)
    assert np.all(found >= radii.min(axis=1))
    assert np.all(found <= radii.max(axis=1))
    single = NSSECV(cv=SPLITS, n_voters=1).fit(X, Y)
    np.testing.assert_array_equal(
        single.certified_radius(NEW), single.best_estimator_.certified_radius(NEW)
    )


def test_probabilities_are_offered_if_the_classifier_has_them(search):
    ridge = NSSECV(NSSE(classifier=RidgeClassifier()), cv=SPLITS).fit(X, Y)
    assert not hasattr(ridge, "predict_proba")
    assert isinstance(ridge.classifier_, RidgeClassifier)
    assert hasattr(search, "predict_proba")


def test_pipelines_clones_pickles_and_frames():
    pd = pytest.importorskip("pandas")
    search = NSSECV(cv=SPLITS, n_voters=2).set_output(transform="pandas").fit(X, Y)
    assert isinstance(search.transform(X), pd.DataFrame)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    copy = clone(search)
    assert not hasattr(copy, "best_params_")
    assert copy.fit(X, Y).best_params_ == search.best_params_
    model = make_pipeline(MinMaxScaler(), NSSECV(cv=SPLITS, n_voters=2)).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_the_table_has_the_form_of_grid_search(search):
    pd = pytest.importorskip("pandas")
    theirs = GridSearchCV(NSSE(), {"mu2": [0.1, 1.0]}, cv=SPLITS).fit(X, Y)
    wanted = {name for name in theirs.cv_results_ if "time" not in name}
    own = {f"param_{name}" for name in search.best_params_}
    assert set(search.cv_results_) == wanted | own
    assert pd.DataFrame(search.cv_results_).shape == (896, len(wanted | own))
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.cv_results_["rank_test_score"].dtype == theirs.cv_results_["rank_test_score"].dtype
    assert search.cv_results_["params"][search.best_index_] == search.best_params_
    assert search.cv_results_["mean_test_score"][search.best_index_] == search.best_score_


def test_splits_in_any_form(search):
    lists = [(list(train), list(valid)) for train, valid in SPLITS]
    masks = [(np.isin(np.arange(80), train), np.isin(np.arange(80), valid)) for train, valid in SPLITS]
    for cv in (lists, masks, iter(SPLITS)):
        found = split_scores(NSSECV(cv=cv, n_voters=1).fit(X, Y))
        np.testing.assert_array_equal(found, split_scores(search))
    assert NSSECV(cv=4, n_voters=1).fit(X, Y).n_splits_ == 4
