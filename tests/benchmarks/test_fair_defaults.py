"""Untuned beside tuned: what is printed follows from the rows, and no row is computed twice."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

import nsse
from nsse.estimators.catalogue import DEFAULTS_0_1
from nsse.evaluation import per_class_split

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def fair(monkeypatch):
    """The script, with digits in the place of the images of the report."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("fair_defaults")
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(script, "data", lambda name: (X[:300], y[:300]))
    return script


def test_rows_are_the_errors_of_the_defaults_and_are_kept(fair, tmp_path, monkeypatch, capsys):
    options = [
        "--methods",
        "LFDA",
        "--sets",
        "orl",
        "--splits",
        "2",
        "--rows",
        str(tmp_path / "rows.csv"),
    ]
    rows = fair.main(options)
    X, y = fair.data("orl")
    for row in rows:
        train, test = per_class_split(y, 3, row.seed)
        model = nsse.LFDA(**(DEFAULTS_0_1["LFDA"] if row.setting == fair.BEFORE else {}))
        error = 100 * (1 - model.fit(X[train], y[train]).score(X[test], y[test]))
        assert row.error == pytest.approx(error, abs=1e-3)
    assert [(row.seed, row.setting) for row in rows] == [
        (seed, name) for seed in (0, 1) for name in (fair.NOW, fair.BEFORE)
    ]
    monkeypatch.setattr(fair, "measured", None)  # nothing is left to compute
    assert fair.main(options) == rows
    assert "LFDA orl-3" in capsys.readouterr().out


def test_ratio_and_verdict(fair):
    tuned = {
        row.method: row
        for row in fair.read_tuned(fair.RESULTS / "methods_table.csv")
        if (row.dataset, row.n_per_class) == ("orl", 3)
    }["NYS"]
    for share, said in ((1.49, False), (1.51, True)):
        rows = [fair.Row("images", "orl", 3, 0, "NYS", fair.NOW, share * tuned.error)]
        table = fair.report_table(rows, fair.RESULTS / "methods_table.csv")
        assert f"{share:.2f}" in table
        assert ("above 1.5" in table) == said


def test_choice_is_by_the_geometric_mean_the_best_first(fair):
    cells = (("images", "orl", 2), ("balanced", "wine", 15))
    errors = {"a": (4.0, 9.0), "b": (2.0, 8.0)}
    rows = [
        fair.Row(*cell, 100, "SPE", name, error)
        for name, values in errors.items()
        for cell, error in zip(cells, values, strict=True)
    ]
    lines = [line.split() for line in fair.choice_table(rows, "SPE").splitlines()]
    assert lines[1:] == [["b", "4.00", "2.00", "2.0", "8.0"], ["a", "6.00", "4.00", "4.0", "9.0"]]


def test_nothing_is_chosen_on_what_is_reported(fair):
    assert not set(fair.CHOSEN_ON) & set(fair.REPORTED)
    assert fair.FIRST_SEED["choose"] > 20 + fair.FIRST_SEED["report"]
    assert set(fair.OTHERS) == set(fair.METHODS)
