"""``python -m reproduction``: what it leaves behind, how it goes on and fails, what the check sees."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nsse.datasets import per_class_split
from reproduction.commands import main
from reproduction.paper import check
from reproduction.paper.settings import FULL
from reproduction.rows import RowFile

pytest.importorskip("PIL.Image", reason="reading images needs Pillow")

ROOT = Path(__file__).parents[2]
METHODS = ["NSSE", "NN", "LDA", "SmoothEmbedding"]
TABLES = ["tables", "--quick", "--datasets", "digits", "--sizes", "5", "--methods", *METHODS]


def lines_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """A finished run on very little."""
    out = tmp_path_factory.mktemp("run") / "made" / "here"
    assert main([*TABLES, "--repeats", "2", "--out", str(out)]) == 0
    return out


@pytest.fixture
def copy(done, tmp_path) -> Path:
    return Path(shutil.copytree(done, tmp_path / "copy"))


def test_tables_have_both_protocols_and_errors_of_a_recomputation(done):
    lines = lines_of(done / "tables.csv")[1:]
    assert [(line[0], line[3]) for line in lines] == [
        *(("paper", method) for method in METHODS[:3]),
        *(("honest", method) for method in METHODS),
    ]
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    errors = []
    for seed in (0, 1):
        train, test = per_class_split(y, 5, seed)
        nearest = y[train][((X[test, np.newaxis] - X[train]) ** 2).sum(axis=2).argmin(axis=1)]
        errors.append(100 * np.mean(nearest != y[test]))
    for line in lines:
        if line[3] == "NN":
            assert float(line[4]) == pytest.approx(np.mean(errors), abs=1e-4)
            assert float(line[5]) == pytest.approx(np.std(errors, ddof=1) / np.sqrt(2), abs=1e-4)
    markdown = (done / "tables.md").read_text(encoding="utf-8")
    for line in lines:
        cell = f"{float(line[4]):.2f} ± {float(line[5]):.2f}"
        assert cell in markdown


def test_nothing_published_names_this_machine(done):
    names = {str(done.parent), str(Path.home()), str(ROOT), os.uname().nodename}
    for path in done.rglob("*"):
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        assert not [name for name in names if len(name) > 3 and name in text], path.name


def test_started_again_it_goes_on_and_writes_the_same(copy, capsys):
    before = {p.name: p.read_bytes() for p in copy.iterdir() if p.suffix in {".csv", ".md", ".jsonl"}}
    assert main([*TABLES, "--repeats", "2", "--out", str(copy)]) == 0
    assert "Rows: 8 found, 0 computed, 0 failed." in capsys.readouterr().out
    assert {name: (copy / name).read_bytes() for name in before} == before
    assert main([*TABLES, "--repeats", "3", "--out", str(copy)]) == 0
    assert "Rows: 8 found, 4 computed, 0 failed." in capsys.readouterr().out


def test_all_leaves_tables_times_figures_and_one_page(tmp_path, capsys):
    options = ["--quick", "--datasets", "digits", "--methods", "NN", "LDA", "--repeats", "1"]
    assert main(["all", *options, "--out", str(tmp_path)]) == 0
    assert {"convergence-digits.png", "dimension-digits.csv", "embedding-digits.png"} <= {
        path.name for path in (tmp_path / "figures").iterdir()
    }
    assert [line[:2] for line in lines_of(tmp_path / "runtime.csv")[1:]] == [
        ["digits", "100"],
        ["digits", "300"],
    ]
    assert "Run times (Table 7)" in (tmp_path / "tables.md").read_text(encoding="utf-8")
    capsys.readouterr()


# The check ------------------------------------------------------------------------------------------


def checked(out: Path, capsys, *options: str) -> tuple[int, str]:
    code = main(["check", "--quick", "--out", str(out), *options])
    return code, capsys.readouterr().out


def test_check_agrees_with_what_was_computed(copy, capsys):
    code, out = checked(copy, capsys, "--rows", "2")
    assert code == 0
    assert "tables.csv: 7 lines, all computed from the rows." in out
    assert len(re.findall(r"on digits, 5 per class, seed [01]: identical \(error", out)) == 4


def test_check_sees_an_edited_cell_and_a_missing_file(copy, capsys):
    path = copy / "tables.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(lines_of(path)[1][4], "1.2345", 1), encoding="utf-8")
    code, out = checked(copy, capsys)
    assert code == 2
    assert "tables.csv DIFFERS from its rows: has ['paper,digits,5,NSSE,1.2345" in out
    path.unlink()
    assert "tables.csv is MISSING." in checked(copy, capsys)[1]


@pytest.mark.parametrize("method", ["NSSE", "LDA", "SmoothEmbedding"])
def test_check_sees_a_changed_row(copy, method, capsys):
    path = copy / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["task"]["method"] == method:
            row["error"] = round(row["error"] - 0.05, 4)
            for entry in row["details"]["candidates"]:
                entry["mistakes"] = [count - 85 for count in entry["mistakes"]]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, out = checked(copy, capsys, "--methods", method)
    assert code == 2
    assert re.search(rf"{method} on digits, 5 per class, seed [01]: DIFFERS \(error", out)


def test_a_basis_that_is_left_to_chance_is_not_compared():
    task = FULL.task("orl", "SUPLAP", 3, 0)
    determined = {d: check._is_determined(task, check.Tried("unit", d)) for d in (8, 39, 80, "all")}
    assert determined == {8: False, 39: True, 80: True, "all": True}
    assert check._is_determined(FULL.task("orl", "LDE", 3, 0), check.Tried("unit", 8))


@pytest.mark.skipif("NSSE_DATA" not in os.environ, reason="NSSE_DATA does not name the data")
def test_published_rows_are_identical_when_computed_again(capsys):
    quick = ["NN", "SVM", "LDA", "MReg", "LFDA", "SmoothEmbedding"]
    assert main(["check", "--datasets", "orl", "--methods", *quick, "--rows", "2"]) == 0
    out = capsys.readouterr().out
    assert out.count(": identical (") == 4


# What goes wrong ------------------------------------------------------------------------------------


def test_unknown_names_and_missing_data_are_told(tmp_path, monkeypatch, capsys):
    def told(*options: str) -> str:
        assert main([*options, "--out", str(tmp_path)]) == 2
        return capsys.readouterr().err

    assert "`--datasets` must contain known names. Got 'faces'" in told("tables", "--datasets", "faces")
    assert "`--methods` must contain known names. Got 'FOO'" in told(
        "all", "--quick", "--methods", "FOO"
    )
    assert "`--out` must hold rows of these settings" in told("check", "--quick")
    assert "`--sets` must contain known names. Got 'roses'" in told(
        "study", "--quick", "--sets", "roses"
    )
    monkeypatch.delenv("NSSE_DATA", raising=False)
    monkeypatch.setenv("NSSE_CACHE", str(tmp_path / "cache"))
    assert "Or try --quick, which needs no data." in told("tables", "--datasets", "fei")
    assert list(tmp_path.glob("*.md")) == []


# The study ------------------------------------------------------------------------------------------


def test_the_quick_study_has_every_row_a_page_and_figures(tmp_path, capsys):
    options = ["study", "--quick", "--splits", "1", "--out", str(tmp_path)]
    assert main(options) == 0
    rows = RowFile(tmp_path / "rows.jsonl").rows()
    assert len({(r.task.dataset, r.task.method, r.task.n_train) for r in rows}) == len(rows) == 20
    text = (tmp_path / "study.md").read_text(encoding="utf-8")
    assert re.search(r"# Study on \d data sets", text)
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert main(options) == 0
    assert "Rows: 20 found, 0 computed, 0 failed." in capsys.readouterr().out
    assert (tmp_path / "study.md").read_text(encoding="utf-8") == text
