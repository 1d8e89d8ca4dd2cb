"""The benchmarks of many samples run, on very little, and what they make their samples of is sound."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Import a script of the benchmarks as its own folder sees it, without the real data."""
    monkeypatch.delenv("NSSE_DATA", raising=False)
    monkeypatch.syspath_prepend(BENCHMARKS)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


def test_centres(script, tmp_path):
    out = tmp_path / "centres.json"
    record = script("centres").main(["--quick", "--landmarks", "60", "--out", str(out)])
    assert json.loads(out.read_text()) == record
    ours, peer = record["rows"]
    assert ours["test_error_percent"] < 10
    assert peer["seconds"] > 0
    assert set(record["ratios"]) == {"NSSE, 60"}


def test_million(script, tmp_path):
    out = tmp_path / "million.json"
    options = ["--sizes", "1000", "1500", "--landmarks", "50", "--scratch", str(tmp_path)]
    record = script("million").main([*options, "--out", str(out)])
    assert json.loads(out.read_text()) == record
    assert [row["n_samples"] for row in record["rows"]] == [1000, 1500]
    assert [path.name for path in tmp_path.iterdir()] == ["million.json"]


def test_deformed_images_stay_images(script):
    images = np.zeros((30, 28, 28), dtype=np.uint8)
    images[:, 10:18, 10:18] = 200
    out = script("million").deformed(images, np.random.default_rng(0))
    assert out.dtype == np.uint8
    assert len(np.unique(out.reshape(30, -1), axis=0)) == 30
    centre = out[:, 12:16, 12:16]  # inside the square wherever it moved
    assert centre.min() >= 140
    assert out[:, :6].max() < 20


# Of umap-learn, where it is installed.
@pytest.mark.filterwarnings("ignore:n_jobs value:UserWarning")
def test_throughput(script, tmp_path):
    out = tmp_path / "throughput.json"
    record = script("throughput").main(["--quick", "--n", "100", "--queries", "50", "--out", str(out)])
    assert json.loads(out.read_text()) == record
    assert record["ratios_to_svc"]["SVC.predict"] == 1.0
    assert all(row["one_point_ms"] > 0 for row in record["rows"])


def test_landmarks(script, tmp_path):
    out = tmp_path / "landmarks.json"
    options = ["--quick", "--train", "300", "--valid", "100", "--landmarks", "30", "--out", str(out)]
    record = script("landmarks").main(options)
    assert json.loads(out.read_text()) == record
    assert {row["landmarks"] for row in record["means"]} == {"kmeans", "per-class", "random", "kmeans++"}
    assert max(row["error_percent"] for row in record["means"]) < 30


def test_peers(script, tmp_path):
    out = tmp_path / "peers.json"
    record = script("peers").main(["--quick", "--n", "100", "--queries", "60", "--out", str(out)])
    assert json.loads(out.read_text()) == record
    errors = {row["model"]: row["test_error_percent"] for row in record["rows"]}
    assert len(errors) >= 6
    assert errors["NSSE, exact"] < 15
