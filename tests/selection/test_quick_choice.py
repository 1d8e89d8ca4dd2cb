"""What NSSECV makes of the quick search: what it keeps, what it says beforehand, when it is stopped."""

from __future__ import annotations

import io
import pickle
import sys
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nsse import NSSE, NSSECV
from nsse._progress import progress_bar
from nsse.selection import quick
from nsse.selection.quick import Round, planned_rounds, training_rows
from nsse.selection.quick_grid import FEWEST_VOTERS, VOTERS, QuickGrid, n_voters_for
from searches import X, Y


def fitted(**params):
    return NSSECV(n_repeats=2, **params).fit(X, Y)


# ------------------------------------------------------------------------------------- what is kept


def test_an_estimator_that_was_stored_chooses_as_a_new_one():
    """Values count, not objects: workers of joblib get copies."""
    stored = pickle.loads(pickle.dumps(NSSE()))
    found, expected = (fitted(estimator=estimator).cv_results_ for estimator in (stored, NSSE()))
    assert found["params"] == expected["params"]
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])


@pytest.mark.parametrize(
    ("kept", "values"),
    [
        (("metric",), {"metric": ["within"], "shrinkage": [0.1, 1.0, 10.0]}),
        (("metric", "shrinkage"), {"metric": ["within"], "shrinkage": [3.0]}),
        ((), {"metric": ["euclidean", "within"], "shrinkage": [0.1, 1.0, 10.0, np.inf]}),
        (("relevance",), {"relevance": [0.5], "shrinkage": [0.1, 1.0, 10.0, np.inf]}),
    ],
)
def test_what_is_to_be_kept_is_not_searched(kept, values):
    points = fitted(keep=kept).cv_results_["params"]
    for name, expected in values.items():
        assert sorted({point[name] for point in points}, key=str) == sorted(expected, key=str)


def test_a_weight_that_is_given_is_scored_at_its_own_smoothness():
    """ν = μ2/(μ1 n̄): the points of a whole search at that ν have the same scores."""
    mean_class_size = len(Y) / len(np.unique(Y))
    whole = fitted().cv_results_
    given = fitted(estimator=NSSE(mu2=0.1 * mean_class_size)).cv_results_
    same = [np.isclose(point["mu2"], 0.1 * mean_class_size) for point in whole["params"]]
    assert sum(same) == len(given["params"])
    first = "split0_test_score"
    np.testing.assert_array_equal(given[first], whole[first][same])


@pytest.mark.parametrize("keep", ["metric", ("metrics",), ("n_components",)])
def test_only_what_is_chosen_can_be_kept(keep):
    with pytest.raises(ValueError, match=r"`keep` must list parameters that the search chooses"):
        fitted(keep=keep)


def test_what_is_left_open_cannot_be_kept():
    with pytest.raises(ValueError, match=r"`keep` must list parameters that .* Got \['sigma'\]"):
        fitted(estimator=NSSE(sigma=None), keep=("metric", "sigma"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mu1": 0.0}, r"`mu1` must be positive for the search"),
        ({"length_unit": 1.0}, r"`length_unit` must be \"median\" for the search"),
        ({"n_components": 10}, r"`n_components` must be less than n_classes = 10 for the search"),
    ],
)
def test_what_the_closed_form_cannot_stand_for_is_refused_before_any_work(params, message):
    scoring = CountedCalls()
    with pytest.raises(ValueError, match=rf"{message}.*GridSearchCV"):
        fitted(estimator=NSSE(**params), scoring=scoring)
    assert scoring.calls == 0


# ------------------------------------------------------------------------------------- how long it takes


class CountedCalls:
    """The accuracy, counting the points that are scored; Ctrl-C is pressed at the calls named."""

    def __init__(self, *interrupts):
        self.calls, self.interrupts = 0, interrupts

    def __call__(self, estimator, X, y):
        self.calls += 1
        if self.calls in self.interrupts:
            raise KeyboardInterrupt
        return float(np.mean(estimator.predict(X) == y))


MANY = load_digits(return_X_y=True)[0][:400], load_digits(return_X_y=True)[1][:400]


@pytest.mark.parametrize(("samples", "n_repeats"), [((X, Y), 6), (MANY, 5)], ids=["few", "many"])
def test_the_rounds_that_are_planned_are_run(samples, n_repeats):
    search = NSSECV(n_repeats=n_repeats, n_voters=1).fit(*samples)
    n_train = len(search.best_estimator_.embedding_) * 4 // 5
    rounds = planned_rounds(n_train, n_repeats, len(QuickGrid().kernels))
    assert search.counts_["eigendecompositions"] == sum(one.n_kernels for one in rounds)
    assert search.n_splits_ == sum(one.is_final for one in rounds)


def test_rounds_by_hand():
    few = planned_rounds(100, 10, 56)
    assert [one.n_kernels for one in few] == [56, 56, 28, 28, 16, 16, 16, 16, 10, 10]
    many = planned_rounds(720, 5, 56)
    assert many[:4] == [Round(200, n_kernels, False) for n_kernels in (56, 56, 28, 28)]
    assert many[4:] == [Round(720, 4, True)] * 3
    assert len(planned_rounds(720, 1, 56)) == 2  # no more finals than splits


def test_what_takes_time_as_the_cube_of_the_samples_does_not_grow_with_them():
    """Beyond some thousand samples a part of them trains in the race, and fewer vote."""
    assert [training_rows(n, 1) for n in (500, 2000, 20_000)] == [500, 2000, 2000]
    voting = [n_voters_for(n) for n in (10, 2500, 3500, 5000, 10**6)]
    assert voting == [VOTERS, VOTERS, 5, 3, FEWEST_VOTERS]


