"""Bad inputs: one line that says what and where, exit code 2, no traceback, nothing half-written."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nsse
from nsse.cli.app import app
from nsse.cli.screen import running, typed

# Options that are looked at when data are read.
LEARNED = ("--n-components", "--sigma", "--smoothness")
AUGMENT = "`--augment` must be auto, or some of shift, rotate, scale, mirror, brightness, light"
GOOD = "a,b,kind\n1,2,x\n3,4,x\n5,6,y\n7,9,y\n"


def fails(*arguments, said=""):
    """The one line that a command leaves on stderr."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 2
    assert result.stdout.partition(" ")[0] == said
    (line,) = result.stderr.splitlines()
    assert line.startswith("nsse: ")
    return line


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "good.csv").write_text(GOOD)
    path = folder / "model.nsse"
    arguments = ["fit", str(folder / "good.csv"), "--label", "kind", "--out", str(path)]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    return path


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("a,b,kind\n1,2,x\n3,,\n5,6,y\n", "column kind. Got 1 row"),
        ("a,b,kind\n1,red,x\n3,blue,x\n5,6,y\n", "column b. Got 'red' in row 1"),
        ("a,b\n1,2\n3,4\n", "Got kind. It has a, b."),
        ("", "empty"),
    ],
)
def test_bad_tables(content, what, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "model.nsse"
    data.write_text(content)
    for old in (None, "kept"):  # nothing is written, and what was there stays
        if old is not None:
            out.write_text(old)
        line = fails("fit", data, "--label", "kind", "--out", out)
        assert what in line
        assert "data.csv" in line
        left = {file.name: file.read_text() for file in tmp_path.iterdir()}
        assert left == {"data.csv": content} | ({} if old is None else {"model.nsse": old})


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict", "transform", "evaluate"])
def test_new_rows_that_do_not_fit_the_model(command, model, tmp_path):
    data, out = tmp_path / "new.csv", tmp_path / "out.csv"
    writes = () if command == "evaluate" else ("--out", out)
    for content, what in (
        ("a,kind\n1,x\n", "without b"),
        ("a,b,c,kind\n1,2,3,x\n", "with c"),
        ("a,b,kind\n1,red,x\n", "column b. Got 'red' in row 1"),
        ("", "empty"),
    ):
        data.write_text(content)
        assert what in fails(command, model, data, *writes)
        assert [file.name for file in tmp_path.iterdir()] == ["new.csv"]


@pytest.fixture
def photos(tmp_path):
    """Gray, colour and 16-bit images of different sizes."""
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        Image.fromarray(rng.integers(1, 255, (9, 7)).astype(np.uint8)).save(folder / "gray.png")
        Image.fromarray(rng.integers(1, 255, (30, 40, 3)).astype(np.uint8)).save(folder / "color.jpg")
        Image.fromarray(rng.integers(1, 65535, (16, 16)).astype(np.uint16)).save(folder / "deep.png")
    return tmp_path / "photos"


@pytest.mark.slow
def test_images_of_all_kinds_and_sizes_are_taken_and_broken_ones_named(photos, tmp_path):
    out = tmp_path / "model.nsse"
    arguments = ["fit", str(photos), "--out", str(out)]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    kept = out.read_bytes()
    assert "differ in size" in fails("fit", photos, "--out", out, "--size", "original")
    whole = (photos / "dog" / "gray.png").read_bytes()
    for broken in (b"", b"no image", whole[: len(whole) // 2]):
        (photos / "dog" / "broken.png").write_bytes(broken)
        for command in (("fit", photos), ("predict", out, photos), ("evaluate", out, photos)):
            line = fails(*command, *(("--out", out) if command[0] == "fit" else ()))
            assert "broken.png" in line
    assert out.read_bytes() == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.nsse", "photos"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--size", "25"), "`--size` must be HEIGHTxWIDTH or original"),
        (("--standardize",), "`--standardize` must be left out with images"),
        (("--label", "kind"), "`--label` must be left out for images"),
        (("--centers", "many"), "`--centers` must be a number, auto or all"),
        (("--augment", "wink"), AUGMENT),
        (("--augment", "auto,shift"), AUGMENT),
        (("--augment", ""), AUGMENT),
        *(((option, "-1"), f"`{option}` must") for option in LEARNED),
    ],
)
def test_bad_options(arguments, what, photos, tmp_path):
    said = "Read" if arguments[0] in LEARNED else ""
    assert what in fails("fit", photos, "--out", tmp_path / "m.nsse", *arguments, said=said)
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def bad_model(kind, model, folder):
    path = folder / "bad.nsse"
    if kind == "cut short":
        path.write_bytes(model.read_bytes()[:-300])
    elif kind == "no embedding":
        nsse.save(nsse.WithinMetric().fit(np.eye(4), [0, 0, 1, 1]), path)
    return path


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("cut short", "cut short or damaged"),
        ("no embedding", "WithinMetric"),
        ("missing", "must name a file"),
    ],
)
def test_bad_models(kind, what, model, tmp_path):
    path = bad_model(kind, model, tmp_path)
    data, before = model.with_name("good.csv"), {file.name for file in tmp_path.iterdir()}
    for command in (
        ("predict", path, data, "--out", tmp_path / "o.csv"),
        ("transform", path, data, "--out", tmp_path / "o.npy"),
        ("evaluate", path, data),
        ("export", path, "--onnx", tmp_path / "o.onnx"),
        *([("info", path)] if kind != "no embedding" else []),
    ):
        line = fails(*command)
        assert what in line
        assert "bad.nsse" in line
    assert {file.name for file in tmp_path.iterdir()} == before


