"""ONNX graphs: what onnxruntime computes is what Python computes, or a warning or an error says so."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import nsse
from nsse.exports import PrecisionWarning, register_converters
from nsse.selection.voting import share_centers

skl2onnx = pytest.importorskip("skl2onnx", reason="ONNX needs skl2onnx: pip install 'nsse[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="graphs are run in onnxruntime: 'nsse[onnx]'")

PLAIN = {
    "Add",
    "ArgMax",
    "Cast",
    "Concat",
    "Div",
    "Equal",
    "Exp",
    "Gather",
    "GatherElements",
    "Identity",
    "MatMul",
    "Max",
    "Min",
    "Mul",
    "OneHot",
    "ReduceSum",
    "Softmax",
    "Sub",
    "TopK",
}
OUTPUTS = ["embedding", "label", "probabilities"]
PROBABLE = {np.float32: 1e-5, np.float64: 1e-8}  # a vote's winner is raised by a part in a billion
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def run(graph, X, dtype=np.float32):
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(X, dtype=dtype)}), strict=True))


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def assert_agrees(graph, model, X, dtype):
    out = run(graph, X, dtype)
    speaks = hasattr(model, "predict_proba")
    assert list(out) == OUTPUTS[: 3 if speaks else 2]
    assert out["embedding"].dtype == dtype
    assert relative_error(out["embedding"], model.transform(X)) < TOLERANCE[dtype]
    assert out["label"].tolist() == model.predict(X).tolist()
    if speaks:
        assert_speaks_alike(out, model, X, dtype)


def assert_speaks_alike(out, model, X, dtype):
    P = out["probabilities"]
    assert P.dtype == dtype
    # Where a class has collapsed these divide by its spread: logarithms of hundreds, in seven digits.
    steep = isinstance(getattr(model, "classifier_", None), LinearDiscriminantAnalysis | NearestCentroid)
    atol = 1e-4 if steep and dtype == np.float32 else PROBABLE[dtype]
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=atol)
    assert model.classes_[P.argmax(axis=1)].tolist() == out["label"].tolist()


@pytest.fixture(scope="module")
def apart(digits):
    """Digits to train on, others to ask about."""
    return digits.X[::2], digits.codes[::2], digits.X[1::2]


@pytest.fixture(scope="module")
def fitted(apart):
    X, codes, _ = apart
    return nsse.NSSE.as_published().fit(X, codes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model",
    [
        nsse.NSSE.as_published(),
        nsse.NSSE.as_published(metric="within", shrinkage=0.3),
        nsse.NSSE.as_published(
            mu2=1.0, normalization="classes", classifier="scores", embedding_scale="unit"
        ),
        nsse.NSSECV(n_repeats=2, n_voters=1),
        nsse.NSSECV(n_repeats=2, n_voters=2),
        nsse.SUPLAP(),
        nsse.IsoKRR(5),
        nsse.MReg(),
        nsse.LFDA(5),
        nsse.LDE(5),
    ],
    ids=str,
)
def test_a_graph_agrees_with_its_model(model, dtype, apart):
    X, codes, new = apart
    model.fit(X, np.array(list("zyxwvutsrq"))[codes])
    graph = nsse.to_onnx(model, dtype)
    assert_agrees(graph, model, new, dtype)
    assert_agrees(graph, model, new[:1], dtype)
    assert {node.op_type for node in graph.graph.node} <= PLAIN
    assert {node.domain for node in graph.graph.node} == {""}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [nsse.NSSE.as_published(), nsse.MReg(), nsse.LFDA(5), nsse.LDE(5)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_python_refuses_land_nowhere(model, dtype, value, apart):
    """The label of such a row means nothing: that can be seen from its coordinates, as documented."""
    X, codes, new = apart
    model.fit(X, codes)
    rows = new[:3].copy()
    rows[1, 20] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(rows)
    found = run(nsse.to_onnx(model, dtype), rows, dtype)["embedding"]
    assert np.isfinite(found).all(axis=1).tolist() == [True, False, True]


def voting(X, y, *voters):
    """An `NSSECV` in which these vote."""
    search = nsse.NSSECV(n_repeats=1, n_voters=1).fit(X, y)
    search.voters_ = [voter.fit(X, y) for voter in voters]
    search.best_estimator_ = search.voters_[0]
    share_centers(search.voters_)
    return search


# Each alone is poor, in its own way, so that votes differ and tie.
QUARREL = (
    nsse.NSSE(1, sigma=0.5),
    nsse.NSSE(1, sigma=3.0, classifier=LinearSVC()),
    nsse.NSSE(1, sigma=1.0, metric="within", classifier=KNeighborsClassifier(5)),
    nsse.NSSE(2, sigma=0.3, metric="within", classifier="scores"),
    nsse.NSSE(1, sigma=1.5, metric="within", shrinkage=0.1),
    nsse.NSSE(2, sigma=0.8, classifier=NearestCentroid()),
)


def test_a_vote_is_counted_in_the_graph(apart):
    X, codes, new = apart
    search = voting(X, np.array(list("zyxwvutsrq"))[codes], *QUARREL)
    votes = np.column_stack([voter.predict(new) for voter in search.voters_])
    most = np.array([np.unique(row, return_counts=True)[1] for row in votes], dtype=object)
    tied = [np.sum(counts == counts.max()) > 1 for counts in most]
    assert np.mean(tied) > 0.1  # the first voter among equals decides these
    assert np.mean(search.predict(new) != search.best_estimator_.predict(new)) > 0.1
    for dtype in (np.float32, np.float64):
        graph = nsse.to_onnx(search, dtype)
        assert_agrees(graph, search, new, dtype)
        assert_agrees(graph, search, new[:1], dtype)
        assert {node.op_type for node in graph.graph.node} <= PLAIN


# The same without one that has no probabilities; the nearest neighbour's and its rivals' are many.
SPEAKING = (
    nsse.NSSE(),
    nsse.NSSE(1, sigma=0.5, classifier="nearest"),
    nsse.NSSE(1, sigma=1.0, classifier=KNeighborsClassifier(5)),
    nsse.NSSE(1, sigma=1.5, classifier=LogisticRegression()),
    nsse.NSSE(2, sigma=0.8, classifier=NearestCentroid()),
)


def test_the_probabilities_of_a_vote_are_those_of_python(apart):
    X, codes, new = apart
    search = voting(X, np.array(list("zyxwvutsrq"))[codes], *SPEAKING)
    mean = np.mean([voter.predict_proba(new) for voter in search.voters_], axis=0)
    raised = search.classes_[mean.argmax(axis=1)] != search.predict(new)
    assert raised.any()  # the majority is for another class than the mean
    for dtype in (np.float32, np.float64):
        graph = nsse.to_onnx(search, dtype)
        assert_agrees(graph, search, new, dtype)
        assert {node.op_type for node in graph.graph.node} <= PLAIN


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.float64), (3, np.float32), (10, np.float32)])
@pytest.mark.parametrize(
    "model",
    [
        nsse.NSSE(),
        nsse.NSSE(n_landmarks=15),
        nsse.NSSE(classifier="nearest"),
        nsse.NSSE(classifier=LinearDiscriminantAnalysis()),
        nsse.NSSE(classifier=SGDClassifier(loss="log_loss", random_state=0)),
        nsse.NSSECV(n_repeats=2),
        nsse.LFDA(2, classifier=LogisticRegression()),
        nsse.MReg(classifier=LogisticRegression()),
    ],
    ids=str,
)
def test_probabilities_are_those_of_python(model, n_classes, dtype, apart):
    X, codes, new = apart
    some = codes < n_classes
    model = clone(model).fit(X[some], codes[some])
    P = model.predict_proba(new)
    graph = nsse.to_onnx(model, dtype)
    assert_agrees(graph, model, new, dtype)
    shapes = {o.name: [d.dim_value for d in o.type.tensor_type.shape.dim] for o in graph.graph.output}
    assert shapes["probabilities"][1] == P.shape[1] == n_classes
    assert shapes["embedding"][1] == model.embedding_.shape[1]


def test_probabilities_that_no_graph_has_are_left_out_or_refused(apart):
    X, codes, new = apart
    for classifier in (SGDClassifier(loss="modified_huber", random_state=0), LinearSVC()):
        model = nsse.NSSE(classifier=classifier).fit(X, codes)
        assert list(run(nsse.to_onnx(model), new)) == ["embedding", "label"]
        register_converters()
        options = {id(model): {"label": True, "probabilities": True}}
        with pytest.raises(ValueError, match=r"`classifier` must give probabilities that a graph can"):
            skl2onnx.to_onnx(model, X[:1], options=options, target_opset=17)


def test_voters_with_the_same_centres_measure_distances_once(apart):
    X, codes, _ = apart
    same = [nsse.NSSE(sigma=s, metric="euclidean") for s in (0.5, 0.7, 1.0)]
    in_a_metric = [nsse.NSSE(sigma=s, metric="within") for s in (0.5, 0.7)]
    graph = nsse.to_onnx(voting(X, codes, *same, *in_a_metric)).graph
    shapes = [tuple(constant.dims) for constant in graph.initializer]
    assert shapes.count(X.T.shape) == 2  # one set of centres in each metric
    assert sum(node.op_type == "Exp" for node in graph.node) == 5


@pytest.mark.parametrize(
    "names", [np.arange(10) - 5, np.arange(10) < 5, np.array(list("jihgfedcba"), dtype=object)]
)
def test_a_vote_on_labels_of_every_kind(names, apart):
    X, codes, new = apart
    pipeline = make_pipeline(StandardScaler(), nsse.NSSECV()).fit(X[:100], names[codes[:100]])
    assert len(pipeline[-1].voters_) > 1
    graph = nsse.to_onnx(pipeline, np.float64)
    assert_agrees(graph, pipeline, new, np.float64)
    register_converters()
    options = {id(pipeline[-1]): {"label": True, "probabilities": True}}
    theirs = skl2onnx.to_onnx(pipeline, X[:1], options=options, target_opset=17)
    assert_agrees(theirs, pipeline, new, np.float64)


def test_a_voter_that_float32_cannot_hold_warns(apart):
    X, codes, _ = apart
    search = voting(X, codes, nsse.NSSE(sigma=0.5), nsse.NSSE(mu2=1e-6, sigma=4.0))
    with pytest.warns(PrecisionWarning, match=r"one of the 2 maps that vote in this NSSECV is off by"):
        nsse.to_onnx(search)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        nsse.to_onnx(search, predict=False)  # the embedding is that of the first
        nsse.to_onnx(search, np.float64)


def test_a_voter_whose_classifier_is_unknown_is_refused(apart):
    X, codes, new = apart
    search = voting(X, codes, nsse.NSSE(sigma=0.5), nsse.NSSE(sigma=0.7, classifier=SVC()))
    with pytest.raises(ValueError, match=r"`classifier` must .* Got SVC\(\)"):
        nsse.to_onnx(search)
    assert list(run(nsse.to_onnx(search, predict=False), new)) == ["embedding"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pipelines_are_exported_whole(dtype, apart):
    X, codes, new = apart
    pipeline = make_pipeline(StandardScaler(), nsse.NSSE.as_published()).fit(X, codes)
    assert_agrees(nsse.to_onnx(pipeline, dtype), pipeline, new, dtype)


def test_skl2onnx_itself_converts_pipelines_with_our_models(apart):
    X, codes, new = apart
    register_converters()
    pipeline = make_pipeline(StandardScaler(), nsse.NSSE.as_published()).fit(X, codes)
    out = run(skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32), target_opset=17), new)
    assert list(out) == ["embedding"]
    assert relative_error(out["embedding"], pipeline.transform(new)) < 2e-5


def test_a_model_of_ours_may_stand_in_the_middle(apart):
    X, codes, new = apart
    pipeline = make_pipeline(StandardScaler(), nsse.NSSE.as_published(), LogisticRegression()).fit(
        X, codes
    )
    out = run(nsse.to_onnx(pipeline), new)
    assert list(out) == ["label", "probabilities"]
    assert out["label"].tolist() == pipeline.predict(new).tolist()
    np.testing.assert_allclose(out["probabilities"], pipeline.predict_proba(new), atol=1e-5)


def test_a_search_of_scikit_learn_exports_its_best_model(apart):
    X, codes, new = apart
    search = GridSearchCV(
        make_pipeline(StandardScaler(), nsse.NSSE.as_published()), {"nsse__mu2": [0.1]}, cv=2
    )
    assert_agrees(nsse.to_onnx(search.fit(X, codes)), search, new, np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize(
    "classifier",
    [
        KNeighborsClassifier(1),
        KNeighborsClassifier(2),
        KNeighborsClassifier(7),
        NearestCentroid(),
        LogisticRegression(),
        LinearSVC(),
    ],
    ids=str,
)
def test_classifiers_in_the_embedding(classifier, n_classes, dtype, apart):
    X, codes, new = apart
    some = codes < n_classes
    model = nsse.NSSE.as_published(3, sigma=1.0, classifier=classifier).fit(X[some], codes[some])
    assert_agrees(nsse.to_onnx(model, dtype), model, new, dtype)


@pytest.mark.parametrize(
    "names",
    [
        np.arange(10) - 5,
        np.arange(10, dtype=np.uint8),
        np.arange(10) / 10,
        np.array(list("jihgfedcba")),
        np.array(["Zürich", "Ångström", *"cdefghij"], dtype=object),
    ],
    ids=lambda names: str(names.dtype),
)
def test_labels_of_every_kind(names, apart):
    X, codes, new = apart
    # scikit-learn takes fractions for a regression.
    labels = np.round(10 * names) if names.dtype.kind == "f" else names
    model = nsse.NSSE.as_published(sigma=1.0).fit(X, labels[codes])
    assert run(nsse.to_onnx(model), new)["label"].tolist() == model.predict(new).tolist()


def test_labels_that_are_true_or_false(apart):
    X, codes, new = apart
    model = nsse.NSSE.as_published(sigma=1.0).fit(X, codes < 5)
    assert run(nsse.to_onnx(model), new)["label"].tolist() == model.predict(new).tolist()


def test_sparse_centres_become_dense(apart):
    X, codes, new = apart
    model = nsse.NSSE.as_published().fit(sparse.csr_array(X), codes)
    assert_agrees(nsse.to_onnx(model, np.float64), model, new, np.float64)


def test_far_from_the_origin_no_digits_are_lost(apart):
    # 1e4 away, on a grid that float32 holds exactly: ‖x‖² alone has no digit left for the distances.
    X, codes, new = (np.round(16 * a) / 16 + 1e4 if a.dtype.kind == "f" else a for a in apart)
    model = nsse.NSSE.as_published().fit(X, codes)
    assert_agrees(nsse.to_onnx(model), model, new, np.float32)


LARGE = [
    nsse.NSSE.as_published(mu2=1e-6, sigma=4.0),
    nsse.SUPLAP(sigma=4.0, ridge=1e-12),
    nsse.SUPLAP(sigma=8.0, ridge=1e-14),
]


@pytest.mark.parametrize("model", LARGE, ids=str)
def test_large_coefficients_warn_in_float32_and_agree_in_float64(model, apart):
    X, codes, new = apart
    model.fit(X, codes)
    assert np.abs(model.coef_).max() > 100
    with pytest.warns(PrecisionWarning, match=r"off by .* of its largest coordinate.*np\.float64"):
        graph = nsse.to_onnx(model)
    loss = relative_error(run(graph, new)["embedding"], model.transform(new))
    assert loss > 2e-4  # the warning is right
    out = run(nsse.to_onnx(model, np.float64), new, np.float64)
    assert relative_error(out["embedding"], model.transform(new)) < 1e-10
    assert out["label"].tolist() == model.predict(new).tolist()


def test_samples_that_float32_cannot_hold_warn(apart):
    X, codes, _ = apart
    model = nsse.NSSE.as_published().fit(X + 1e6, codes)
    with pytest.warns(PrecisionWarning):
        nsse.to_onnx(model)


@pytest.mark.parametrize("model", [nsse.NYS(2), nsse.SPE(2)], ids=str)
def test_maps_that_are_no_graph_are_refused(model, blobs):
    model.fit(blobs.X, blobs.codes)
    with pytest.raises(TypeError, match=rf"parts that ONNX can express\. Got '{type(model).__name__}"):
        nsse.to_onnx(model)


class First(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    "classifier", [First(), SVC(), KNeighborsClassifier(3, weights="distance")], ids=str
)
def test_classifiers_without_a_converter_are_refused_by_name(classifier, apart):
    X, codes, new = apart
    model = nsse.NSSE.as_published(sigma=1.0, classifier=classifier).fit(X, codes)
    with pytest.raises(ValueError, match=rf"`classifier` must .* Got {type(classifier).__name__}\("):
        nsse.to_onnx(model)
    out = run(nsse.to_onnx(model, predict=False), new)
    assert list(out) == ["embedding"]
    assert relative_error(out["embedding"], model.transform(new)) < 2e-5


class Halved(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X / 2


def test_steps_without_a_converter_are_refused_by_name(apart):
    X, codes, _ = apart
    pipeline = make_pipeline(Halved(), nsse.NSSE.as_published(sigma=1.0)).fit(X, codes)
    with pytest.raises(TypeError, match=r"parts that ONNX can express.*Halved"):
        nsse.to_onnx(pipeline)


def test_the_operator_sets_are_old_enough_for_old_runtimes(fitted):
    graph = nsse.to_onnx(fitted)
    assert {entry.domain: entry.version for entry in graph.opset_import}[""] <= 17
    assert graph.ir_version <= 8
    older = nsse.to_onnx(fitted, target_opset=13)
    assert {entry.domain: entry.version for entry in older.opset_import}[""] == 13


def test_without_skl2onnx_the_extra_is_named(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'nsse\[onnx\]'"):
        nsse.to_onnx(fitted)


@pytest.mark.slow
def test_the_page_on_deployment_runs(run_page):
    pytest.importorskip("skops", reason="the page saves a model: pip install 'nsse[files]'")
    names = run_page("deploy.md")
    assert names["n_blocks"] == 5
    assert [output.name for output in names["graph"].graph.output] == OUTPUTS