def test_a_part_of_many_samples_trains(monkeypatch):
    """The rows of a final are as many as were planned, some of every class; all held out judge."""
    monkeypatch.setattr(quick, "MOST_ROWS", 250)
    seen = []
    trained = quick.Trained.on
    monkeypatch.setattr(
        quick.Trained,
        "on",
        lambda codes, *rest: seen.append(np.bincount(codes)) or trained(codes, *rest),
    )
    search = NSSECV(n_voters=1).fit(*MANY)
    finals = [sizes for sizes in seen if sizes.sum() > quick.FEW]
    assert {int(sizes.sum()) for sizes in finals} == {250}
    assert all(sizes.min() >= 20 for sizes in finals)
    assert search.score(*MANY) > 0.95


# ---------------------------------------------------------------------------------------- the bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ZMQInteractiveShell:
    """By this name the kernel of a notebook is known."""


def as_notebook(monkeypatch, stream):
    """A kernel whose browser writes down, in place of drawing, what it is asked to draw."""

    class Handle:
        def update(self, shown):
            stream.write(shown._repr_html_())

    def display(shown, display_id):
        assert display_id is True
        Handle().update(shown)
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))


def seen(monkeypatch, stream, notebook=False, **params):
    """What a search leaves on stderr."""
    monkeypatch.setattr(sys, "stderr", stream)
    if notebook:
        as_notebook(monkeypatch, stream)
    NSSECV(n_repeats=2, n_voters=1, **params).fit(X, Y)
    return stream.getvalue()


def test_a_search_shows_a_bar_where_someone_looks(monkeypatch):
    pytest.importorskip("rich")
    assert "2/2" in seen(monkeypatch, Terminal())
    assert seen(monkeypatch, Terminal(), progress=False) == ""
    assert seen(monkeypatch, io.StringIO()) == ""
    assert "2/2" in seen(monkeypatch, io.StringIO(), progress=True)
    drawn = seen(monkeypatch, io.StringIO(), notebook=True)
    assert '<progress value="0" max="2">' in drawn
    assert '<progress value="2" max="2">' in drawn
    assert "2/2" in drawn


def test_a_notebook_draws_its_bar_without_rich(monkeypatch):
    """It is no terminal: escape codes would be written into the cell."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    drawn = seen(monkeypatch, io.StringIO(), notebook=True)
    assert "2/2" in drawn
    assert "\x1b" not in drawn


def test_a_bar_that_is_stopped_stays_where_it_was(monkeypatch):
    stream = io.StringIO()
    as_notebook(monkeypatch, stream)
    with suppress(KeyboardInterrupt), progress_bar(5, "<rounds>", True) as advance:
        advance()
        advance()
        raise KeyboardInterrupt
    last = stream.getvalue().split("<div>")[-1]
    assert 'value="2" max="5"' in last
    assert "&lt;rounds&gt; 2/5, 0:00:00, left: 0:00:00" in last


def test_a_bar_is_left_out_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert seen(monkeypatch, Terminal()) == ""


# ------------------------------------------------------------------------------------- interrupts

# Points of a round with all kernels: 56 of them, 8 weights, 2 readers.
ROUND = 896


@pytest.mark.parametrize(("rounds", "at"), [(1, ROUND + 1), (2, 2 * ROUND + 5)])
def test_an_interrupt_leaves_the_best_so_far(rounds, at):
    with pytest.warns(UserWarning, match=rf"interrupted after {rounds} of 4 rounds") as caught:
        search = NSSECV(n_repeats=4, scoring=CountedCalls(at)).fit(X, Y)
    assert caught[0].filename == __file__
    assert search.n_splits_ == rounds
    assert len(search.voters_) > 1
    whole = NSSECV(n_repeats=4).fit(X, Y).cv_results_
    for split in range(rounds):
        name = f"split{split}_test_score"
        np.testing.assert_array_equal(search.cv_results_[name], whole[name])


def test_an_interrupt_among_heats_leaves_the_best_of_these():
    with pytest.warns(UserWarning, match=r"interrupted after 1 of 8 rounds"):
        search = NSSECV(n_repeats=4, n_voters=1, scoring=CountedCalls(ROUND + 9)).fit(*MANY)
    assert search.n_splits_ == 1
    assert search.best_estimator_.embedding_.shape[0] == 400


def test_an_interrupt_in_the_first_round_leaves_nothing():
    search = NSSECV(n_repeats=4, scoring=CountedCalls(9))
    with pytest.raises(KeyboardInterrupt, match=r"in the first of 4 rounds"):
        search.fit(X, Y)
    assert not hasattr(search, "n_features_in_")


@pytest.mark.filterwarnings("ignore:NSSECV was interrupted")
def test_a_second_interrupt_stops(monkeypatch):
    def press(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(NSSE, "fit", press)  # the fit of what was chosen
    search = NSSECV(n_repeats=4, scoring=CountedCalls(ROUND + 1))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert not hasattr(search, "best_estimator_")


@pytest.mark.slow
def test_a_rare_class_is_found_if_its_mistakes_count():
    # Eight samples of one digit beside a hundred of another: the README says what to do.
    X, y = load_digits(return_X_y=True)
    missed = {"untuned": [], "balanced": []}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        often, rare = (rng.permutation(np.flatnonzero(y == digit)) for digit in (3, 8))
        train, test = np.concatenate([often[:100], rare[:8]]), rare[8:]
        for name, model in (("untuned", NSSE()), ("balanced", NSSECV(scoring="balanced_accuracy"))):
            missed[name].append(1.0 - model.fit(X[train], y[train]).score(X[test], y[test]))
    assert np.mean(missed["balanced"]) < 0.5 * np.mean(missed["untuned"])
