"""Samples from files: tables, NumPy's arrays, images; what is wrong with one is said with its place."""

from __future__ import annotations

import csv
import json
import os
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from table_files import written

from nsse.datasets import (
    Dataset,
    Preparation,
    TableEncoder,
    known_datasets,
    load_dataset,
    load_inputs,
    load_inputs_like,
    write_images,
)
from nsse.datasets._preparation import check_preparation

polars = pytest.importorskip("polars", reason="tables need Polars: pip install 'nsse[tables]'")

LONG = "x" * 140_000  # more than the csv module of Python takes
GOOD = "a,b,kind\n1,2,x\n3,4.5,x\n-5e-1, 6 ,y\n"


def test_a_table_gives_numbers_labels_and_its_preparation(tmp_path):
    inputs = load_inputs(written(tmp_path, GOOD), "kind")
    np.testing.assert_array_equal(inputs.X, [[1, 2], [3, 4.5], [-0.5, 6]], strict=False)
    assert inputs.X.dtype == np.float64
    assert inputs.y.tolist() == ["x", "x", "y"]
    assert inputs.names is None
    told = {"kind": "table", "columns": ["a", "b"], "label": "kind", "ignored": []}
    assert inputs.preparation == told | {"medians": {"a": 1.0, "b": 4.5}}


def test_csv_tsv_and_parquet_give_the_same(tmp_path):
    first = load_inputs(written(tmp_path, GOOD), "kind")
    tabbed = written(tmp_path, GOOD.replace(",", "\t"), "table.tsv")
    frame = polars.DataFrame({"a": [1.0, 3.0, -0.5], "b": [2.0, 4.5, 6.0], "kind": ["x", "x", "y"]})
    frame.with_columns(polars.col("kind").cast(polars.Categorical)).write_parquet(tmp_path / "t.parquet")
    for path in (tabbed, tmp_path / "t.parquet"):
        other = load_inputs(path, "kind")
        np.testing.assert_array_equal(other.X, first.X)
        assert other.y.tolist() == first.y.tolist()
        assert other.preparation == first.preparation


@pytest.mark.parametrize("name", ["table[1].csv", "table*.csv", "ta?le.parquet"])
def test_a_name_is_no_pattern(name, tmp_path):
    written(tmp_path, "no table", "table1.csv")
    path = written(tmp_path, GOOD, name)
    if path.suffix == ".parquet":
        polars.DataFrame({"a": [1.0, 3.0, -0.5], "kind": ["x", "x", "y"]}).write_parquet(path)
    assert load_inputs(path, "kind").X[:, 0].tolist() == [1, 3, -0.5]


def test_numbers_are_read_to_the_last_bit(tmp_path):
    """Random bits as numbers, and those at the ends of what there is."""
    numbers = np.frombuffer(np.random.default_rng(0).bytes(8 * 2000))
    ends = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e22, 1e23, 0.1]
    numbers = [*ends, *numbers[np.isfinite(numbers)].tolist()]
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["a", "b", "kind"], *([repr(n), 1, k % 2] for k, n in enumerate([*numbers, 0.5, 0.5]))]
        )
    read = load_inputs(path, "kind").X[:, 0]
    assert read.tolist() == [*numbers, 0.5, 0.5]  # Python's own reading of what it wrote


