"""Models with copies of their samples: files, graphs and certificates mean what they always do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import nsse
from nsse import NSSE
from nsse.certificates import generalization_report
from nsse.exports import read_header
from nsse.invariances import Images, Noise, Signals, enlarged


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:80], y[:80], X[300:360]


VIEWS = [Images((8, 8), shift=(1, 2), mirror=True), Signals(), Noise(np.full(64, 0.5), copies=2)]


@pytest.mark.parametrize("views", VIEWS, ids=lambda views: type(views).__name__)
@pytest.mark.parametrize("params", [{}, {"n_landmarks": 50}])
def test_invariances_travel_in_the_file(digits, views, params, tmp_path):
    pytest.importorskip("skops.io")
    X, y, new = digits
    model = NSSE(invariances=views, **params).fit(X, y)
    nsse.save(model, tmp_path / "model.nsse")
    again = nsse.load(tmp_path / "model.nsse")
    assert again.invariances == views
    assert again.n_copies_ == views.n_copies
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.labels_, y)
    refitted = clone(again).fit(X, y)
    np.testing.assert_array_equal(refitted.coef_, model.coef_)
    told = read_header(tmp_path / "model.nsse").facts
    assert told["n_samples"] == 80
    assert type(views).__name__ in told["parameters"]["invariances"]


def test_a_function_of_the_user_s_own_is_refused_before_a_file_is_written(digits, tmp_path):
    pytest.importorskip("skops.io")
    X, y, _ = digits
    model = NSSE(invariances=lambda X: [X + 1.0]).fit(X, y)
    with pytest.raises((ValueError, TypeError)):
        nsse.save(model, tmp_path / "model.nsse")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [-1, 1.5, None])
def test_a_number_of_copies_that_is_none_is_refused(digits, value, tmp_path):
    pytest.importorskip("skops.io")
    X, y, _ = digits
    model = NSSE(invariances=Images((8, 8))).fit(X, y)
    model.n_copies_ = value
    nsse.save(model, tmp_path / "model.nsse")
    with pytest.raises(ValueError, match="number of copies"):
        nsse.load(tmp_path / "model.nsse")


@pytest.mark.parametrize(
    ("views", "wrong"),
    [
        (Images((8, 8)), {"shift": -1}),
        (Images((8, 8)), {"shape": (10**9, 0)}),
        (Noise(1.0), {"copies": 10**12}),
        (Noise(1.0), {"copies": "many"}),
    ],
)
def test_invariances_that_no_fit_has_are_refused(digits, views, wrong, tmp_path):
    pytest.importorskip("skops.io")
    X, y, _ = digits
    model = NSSE(invariances=views).fit(X, y)
    model.invariances.set_params(**wrong)
    nsse.save(model, tmp_path / "model.nsse")
    with pytest.raises(ValueError, match=r"shift|shape|copies"):
        nsse.load(tmp_path / "model.nsse")


def test_a_report_of_generalization_knows_the_samples_among_the_copies(digits):
    X, y, new = digits
    model = NSSE(invariances=Images((8, 8))).fit(X, y)
    labels = model.predict(new)
    known, told = (
        generalization_report(model, new, labels),
        generalization_report(model, new, labels, X_train=X, y_train=y),
    )
    np.testing.assert_array_equal(known.train_separation, told.train_separation)


@pytest.mark.parametrize("reader", ["scores", "nearest"])
def test_certificates_are_those_of_the_enlarged_set(digits, reader):
    X, y, new = digits
    views = Images((8, 8), rotate=None)
    model = NSSE(invariances=views, classifier=reader).fit(X, y)
    whole = NSSE(classifier=reader, n_neighbors=25).fit(enlarged(views, X), np.repeat(y, 5))
    radii = model.certified_radius(new)
    np.testing.assert_array_equal(radii, whole.certified_radius(new))
    assert (radii > 0).any()
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = rng.normal(size=new.shape)
        moved = new + 0.999 * radii[:, np.newaxis] * step / np.linalg.norm(step, axis=1, keepdims=True)
        np.testing.assert_array_equal(model.predict(moved), model.predict(new))


@pytest.mark.parametrize("reader", ["scores", "nearest"])
def test_graphs_answer_as_the_model_does(digits, reader):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, y, new = digits
    model = NSSE(invariances=Images((8, 8)), classifier=reader).fit(X, y)
    graph = nsse.to_onnx(model, np.float64)
    session = runtime.InferenceSession(graph.SerializeToString())
    said = session.run(None, {session.get_inputs()[0].name: new.astype(X.dtype)})
    assert any(np.array_equal(np.ravel(part), model.predict(new)) for part in said)
