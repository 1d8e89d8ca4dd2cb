"""Models of samples without a label: files, graphs and certificates as of any other."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import nsse
from nsse import NSSE, NSSECV, SemiRBF
from nsse.certificates import generalization_report


def few_digits(n_samples=300):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n_samples], y[:n_samples]
    few = np.full(n_samples, -1)
    for c in range(10):
        few[np.flatnonzero(y == c)[:6]] = c
    return X, y, few


MODELS = {
    "exact": NSSE(unlabeled=-1),
    "landmarks": NSSE(unlabeled=-1, n_landmarks=80),
    "spread": NSSE(unlabeled=-1, n_landmarks=80, spread=1.0),
    "search": NSSECV(estimator=NSSE(unlabeled=-1), n_repeats=2),
    "refined": SemiRBF(unlabeled=-1),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_a_file_gives_back_the_model(name, tmp_path):
    pytest.importorskip("skops.io")
    X, _, few = few_digits()
    model = MODELS[name].fit(X, few)
    nsse.save(model, tmp_path / "m.nsse")
    again = nsse.load(tmp_path / "m.nsse")
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if name in ("exact", "landmarks", "spread"):
        np.testing.assert_array_equal(again.labels_, few)
        np.testing.assert_array_equal(again.is_labeled_, few >= 0)


def test_a_mask_of_other_samples_is_refused(tmp_path):
    pytest.importorskip("skops.io")
    X, _, few = few_digits()
    model = NSSE(unlabeled=-1).fit(X, few)
    model._is_labeled = model._is_labeled[:-1]
    nsse.save(model, tmp_path / "m.nsse")
    with pytest.raises(ValueError, match="a mask of other samples"):
        nsse.load(tmp_path / "m.nsse")


@pytest.mark.parametrize("name", ["exact", "landmarks", "spread", "search"])
def test_a_graph_gives_the_same_labels(name):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X, _, few = few_digits()
    model = MODELS[name].fit(X, few)
    graph = nsse.to_onnx(model, dtype=np.float64)
    session = runtime.InferenceSession(graph.SerializeToString())
    outputs = [out.name for out in session.get_outputs()]
    told = dict(zip(outputs, session.run(None, {session.get_inputs()[0].name: X}), strict=True))
    np.testing.assert_array_equal(told["label"].ravel(), model.predict(X))


def test_what_generalises_is_told_of_labelled_samples():
    X, y, few = few_digits()
    model = NSSE(unlabeled=-1, classifier="nearest").fit(X, few)
    own, new = few >= 0, load_digits(return_X_y=True)
    test = new[0][300:340], new[1][300:340]
    by_itself = generalization_report(model, *test, n_permutations=0)
    told = generalization_report(model, *test, X[own], y[own], n_permutations=0)
    np.testing.assert_allclose(by_itself.train_separation, told.train_separation)
    assert len(told.train_separation) == 60