def test_labels_are_whole_numbers_or_text_and_the_same_in_part_of_a_file(tmp_path):
    def labels(*entries):
        rows = "".join(f"{k},{entry}\n" for k, entry in enumerate(entries))
        return load_inputs(written(tmp_path, f"a,kind\n{rows}"), "kind").y

    assert labels("10", "10", "-2").tolist() == [10, 10, -2]
    assert labels("10", "10", "b").tolist() == ["10", "10", "b"]
    assert labels("007", "007", "8").tolist() == ["007", "007", "8"]
    assert labels("1.0", "1.0", "2.0").tolist() == ["1.0", "1.0", "2.0"]
    assert labels("9" * 30, "9" * 30, "2").tolist() == ["9" * 30, "9" * 30, "2"]
    assert labels("NA", "NA", "2").tolist() == ["NA", "NA", "2"]  # Namibia


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a,b,kind\n1,2,x\n3,4,\n5,6,\n",
            "column kind. Got 2 rows of .* without one, the first is row 2",
        ),
        ("a,b,kind\n1,2,x\n3,red,x\n5,6,y\n", "column b. Got 'red' in row 2"),
        ("a,b,kind\n1,2,x\n3,-inf,x\n5,6,y\n", "column b. Got -inf in row 2"),
        ("a,b\n1,2\n", r"`label` must name columns of .*table\.csv. Got kind. It has a, b\."),
        ("a;b\n1;x\n", r"Got kind. It has a, b\."),
        ("a,kind\n1,x\n2,x\n", r"at least two classes. Got x for all 2 samples of .*table\.csv"),
        ("a,kind\n1,2.5\n2,3.5\n3,1.5\n", "several samples. Got 3 different labels for 3 samples"),
        ("kind\nx\nx\ny\n", "a column whose entries differ. Got no column"),
        ("", r"table\.csv, empty\."),
        ("a,b,kind\n", "no row below them"),
        ("a,kind\n1,x\n2,x,3\n", r"3 entries in row 2 \(counted from 1\) and 2 names of columns"),
        (",a,kind\n0,1,x\n", r"no name for column 1.*pandas writes row numbers .*index=False"),
        ("a,a,kind\n0,1,x\n", "two columns named 'a'"),
        (f"a,{LONG},kind\n1,2,x\n3,4,y\n", r"field larger than field limit \(131072\)"),
        (f"a,kind\n1,x\n{LONG},x,9\n", r"table\.csv, found more fields"),
        (f"a,b,kind\n1,2,x\n{LONG},3,x\n5,6,y\n", "column a. Got 'x{100} … x{100}' in row 2"),
        (f"a,b,kind\n1,{10**400},x\n2,{10**400},x\n3,{10**400},y\n", "column b. Got inf in row 1"),
        ("a,b,kind\n1,-1e999,x\n2,-1e999,x\n3,-1e999,y\n", "column b. Got -inf in row 1"),
        (b"a,kind\n1,\x81\n", "text in none of UTF-8, UTF-16, Latin-1. Save it as CSV in UTF-8"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(content, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        load_inputs(written(tmp_path, content), "kind")
    assert "\n" not in str(caught.value)


def test_what_is_wrong_with_a_parquet_file_is_named(tmp_path):
    for columns, message in (
        ({"a": [1.0, None, 2.0]}, r"a \(1 missing, first in row 2"),
        ({"a": [1.0, float("nan"), 2.0]}, r"a \(1 missing, first in row 2"),
        ({"a": [[1], [2], [3]]}, "column a with 3 different texts"),
    ):
        path = tmp_path / "t.parquet"
        polars.DataFrame(columns | {"kind": ["x", "x", "y"]}).write_parquet(path)
        with pytest.raises(ValueError, match=message):
            load_inputs(path, "kind", table=TableEncoder(missing="error"))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"t\.parquet, "):
        load_inputs(path, "kind")


def test_columns_are_ignored_if_they_are_there(tmp_path):
    path = written(tmp_path, "id,a,kind\nr1,1,x\nr2,2,x\nr3,3,y\n")
    inputs = load_inputs(path, "kind", table=TableEncoder(drop=["id"]))
    assert inputs.preparation["columns"] == ["a"]
    with pytest.raises(ValueError, match=r"`drop` must name columns of .*Got color. It has id, a, kind"):
        load_inputs(path, "kind", table=TableEncoder(drop=["color"]))
    again = load_inputs_like(path, inputs.preparation)
    np.testing.assert_array_equal(again.X, inputs.X)
    without = written(tmp_path, "a\n1\n2\n3\n", "new.csv")
    np.testing.assert_array_equal(load_inputs_like(without, inputs.preparation).X, inputs.X)


def test_more_rows_may_have_their_columns_in_any_order(tmp_path):
    inputs = load_inputs(written(tmp_path, GOOD), "kind")
    new = written(tmp_path, "b,a\n20,10\n40,30\n", "new.csv")
    assert load_inputs_like(new, inputs.preparation).X.tolist() == [[10, 20], [30, 40]]
    assert load_inputs_like(new, inputs.preparation, labeled=None).y is None
    labeled = written(tmp_path, "kind,b,a\ny,20,10\n", "new.csv")
    assert load_inputs_like(labeled, inputs.preparation).y is None
    assert load_inputs_like(labeled, inputs.preparation, labeled=True).y.tolist() == ["y"]
    other = written(tmp_path, "species,b,a\ny,20,10\n", "new.csv")
    assert load_inputs_like(other, inputs.preparation, "species", labeled=True).y.tolist() == ["y"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\n1\n", r"new\.csv: .* without b. Add the missing columns"),
        ("a,b,c,d\n1,2,3,4\n", r"new\.csv: .* with c, d. Leave the other columns out with `drop`"),
        ("a,c\n1,2\n", r"new\.csv: .* without b and with c\."),
    ],
)
def test_other_columns_are_named(content, message, tmp_path):
    inputs = load_inputs(written(tmp_path, GOOD), "kind")
    with pytest.raises(ValueError, match=message):
        load_inputs_like(written(tmp_path, content, "new.csv"), inputs.preparation)


