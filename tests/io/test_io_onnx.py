"""Tests that ONNX graphs agree with models: labels of ten thousand samples, probabilities to 1e-5."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from saved_models import NAMES, PROBLEMS, X, Y, fitted, new_samples
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from test_io_files import several

import nsse
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, methods

onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX: pip install 'nsse[onnx]'")
NOT_EXPORTED = {"NPPE", "NYS", "SPE", "metric alone"}
EXPORTED = [name for name in PROBLEMS if name not in NOT_EXPORTED]
OUTPUTS = ["embedding", "label", "scores", "probabilities"]


def run(model, X, dtype, names=OUTPUTS):
    graph = nsse.to_onnx(model, dtype=dtype)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return dict(zip(names, session.run(names, {"X": dense.astype(dtype)}), strict=True))


def same_labels(labels, model, X):
    """Check that labels agree, unless the two largest probabilities are equal up to rounding."""
    P = np.sort(model.predict_proba(X), axis=1)
    is_clear = P[:, -1] - P[:, -2] > 1e-12
    np.testing.assert_array_equal(labels[is_clear], model.predict(X)[is_clear])
    assert is_clear.mean() > 0.9


def decision(scores):
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTED)
def test_ten_thousand_points_of_every_estimator(name):
    model, new = fitted(name), new_samples(name, 10_000)
    new = new.astype(np.float64)
    found = run(model, new, np.float64)
    same_labels(found["label"], model, new)
    np.testing.assert_allclose(found["embedding"], model.transform(new), atol=1e-8)
    np.testing.assert_allclose(decision(found["scores"]), model.decision_function(new), atol=1e-8)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-6)
    rounded = new.astype(np.float32).astype(np.float64)
    found = run(model, new, np.float32)
    assert {found[name].dtype for name in OUTPUTS if name != "label"} == {np.dtype(np.float32)}
    same_labels(found["label"], model, rounded)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rounded), rtol=0, atol=1e-5)


ON_DIGITS = [
    SmoothEmbedding(),
    SmoothEmbedding(decision="nearest"),
    SmoothEmbedding(centers=60),
    make_pipeline(StandardScaler(), SmoothEmbedding()),
    NSSE(),
    NSSE(classifier="linear"),
    SmoothEmbeddingCV(),
    *(getattr(methods, name)() for name in EXPORTED if hasattr(methods, name)),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", ON_DIGITS, ids=str)
def test_digits(model):
    digits, labels = load_digits(return_X_y=True)
    model = clone(model).fit(digits[:200], labels[:200])
    rng = np.random.default_rng(0)
    new = digits[rng.integers(len(digits), size=10_000)] + rng.normal(0, 2.0, (10_000, 64))
    np.testing.assert_array_equal(run(model, new, np.float64)["label"], model.predict(new))
    new = new[:1000].astype(np.float32)
    found, P = run(model, new, np.float32), model.predict_proba(new.astype(np.float64))
    np.testing.assert_allclose(found["probabilities"], P, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(found["label"], model.predict(new.astype(np.float64)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "scores_error", "probability_error"),
    [(np.float64, 1e-12, 1e-12), (np.float32, 2e-5, 1e-5)],
)
def test_ensembles_on_ten_thousand_samples(dtype, scores_error, probability_error):
    model, new = several(), new_samples("default", 10_000)
    found = run(model, new, dtype)
    rows = new.astype(dtype).astype(np.float64)
    scores = model.scores_.values(model.map_(rows))
    np.testing.assert_allclose(found["scores"], scores, atol=scores_error)
    np.testing.assert_allclose(found["embedding"], model.transform(rows), atol=scores_error)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=probability_error)
    largest = np.sort(scores, axis=1)
    apart = largest[:, -1] - largest[:, -2] > 1e-9  # others are tied within rounding
    assert apart.mean() > 0.5
    np.testing.assert_array_equal(found["label"][apart], model.predict(rows)[apart])


def test_members_with_the_same_metric_measure_distances_once():
    kinds = [node.op_type for node in nsse.to_onnx(several(), dtype=np.float64).graph.node]
    assert kinds.count("Exp") == 3
    assert kinds.count("Max") == 2  # squared distances in two metrics


@pytest.mark.parametrize(
    "labels",
    [NAMES, NAMES.astype(object), Y == 1, Y.astype(np.int8), Y.astype(float)],
    ids=["text", "objects", "booleans", "integers", "floats"],
)
def test_labels_of_every_type(labels):
    model = SmoothEmbedding().fit(X, labels)
    assert run(model, X, np.float32)["label"].tolist() == model.predict(X).tolist()


def test_samples_far_from_the_origin_keep_their_digits():
    far = X + 1000.0
    model = SmoothEmbedding().fit(far.astype(np.float32).astype(np.float64), Y)
    found = run(model, far, np.float32)
    P = model.predict_proba(far.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(found["probabilities"], P, atol=1e-5)


def test_the_embedding_alone():
    graph = nsse.to_onnx(fitted("plane"), dtype="float64", predict=False)
    assert [output.name for output in graph.graph.output] == ["embedding"]
    assert [(entry.domain, entry.version) for entry in graph.opset_import] == [("", 17)]
    assert graph.ir_version == 8
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found, fitted("plane").transform(X), atol=1e-12)
    assert session.get_inputs()[0].shape[1] == 4


def test_frames_through_a_pipeline():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(frame, NAMES)
    assert run(model, X, np.float32)["label"].tolist() == model.predict(frame).tolist()


@pytest.mark.parametrize("name", sorted(NOT_EXPORTED))
def test_other_maps_are_refused(name):
    with pytest.raises(ValueError, match="kernel or a linear map"):
        nsse.to_onnx(fitted(name))


def test_what_cannot_be_exported_is_refused():
    polynomials = make_pipeline(PolynomialFeatures(), SmoothEmbedding()).fit(X, Y)
    with pytest.raises(ValueError, match="PolynomialFeatures"):
        nsse.to_onnx(polynomials)
    with pytest.raises(ValueError, match="`dtype` must"):
        nsse.to_onnx(fitted("default"), dtype=np.int32)


def test_the_page_of_the_documentation_runs(run_page):
    assert run_page("howto/deploy.md")["n_blocks"] == 4


def test_a_graph_is_written_to_a_file(tmp_path):
    graph = nsse.to_onnx(fitted("default"), tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == graph.SerializeToString()
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        nsse.to_onnx(fitted("default"), str(tmp_path / "none" / "model.onnx"))
    with pytest.raises(TypeError, match=r"`path` must be the name of a file, or None.*dtype="):
        nsse.to_onnx(fitted("default"), np.float64)


@pytest.mark.parametrize("write", [nsse.save, nsse.to_onnx])
def test_arguments_in_the_wrong_order(write, tmp_path):
    with pytest.raises(TypeError, match=r"`model` must be a fitted estimator. Got 'model.nsse'"):
        write("model.nsse", fitted("default"))
