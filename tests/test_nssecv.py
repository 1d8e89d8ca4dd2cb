"""NSSECV: the choice of scikit-learn's GridSearchCV, from one sweep."""

from __future__ import annotations

import io
import os
import pickle
import re
import signal
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import nsse
from nsse import NSSE, NSSECV
from nsse._progress import progress_bar
from nsse.estimators import default_param_grid
from nsse.estimators._splits import BalancedSplits
from nsse.kernels import squared_distances
from peaks import environment, estimate_over_peak

pytestmark = pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")


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
    ours = NSSECV(grid, estimator=estimator, cv=splits, **options).fit(*data)
    estimator = NSSE() if estimator is None else estimator
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


# ------------------------------------------------------------------ the same as scikit-learn's search


def within_class_kernel(X, y):
    """An affinity of the user's: complete within every class."""
    return (y[:, np.newaxis] == y) * np.exp(-squared_distances(X) / 1000.0)


GRIDS = {
    "mu1": {"mu1": [0.0, 0.1, 1.0, 10.0]},
    "mu2": {"mu2": [1e-4, 0.01, 0.5]},
    "mu3": {"mu3": [None, 0.01, 1.0, 100.0]},
    "n_components": {"n_components": [None, 1, 2, 5, 7]},
    "n_neighbors": {"n_neighbors": [None, 1, 3, 50]},
    "beta": {"beta": [None, 0.1, 10.0]},
    "sigma": {"sigma": [0.1, 0.5, 2.0, None]},
    "solver": {"solver": ["joint", "alternating"], "n_components": [2, 9]},
    "length_unit": {"length_unit": ["median", 20.0, 40.0], "sigma": [0.5, 1.0]},
    "sigma_range": {"sigma_range": [(0.1, 10.0), (0.2, 0.4), (2.0, 5.0)], "n_components": [3, 9]},
    "affinity": {"affinity": ["gaussian", within_class_kernel], "mu1": [0.1, 1.0]},
    "classifier": {"classifier": [None, KNeighborsClassifier(5), LogisticRegression(C=1e3)]},
    "nested": {"classifier": [KNeighborsClassifier()], "classifier__n_neighbors": [1, 9]},
    "together at a scale": {
        "sigma": [0.4, 1.2], "mu1": [0.1, 1.0], "mu2": [0.01, 0.1], "n_components": [3, 9],
        "n_neighbors": [2],
    },
    "together": {"mu1": [0.1, 1.0], "mu3": [0.1, 10.0], "n_components": [3, 9]},
    "several grids": [{"mu1": [0.1, 1.0]}, {"sigma": [0.5], "n_components": [2, 4]}],
}  # fmt: skip


@pytest.mark.parametrize("name", GRIDS)
def test_the_scores_and_the_choice_of_grid_search(name):
    assert_same_choice(*both(GRIDS[name]))


def test_these_grids_tell_their_points_apart():
    """Else the comparisons above would compare little."""
    search = NSSECV(GRIDS["n_components"], cv=SPLITS).fit(X, Y)
    means = search.cv_results_["mean_test_score"]
    assert len(np.unique(means)) >= 4
    assert np.sum(means == means.max()) == 1


def as_sparse(X):
    return sparse.csr_matrix(X)


def as_float32(X):
    return X.astype(np.float32)


@pytest.mark.parametrize("form", [as_sparse, as_float32])
def test_other_forms_of_samples(form):
    assert_same_choice(*both(SMALL, data=(form(X), Y)))


def test_labels_that_are_strings():
    assert_same_choice(*both(SMALL, data=(X, np.array([f"digit {label}" for label in Y]))))


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "f1_macro", lambda est, X, y: -est.score(X, y)]
)
def test_other_scores(scoring):
    ours, theirs = both(AT_A_SCALE, scoring=scoring)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), rtol=0, atol=1e-12)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)


def test_a_score_of_probabilities_is_refused():
    with pytest.raises(TypeError, match="`scoring` must be made of predicted labels alone"):
        NSSECV(AT_A_SCALE, cv=SPLITS, scoring="roc_auc_ovr").fit(X, Y)


def test_a_classifier_that_heeds_order_and_signs_sees_what_a_fit_shows_it():
    forest = RandomForestClassifier(4, random_state=0)
    assert_same_choice(*both({"mu2": [0.01, 0.1], "sigma": [0.5]}, NSSE(classifier=forest)))


