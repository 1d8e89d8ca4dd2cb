"""Kernels that a user writes in a script: everything works with them, or raises a clear error."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
import nsse.report
from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.certificates import certified_radius, lipschitz_bounds
from nsse.kernels import Exponential, Gaussian, Kernel, Matern32
from nsse.report import Samples, write_report
from nsse.unlabeled import GraphPenalty, LabelPropagation

sys.path.append(str(Path(__file__).parent / "certificates"))
from attacks import changed


class Matern52(Kernel):
    """The Matérn kernel with smoothness 5/2."""

    curvature = 5 / 6

    def profile(self, t, xp):
        r = xp.sqrt(5.0 * t)
        return (1.0 + r + r * r / 3.0) * xp.exp(-r)

    def rate(self, t):
        r = np.sqrt(5.0 * t)
        return -5 / 6 * (1.0 + r) * np.exp(-r)


class Clipped(Matern52):
    """Numbers may come first."""

    def profile(self, t, xp):
        return xp.maximum(0.0, xp.minimum(1.0, super().profile(t, xp)))


class RationalQuadratic(Kernel):
    """A mixture of Gaussians of many widths."""

    curvature = 1.0

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def profile(self, t, xp):
        return (1.0 + t / self.alpha) ** -self.alpha

    def rate(self, t):
        return -((1.0 + t / self.alpha) ** (-self.alpha - 1.0))


class Power(Kernel):
    """exp(−t^power), which is positive definite for powers up to 1 alone."""

    def __init__(self, power=0.5):
        self.power = power

    @property
    def curvature(self):
        return math.inf if self.power < 1.0 else 1e-9

    def profile(self, t, xp):
        return xp.exp(-(t**self.power))

    def rate(self, t):
        with np.errstate(divide="ignore", invalid="ignore"):
            return -self.power * t ** (self.power - 1.0) * np.exp(-(t**self.power))


class Triangle(Kernel):
    """max(1 − t, 0)."""

    curvature = 1.0

    def profile(self, t, xp):
        return xp.maximum(1.0 - t, 0.0)

    def rate(self, t):
        return np.where(t < 1.0, -1.0, np.where(t > 1.0, 0.0, -0.5))


class Wave(Kernel):
    """A profile that falls and rises."""

    curvature = 1.5

    def profile(self, t, xp):
        return (xp.exp(-t) + (1.0 - t) * xp.exp(-t)) / 2.0

    def rate(self, t):
        return -(3.0 - t) * np.exp(-t) / 2.0


VALID = [Matern52(), RationalQuadratic(2.0)]
ROUGH = [Exponential(), Power(0.5), Power(0.3)]
WRONG = [Power(2.0), Triangle(), Power(1.3), Wave()]


def named(kernel):
    return repr(kernel)


@pytest.fixture(scope="module")
def split():
    """Digits in five classes: 160 training samples, 40 new ones, as floats in [0, 1]."""
    X, y = load_digits(n_class=5, return_X_y=True)
    X = X / 16.0 + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    return train_test_split(X, y, train_size=160, test_size=40, stratify=y, random_state=0)


def as_it_is(X, y):
    return {"X": X, "y": y}


def weighted(X, y):
    return {"X": X, "y": y, "sample_weight": np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))}


def single(X, y):
    return {"X": X.astype(np.float32), "y": y}


def wide(X, y):
    """Fewer samples than features: new samples are projected onto the hull of these."""
    return {"X": X[:50], "y": y[:50]}


def half_labeled(X, y):
    return {"X": X, "y": np.where(np.arange(len(y)) % 2, y, -1)}


def in_chunks(X, y):
    dask_array = pytest.importorskip("dask.array", reason="Dask: pip install 'nsse[dask]'")
    return {"X": dask_array.from_array(X, chunks=(50, -1)), "y": y}


FITS = {
    "exact": ({}, as_it_is),
    "centers": ({"centers": 40}, as_it_is),
    "nearest": ({"decision": "nearest"}, as_it_is),
    "Euclidean": ({"metric": None}, as_it_is),
    "weights": ({}, weighted),
    "weights, centers": ({"centers": 40}, weighted),
    "float32": ({}, single),
    "wide": ({}, wide),
    "GraphPenalty": ({"unlabeled": GraphPenalty()}, half_labeled),
    "LabelPropagation": ({"unlabeled": LabelPropagation()}, half_labeled),
    "Dask": ({"centers": 40}, in_chunks),
}


@pytest.mark.parametrize("kernel", VALID, ids=named)
@pytest.mark.parametrize("name", FITS)
def test_every_way_to_fit_is_certified_explained_and_stored(split, tmp_path, kernel, name):
    X, X_new, y, y_new = split
    parameters, given = FITS[name]
    model = SmoothEmbedding(kernel=kernel, **parameters).fit(**given(X, y))
    assert model.score(X_new, y_new) > 0.8
    radius = certified_radius(model, X_new)
    assert np.median(radius) > 1e-3
    assert not changed(model, X_new, radius).any()
    assert_jacobian(model.map_, X_new[:4], atol=1e-8)
    nsse.save(model, tmp_path / "model.nsse")
    loaded = nsse.load(tmp_path / "model.nsse")
    np.testing.assert_array_equal(loaded.predict_proba(X_new), model.predict_proba(X_new))
    np.testing.assert_array_equal(certified_radius(loaded, X_new), radius)
    assert_explained(model, X_new[:4])
    assert_graph(model, X_new)


def assert_jacobian(f, X, atol):
    h, J = 1e-5, f.jacobian(X)
    for k, step in enumerate(h * np.eye(X.shape[1])):
        np.testing.assert_allclose(J[:, :, k], (f(X + step) - f(X - step)) / (2 * h), atol=atol)


def assert_explained(model, X):
    found, h = model.explain(X), 1e-5
    code = np.searchsorted(model.classes_, [found.label, found.rival])
    rows = np.arange(len(X))

    def margin(X):
        values = model.scores_.values(model.map_(X))
        return values[rows, code[0]] - values[rows, code[1]]

    np.testing.assert_allclose(margin(X), found.margin, atol=1e-12)
    for k, step in enumerate(h * np.eye(X.shape[1])):
        slope = (margin(X + step) - margin(X - step)) / (2 * h)
        np.testing.assert_allclose(found.gradient[:, k], slope, atol=1e-8)


def assert_graph(model, X):
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX: pip install 'nsse[onnx]'")
    session = onnxruntime.InferenceSession(nsse.to_onnx(model, dtype=np.float64).SerializeToString())
    found = session.run(["embedding", "label", "probabilities"], {"X": X})
    np.testing.assert_allclose(found[0], model.transform(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found[1], model.predict(X))
    np.testing.assert_allclose(found[2], model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [*VALID, Clipped()], ids=named)
@pytest.mark.parametrize("decision", ["scores", "nearest"])
def test_a_graph_computes_what_python_computes(split, kernel, decision):
    X, X_new, y, _ = split
    model = SmoothEmbedding(kernel=kernel, decision=decision)
    model = make_pipeline(StandardScaler(with_std=False), model).fit(X, y)
    assert_graph(model, np.vstack([X_new, X[:10]]))


class Cosine(Matern52):
    def profile(self, t, xp):
        return super().profile(t, xp) + 0.0 * xp.cos(t)


class OfNumpy(Matern52):
    """It calls NumPy instead of the namespace that it is given."""

    def profile(self, t, xp):
        return super().profile(t, xp) * np.exp(0.0 * t)


@pytest.mark.parametrize(("kernel", "told"), [(Cosine(), "xp.cos"), (OfNumpy(), ".* ufuncs .*")])
def test_a_graph_refuses_functions_that_it_does_not_have(split, kernel, told):
    X, _, y, _ = split
    model = SmoothEmbedding(kernel=kernel).fit(X, y)
    pytest.importorskip("onnx", reason="ONNX: pip install 'nsse[onnx]'")
    refused = rf"`kernel` must have a profile of exp, .* Got {told} in {type(kernel).__name__}.profile"
    with pytest.raises(ValueError, match=rf"{refused}\. Use these functions of `xp`"):
        nsse.to_onnx(model)


PAGE = """
import {{ readFileSync }} from "node:fs";
import {{ decoded }} from "{place}/data.js";
import {{ Model }} from "{place}/model.js";
const {{ live, rows }} = JSON.parse(readFileSync(0, "utf8")), model = new Model(await decoded(live));
console.log(JSON.stringify(rows.map((row) => {{
  const {{ place, code, radius, probabilities }} = model.tell(row);
  return [Array.from(place), code, radius === Infinity ? -1 : radius, Array.from(probabilities)];
}})));
"""


def live_entry(path):
    """What a page contains of its model."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))["live"]


