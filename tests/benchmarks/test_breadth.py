"""The study behind our choices: rows go on where they were, and are ranked."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
METHODS = ["--methods", "untuned point", "1-NN", "leave one out"]


@pytest.fixture
def breadth(monkeypatch, tmp_path):
    """The script, and two tables of words and numbers in the place of KEEL's."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setenv("NSSE_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    for kind, sizes in (("balanced", (20, 20)), ("imbalanced", (30, 6))):
        folder = tmp_path / "keel" / kind
        folder.mkdir(parents=True)
        for name in ("wine", "iris"):
            y = np.repeat([0, 1], sizes)
            numbers, words = rng.normal(3.0 * y), rng.choice(["a", "b", "c"], len(y))
            colours = np.array(["green", "red"])[y]
            columns = zip(numbers, colours, words, y, strict=True)
            lines = [f"{number:.3f}, {colour},{word}, class{c}" for number, colour, word, c in columns]
            (folder / f"{name}.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    script = importlib.import_module("breadth")
    script.loaded.cache_clear()
    return script


def test_classes_keep_their_proportions(breadth):
    y = np.repeat([0, 1], [90, 10])
    train, test = breadth.proportional_split(y, 30, 0)
    assert np.bincount(y[train]).tolist() == [27, 3]
    assert np.array_equal(np.sort(np.r_[train, test]), np.arange(100))


def test_rows_are_measured_once_and_ranked(breadth, tmp_path, capsys):
    options = ["--half", "choose", "--kinds", "balanced", "imbalanced", "--per-class", "5", "30"]
    options += ["--splits", "1", "--rows", str(tmp_path / "rows.csv"), *METHODS]
    rows = breadth.main(options)
    assert {row.name for row in rows} == {"wine"}
    # 30 per class are more than there are; of the imbalanced table they are half of 60.
    assert [(row.kind, row.per_class, row.n_train) for row in rows[::3]] == [
        ("balanced", 5, 10),
        ("imbalanced", 5, 10),
        ("imbalanced", 30, 34),
    ]
    assert all(row.error <= 10 for row in rows if row.method == "untuned point")
    assert "balanced, 5 per class, 1 sets" in capsys.readouterr().out
    stamp = (tmp_path / "rows.csv").read_text(encoding="utf-8")
    assert breadth.main(options) == rows
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == stamp


def test_a_row_left_out_is_left_out_of_the_regression(breadth):
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], 6)
    X = rng.normal(size=(18, 2)) + codes[:, np.newaxis]
    K = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    targets = breadth.ClassTargets.of(codes, 3)
    found = breadth.left_out_labels(breadth.KernelSpectrum.of(K, targets, np.inf), 0.1)
    for i in range(18):
        rest = np.delete(np.arange(18), i)
        A = K[rest].T @ K[rest] + 0.1 * np.eye(18)
        C = np.linalg.solve(A, K[rest].T @ targets.centred[rest])
        assert found[i] == np.argmax(K[i] @ C)


def test_what_the_study_of_the_package_reports_is_not_reported_twice(breadth, tmp_path):
    page = tmp_path / "page.md"
    options = ["--half", "report", "--per-class", "5", "--splits", "1", "--page", str(page), *METHODS]
    rows = breadth.main([*options, "--rows", str(tmp_path / "rows.csv")])
    assert {(row.kind, row.name) for row in rows} == {("imbalanced", "iris")}
    assert "1 imbalanced tables" in page.read_text(encoding="utf-8")
