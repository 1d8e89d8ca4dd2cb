"""The benchmarks run on very few samples, and the pages show their stored results."""

from __future__ import annotations

import importlib
import json
import sys
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nsse import NSSE, SmoothEmbedding
from nsse.methods import catalogue
from reproduction.paper.literal import literal_nsse

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Import a script of the benchmarks as its own folder sees it, without the real data."""
    monkeypatch.delenv("NSSE_DATA", raising=False)  # generated digits, the same on every machine
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.fixture
def run(script, tmp_path):
    """Run the main function of a script; its record is what it wrote."""

    def act(name: str, *options: object) -> dict:
        out = tmp_path / "record.json"
        record = script(name).main([*map(str, options), "--out", str(out)])
        assert json.loads(out.read_text()) == json.loads(json.dumps(record))
        return record

    return act


def test_no_script_hides_an_installed_package():
    # Scripts import each other by name. A script `coverage.py` would be what Numba imports.
    scripts = {script.stem for script in BENCHMARKS.glob("*.py")}
    assert scripts.isdisjoint({*packages_distributions(), *sys.stdlib_module_names})


def test_class_maps_and_relevant_features_are_measured(run):
    rows = run("ask", "maps", "--sets", "digits", "--splits", 1)["percent"]["digits"]
    assert rows["first two"] < rows["class map"] <= rows["scores"] + 0.05
    assert rows["first two"] < rows["class map, LDA"]
    rows = run("ask", "features", "--sets", "digits", "--splits", 1)["percent"]["digits"]
    assert rows["irrelevant"] < rows["random"] < rows["relevant"]


# Speed and memory.


def test_fits(run):
    record = run("fits", "--objects", 140, "--digits", 800, "--turns", 1)
    works = ["fit", "fit, predict 1000", "predict 1000", "predict one"]
    assert [row["work"] for row in record["svc"]] == 2 * works
    assert all(row["ratio"] > 0 for row in record["svc"])


def test_the_literal_method_is_algorithm_1():
    """Another code for the same: the library's alternation ends where the literal one does."""
    X, y = (rows[:150] for rows in load_digits(return_X_y=True))
    given = {"mu1": 1.0, "mu2": 0.01, "mu3": 0.45, "sigma_range": (0.3, 2.0), "n_neighbors": 5}
    model = NSSE(solver="alternating", **given).fit(X, y)
    ended = literal_nsse(X, y, 9, **given, n_sigmas=40, tol=1e-8, max_iter=50)
    assert ended.sigma == pytest.approx(model.sigma_)
    assert ended.objective == pytest.approx(model.objective_, rel=1e-12)
    np.testing.assert_allclose(np.abs(ended.Y), np.abs(model.embedding_), atol=1e-6)


def test_centers(run):
    record = run("centers", "--n", 1000, "--centers", 60, "--components", 60)
    ours, chosen, peer = record["rows"]
    assert (ours["model"], ours["n"], peer["times_faster, seconds"]) == ("SmoothEmbedding", 60, 1.0)
    assert max(row["test_error_percent"] for row in (ours, chosen, peer)) < 20


def test_million(run, tmp_path):
    record = run("million", "--sizes", 500, 800, "--centers", 50, "--scratch", tmp_path)
    assert [row["n_samples"] for row in record["rows"]] == [500, 800]
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def test_deformed_images_stay_images(script):
    images = np.zeros((30, 28, 28), dtype=np.uint8)
    images[:, 10:18, 10:18] = 200
    out = script("million").deformed(images, np.random.default_rng(0))
    assert out.dtype == np.uint8
    assert len(np.unique(out.reshape(30, -1), axis=0)) == 30
    centre = out[:, 12:16, 12:16]  # inside the square wherever it moved
    assert centre.min() >= 140
    assert out[:, :6].max() < 20


