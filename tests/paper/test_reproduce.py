"""``nsse reproduce``: what it leaves behind, how it goes on after an end, and how it fails."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nsse
from nsse.cli.app import app
from nsse.evaluation import RowStore, read_rows, take_over, write_rows
from nsse.paper.pages import PageFigure, PageTable, TableCell
from nsse.paper.settings import QUICK
from nsse.paper.tables import TABLE_HEADER
from nsse.report.reproduction import html_page, markdown_page
from nsse.report.reproduction_figures import convergence_figure

Image = pytest.importorskip("PIL.Image", reason="reading images needs Pillow")

QUICK_TABLES = ["tables", "--quick", "--datasets", "digits", "--sizes", "5", "--jobs", "1"]
METHODS = "NSSE,NN,LDA"


def run(*arguments: str):
    return CliRunner().invoke(app, ["reproduce", *arguments], catch_exceptions=False)


def lines_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """A finished run on very little."""
    out = tmp_path_factory.mktemp("run") / "made" / "here"
    options = ["--methods", METHODS, "--repeats", "2", "--out", str(out)]
    result = run(*QUICK_TABLES, *options)
    assert result.exit_code == 0, result.output
    assert "Rows: 0 found, 6 computed, 0 failed." in result.output
    return out


@pytest.fixture
def copy(done, tmp_path) -> Path:
    return Path(shutil.copytree(done, tmp_path / "copy"))


def test_tables_have_both_protocols_beside_the_printed(done):
    header, *lines = lines_of(done / "tables.csv")
    assert header == TABLE_HEADER
    assert [(line[0], line[3]) for line in lines] == [
        (protocol, method) for protocol in ("paper", "honest") for method in METHODS.split(",")
    ]
    for line in lines:
        assert 0 < float(line[4]) < 100
        assert float(line[5]) >= 0
        assert line[6:] == ["2", ""]
    paper, honest = (
        {line[3]: float(line[4]) for line in lines if line[0] == p} for p in ("paper", "honest")
    )
    # Not so for NSSE: by either protocol its weights are set on inner splits.
    assert all(paper[method] <= honest[method] for method in paper if method != "NSSE")
    markdown, page = ((done / name).read_text(encoding="utf-8") for name in ("tables.md", "index.html"))
    for line in lines:
        cell = f"{float(line[4]):.2f} ± {float(line[5]):.2f}"
        assert cell in markdown
        assert cell in page


def test_errors_are_those_of_a_recomputation(done):
    """1-NN has nothing to choose: both protocols give what three lines of NumPy give."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    errors = []
    for seed in (0, 1):
        train, test = nsse.evaluation.per_class_split(y, 5, seed)
        nearest = y[train][((X[test, np.newaxis] - X[train]) ** 2).sum(axis=2).argmin(axis=1)]
        errors.append(100 * np.mean(nearest != y[test]))
    for line in lines_of(done / "tables.csv")[1:]:
        if line[3] == "NN":
            assert float(line[4]) == pytest.approx(np.mean(errors), abs=1e-4)
            assert float(line[5]) == pytest.approx(np.std(errors, ddof=1) / np.sqrt(2), abs=1e-4)


def test_nothing_published_names_this_machine(done):
    names = {str(done.parent), str(Path.home()), str(Path(nsse.__file__).parent), os.uname().nodename}
    for path in done.rglob("*"):
        if path.is_file() and path.suffix != ".sqlite":
            text = path.read_text(encoding="utf-8")
            assert not [name for name in names if len(name) > 3 and name in text], path.name


def test_started_again_it_computes_nothing_and_writes_the_same(copy):
    before = {
        path.name: path.read_bytes()
        for path in copy.iterdir()
        if path.suffix in {".csv", ".md", ".jsonl"}
    }
    result = run(*QUICK_TABLES, "--methods", METHODS, "--repeats", "2", "--out", str(copy))
    assert "Rows: 6 found, 0 computed, 0 failed." in result.output
    assert {name: (copy / name).read_bytes() for name in before} == before
    assert len(before) == 4


def test_a_copy_without_the_database_goes_on(copy):
    (copy / "rows.sqlite").unlink()
    result = run(*QUICK_TABLES, "--methods", METHODS, "--repeats", "3", "--out", str(copy))
    assert "Rows taken over from rows.jsonl: 6." in result.output
    assert "Rows: 6 found, 3 computed, 0 failed." in result.output


