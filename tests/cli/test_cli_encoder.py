"""Photographs through a network by the shell: four commands, and what they refuse."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import rows_of, run, told

pytest.importorskip("onnxruntime", reason="encoders need onnxruntime")
pytest.importorskip("PIL", reason="encoders need Pillow")

import onnxruntime

import nsse
from networks import SIDE, write_network, write_pictures
from nsse.datasets import Encoder, load_inputs, per_class_split
from nsse.io import read_header


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NSSE_CACHE", str(folder / "cache"))
        write_network(folder / "small.onnx")
        write_pictures(folder / "train", 8)
        write_pictures(folder / "test", 5, seed=1)
        arguments = ("fit", folder / "train", "--encoder", folder / "small.onnx")
        (folder / "said.txt").write_text(run(*arguments, "--out", folder / "m.nsse").stdout)
        yield folder


@pytest.fixture
def copy(folder, tmp_path, monkeypatch):
    """The same in a place that a test may change."""
    monkeypatch.setenv("NSSE_CACHE", str(tmp_path / "cache"))
    for name in ("train", "test"):
        shutil.copytree(folder / name, tmp_path / name)
    for name in ("small.onnx", "m.nsse"):
        shutil.copy(folder / name, tmp_path)
    return tmp_path


def test_fit_does_what_python_does(folder):
    inputs = load_inputs(folder / "train", encoder=folder / "small.onnx")
    same = nsse.SmoothEmbedding().fit(inputs.X, inputs.y)
    model = nsse.load(folder / "m.nsse")
    np.testing.assert_allclose(model.transform(inputs.X), same.transform(inputs.X), atol=1e-12)
    said = (folder / "said.txt").read_text().splitlines()
    assert "train: 24 images in 3 classes, 24 features of small.onnx, in " in said[0]
    assert "--encoder" not in said[-1]
    metadata = read_header(folder / "m.nsse").metadata
    assert metadata["kind"] == "encoded"
    assert metadata["sha256"] == Encoder(folder / "small.onnx").fingerprint
    assert metadata["settings"]["resize"] == "squash"


def test_pictures_go_in_again(folder, tmp_path):
    said = run("predict", folder / "m.nsse", folder / "test", "--out", tmp_path / "labels.csv").stdout
    assert said.splitlines()[-1].endswith(
        "measured in feature space (24 features of small.onnx), not on pixels."
    )
    rows = rows_of(tmp_path / "labels.csv")
    assert len(rows) == 15
    wrong = sum(row["label"] != Path(row["name"]).parent.name for row in rows)
    found = told("evaluate", folder / "m.nsse", folder / "test")
    assert (found["n_samples"], found["n_wrong"]) == (15, wrong)
    assert found["error"] < 0.3
    (one,) = told("predict", folder / "m.nsse", folder / "test" / "down" / "0.jpg")["predictions"]
    assert one["label"] == rows[5]["label"]
    shown = run("info", folder / "m.nsse").stdout
    assert "pictures" not in shown
    assert "settings=(mean=[" in " ".join(shown.split())


def test_the_report_shows_the_pictures_themselves(folder, tmp_path):
    page = tmp_path / "page.html"
    written = told("report", folder / "m.nsse", folder / "test", "--out", page)
    assert (written["n_train"], written["n_shown"], written["live"]) == (24, 15, False)
    text = page.read_text(encoding="utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert len(data["photographs"]) == 39
    assert all(address.startswith("data:image/jpeg;base64,/9j/") for address in data["photographs"])
    assert "small.onnx, so it holds in feature space and not for pixels." in data["panels"]["radii"][0]
    assert data["radius_in"] == " in feature space"
    assert data["rows"] is None


def test_one_graph_from_pixels_to_labels(folder, tmp_path):
    from PIL import Image

    out = tmp_path / "m.onnx"
    said = run("export", folder / "m.nsse", "--onnx", out).stdout
    assert "Input image: n x 32 x 32 x 3, red, green, blue from 0 to 255 (resize: squash)." in said
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    files = sorted((folder / "test").glob("*/*.jpg"))
    size = (SIDE, SIDE)
    pixels = [np.asarray(Image.open(file).resize(size, Image.Resampling.BICUBIC)) for file in files]
    names = ["label", "probabilities", "embedding"]
    label, P, embedding = session.run(names, {"image": np.stack(pixels)})
    model = nsse.load(folder / "m.nsse")
    X = Encoder(folder / "small.onnx").transform(files).astype(float)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(embedding, model.transform(X), atol=1e-4)
    preparation = json.loads(session.get_modelmeta().custom_metadata_map["preparation"])
    assert (preparation["kind"], "pictures" in preparation) == ("encoded", False)


@pytest.mark.slow
@pytest.mark.parametrize("made", [{"opset": 13}, {"opset": 20}, {"last": True}, {"n": 3}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_other_networks_are_merged_too(made, dtype, copy):
    write_network(copy / "other.onnx", **made)
    run(
        "fit",
        copy / "train",
        "--encoder",
        copy / "other.onnx",
        "--out",
        copy / "o.nsse",
        "--decision",
        "nearest",
    )
    run(
        "export", copy / "o.nsse", "--onnx", copy / "o.onnx", "--dtype", dtype
    )  # compared with Python there
    session = onnxruntime.InferenceSession(copy / "o.onnx", providers=["CPUExecutionProvider"])
    images = np.random.default_rng(1).integers(0, 256, (3, SIDE, SIDE, 3)).astype(np.uint8)
    (label,) = session.run(["label"], {"image": images})
    X = Encoder(copy / "other.onnx").transform(images).astype(float)
    np.testing.assert_array_equal(label, nsse.load(copy / "o.nsse").predict(X))


def test_augmented_before_the_network(copy):
    arguments = ("fit", copy / "train", "--encoder", copy / "small.onnx", "--out", copy / "a.nsse")
    found = told(*arguments, "--augment", "mirror")
    assert found["augmented"] == {"how": ["mirror"], "per_sample": 1}
    model, plain = nsse.load(copy / "a.nsse"), nsse.load(copy / "m.nsse")
    assert len(model.map_.centers) == 2 * len(plain.map_.centers)
    assert model.augment.n_copies == 1  # their names alone are kept
    assert len(model.augment.X) == 0
    chosen = told(*arguments, "--augment", "auto")
    assert set(chosen["augmented"]) >= {"gain", "gain_error"}
    line = run(*arguments, "--augment", "rotate", code=2).stderr
    assert "`--augment` must be auto, or some of mirror." in line


COMMANDS = [
    ("predict", "m.nsse", "test", "--out", "out.csv"),
    ("evaluate", "m.nsse", "test"),
    ("report", "m.nsse", "test", "--out", "out.html"),
    ("export", "m.nsse", "--onnx", "out.onnx"),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_another_network_and_none_are_refused(command, copy, folder, monkeypatch):
    monkeypatch.chdir(copy)
    write_network(copy / "other.onnx", seed=1)
    before = sorted(copy.rglob("*"))
    (line,) = run(*command, "--encoder", "other.onnx", code=2).stderr.splitlines()
    assert line.startswith("nsse: `--encoder` must name the network of the model, small.onnx (SHA-256 ")
    gone = folder / "small.onnx"
    away = gone.rename(folder / "away.onnx")
    try:
        (line,) = run(*command, code=2).stderr.splitlines()
    finally:
        away.rename(gone)
    assert line.endswith("small.onnx, which is not there. Pass its file.")
    assert sorted(copy.rglob("*")) == before
    run(*command, "--encoder", "small.onnx")


def test_what_goes_in_is_checked_before_anything_is_written(copy):
    out = copy / "n.nsse"
    fit = ("fit", copy / "train", "--encoder", copy / "small.onnx", "--out", out)
    (copy / "train" / "down" / "3.jpg").write_bytes(b"\xff\xd8\xff broken")
    cases = [
        (fit, "3.jpg"),
        ((*fit, "--size", "9x9"), "`--encoder` must come without --size, --color and --gray."),
        ((*fit, "--gray"), "`--encoder` must come without --size, --color and --gray."),
        ((*fit[:3], copy / "no.onnx", *fit[4:]), "`--encoder` must name the ONNX file of a network."),
        ((*fit[:3], copy / "m.nsse", *fit[4:]), "`--encoder` must name an ONNX graph"),
    ]
    for arguments, words in cases:
        (line,) = run(*arguments, code=2).stderr.splitlines()
        assert words in line
        assert not out.exists()
    assert "1 file, a broken image: down/3.jpg." in run(*fit, "--skip-broken").stdout


def test_models_without_a_network_take_none(copy):
    run("fit", copy / "train", "--out", copy / "p.nsse")
    arguments = ("predict", copy / "p.nsse", copy / "test", "--encoder", copy / "small.onnx")
    assert "`--encoder` must be left out here." in run(*arguments, code=2).stderr


@pytest.mark.slow
@pytest.mark.skipif("NSSE_DATA" not in os.environ, reason="NSSE_DATA names no real photographs")
def test_real_photographs_through_a_real_network(tmp_path, monkeypatch):
    from PIL import Image

    home = Path(os.environ["NSSE_DATA"])
    if not (home / "photos").is_dir() or not (home / "encoders").is_dir():
        pytest.skip("no photographs, or no network, in NSSE_DATA")
    monkeypatch.setenv("NSSE_CACHE", str(tmp_path / "cache"))
    network = {"model": str(home / "encoders" / "efficientnet_lite0.onnx"), "mean": 127, "std": 128}
    (tmp_path / "net.json").write_text(json.dumps(network))
    files = sorted((home / "photos").glob("*/*.jpg"))
    y = np.array([file.parent.name for file in files])
    train, test = per_class_split(y, 10, 0)
    for part, rows in (("train", train), ("test", test)):
        for file in np.array(files)[rows]:
            (tmp_path / part / file.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, tmp_path / part / file.parent.name)
    model, graph = tmp_path / "m.nsse", tmp_path / "m.onnx"
    fit = ("fit", tmp_path / "train", "--encoder", tmp_path / "net.json", "--out", model)
    run(*fit)
    assert told("evaluate", model, tmp_path / "test")["error"] <= 0.35
    run("export", model, "--onnx", graph)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    some = files[::6]
    resized = [Image.open(file).resize((224, 224), Image.Resampling.BICUBIC) for file in some]
    pixels = np.stack([np.asarray(image) for image in resized])
    label, P = session.run(["label", "probabilities"], {"image": pixels})
    X = Encoder(tmp_path / "net.json").transform(some).astype(float)
    np.testing.assert_array_equal(label, nsse.load(model).predict(X))
    np.testing.assert_allclose(P, nsse.load(model).predict_proba(X), atol=1e-4)
