"""Tests of hostile files: each raises a one-line error or works, and no code of a file runs."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from saved_models import PROBLEMS, fitted
from scipy import sparse
from test_io_files import several

import nsse
from nsse.certificates import SelectivePredictor, certified_radius
from nsse.io import archive, read_header

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
sys.path.append(str(Path(__file__).parents[1] / "certificates"))
from attacks import changed

import fuzz_files


@pytest.fixture
def opened(tmp_path):
    """Return a function that returns the header and the arrays of a saved model."""

    def open_file(name="default"):
        nsse.save(fitted(name), tmp_path / "model.nsse")
        return contents(tmp_path / "model.nsse")

    return open_file


def contents(path):
    with zipfile.ZipFile(path) as file:
        members = {entry: file.read(entry) for entry in file.namelist()}
    header = json.loads(members.pop("nsse.json"))
    return header, {n[:-4]: np.load(BytesIO(content)) for n, content in members.items()}


@pytest.fixture
def put_together(tmp_path):
    """Return a function that writes a header and arrays to a file."""

    def write_file(header, arrays, told=None):
        path = tmp_path / "hostile.nsse"
        told = declared(arrays) if told is None else told
        contents = {"nsse.json": json.dumps({**header, "arrays": told})}
        for name, array in arrays.items():
            buffer = BytesIO()
            np.save(buffer, array)
            contents[f"{name}.npy"] = buffer.getvalue()
        write(path, contents)
        return path

    return write_file


@pytest.fixture
def refused(put_together):
    """Return a function that writes a header and arrays and returns the one-line error of the file."""
    return lambda *parts: refusal(put_together(*parts))


def declared(arrays):
    return {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()}


def write(path, contents, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in contents.items():
            file.writestr(name, content)


def refusal(path):
    with pytest.raises(ValueError, match="`path` must") as caught:
        nsse.load(path)
    told = str(caught.value)
    assert path.name in told
    assert "\n" not in told
    return told


def node(tree, *keys):
    """Return a part of the tree by the names of attributes and fields."""
    for key in keys:
        tree = (tree.get("state", {}) | tree["parameters"])[key]
    return tree


# Arrays of the default model by their places, and values that are not allowed there.
ARRAYS = {
    ("map_", "coef"): ["nan", "inf", "row", "type", "flat", "empty"],
    ("map_", "centers"): ["nan", "row", "column", "type"],
    ("map_", "metric", "shift"): ["nan", "row"],
    ("map_", "metric", "scale"): ["inf", "row"],
    ("map_", "metric", "matrix"): ["nan", "row", "column"],
    ("scores_", "weights"): ["nan", "column", "row", "type"],
    ("scores_", "offsets"): ["inf", "row", "flat"],
    ("scores_", "codes"): ["reversed", "large", "type"],
    ("embedding_",): ["nan", "row", "flat", "wide", "type"],
    ("labels_",): ["row"],
    ("_leave_one_out",): ["nan", "column"],
    ("_leave_one_out_labels",): ["row", "flat", "large"],
    ("transduction_",): ["row"],
    ("classes_",): ["reversed", "large", "flat", "row"],
    ("metric_", "weights_"): ["nan", "row"],
}
CHANGES = {
    "nan": lambda a: np.where(np.arange(a.size).reshape(a.shape) == a.size // 2, np.nan, a),
    "inf": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.inf, a),
    "row": lambda a: a[:-1],
    "column": lambda a: a[:, :-1],
    "wide": lambda a: np.hstack([a, a, a]),
    "flat": lambda a: a[np.newaxis],
    "empty": lambda a: a[:0],
    "type": lambda a: a.astype(np.int32),
    "reversed": lambda a: a[::-1].copy(),
    "large": lambda a: a + 7,
}


@pytest.mark.parametrize(
    ("place", "change"), [(place, change) for place in ARRAYS for change in ARRAYS[place]]
)
def test_arrays_that_do_not_fit_are_refused(place, change, opened, refused):
    header, arrays = opened()
    where = node(header["tree"], *place)
    arrays["999"] = CHANGES[change](arrays[where["array"]])
    where["array"] = "999"
    assert "damaged" in refused(header, arrays)


SPARSE = {"sparse": [{"array": "998"}, {"array": "999"}, {"array": "997"}], "shape": [150, 2]}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("map_", "kernel", "sigma"), -1.0),
        (("map_", "kernel", "sigma"), {"float": "inf"}),
        (("map_", "kernel", "sigma"), {"float": "nan"}),
        (("map_", "kernel", "sigma"), "wide"),
        (("map_", "kernel", "sigma"), 5e-324),
        (("map_", "kernel", "sigma"), 1e200),
        (("map_", "coef"), SPARSE),
        (("embedding_",), SPARSE),
        (("_leave_one_out",), None),
        (("_leave_one_out_labels",), None),
        (("scores_", "temperature"), 0.0),
        (("map_", "metric", "norm"), 1e-9),
        (("map_", "metric", "tail"), {"array": "0"}),
        (("map_", "metric", "down"), {"array": "0"}),
        (("map_", "kernel"), None),
        (("map_", "kernel"), {"kernel": ["nsse.kernels", "Gaussian"], "parameters": {}, "state": {}}),
        (("map_", "kernel"), {"class": "Gaussian", "parameters": {"sigma": 1.0}}),
        (("map_", "kernel", "profile"), "a"),
        (("map_",), None),
        (("scores_",), {"class": "KMeansCenters", "parameters": {"n_centers": 3}}),
        (("sigma_",), -2.0),
        (("n_features_in_",), 5),
        (("n_features_in_",), "4"),
        (("classes_",), {"tuple": [0, 1, 2]}),
        (("embedding_",), {"nothing": 1}),
        (("metric_",), {"class": "os.system", "parameters": {}}),
        (("metric_",), {"class": "Pipeline", "parameters": {"steps": [], "memory": "/tmp"}}),
        (("metric_",), {"class": "WithinMetric", "parameters": {"callback": 1}, "state": {}}),
        (("metric_",), {"class": "WithinMetric", "parameters": {}, "state": {"fit": 1}}),
        (("metric_",), {"class": "WithinMetric", "parameters": {}, "state": {"__class__": 1}}),
        (("metric_",), {"class": "WithinMetric", "parameters": {}, "state": {"shrinkage": 1}}),
        (("labels_",), {"sparse": [[1.0], [9], [0, 1]], "shape": [1, 4]}),
    ],
)
def test_values_that_do_not_fit_are_refused(place, value, opened, refused):
    header, arrays = opened()
    *before, last = place
    parent = node(header["tree"], *before)
    (parent["state"] if last in parent["state"] else parent["parameters"])[last] = value
    if value is SPARSE:
        rows = sparse.csr_array(np.ones((150, 2)))
        arrays |= {"997": rows.indptr, "998": rows.data, "999": rows.indices}
    assert "damaged" in refused(header, arrays)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("threshold_", -1.0),
        ("threshold_", {"float": "nan"}),
        ("threshold_", "0.5"),
        ("threshold_", {"array": "0"}),
        ("classes_", {"array": "998"}),
    ],
)
def test_predictors_with_other_thresholds_or_classes_are_refused(place, value, tmp_path, refused):
    nsse.save(
        SelectivePredictor(fitted("default"), coverage=0.8).fit(PROBLEMS["default"][1]), tmp_path / "s"
    )
    header, arrays = contents(tmp_path / "s")
    header["tree"]["state"][place] = value
    arrays |= {"998": np.arange(4)} if place == "classes_" else {}
    assert "damaged" in refused(header, arrays)


@pytest.mark.parametrize(
    ("names", "profile", "told"),
    [
        (["os", "system"], None, "kernel system of the module os, which is not defined here"),
        (["nsse.kernels", "Kernel"], None, "Kernel of the module nsse.kernels, which is not defined"),
        (None, [1.0, 1.0, 1.0, 1.0, 0.0], "Gaussian of the module nsse.kernels, which has another"),
    ],
)
def test_kernels_that_are_not_defined_here_are_refused(names, profile, told, opened, refused):
    header, arrays = opened()
    kernel = node(header["tree"], "map_", "kernel")
    kernel["kernel"] = names or kernel["kernel"]
    kernel["state"]["profile"] = profile or kernel["state"]["profile"]
    assert told in refused(header, arrays)


@pytest.fixture
def ensemble(tmp_path):
    """Return the header and the arrays of a saved ensemble."""
    nsse.save(several(), tmp_path / "model.nsse")
    return contents(tmp_path / "model.nsse")


def member_of(header, place):
    return node(header["tree"], "map_")["parameters"]["parts"]["tuple"][place]["parameters"]


@pytest.mark.parametrize("weight", [-1.0, {"float": "inf"}, {"float": "nan"}, 2, "heavy", None])
def test_members_with_other_weights_are_refused(weight, ensemble, refused):
    header, arrays = ensemble
    member_of(header, 0)["weight"] = weight
    assert "damaged" in refused(header, arrays)


@pytest.mark.parametrize(
    "weights", [[-1.0, 2.0, 3.0], [np.nan, 1.0, 1.0], [np.inf, 1.0, 1.0], [1.0, 1.0], [[1.0, 1.0, 1.0]]]
)
def test_other_weights_of_an_ensemble_are_refused(weights, ensemble, refused):
    header, arrays = ensemble
    header["tree"]["state"]["weights_"] = {"array": "999"}
    assert "damaged" in refused(header, arrays | {"999": np.array(weights)})


@pytest.mark.parametrize(
    "change",
    [
        lambda V: V[:-1],
        lambda V: V[:, :1],
        lambda V: 2.0 * V,
        lambda V: V + 0.1,
        lambda V: np.where(V > 0.5, np.nan, V),
        lambda V: V.astype(np.float32),
    ],
)
def test_rotations_that_are_none_are_refused(change, ensemble, refused):
    header, arrays = ensemble
    map_, scores = (node(header["tree"], name)["parameters"] for name in ("map_", "scores_"))
    changed = {"999": change(arrays[map_["rotation"]["array"]])}
    map_["rotation"] = scores["weights"] = {"array": "999"}
    assert "damaged" in refused(header, arrays | changed)


def test_parts_of_other_ensembles_are_refused(ensemble, refused):
    """The labels must follow from the class scores that are certified."""
    header, arrays = ensemble
    V = arrays[node(header["tree"], "map_")["parameters"]["rotation"]["array"]]
    other = {"weights": -V, "offsets": np.ones(3), "classes": np.array(["a", "b", "c"])}
    for name, array in other.items():
        changed = json.loads(json.dumps(header))
        node(changed["tree"], "scores_")["parameters"][name] = {"array": "999"}
        assert "damaged" in refused(changed, arrays | {"999": array})
    for name, array in {"classes": other["classes"], "weights": np.ones((3, 5))}.items():
        changed = json.loads(json.dumps(header))
        member_of(changed, 2)["scores"]["parameters"][name] = {"array": "999"}
        assert "damaged" in refused(changed, arrays | {"999": array})
    for parts in ({"tuple": []}, [], None, {"tuple": [1]}, {"tuple": [{"array": "0"}]}):
        changed = json.loads(json.dumps(header))
        node(changed["tree"], "map_")["parameters"]["parts"] = parts
        assert "damaged" in refused(changed, arrays)
    changed = json.loads(json.dumps(header))
    inside = json.loads(json.dumps(node(header["tree"], "map_")))
    member_of(changed, 0)["map"] = inside
    assert "damaged" in refused(changed, arrays)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-6, 0.5, 1e3])
def test_no_number_of_a_stored_ensemble_enlarges_a_radius(factor, ensemble, put_together):
    samples, loaded = PROBLEMS["default"][1][::50], 0
    for header, arrays in changed_numbers(*ensemble, factor, "map_"):
        try:
            model = nsse.load(put_together(header, arrays))
        except ValueError:
            continue
        loaded += 1
        radius = np.minimum(certified_radius(model, samples), 1e6)
        assert not changed(model, samples, radius).any()
    assert loaded > 5


@pytest.mark.parametrize("part", [0, 1, 2])
def test_sparse_indices_outside_are_refused(part, opened, refused):
    header, arrays = opened("sparse")
    where = node(header["tree"], "map_", "centers")["sparse"][part]
    arrays["999"] = arrays[where["array"]] + (np.nan if part == 0 else 1000)
    where["array"] = "999"
    assert "damaged" in refused(header, arrays)


def test_a_tree_that_is_no_model_is_refused(opened, refused):
    header, arrays = opened()
    affine = node(header["tree"], "map_", "metric")
    unfitted = {"class": "SmoothEmbedding", "parameters": {}, "state": {}}
    for tree in (affine, unfitted, [], None, 3, "text", {"class": "AffineStep", "parameters": {}}):
        assert "damaged" in refused({**header, "tree": tree}, arrays)
    deep: object = 0
    for _ in range(500):
        deep = [deep]
    assert "damaged" in refused({**header, "tree": deep}, arrays)


@pytest.mark.parametrize("name", ["embedding_", "scores_", "classes_", "n_features_in_"])
def test_a_model_without_a_part_is_refused(name, opened, refused):
    header, arrays = opened()
    del header["tree"]["state"][name]
    assert "damaged" in refused(header, arrays)


def test_parts_that_are_computed_cannot_be_given(opened, refused):
    for name, part in (("default", "center_squares"), ("default", "gram"), ("LFDA", "gram")):
        for where in ("state", "parameters"):
            header, arrays = opened(name)
            node(header["tree"], "map_")[where][part] = {"array": "0"}
            assert "damaged" in refused(header, arrays)


def numbers_in(part):
    """Yield the places of numbers and arrays that are not labels, as objects with their keys."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if (isinstance(value, dict) and "array" in value) or isinstance(value, float):
            yield part, key
        elif isinstance(value, dict | list):
            yield from numbers_in(value)