def told_by_page(path, rows, tmp_path):
    """Places, labels, radii and probabilities of rows, by the scripts of a page and its data."""
    if not (node := shutil.which("node")):
        pytest.skip("the page's scripts are run by node, which is not installed")
    live = live_entry(path)
    shutil.copytree(Path(nsse.report.__file__).parent / "explorer", tmp_path / "explorer")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = tmp_path / "page.js"
    script.write_text(PAGE.format(place="./explorer"))
    given = json.dumps({"live": live, "rows": rows.tolist()})
    done = subprocess.run([node, script], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [np.array(part) for part in zip(*json.loads(done.stdout), strict=True)]


@pytest.mark.parametrize("kernel", [*VALID, Power(0.3), "exponential", "matern32"], ids=named)
def test_the_page_computes_what_python_computes(split, tmp_path, kernel):
    X, X_new, y, y_new = split
    model = SmoothEmbedding(kernel=kernel).fit(X, y)
    assert write_report(tmp_path / "page.html", model, Samples(X_new, y_new)).live
    rows = np.vstack([X_new, np.full((1, 64), 5.0)])
    place, codes, radius, P = told_by_page(tmp_path / "page.html", rows, tmp_path)
    np.testing.assert_allclose(place, model.transform(rows), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.classes_[codes], model.predict(rows))
    np.testing.assert_allclose(P, model.predict_proba(rows), rtol=0, atol=1e-6)
    # Without a bounded slope, rounding changes radii, and the page shows none.
    has_slopes = np.isfinite(model.map_.kernel.curvature)
    assert live_entry(tmp_path / "page.html")["certifies"] == has_slopes
    if has_slopes:
        proven = certified_radius(model, rows)
        np.testing.assert_allclose(np.where(radius < 0, np.inf, radius), proven, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", ROUGH, ids=named)
@pytest.mark.parametrize("parameters", [{}, {"centers": 40}, {"decision": "nearest"}], ids=str)
def test_kernels_with_kinks_are_certified_by_their_reach_alone(split, kernel, parameters):
    X, X_new, y, _ = split
    model = SmoothEmbedding(kernel=kernel, sigma=2.0, **parameters).fit(X, y)
    radius = certified_radius(model, X_new)
    assert not changed(model, X_new, radius).any()
    with pytest.raises(ValueError, match="`model` must have a kernel of finite curvature"):
        lipschitz_bounds(model)
    if isinstance(kernel, Exponential):
        assert np.median(radius) > 1e-3


@pytest.mark.parametrize("kernel", ROUGH, ids=named)
def test_at_a_training_sample_the_term_of_a_kink_counts_as_zero(split, kernel):
    X, X_new, y, _ = split
    model = SmoothEmbedding(kernel=kernel).fit(X, y)
    assert_jacobian(model.map_, X_new[:4], atol=1e-8)
    f, h = model.map_, 1e-3  # with smaller steps the rounding of distances decides the differences
    for row in X[:3]:
        # The term of the sample itself is the same on both sides, so that symmetric differences lack it.
        slopes = [
            (f((row + step)[np.newaxis]) - f((row - step)[np.newaxis]))[0] / (2 * h)
            for step in h * np.eye(64)
        ]
        np.testing.assert_allclose(f.jacobian(row[np.newaxis])[0], np.transpose(slopes), atol=1e-6)


@pytest.mark.parametrize("kernel", WRONG, ids=named)
def test_certificates_refuse_kernels_that_are_not_positive_definite(split, tmp_path, kernel):
    X, X_new, y, y_new = split
    with pytest.warns(UserWarning, match="Certificates will raise an error, because the kernel"):
        model = SmoothEmbedding(kernel=kernel, sigma=0.1).fit(X, y)
    model.predict_proba(X_new)
    refused = rf"`model` must have a positive definite kernel.*Got 'a {type(kernel).__name__}: its "
    for certificate in (certified_radius, lipschitz_bounds):
        with pytest.raises(ValueError, match=refused):
            certificate(model, X_new)
    with pytest.raises(ValueError, match=refused):
        nsse.certificates.ConformalClassifier(model).fit().predict_set(X_new, radius=0.1)
    nsse.save(model, tmp_path / "model.nsse")
    with pytest.raises(ValueError, match=refused):
        certified_radius(nsse.load(tmp_path / "model.nsse"), X_new)
    assert not write_report(tmp_path / "page.html", model, Samples(X_new, y_new)).live
    assert "They need a valid kernel" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_fit_that_a_wrong_kernel_makes_impossible_names_the_kernel(split):
    X, _, y, _ = split
    with pytest.raises(
        ValueError, match=r"`kernel` must be positive definite on .* Got a Triangle: its"
    ):
        SmoothEmbedding(kernel=Triangle(), smoothness=1e-6).fit(X, y)


class Stale(Matern52):
    """Its values are not those of its profile: only the kernel matrix shows it."""

    def between(self, U, V, V_squares=None, out=None):
        K = super().between(U, V, V_squares, out)
        return 1.2 * K - 0.2


def test_the_kernel_matrix_of_the_centers_is_checked(split):
    X, X_new, y, _ = split
    assert Stale().flaw() is None
    with pytest.warns(UserWarning, match="its matrix of 160 centers has the eigenvalue -"):
        model = SmoothEmbedding(kernel=Stale(), sigma=0.2).fit(X, y)
    with pytest.raises(ValueError, match="its matrix of 160 centers has the eigenvalue -"):
        certified_radius(model, X_new)


def test_parameters_of_kernels_are_searched(split):
    X, _, y, _ = split
    grid = {"kernel__alpha": [0.5, 5.0], "sigma": [0.65, 1.0]}
    search = GridSearchCV(SmoothEmbedding(kernel=RationalQuadratic()), grid, cv=3).fit(X, y)
    assert search.best_estimator_.map_.kernel.alpha == search.best_params_["kernel__alpha"]
    kernels = ["gaussian", Matern32(), Matern52()]
    search = GridSearchCV(SmoothEmbedding(), {"kernel": kernels}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    model = SmoothEmbedding(kernel=RationalQuadratic())
    copied = clone(model.set_params(kernel__alpha=3.0))
    assert copied.kernel is not model.kernel
    assert copied.get_params()["kernel__alpha"] == 3.0


def test_a_fitted_model_keeps_the_kernel_that_it_was_fitted_with(split):
    X, X_new, y, _ = split
    kernel = RationalQuadratic(2.0)
    model = SmoothEmbedding(kernel=kernel).fit(X, y)
    before = model.predict_proba(X_new)
    kernel.set_params(alpha=0.1)
    np.testing.assert_array_equal(model.predict_proba(X_new), before)
    assert kernel.sigma == 1.0


def test_names_and_objects_mean_the_same(split):
    X, X_new, y, _ = split
    named_kernels = {"gaussian": Gaussian(), "exponential": Exponential(), "matern32": Matern32()}
    for name, kernel in named_kernels.items():
        first, second = (SmoothEmbedding(kernel=given).fit(X, y) for given in (name, kernel))
        np.testing.assert_array_equal(first.predict_proba(X_new), second.predict_proba(X_new))
    default = SmoothEmbedding().fit(X, y)
    np.testing.assert_array_equal(SmoothEmbedding(kernel="gaussian").fit(X, y).coef_, default.coef_)


class NotANumber(Matern52):
    def rate(self, t):
        return np.log(t - 1.0)


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("laplacian", r"`kernel` must be one of 'gaussian', 'exponential', 'matern32', or a Kernel"),
        (3, r"or a Kernel object. Got 3"),
        (None, r"or a Kernel object. Got None"),
        (Matern32, r"Pass an object, Matern32\(\)"),
        (NotANumber(), r"`kernel` must have a finite rate for every t"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.* encountered in log")
def test_other_kernels_are_refused(split, kernel, told):
    X, _, y, _ = split
    with pytest.raises((TypeError, ValueError), match=told):
        SmoothEmbedding(kernel=kernel).fit(X, y)


def test_a_class_without_its_parts_is_no_kernel():
    class Half(Kernel):
        curvature = 1.0

        def profile(self, t, xp):
            return xp.exp(-t)

    with pytest.raises(TypeError, match=r"abstract method.*rate"):
        Half()


def test_a_search_keeps_the_kernel_and_certifies(split):
    X, X_new, y, y_new = split
    search = SmoothEmbeddingCV(SmoothEmbedding(kernel=Matern52())).fit(X, y)
    assert type(search.best_estimator_.map_.kernel) is Matern52
    assert search.score(X_new, y_new) > 0.9
    assert not changed(search, X_new, certified_radius(search, X_new)).any()


def test_sparse_samples_updates_and_pipelines(split, tmp_path):
    X, X_new, y, y_new = split
    rare = np.where(X > 0.5, X, 0.0)
    kernel = Matern52()
    model = SmoothEmbedding(kernel=kernel).fit(sparse.csr_array(rare), y)
    dense = SmoothEmbedding(kernel=kernel, metric=None).fit(rare, y)
    np.testing.assert_allclose(model.predict_proba(rare[:9]), dense.predict_proba(rare[:9]), atol=1e-8)
    assert not changed(model, rare[:9], certified_radius(model, rare[:9])).any()
    grown = (
        SmoothEmbedding(kernel=kernel, centers=30).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    )
    nsse.save(grown, tmp_path / "grown.nsse", updatable=True)
    loaded = nsse.load(tmp_path / "grown.nsse").forget(X[100:], y[100:])
    assert type(loaded.map_.kernel) is Matern52
    assert grown.score(X_new, y_new) > 0.8


def test_a_file_needs_the_class_of_its_kernel(split, tmp_path):
    X, _, y, _ = split

    class Own(Matern52):
        pass

    nsse.save(SmoothEmbedding(kernel=Own()).fit(X, y), tmp_path / "own.nsse")
    assert type(nsse.load(tmp_path / "own.nsse").kernel) is Own
    names = next(key for key, kind in Kernel.defined.items() if kind is Own)
    del Kernel.defined[names]
    with pytest.raises(
        ValueError, match=r"the kernel .*Own of the module test_own_kernel, which is not"
    ):
        nsse.load(tmp_path / "own.nsse")
    assert nsse.io.read_header(tmp_path / "own.nsse").model == "SmoothEmbedding"
    Kernel.defined[names] = RationalQuadratic
    with pytest.raises(ValueError, match="which has another profile here"):
        nsse.load(tmp_path / "own.nsse")
    del Kernel.defined[names]
    Kernel.defined["elsewhere", names[1]] = Own  # the script that loads the file has another name
    assert type(nsse.load(tmp_path / "own.nsse").kernel) is Own
    del Kernel.defined["elsewhere", names[1]]
