"""``nsse fit`` with samples that have no label: from a place of their own, or marked by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run
from sklearn.datasets import load_iris

import nsse
from nsse import NSSE
from nsse.datasets import load_dataset, load_inputs, write_images

pytest.importorskip("skops.io")
pytest.importorskip("polars")


def write_table(path, X, labels):
    rows = [",".join([*map(str, row), label]) for row, label in zip(X, labels, strict=True)]
    lines = ["a,b,c,d,kind", *rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def tables(tmp_path):
    """Iris: five labelled flowers of every kind, the others without, in one table and in two."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    own = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(3)])
    rest = np.setdiff1d(np.arange(150), own)
    few = np.full(150, "", dtype=names.dtype)
    few[own] = names[own]
    write_table(tmp_path / "partly.csv", X, few)
    write_table(tmp_path / "own.csv", X[own], names[own])
    write_table(tmp_path / "others.csv", X[rest], names[rest])
    return tmp_path, X, names, few


def test_empty_labels_are_refused_unless_they_are_spoken_of(tables):
    folder, X, names, few = tables
    out = folder / "m.nsse"
    arguments = ("fit", folder / "partly.csv", "--label", "kind", "--out", out)
    refused = run(*arguments, code=2)
    assert "kind" in refused.output
    assert not out.exists()
    told = json.loads(run(*arguments, "--unlabeled-label", "", "--json").stdout)
    same = NSSE(unlabeled="").fit(X, few)
    model = nsse.load(out)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-9)
    np.testing.assert_array_equal(model.transduction_, same.transduction_)
    np.testing.assert_array_equal(model.labels_, few)
    assert told["classes"] == ["setosa", "versicolor", "virginica"]
    assert told["unlabelled"]["n"] == 135
    assert np.mean(model.transduction_ == names) > 0.9
    lines = run(*arguments, "--unlabeled-label", "").stdout
    assert "150 samples in 3 classes, 135 of them without a label" in lines
    assert "135 of 150 samples had no label: they were given one, with a median probability" in lines


def test_more_samples_from_a_place_of_their_own(tables):
    folder, X, _names, few = tables
    out = folder / "m.nsse"
    arguments = ("fit", folder / "own.csv", "--label", "kind", "--out", out)
    text = run(*arguments, "--unlabeled", folder / "others.csv").stdout
    assert "others.csv: 135 without labels." in text
    model = nsse.load(out)
    own = [np.flatnonzero(few == kind) for kind in np.unique(few) if kind]
    order = np.concatenate([*own, np.flatnonzero(few == "")])
    whole = NSSE(unlabeled="").fit(X[order], few[order])
    assert np.mean(model.transduction_ == whole.transduction_) > 0.99
    assert model.embedding_.shape[0] == 150


def test_whole_numbers_have_a_number_for_a_mark(tmp_path):
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(150) % 10 == 0, y - 1, 7)  # labels -1, 0 and 1
    np.savez(tmp_path / "d.npz", X=X, y=few)
    out = tmp_path / "m.nsse"
    run("fit", tmp_path / "d.npz", "--out", out, "--unlabeled-label", "7")
    model = nsse.load(out)
    assert model.classes_.tolist() == [-1, 0, 1]
    assert model.unlabeled == -2
    assert np.mean(model.transduction_ == y - 1) > 0.85


def test_a_mark_that_no_row_has(tables):
    folder, *_ = tables
    arguments = ("fit", folder / "own.csv", "--label", "kind", "--out", folder / "m.nsse")
    refused = run(*arguments, "--unlabeled-label", "x", code=2)
    assert "`--unlabeled-label` must be the entry of some rows" in refused.output.replace("\n", " ")
    assert not (folder / "m.nsse").exists()


def test_other_columns_in_the_other_table(tables):
    folder, _X, *_ = tables
    (folder / "wrong.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    arguments = ("fit", folder / "own.csv", "--label", "kind", "--out", folder / "m.nsse")
    refused = run(*arguments, "--unlabeled", folder / "wrong.csv", code=2)
    assert "`--unlabeled` must name a table with the columns of the model" in refused.output.replace(
        "\n", " "
    )


@pytest.mark.slow
def test_tuned_on_labels_held_out(tables):
    folder, *_ = tables
    out = folder / "m.nsse"
    arguments = ("fit", folder / "partly.csv", "--label", "kind", "--out", out, "--unlabeled-label", "")
    told = json.loads(run(*arguments, "--tune", "--standardize", "--json").stdout)
    assert told["unlabelled"]["n"] == 135
    assert "gain" in told["unlabelled"]
    model = nsse.load(out)[-1]
    assert model.transduction_.shape == (150,)


@pytest.mark.slow
def test_images_from_a_folder_and_from_one_beside_it(tmp_path):
    pytest.importorskip("PIL")
    data = load_dataset("objects", size=None)
    write_images(data, [72 * s + v for s in (0, 15, 17) for v in range(0, 36, 9)], tmp_path / "own")
    write_images(data, [72 * s + v for s in (0, 15, 17) for v in range(2, 72, 6)], tmp_path / "others")
    out = tmp_path / "m.nsse"
    arguments = ("fit", tmp_path / "own", "--out", out, "--size", "12x12")
    told = json.loads(run(*arguments, "--unlabeled", tmp_path / "others", "--json").stdout)
    assert told["unlabelled"]["n"] == 36
    inputs = load_inputs(tmp_path / "own", size=(12, 12))
    model = nsse.load(out)
    np.testing.assert_array_equal(model.labels_[:12], inputs.y)
    np.testing.assert_array_equal(model.labels_[12:], "")
