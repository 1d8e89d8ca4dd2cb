"""Names that a terminal would obey, or that are no UTF-8: shown and written as plain text."""

from __future__ import annotations

import csv
import json
import os
import sys
import unicodedata

import numpy as np
import polars
import pytest
from typer.testing import CliRunner

import nsse
from nsse._support.files import shown, written
from nsse.cli.app import app
from nsse.datasets import load_image_folder

RED = "\x1b[31mred\x1b[0m"
NAMES = [RED, "bell\a", "c1\x9b31m", "turned\u202e"]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def commands(text):
    """Characters that a terminal obeys rather than shows; lines end as lines do."""
    return [c for c in text if (unicodedata.category(c) in ("Cc", "Cs") and c != "\n") or c == "\u202e"]


def test_shown_text_obeys_nobody_and_plain_text_stays():
    """All control characters and surrogates, all signs of the basic plane, and some of the others."""
    some = np.random.default_rng(0).choice(np.arange(0x10000, 0x110000), 20_000, replace=False)
    signs = np.random.default_rng(1).permutation(np.concatenate([np.arange(0x10000), some]))
    text = "".join(map(chr, signs))
    assert commands(shown(text)) == []
    assert "\n" not in shown(text)
    plain = "".join(c for c in text if unicodedata.category(c)[0] in "LMNPS")
    assert shown(plain) == plain


def test_shown_by_hand():
    assert shown("Ähre 山\u3000田 👩\u200d🔬 a\u00a0b") == "Ähre 山\u3000田 👩\u200d🔬 a\u00a0b"
    assert shown("\x1b[2J\n\x9b\u202e") == "\\x1b[2J\\n\\x9b\\u202e"
    assert shown(os.fsdecode(b"caf\xe9")) == written(os.fsdecode(b"caf\xe9")) == "caf\\xe9"
    assert written("caf\u00e9 \x1b \ud800") == "caf\u00e9 \x1b \\ud800"


@pytest.fixture(scope="module")
def coloured(tmp_path_factory):
    """A table whose classes and columns are commands to a terminal, and a model of it."""
    folder = tmp_path_factory.mktemp("coloured")
    rng = np.random.default_rng(0)
    labels = np.repeat(NAMES, 8)
    X = rng.normal(size=(32, 3)) + np.repeat(np.eye(4), 8, axis=0)[:, :3] * 1.5
    table = {f"a{RED}": X[:, 0], "b": X[:, 1], "c": 100 * X[:, 2], "kind": labels}
    polars.DataFrame(table).write_csv(folder / "t.csv")
    run("fit", folder / "t.csv", "--label", "kind", "--out", folder / f"m{RED}.nsse")
    return folder / f"m{RED}.nsse", folder / "t.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("info",),
        ("predict",),
        ("evaluate",),
        ("export", "--onnx", "{}/x\x1b[1m.onnx"),
        ("predict", "--out", "{}/x\x1b[1m.csv"),
        ("report", "--out", "{}/x\x1b[1m.html"),
    ],
    ids=lambda given: " ".join(given[:2]),
)
@pytest.mark.parametrize("how", [(), ("--json",)])
def test_no_command_passes_names_on_to_the_terminal(coloured, tmp_path, arguments, how):
    model, data = coloured
    first, *rest = [part.format(tmp_path) for part in arguments]
    files = [model] if first in ("info", "export") else [model, data]
    result = run(first, *files, *rest, *how)
    assert commands(result.stdout + result.stderr) == []
    assert "1b[" in result.stdout or first == "evaluate"  # which folds what is too wide
    if how:
        json.loads(result.stdout)


def test_fit_and_errors_show_names_as_text(coloured, tmp_path):
    model, data = coloured
    result = run("fit", data, "--label", "kind", "--out", tmp_path / "m\x1b[1m.nsse")
    assert commands(result.output) == []
    for wrong in (
        ("fit", tmp_path / f"none{RED}.csv", "--label", "kind", "--out", tmp_path / "m"),
        ("fit", data, "--label", f"no{RED}", "--out", tmp_path / "m"),
        ("predict", model, data, "--out", tmp_path / f"x{RED}.doc"),
        ("evaluate", model, tmp_path / f"x{RED}.csv"),
        ("demo", "--out", data / f"x{RED}"),
        ("--debug", "info", tmp_path / f"none{RED}"),
    ):
        result = run(*wrong, code=2)
        assert commands(result.output) == [], wrong
        assert "x1b[31m" in result.stderr


latin = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="names that are no UTF-8 are a matter of Linux"
)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Images in folders whose names are Latin-1; one image has such a name itself."""
    image = pytest.importorskip("PIL.Image")
    home = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for place, name in enumerate((b"caf\xe9", b"th\xe9", b"tea")):
        folder = os.fsencode(home) + b"/" + name
        os.mkdir(folder)
        for k in range(4):
            levels = rng.integers(0, 100, (6, 6), dtype=np.uint8)
            levels[2 * place : 2 * place + 2] += 120
            image.fromarray(levels).save(os.fsdecode(folder + f"/{k}".encode() + b"\xfc.png"))
    return home


@pytest.mark.slow
@latin
def test_names_that_are_no_utf8_go_all_the_way(photos, tmp_path):
    model = tmp_path / os.fsdecode(b"m\xf6del.nsse")
    told = run("fit", photos, "--out", model, "--size", "6x6").stdout
    assert "m\\xf6del.nsse" in told
    assert nsse.load(model).classes_.tolist() == ["caf\\xe9", "tea", "th\\xe9"]
    assert load_image_folder(photos, size=(6, 6)).class_names == ("caf\\xe9", "tea", "th\\xe9")
    for ending in ("csv", "parquet"):
        run("predict", model, photos, "--out", tmp_path / f"out.{ending}")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["label"] for row in rows} == {"caf\\xe9", "tea", "th\\xe9"}
    assert rows[0]["name"] == "caf\\xe9/0\\xfc.png"
    assert polars.read_parquet(tmp_path / "out.parquet")["name"].to_list() == [r["name"] for r in rows]
    assert json.loads(run("evaluate", model, photos, "--json").stdout)["n_wrong"] == 0
    assert "caf\\xe9" in run("evaluate", model, photos).stdout
    assert "caf\\xe9" in run("info", model).stdout
    for ending in ("html", "png"):
        run("report", model, photos, "--out", tmp_path / f"r.{ending}")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Model m\\xf6del on " in page
    assert "caf\\\\xe9" in page  # within JSON


@latin
def test_names_that_would_become_one_are_refused(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in (b"caf\xe9", b"caf\\xe9"):
        folder = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
        os.mkdir(folder)
        for k in range(2):
            image.new("L", (4, 4), 50 * k + 9).save(f"{folder}/{k}.png")
    with pytest.raises(ValueError, match="`path` must have sub-folders whose names differ"):
        load_image_folder(tmp_path, size=(4, 4))


def test_a_report_takes_labels_that_no_file_can_hold(tmp_path, make_blobs):
    data = make_blobs((8, 8), n_features=3)
    labels = np.array(["a\udce9", "b"])[data.codes]
    model = nsse.SmoothEmbedding().fit(data.X, labels)
    nsse.report.write_report(
        tmp_path / "r.html",
        model,
        nsse.report.Samples(data.X, labels, ["n\udce9"] * 16),
        title="t\udce9",
    )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "t\\xe9" in page
    assert "a\\udce9" in page
