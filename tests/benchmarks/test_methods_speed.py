"""The race of the seven methods runs, on very little, and both sides embed alike."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def race(monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)  # generated digits, the same on every machine
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("methods_speed")


def test_methods_beside_the_obvious_code(race, tmp_path):
    out = tmp_path / "speed.json"
    options = ["--n", "150", "--n-sparse", "200", "--repeats", "1", "--out", str(out)]
    record = race.main(options)
    assert json.loads(out.read_text()) == record
    assert {row["method"] for row in record["rows"]} == {*race.RACES, *race.SPARSE_RACES}
    assert all(row["seconds"] > 0 and row["seconds_obvious"] > 0 for row in record["rows"])
    assert all(row["difference"] <= row["difference_allowed"] for row in record["rows"])


def test_other_embeddings_do_not_pass(race):
    with pytest.raises(AssertionError, match="NYS, fit: embeddings differ by 1"):
        race._row("NYS", "fit", 10, 1.0, 1.0, 1e-3)