def test_a_model_whose_header_lies_is_refused(model, tmp_path):
    lying = nsse.load(model)[-1]
    nsse.save(lying, tmp_path / "m.nsse", metadata={"kind": "images", "size": [9, 9], "unit_norm": True})
    assert "`MODEL` must say" in fails("predict", tmp_path / "m.nsse", model.with_name("good.csv"))


@pytest.mark.parametrize(
    ("command", "out", "what"),
    [
        ("predict", "labels.txt", "end in .csv or .parquet"),
        ("predict", "no/labels.csv", "name a file that can be written"),
        ("transform", "e.png", "end in .csv or .parquet or .npy"),
        ("fit", "no/m.nsse", "name a file that can be written"),
        ("fit", "", "name a file that can be written"),
    ],
)
def test_a_bad_place_is_found_before_any_work(command, out, what, model, tmp_path, monkeypatch):
    monkeypatch.setattr("nsse.datasets.load_inputs", lambda *_, **__: pytest.fail("read for nothing"))
    monkeypatch.setattr("nsse.io.files.load", lambda *_, **__: pytest.fail("loaded for nothing"))
    data = model.with_name("good.csv")
    first = (data, "--label", "kind") if command == "fit" else (model, data)
    assert what in fails(command, *first, "--out", tmp_path / out)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["predict", "transform", "fit"])
def test_nothing_is_written_over_what_is_read(command, model, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text(GOOD)
    first = (data, "--label", "kind") if command == "fit" else (model, data)
    assert "name another file than those read" in fails(command, *first, "--out", data)
    assert data.read_text() == GOOD


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "nowhere.csv", "--label", "kind"), "`DATA` must name a file or folder that exists"),
        (("fit", "good.csv"), "`--label` must name the column of labels, because"),
        (("fit", "good.csv", "--label", "kind", "--drop", "c"), "`--drop` must name columns"),
        (
            ("fit", "good.csv", "--label", "kind", "--categorical", "c"),
            "`--categorical` must name columns",
        ),
        (("fit", "good.csv", "--label", "kind", "--keep", "c"), "`--keep` must name columns"),
        (("fit", "more.csv", "--label", "kind"), "name it in `--categorical`."),
        (("fit", "good.csv", "--label", "kind", "--n-components", "9"), "`--n-components` must"),
        (
            ("fit", "good.csv", "--label", "kind", "--augment", "shift"),
            "`--augment` must be left out for a",
        ),
        (("export", "model.nsse", "--onnx", "no/m.onnx"), "nsse: `--onnx` must "),
        (("export", "model.nsse", "--onnx", "m.txt"), "nsse: `--onnx` must "),
        (("predict", "nowhere.nsse", "good.csv"), "`MODEL` must name a file"),
        (("predict", "good.csv", "good.csv"), "`MODEL` must name a model file"),
        (("info", "nowhere.nsse"), "`MODEL` must name a file"),
        (("predict", "model.nsse", "more.csv"), "Leave the other columns out with `--drop`"),
    ],
)
def test_errors_name_what_was_typed(arguments, words, model, tmp_path):
    folder = model.parent
    (folder / "more.csv").write_text("a,b,c,kind\n1,2,3,x\n3,4,o,x\n5,6,5,y\n7,9,6,y\n")
    ours = {path.name for path in folder.iterdir()} | {"nowhere.csv", "nowhere.nsse"}
    typed = [folder / one if one in ours else one for one in arguments]
    out = ("--out", tmp_path / "m.nsse") if arguments[0] == "fit" else ()
    result = CliRunner().invoke(app, [str(a) for a in (*typed, *out)], catch_exceptions=False)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
    assert "--out" not in line
    # No parameter of Python is left, whatever its name.
    names = re.findall("`([^`]*)`", line)
    assert all(name.isupper() or name.startswith(("--", "nsse")) for name in names), names


@pytest.mark.filterwarnings("always")
def test_warnings_name_what_was_typed(capsys):
    with running(False), typed({"sigma": "--sigma"}):
        warnings.warn("Lower `sigma` or `other`.", stacklevel=1)
    assert capsys.readouterr().err == "nsse: warning: Lower `--sigma` or `other`.\n"


def test_a_data_set_that_is_not_there_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    assert "coil-20-proc" in fails("datasets", "coil20", "--out", tmp_path / "coil")
    assert "`NAME` must be one of" in fails("datasets", "coil21", "--out", tmp_path / "coil")
    assert "be given with a NAME" in fails("datasets", "coil20")
    assert not list(tmp_path.iterdir())
