"""The quick search of `NSSECV`: what it chooses, what it keeps, and that its model is what it chose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from nsse import NSSE, NSSECV
from nsse.selection import choosing
from nsse.selection.quick_grid import QuickGrid
from nsse.selection.splits import BalancedSplits


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))  # one writer after another otherwise
    return X[order] / 16, np.array(list("abcdefghij"))[y[order]]


@pytest.fixture(scope="module")
def search(digits):
    X, y = digits
    return NSSECV().fit(X[:150], y[:150])


def test_is_a_good_search(digits, search):
    X, y = digits
    assert search.score(X[300:], y[300:]) > 0.9
    assert len(search.cv_results_["params"]) == np.prod(QuickGrid().shape)
    assert search.counts_["eigendecompositions"] > 0
    assert search.n_splits_ == 13  # 2000/150 of them


def test_model_is_the_point_chosen(digits, search):
    X, y = digits
    chosen = {"normalization": "classes", "embedding_scale": "unit"} | search.best_params_
    alone = NSSE(**chosen).fit(X[:150], y[:150])
    np.testing.assert_array_equal(alone.transform(X), search.transform(X))
    np.testing.assert_array_equal(alone.predict(X), search.best_estimator_.predict(X))
    means = search.cv_results_["mean_test_score"]
    assert means[search.best_index_] == np.nanmax(means) == search.best_score_
    assert search.cv_results_["params"][search.best_index_] == search.best_params_


def test_voters_are_other_good_points(search):
    assert 1 < len(search.voters_) <= 15
    points = [
        tuple(voter.get_params()[name] for name in ("metric", "shrinkage", "sigma", "classifier"))
        for voter in search.voters_
    ]
    assert len(set(points)) == len(points)


def test_scores_are_those_of_fits(digits):
    """The closed form leaves L_w out and the exact centring: labels of fits agree but for a few."""
    X, y = digits[0][:120], digits[1][:120]
    splits = list(BalancedSplits(3, 0.2, 0).split(X, y))
    quick = NSSECV(cv=splits, n_voters=1).fit(X, y)
    by_fits = []
    for train, valid in splits:
        model = clone(quick.best_estimator_)
        # The weight is for all samples; on a split there are fewer per class.
        model.set_params(mu2=model.mu2 * len(train) / len(y)).fit(X[train], y[train])
        by_fits.append(model.score(X[valid], y[valid]))
    assert np.mean(by_fits) == pytest.approx(quick.best_score_, abs=0.05)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"sigma": 0.6}, {"sigma": 0.6}),
        ({"shrinkage": 0.3, "metric": "within"}, {"shrinkage": 0.3, "metric": "within"}),
        ({"classifier": "nearest"}, {"classifier": "nearest"}),
        ({"n_components": 4}, {}),
        ({"n_neighbors": 2}, {}),
    ],
    ids=str,
)
def test_what_the_estimator_says_is_kept(digits, given, kept):
    X, y = digits[0][:100], digits[1][:100]
    search = NSSECV(estimator=NSSE(**given), n_voters=2, n_repeats=3).fit(X, y)
    for params in search.cv_results_["params"]:
        assert kept.items() <= params.items()
    for name, value in given.items():
        assert search.best_estimator_.get_params()[name] == value


def test_a_classifier_of_the_users_own_reads_the_result(digits):
    X, y = digits[0][:100], digits[1][:100]
    base = NSSE(classifier=LogisticRegression(max_iter=1000))
    search = NSSECV(estimator=base, n_voters=1, n_repeats=3).fit(X, y)
    assert isinstance(search.best_estimator_.classifier_, LogisticRegression)
    assert search.score(digits[0][300:600], digits[1][300:600]) > 0.85


def test_other_scores_decide(digits):
    X, y = digits[0][:100], digits[1][:100]
    seen = []

    def scorer(estimator, X, y):
        seen.append(set(estimator.predict(X)) <= set("abcdefghij"))
        return -balanced_accuracy_score(y, estimator.predict(X))  # the worst is the best

    worst = NSSECV(scoring=scorer, n_repeats=3, n_voters=1).fit(X, y)
    best = NSSECV(scoring="balanced_accuracy", n_repeats=3, n_voters=1).fit(X, y)
    assert all(seen)
    assert worst.score(digits[0][300:], digits[1][300:]) < best.score(digits[0][300:], digits[1][300:])
    with pytest.raises(TypeError, match="`scoring` must be made of predicted labels alone"):
        NSSECV(scoring="roc_auc_ovr", n_repeats=3).fit(X, y)


def test_sparse_few_and_lonely_samples(make_blobs):
    X, codes = make_blobs((5, 1, 6), 8)
    with pytest.warns(UserWarning, match=r"Classes \[1\] have a single sample"):
        search = NSSECV(n_repeats=3).fit(sparse.csr_array(X), codes)
    assert set(search.predict(sparse.csr_array(X))) <= {0, 1, 2}


def test_ties_go_to_the_point_nearest_to_the_untuned_one(make_blobs):
    """Classes far apart: every point is right everywhere."""
    X, codes = make_blobs((6, 6), 3)
    search = NSSECV(n_voters=1).fit(X + 100.0 * codes[:, np.newaxis], codes)
    assert search.best_score_ == 1.0
    best = search.best_params_
    assert (best["sigma"], best["classifier"]) == (0.8, "scores")
    assert best["mu2"] == pytest.approx(0.1 * 6)
    assert best["shrinkage"] in (1.0, 10.0)


@pytest.mark.filterwarnings("ignore:Classes")
def test_three_samples():
    search = NSSECV().fit(np.array([[0.0, 1.0], [1.0, 0.0], [1.2, 0.1]]), [0, 1, 1])
    assert search.predict([[0.0, 1.0], [1.2, 0.0]]).tolist() == [0, 1]


def test_landmarks_are_tuned_on_a_subsample(digits):
    X, y = digits
    base = NSSE(n_landmarks=100)
    search = NSSECV(estimator=base, n_subsample=200, n_repeats=2).fit(X[:900], y[:900])
    assert search.best_estimator_.n_landmarks_ == 100
    assert len(search.voters_) == 1
    assert search.score(X[900:], y[900:]) > 0.9
    mean_size = search.best_params_["mu2"] / search.best_estimator_.mu1
    assert any(mean_size == pytest.approx(nu * 90.0) for nu in QuickGrid().nus)


def test_interrupted_it_fits_what_it_has(digits, monkeypatch):
    X, y = digits[0][:100], digits[1][:100]
    seen = []

    def stopping(*args, **options):
        def advance():
            seen.append(1)
            if len(seen) == 3:
                raise KeyboardInterrupt

        return quick_search(*args, **options | {"advance": advance})

    quick_search = choosing.quick_search
    monkeypatch.setattr(choosing, "quick_search", stopping)
    with pytest.warns(
        UserWarning, match="interrupted after 3 of 8 rounds: the best points so far"
    ) as told:
        search = NSSECV(n_repeats=8).fit(X, y)
    assert told[0].filename == __file__
    assert search.n_splits_ == 3
    assert search.score(X, y) > 0.9
