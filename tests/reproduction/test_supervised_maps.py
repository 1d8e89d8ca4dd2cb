"""The benchmark of maps: what is drawn, what is measured, and what the page is made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness

from reproduction.commands import main
from reproduction.maps import measures, page, panels, sets
from reproduction.maps.benchmark import RECIPE, Benchmark, measured
from reproduction.maps.methods import (
    CLASS_MAP,
    COMPILED,
    LEFT_OUT,
    METHODS,
    REFERENCES,
    FittedMap,
    available,
)
from reproduction.maps.reading import FLAT, FULL, MEASURES, Measure, complete, frame_of, ranking
from reproduction.rows import Row, RowFile, Task

QUICK = ["SmoothEmbedding", "LDA", "logistic class map", "5-NN of all features"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a folder of data with two tables and two wide sets."""
    monkeypatch.setenv("NSSE_DATA", str(tmp_path))
    sets.samples.cache_clear()
    (tmp_path / "maps").mkdir()
    rng = np.random.default_rng(0)
    lines = ["class,number,word"]
    for label, count in (("a", 60), ("b", 50), ("c", 44), ("rare", 3)):
        for _ in range(count):
            lines.append(f"{label},{rng.normal(3 * ord(label[0])):.3f},{rng.choice(['x', 'y', '?'])}")
    text = "\n".join(lines) + "\n"
    (tmp_path / "maps" / "made.csv").write_text(text, encoding="utf-8")
    (tmp_path / "maps" / "zoo.csv").write_text(text, encoding="utf-8")
    twice = text.replace("\n", "\ncolumn,number,word\n", 1)
    (tmp_path / "maps" / "named_twice.csv").write_text(twice, encoding="utf-8")
    (tmp_path / "maps" / "torn.csv").write_text("class,n\na,1\nb\n", encoding="utf-8")
    (tmp_path / "wide").mkdir()
    for name, count in (("genes_ecoli", 40), ("series_few", 39), ("genes_b", 45), ("embedded_x", 50)):
        y = np.repeat(["b", "a"], count)
        np.savez(tmp_path / "wide" / f"{name}.npz", X=rng.normal(size=(len(y), 9)), y=y)
    yield tmp_path
    sets.samples.cache_clear()


def blobs(n_classes=3, n=30, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n)
    return rng.normal(size=(len(y), n_features)) + 3.0 * np.eye(n_features)[y % n_features], y


# Data sets ------------------------------------------------------------------------------------------


def test_the_first_column_is_the_class_and_words_become_columns(home):
    X, y = sets.samples("made")
    assert X.shape == (154, 1 + 3)  # without the rare class, with a column for each of three words
    assert np.bincount(y).tolist() == [60, 50, 44]
    with pytest.raises(ValueError, match=r"`torn.csv` must have as many entries in every row"):
        sets.samples("torn")


def test_a_second_line_of_names_does_not_turn_numbers_into_words(home):
    np.testing.assert_array_equal(sets.samples("named_twice")[0], sets.samples("made")[0])


def test_a_table_whose_labels_are_names_is_left_out(home):
    assert "made" in sets.table_names()
    assert "zoo" not in sets.table_names()


def test_wide_sets_are_of_the_reporting_half_and_have_enough_samples(home):
    fitting = {"genes_ecoli", "genes_b", "embedded_x"}
    expected = {name for name in fitting if sets.study_sets.half_of(name) == "report"}
    assert set(sets.wide_names()) == expected


def test_training_and_test_samples_are_apart_and_small_classes_give_half():
    y = np.repeat([0, 1, 2], [100, 30, 1000])
    train, test = sets.draw(y, 20, seed=1)
    assert np.bincount(y[train]).tolist() == [20, 15, 20]
    assert len(test) == sets.MOST_TEST
    assert not set(train) & set(test)
    assert not np.array_equal(train, sets.draw(y, 20, seed=2)[0])


