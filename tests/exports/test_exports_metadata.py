"""What a model file tells without being loaded: metadata of the user's, facts of the model's."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from hostile import HEADER
from nsse.exports import read_header

pytest.importorskip("skops.io", reason="model files need skops: pip install 'nsse[files]'")


@pytest.fixture(scope="module")
def model(blobs):
    return nsse.NSSE.as_published(2, sigma=1.0).fit(
        blobs.X, np.array(["ape", "bear", "cat", "dog"])[blobs.codes]
    )


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"kind": "images", "size": [25, 25], "unit_norm": True},
        {"kind": "table", "columns": ["Länge", "b"], "label": None, "nested": {"a": [1, 2.5, "x"]}},
    ],
)
def test_metadata_comes_back(metadata, model, tmp_path):
    nsse.save(model, tmp_path / "m.nsse", metadata=metadata)
    assert read_header(tmp_path / "m.nsse").metadata == metadata
    assert nsse.load(tmp_path / "m.nsse").sigma_ == model.sigma_


@pytest.mark.parametrize(
    "metadata", [{"a": np.zeros(2)}, {"a": float("nan")}, {"a": {1, 2}}, {(1, 2): 3}, "text", 3]
)
def test_metadata_that_json_cannot_hold_is_refused_and_nothing_written(metadata, model, tmp_path):
    with pytest.raises(ValueError, match="`metadata` must be "):
        nsse.save(model, tmp_path / "m.nsse", metadata=metadata)
    assert not list(tmp_path.iterdir())


def test_facts_are_those_of_the_model(model, blobs, tmp_path):
    nsse.save(model, tmp_path / "m.nsse")
    facts = read_header(tmp_path / "m.nsse").facts
    assert facts["classes"] == ["ape", "bear", "cat", "dog"]
    assert (facts["n_samples"], facts["n_features"], facts["n_components"]) == (60, 5, 2)
    assert facts["sigma"] == model.sigma_
    assert facts["parameters"] == {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in model.get_params(deep=False).items()
    }
    assert "steps" not in facts


def test_facts_of_pipelines_searches_and_odd_parameters(blobs, tmp_path):
    path = tmp_path / "m.nsse"
    search = nsse.NSSECV(nsse.NSSE(mu2=0.5), n_repeats=2)
    nsse.save(make_pipeline(StandardScaler(), search).fit(blobs.X, blobs.codes), path)
    facts = read_header(path).facts
    assert facts["steps"] == ["StandardScaler", "NSSECV"]
    assert facts["parameters"]["mu2"] == 0.5  # the one that was chosen
    assert facts["classes"] == [0, 1, 2, 3]
    weights = (blobs.codes[:, None] == blobs.codes).astype(float)
    odd = nsse.NSSE.as_published(2, affinity=weights, classifier=KNeighborsClassifier(3), sigma=1.0)
    nsse.save(odd.fit(blobs.X, blobs.codes), path)
    parameters = read_header(path).facts["parameters"]
    assert parameters["affinity"] == "ndarray of shape (60, 60)"
    assert parameters["classifier"] == "KNeighborsClassifier(n_neighbors=3)"


def with_header(path, change):
    """The same file, its header changed."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries[HEADER] = json.dumps(change(json.loads(entries[HEADER]))).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("changes", [{"metadata": [1]}, {"metadata": "x"}, {"facts": None}])
def test_a_header_of_another_shape_is_damage(changes, model, tmp_path):
    path = tmp_path / "m.nsse"
    nsse.save(model, path)
    with_header(path, lambda header: header | changes)
    with pytest.raises(ValueError, match=r"m\.nsse, cut short or damaged"):
        read_header(path)


def test_files_without_metadata_and_facts_are_read(model, tmp_path):
    path, later = tmp_path / "m.nsse", ("metadata", "facts")
    nsse.save(model, path)
    with_header(path, lambda header: {k: v for k, v in header.items() if k not in later})
    header = read_header(path)
    assert (header.metadata, header.facts) == (None, {})
    assert nsse.load(path).sigma_ == model.sigma_
