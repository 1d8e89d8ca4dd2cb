"""``nsse fit --augment``: copies of images, by name or chosen, on their way into the file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run

import nsse
from nsse import NSSE, NSSECV
from nsse.datasets import load_dataset, load_inputs, write_images
from nsse.invariances import named_images, usual_sets
from nsse.selection import choose_invariances

pytest.importorskip("skops.io")
pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Six views each of three solids, and some more, as PNG files."""
    folder = tmp_path_factory.mktemp("photos")
    data = load_dataset("objects", size=None)
    for part, views in (("train", range(0, 36, 6)), ("test", range(3, 40, 12))):
        write_images(data, [72 * solid + view for solid in (0, 15, 17) for view in views], folder / part)
    return folder


@pytest.mark.slow
def test_named_copies_are_those_of_python(photos, tmp_path):
    path = tmp_path / "m.nsse"
    arguments = ("fit", photos / "train", "--out", path, "--size", "12x10")
    told = json.loads(run(*arguments, "--augment", "shift, mirror", "--json").stdout)
    inputs = load_inputs(photos / "train", size=(12, 10))
    views = named_images(["shift", "mirror"], (12, 10))
    same = NSSE(invariances=views).fit(inputs.X, inputs.y)
    model = nsse.load(path)
    assert model.invariances == views
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert told["copies"] == {"how": ["shift", "mirror"], "per_sample": 9}
    assert told["n_samples"] == 18
    lines = run(*arguments, "--augment", "shift,mirror").stdout.splitlines()
    assert lines[1].startswith("Fitted NSSE to 18 images and 9 copies of each: 2 dimensions")


@pytest.mark.slow
def test_auto_takes_what_helps_and_says_so(photos, tmp_path):
    path = tmp_path / "m.nsse"
    arguments = ("fit", photos / "train", "--out", path, "--size", "12x12", "--augment", "auto")
    told = json.loads(run(*arguments, "--json").stdout)
    inputs = load_inputs(photos / "train", size=(12, 12))
    found = choose_invariances(NSSE(), inputs.X, inputs.y, usual_sets((12, 12)))
    model = nsse.load(path)
    assert model.invariances == found.best
    assert told["copies"]["gain"] == pytest.approx(found.gain[0])
    assert told["copies"]["gain_error"] == pytest.approx(found.gain[1])


@pytest.mark.slow
def test_a_search_has_copies_too(photos, tmp_path):
    path = tmp_path / "m.nsse"
    arguments = ("fit", photos / "train", "--out", path, "--size", "12x12", "--tune")
    run(*arguments, "--augment", "mirror")
    inputs = load_inputs(photos / "train", size=(12, 12))
    views = named_images(["mirror"], (12, 12))
    same = NSSECV(estimator=NSSE(invariances=views)).fit(inputs.X, inputs.y)
    assert nsse.load(path).best_params_ == same.best_params_
    assert nsse.load(path).invariances_ == views


@pytest.mark.slow
def test_a_model_with_copies_goes_all_the_way(photos, tmp_path):
    path = tmp_path / "m.nsse"
    run("fit", photos / "train", "--out", path, "--size", "12x12", "--augment", "rotate,mirror")
    assert "Error" in run("evaluate", path, photos / "test").stdout
    run("predict", path, photos / "test", "--out", tmp_path / "labels.csv")
    run("report", path, photos / "test", "--out", tmp_path / "page.html")
    assert "18 samples and 5 copies of each" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "18 samples and 5 copies of each, 144 features" in run("info", path).stdout


@pytest.mark.parametrize(
    ("augment", "what"),
    [
        ("wink", "`--augment` must be auto, or some of shift, rotate, scale, mirror, brightness"),
        ("auto,shift", "`--augment` must be auto, or some of"),
        ("", "`--augment` must be auto, or some of"),
    ],
)
def test_what_is_no_transformation_is_refused(photos, tmp_path, augment, what):
    result = run("fit", photos / "train", "--out", tmp_path / "m", "--augment", augment, code=2)
    assert what in result.stderr
    assert not list(tmp_path.iterdir())


def test_copies_are_for_images(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b,kind\n1,2,x\n3,5,y\n2,2,x\n3,4,y\n")
    arguments = ("fit", table, "--label", "kind", "--out", tmp_path / "m.nsse")
    result = run(*arguments, "--augment", "shift", code=2)
    assert "`--augment` must be left out for a table. Got 'shift'." in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