def test_tuning_time(run):
    options = ("--sizes", 60, "--many", 0, "--features", 300, "--classes", 8, "--repeats", 1)
    *beside, classes, three = run("tuning_time", *options)["rows"]
    assert [(row["n_samples"], row["n_features"] > 64) for row in beside[-2:]] == [
        (60, False),
        (100, True),
    ]
    assert all(row["search"] > 0 and row["svm"] > 0 for row in beside)
    assert [row["n_samples"] for row in (classes, three)] == [40, 3]
    assert all(row["members"] >= 1 and row["svm"] is None for row in (classes, three))


# Searches for counterexamples.


def test_versions_of_the_search_are_compared_on_the_same_splits(script, tmp_path, capsys):
    frontier, out = script("frontier"), tmp_path / "rows.jsonl"
    options = [
        "--halves",
        *frontier.HALVES,
        *["--sets", "iris", "wine", "--sizes", "5", "--seeds", "0", "1"],
    ]
    frontier.main(["measure", "--out", str(out), *options])
    rows = stored(out)
    assert len(rows) == 2 * 2 * 2
    assert all(0.0 <= row["error"] <= 0.3 for row in rows)
    assert all(row["radius"] > 0.0 for row in rows if row["model"] == "untuned")
    # A line that is torn is computed again, and no other one.
    out.write_bytes(out.read_bytes()[:-20])
    frontier.main(["measure", "--out", str(out), *options])
    again = stored(out)
    assert [row["error"] for row in again] == [row["error"] for row in rows]
    assert again[:-1] == rows[:-1]
    capsys.readouterr()
    frontier.main(["compare", str(out), str(out)])
    header, all_sets = capsys.readouterr().out.splitlines()[1:3]
    assert "error ratio" in header
    assert all_sets.split()[:5] == ["all", "1", "1", "2", "1.000"]
    kept = tmp_path / "kept.jsonl"
    frontier.main(["keep", str(out), str(kept)])
    frontier.main(["compare", str(out), str(kept)])
    assert capsys.readouterr().out.splitlines()[2].split()[:5] == all_sets.split()[:5]


def test_the_stored_search_has_a_lower_error_than_that_of_version_0_3(script, capsys):
    stored = [str(BENCHMARKS / "results" / f"frontier-{version}.jsonl") for version in ("0.3", "0.4")]
    script("frontier").main(["compare", *stored])
    name, sets, experiments, splits, ratio = capsys.readouterr().out.splitlines()[2].split()[:5]
    assert (name, sets, experiments, splits) == ("all", "39", "141", "10")
    assert float(ratio) < 0.97


def test_a_figure_of_calibration_is_the_mean_gap_of_its_bins(script):
    error = script("frontier").calibration_error
    confidence, is_right = np.array([0.99, 0.99, 0.51, 0.51]), np.array([True, True, True, False])
    assert error(confidence, is_right) == pytest.approx((2 * 0.01 + 2 * 0.01) / 4)


def test_random_models_are_attacked(script, tmp_path):
    options = ["--models", "2", "--out", str(tmp_path / "radii.jsonl")]
    totals = script("radii").main(options)
    assert (totals["models"], totals["broken"]) == (2, 0)
    assert totals["tries"] > 4000
    stored = (tmp_path / "radii.jsonl").read_text().splitlines()
    assert script("radii").main(options) == totals
    assert (tmp_path / "radii.jsonl").read_text().splitlines() == stored  # not computed again


def test_attacks_find_radii_that_are_too_large(script):
    radii, (X, y) = script("radii"), load_digits(return_X_y=True)
    target = radii.Target(SmoothEmbedding().fit(X[:200], y[:200]), "scores", X.shape[1])
    for factor, is_broken in ((1.0, False), (2.0, True)):
        attack = radii.Attack(target, X[200:220], factor * target.radius(X[200:220]))
        attack.by_gradients(np.random.default_rng(0))
        assert np.any(attack.closest < attack.radius) == is_broken


def test_coverage_is_measured(script, tmp_path):
    options = ["--splits", "2", "--sizes", "60", "--ratios", "0.5", "--models", "exact"]
    rows = script("prediction_sets").main([*options, "--out", str(tmp_path / "sets.jsonl")])
    assert [row["split"] for row in rows] == [0, 1]
    assert all(row["coverage"] > 0.75 and row["level"] < 0.2 for row in rows)


