"""The paper's rule for weights, one parameter at a time, on any estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import nsse
from nsse import NSSE, SequentialSearchCV
from nsse.splits import BalancedSplits

X, Y = (part[::2] for part in load_iris(return_X_y=True))
GRID = {"max_depth": [1, 2, 4], "min_samples_leaf": [1, 5, 20]}
METHODS = [
    (nsse.methods.SUPLAP(), {"mu": [0.01, 1.0], "n_components": [1, 2]}),
    (nsse.methods.LFDA(), {"n_components": [1, 2]}),
    (nsse.methods.LDE(), {"n_neighbors": [3, 5], "n_components": [1, 2]}),
    (nsse.methods.NYS(), {"n_components": [2, 3]}),
    (nsse.methods.SPE(), {"n_components": [2, 3]}),
    (nsse.methods.IsoKRR(), {"n_components": [1, 2]}),
    (nsse.methods.MReg(), {"gamma_A": [1e-6, 1e-2], "gamma_I": [0.1, 1.0]}),
    (nsse.methods.SemiRBF(), {"mu": [1e-3, 0.1]}),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsse.exceptions.ScaleAtBoundWarning")
@pytest.mark.filterwarnings("ignore::nsse.exceptions.DegenerateEmbeddingWarning")
@pytest.mark.filterwarnings("ignore::nsse.exceptions.ConditioningWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(
    [
        # As scikit-learn checks its own searches: what cannot be fitted is an error, not a score.
        SequentialSearchCV(nsse.methods.LFDA(), {"n_components": [1, None]}, cv=2, error_score="raise")
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def tree():
    return DecisionTreeClassifier(random_state=0)


def literal(estimator, grid, start, order, n_rounds, splits):
    """The rule as the paper tells it: one parameter after another, the others kept."""

    def mean_score(point):
        scores = []
        for train, valid in splits:
            model = estimator().set_params(**point).fit(X[train], Y[train])
            scores.append(model.score(X[valid], Y[valid]))
        return np.mean(scores)

    current = dict(start)
    for _ in range(n_rounds):
        for name in order:
            for value in grid[name]:
                point = current | {name: value}
                if mean_score(point) > mean_score(current):
                    current = point
    return current, mean_score(current)


@pytest.mark.slow
@pytest.mark.parametrize("order", [["max_depth", "min_samples_leaf"], ["min_samples_leaf", "max_depth"]])
@pytest.mark.parametrize("n_rounds", [1, 2])
def test_it_follows_the_rule_of_the_paper(order, n_rounds):
    cv = BalancedSplits(6, 0.3, 1)
    start = {"max_depth": 1, "min_samples_leaf": 20}
    search = SequentialSearchCV(tree(), GRID, start=start, order=order, n_rounds=n_rounds, cv=cv)
    search.fit(X, Y)
    found, score = literal(tree, GRID, start, order, n_rounds, list(cv.split(X, Y)))
    assert search.best_params_ == found
    assert search.best_score_ == pytest.approx(score, abs=1e-12)
    assert search.best_estimator_.get_params().items() >= found.items()


def test_candidates_are_lines_of_the_grid_and_none_is_tried_twice():
    search = SequentialSearchCV(tree(), GRID, start={"max_depth": 7, "min_samples_leaf": 20}, cv=3)
    tried = search.fit(X, Y).cv_results_["params"]
    assert tried[0] == {"max_depth": 7, "min_samples_leaf": 20}
    assert tried[1:4] == [{"max_depth": depth, "min_samples_leaf": 20} for depth in (1, 2, 4)]
    best = max(range(4), key=lambda i: search.cv_results_["mean_test_score"][i])
    kept = tried[best]["max_depth"]
    assert tried[4:] == [{"max_depth": kept, "min_samples_leaf": leaf} for leaf in (1, 5)]


def test_on_one_parameter_it_is_grid_search():
    grid, cv = {"n_neighbors": [1, 3, 9, 27]}, StratifiedKFold(4)
    ours = SequentialSearchCV(KNeighborsClassifier(), grid, start={"n_neighbors": 1}, cv=cv).fit(X, Y)
    theirs = GridSearchCV(KNeighborsClassifier(), grid, cv=cv).fit(X, Y)
    assert ours.best_params_ == theirs.best_params_
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split3_test_score"):
        np.testing.assert_array_equal(ours.cv_results_[name], theirs.cv_results_[name])
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_of_equal_scores_the_value_in_use_stays():
    search = SequentialSearchCV(tree(), {"ccp_alpha": [0.0, 1e-12, 1e-11]}, start={"ccp_alpha": 1e-11})
    search.fit(X, Y)
    assert np.ptp(search.cv_results_["mean_test_score"]) == 0
    assert search.best_params_ == {"ccp_alpha": 1e-11}


def test_a_splitter_without_a_seed_gives_all_candidates_the_same_splits():
    """A grid of parameters without effect: scores differ only where splits do."""
    grid = {"max_features": [4, None], "min_samples_leaf": [1, 1.0 / 1000]}
    cv = StratifiedShuffleSplit(3, test_size=0.5)
    search = SequentialSearchCV(tree(), grid, start={"max_features": 4}, cv=cv, n_rounds=2).fit(X, Y)
    assert len(search.cv_results_["params"]) > 2
    for split in range(3):
        assert np.ptp(search.cv_results_[f"split{split}_test_score"]) == 0


def test_rounds_end_when_nothing_changes():
    tried = [
        SequentialSearchCV(tree(), GRID, start={"max_depth": 1}, n_rounds=n, cv=3).fit(X, Y).cv_results_
        for n in (6, 60)
    ]
    assert tried[0]["params"] == tried[1]["params"]
    assert len(tried[0]["params"]) <= 9


def test_values_may_be_arrays():
    priors = [np.array([0.2, 0.3, 0.5]), np.array([0.98, 0.01, 0.01])]
    search = SequentialSearchCV(GaussianNB(), {"priors": priors, "var_smoothing": [1e-9, 10.0]}, cv=3)
    assert search.fit(X, Y).best_params_["var_smoothing"] == 1e-9
    assert len(search.cv_results_["params"]) == 4


def test_steps_of_a_pipeline_and_whole_steps_are_parameters():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier())
    grid = {"standardscaler": ["passthrough", Normalizer()], "kneighborsclassifier__n_neighbors": [1, 7]}
    search = SequentialSearchCV(model, grid, cv=3, n_rounds=2).fit(X, Y)
    assert set(search.best_params_) == set(grid)
    assert search.score(X, Y) > 0.9


@pytest.mark.parametrize(("method", "grid"), METHODS, ids=lambda given: type(given).__name__)
def test_it_works_with_every_compared_method(method, grid):
    search = SequentialSearchCV(method, grid, cv=BalancedSplits(2, 0.3, 0)).fit(X, Y)
    assert search.transform(X).shape == (len(X), search.best_estimator_.embedding_.shape[1])
    assert search.score(X, Y) > 0.8
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])


@pytest.mark.slow
def test_scoring_n_jobs_and_refit_are_those_of_grid_search():
    grid = {"mu2": [1e-3, 0.1], "sigma": [0.5, 2.0]}
    given = {"scoring": "neg_log_loss", "cv": 3, "start": {"sigma": 1.0}}
    alone = SequentialSearchCV(NSSE(), grid, **given).fit(X, Y)
    together = SequentialSearchCV(NSSE(), grid, n_jobs=2, refit=False, **given).fit(X, Y)
    assert alone.best_params_ == together.best_params_
    assert alone.best_score_ == together.best_score_ < 0
    assert not hasattr(together, "best_estimator_")


def test_of_several_scores_refit_names_the_one_that_decides():
    scoring = ["accuracy", "neg_log_loss"]
    search = SequentialSearchCV(tree(), GRID, scoring=scoring, refit="neg_log_loss", cv=3).fit(X, Y)
    assert search.best_score_ == search.cv_results_["mean_test_neg_log_loss"].max()
    with pytest.raises(ValueError, match="`refit` must name one of several scores"):
        SequentialSearchCV(tree(), GRID, scoring=scoring, refit=False, cv=3).fit(X, Y)


def test_a_value_that_cannot_be_fitted_is_not_chosen():
    search = SequentialSearchCV(NSSE(), {"mu2": [-1.0, 0.1]}, cv=3)
    with pytest.warns() as caught:
        search.fit(X, Y)
    assert "3 fits failed" in str(caught[0].message)
    assert search.best_params_["mu2"] != -1.0


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"param_grid": [GRID]}, "param_grid"),
        ({"param_grid": {}}, "param_grid"),
        ({"param_grid": {"depth": [1]}}, "param_grid"),
        ({"start": {"criterion": "gini"}}, "start"),
        ({"order": ["max_depth"]}, "order"),
        ({"n_rounds": 0}, "n_rounds"),
        ({"cv": (pair for pair in StratifiedKFold(3).split(X, Y))}, "cv"),
    ],
)
def test_refusals_name_the_parameter(given, name):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        SequentialSearchCV(tree(), **{"param_grid": GRID} | given).fit(X, Y)