def test_a_size_needs_half_of_the_classes_to_have_twice_as_many():
    y = np.repeat([0, 1, 2, 3], [40, 40, 39, 8])
    assert sets.takes_part(y, 20)
    assert not sets.takes_part(y, 50)
    assert sets.takes_part(np.repeat([0, 1], 5), 10)  # the smallest size is for all
    assert not sets.takes_part(np.repeat(np.arange(60), 60), 20)  # 1200 training samples


# Measures -------------------------------------------------------------------------------------------


def literal_trustworthiness(X, F, k):
    """Return one minus the scaled sum of the ranks of wrong neighbors, by its definition."""
    n = len(X)
    far, near = cdist(X, X), cdist(F, F)
    total = 0
    for i in range(n):
        ranks = {j: place for place, j in enumerate(np.argsort(far[i], kind="stable"))}
        neighbors = [j for j in np.argsort(near[i], kind="stable") if j != i][:k]
        total += sum(max(ranks[j] - k, 0) for j in neighbors)
    return 1.0 - 2.0 / (n * k * (2 * n - 3 * k - 1)) * total


def test_trust_is_that_of_the_definition_and_of_scikit_learn():
    pytest.importorskip("zadu", reason="The package zadu is not installed (pip install nsse[evidence]).")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    F = X[:, :2] + 0.3 * rng.normal(size=(40, 2))
    found = measures.trust(measures.Unseen(X, np.zeros(40, dtype=int)), F)
    assert found["trustworthiness"] == pytest.approx(literal_trustworthiness(X, F, 10))
    assert found["continuity"] == pytest.approx(literal_trustworthiness(F, X, 10))
    assert found["trustworthiness"] == pytest.approx(trustworthiness(X, F, n_neighbors=10))


def test_accuracies_are_those_of_five_neighbors_with_and_without_the_sample():
    F = np.concatenate([np.arange(6.0), np.arange(10.0, 16.0)])[:, np.newaxis]
    y = np.repeat([0, 1], 6)
    assert measures.left_out_accuracy(F, y) == 1.0
    assert measures.accuracy(F, y, np.array([[2.0], [12.0], [13.0]]), np.array([0, 1, 0])) == 2 / 3
    alternating = np.arange(12) % 2
    assert measures.left_out_accuracy(np.arange(12.0)[:, np.newaxis], alternating) < 0.5


def test_alone_measures_how_far_samples_move_without_the_others():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert measures.alone(lambda Z: 2 * Z, X, 2 * X) == 0.0
    moved = measures.alone(lambda Z: Z - Z.mean(axis=0), X, X - X.mean(axis=0))
    expected = np.sqrt(np.mean(np.sum((X - X.mean(axis=0))[:10] ** 2, axis=1)) / X.var(axis=0).sum())
    assert moved == pytest.approx(expected)


def test_refit_is_zero_for_equal_forms():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(20, 2))
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert measures.procrustes_distance(F, 3.0 * F @ turn + 1.0) == pytest.approx(0.0, abs=1e-12)
    assert measures.procrustes_distance(F, np.zeros((20, 1))) == 1.0
    assert 0.3 < measures.procrustes_distance(F, rng.normal(size=(20, 2))) <= 1.0
    X, y = blobs()
    fit = lambda X, y: [FittedMap("fixed", None, X, lambda Z: Z[:, :2])]  # noqa: E731
    assert measures.refit(fit, X, y, X, 0) == {"fixed": pytest.approx(0.0, abs=1e-12)}


def test_bootstrap_samples_keep_the_sizes_of_classes():
    y = np.repeat([0, 1, 2], [2, 5, 40])
    for seed in range(20):
        rows = measures.bootstrap(y, np.random.default_rng(seed))
        assert np.bincount(y[rows]).tolist() == [2, 5, 40]
        assert min(len(set(rows[y[rows] == code])) for code in range(3)) >= 2