def changed_numbers(header, arrays, factor, *inside):
    """Yield copies of a file, in each of which one number or array is multiplied by a factor.

    ``inside`` are the names of the attribute whose numbers are changed, by default of all.
    """
    for place in range(len(list(numbers_in(node(header["tree"], *inside))))):
        header, arrays = json.loads(json.dumps(header)), dict(arrays)
        parent, key = list(numbers_in(node(header["tree"], *inside)))[place]
        value = parent[key]
        if isinstance(value, float):
            parent[key] = factor * value
            yield header, arrays
            parent[key] = value
        elif arrays[value["array"]].dtype.kind == "f":
            name = value["array"]
            yield header, arrays | {name: factor * arrays[name]}


@pytest.mark.parametrize("factor", [1e-6, 0.5, 1e3])
@pytest.mark.parametrize("name", ["default", "nearest", "number", "standardised", "LFDA"])
def test_no_number_of_a_file_enlarges_a_radius(name, factor, opened, put_together):
    """No attack within the radius changes the label of the stored function, whatever a file contains."""
    model, samples = fitted(name), PROBLEMS[name][1][::30]
    loaded = 0
    for header, arrays in changed_numbers(*opened(name), factor):
        try:
            model = nsse.load(put_together(header, arrays))
        except ValueError:
            continue
        loaded += 1
        radius = np.minimum(certified_radius(model, samples), 1e6)
        assert not changed(model, samples, radius).any()
    assert loaded > 5


