"""The path of a new user with files as people have them: photographs of a phone, a spreadsheet."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from commands import rows_of, run, told

import nsse
from nsse.io import read_header

Image = pytest.importorskip("PIL.Image", reason="images need Pillow: pip install 'nsse[images]'")
pytest.importorskip("polars", reason="tables need Polars: pip install 'nsse[tables]'")

THUMBS = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)  # as Windows leaves it
HUES = {"apple": (230, 40, 30), "lime": (40, 138, 30)}  # as bright as each other


def photograph(hue, lit, rng):
    """A ball of one hue, lit from above or from the left: hue and light are the class."""
    i, j = np.mgrid[-1:1:32j, -1:1:32j]
    light = 0.6 - 0.4 * (i if lit == "above" else j)
    ball = (i**2 + j**2 < rng.uniform(0.5, 0.8))[:, :, np.newaxis]
    pixels = np.where(ball, light[:, :, np.newaxis] * np.array(hue), 40.0) + rng.normal(
        0, 4, (32, 32, 3)
    )
    return np.clip(pixels, 0, 255).astype(np.uint8)


def save_as_a_phone_does(pixels, path, turn):
    """The pixels as the sensor saw them, turned by quarters; EXIF tells how to turn them back."""
    exif = Image.Exif()
    exif[0x0112] = {0: 1, 1: 6, 2: 3, 3: 8}[turn]
    Image.fromarray(np.rot90(pixels, turn)).save(path, exif=exif, quality=95)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Upright photographs to learn from, and others taken with the camera in every position."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("phone")
    for part, n, turns in (("train", 8, [0]), ("test", 6, [0, 1, 2, 3])):
        for hue, pixels in HUES.items():
            for lit in ("above", "left"):
                home = folder / part / f"{hue} {lit}"
                home.mkdir(parents=True)
                for k in range(n):
                    turn = turns[k % len(turns)]
                    save_as_a_phone_does(photograph(pixels, lit, rng), home / f"IMG_{k}.jpg", turn)
        (home / "Thumbs.db").write_bytes(THUMBS)
    return folder


@pytest.mark.slow
def test_from_photographs_of_a_phone_to_a_report(photos, tmp_path):
    model, labels, page = tmp_path / "fruit.nsse", tmp_path / "labels.csv", tmp_path / "fruit.html"
    said = run("fit", photos / "train", "--out", model).stdout
    assert said.splitlines()[-1].endswith("features of a pretrained network are better: --encoder.")
    assert "train: 32 images in 4 classes, 25 x 25 pixels in color, unit norm." in said
    assert "Left out 1 file, no image: lime left/Thumbs.db." in said
    gray = run("fit", photos / "train", "--out", tmp_path / "g.nsse", "--gray", "--size", "9x8").stdout
    assert "9 x 8 gray levels, unit norm." in gray
    assert "--encoder" not in gray
    preparation = {"kind": "images", "size": [25, 25], "unit_norm": True, "color": True}
    assert read_header(model).metadata.items() >= preparation.items()
    assert len(read_header(model).metadata["names"]) == 32

    said = run("predict", model, photos / "test", "--out", labels).stdout
    assert "Left out 1 file, no image: lime left/Thumbs.db." in said
    rows = rows_of(labels)
    assert len(rows) == 24
    assert all(row["name"].startswith(f"{row['label']}/IMG_") for row in rows)
    # A single photograph, stored lying on its side.
    (one,) = told("predict", model, photos / "test" / "lime above" / "IMG_1.jpg")["predictions"]
    assert one["label"] == "lime above"
    assert told("evaluate", model, photos / "test")["error"] == 0.0

    written = told("report", model, photos / "test", "--out", page)
    assert (written["n_train"], written["n_shown"], written["live"]) == (32, 24, True)
    assert '"color":true' in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_broken_photograph_stops_or_is_left_out_by_name(photos, tmp_path):
    import shutil

    home, model = tmp_path / "photos", tmp_path / "m.nsse"
    shutil.copytree(photos, home)
    for part in ("train", "test"):
        broken = home / part / "lime left" / "IMG_2.jpg"
        broken.write_bytes(broken.read_bytes()[:200])
    line = run("fit", home / "train", "--out", model, code=2).stderr
    assert re.search(
        r"^nsse: `DATA` must.*IMG_2\.jpg.*leave broken images out with `--skip-broken`\.$", line
    )
    assert not model.exists()
    said = run("fit", home / "train", "--out", model, "--color", "--skip-broken").stdout
    assert "Left out 1 file, a broken image: lime left/IMG_2.jpg." in said
    for command, *out in (("predict",), ("evaluate",), ("report", "--out", tmp_path / "p.html")):
        assert "IMG_2.jpg" in run(command, model, home / "test", *out, code=2).stderr
        said = run(command, model, home / "test", *out, "--skip-broken").stdout
        assert "a broken image: lime left/IMG_2.jpg." in said


@pytest.mark.slow
def test_color_reaches_the_graph(photos, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="graphs need onnxruntime")
    from nsse.datasets import load_inputs_like

    model, graph = tmp_path / "m.nsse", tmp_path / "m.onnx"
    run("fit", photos / "train", "--color", "--out", model)
    said = run("export", model, "--onnx", graph).stdout
    assert "Input X: rows of 1875 (25 x 25 pixels in color, unit norm)." in said
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    # The graph takes prepared rows, and tells how they are prepared.
    preparation = json.loads(session.get_modelmeta().custom_metadata_map["preparation"])
    assert read_header(model).metadata.items() >= preparation.items()
    assert "names" not in preparation
    test = load_inputs_like(photos / "test", preparation, labeled=True)
    (label,) = session.run(["label"], {"X": test.X.astype(np.float32)})
    assert label.tolist() == test.y.tolist()


# A table as a spreadsheet of another country writes it.


def number(value):
    return f"{value:.2f}".replace(".", ",")


@pytest.fixture(scope="module")
def plants(tmp_path_factory):
    """Two tables in Latin-1: kinds differ in the soil and, on the same soil, in the height."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("plants")
    kinds = (("Günsel", "Löß", 10.0), ("Klee", "Löß", 20.0), ("Heide", "Sand", 15.0))
    for part, n, first in (("train", 12, 100), ("new", 5, 500)):
        rows = [
            [kind, soil, number(height + rng.normal()), number(1000 + 200 * rng.normal())]
            for kind, soil, height in kinds
            for _ in range(n)
        ]
        rows[3][2], rows[4][3] = "", "NA"
        lines = ["Pflanze_ID;Art;Boden;Höhe (cm);Lage (m, ü. M.)"]
        lines += [";".join([str(first + k), *row]) for k, row in enumerate(rows)]
        (folder / f"{part}.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    return folder


def test_the_command_asks_what_it_cannot_know(plants, tmp_path):
    fit = ("fit", plants / "train.csv", "--out", tmp_path / "m.nsse")
    for options, words in (
        ((), "`--label` must name the column of"),
        (
            ("--label", "Art"),
            "Got column Pflanze_ID, which looks like a row id (a different integer in every",
        ),
        (("--label", "Art", "--id", "Nummer"), "`--id` must name columns of"),
        (
            ("--label", "Art", "--id", "Pflanze_ID", "--missing", "error"),
            "Höhe (cm) (1 missing, first in row 4)",
        ),
    ):
        (line,) = run(*fit, *options, code=2).stderr.splitlines()
        assert words in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_from_a_spreadsheet_to_a_report(plants, tmp_path):
    model, labels, page = tmp_path / "plants.nsse", tmp_path / "labels.csv", tmp_path / "plants.html"
    options = ("--label", "Art", "--id", "Pflanze_ID")
    said = run("fit", plants / "train.csv", *options, "--out", model).stdout
    assert "36 samples in 3 classes, 3 columns (1 with categories: 4 features)." in said
    assert (
        "It is written in Latin-1, with semicolons between columns, with commas for decimal points."
        in said
    )
    assert "Missing numbers, filled in with the medians of their columns: Höhe (cm) 1," in said
    assert "Categories, a feature each: Boden: Löß, Sand." in said
    assert "Columns are divided by their standard deviations. Use --as-they-are to leave them." in said
    known = read_header(model).metadata
    assert known["categories"] == {"Boden": ["Löß", "Sand"]}
    assert set(known["medians"]) == {"Höhe (cm)", "Lage (m, ü. M.)"}

    run("predict", model, plants / "new.csv", "--out", labels)
    rows = rows_of(labels)
    assert [row["Pflanze_ID"] for row in rows] == [str(500 + k) for k in range(15)]
    columns = ["label", "probability", "typicality", "distance", "unknown_categories"]
    assert list(rows[0]) == ["Pflanze_ID", *columns]
    found = told("evaluate", model, plants / "new.csv")
    assert (found["n_samples"], found["n_wrong"]) == (
        15,
        sum(
            row["label"] != kind
            for row, kind in zip(rows, np.repeat(["Günsel", "Klee", "Heide"], 5), strict=True)
        ),
    )
    assert found["n_wrong"] <= 2  # of the two filled in, a height tells nothing

    assert told("report", model, plants / "new.csv", "--out", page)["live"]
    text = page.read_text(encoding="utf-8")
    for words in (
        '"names":["500","501"',
        '"names":["100","101"',
        '"columns":["Boden","Höhe (cm)","Lage (m, ü. M.)"]',
    ):
        assert words in text
    # Another file for the same model, written in another way, is taken as it is meant.
    (tmp_path / "one.csv").write_text(
        '"Höhe (cm)","Lage (m, ü. M.)",Boden\n19.5,1000,Löß\n', encoding="utf-8"
    )
    (one,) = told("predict", model, tmp_path / "one.csv")["predictions"]
    assert (one["row"], one["label"]) == (1, "Klee")
    assert nsse.load(model).n_features_in_ == 3


def test_an_id_does_not_hide_what_is_predicted(tmp_path):
    (tmp_path / "t.csv").write_text("label,a,kind\nr1,1,x\nr2,2,x\nr3,8,y\nr4,9,y\n")
    common = ("--label", "kind", "--id", "label", "--out", tmp_path / "m.nsse")
    run("fit", tmp_path / "t.csv", *common)
    run("predict", tmp_path / "m.nsse", tmp_path / "t.csv", "--out", tmp_path / "o.csv")
    assert [(row["name"], row["label"]) for row in rows_of(tmp_path / "o.csv")] == [
        ("r1", "x"),
        ("r2", "x"),
        ("r3", "y"),
        ("r4", "y"),
    ]
