"""The study of samples without a label: rows go on where they were, and the page shows their means."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("unlabeled")


@pytest.mark.slow
def test_rows_are_measured_once_and_shown(study, tmp_path):
    rows, page = tmp_path / "rows.csv", tmp_path / "page.md"
    methods = ["NSSE, unlabelled samples", "NSSE, labelled alone"]
    options = ["--rows", str(rows), "--cases", "digits-10", "--methods", *methods, "--realisations"]
    study.main([*options, "1"])
    first = rows.read_text()
    lines = study.main([*options, "2"])
    assert rows.read_text().startswith(first)
    assert len(rows.read_text().splitlines()) == 5
    shown = {(line["method"], line["labels"]): line["digits-10"] for line in lines}
    with_them, alone = (float(shown[method, "of the fit"].split()[0]) for method in methods)
    assert with_them < alone
    assert shown[methods[0], "of new samples"].endswith("(2)")
    marks = "".join(f"<!-- {m} -->\nold\n<!-- end of {m} -->\n" for m in ("given", "new", "costs"))
    page.write_text("before\n" + marks + "after\n")
    study.main(["--rows", str(rows), "--page", str(page)])
    told = page.read_text()
    assert told.startswith("before\n<!-- given -->\n| method |")
    assert told.endswith("<!-- end of costs -->\nafter\n")
    assert "old" not in told


def test_what_is_put_away_is_seen_by_nobody(study):
    drawn = study.Drawn("digits-10", 0)
    assert drawn.n_own == 100
    assert (drawn.y[:100] == drawn.truth[:100]).all()
    assert (drawn.y[100:] == study.NONE).all()
    assert len(drawn.y) + len(drawn.y_new) == 1797
    assert len(drawn.y_new) == round(0.1 * 1697)
    for train, valid in drawn.splits():
        assert set(train) | set(valid) == set(range(100))
