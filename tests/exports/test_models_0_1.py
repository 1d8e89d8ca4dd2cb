"""Files that nsse 0.1 wrote, one of every kind, load and say what they said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import nsse
from nsse.estimators.catalogue import DEFAULTS_0_1

pytest.importorskip("skops.io", reason="model files need skops: pip install 'nsse[files]'")

FOLDER = Path(__file__).parents[1] / "models_0_1"
FILES = sorted(FOLDER.glob("*.nsse"))


def form_of(kind):
    if kind.startswith("sparse"):
        return sparse.csr_matrix if kind == "sparse_matrix" else sparse.csr_array
    return np.float32 if kind == "single" else np.asarray


def test_every_kind_is_there():
    with np.load(FOLDER / "expected.npz") as expected:
        kinds = {name.split(".")[0] for name in expected.files} - {"X"}
    assert kinds == {path.stem for path in FILES}
    assert len(kinds) == 37


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("kind", ["nsse", "landmarks", "nssecv", "pipeline"])
def test_a_model_of_0_1_can_be_shown_and_copied(kind):
    """Parameters that came later are those of the published method."""
    model = nsse.load(FOLDER / f"{kind}.nsse")
    assert repr(model)
    inner = getattr(model, "best_estimator_", model[-1] if kind == "pipeline" else model)
    copied = clone(inner)
    assert copied.normalization == "samples"
    assert copied.embedding_scale == "orthonormal"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("name", ["SUPLAP", "LFDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg"])
def test_defaults_of_0_1_are_those_its_files_have(name):
    """All that differs from today's defaults is listed; `n_components` and one more were given."""
    given = {"n_components", "n_neighbors_between", "classifier"}
    model = nsse.load(FOLDER / f"{name.lower()}.nsse")
    today = type(model)().get_params()
    changed = {key: value for key, value in model.get_params().items() if value != today[key]}
    listed = DEFAULTS_0_1.get(name, {})
    assert {k: v for k, v in changed.items() if k not in given} == {
        k: v for k, v in listed.items() if k not in given
    }
    assert listed.get("n_components") is None


# scikit-learn rightly says that its own part of the file is of another version of it.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_0_1_says_what_it_said(path):
    with np.load(FOLDER / "expected.npz") as expected:
        X = form_of(path.stem)(expected["X"])
        embedding, labels = expected.get(f"{path.stem}.embedding"), expected[f"{path.stem}.labels"]
    model = nsse.load(path)
    assert np.asarray(model.predict(X)).astype(str).tolist() == labels.tolist()
    if embedding is not None:
        # Another processor may round otherwise.
        tolerance = 1e-5 if embedding.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(model.transform(X), embedding, rtol=tolerance, atol=tolerance)