def test_stated_norms_and_gram_matrices_are_refused(opened, put_together):
    """Files cannot state them, because they could give radii of 1e8 or infinity."""
    header, arrays = opened()
    node(header["tree"], "map_", "metric")["parameters"]["norm"] = 1e-9
    assert "damaged" in refusal(put_together(header, arrays))
    header, arrays = opened()
    arrays["999"] = 1e-12 * np.eye(2)
    node(header["tree"], "map_")["parameters"]["gram"] = {"array": "999"}
    assert "damaged" in refusal(put_together(header, arrays))


def test_a_small_file_cannot_make_a_large_gram_matrix(opened, refused):
    header, arrays = opened("LFDA")
    affine = node(header["tree"], "map_", "affine")["parameters"]
    arrays["998"], arrays["999"] = np.zeros((4, 60_000)), np.zeros(60_000)
    affine["matrix"], affine["offset"] = {"array": "998"}, {"array": "999"}
    assert "linear map" in refused(header, arrays)


def test_members_that_the_header_does_not_name_are_refused(opened, tmp_path):
    opened()
    with zipfile.ZipFile(tmp_path / "model.nsse") as file:
        members = {entry: file.read(entry) for entry in file.namelist()}
    first = "0.npy"
    others = {name: content for name, content in members.items() if name != first}
    pickled = (
        b"\x93NUMPY\x01\x00F\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(69)
    )
    cases = {
        "extra": members | {"more.npy": members[first]},
        "outside": members | {"../../evil.py": b"print(1)"},
        "renamed": others | {"zero.npy": members[first]},
        "missing": others,
        "other": others | {first: max(members.values(), key=len)},
        "longer": others | {first: members[first] + b"\0"},
        "shorter": others | {first: members[first][:-8]},
        "text": others | {first: b"hello"},
        "objects": others | {first: pickled + b"\n" + pickle.dumps([print])},
        "header": members | {"nsse.json": b"{"},
        "list": members | {"nsse.json": b"[1, 2]"},
    }
    for name, contents in cases.items():
        path = tmp_path / f"{name}.nsse"
        write(path, contents)
        assert "damaged" in refusal(path)
    write(tmp_path / "lzma.nsse", members, zipfile.ZIP_LZMA)
    refusal(tmp_path / "lzma.nsse")
    write(tmp_path / "two.nsse", members)
    with zipfile.ZipFile(tmp_path / "two.nsse", "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr(first, members[first])
    refusal(tmp_path / "two.nsse")
    assert not (tmp_path.parent.parent / "evil.py").exists()


@pytest.mark.parametrize("dtype", ["|O", "<c16", "<M8[s]", "V8", "f8,f8", "<f0", "object", "<U99999999"])
def test_types_that_no_array_has_are_refused(dtype, opened, refused):
    header, arrays = opened()
    told = declared(arrays)
    told["0"]["dtype"] = dtype
    refused(header, arrays, told)


def test_bombs_are_refused_before_they_are_inflated(opened, refused, tmp_path, monkeypatch):
    header, arrays = opened()
    told = declared(arrays)
    for shape in ([2**39, 2**39], [10**11], [-1, 4], [True], ["4"], [1] * 40):
        refused(header, arrays, {**told, "0": {"dtype": "<f8", "shape": shape}})
    path = tmp_path / "bomb.nsse"
    write(path, {"nsse.json": b" " * (archive.LARGEST_HEADER + 1)})
    assert "bytes" in refusal(path)
    monkeypatch.setattr(archive, "FREE", 1000)  # whatever deflates a hundredfold
    arrays["999"] = np.zeros(10**6)
    assert "too many for a file of this size" in refused(header, arrays)


def test_a_model_larger_than_memory_is_refused(opened, tmp_path, monkeypatch):
    opened()
    monkeypatch.setattr(archive, "available_memory", lambda: 100)
    with pytest.raises(MemoryError, match="100 are left"):
        nsse.load(tmp_path / "model.nsse")


def test_other_formats_are_refused_in_one_sentence(opened, refused, tmp_path):
    header, arrays = opened()
    assert "Upgrade nsse" in refused({**header, "format": 5, "nsse": "9.0"}, arrays)
    old = {"format": 3, "model": "NSSE", "nsse": "0.3.0", "sklearn": "1.9.1", "numpy": "2.4.6"}
    write(tmp_path / "old.nsse", {"schema.json": b"{}", "nsse.json": json.dumps(old)})
    told = refusal(tmp_path / "old.nsse")
    assert "of format 3, written by nsse 0.3.0" in told
    assert told.endswith("Fit the model again and save it with this version.")
    with pytest.raises(ValueError, match="format 3"):
        read_header(tmp_path / "old.nsse")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.nsse"
    for content in (b"", b"P", b"PK", b"hello", pickle.dumps({"a": 1}), b"PK\x05\x06" + b"\0" * 18):
        path.write_bytes(content)
        refusal(path)
    write(path, {"readme.txt": b"hello"})
    assert "without nsse.json" in refusal(path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_work_or_are_refused(seed, tmp_path):
    tally = fuzz_files.run(range(seed * 80, (seed + 1) * 80), seed, tmp_path)
    assert not tally.failures
    assert tally.counts["refused"] > 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns_": ["x0", "x9", "x2", "x3"]},
        {"columns_": ["x0", "x1", "x2"]},
        {"_names": ["x0", "x1", "x2"]},
        {"categories_": {"pairs": [["x0", [1]]]}},
        {"categories_": {"pairs": [["x0", ["a"]]]}},
        {"medians_": {"pairs": [["x0", {"float": "nan"}]]}},
        {"dates_": {"pairs": [["x9", ""]]}},
    ],
)
def test_a_table_that_does_not_fit_is_refused(wrong, opened, refused):
    header, arrays = opened("table")
    encoder = node(header["tree"], "steps")[0]["tuple"][1]
    assert encoder["class"] == "TableEncoder"
    encoder["state"].update(wrong)
    assert "damaged" in refused(header, arrays)


def test_steps_in_another_order_are_refused(opened, refused):
    header, arrays = opened("table")
    steps = node(header["tree"], "steps")
    steps[0], steps[1] = steps[1], steps[0]
    assert "damaged" in refused(header, arrays)


def test_numbers_for_other_gaps_are_refused(opened, refused):
    header, arrays = opened("imputed")
    step = node(header["tree"], "steps")[0]["tuple"][1]
    arrays["999"] = np.zeros(3)
    step["parameters"]["fill"] = {"array": "999"}
    assert "damaged" in refused(header, arrays)