def test_without_polars_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install 'nsse\[tables\]'"):
        load_inputs(written(tmp_path, GOOD), "kind")


# NumPy's files.


@pytest.fixture
def arrays(tmp_path):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1])
    np.savez(tmp_path / "data.npz", X=X, y=y, kind=y.astype(str))
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    np.save(tmp_path / "y.npy", y)
    return tmp_path


def test_arrays_with_labels_inside_or_beside(arrays):
    X, y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]
    inside = load_inputs(arrays / "data.npz")
    np.testing.assert_array_equal(inside.X, X, strict=True)
    assert inside.y.tolist() == y
    assert inside.preparation == {"kind": "array", "n_features": 2}
    assert load_inputs(arrays / "data.npz", "kind").y.tolist() == ["0", "0", "1", "1"]
    beside = load_inputs(arrays / "X.npy", str(arrays / "y.npy"))
    np.testing.assert_array_equal(beside.X, X.astype(np.float32), strict=True)
    assert beside.y.tolist() == y
    assert load_inputs_like(arrays / "X.npy", inside.preparation).y is None


def test_a_table_does_for_a_model_of_arrays(tmp_path):
    path = written(tmp_path, "p,q\n1,2\n3,4\n")
    assert load_inputs_like(path, {"kind": "array", "n_features": 2}).X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match=r"have 3 features.*table\.csv with 2"):
        load_inputs_like(path, {"kind": "array", "n_features": 3})
    with pytest.raises(ValueError, match=r"column a\. Got 'red' in row 1"):
        load_inputs_like(written(tmp_path, "a\nred\n"), {"kind": "array", "n_features": 1})


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"X": np.zeros((3, 2, 2))}, r"samples of shape \(3, 2, 2\)"),
        ({"X": np.zeros((0, 2))}, r"samples of shape \(0, 2\)"),
        ({"X": np.array([["a"]])}, "type <U1"),
        ({"X": np.array([[0.0, 1.0], [0.0, np.nan]])}, r"nan in row 2 \(counted from 1\), column 2"),
        ({"Z": np.zeros((3, 2))}, "arrays Z, none of them X"),
        ({"X": np.zeros((3, 2))}, "name the array of labels"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, r"hold 3 labels.*shape \(2,\)"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(3)}, "two classes"),
        ({"X": np.array([[{}]], dtype=object)}, "Python objects"),
    ],
)
def test_what_is_wrong_with_arrays_is_named(made, message, tmp_path):
    np.savez(tmp_path / "data.npz", **made)
    with pytest.raises(ValueError, match=message):
        load_inputs(tmp_path / "data.npz")


@pytest.mark.parametrize("name", ["data.npz", "X.npy"])
@pytest.mark.parametrize("content", [b"", b"junk", None])
def test_a_broken_file_of_numpy_is_named(name, content, arrays):
    path = arrays / name
    path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    with pytest.raises(ValueError, match=rf"{name}, "):
        load_inputs(path, str(arrays / "y.npy") if name == "X.npy" else None)


