"""Arrays of other namespaces: the same labels and scores, and no sample through NumPy.

scikit-learn dispatches only where ``SCIPY_ARRAY_API`` was set before SciPy was imported: these tests run
in a process of their own. The device "device1" of array-api-strict refuses to become a NumPy array.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("array_api_strict")

# The folder of the tests, for `given_ensembles`, and where nsse is.
PLACES = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
PREPARED = """
import warnings
from dataclasses import replace

warnings.simplefilter("ignore")
import array_api_strict
import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits

from given_ensembles import GivenEnsemble
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.devices import to_device
from nsse.methods import LFDA
from nsse.kernels import Kernel


class Own(Kernel):
    curvature = 1.0

    def profile(self, t, xp):
        r = xp.maximum(1.0 + t, 1.0)
        return 0.5 * xp.exp(-t) + 0.5 * xp.minimum(xp.exp(-xp.log(r)), 1.0)

    def rate(self, t):
        return -0.5 * np.exp(-t) - 0.5 / (1.0 + t) ** 2


X, y = load_digits(return_X_y=True)
train, new = slice(0, 1797, 9), slice(1, 1797, 5)
GRID = {"sigma": [0.5, 1.0], "smoothness": [0.1], "metric__shrinkage": [1.0]}
ASKED = ("transform", "predict", "decision_function", "predict_proba", "predict_log_proba")
MODELS = {
    "default": SmoothEmbedding(),
    "two classes": SmoothEmbedding(),
    "nearest": SmoothEmbedding(decision="nearest", metric=None),
    "another kernel": SmoothEmbedding(kernel="matern32"),
    "own kernel": SmoothEmbedding(kernel=Own(), centers=40),
    "few centers": SmoothEmbedding(n_components=3, centers=40),
    "ensemble": GivenEnsemble(
        [SmoothEmbedding(), SmoothEmbedding(decision="nearest", sigma=1.0), LFDA()], (1.0, 5.0, 0.1)
    ),
    "search": SmoothEmbeddingCV(grid=GRID, max_members=2),
    "paper": NSSE(),
    "linear": LFDA(),
    "factored": SmoothEmbedding(metric=None),
}


def fitted(name):
    labels = y[train] % 2 if name == "two classes" else y[train]
    model = MODELS[name].fit(X[train], labels)
    if name == "factored":
        factors = {"matrix": sparse.csr_array(np.eye(64)[:, ::2]), "tail": np.eye(32, 64)}
        model.map_ = replace(model.map_, metric=replace(model.map_.metric, **factors))
    return model


def same(model, foreign, back):
    with config_context(array_api_dispatch=True):
        for method in ASKED:
            there = getattr(model, method)(foreign)
            assert type(there) is type(foreign), (method, type(there))
            here = getattr(model, method)(X[new])
            found = back(there)
            assert found.dtype == here.dtype, (method, found.dtype)
            atol = 1e-6 if method != "predict_log_proba" else 1e-4
            np.testing.assert_allclose(found, here, atol=atol, rtol=1e-6, err_msg=method)
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PREPARED + program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": PLACES, **environment},
    )
    lacking = ("array_api_compat is required", "SciPy must be")
    if any(words in done.stderr for words in lacking):
        pytest.skip("this version of scikit-learn or SciPy does not dispatch")
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.slow
def test_answers_are_the_same_and_no_sample_goes_through_numpy():
    run("""
device = array_api_strict.Device("device1")
foreign = array_api_strict.asarray(X[new], device=device)
try:
    np.asarray(foreign)
except RuntimeError:
    pass
else:
    raise AssertionError("this device is to forbid NumPy")
home = array_api_strict.Device("CPU_DEVICE")
back = lambda values: np.array(array_api_strict.asarray(values, device=home))
for name in MODELS:
    model = fitted(name)
    same(model, foreign, back)
    same(to_device(model, foreign), foreign, back)
""")


@pytest.mark.slow
def test_scikit_learns_own_checks_pass():
    ran = run("""
from unittest import SkipTest
from sklearn.utils.estimator_checks import _yield_array_api_checks

models = [SmoothEmbedding(), SmoothEmbedding(decision="nearest"), SmoothEmbedding(centers=8)]
models.append(SmoothEmbeddingCV(grid=GRID, max_members=2))
ran = []
for model in models:
    assert model.__sklearn_tags__().array_api_support
    for check in _yield_array_api_checks(model):
        if any(device in str(check.keywords) for device in ("cuda", "xpu", "mps", "cupy")):
            continue
        try:
            check(type(model).__name__, model)
            ran.append(str(check.keywords))
        except SkipTest:
            continue
        except BaseException as error:
            if type(error).__name__ != "Skipped":
                raise
print(ran)
""")
    if ran == "[]":
        pytest.skip("this version of scikit-learn or SciPy does not dispatch")
    assert "array_api_strict" in ran
    assert ("'torch'" in ran) == (find_spec("torch") is not None)


@pytest.mark.slow
def test_words_types_and_places_are_told_apart():
    run("""
device = array_api_strict.Device("device1")
foreign = array_api_strict.asarray(X[new], dtype=array_api_strict.float32, device=device)
names = np.array([f"digit {k}" for k in y])
model = SmoothEmbedding().fit(X[train], names[train])
with config_context(array_api_dispatch=True):
    labels = model.predict(foreign)
    assert isinstance(labels, np.ndarray)  # no other namespace has words
    assert model.transform(foreign).dtype == array_api_strict.float32
    assert model.predict_proba(foreign).dtype == array_api_strict.float64
    whole = array_api_strict.asarray(X[new].astype(np.int64), device=device)
    assert model.transform(whole).dtype == array_api_strict.float64
    try:
        model.predict(foreign[:, :5])
    except ValueError as error:
        assert "5 features" in str(error)
    else:
        raise AssertionError("five features")
np.testing.assert_array_equal(labels, model.predict(X[new].astype(np.float32)))

# A model that was fitted there: its arrays are there, and to_device(model, None) brings them home.
with config_context(array_api_dispatch=True):
    there = SmoothEmbedding().fit(array_api_strict.asarray(X[train]), array_api_strict.asarray(y[train]))
    assert type(there.embedding_) is type(foreign)
    try:
        there.predict(X[new])
    except ValueError as error:
        assert "SmoothEmbedding.predict() must use the same namespace" in str(error)
    else:
        raise AssertionError("another namespace")
    home = to_device(there, None)
    assert isinstance(home.embedding_, np.ndarray)
    home.plot(X[new])
here = SmoothEmbedding().fit(X[train], y[train])
np.testing.assert_array_equal(home.predict(X[new]), here.predict(X[new]))
""")


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_torch_on_the_processor():
    run("""
import torch

foreign = torch.asarray(X[new])
for name in MODELS:
    model = fitted(name)
    same(model, foreign, lambda values: values.numpy())
    same(to_device(model, "cpu"), foreign, lambda values: values.numpy())
""")