def test_structure_is_high_if_the_map_shows_the_features_of_the_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 8))
    X[:, :3] += np.outer(y, [3.0, 2.0, 1.0])
    unseen = measures.Unseen(X, y)
    shown = measures.structure(unseen, X[:, :3] * [3.0, 2.0, 1.0])
    hidden = measures.structure(unseen, X[:, 5:])
    assert shown > hidden
    assert measures.structure(unseen, np.zeros((300, 2))) == 0.0


# Methods --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    # UMAP compiles itself, which takes half a minute.
    [pytest.param(name, marks=[pytest.mark.slow] * (name in COMPILED)) for name in METHODS],
)
@pytest.mark.parametrize(("n_classes", "d"), [(2, 2), (5, 2), (5, 4)])
def test_every_method_places_new_samples(name, n_classes, d):
    if name not in available():
        pytest.skip(f"The package of {name} is not installed (pip install nsse[evidence]).")
    X, y = blobs(n_classes)
    for one in METHODS[name](X[::2], y[::2], d):
        F = one.place(X[1::2])
        assert F.shape == (len(X[1::2]), one.train.shape[1])
        assert one.train.shape[1] <= d
        assert np.isfinite(F).all()
        assert np.isfinite(one.train).all()
        assert measures.accuracy(one.train, y[::2], F, y[1::2]) > 1.3 / n_classes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["SmoothEmbedding", "SmoothEmbeddingCV"])
def test_ours_has_four_maps_in_the_plane(name):
    X, y = blobs(4)
    names = [one.name for one in METHODS[name](X, y, 2)]
    assert names == [name, name + LEFT_OUT, name + CLASS_MAP, name + CLASS_MAP + LEFT_OUT]
    assert [one.name for one in METHODS[name](X, y, 3)] == names[:2]


def test_left_out_positions_are_no_fitted_positions():
    X, y = blobs()
    fitted, left_out, *_ = METHODS["SmoothEmbedding"](X, y, 2)
    permuted = np.random.default_rng(0).permutation(y)
    fitted, left_out, *_ = METHODS["SmoothEmbedding"](X, permuted, 2)
    assert measures.left_out_accuracy(fitted.train, permuted) > 0.6  # it separates random labels
    assert measures.left_out_accuracy(left_out.train, permuted) < 0.5


# Rows -----------------------------------------------------------------------------------------------


def test_the_first_split_of_everything_comes_first(home):
    tasks = Benchmark(["made"], QUICK, (20, 10), 3).tasks()
    n_first = sum(task.seed == 0 for task in tasks)
    assert {task.seed for task in tasks[:n_first]} == {0}
    first = tasks[:n_first]
    assert [(task.n_train, task.d) for task in first[:4]] == [(20, 2), (20, 2), (20, 2), (20, None)]
    assert len(set(tasks)) == len(tasks)
    # With three classes, two coordinates are one less than classes, and one row counts for both.
    assert all(task.d == 2 for task in first if task.method == "LDA")


def test_a_row_has_every_measure_and_is_the_same_again(home):
    pytest.importorskip("zadu", reason="The package zadu is not installed (pip install nsse[evidence]).")
    task = Task("made", "SmoothEmbedding", 10, 0, 2, RECIPE, "maps")
    row, again = measured(task), measured(task)
    assert row.details == again.details
    frame = frame_of([row])
    assert set(frame["dimension"]) == {FLAT, FULL}
    assert {measure.name for measure in MEASURES} <= set(frame.columns)
    assert frame[[measure.name for measure in MEASURES]].notna().all(axis=None)
    assert row.error == pytest.approx(1.0 - frame["accuracy"][0], abs=1e-4)
    later = measured(Task("made", "SmoothEmbedding", 10, 3, 2, RECIPE, "maps"))
    assert "null" not in later.details["maps"]["SmoothEmbedding"]


