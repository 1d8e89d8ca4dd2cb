"""What NSSE refuses, what it warns about, and that a failed fit leaves no trace."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC

from nsse import NSSE, ConditioningWarning, ScaleAtBoundWarning

N, M = 30, 3
RNG = np.random.default_rng(0)
Y = np.arange(N) % M
X = 2 * RNG.normal(size=(M, 4))[Y] + RNG.normal(size=(N, 4))


class Deaf(ClassifierMixin, BaseEstimator):
    """A classifier that fails when it is fitted, that is at the very end of NSSE's fit."""

    def fit(self, X, y):
        raise ArithmeticError("deaf")

    def predict(self, X):
        return X


# --------------------------------------------------------------------------------------- bad data


def test_more_components_than_distinct_samples():
    X_twice, Y_twice = np.vstack([X, X[:10]]), np.r_[Y, Y[:10]]
    message = (
        "`n_components` must not exceed the number of distinct samples (the rank of the kernel). "
        "Got 31. Only 30 independent coordinates exist here. Lower `n_components` or `sigma`."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        NSSE.as_published(31, sigma=0.3).fit(X_twice, Y_twice)
    for solver in ("joint", "alternating"):
        with pytest.raises(ValueError, match=r"^`n_components` must not exceed .* Got 31\. .*Lower"):
            NSSE.as_published(31, solver=solver).fit(X_twice, Y_twice)
    assert NSSE.as_published(30, sigma=0.3).fit(X_twice, Y_twice).embedding_.shape == (40, 30)


# ---------------------------------------------------------------------------------- all or nothing


def interrupt(step):
    raise KeyboardInterrupt


def fail(step):
    if step.iteration == 2:
        raise RuntimeError("callback")


FAILURES = [
    ({}, X, np.zeros(N), ValueError),
    ({}, X[:, :2] * np.nan, Y, ValueError),
    ({}, np.zeros((N, 7)), Y, ValueError),
    ({"mu2": 0}, X, Y, ValueError),
    ({"n_components": 31, "sigma": 0.3}, X[:, :2], Y, ValueError),
    ({"affinity": np.ones((N, N))}, X[:, :2], Y, ValueError),
    ({"callback": fail}, X[:, :2], Y, RuntimeError),
    ({"callback": interrupt}, X[:, :2], Y, KeyboardInterrupt),
    ({"classifier": Deaf()}, X[:, :2], Y, ArithmeticError),
]
FAILURE_IDS = [
    "one class",
    "nan",
    "all equal",
    "parameter",
    "components",
    "affinity",
    "callback",
    "interrupt",
    "classifier",
]


@pytest.mark.parametrize(("changed", "samples", "labels", "error"), FAILURES, ids=FAILURE_IDS)
def test_a_failed_fit_leaves_an_unfitted_model_unfitted(changed, samples, labels, error):
    model = NSSE.as_published(**changed)
    before = dict(vars(model))
    with pytest.raises(error):
        model.fit(samples, labels)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.transform(X)


@pytest.mark.parametrize(("changed", "samples", "labels", "error"), FAILURES, ids=FAILURE_IDS)
def test_a_failed_fit_leaves_a_fitted_model_as_it_was(changed, samples, labels, error):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = NSSE.as_published().fit(frame, Y)
    image, labelled = model.transform(frame), model.predict(frame)
    model.set_params(**changed)
    before = dict(vars(model))
    with pytest.raises(error):
        model.fit(samples, labels)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.transform(frame), image)
    np.testing.assert_array_equal(model.predict(frame), labelled)
    assert model.n_features_in_ == 4


def test_a_failed_fit_can_be_put_right():
    model = NSSE.as_published(mu2=-1)
    with pytest.raises(ValueError, match="mu2"):
        model.fit(X, Y)
    model.set_params(mu2=0.01).fit(X, Y)
    np.testing.assert_array_equal(model.embedding_, NSSE.as_published().fit(X, Y).embedding_)


# --------------------------------------------------------------------------------------- warnings

SOLVERS = pytest.mark.parametrize("solver", ["joint", "alternating"])


@pytest.mark.parametrize(
    ("solver", "sigma_range", "end"),
    [
        *[("joint", (low, high), 1) for low, high in ((0.01, 0.03), (0.1, 0.2), (0.17, 0.23))],
        *[("joint", (low, high), 0) for low, high in ((3.0, 7.0), (5.0, 9.9), (2.7, 3.1), (4.1, 8.3))],
        *[("alternating", (low, high), 1) for low, high in ((0.01, 0.03), (0.1, 0.2), (0.17, 0.23))],
    ],
)
def test_a_scale_at_the_end_of_its_range(solver, sigma_range, end):
    best = sigma_range[end]
    message = (
        f"The best sigma, {best:.3g} units of length, lies at an end of sigma_range={sigma_range}. "
        "Widen `sigma_range`, change `mu3`, or fix `sigma`."
    )
    with pytest.warns(ScaleAtBoundWarning, match="^" + re.escape(message) + "$"):
        model = NSSE.as_published(solver=solver, sigma_range=sigma_range).fit(X, Y)
    assert model.sigma_ / model.length_unit_ == pytest.approx(best, rel=1e-12)
    assert model.score(X, Y) > 0.9


@SOLVERS
def test_a_search_that_does_not_converge(solver):
    message = (
        r"^The search for sigma did not converge in max_iter=1 steps; the best one seen is kept\. "
        r"Raise `max_iter` or `tol`\.$"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        model = NSSE.as_published(solver=solver, max_iter=1).fit(X, Y)
    assert model.objective_ == model.trace_.column("objective").min()
    assert model.score(X, Y) > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NSSE.as_published(solver=solver, max_iter=2, tol=10.0).fit(X, Y)
        NSSE.as_published(solver=solver, max_iter=100).fit(X, Y)


def test_an_ill_conditioned_problem():
    message = (
        r"^The problem is ill-conditioned \(condition number \d\.\de\+\d\d\); it was solved by a QR "
        r"factorisation, accurate but slower\. Raise `mu2`, or lower `sigma` or the upper end of "
        r"`sigma_range`\.$"
    )
    with pytest.warns(ConditioningWarning, match=message):
        model = NSSE.as_published(mu2=1e-13, sigma=10.0).fit(X, Y)
    assert model.condition_.factorization == "qr"
    assert model.condition_.condition_number > 1e13
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(2), rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.transform(X), model.embedding_, rtol=0, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NSSE.as_published(mu2=1e-3, sigma=10.0).fit(X, Y).condition_.factorization == "cholesky"
        assert NSSE.as_published(mu2=1e-9, sigma=0.3).fit(X, Y).condition_.factorization == "cholesky"


def test_warnings_point_to_the_line_that_called_fit():
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(ConvergenceWarning) as caught:
        NSSE.as_published(max_iter=1).fit(X, Y)
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_classifier_without_probabilities_says_so():
    model = NSSE.as_published(classifier=SVC(kernel="linear")).fit(X, Y)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        model.predict_proba(X)