def test_labels_beside_an_npy_file_must_be_named(arrays):
    with pytest.raises(ValueError, match=r"`label` must be the \.npy file with the labels of .*X\.npy"):
        load_inputs(arrays / "X.npy")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_inputs(arrays / "X.npy", "nowhere.npy")


# Images.


@pytest.fixture
def folder(tmp_path):
    pillow = pytest.importorskip("PIL.Image", reason="images need Pillow: pip install 'nsse[images]'")
    rng = np.random.default_rng(0)
    home = tmp_path / "photos"
    for name in ("cat", "dog"):
        (home / name).mkdir(parents=True)
        for k, size in enumerate([(8, 8), (16, 12), (9, 7)]):
            levels = rng.integers(1, 255, size).astype(np.uint8)
            pillow.fromarray(levels).save(home / name / f"{k}.png")
    return home


def test_images_are_named_labeled_and_prepared(folder):
    inputs = load_inputs(folder, size=(4, 5))
    assert inputs.names == [f"{name}/{k}.png" for name in ("cat", "dog") for k in range(3)]
    assert inputs.y.tolist() == ["cat"] * 3 + ["dog"] * 3
    assert inputs.preparation == {"kind": "images", "size": [4, 5], "unit_norm": True, "color": False}
    np.testing.assert_allclose(np.linalg.norm(inputs.X, axis=1), 1.0)
    raw = load_inputs(folder, size=(4, 5), unit_norm=False)
    loaded = load_dataset(folder, size=(4, 5))
    np.testing.assert_array_equal(raw.X, loaded.X)


def test_new_images_are_prepared_alike_wherever_they_lie(folder):
    inputs = load_inputs(folder, size=(4, 5))
    (folder / "dog" / ".thumbnails").mkdir()  # hidden, and no class
    for path, rows, names in (
        (folder, range(6), inputs.names),
        (folder / "dog", (3, 4, 5), ["0.png", "1.png", "2.png"]),
        (folder / "dog" / "1.png", (4,), ["1.png"]),
    ):
        new = load_inputs_like(path, inputs.preparation)
        np.testing.assert_array_equal(new.X, inputs.X[list(rows)])
        assert new.names == names
    assert load_inputs_like(folder, inputs.preparation, labeled=True).y.tolist() == inputs.y.tolist()
    assert load_inputs_like(folder / "dog", inputs.preparation, labeled=None).y is None
    for path in (folder / "dog", folder / "dog" / "1.png"):
        with pytest.raises(ValueError, match="one sub-folder per class"):
            load_inputs_like(path, inputs.preparation, labeled=True)


def test_a_class_of_one_image_can_be_labeled_but_not_learned(folder):
    preparation = load_inputs(folder).preparation
    for k in (1, 2):
        (folder / "cat" / f"{k}.png").unlink()
    assert len(load_inputs_like(folder, preparation, labeled=True).X) == 4
    with pytest.raises(ValueError, match="at least 2 in each"):
        load_inputs(folder)


def test_an_original_size_is_kept_in_the_preparation(folder):
    with pytest.raises(ValueError, match="Pass a size"):
        load_inputs(folder, size=None)
    for name in ("cat", "dog"):
        for k in (1, 2):
            (folder / name / f"{k}.png").write_bytes((folder / name / "0.png").read_bytes())
    assert load_inputs(folder, size=None).preparation["size"] == [8, 8]


def test_what_is_no_image_is_named(folder):
    preparation = load_inputs(folder).preparation
    (folder / "dog" / "3.png").write_bytes(b"no image")
    for path in (folder, folder / "dog", folder / "dog" / "3.png"):
        with pytest.raises(OSError, match=r"dog/3\.png"):
            load_inputs_like(path, preparation)
    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match=r"empty'"):
        load_inputs_like(empty, preparation)


def test_a_black_image_is_named_with_the_cure(folder):
    from PIL import Image

    Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(folder / "dog" / "1.png")
    with pytest.raises(ValueError, match=r"all black.*dog/1\.png.*unit_norm=False"):
        load_inputs(folder)
    assert load_inputs(folder, unit_norm=False).X.shape == (6, 625)