def test_rows_and_the_page_are_made_by_the_command(home, tmp_path, capsys):
    pytest.importorskip("zadu", reason="The package zadu is not installed (pip install nsse[evidence]).")
    out = tmp_path / "out"
    command = ["maps", "--out", str(out), "--sets", "made", "--sizes", "10", "--splits", "2"]
    assert main([*command, "--methods", *QUICK]) == 0
    assert "8 computed" in capsys.readouterr().out
    assert main([*command, "--methods", *QUICK]) == 0
    assert "8 found, 0 computed" in capsys.readouterr().out
    positions = panels.positions(
        ["made"], {"LDA": "LDA", "SmoothEmbedding class map": "SmoothEmbedding"}
    )
    positions.to_csv(out / "panels.csv", index=False)
    assert main(["maps", "--out", str(out), "--page"]) == 0
    text = (out / "maps.md").read_text(encoding="utf-8")
    assert "on 1 experiments (8 rows)." in text
    assert "The rows of `SmoothEmbeddingCV` are not complete, so they are left out." in text
    assert "There are 2 random splits." in text
    assert all(f"| {measure.head} | {measure.meaning} |" in text for measure in MEASURES)
    assert (out / "images" / "maps_panels.png").exists()


def test_a_page_needs_rows(tmp_path, capsys):
    assert main(["maps", "--out", str(tmp_path), "--page"]) == 2
    assert "must hold rows" in capsys.readouterr().err


# Ranks ----------------------------------------------------------------------------------------------


def made_frame():
    values = {"x": {"A": 0.9, "B": 0.8, "C": 0.7}, "y": {"A": 0.6, "B": 0.8, "C": 0.7}}
    lines = [
        {"dataset": name, "size": size, "split": 0, "dimension": FLAT, "map": one, "accuracy": value}
        for name, sizes in (("x", (10, 20)), ("y", (10,)))
        for size in sizes
        for one, value in values[name].items()
    ]
    return pd.DataFrame(lines)


def test_ranks_are_means_over_data_sets_and_not_over_experiments():
    found = ranking(made_frame(), MEASURES[0])
    assert found.ranks.to_dict() == {"B": 1.5, "A": 2.0, "C": 2.5}
    assert found.values["A"] == pytest.approx((0.9 + 0.6) / 2)
    assert (found.n_sets, found.n_experiments) == (2, 3)
    smaller = ranking(made_frame(), Measure("accuracy", "", "", is_larger_better=False))
    assert smaller.ranks.to_dict() == {"C": 1.5, "A": 2.0, "B": 2.5}


def test_ranks_need_experiments_that_all_methods_have():
    frame = made_frame()
    found = ranking(frame[~((frame["dataset"] == "y") & (frame["map"] == "A"))], MEASURES[0])
    assert found.n_sets == 1
    assert list(found.ranks.index) == ["A", "B", "C"]


def test_fitted_and_left_out_positions_count_once_on_test_samples():
    frame = made_frame().replace({"map": {"C": "A" + LEFT_OUT}})
    assert list(ranking(frame, Measure("accuracy", "", "", True, True)).ranks.index) == ["A", "B"]


def test_the_three_best_of_every_measure_are_bold():
    ranks = pd.Series({"a": 1.0, "b": 2.0, "SmoothEmbedding class map": 3.5, "c": 3.5, "d": 5.0})
    found = {"accuracy": page.Ranking(ranks, ranks / 10, 9, 9)}
    found["gap"] = page.Ranking(ranks[["c", "d"]], ranks, 8, 8)
    text = page.table_of(found)
    assert "| `SmoothEmbedding` class map | 35.0 | **3.5** |  |" in text
    assert "| c | 35.0 | **3.5** | **3.5** |" in text
    assert "| d | 50.0 | 5.0 | **5.0** |" in text
    assert "| *maps, data sets* |  | 5, 9 | 2, 8 |" in text
    assert page.best_three(found["accuracy"]) == "a 1.0, b 2.0, `SmoothEmbedding` class map 3.5"
    equal = page.Ranking(pd.Series({"a": 2.5, "b": 2.5, "c": 2.5, "d": 2.5, "e": 5.0}), ranks, 9, 9)
    assert page.best_three(equal) == "4 of 5 maps are equal"
    assert page.n_alike(found["accuracy"]) == 1  # the critical difference is 2.0


