"""NSSECV where some samples have no label: what is held out is labelled, and nothing is spoiled."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from conftest import blobs_of
from nsse import NSSE, NSSECV
from nsse.invariances import Noise
from nsse.selection.unlabeled import (
    KAPPAS,
    METRICS,
    MOST_SPLITS,
    SPREAD,
    VOTERS,
    PartlyLabeled,
    _Point,
    _SpreadOverAll,
    _Trial,
)

X_ALL, Y_ALL = load_digits(return_X_y=True)


def few_digits(n_labeled=5, n_samples=600):
    some = np.random.default_rng(0).permutation(len(Y_ALL))[:n_samples]  # their order is by writers
    X, y = X_ALL[some], Y_ALL[some]
    few = np.full(n_samples, -1)
    for c in range(10):
        few[np.flatnonzero(y == c)[:n_labeled]] = c
    return X, y, few


@pytest.fixture(scope="module")
def search():
    X, _, few = few_digits()
    return NSSECV(estimator=NSSE(unlabeled=-1)).fit(X, few)


def test_smoothness_is_chosen_where_it_helps(search):
    X, y, few = few_digits()
    own = few >= 0
    gain, error = search.unlabeled_results_["gain"]
    assert gain > error > 0
    best = search.best_params_
    assert best.get("spread") is not None or best["mu4"] > 0
    supervised = NSSECV().fit(X[own], y[own])
    wrong = np.mean(search.transduction_[~own] != y[~own])
    assert wrong < 0.7 * np.mean(supervised.predict(X[~own]) != y[~own])
    np.testing.assert_array_equal(search.transduction_[own], y[own])
    np.testing.assert_array_equal(search.transduction_, np.where(own, y, search.predict(X)))


def test_points_and_splits_are_told(search):
    told = search.unlabeled_results_
    assert told["params"][0]["mu4"] == 0.0
    mean_size = 5.0
    spread, smooth = (
        [point for point in told["params"][1:] if (point.get("spread") is not None) == is_spread]
        for is_spread in (True, False)
    )
    assert {round(point["mu4"] / mean_size, 9) for point in smooth} == set(KAPPAS)
    assert {point["spread"] for point in spread} == {SPREAD}
    assert len({(point["metric"], point["shrinkage"]) for point in spread}) == len(spread)
    assert told["split_test_score"].shape == (len(told["params"]), MOST_SPLITS)
    assert search.best_params_ in told["params"]
    assert 1 <= len(search.voters_) <= VOTERS
    assert len(search.cv_results_["params"]) == len(told["params"])


def test_the_scores_are_those_of_fits_in_which_labels_are_left_out(search):
    """The regression is that of NSSE without L_w: its labels are those of fits, but for a few."""
    X, y, few = few_digits()
    own = np.flatnonzero(few >= 0)
    from nsse.selection.quick import HELD_OUT, n_splits_for
    from nsse.selection.splits import BalancedSplits

    splits = list(BalancedSplits(n_splits_for(len(own)), HELD_OUT, 0).split(X[own], y[own]))
    means = search.unlabeled_results_["mean_test_score"]
    smooth = [k for k, point in enumerate(search.unlabeled_results_["params"]) if point["mu4"]]
    row = max(smooth, key=lambda k: means[k])
    point = search.unlabeled_results_["params"][row]
    scores = search.unlabeled_results_["split_test_score"][row]
    for (_, valid), told in zip(splits[:3], scores, strict=False):
        hidden = few.copy()
        hidden[own[valid]] = -1
        model = NSSE(unlabeled=-1).set_params(**point)
        shrunk = {name: point[name] * (1 - len(valid) / len(own)) for name in ("mu2", "mu4")}
        model.set_params(**shrunk).fit(X, hidden)
        right = np.mean(model.transduction_[own[valid]] == y[own[valid]])
        assert right == pytest.approx(told, abs=0.11)


def test_nothing_is_spoiled_where_neighbours_are_of_other_classes():
    """Pairs of samples of both classes lie close together; a line between them tells the classes."""
    rng = np.random.default_rng(0)
    centre = 4.0 * rng.standard_normal((120, 6))
    step = np.zeros(6)
    step[0] = 0.3
    X = np.concatenate([centre * (np.arange(6) > 0) + step, centre * (np.arange(6) > 0) - step])
    y = np.repeat([0, 1], 120)
    few = np.full(240, -1)
    chosen = np.concatenate([np.arange(15), 120 + np.arange(15, 30)])
    few[chosen] = y[chosen]
    params = {"metric": "euclidean", "sigma": 2.0}
    search = NSSECV(estimator=NSSE(unlabeled=-1, **params)).fit(X, few)
    own = few >= 0
    supervised = NSSECV(estimator=NSSE(**params)).fit(X[own], y[own])
    assert search.best_estimator_.mu4 == 0.0
    # It is the supervised search, but for rounding.
    np.testing.assert_array_equal(search.predict(X), supervised.predict(X))
    np.testing.assert_allclose(search.transform(X), supervised.transform(X), atol=1e-6)
    wrong = np.mean(search.transduction_[~own] != y[~own])
    spoiled = NSSE(unlabeled=-1, **params).fit(X, few)
    assert np.mean(spoiled.transduction_[~own] != y[~own]) > wrong + 0.05


def test_a_weight_that_is_given_stays():
    X, _, few = few_digits(n_samples=300)
    search = NSSECV(estimator=NSSE(unlabeled=-1, mu4=30.0), n_repeats=3).fit(X, few)
    assert search.best_estimator_.mu4 == pytest.approx(30.0)
    tried = {round(point["mu4"], 9) for point in search.unlabeled_results_["params"]}
    assert tried == {0.0, 30.0}


def test_what_the_estimator_says_is_kept():
    X, _, few = few_digits(n_samples=300)
    base = NSSE(unlabeled=-1, metric="euclidean", sigma=0.7, mu2=0.2)
    search = NSSECV(estimator=base, n_repeats=3).fit(X, few)
    for point in search.unlabeled_results_["params"]:
        assert (point["metric"], point["sigma"], point["mu2"]) == ("euclidean", 0.7, pytest.approx(0.2))


def test_labels_spread_are_judged_as_fits_in_which_labels_are_left_out():
    """The score of a split is that of the labels which `NSSE(spread=)` gives along its graph."""
    X, y, few = few_digits(n_samples=300)
    search = NSSECV(estimator=NSSE(unlabeled=-1, spread=2.0, metric="euclidean"), n_repeats=3)
    search.fit(X, few)
    assert search.best_estimator_.spread == 2.0
    own = np.flatnonzero(few >= 0)
    from nsse.landmarks import ArrayRows, NeighborGraph
    from nsse.selection.quick import HELD_OUT
    from nsse.selection.splits import BalancedSplits

    told = search.unlabeled_results_["split_test_score"]
    assert told.shape == (2, 3)
    graph = NeighborGraph.of(ArrayRows(X), own, 3)
    splits = BalancedSplits(3, HELD_OUT, 0).split(X[own], y[own])
    for (train, valid), score in zip(splits, told[1], strict=True):
        labels = graph.labels(own[train], y[own[train]], 10, 2.0)
        assert score == pytest.approx(np.mean(labels[own[valid]] == y[own[valid]]))


def test_scores_over_all_rows_are_those_of_rows_held():
    """Where the rows that are looked at are all of them: another order, another route to the graph."""
    from nsse.landmarks import ArrayRows

    X, y, few = few_digits(n_samples=300)
    labeled = few >= 0
    partly, codes = PartlyLabeled(ArrayRows(X), few, labeled), y[labeled]
    own, others = X[labeled], X[~labeled]
    alone = _Point({"metric": "within", "shrinkage": 1.0, "relevance": 0.5}, 0.7, 1e-2)
    points = [alone, _Point(METRICS[1], 0.65, spread=SPREAD)]
    dense = _Trial(own, others, codes, 5, None)
    over_all = _SpreadOverAll.of(partly, None, own, codes, 5, None)
    some = np.arange(len(own))[::-1].copy()
    reversed_rows = _SpreadOverAll.of(partly, some, own[some], codes[some], 5, None)
    train, valid = np.flatnonzero(some % 5 > 0), np.flatnonzero(some % 5 == 0)
    expected = dense.scored(points, train, valid)
    np.testing.assert_array_equal(over_all.scored(points, train, valid), expected)
    there = (np.searchsorted(-some, -part) for part in (train, valid))
    np.testing.assert_array_equal(reversed_rows.scored(points, *there), expected)


def test_a_smoothness_that_is_given_is_judged_on_a_part_of_the_samples():
    X, y, few = few_digits(n_samples=700)
    base = NSSE(unlabeled=-1, n_landmarks=150, mu4=30.0)
    search = NSSECV(estimator=base, n_repeats=4, n_subsample=400).fit(X, few)
    assert search.best_estimator_.mu4 == pytest.approx(30.0)
    assert search.best_estimator_.spread is None
    assert np.mean(search.transduction_ != y) < 0.15


def test_without_landmarks_a_part_of_the_samples_decides():
    """All metrics and uses of them are tried, however many rows there are."""
    X, _, few = few_digits(n_samples=300)
    search = NSSECV(estimator=NSSE(unlabeled=-1), n_repeats=2, n_subsample=150).fit(X, few)
    assert len(search.unlabeled_results_["params"]) > 30
    assert search.transduction_.shape == (300,)


def test_with_landmarks_all_samples_decide():
    X, y, few = few_digits(n_labeled=10, n_samples=1500)
    base = NSSE(unlabeled=-1, n_landmarks=150)
    search = NSSECV(estimator=base, n_repeats=8, n_subsample=400).fit(X, few)
    assert len(search.unlabeled_results_["params"]) == 2
    assert search.best_estimator_.spread == SPREAD
    assert search.best_estimator_.n_landmarks_ == 150
    assert search.transduction_.shape == (1500,)
    assert np.mean(search.transduction_ != y) < 0.06
    cut = [(X[i : i + 400], few[i : i + 400]) for i in range(0, 1500, 400)]
    blocks = NSSECV(estimator=base, n_repeats=8, n_subsample=400).fit_blocks(cut)
    assert blocks.best_params_ == search.best_params_
    np.testing.assert_array_equal(blocks.transduction_, search.transduction_)


def test_without_such_samples_it_is_the_supervised_search():
    blobs = blobs_of((12, 12, 12), spread=1.0)
    plain = NSSECV(n_repeats=3).fit(blobs.X, blobs.codes)
    marked = NSSECV(estimator=NSSE(unlabeled=-1), n_repeats=3).fit(blobs.X, blobs.codes)
    assert marked.best_params_ == plain.best_params_
    assert marked.unlabeled_results_ == {}
    np.testing.assert_array_equal(marked.predict_proba(blobs.X), plain.predict_proba(blobs.X))


def test_copies_are_not_searched():
    X, _, few = few_digits(n_samples=200)
    search = NSSECV(estimator=NSSE(unlabeled=-1), invariances=[None, Noise(0.1)])
    with pytest.raises(ValueError, match="`invariances` must be None where some samples have no"):
        search.fit(X, few)
    assert not hasattr(search, "best_params_")


def test_all_samples_without_a_label():
    X, _, _few = few_digits(n_samples=200)
    with pytest.raises(ValueError, match="`y` must have labels"):
        NSSECV(estimator=NSSE(unlabeled=-1)).fit(X, np.full(200, -1))


@pytest.mark.parametrize("kind", ["dask", "sparse", "single"])
def test_rows_from_elsewhere_are_chosen_with_alike(kind):
    X, _, few = few_digits(n_labeled=10, n_samples=600)
    # Centres that are given: those of sparse rows would be drawn by another rule.
    base = NSSE(unlabeled=-1, landmarks=X[::6])
    whole = NSSECV(estimator=base, n_repeats=3, n_subsample=300).fit(X, few)
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        rows, labels = da.from_array(X, chunks=(170, -1)), da.from_array(few, chunks=170)
    else:
        rows, labels = sparse.csr_array(X) if kind == "sparse" else X.astype(np.float32), few
    there = NSSECV(estimator=base, n_repeats=3, n_subsample=300).fit(rows, labels)
    assert there.best_params_ == whole.best_params_
    np.testing.assert_array_equal(
        there.unlabeled_results_["split_test_score"], whole.unlabeled_results_["split_test_score"]
    )
    assert np.mean(there.transduction_ != whole.transduction_) < 0.01


def test_a_class_without_any_label_does_not_exist():
    X, _, few = few_digits(n_samples=300)
    search = NSSECV(estimator=NSSE(unlabeled=-1), n_repeats=2).fit(X, np.where(few > 3, -1, few))
    np.testing.assert_array_equal(search.classes_, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="at least 2 classes"):
        NSSECV(estimator=NSSE(unlabeled=-1)).fit(X, np.where(few > 0, -1, few))