def test_rows_as_text_come_back_and_damage_is_named(copy, tmp_path):
    with RowStore(copy / "rows.sqlite") as store, RowStore(tmp_path / "other.sqlite") as other:
        assert read_rows(copy / "rows.jsonl") == store.rows()
        assert (take_over(other, copy / "rows.jsonl"), take_over(other, copy / "rows.jsonl")) == (6, 0)
        assert take_over(other, tmp_path / "none") == 0
        write_rows(other, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (copy / "rows.jsonl").read_bytes()
    text = (copy / "rows.jsonl").read_text(encoding="utf-8")
    (copy / "rows.jsonl").write_text(text[:-40], encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"^`path` must hold one row of JSON per line\. Got 'rows\.jsonl, line 6"
    ):
        read_rows(copy / "rows.jsonl")
    (copy / "rows.sqlite").unlink()
    result = run(*QUICK_TABLES, "--methods", "NN", "--out", str(copy))
    assert result.exit_code == 2
    assert "line 6" in result.output


def test_killed_in_the_middle_and_started_again_it_ends_the_same(tmp_path):
    options = [*QUICK_TABLES, "--methods", "NN,SVM,LDA,MReg,NYS,LFDA", "--repeats", "8"]
    assert run(*options, "--out", str(tmp_path / "whole")).exit_code == 0
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "nsse", "reproduce", *options, "--out", str(killed)],
        env={**os.environ, "PYTHONPATH": str(Path(nsse.__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None and stored(killed) < 5:
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = stored(killed)
    assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
    assert 5 <= kept < 48
    assert not (killed / "tables.csv").exists()
    result = run(*options, "--out", str(killed))
    assert f"Rows: {kept} found, {48 - kept} computed, 0 failed." in result.output
    for name in ("tables.csv", "choices.csv", "tables.md"):
        assert (killed / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    rows = read_rows(killed / "rows.jsonl")
    assert len({row.task for row in rows}) == len(rows) == 48


def stored(folder: Path) -> int:
    if not (folder / "rows.sqlite").exists():
        return 0
    try:
        with RowStore(folder / "rows.sqlite") as store:
            return len(store)
    except OSError:  # it is being made
        return 0


# The check -------------------------------------------------------------------------------------------


def test_check_agrees_with_what_was_computed(copy):
    result = run("--check", "--quick", "--out", str(copy))
    assert result.exit_code == 0, result.output
    assert "tables.csv: 6 lines, all made of the rows." in result.output
    assert re.search(r"on digits, 5 per class, seed [01]: identical \(error", result.output)


def test_check_sees_an_edited_cell(copy):
    path = copy / "tables.csv"
    text = path.read_text(encoding="utf-8")
    cell = lines_of(path)[1][4]
    path.write_text(text.replace(cell, "1.2345", 1), encoding="utf-8")
    result = run("--check", "--quick", "--out", str(copy))
    assert result.exit_code == 2
    assert "tables.csv DIFFERS from its rows: has ['paper,digits,5,NSSE,1.2345" in result.output


def test_check_sees_an_edited_row(tmp_path):
    options = [*QUICK_TABLES, "--methods", "NN", "--repeats", "1", "--out", str(tmp_path)]
    run(*options)
    with RowStore(tmp_path / "rows.sqlite") as store:
        (row,) = store.rows()
        store.remove(row.task)
        entry = dict(row.details["candidates"][0])
        entry["mistakes"] = [entry["mistakes"][0] - 50]
        details = {**row.details, "candidates": [entry]}
        store.add(replace(row, details=details, error=entry["mistakes"][0] / row.details["n_test"]))
    (tmp_path / "rows.jsonl").unlink()
    run(*options)
    result = run("--check", "--quick", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "tables.csv: 2 lines, all made of the rows." in result.output
    assert "NN on digits, 5 per class, seed 0: DIFFERS" in result.output


def test_check_needs_rows(tmp_path):
    result = run("--check", "--quick", "--out", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "`--out` must be a folder of results." in result.output
    assert run("--check", "--quick", "--out", str(tmp_path)).exit_code == 2


@pytest.fixture(scope="module")
def second(tmp_path_factory) -> Path:
    """A run with a row of the second edition."""
    out = tmp_path_factory.mktemp("second")
    options = ["--methods", "NN,NSSE untuned,NSSE vote", "--repeats", "1", "--out", str(out)]
    result = run(*QUICK_TABLES, *options)
    assert result.exit_code == 0, result.output
    assert "errs less than the paper's other methods in 1 of 1 cells" in result.output
    return out


@pytest.mark.slow
def test_the_page_opens_with_the_picture_and_what_it_says(second):
    page = (second / "index.html").read_text(encoding="utf-8")
    first, picture, opening, findings, introduction, table = (
        page.index(part)
        for part in (
            "<h1>",
            "<svg",
            "<p class='opening'>With everything",
            "<ul>",
            "Protocol paper:",
            "<table>",
        )
    )
    assert first < picture < opening < findings < introduction < table
    svg = (second / "figures" / "cells.svg").read_text(encoding="utf-8").strip()
    assert svg in page
    markdown = (second / "tables.md").read_text(encoding="utf-8")
    title, image, sentences, *_ = markdown.split("\n\n")
    assert title.startswith("# ")
    assert image.endswith("(figures/cells.svg)")
    assert sentences.startswith("With everything chosen")
    header, *lines = lines_of(second / "figures" / "cells.csv")
    errors = {line[3]: line[4] for line in lines_of(second / "tables.csv")[1:] if line[0] == "honest"}
    marks = [dict(zip(header, line, strict=True)) for line in lines]
    assert {mark["method"]: mark["error"] for mark in marks} == {
        name: errors[name] for name in ("NN", "NSSE vote")
    }


@pytest.mark.slow
def test_check_covers_the_second_edition_and_the_picture(second, tmp_path):
    copy = Path(shutil.copytree(second, tmp_path / "copy"))
    options = ["--check", "--quick", "--out", str(copy)]
    result = run(*options)
    assert result.exit_code == 0, result.output
    assert "cells.csv: 2 lines, all made of the rows." in result.output
    assert "NN on digits, 5 per class, seed 0: identical" in result.output
    assert re.search(r"NSSE (vote|untuned) on digits, 5 per class, seed 0: identical", result.output)
    frame = copy / "figures" / "cells.csv"
    text = frame.read_text(encoding="utf-8")
    cell = lines_of(frame)[1][4]
    frame.write_text(text.replace(cell, "0.1234"), encoding="utf-8")
    result = run(*options)
    assert result.exit_code == 2
    assert "cells.csv DIFFERS from its rows: has ['digits,5,best other,NN,0.1234" in result.output
    frame.unlink()
    assert "cells.csv is MISSING. Run `nsse reproduce tables`." in run(*options).output


# Run times, figures, page ----------------------------------------------------------------------------


def test_all_leaves_tables_times_figures_and_one_page(copy):
    (copy / "notes.md").write_text("## Reading\n\nIt <works>\nwell.\n", encoding="utf-8")
    options = ["--methods", METHODS, "--repeats", "2", "--sizes", "5", "--jobs", "1", "--out", str(copy)]
    # The figure of the error against d takes the largest size: it is not among these rows.
    result = run("all", "--quick", "--datasets", "digits", *options)
    assert result.exit_code == 0, result.output
    assert "No rows for the error against d on digits" in result.output
    header, *lines = lines_of(copy / "runtime.csv")
    assert [line[:2] for line in lines] == [["digits", "100"], ["digits", "300"]]
    for line in lines:
        values = dict(zip(header, line, strict=True))
        assert float(values["ratio"]) == pytest.approx(
            float(values["literal_seconds"]) / float(values["seconds"]), rel=0.2, abs=0.06
        )
        assert float(values["excess"]) <= float(values["literal_excess"]) * (1 + 1e-5)
    page = (copy / "index.html").read_text(encoding="utf-8")
    assert "Run times (Table 7)" in page
    assert "<h3>Reading</h3>" in page
    assert "<p>It &lt;works&gt; well.</p>" in page


def test_figures_are_frames_and_pictures(tmp_path, monkeypatch):
    small = replace(QUICK, sizes={"digits": (5,), "objects": (4,)})
    monkeypatch.setattr("nsse.paper.settings.QUICK", small)
    out = ["--out", str(tmp_path)]
    assert run(*QUICK_TABLES, "--methods", "NSSE,LDA,LFDA", "--repeats", "1", *out).exit_code == 0
    result = run("figures", "--quick", "--datasets", "digits,objects", *out)
    assert result.exit_code == 0, result.output
    made = {path.name for path in (tmp_path / "figures").iterdir()}
    names = ("convergence-objects", "dimension-digits", "embedding-objects")
    assert made == {f"{name}.{kind}" for name in names for kind in ("csv", "png", "svg")}
    header, *lines = lines_of(tmp_path / "figures" / "dimension-digits.csv")
    assert header == ["dataset", "n_train", "method", "d", "error", "repeats"]
    assert {line[2] for line in lines} == {"NSSE", "LDA", "LFDA"}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r"(src|href)=['\"]?(http|/|\.)", page), "the page needs nothing else"


def test_titles_of_the_panels_do_not_run_into_each_other():
    starts = [start for start in ("too high", "too low") for _ in range(3)]
    frame = {"start": starts, "step": [1, 2, 3] * 2, "excess": [3.0, 2.0, 1.0] * 2}
    figure = convergence_figure(frame | {"error": [9.0] * 6, "sigma": [1.0] * 6})
    figure.canvas.draw()
    boxes = [panel._left_title.get_window_extent() for panel in figure.axes]
    overlaps = [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)]
    assert not overlaps


def test_page_escapes_all_it_is_given():
    evil = "<b>&'\""
    table = PageTable(
        evil, evil, (evil, evil), ((TableCell(evil, evil, True), TableCell(evil)),), folded=True
    )
    page = html_page(
        evil,
        "<svg/>",
        [evil],
        [evil],
        [evil],
        [evil],
        [table],
        [PageFigure(evil, evil, b"<svg/>")],
        [(evil, evil)],
    )
    assert evil not in page
    assert page.count("&lt;b&gt;&amp;") >= 13
    text = markdown_page(
        "T", ["a"], [PageTable("x", "", ("m", "1"), ((TableCell("N"), TableCell("2|3", "(4)", True)),))]
    )
    assert text.splitlines()[-1] == "| N | **2\\|3** (4) |"


# Failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--datasets", "digits,mnist"], r"`--datasets` must be among digits, objects\. Got 'mnist'"),
        (["--methods", "NSSE,KNN"], r"`--methods` must be among NSSE, SUPLAP.*Got 'KNN'"),
        (["--sizes", "5,6"], r"`--sizes` must be among 4, 5, 10\. Got '6'"),
    ],
)
def test_unknown_names_are_told_before_any_work(tmp_path, options, message):
    result = run("tables", "--quick", *options, "--out", str(tmp_path))
    assert result.exit_code == 2
    assert re.search(message, result.output)
    assert not list(tmp_path.iterdir())


def test_without_data_it_says_where_to_get_them(tmp_path, monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    result = run("tables", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "Download Extended Yale B" in result.output
    assert "Or try --quick, which needs no data." in result.output


@pytest.fixture
def faces(tmp_path) -> Path:
    """ORL as it is published, with made-up faces; and a folder of FEI that holds nothing."""
    rng = np.random.default_rng(0)
    home = tmp_path / "data"
    for subject in range(1, 41):
        folder = home / "orl_faces" / f"s{subject}"
        folder.mkdir(parents=True)
        face = rng.integers(40, 200, (12, 10))
        for number in range(1, 11):
            image = np.clip(face + rng.integers(-20, 20, face.shape), 0, 255).astype(np.uint8)
            Image.fromarray(image).save(folder / f"{number}.pgm")
    (home / "FEI").mkdir()
    return home


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(faces, tmp_path, monkeypatch):
    monkeypatch.setenv("NSSE_DATA", str(faces))
    monkeypatch.setattr("nsse.paper.work.samples", fresh_samples())
    out = tmp_path / "out"
    options = ["--methods", "NN", "--repeats", "1", "--sizes", "2", "--jobs", "1", "--out", str(out)]
    result = run("tables", *options)
    assert result.exit_code == 2
    assert "Not found and left out: yale, coil20, csie, mit_cbcl." in result.output
    assert re.search(
        r"nsse: fei: `data_home` must hold the whole of FEI.*without 1-01\.jpg", result.output
    )
    assert "Rows: 0 found, 1 computed, 0 failed." in result.output
    assert [line[:4] for line in lines_of(out / "tables.csv")[1:]] == [
        ["paper", "orl", "2", "NN"],
        ["honest", "orl", "2", "NN"],
    ]


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_damaged_image_is_named(faces, tmp_path, monkeypatch, damage):
    monkeypatch.setenv("NSSE_DATA", str(faces))
    monkeypatch.setattr("nsse.paper.work.samples", fresh_samples())
    image = faces / "orl_faces" / "s7" / "3.pgm"
    if damage == "cut":
        image.write_bytes(image.read_bytes()[:40])
    else:
        image.unlink()
    result = run("tables", "--datasets", "orl", "--methods", "NN", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "s7/3.pgm" in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_rows_that_fail_are_told_once_with_their_reason(faces, tmp_path, monkeypatch):
    """A class too small for the training size: its rows fail, the others are computed."""
    from nsse.paper import settings

    monkeypatch.setenv("NSSE_DATA", str(faces))
    monkeypatch.setattr("nsse.paper.work.samples", fresh_samples())
    monkeypatch.setattr(settings, "FULL", replace(settings.FULL, sizes={"orl": (2, 10)}))
    options = ["--methods", "NN", "--repeats", "2", "--jobs", "1", "--out", str(tmp_path / "out")]
    result = run("tables", "--datasets", "orl", *options)
    assert result.exit_code == 2
    assert "Rows: 0 found, 2 computed, 2 failed." in result.output
    rule = "`n_per_class` must be smaller than every class, and class 1 has 10 samples. Got 10."
    assert f"ValueError: {rule} Pass at most 9. (and 1 rows more)" in result.output


def fresh_samples():
    """What is kept in memory is of other folders."""
    from nsse.paper.work import samples

    return samples.__wrapped__
