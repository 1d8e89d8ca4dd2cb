"""A bad value gives an error that names its parameter, its rule and a cure, and leaves no trace."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import nsse
from nsse import NSSE
from nsse.certificates import ConformalClassifier, SelectivePredictor, lipschitz_bounds, theorem_1
from nsse.datasets import load_dataset
from nsse.invariances import Images, Noise, Signals

N, M = 60, 4
NO_NUMBER = (np.nan, "1", True)
NOT_POSITIVE = (0, -1.0, np.inf, *NO_NUMBER)
NEGATIVE = (-1.0, np.inf, *NO_NUMBER)
NO_COUNT = (0, -2, 2.5, "2", True)
NO_READER = (3, "svm", LinearRegression(), KNeighborsClassifier)


def published(**parameters):
    return NSSE.as_published(**parameters)


def search(**parameters):
    return NSSE.as_published(n_landmarks=12, **parameters)


def partly(**parameters):
    """Some of the samples have the label 3, which marks that they have none."""
    return NSSE(unlabeled=3, **parameters)


# What makes the model, the parameter, values that it must not have.
MODELS = [
    (published, "mu1", NEGATIVE),
    (published, "mu2", NOT_POSITIVE),
    (published, "mu3", NEGATIVE),
    (published, "n_components", (*NO_COUNT, N + 1)),
    (published, "n_neighbors", NO_COUNT),
    (published, "beta", NOT_POSITIVE),
    (published, "sigma", NOT_POSITIVE),
    (published, "sigma_init", NOT_POSITIVE),
    (published, "sigma_range", ((2.0, 1.0), (1.0, 1.0), (1.0,), 3.0, None, (0.1, np.nan), (0.0, 1.0))),
    (published, "length_unit", ("mean", 0, -1.0, np.nan, None, 1e-200, 1e200)),
    (published, "solver", ("newton", None, 3)),
    (published, "n_sigmas", (1, 2.5)),
    (published, "max_iter", NO_COUNT),
    (published, "tol", (-1e-3, np.nan)),
    (published, "callback", ("print", 3)),
    (published, "classifier", NO_READER),
    (published, "normalization", ("class", None)),
    (published, "embedding_scale", (1.0,)),
    (published, "metric", ("mahalanobis", None)),
    (published, "shrinkage", (0, -1.0, np.nan, "much", True, [1.0])),
    (published, "affinity", ("cosine", None, 3, {}, np.ones((5, 5)), np.ones((N, N)), -np.eye(N))),
    (NSSE, "relevance", (-0.5, np.nan, np.inf, True, "auto", None)),
    (NSSE, "class_weight", ("even", 3, {7: 2.0}, {0: 0.0})),
    (NSSE, "invariances", (3, lambda X: [X[:1]], lambda X: [X * np.nan])),
    (NSSE, "unlabeled", (np.nan, [1, 2], object())),
    (NSSE, "n_landmarks", (N + 1, 1, 2, "many")),
    (search, "landmarks", ("best",)),
    (NSSE, "landmarks", ([0, 1, 1], [0, 1, N], np.ones((4, 3)), np.ones(4))),
    (search, "solver", ("alternating",)),
    (search, "affinity", (lambda X, y: None,)),
    (partly, "mu4", NEGATIVE),
    (partly, "spread", NOT_POSITIVE),
    (partly, "normalization", ("samples",)),
    (partly, "affinity", (np.eye(N),)),
    (nsse.WithinMetric, "shrinkage", (0.0, -1.0, np.nan, True, "auto", None, [1.0])),
    (nsse.WithinMetric, "relevance", (-0.5, np.nan, True, "auto", None)),
    (nsse.WithinMetric, "n_neighbors", NO_COUNT),
    (nsse.SUPLAP, "mu", NEGATIVE),
    (nsse.SUPLAP, "n_components", (*NO_COUNT, N + 1)),
    (nsse.SUPLAP, "n_neighbors", (0, 2.5, "all")),
    (nsse.SUPLAP, "n_neighbors_between", (0, 2.5)),
    (nsse.SUPLAP, "sigma", (*NOT_POSITIVE, None)),
    (nsse.SUPLAP, "ridge", NEGATIVE),
    (nsse.SPE, "alpha", (*NOT_POSITIVE, 1.0)),
    (nsse.SPE, "beta", (0, -2.0, 1e-6)),
    (nsse.SPE, "n_components", (*NO_COUNT, N)),
    (nsse.LFDA, "n_components", (*NO_COUNT, 6)),
    (nsse.LFDA, "affinity", ("one",)),
    (nsse.LFDA, "metric", ("x",)),
    (nsse.LFDA, "reg", NEGATIVE),
    (nsse.LFDA, "pca", (1.0, True, "all", 6)),
    (nsse.LFDA, "classifier", (*NO_READER, "scores")),
    (nsse.LDE, "n_components", (*NO_COUNT, 6)),
    (nsse.LDE, "pca", (0,)),
    (nsse.NYS, "n_neighbors", (*NO_COUNT, "adaptive")),
    (nsse.NYS, "n_components", (*NO_COUNT, N)),
    (nsse.IsoKRR, "overlap", (1.5, -0.1)),
    (nsse.IsoKRR, "alpha", NOT_POSITIVE),
    (nsse.IsoKRR, "beta", (0, 1e-4)),
    (nsse.IsoKRR, "sigma", (*NOT_POSITIVE, None)),
    (nsse.MReg, "gamma_A", NOT_POSITIVE),
    (nsse.MReg, "gamma_I", NEGATIVE),
    (nsse.MReg, "sigma", (*NOT_POSITIVE, "median")),
    (nsse.MReg, "normalized", ("yes",)),
    (nsse.MReg, "classifier", NO_READER),
    (nsse.SemiRBF, "n_rounds", NO_COUNT),
    (nsse.SemiRBF, "ridge", NEGATIVE),
    (nsse.SemiRBF, "unlabeled", ([1],)),
]


@pytest.mark.parametrize(
    ("make", "name", "values"), MODELS, ids=[f"{make.__name__}-{name}" for make, name, _ in MODELS]
)
def test_a_bad_parameter_is_named_and_leaves_no_trace(blobs, make, name, values):
    for value in values:
        model = make(**{name: value})
        before = dict(vars(model))
        with pytest.raises(ValueError, match=rf"`{name}(\[\d\])?` must .*Got .*\. \S") as caught:
            model.fit(*blobs)
        assert "\n" not in str(caught.value)
        assert vars(model) == before


@pytest.fixture(scope="module")
def fitted(blobs):
    return NSSE().fit(*blobs)


def plot(name, *arguments):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    return getattr(nsse.plot, name)(*arguments)


def graph_of(model, dtype):
    pytest.importorskip("skl2onnx", reason="graphs need skl2onnx")
    return nsse.to_onnx(model, dtype)


X16 = np.arange(48.0).reshape(3, 16)
# What is called with a fitted model, samples and labels; the parameter that the error names.
CALLS = [
    (lambda m, X, y: published(mu1=0.0, classifier="scores").fit(X, y), "mu1"),
    (lambda m, X, y: partly(n_landmarks=12, sigma=None).fit(X, y), "sigma"),
    (lambda m, X, y: partly(spread=1.0, mu4=2.0).fit(X, y), "mu4"),
    (lambda m, X, y: partly().fit(X, y, sample_weight=np.ones(N)), "sample_weight"),
    (lambda m, X, y: partly().fit(X, np.full(N, 3)), "y"),
    (lambda m, X, y: partly().fit(X, np.where(y > 0, 3, 0)), "y"),
    (lambda m, X, y: NSSE().fit(X, np.zeros(N)), "y"),
    (lambda m, X, y: NSSE().fit(np.ones_like(X), y), "X"),
    (lambda m, X, y: NSSE().fit(X * 1e160, y), "X"),
    (lambda m, X, y: NSSE().fit(sparse.csr_array(X * 1e-160), y), "X"),
    (lambda m, X, y: NSSE().fit_blocks([(X, y)]), "n_landmarks"),
    (lambda m, X, y: NSSE(landmarks="random").fit(X, y), "n_landmarks"),
    (lambda m, X, y: NSSE(invariances=Noise(0.1)).fit(sparse.csr_array(X), y), "invariances"),
    *[
        (lambda m, X, y, w=w: NSSE().fit(X, y, sample_weight=w), "sample_weight")
        for w in (
            -np.ones(N),
            np.full(N, np.nan),
            np.zeros(N),
            np.ones(N - 1),
            np.ones((N, 2)),
            ["a"] * N,
        )
    ],
    (lambda m, X, y: NSSE(classifier=KNeighborsClassifier(3)).fit(X, y, np.arange(N)), "classifier"),
    (lambda m, X, y: m.certified_radius(X, bound="l1"), "bound"),
    (lambda m, X, y: m.certified_radius(X, units="pixels"), "units"),
    (lambda m, X, y: lipschitz_bounds(m, max_iter=-1), "max_iter"),
    (lambda m, X, y: theorem_1(m, X, y, units="pixels"), "units"),
    (lambda m, X, y: theorem_1(m, X, np.ones(N)), "y"),
    *[
        (lambda m, X, y, name=name: theorem_1(m, X, y, **{name: -1}), name)
        for name in ("delta", "epsilon", "Q")
    ],
    (lambda m, X, y: SelectivePredictor(m).fit(X), "radius"),
    (lambda m, X, y: SelectivePredictor(m, radius=1.0, coverage=0.5).fit(X), "radius"),
    (lambda m, X, y: SelectivePredictor(m, radius=-1.0).fit(X), "radius"),
    (lambda m, X, y: SelectivePredictor(m, coverage=80).fit(X), "coverage"),
    (lambda m, X, y: SelectivePredictor(m, radius=0.1, rejected=2).fit(X), "rejected"),
    (lambda m, X, y: SelectivePredictor(m, coverage=0.5).fit(), "X"),
    *[
        (lambda m, X, y, a=a: ConformalClassifier(m, alpha=a).fit(X, y), "alpha")
        for a in (0, 1, 1.5, "a")
    ],
    (lambda m, X, y: ConformalClassifier(m).fit(X, y + 1), "y"),
    (lambda m, X, y: ConformalClassifier(m).fit(X, y[:-1]), "y"),
    (lambda m, X, y: ConformalClassifier(m).fit(X, y).predict_set(X, radius=-1), "radius"),
    (lambda m, X, y: graph_of(m, np.float16), "dtype"),
    (lambda m, X, y: plot("confusion", m, X, None), "y"),
    (lambda m, X, y: plot("risk_coverage", m, X, None), "y"),
    (lambda m, X, y: plot("embedding", m, X, np.where(y == 2, 77, y)), "y"),
    (lambda m, X, y: load_dataset("coil"), "name"),
    *[
        (lambda m, X, y, s=s: load_dataset("digits", size=s), "size")
        for s in (25, (25, 0), (2.5, 2), "ab")
    ],
    *[(lambda m, X, y, s=s: list(Images(s)(X16)), "shape") for s in ((4,), (4, 0), "44", (5, 4))],
    (lambda m, X, y: list(Images((4, 4), shift=4)(X16)), "shift"),
    (lambda m, X, y: list(Images((4, 4), rotate=180)(X16)), "rotate"),
    (lambda m, X, y: list(Images((4, 4), scale=0.9)(X16)), "scale"),
    (lambda m, X, y: list(Images((4, 4), mirror="yes")(X16)), "mirror"),
    (lambda m, X, y: list(Images((4, 4), brightness=1.0)(X16)), "brightness"),
    (lambda m, X, y: list(Signals(shift=16)(X16)), "shift"),
    (lambda m, X, y: list(Signals(channels=0)(X16)), "channels"),
    (lambda m, X, y: list(Noise(-1.0)(X16)), "scale"),
    (lambda m, X, y: list(Noise(np.ones(3))(X16)), "scale"),
    (lambda m, X, y: list(Noise(1.0, copies=0)(X16)), "copies"),
]


@pytest.mark.parametrize(
    ("call", "name"), CALLS, ids=[f"{k}-{name}" for k, (_, name) in enumerate(CALLS)]
)
def test_a_bad_argument_is_named(fitted, blobs, call, name):
    with pytest.raises(ValueError, match=rf"`{name}(\[\d\])?` must .*Got .*\. \S"):
        call(copy.copy(fitted), blobs.X, blobs.codes)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, X: plot("trace", m),
        lambda m, X: plot("radii", m, X),
        lambda m, X: plot("embedding", LogisticRegression().fit(X, np.arange(N) % 2)),
        lambda m, X: lipschitz_bounds(m),
        lambda m, X: SelectivePredictor(m, radius=0.1).fit(X),
        lambda m, X: nsse.certificates.certified_radius(m, X),
    ],
)
def test_a_model_of_another_kind_is_a_type_error(blobs, call):
    with pytest.raises(TypeError, match="`model` must "):
        call(nsse.LFDA(2).fit(*blobs), blobs.X)