def test_typicality_is_measured(script, tmp_path):
    out = tmp_path / "hull.jsonl"
    rows = script("hull").main(["--sets", "digits", "--splits", "2", "--out", str(out)])
    assert [row["split"] for row in rows] == [0, 1]
    assert all(row["area"] > 0.85 and row["level"] < 0.1 for row in rows)


def test_calibrations_are_compared(script):
    found = script("certificates").covered("digits", 2)
    rows = {row["way"]: row for row in found if row["alpha"] == 0.1}
    assert len(rows) == 6
    assert all(row["coverage"] > 0.8 for row in rows.values())
    assert rows["left out"]["size"] < rows["left out, by class"]["size"]
    assert script("certificates").median_radius("digits", 20) == pytest.approx(0.346, rel=0.01)


def test_equal_fits_are_compared(script, tmp_path):
    options = ["--configurations", "2", "--out", str(tmp_path / "equalities.jsonl")]
    totals = script("equalities").main(["--first", "13", *options])
    assert totals["comparisons"] > 15
    assert totals["disagreements"] == 0


def test_probabilities_are_compared(run):
    (row,) = run("probabilities", "--only", "digits", "--splits", 1)
    assert row["untuned"] < row["forest"]
    assert row["place, untuned"] == 1


def test_wide_data_take_seconds_and_megabytes(script, capsys, monkeypatch):
    wide = script("wide")
    monkeypatch.setattr(wide, "FEATURES", (150, 300))
    wide.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in wide.MODELS]
    assert all(line.count(" MB |") == 2 for line in lines[2:])


# Pages.


def page(name):
    return (BENCHMARKS.parent / "docs" / name).read_text(encoding="utf-8")


def stored(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def record_of(name):
    return json.loads((BENCHMARKS / "results" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("hull", "table"),
        ("kernels", "tables"),
        ("photographs", "table"),
        ("prediction_sets", "sentence"),
        ("units", "tables"),
    ],
)
def test_the_page_shows_what_the_stored_rows_say(script, name, tables):
    benchmark = script(name)
    for table in getattr(benchmark, tables)(stored(benchmark.ROWS)).split("\n\n"):
        assert table in page("research/measurements.md")


def test_the_page_shows_the_stored_coverage_and_radii(script):
    record, text = record_of("certificates.json"), page("research/measurements.md")
    assert all(table in text for table in script("certificates").page_tables(record))
    words = " ".join(text.split())
    for name, radius in record["radii"].items():
        title = {"digits": "digits", "coil20": "COIL-20", "orl": "ORL"}[name]
        assert f"{radius:.3f} for {title}" in words


def test_the_pages_show_the_stored_attacks(script):
    totals = record_of("radii.json")
    assert totals["broken"] == 0
    assert script("radii").sentence(totals) in " ".join(page("research/measurements.md").split())
    told = f"attacked {totals['models']:,} random models {totals['tries']:,} times"
    assert told in " ".join(page("explanation/certificates.md").split())


def test_the_page_shows_the_stored_times():
    text, fits = page("research/measurements.md"), defaultdict(list)
    for row in record_of("fits.json")["svc"]:
        fits[row["work"].replace(",", " and")].append(f"{row['ratio']:.2f}")
    assert all(f"| {work} | {' | '.join(ratios)} |" in text for work, ratios in fits.items())
    searches = defaultdict(list)
    for row in record_of("tuning_time.json")["rows"]:
        if row["svm"] and row["data"] != "wide table":
            searches[row["data"]].append(f"{row['search']:.2f}, {row['svm']:.2f}")
    assert all(f"| {data} | {' | '.join(pairs)} |" in text for data, pairs in searches.items())


def test_the_page_of_methods_shows_the_catalogue():
    text = page("research/methods.md")
    for entry in catalogue().values():
        name = f"**{entry.name}**" if entry.in_tables else entry.name
        cells = (entry.functions, entry.new_samples, entry.supervised, entry.cost, entry.reference)
        assert f"| {' | '.join((name, *cells))} |" in text