def test_a_classifier_that_refuses_one_embedding_spoils_no_other():
    grid = {"n_components": [2, 9], "sigma": [0.5]}
    estimator = NSSE(classifier=LinearDiscriminantAnalysis(n_components=5))
    theirs = GridSearchCV(estimator, grid, cv=SPLITS, refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, Y)
    with pytest.warns(FitFailedWarning, match="'n_components': 2"):
        ours = NSSECV(grid, estimator=estimator, cv=SPLITS).fit(X, Y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-12)
    assert ours.best_params_ == {"n_components": 9, "sigma": 0.5}


def test_classifiers_of_the_grid_are_left_as_they_are():
    classifier = KNeighborsClassifier(n_neighbors=3)
    grid = {"classifier": [classifier], "classifier__n_neighbors": [1, 5], "sigma": [0.5]}
    NSSECV(grid, cv=SPLITS).fit(X, Y)
    assert classifier.n_neighbors == 3


@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_a_matrix_of_weights_is_cut_to_the_training_samples(solver):
    """GridSearchCV cannot: the reference is the same matrix as a function of the samples."""
    matrices = [within_class_kernel(X, Y), sparse.coo_matrix(within_class_kernel(X, Y) ** 2)]
    grid = {"affinity": matrices, "mu1": [0.1, 1.0]}
    estimator = NSSE(solver=solver, n_sigmas=8, max_iter=3, tol=1.0)
    search = NSSECV(grid, estimator=estimator, cv=SPLITS).fit(X, Y)
    functions = [within_class_kernel, lambda X, y: within_class_kernel(X, y) ** 2]
    expected = NSSECV(grid | {"affinity": functions}, estimator=estimator, cv=SPLITS).fit(X, Y)
    np.testing.assert_allclose(split_scores(search), split_scores(expected), atol=1e-12)
    assert search.best_params_["affinity"] is matrices[search.best_index_ // 2]


def test_a_matrix_of_another_size_says_so():
    with pytest.raises(ValueError, match=r"`affinity` must have shape \(80, 80\)"):
        NSSECV({"mu1": [1.0]}, estimator=NSSE(affinity=np.eye(79)), cv=SPLITS).fit(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nearly_all_scores_of_a_wide_grid_are_those_of_fits_of_their_own():
    """A sample as far from one class as from another may change sides: σ is found to 1e-3 or so."""
    X, y = few_digits(seed=1)
    splits = list(BalancedSplits(2, 0.25, random_state=0).split(X, y))
    grid = {"mu1": [0.1, 10.0], "mu2": [0.01, 0.1], "mu3": [0.1, 1000.0], "n_components": [5, 9]}
    ours, theirs = both(grid, data=(X, y), splits=splits)
    differences = np.abs(split_scores(ours) - split_scores(theirs))
    assert np.mean(differences > 1e-12) <= 0.03
    assert differences.max() <= 1 / 20 + 1e-12


# ------------------------------------------------------------------------------------------ the refit


def test_the_best_estimator_is_a_plain_fit():
    search = NSSECV(SMALL, estimator=NSSE(mu1=0.5), cv=SPLITS, n_voters=1).fit(X, Y)
    plain = NSSE(mu1=0.5, **search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, plain.coef_)
    assert search.best_estimator_.get_params() == plain.get_params()
    for name in ("transform", "predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(search, name)(X), getattr(plain, name)(X))
    assert search.score(X, Y) == plain.score(X, Y)
    np.testing.assert_array_equal(search.embedding_, plain.embedding_)
    np.testing.assert_array_equal(search.classes_, plain.classes_)
    np.testing.assert_array_equal(search.get_feature_names_out()[:2], ["nssecv0", "nssecv1"])


def test_the_best_few_vote():
    """By hand: models of the best points within two standard errors, counted one by one."""
    search = NSSECV(NEARLY_EQUAL, cv=SPLITS, n_voters=5).fit(X, Y)
    means, sigmas = (search.cv_results_[name] for name in ("mean_test_score", "mean_sigma"))
    scores = split_scores(search)[:, search.best_index_]
    least = means[search.best_index_] - 2 * scores.std(ddof=1) / np.sqrt(len(scores)) - 1e-12
    order = sorted(range(len(means)), key=lambda i: (-round(means[i], 12), -sigmas[i]))
    chosen = [i for i in order if means[i] >= least][:5]
    assert 2 < len(chosen) == len(search.voters_)
    assert chosen[0] == search.best_index_
    assert search.voters_[0] is search.best_estimator_
    ballots = [search.best_estimator_.predict(NEW)]
    for i in chosen[1:]:
        model = NSSE(**search.cv_results_["params"][i], sigma=float(sigmas[i])).fit(X, Y)
        ballots.append(model.predict(NEW))
    expected = []
    for row in np.transpose(ballots):
        counts = Counter(row.tolist())
        expected.append(next(label for label in row if counts[label] == max(counts.values())))
    np.testing.assert_array_equal(search.predict(NEW), expected)
    shares = np.mean([[b == c for c in search.classes_] for b in np.transpose(ballots)], axis=-1)
    np.testing.assert_allclose(search.predict_proba(NEW), shares)
    assert any(len(set(row)) > 1 for row in np.transpose(ballots)), "they never disagree: nothing tested"


def test_voters_share_their_centres_before_and_after_a_pickle():
    search = NSSECV(NEARLY_EQUAL, cv=SPLITS, n_voters=5).fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    for model in (search, again):
        first, *others = model.voters_
        assert first is model.best_estimator_
        assert others
        for voter in others:
            assert voter.centers_ is first.centers_
            assert voter.expansion_.centers is first.expansion_.centers
    np.testing.assert_array_equal(again.predict(NEW), search.predict(NEW))


def test_bad_points_do_not_outvote_the_best():
    grid = {"n_components": [9], "sigma": [0.5], "mu2": [0.01, 1e9, 2e9, 3e9]}
    search = NSSECV(grid, cv=SPLITS).fit(X, Y)
    assert len(search.voters_) == 1


def test_a_voter_that_cannot_be_fitted_is_left_out_and_named(monkeypatch):
    original = NSSE.fit

    def fit(self, X, y):
        if self.mu2 == 0.011:
            raise ValueError("no such luck")
        return original(self, X, y)

    monkeypatch.setattr(NSSE, "fit", fit)
    with pytest.warns(FitFailedWarning, match=r"'mu2': 0.011.* does not vote: no such luck"):
        search = NSSECV({"mu2": [0.01, 0.02, 0.011]}, cv=SPLITS).fit(X, Y)
    assert {model.mu2 for model in search.voters_} == {0.01, 0.02}


def test_the_number_of_voters_is_checked():
    with pytest.raises(ValueError, match=r"^`n_voters` must be"):
        NSSECV(AT_A_SCALE, cv=SPLITS, n_voters=0).fit(X, Y)


def test_radii_of_a_vote_are_below_those_of_single_voters_that_decide_it():
    search = NSSECV(NEARLY_EQUAL, cv=SPLITS, n_voters=5).fit(X, Y)
    radii = np.column_stack([model.certified_radius(NEW) for model in search.voters_])
    found = search.certified_radius(NEW)
    assert np.all(found >= radii.min(axis=1))
    assert np.all(found <= radii.max(axis=1))
    single = NSSECV(NEARLY_EQUAL, cv=SPLITS, n_voters=1).fit(X, Y)
    np.testing.assert_array_equal(
        single.certified_radius(NEW), single.best_estimator_.certified_radius(NEW)
    )


def test_probabilities_are_offered_if_the_classifier_chosen_has_them():
    grid = {"classifier": [RidgeClassifier()], "sigma": [0.5]}
    search = NSSECV(grid, cv=SPLITS).fit(X, Y)
    assert not hasattr(search, "predict_proba")
    assert isinstance(search.classifier_, RidgeClassifier)
    assert hasattr(NSSECV(AT_A_SCALE, cv=SPLITS).fit(X, Y), "predict_proba")


def test_pipelines_clones_pickles_and_frames():
    pd = pytest.importorskip("pandas")
    search = NSSECV(AT_A_SCALE, cv=SPLITS).set_output(transform="pandas").fit(X, Y)
    assert isinstance(search.transform(X), pd.DataFrame)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    copy = clone(search)
    assert not hasattr(copy, "best_params_")
    assert copy.fit(X, Y).best_params_ == search.best_params_
    model = make_pipeline(MinMaxScaler(), NSSECV(AT_A_SCALE, cv=SPLITS)).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_the_table_has_the_form_of_grid_search():
    pd = pytest.importorskip("pandas")
    ours, theirs = both(GRIDS["several grids"])
    wanted = {name for name in theirs.cv_results_ if "time" not in name}
    assert set(ours.cv_results_) == wanted | {"mean_sigma"}
    assert pd.DataFrame(ours.cv_results_).shape == (4, len(wanted) + 1)
    for name in ("param_mu1", "param_sigma", "param_n_components"):
        a, b = ours.cv_results_[name], theirs.cv_results_[name]
        np.testing.assert_array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b))
        assert list(a.compressed()) == list(b.compressed())
    assert ours.cv_results_["rank_test_score"].dtype == theirs.cv_results_["rank_test_score"].dtype
    assert ours.n_splits_ == theirs.n_splits_ == 3
    fixed = ours.cv_results_["mean_sigma"][2:]
    np.testing.assert_allclose(fixed, 0.5)


def test_values_that_are_tuples_stay_whole_in_the_table():
    ranges = [(0.1, 10.0), (0.2, 0.4)]
    search = NSSECV({"sigma_range": ranges}, cv=SPLITS).fit(X, Y)
    assert list(search.cv_results_["param_sigma_range"]) == ranges


def test_splits_in_any_form():
    lists = [(list(train), list(valid)) for train, valid in SPLITS]
    masks = [(np.isin(np.arange(80), train), np.isin(np.arange(80), valid)) for train, valid in SPLITS]
    expected = split_scores(NSSECV(AT_A_SCALE, cv=SPLITS).fit(X, Y))
    for cv in (lists, masks, iter(SPLITS)):
        np.testing.assert_array_equal(split_scores(NSSECV(AT_A_SCALE, cv=cv).fit(X, Y)), expected)
    assert NSSECV(AT_A_SCALE, cv=4).fit(X, Y).n_splits_ == 4
    ours, theirs = both(AT_A_SCALE, splits=StratifiedKFold(3, shuffle=True, random_state=1))
    assert_same_choice(ours, theirs)


def test_the_default_grid_reaches_every_dimension_it_may():
    for n_classes in (2, 3, 4, 10, 40):
        grid = default_param_grid(n_classes)
        assert max(grid["n_components"]) == n_classes - 1
        assert len(ParameterGrid(grid)) == 72 * len(grid["n_components"])
        assert all(1 <= d < n_classes for d in grid["n_components"])
    data = Y < 4
    search = NSSECV(estimator=NSSE(sigma=0.5), n_repeats=1).fit(X[data], Y[data])
    assert len(search.cv_results_["params"]) == len(ParameterGrid(default_param_grid(4)))


def test_a_tolerance_takes_the_smoothest_of_the_points_that_are_good_enough():
    """Against a literal reading of the results."""
    for tolerance in (0.0, 0.5, 2.0):
        grid = {"mu3": [0.01, 1.0, 100.0], "n_components": [2, 5]}
        search = NSSECV(grid, cv=SPLITS, tolerance=tolerance).fit(X, Y)
        results = search.cv_results_
        scores = np.array([results[f"split{i}_test_score"] for i in range(len(SPLITS))])
        top = scores.mean(axis=0).argmax()
        error = scores[:, top].std(ddof=1) / np.sqrt(len(SPLITS))
        least = scores[:, top].mean() - tolerance * error - 1e-12
        good = [i for i, mean in enumerate(scores.mean(axis=0)) if mean >= least]
        smoothest = max(good, key=lambda i: results["mean_sigma"][i])
        assert search.best_index_ == smoothest
    assert len(good) > 1  # the largest tolerance leaves a choice


def test_a_negative_tolerance_is_refused():
    with pytest.raises(ValueError, match="`tolerance` must be a finite number that is not negative"):
        NSSECV({"mu2": [0.1]}, tolerance=-1).fit(X, Y)


# ------------------------------------------------------------------------------------ what is shared


def counts_of(grid, **options):
    return NSSECV(grid, cv=SPLITS, **options).fit(X, Y).counts_


def test_kernels_and_factors_at_given_scales():
    few = {"sigma": [0.4, 0.8], "mu2": [0.01, 0.1]}
    more = few | {"mu3": [0.1, 1.0, 10.0], "n_components": [2, 5, 9]}
    for grid in (few, more):
        assert counts_of(grid) == {"kernel matrices": 6, "Gram matrices": 12, "factorisations": 12}
    wide = more | {"mu1": [0.1, 1.0], "n_neighbors": [2, 5]}
    # Two graphs and the classes for each of 3 splits × 2 scales; 8 sets of weights.
    assert counts_of(wide) == {"kernel matrices": 6, "Gram matrices": 18, "factorisations": 48}


def test_another_parameter_multiplies_the_work_and_equal_values_do_not():
    grid = {"sigma": [0.4], "length_unit": [20.0, 40.0], "mu3": [0.1, 1.0]}
    assert counts_of(grid)["kernel matrices"] == 6
    with parallel_config(backend="loky"):
        assert counts_of(grid, n_jobs=2)["kernel matrices"] == 6


def test_kernels_do_not_grow_with_the_weights():
    few = {"mu1": [0.1, 10.0], "mu2": [0.01], "mu3": [0.1, 10.0], "n_components": [3, 9]}
    more = few | {
        "mu1": [0.1, 0.3, 1.0, 10.0],
        "mu3": [0.1, 0.3, 1.0, 10.0],
        "n_components": [3, 5, 7, 9],
    }
    before, after = counts_of(few), counts_of(more)
    own = after.get("solved at their own scale", 0) - before.get("solved at their own scale", 0)
    # 64 points instead of 8. A node that few weights ask for late may be visited a second time.
    assert after["kernel matrices"] - own < 1.6 * before["kernel matrices"]
    assert after.get("fits of their own", 0) <= 3


def test_algorithm_1_is_fitted_point_by_point():
    grid = {"solver": ["alternating"], "n_components": [2, 9]}
    assert counts_of(grid, estimator=NSSE(n_sigmas=5, max_iter=2, tol=1.0)) == {"fits of their own": 6}


# ------------------------------------------------------------------------------------ which to choose


def test_of_equal_scores_the_smoother_wins():
    """Two far clouds: everything is right everywhere."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = 100.0 * y[:, np.newaxis] + rng.normal(size=(24, 3))

    def chosen(grid, **parameters):
        search = NSSECV(grid, estimator=NSSE(**parameters), n_repeats=2).fit(X, y)
        assert set(search.cv_results_["mean_test_score"]) == {1.0}
        return search.best_params_

    assert chosen({"sigma": [0.5, 2.0, 1.0]}) == {"sigma": 2.0}
    assert chosen({"mu2": [0.1, 1.0, 0.01]}, sigma=1.0) == {"mu2": 1.0}
    assert chosen({"n_components": [3, 1, 2]}, sigma=1.0) == {"n_components": 1}
    assert chosen({"n_components": [3, None, 2]}, sigma=1.0) == {"n_components": None}
    assert chosen({"mu1": [1.0, 0.1]}, sigma=1.0) == {"mu1": 1.0}
    # A point that leaves mu2 to the estimator has the estimator's.
    grids = [{"mu2": [0.1], "n_components": [1]}, {"n_components": [1]}]
    assert chosen(grids, sigma=1.0, mu2=0.5) == {"n_components": 1}


def oracle_sequential(grid, start, order, n_rounds):
    """§5.1 with plain fits: one parameter at a time, the others kept."""
    current, scored, seen = dict(start), {}, []
    for _ in range(n_rounds):
        before = dict(current)
        for name in order:
            line = []
            for value in grid[name]:
                params = current | {name: value}
                key = tuple(sorted(params.items()))
                if key not in scored:
                    scores, sigmas = [], []
                    for train, valid in SPLITS:
                        model = NSSE(**params).fit(X[train], Y[train])
                        scores.append(model.score(X[valid], Y[valid]))
                        sigmas.append(model.sigma_ / model.length_unit_)
                    scored[key] = (round(np.mean(scores), 9), round(np.mean(sigmas), 6))
                    seen.append(params)
                smoothness = (params.get("mu2", 0.01), -(params["n_components"] or 9))
                line.append(((*scored[key], *smoothness), params))
            current = max(line, key=lambda pair: pair[0])[1]
        if current == before:
            break
    return current, seen


SEQUENTIAL = {"n_components": [2, 5, 9], "mu2": [0.001, 0.1], "mu1": [0.1, 1.0]}


@pytest.mark.parametrize(
    ("start", "order", "n_rounds"),
    [
        (None, None, 1),
        ({"n_components": 2}, None, 1),
        (None, ["n_components", "mu1", "mu2"], 1),
        ({"n_components": 2, "mu2": 0.5}, ["mu2", "mu1", "n_components"], 3),
    ],
)
def test_sequential_search_is_the_rule_of_the_paper(start, order, n_rounds):
    search = NSSECV(
        SEQUENTIAL, estimator=NSSE(sigma=0.7), search="sequential", start=start, order=order,
        n_rounds=n_rounds, cv=SPLITS,
    ).fit(X, Y)  # fmt: skip
    first = {"n_components": None, "mu2": 0.01, "mu1": 1.0, "sigma": 0.7} | (start or {})
    expected, seen = oracle_sequential(
        SEQUENTIAL, first, order or ["mu1", "mu2", "n_components"], n_rounds
    )
    assert search.best_params_ | {"sigma": 0.7} == expected
    ours = search.cv_results_["params"]
    assert [params | {"sigma": 0.7} for params in ours] == seen
    assert search.cv_results_["params"][search.best_index_] == search.best_params_


def test_rounds_end_when_nothing_changes():
    counts = [
        len(
            NSSECV(SEQUENTIAL, estimator=NSSE(sigma=0.7), search="sequential", n_rounds=n, cv=SPLITS)
            .fit(X, Y)
            .cv_results_["params"]
        )
        for n in (6, 60)
    ]
    assert counts[0] == counts[1] <= len(ParameterGrid(SEQUENTIAL)) + 7


def test_sequential_search_reaches_parameters_of_the_classifier():
    estimator = NSSE(classifier=KNeighborsClassifier(9), sigma=0.5)
    grid = {"classifier__n_neighbors": [1, 9], "mu2": [0.01, 0.1]}
    search = NSSECV(grid, estimator=estimator, search="sequential", cv=SPLITS).fit(X, Y)
    assert search.best_params_["classifier__n_neighbors"] == 1
    assert [p["classifier__n_neighbors"] for p in search.cv_results_["params"]][:2] == [9, 9]


def test_sequential_search_among_matrices():
    matrices = [within_class_kernel(X, Y), within_class_kernel(X, Y) ** 2]
    grid = {"mu2": [0.01, 0.1], "affinity": matrices}
    search = NSSECV(grid, estimator=NSSE(sigma=0.5), search="sequential", n_rounds=2, cv=SPLITS).fit(
        X, Y
    )
    assert any(search.best_params_["affinity"] is matrix for matrix in matrices)


# ---------------------------------------------------------------------------------------- few samples


def test_two_samples_of_each_of_forty_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 2)
    X = 3.0 * rng.normal(size=(40, 20))[y] + rng.normal(size=(80, 20))
    search = NSSECV({"mu2": [0.01, 0.1], "n_components": [10, 39]}, n_repeats=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.embedding_.shape[0] == 80


def test_a_class_with_one_sample_is_never_held_out():
    keep = np.concatenate([np.flatnonzero(Y < 3), np.flatnonzero(Y == 3)[:1]])
    with pytest.warns(UserWarning, match=r"Classes \[3\] have a single sample each") as caught:
        search = NSSECV(SMALL | {"n_components": [2]}, n_repeats=4).fit(X[keep], Y[keep])
    assert caught[0].filename == __file__
    assert list(search.classes_) == [0, 1, 2, 3]
    for train, valid in BalancedSplits(9, 0.5, 0).split(None, Y[keep]):
        assert len(keep) - 1 in train
        assert len(keep) - 1 not in valid


def test_one_sample_of_every_class_is_an_error():
    _, first = np.unique(Y, return_index=True)
    search = NSSECV(SMALL)
    with pytest.raises(ValueError, match="`y` must have a class with at least 2 samples"):
        search.fit(X[first], Y[first])
    assert not hasattr(search, "n_features_in_")


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    fraction=st.floats(0.0, 0.99),
    n_repeats=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_balanced_splits(sizes, fraction, n_repeats, seed):
    y = np.random.RandomState(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    splits = list(BalancedSplits(n_repeats, fraction, seed).split(None, y))
    again = list(BalancedSplits(n_repeats, fraction, seed).split(None, y))
    assert len(splits) == n_repeats
    times = np.zeros(len(y), dtype=int)
    for (train, valid), (train_again, valid_again) in zip(splits, again, strict=True):
        np.testing.assert_array_equal(train, train_again)
        np.testing.assert_array_equal(valid, valid_again)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, valid])), np.arange(len(y)))
        for label, size in enumerate(sizes):
            held_out = int(np.sum(y[valid] == label))
            assert held_out == min(max(1, round(fraction * size)), size - 1)
            assert np.sum(y[train] == label) >= 1
        times[valid] += 1
    for label in range(len(sizes)):
        assert np.ptp(times[y == label]) <= 1


def test_seeds_give_other_splits():
    first, second = (list(BalancedSplits(3, 0.3, seed).split(None, Y)) for seed in (0, 1))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, second, strict=True))
    assert BalancedSplits(3, 0.3).get_n_splits() == 3


# ---------------------------------------------------------------------------------- what cannot be had


def test_a_point_that_cannot_be_fitted_scores_nan_and_is_named():
    grid = {"n_components": [3, 9, 61], "mu2": [0.01, 0.1], "sigma": [0.5]}
    with pytest.warns(FitFailedWarning) as caught:
        search = NSSECV(grid, cv=SPLITS).fit(X, Y)
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert "2 of 6 grid points could not be fitted on every split" in message
    assert "'n_components': 61" in message
    assert "`n_components` must not exceed the number of training samples, 60. Got 61." in message
    assert ".." not in message
    failed = np.array([params["n_components"] == 61 for params in search.cv_results_["params"]])
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), failed)
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_sigma"]), failed)
    assert set(search.cv_results_["rank_test_score"][failed]) == {5}
    plain = NSSECV(grid | {"n_components": [3, 9]}, cv=SPLITS).fit(X, Y)
    np.testing.assert_array_equal(split_scores(search)[:, ~failed], split_scores(plain))
    assert search.best_params_ == plain.best_params_


@pytest.mark.filterwarnings("ignore::nsse.ConditioningWarning")
def test_a_scale_at_which_the_kernel_has_no_rank_scores_nan():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = (y + 0.2 * rng.normal(size=40))[:, np.newaxis]
    grid = {"sigma": [0.2, 1e4], "n_components": [3]}
    with pytest.warns(FitFailedWarning, match=r"'sigma': 10000.0.*rank of the kernel"):
        search = NSSECV(grid, n_repeats=2).fit(X, y)
    assert search.best_params_["sigma"] == 0.2


def test_many_failures_are_counted_not_listed():
    grid = {"n_components": [2, *range(61, 71)], "sigma": [0.5]}
    with pytest.warns(FitFailedWarning, match="10 of 11 grid points"):
        NSSECV(grid, cv=SPLITS).fit(X, Y)
    with pytest.warns(FitFailedWarning, match="and 7 more"):
        NSSECV({"n_components": [2, 65], "sigma": [0.5], "mu1": np.arange(1, 11.0)}, cv=SPLITS).fit(X, Y)


def test_if_all_fail_the_reasons_are_given_and_nothing_is_fitted():
    search = NSSECV({"n_components": [70, 80]}, cv=SPLITS)
    with pytest.raises(
        ValueError, match="No point of `param_grid` could be fitted on every split"
    ) as error:
        search.fit(X, Y)
    assert "Got 70." in str(error.value)
    assert "Got 80." in str(error.value)
    assert vars(search) == vars(NSSECV({"n_components": [70, 80]}, cv=SPLITS))
    with pytest.raises(NotFittedError):
        search.predict(X)


def test_a_failed_fit_keeps_the_one_before():
    search = NSSECV(AT_A_SCALE, cv=SPLITS).fit(X, Y)
    before = search.best_estimator_
    with pytest.raises(ValueError, match="mu2"):
        search.set_params(param_grid={"mu2": [-1.0]}).fit(X, Y)
    assert search.best_estimator_ is before


def never(estimator, X, y):
    raise AssertionError("some work was done")


@pytest.mark.parametrize("search", ["joint", "sequential"])
@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"mu1": [1.0], "mu2": [0.1, -1.0]}, {}, "`mu2` must be a positive, finite number. Got -1.0"),
        ({"mu1": [1.0], "mu4": [0.1]}, {}, "Invalid parameter 'mu4'"),
        ({"mu1": [1.0]}, {"search": "random"}, "`search` must be one of"),
        ({"mu1": [1.0]}, {"n_repeats": 0}, "`n_repeats` must be a whole number"),
        ({"mu1": [1.0]}, {"validation_fraction": 1.0}, "`validation_fraction` must be less than 1"),
        ({"mu1": [1.0]}, {"validation_fraction": -0.1}, "`validation_fraction` must be a finite number"),
        ({"mu1": [1.0]}, {"estimator": nsse.LFDA()}, "`estimator` must be an NSSE"),
        ({"mu1": [1.0]}, {"cv": []}, "`cv` must give splits with samples"),
        ({"mu1": [1.0]}, {"cv": [(range(80), [])]}, "`cv` must give splits with samples"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(search, grid, options, message):
    model = NSSECV(grid, **{"search": search, "scoring": never, "n_repeats": 2} | options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": ["mu1"]}, r"`order` must name each parameter of the grid once, \['mu1', 'mu2'\]"),
        ({"order": ["mu1", "mu2", "mu3"]}, "`order` must name each parameter"),
        ({"start": {"mu3": 1.0}}, r"`start` must name parameters of the grid. Got \['mu3'\]"),
        ({"start": {"mu2": -1.0}}, "`mu2` must be a positive"),
        ({"n_rounds": 0}, "`n_rounds` must be a whole number"),
        ({"param_grid": [{"mu1": [1.0]}]}, "`param_grid` must be one dict"),
    ],
)
def test_wrong_words_about_a_sequential_search(options, message):
    options = {"param_grid": {"mu1": [1.0], "mu2": [0.1]}, "scoring": never} | options
    with pytest.raises(ValueError, match=message):
        NSSECV(search="sequential", n_repeats=2, **options).fit(X, Y)


# ------------------------------------------------------------------------------------------ interrupts


class InterruptAtCall:
    """A score during whose n-th use Ctrl-C is pressed."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, estimator, X, y):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize(("at", "n_scored"), [(2, 0), (5, 1), (12, 2)])
def test_an_interrupt_says_how_far_it_was(at, n_scored):
    search = NSSECV(AT_A_SCALE, cv=SPLITS, scoring=InterruptAtCall(at))
    with pytest.raises(KeyboardInterrupt, match=f"{n_scored} of 3 splits were scored on 4 grid points"):
        search.fit(X, Y)
    assert not hasattr(search, "n_features_in_")


# A process started in the background ignores SIGINT, and so do its children unless told otherwise.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from sklearn.datasets import load_digits
from nsse import NSSECV
X, y = load_digits(return_X_y=True)
search = NSSECV(n_repeats=200, n_jobs={n_jobs})
print("ready", flush=True)
try:
    search.fit(X[:400], y[:400])
except KeyboardInterrupt as interrupt:
    print(interrupt, sorted(name for name in vars(search) if name.endswith("_")), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal on POSIX only")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_real_process_cleanly(n_jobs):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(n_jobs=n_jobs)], env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.0)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        except BaseException:
            process.kill()
            raise
    assert process.returncode == 0, errors
    assert re.match(r"NSSECV was interrupted: \d+ of 200 splits were scored on 432 grid points.", output)
    assert output.strip().endswith("[]")
    assert "Traceback" not in errors


# --------------------------------------------------------------------------------------------- workers


def assert_same_search(a, b):
    np.testing.assert_array_equal(split_scores(a), split_scores(b))
    np.testing.assert_array_equal(a.cv_results_["mean_sigma"], b.cv_results_["mean_sigma"])
    assert a.best_params_ == b.best_params_
    assert a.counts_ == b.counts_
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(backend):
    grid = SMALL | {"length_unit": [20.0, 40.0]}
    alone = NSSECV(grid, cv=SPLITS).fit(X, Y)
    with parallel_config(backend=backend):
        assert_same_search(NSSECV(grid, cv=SPLITS, n_jobs=2).fit(X, Y), alone)


def test_a_dask_cluster_changes_nothing():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    alone = NSSECV(SMALL, cv=SPLITS).fit(X, Y)
    with (
        distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"),
        parallel_config(backend="dask"),
    ):
        assert_same_search(NSSECV(SMALL, cv=SPLITS, n_jobs=2).fit(X, Y), alone)


# ---------------------------------------------------------------------------------------------- memory


SAMPLES = (
    "X = 2 * np.random.default_rng(0).normal(size=(10, n))[y]"
    " + np.random.default_rng(1).normal(size=(N, n))"
)
WARM_UP = 'NSSECV({"sigma": [0.5]}, n_repeats=1).fit(X[:60], y[:60])'

MODELS = {
    "NSSE": ("NSSE()", (1500, 30)),
    "NSSE with many features": ("NSSE(sigma=0.5)", (1500, 1500)),
    "NSSECV": ("NSSECV({'mu2': [0.01, 0.1], 'sigma': [0.5, 1.0]}, n_repeats=1)", (1200, 30)),
    "NSSECV with graphs": (
        "NSSECV({'mu2': [0.01], 'n_neighbors': [2, 4, 6, 8], 'sigma': [0.5]}, n_repeats=1)", (1200, 30)
    ),
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("name", MODELS)
def test_memory_is_estimated_well(name):
    assert 1 / 1.3 < estimate_over_peak(*MODELS[name], SAMPLES, WARM_UP) < 1.3


def test_memory_grows_with_workers_but_not_beyond_the_splits():
    one, two, many = (
        NSSECV(SMALL, n_repeats=2, n_jobs=n_jobs).estimate_memory(1000, 20) for n_jobs in (1, 2, 50)
    )
    assert one < two == many
    assert NSSECV().estimate_memory(1000, 20, n_classes=40) > NSSECV().estimate_memory(1000, 20)


# -------------------------------------------------------------------------------------------- progress


def test_a_bar_is_shown_on_request_only(capsys):
    NSSECV(AT_A_SCALE, cv=SPLITS).fit(X, Y)
    NSSECV(AT_A_SCALE, cv=SPLITS, progress=False).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    pytest.importorskip("rich")
    NSSECV(AT_A_SCALE, cv=SPLITS, progress=True).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "splits" in err
    assert "3/3" in err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_at_a_terminal_sees_the_bar(monkeypatch):
    pytest.importorskip("rich")
    for shown, terminal, expected in ((None, True, True), (None, False, False), (False, True, False)):
        stream = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar(2, "steps", shown) as advance:
            advance()
            advance()
        assert ("2/2" in stream.getvalue()) == expected


def test_a_bar_without_rich_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    search = NSSECV(AT_A_SCALE, cv=SPLITS, progress=True)
    with pytest.raises(ImportError, match=r"pip install 'nsse\[cli\]'"):
        search.fit(X, Y)
    assert not hasattr(search, "n_features_in_")


def test_verbose_tells_what_was_computed(caplog):
    with caplog.at_level("INFO", logger="nsse"):
        NSSECV(AT_A_SCALE, cv=SPLITS, verbose=1).fit(X, Y)
    assert (
        "4 grid points on 3 splits: 6 Gram matrices, 6 factorisations, 3 kernel matrices" in caplog.text
    )