def test_kinds_are_not_mixed(folder, tmp_path):
    images = load_inputs(folder).preparation
    with pytest.raises(ValueError, match=r"hold images, as the model.*table\.csv, a table"):
        load_inputs_like(written(tmp_path, GOOD), images)
    with pytest.raises(ValueError, match=r"hold a table, as the model.*images"):
        load_inputs_like(folder, {"kind": "table", "columns": ["a"]})


def test_other_files_and_missing_ones_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.csv.*notes\.txt"):
        load_inputs(written(tmp_path, "x", "notes.txt"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_inputs(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"kind": "sound"},
        {"kind": "images", "size": [2, 3], "unit_norm": True},
        {"kind": "images", "size": [-2, -2], "unit_norm": True},
        {"kind": "images", "size": "22", "unit_norm": True},
        {"kind": "images", "size": [2, 2]},
        {"kind": "table", "columns": ["a"]},
        {"kind": "table", "columns": [1, 2, 3, 4]},
        {"kind": "table", "columns": ["a", "b", "c", "d"], "ignored": 3},
        {"kind": "array", "n_features": 3},
    ],
)
def test_a_preparation_that_does_not_fit_the_model_is_refused(told):
    with pytest.raises(ValueError, match="`metadata` must say how the 4 features"):
        check_preparation(told, 4)


def test_preparations_that_fit_pass():
    check_preparation({"kind": "images", "size": [2, 2], "unit_norm": False}, 4)
    check_preparation({"kind": "table", "columns": list("abcd"), "label": "e"}, 4)
    check_preparation({"kind": "array", "n_features": 4}, 4)


# What there is, and writing it.


def test_images_are_written_as_they_are_read(tmp_path):
    pytest.importorskip("PIL", reason="images need Pillow: pip install 'nsse[images]'")
    levels = np.arange(32).reshape(4, 8) / 255.0
    data = Dataset(levels, np.array([3, 3, 5, 5]), (2, 4), "here", "mine")
    assert write_images(data, [0, 3], tmp_path) == 2
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.png")) == [
        "3/0000.png",
        "5/0001.png",
    ]
    write_images(data, [1, 2], tmp_path)
    np.testing.assert_allclose(load_dataset(tmp_path, size=None).X, levels, rtol=0, atol=1e-15)


def test_every_name_is_listed_with_its_place(tmp_path, monkeypatch):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    known = {one.name: one for one in known_datasets()}
    assert len(known) == 8
    assert [one.name for one in known.values() if one.found is not None] == ["digits"]
    assert "cam-orl.co.uk" in known["orl"].cure
    (tmp_path / "orl_faces").mkdir()
    found = {one.name: one.found for one in known_datasets(tmp_path)}
    assert found["orl"] == str(tmp_path / "orl_faces")
    assert found["coil20"] is None


# As they stand in model files.
IMAGES = {"kind": "images", "size": [2, 2], "unit_norm": True, "color": False}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (IMAGES, "2 x 2 gray levels, unit norm"),
        ({**IMAGES, "unit_norm": False}, "2 x 2 gray levels"),
        ({"kind": "table", "columns": list("abcd"), "label": "e", "ignored": ["f"]}, "4 columns"),
        ({"kind": "array", "n_features": 4}, "4 features"),
    ],
)
def test_a_preparation_is_read_and_written_as_before(told, words):
    preparation = Preparation.from_dict(json.loads(json.dumps(told)))
    assert check_preparation(preparation, 4) == preparation == told
    assert json.dumps(preparation.to_dict()) == json.dumps(dict(preparation)) == json.dumps(told)
    assert str(preparation) == words
    with pytest.raises(FrozenInstanceError):
        preparation.kind = "sound"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names need POSIX")
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.npz"])
def test_a_pipe_is_refused_with_its_cure(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="Copy a device or a pipe to a file first"):
        load_inputs(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="Check its spelling"):
        load_inputs(tmp_path / f"no-{name}")
