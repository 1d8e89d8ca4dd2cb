"""The paper as data, its protocols, and the rows behind its tables."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from nsse import NSSE, SUPLAP
from nsse.estimators.catalogue import DEFAULTS_0_1
from nsse.evaluation import Row, per_class_split
from nsse.extensions import nearest_labels
from nsse.paper import figures, nsse_row
from nsse.paper.candidates import Tried, packed, unpacked
from nsse.paper.grids import GRIDS, candidate, umap_installed
from nsse.paper.literal import literal_nsse
from nsse.paper.printed import METHODS, PRINTED, RUN_TIMES, TABLES, printed_error
from nsse.paper.runtime import run_time
from nsse.paper.settings import ALL_METHODS, FULL, N_CLASSES, QUICK, Profile
from nsse.paper.tables import cells, choice_lines, paper_errors, table_lines
from nsse.paper.validation import validation_splits
from nsse.paper.verdict import findings
from nsse.paper.work import Work, samples
from nsse.selection import BalancedSplits

TINY = Profile(
    "tiny",
    {"digits": (4,)},
    weights={"mu1": (1.0,), "mu2": (0.01, 0.1), "mu3": (1.0,), "n_neighbors": (5,)},
    shares=(0.5, 1.0),
    multiples=(2,),
    nsse_splits=(2, 2),
    other_splits=2,
    coarse=True,
    repeats=dict.fromkeys(ALL_METHODS, 2),
)


@pytest.fixture(scope="module")
def nsse_row_of_digits() -> Row:
    return Work(TINY)(TINY.task("digits", "NSSE", 4, 0))


def made(dataset, n_train, method, seed, mistakes, chosen, n_test=100, profile=FULL, validation=None):
    """A row with these mistakes, without computing anything."""
    details = {"candidates": packed(mistakes), "n_test": n_test}
    if method == "NSSE":
        details["validation"] = packed(validation or dict.fromkeys(mistakes, 0))
    picked = {"scaling": chosen.scaling, "d": chosen.d, **chosen.parameters}
    task = profile.task(dataset, method, n_train, seed)
    return Row(task, mistakes[chosen] / n_test, 1.0, 0.0, picked, details)


# The printed numbers ------------------------------------------------------------------------------


def paper_source() -> str:
    """The source of the paper, where a reader has it: NSSE_PAPER, or beside the project."""
    named = os.environ.get("NSSE_PAPER")
    beside = Path(__file__).resolve().parents[3] / "shared" / "paper" / "nsse_paper.tex"
    path = Path(named) if named else beside
    if not path.is_file():
        pytest.skip("NSSE_PAPER does not name the source of the paper")
    return path.read_text(encoding="utf-8")


def test_every_table_has_its_methods_and_sizes():
    assert list(PRINTED) == list(TABLES)
    assert len(METHODS) == 11
    assert {name: sorted(rows) for name, rows in PRINTED.items()} == {
        "yale": [6, 10, 15, 20, 30],
        "coil20": [7, 10, 15, 20, 30],
        "orl": [2, 3, 5],
        "fei": [2, 4, 7],
        "csie": [7, 14, 21],
        "mit_cbcl": [10, 20, 40],
    }
    for rows in PRINTED.values():
        for row in rows.values():
            assert list(row) == list(METHODS)
            assert all(0 < value < 100 for value in row.values())
    assert printed_error("orl", 2, "NSSE") == 14.11
    assert printed_error("orl", 2, "NCA") is None
    assert printed_error("digits", 5, "NSSE") is None


def test_numbers_are_those_of_the_source():
    source = paper_source()
    lines = [line for line in source.splitlines() if line.count("&") == 11 and re.match(r"\d", line)]
    read = []
    for line in lines:
        cells = [re.sub(r"[^0-9.]", "", cell) for cell in line.replace(r"\\", "").split("&")]
        read.append((int(cells[0]), *map(float, cells[1:])))
    ours = [
        (size, *(row[m] for m in METHODS)) for rows in PRINTED.values() for size, row in rows.items()
    ]
    assert read == ours
    times = re.findall(r"(\d+) \| ([\d.]+) sec", source)
    by_size = {(n, s) for sizes in RUN_TIMES.values() for n, s in sizes.items()}
    assert {(int(n), float(s)) for n, s in times} == by_size
    assert len(times) == 9


# Settings -------------------------------------------------------------------------------------------


def test_the_full_run_has_all_cells_with_20_realisations_of_the_main_methods():
    tasks = FULL.tasks(["coil20", "orl", "yale"], METHODS)
    per_method = {m: len([t for t in tasks if t.method == m]) for m in METHODS}
    for method, count in per_method.items():
        often = method in {"NSSE", "SUPLAP", "SVM", "NN", "LDA"}
        assert count == 13 * (20 if often else 5), method
    assert len(set(tasks)) == len(tasks)
    # Realisation by realisation: a run that is stopped has the same seeds everywhere.
    assert [t.seed for t in tasks] == sorted(t.seed for t in tasks)


def test_tasks_can_be_fewer():
    tasks = FULL.tasks(["orl"], ["NN", "SPE"], repeats=2, sizes=[3])
    assert {(t.dataset, t.n_train, t.method, t.seed) for t in tasks} == {
        ("orl", 3, m, s) for m in ("NN", "SPE") for s in (0, 1)
    }


def test_a_row_of_other_settings_is_another_row():
    other = replace(FULL, nsse_splits=(6, 6))
    assert FULL.task("orl", "NSSE", 2, 0) != other.task("orl", "NSSE", 2, 0)
    assert FULL.task("orl", "NN", 2, 0) == other.task("orl", "NN", 2, 0)
    assert not FULL.owns(other.task("orl", "NSSE", 2, 0))
    assert FULL.owns(FULL.task("orl", "NSSE", 2, 7))
    assert not FULL.owns(QUICK.task("digits", "NSSE", 5, 0))
    with pytest.raises(ValueError, match=r"^`task` must be made with the settings of this version"):
        Work(other)(FULL.task("orl", "NSSE", 2, 0))


def test_large_training_sets_have_their_own_weights():
    small, large = (FULL.recipe("yale", "NSSE", n).parameters for n in (6, 20))
    assert {point["mu2"] for point in small} == {1e-6, 1e-4, 1e-2}
    assert {point["mu2"] for point in large} == {1e-4, 1e-3}


@pytest.mark.slow
def test_number_of_classes_is_that_of_the_data():
    for name in ("digits", "objects"):
        assert len(np.unique(samples(name, "unit", (25, 25)).y)) == N_CLASSES[name]


@pytest.mark.parametrize("method", [m for m in GRIDS if m != "UMAP"])
def test_every_method_can_be_fitted(method, digits):
    X, y = digits.X, digits.codes
    train, test = per_class_split(y, 6, 0)
    parameters = next(iter(GRIDS[method].parameters(coarse=True)))
    model = candidate(method, parameters, X[train], 10).fit(X[train], y[train])
    assert np.mean(model.predict(X[test]) == y[test]) > 0.5


@pytest.mark.skipif(not umap_installed(), reason="umap-learn is not installed")
@pytest.mark.filterwarnings("ignore")
def test_umap_can_be_fitted(digits):
    X, y = digits.X, digits.codes
    train, test = per_class_split(y, 8, 0)
    model = candidate("UMAP", {"umap__n_neighbors": 5}, X[train], 10).fit(X[train], y[train])
    assert np.mean(model.predict(X[test]) == y[test]) > 0.5


# Rows -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nsse_row_is_what_a_grid_search_and_nsse_give(nsse_row_of_digits):
    """By another route: the choice is that of a grid search, the errors those of plain fits."""
    row, recipe = nsse_row_of_digits, TINY.recipe("digits", "NSSE", 4)
    data = samples("digits", "unit", (25, 25))
    train, test = per_class_split(data.y, 4, 0)
    X, y = data.X[train], data.y[train]
    grid = {name: list(values) for name, values in TINY.weights.items()} | {"n_components": [4, 9]}
    search = GridSearchCV(NSSE.as_published(), grid, cv=BalancedSplits(2, 0.15, 0)).fit(X, y)
    chosen = {k: v for k, v in row.chosen.items() if k not in {"scaling", "d"}}
    assert chosen | {"n_components": row.chosen["d"]} == search.best_params_
    assert row.error == pytest.approx(1 - search.score(data.X[test], data.y[test]))
    mistakes = unpacked(row.details["candidates"])
    assert {(c.d, c.parameters["mu2"]) for c in mistakes} == {(4, 0.01), (4, 0.1), (9, 0.01), (9, 0.1)}
    for c, count in mistakes.items():
        model = NSSE.as_published(c.d, **c.parameters).fit(X, y)
        wrong = int(np.sum(model.predict(data.X[test]) != data.y[test]))
        assert count == wrong
    wrong = unpacked(row.details["validation"])
    assert len(recipe.parameters) == 2
    assert set(wrong) == set(mistakes)
    n_validated = sum(len(valid) for _, valid in validation_splits(recipe, y, 0))
    results = search.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        (count,) = (n for c, n in wrong.items() if {**c.parameters, "n_components": c.d} == params)
        assert 1 - count / n_validated == pytest.approx(score)


def test_other_row_has_the_mistakes_of_separate_fits():
    row = Work(TINY)(TINY.task("digits", "SUPLAP", 4, 1))
    data = samples("digits", "unit", (25, 25))
    train, test = per_class_split(data.y, 4, 1)
    errors = unpacked(row.details["candidates"])
    assert {c.d for c in errors} == {4, 9, 20, "all"}
    for c, count in errors.items():
        if c.d == 9:  # below, equal eigenvalues leave the basis to chance
            parameters = DEFAULTS_0_1["SUPLAP"] | c.parameters
            model = SUPLAP(c.d, **parameters).fit(data.X[train], data.y[train])
            near = KNeighborsClassifier(1).fit(model.embedding_, data.y[train])
            wrong = near.predict(model.transform(data.X[test])) != data.y[test]
            assert count == wrong.sum()
    chosen = Tried(
        "unit", row.chosen["d"], {k: row.chosen[k] for k in ("mu", "n_neighbors_between", "sigma")}
    )
    assert row.error == errors[chosen] / len(test)


def test_a_row_is_the_same_again(nsse_row_of_digits):
    again = Work(TINY)(nsse_row_of_digits.task)
    assert (again.error, again.chosen, again.details) == (
        nsse_row_of_digits.error,
        nsse_row_of_digits.chosen,
        nsse_row_of_digits.details,
    )


@pytest.mark.slow
def test_what_is_chosen_does_not_look_at_the_test_samples(monkeypatch):
    """Labels of test samples changed: every error changes, no choice does."""
    import nsse.paper.work as work

    plain = {m: Work(TINY)(TINY.task("digits", m, 4, 0)) for m in ("NSSE", "LDA", "SVM")}
    data = samples("digits", "unit", (25, 25))
    train, _ = per_class_split(data.y, 4, 0)
    original = per_class_split

    def shuffled(dataset, scaling, size):
        y = (data.y + 1) % 10
        y[train] = data.y[train]
        return replace(data, y=y)

    monkeypatch.setattr(work, "samples", shuffled)
    monkeypatch.setattr(work, "per_class_split", lambda y, n, seed: original(data.y, n, seed))
    for method, row in plain.items():
        changed = Work(TINY)(TINY.task("digits", method, 4, 0))
        assert changed.chosen == row.chosen
        assert changed.error > 0.5 > row.error


def test_nearest_labels_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    Y, Z, y = rng.standard_normal((40, 3)), rng.standard_normal((60, 3)), rng.integers(0, 4, 40)
    expected = KNeighborsClassifier(1).fit(Y, y).predict(Z)
    np.testing.assert_array_equal(nearest_labels(Y, y, Z), expected)


def test_candidates_come_back_as_they_were():
    mistakes = {
        Tried("unit", 3, {"a": 1}): 5,
        Tried("unit", "all", {"a": 1}): 6,
        Tried("raw", None, {"a": None}): 7,
    }
    assert unpacked(packed(mistakes)) == mistakes
    assert list(unpacked(packed(mistakes))) == list(mistakes)


def test_equal_candidates_are_found_by_each_other():
    assert {Tried("unit", 3, {"a": 1.0, "b": None}): 5}[Tried("unit", 3, {"b": None, "a": 1})] == 5


def test_two_samples_of_a_class_are_held_out_class_by_class():
    y = np.repeat(np.arange(6), 2)
    plain = FULL.recipe("orl", "NN", 2)
    assert not plain.needs_pairs
    for train, valid in validation_splits(plain, y, 0):
        assert sorted(y[valid]) == sorted(y[train]) == list(range(6))
    paired = FULL.recipe("orl", "LDA", 2)
    splits = list(validation_splits(paired, y, 0))
    assert len(splits) == 2 * paired.n_splits
    for (train, valid), (_, other) in zip(splits[::2], splits[1::2], strict=True):
        assert len(train) == 9
        assert set(train).isdisjoint(valid)
        assert set(y[valid]).isdisjoint(y[other])
        assert sorted([*y[valid], *y[other]]) == list(range(6))
    assert not FULL.recipe("orl", "LDA", 3).needs_pairs


# Tables ---------------------------------------------------------------------------------------------


def test_protocols_by_hand():
    a, b = Tried("unit", 5), Tried("raw", 9)
    rows = [
        made("orl", 2, "NSSE", 0, {a: 10, b: 14}, b),
        made("orl", 2, "NSSE", 1, {a: 20, b: 12}, a),
        made("orl", 2, "NSSE", 2, {a: 12, b: 10}, b),
    ]
    paper, honest = cells(rows, FULL)
    assert (paper.protocol, paper.scaling, paper.d) == ("paper", "raw", "9")
    assert paper.error == pytest.approx(12.0)  # (14 + 12 + 10) / 3, against 14 for the other
    assert paper.stderr == pytest.approx(2 / np.sqrt(3))
    assert honest.error == pytest.approx((14 + 20 + 10) / 3)
    assert (honest.scaling, honest.d) == ("raw × 2, unit × 1", "median 9")
    assert paper.printed == honest.printed == 14.11
    assert paper.no_worse
    assert not honest.no_worse or honest.error <= 14.11 + honest.stderr
    assert table_lines([paper])[0] == ["paper", "orl", 2, "NSSE", "12.0000", "1.1547", 3, "14.11"]
    assert choice_lines([paper])[0][4:] == ["raw", "9", "(weights by cross-validation)"]


def test_weights_of_the_paper_protocol_are_those_of_cross_validation():
    """One set for all realisations: the fewest mistakes on all inner splits, whatever the test says."""
    low, high, far = (Tried("unit", d, {"mu1": mu1}) for d, mu1 in ((5, 0.1), (5, 1.0), (9, 1.0)))
    tests = {low: 30, high: 1, far: 40}, {low: 10, high: 2, far: 40}
    inner = {low: 4, high: 9, far: 0}, {low: 5, high: 1, far: 0}
    rows = [made("orl", 2, "NSSE", s, tests[s], low, validation=inner[s]) for s in (0, 1)]
    assert paper_errors(rows) == {low: [30.0, 10.0], far: [40.0, 40.0]}
    paper, _ = cells(rows, FULL)
    assert (paper.error, paper.d) == (20.0, "5")
    assert paper.parameters == "mu1=0.1 (weights by cross-validation)"


def test_of_equal_weights_the_larger_are_taken():
    low, high = (Tried("unit", 5, {"mu3": mu3}) for mu3 in (0.1, 1.0))
    row = made("orl", 2, "NSSE", 0, {low: 1, high: 2}, low, validation={low: 3, high: 3})
    assert list(paper_errors([row])) == [high]


def test_weights_that_some_realisation_could_not_fit_are_none():
    low, high = (Tried("unit", 5, {"mu3": mu3}) for mu3 in (0.1, 1.0))
    rows = [
        made("orl", 2, "NSSE", 0, {low: 1, high: 2}, low),
        made("orl", 2, "NSSE", 1, {low: 1, high: 2}, low, validation={low: 3}),
    ]
    assert list(paper_errors(rows)) == [low]


def test_a_candidate_that_some_realisation_lacks_is_none():
    a, b = Tried("unit", 5), Tried("unit", 80)
    rows = [made("orl", 2, "LDE", 0, {a: 10, b: 1}, a), made("orl", 2, "LDE", 1, {a: 12}, a)]
    assert cells(rows, FULL)[0].error == pytest.approx(11.0)


def test_one_realisation_has_no_standard_error_and_foreign_rows_do_not_count():
    a = Tried("unit", None)
    mine = made("orl", 2, "NN", 0, {a: 10}, a)
    other = replace(mine, task=replace(mine.task, seed=1, parameters={"recipe": "other"}))
    paper, _ = cells([mine, other], FULL)
    assert (paper.repeats, paper.stderr) == (1, None)
    assert table_lines([paper])[0][5] == ""


def test_findings_count_what_the_cells_say():
    a, d = Tried("unit", None), Tried("unit", 8)
    rows = [made("orl", 2, "NSSE", s, {d: 14}, d) for s in (0, 1)]
    rows += [made("orl", 3, "NSSE", s, {d: 9}, d) for s in (0, 1)]
    rows += [made("orl", n, "NN", s, {a: 10}, a) for n in (2, 3) for s in (0, 1)]
    told = findings(cells(rows, FULL))
    assert "in 1 of 2 cells; worse: ORL 3 (9.00 against 8.00)." in told[0]
    # The best others as printed: IsoKRR 14.81 and MReg 8.38.
    assert told[1].endswith("as printed in 1 of 2 cells (3 per class: MReg 8.38 against 9.00).")
    assert told[2].endswith("in 1 of 2 cells (2 per class: NN 10.00 against 14.00).")
    assert any("d = 8 (2), 8 (3)" in sentence and "40 classes" in sentence for sentence in told)


# Run times and figures --------------------------------------------------------------------------


def test_run_time_measures_the_same_problem():
    line = run_time("digits", 50)
    assert line.n_samples == 50
    assert min(line.seconds, line.literal_seconds) > 0
    # The joint search never ends above Algorithm 1.
    assert line.excess <= line.literal_excess * (1 + 1e-6)
    assert len(line.columns()) == 8


def test_literal_algorithm_reaches_the_objective_of_alternating_nsse(digits):
    X, y = digits.X[::4], digits.codes[::4]
    model = NSSE.as_published(3, mu3=0.5, solver="alternating").fit(X, y)
    ended = literal_nsse(
        X,
        y,
        3,
        mu1=1.0,
        mu2=0.01,
        mu3=0.5,
        n_neighbors=5,
        sigma_range=(0.1, 10.0),
        n_sigmas=40,
        tol=1e-8,
        max_iter=50,
    )
    assert ended.objective == pytest.approx(model.objective_, rel=1e-4)


@pytest.mark.slow
def test_convergence_frame_falls_and_its_errors_are_those_of_the_steps():
    frame = figures.convergence("objects")
    for start, sigma in figures.STARTS.items():
        at = [i for i, name in enumerate(frame["start"]) if name == start]
        excess = [frame["excess"][i] for i in at]
        assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(excess))
        assert [frame["step"][i] for i in at] == list(range(1, len(at) + 1))
        last = NSSE.as_published(10, solver="alternating", sigma_init=sigma)
        data = samples("objects", "unit", (25, 25))
        train, test = per_class_split(data.y, 5, 0)
        last.fit(data.X[train], data.y[train])
        assert frame["error"][at[-1]] == pytest.approx(
            100 * (1 - last.score(data.X[test], data.y[test]))
        )
        assert frame["error"][at[0]] > frame["error"][at[-1]]  # both starts are bad ones


def test_dimension_frame_is_the_best_of_each_dimension():
    low, high = {"pca__n_components": 0.85}, {"pca__n_components": 0.95}
    mistakes = {Tried("unit", 5, low): 30, Tried("unit", 5, high): 20, Tried("unit", "all", low): 10}
    rows = [made("orl", 2, "LDA", s, mistakes, Tried("unit", 5, low)) for s in (0, 1)]
    frame = figures.error_against_dimension(rows, FULL, "orl")
    assert list(zip(frame["method"], frame["d"], frame["error"], strict=True)) == [
        ("LDA", 5, 20.0),
        ("LDA", 39, 10.0),
    ]


@pytest.mark.slow
def test_plane_frame_has_every_sample_of_ten_classes_twice():
    frame = figures.plane_embeddings(QUICK, "objects")
    assert len(frame["y1"]) == 2 * 10 * 72
    for method in ("NSSE", "SUPLAP"):
        at = [i for i, name in enumerate(frame["method"]) if name == method]
        train = [i for i in at if frame["set"][i] == "train"]
        test = [i for i in at if frame["set"][i] == "test"]
        points = np.column_stack([frame["y1"], frame["y2"]])
        near = KNeighborsClassifier(1).fit(points[train], np.array(frame["label"])[train])
        error = 100 * (1 - near.score(points[test], np.array(frame["label"])[test]))
        assert frame["error"][at[0]] == pytest.approx(error, abs=0.5)


def test_cross_validated_table_has_every_point(digits):
    recipe = TINY.recipe("digits", "NSSE", 4)
    train, _ = per_class_split(digits.codes, 4, 0)
    table = nsse_row.cross_validated(recipe, digits.X[train], digits.codes[train], [2, 5], 0)
    assert table.scores.shape == (4, 2)
    assert {point["n_components"] for point in table.points} == {2, 5}
