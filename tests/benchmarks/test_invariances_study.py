"""The study of copies: rows go on where they were, and the page shows their means."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("invariances")


@pytest.mark.slow
def test_rows_are_measured_once_and_shown(study, tmp_path):
    rows, page = tmp_path / "rows.csv", tmp_path / "page.md"
    common = ["--rows", str(rows), "--mnist-rows", str(tmp_path / "none.csv")]
    methods = ["--cases", "digits", "--methods", "NSSE, none", "NSSE, shift", "--realisations"]
    study.main([*common, *methods, "1"])
    first = rows.read_text()
    (line, *_) = study.main([*common, *methods, "2"])
    assert rows.read_text().startswith(first)
    assert len(rows.read_text().splitlines()) == 5
    assert line["digits-7"].endswith("(2)")
    page.write_text("before\n<!-- errors -->\nold\n<!-- end of errors -->\nafter\n")
    study.main([*common, "--page", str(page)])
    told = page.read_text()
    assert told.startswith("before\n<!-- errors -->\n| method |")
    assert told.endswith("<!-- end of errors -->\nafter\n")
    assert "old" not in told
