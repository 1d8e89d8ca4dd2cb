"""The benchmark of the certificates runs, on very little, and its page says what was measured."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_benchmark_and_its_page(script, tmp_path, monkeypatch):
    bench = script("certificates")
    monkeypatch.setattr(bench, "FACTORS", (1.0, 3.0))
    monkeypatch.setattr(bench, "RAW_FACTORS", (1.0, 30.0))
    out, page = tmp_path / "certificates.json", tmp_path / "certificates.md"
    record = bench.main(["--quick", "--datasets", "digits", "--out", str(out), "--markdown", str(page)])
    assert json.loads(out.read_text()) == json.loads(json.dumps(record))
    assert not page.exists()
    inside, outside = zip(*(row["changed"] for row in record["attacks"]), strict=True)
    assert sum(inside) == 0
    assert all(row["changed"][0] == 0 for row in record["pipelines"])
    assert sum(row["changed"][1] > 0 for row in record["pipelines"]) > 2
    # In a metric the ball is not tight: its worst direction is one in which the map hardly changes.
    assert sum(map(bool, outside)) == len(outside) - 1
    (row,) = record["ranking"]
    assert row["accuracy_covered"] > row["accuracy"]
    bench.main(["--page-only", "--out", str(out), "--markdown", str(page)])
    words = page.read_text(encoding="utf-8")
    assert "**0 changes inside" in words
    assert f"{record['tightness'][0]['rkhs']:.3g}" in words


def test_page_says_when_a_certificate_is_broken(script):
    text = script("certificates_page").page_text(
        {
            "splits": 1,
            "factors": [1.0, 3.0],
            "raw_factors": [1.0, 30.0],
            "coverage": 0.8,
            "versions": {},
            "theorem": [],
            "attacks": [{"dataset": "digits", "model": "NSSE", "n_points": 10, "changed": [1, 9]}],
            "pipelines": [{"model": "wine", "n_points": 10, "radius": 1.0, "changed": [2, 9]}],
            "tightness": [],
            "ranking": [],
            "generalization": [],
            "speed": {"n_points": 1, "predict_seconds": 0.0, "radius_seconds": 0.0},
        }
    )
    assert "**The certificates are broken.**" in text
    assert "**3 changes inside" in text
    assert "**2 changes inside" in text
