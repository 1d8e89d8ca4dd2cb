"""What NSSECV chooses: among equals, one parameter at a time, from few samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KNeighborsClassifier

from nsse import NSSE, NSSECV
from nsse.selection.splits import BalancedSplits
from searches import SMALL, SPLITS, X, Y, within_class_kernel

pytestmark = pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")


# ------------------------------------------------------------------------------------ which to choose


def test_of_equal_scores_the_smoother_wins():
    """Two far clouds: everything is right everywhere."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = 100.0 * y[:, np.newaxis] + rng.normal(size=(24, 3))

    def chosen(grid, **parameters):
        search = NSSECV(grid, estimator=NSSE.as_published(**parameters), n_repeats=2).fit(X, y)
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
                        model = NSSE.as_published(**params).fit(X[train], Y[train])
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


@pytest.mark.slow
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
        SEQUENTIAL,
        estimator=NSSE.as_published(sigma=0.7),
        search="sequential",
        start=start,
        order=order,
        n_rounds=n_rounds,
        cv=SPLITS,
    ).fit(X, Y)
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
            NSSECV(
                SEQUENTIAL,
                estimator=NSSE.as_published(sigma=0.7),
                search="sequential",
                n_rounds=n,
                cv=SPLITS,
            )
            .fit(X, Y)
            .cv_results_["params"]
        )
        for n in (6, 60)
    ]
    assert counts[0] == counts[1] <= len(ParameterGrid(SEQUENTIAL)) + 7


def test_sequential_search_reaches_parameters_of_the_classifier():
    estimator = NSSE.as_published(classifier=KNeighborsClassifier(9), sigma=0.5)
    grid = {"classifier__n_neighbors": [1, 9], "mu2": [0.01, 0.1]}
    search = NSSECV(grid, estimator=estimator, search="sequential", cv=SPLITS).fit(X, Y)
    assert search.best_params_["classifier__n_neighbors"] == 1
    assert [p["classifier__n_neighbors"] for p in search.cv_results_["params"]][:2] == [9, 9]


def test_sequential_search_among_matrices():
    matrices = [within_class_kernel(X, Y), within_class_kernel(X, Y) ** 2]
    grid = {"mu2": [0.01, 0.1], "affinity": matrices}
    search = NSSECV(
        grid, estimator=NSSE.as_published(sigma=0.5), search="sequential", n_rounds=2, cv=SPLITS
    ).fit(X, Y)
    assert any(search.best_params_["affinity"] is matrix for matrix in matrices)


# ---------------------------------------------------------------------------------------- few samples


def test_two_samples_of_each_of_forty_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 2)
    X = 3.0 * rng.normal(size=(40, 20))[y] + rng.normal(size=(80, 20))
    search = NSSECV(
        {"mu2": [0.01, 0.1], "n_components": [10, 39]}, n_repeats=2, estimator=NSSE.as_published()
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.embedding_.shape[0] == 80


def test_a_class_with_one_sample_is_never_held_out():
    keep = np.concatenate([np.flatnonzero(Y < 3), np.flatnonzero(Y == 3)[:1]])
    with pytest.warns(UserWarning, match=r"Classes \[3\] have a single sample each") as caught:
        search = NSSECV(SMALL | {"n_components": [2]}, n_repeats=4, estimator=NSSE.as_published()).fit(
            X[keep], Y[keep]
        )
    assert caught[0].filename == __file__
    assert list(search.classes_) == [0, 1, 2, 3]
    for train, valid in BalancedSplits(9, 0.5, 0).split(None, Y[keep]):
        assert len(keep) - 1 in train
        assert len(keep) - 1 not in valid


def test_one_sample_of_every_class_is_an_error():
    _, first = np.unique(Y, return_index=True)
    search = NSSECV(SMALL, estimator=NSSE.as_published())
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