def test_a_split_of_a_size_counts_if_every_map_has_it():
    frame = made_frame()
    second = frame.assign(split=1)
    missing = (second["dataset"] == "y") & (second["map"] == "A")
    assert len(complete(pd.concat([frame, second]))) == 2 * len(frame)
    found = complete(pd.concat([frame, second[~missing]]))
    assert set(found.loc[found["size"] == 10, "split"]) == {0}
    assert set(found.loc[found["size"] == 20, "split"]) == {0, 1}  # only data set x has this size
    assert page.splits_told(1, 2) == "Experiments have 1 to 2 random splits."
    more = complete(pd.concat([frame, second[~missing].assign(dimension=FULL)]))
    assert set(more.loc[more["dimension"] == FULL, "split"]) == {1}  # more coordinates are apart


def test_left_out_gaps_and_rounding_count_as_documented():
    details = {"classes": 2, "largest class": 5, "train": 10, "test": 9, "bytes": 1}
    details["maps"] = {"LDA": {"accuracy": 0.5, "gap": -0.2, "alone": 1e-9, "null": 0.4}}
    row = Row(Task("x", "LDA", 5, 0, 2, RECIPE, "maps"), 0.5, 1.0, 1.0, {}, details, {})
    line = frame_of([row]).iloc[0]
    assert (line["gap"], line["alone"], line["null"]) == (0.2, 0.0, 0.0)


def test_class_maps_are_ranked_in_the_plane_alone():
    details = {"classes": 3, "largest class": 5, "train": 15, "test": 9, "bytes": 1}
    details["maps"] = {"LDA": {"accuracy": 0.5}, "LDA class map": {"accuracy": 0.6}}
    row = Row(Task("x", "LDA", 5, 0, 2, RECIPE, "maps"), 0.5, 1.0, 1.0, {}, details, {})
    frame = frame_of([row])
    assert set(frame.loc[frame["map"] == "LDA", "dimension"]) == {FLAT, FULL}
    assert set(frame.loc[frame["map"] == "LDA class map", "dimension"]) == {FLAT}


def test_all_panels_are_drawn_by_one_rule():
    F = np.random.default_rng(0).normal(size=(100, 3)) * [50.0, 1.0, 9.0] + 7.0
    square = panels.in_square(F)
    assert square.shape == (100, 2)
    assert np.abs(square).max() == pytest.approx(1.0)
    ratio = np.ptp(square, axis=0) / np.ptp(F[:, :2], axis=0)
    assert ratio[0] == pytest.approx(ratio[1])  # one number for both axes
    assert np.all(panels.in_square(F[:, :1])[:, 1] == 0.0)
    lines = [
        {"x": x, "y": y, "dataset": name, "map": one, "label": n % 2, "accuracy": 0.5}
        for name in ("p", "q")
        for one in ("LDA", "ours")
        for n, (x, y) in enumerate(square)
    ]
    figure = panels.figure_of(pd.DataFrame(lines))
    assert len(figure.axes) == 4
    assert len({axes.get_xlim() + axes.get_ylim() for axes in figure.axes}) == 1


def test_references_have_an_accuracy_alone(home):
    row = measured(Task("made", "5-NN of all features", 10, 0, None, RECIPE, "maps"))
    assert list(row.details["maps"]) == [next(iter(REFERENCES))]
    assert len(frame_of([row])) == 2  # for both numbers of coordinates


def test_stored_rows_are_of_the_benchmark():
    from reproduction.maps.benchmark import HERE

    rows = RowFile(HERE / "rows.jsonl").rows()
    if not rows:
        pytest.skip("No rows are stored.")
    assert all(row.task.protocol == "maps" and row.task.parameters == RECIPE for row in rows)
    assert {row.task.method for row in rows} <= {*METHODS, *REFERENCES}
