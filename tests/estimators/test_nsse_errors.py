"""What NSSE refuses, what it warns about, and that a failed fit leaves no trace."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from nsse import NSSE, ConditioningWarning, ScaleAtBoundWarning

N, M = 30, 3
RNG = np.random.default_rng(0)
Y = np.arange(N) % M
X = 2 * RNG.normal(size=(M, 4))[Y] + RNG.normal(size=(N, 4))
SAME = (Y[:, np.newaxis] == Y).astype(float)

NO_NUMBERS = (-1.0, np.nan, np.inf, -np.inf, "1", True)
NOT_NEGATIVE = "be a finite number that is not negative"
POSITIVE = "be a positive, finite number"
COUNT = "be a whole number, at least 1"
PAIR = "be a pair (smallest, largest)"
ENDS = "have its smaller end first and two different ends"
CLASSIFIER = 'be a scikit-learn classifier with `fit` and `predict`, or "nearest" or "scores"'
NEAREST = "Leave it None for scores."
FROM_DATA = "Leave it None to find it from the data."
OFF = "0 switches the separation of classes off."
ROUGH = "Without it f may be arbitrarily rough; take a small value such as 1e-6."
UNIT = 'Take "median", or 1.0 for the units of X.'
DEFAULT_D = f"Leave it None for n_classes - 1 = {M - 1}."


class FitOnly:
    """No classifier: it lacks `predict`."""

    def fit(self, X, y):
        return self

    def __repr__(self):
        return "FitOnly()"


class Deaf(ClassifierMixin, BaseEstimator):
    """A classifier that fails when it is fitted, that is at the very end of NSSE's fit."""

    def fit(self, X, y):
        raise ArithmeticError("deaf")

    def predict(self, X):
        return X


# parameter, value, rule, how the value is shown, cure (None: any that is one)
BAD = [
    *[("mu1", value, NOT_NEGATIVE, repr(value), OFF) for value in (*NO_NUMBERS, None)],
    *[("mu2", value, POSITIVE, repr(value), ROUGH) for value in (0, *NO_NUMBERS)],
    *[("mu3", value, NOT_NEGATIVE, repr(value), None) for value in NO_NUMBERS],
    *[("n_components", value, COUNT, repr(value), DEFAULT_D) for value in (0, -2, 2.0, "2", True)],
    (
        "n_components",
        N + 1,
        f"not exceed the number of training samples, {N}",
        "31",
        "Lower it; None takes n_classes - 1 = 2.",
    ),
    *[("n_neighbors", value, COUNT, repr(value), None) for value in (0, -1, 2.5, "5", True)],
    *[("beta", value, POSITIVE, repr(value), FROM_DATA) for value in (0, -1.0, np.nan, "mean")],
    *[("sigma", value, POSITIVE, repr(value), FROM_DATA) for value in (0, -1.0, np.nan, np.inf, "auto")],
    *[("sigma_init", value, POSITIVE, repr(value), "None starts at 1.") for value in (0, -1.0, np.nan)],
    ("sigma_range", (2.0, 1.0), ENDS, "(2.0, 1.0)", "Swap or widen them."),
    ("sigma_range", (1.0, 1.0), ENDS, "(1.0, 1.0)", "Swap or widen them."),
    *[
        ("sigma_range", value, PAIR, repr(value), "For example (0.1, 10).")
        for value in ((1.0,), (1.0, 2.0, 3.0), 3.0, None)
    ],
    ("sigma_range[1]", (0.1, np.nan), POSITIVE, "nan", None),
    ("sigma_range[1]", (0.1, np.inf), POSITIVE, "inf", None),
    ("sigma_range[0]", (0.0, 1.0), POSITIVE, "0.0", None),
    ("sigma_range[0]", "ab", POSITIVE, "'a'", None),
    ("length_unit", "mean", "be one of 'median'", "'mean'", "Choose one of them."),
    *[("length_unit", value, POSITIVE, repr(value), UNIT) for value in (0, -1.0, np.nan, None)],
    *[
        ("solver", value, "be one of 'joint', 'alternating'", repr(value), "Choose one of them.")
        for value in ("newton", None, 3)
    ],
    ("n_sigmas", 1, "be a whole number, at least 2", "1", None),
    ("max_iter", 0, COUNT, "0", None),
    ("tol", -1e-3, NOT_NEGATIVE, "-0.001", None),
    ("tol", np.nan, NOT_NEGATIVE, "nan", None),
    ("callback", "print", "be callable", "'print'", "It is called as `callback(step)`."),
    *[
        ("classifier", value, CLASSIFIER, repr(value), NEAREST)
        for value in (3, "svm", FitOnly(), KNeighborsClassifier)
    ],
    ("affinity", "cosine", "be one of 'gaussian'", "'cosine'", "Choose one of them."),
]
BAD_IDS = [f"{name}={value!r}"[:40] for name, value, *_ in BAD]


def parameters(name, value):
    return {name.partition("[")[0]: value}


@pytest.mark.parametrize(("name", "value", "rule", "shown", "cure"), BAD, ids=BAD_IDS)
def test_bad_parameters(name, value, rule, shown, cure):
    start = f"`{name}` must {rule}. Got {shown}. "
    pattern = re.escape(start) if cure is None else re.escape(start + cure) + "$"
    with pytest.raises(ValueError, match="^" + pattern):
        NSSE.as_published(**parameters(name, value)).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [row[:2] for row in BAD if row[-1] is None],
    ids=[label for label, row in zip(BAD_IDS, BAD, strict=True) if row[-1] is None],
)
def test_every_message_ends_with_a_cure(name, value):
    with pytest.raises(ValueError, match="Got ") as caught:
        NSSE.as_published(**parameters(name, value)).fit(X, Y)
    cure = re.split(r"Got .*?\. ", str(caught.value), maxsplit=1)[1]
    assert len(cure.split()) >= 3
    assert "See the docstring" not in cure


def test_parameters_are_judged_before_the_work_begins():
    def work(samples, labels):
        raise AssertionError("the work has begun")

    for name, value, *_ in BAD:
        if name not in ("affinity", "callback"):
            with pytest.raises(ValueError, match="must"):
                NSSE.as_published(**{"affinity": work, **parameters(name, value)}).fit(X, Y)


SHAPE = "`affinity` must have shape (30, 30), one row and column per sample. Got "
BUILD = ". Build it from the very samples given to fit."
WEIGHTS = "`affinity` must hold finite weights that are not negative. Got 'weights from "
ASYMMETRIC = "`affinity` must be symmetric. Got 'an asymmetric matrix'. Pass `W.maximum(W.T)`."
CROSSING = (
    "`affinity` must join samples of the same class only. Got '600 weights between classes'. "
    "Set them to zero."
)
SIMILAR = "'. Weights are similarities: 0 for no edge, larger for closer samples."


@pytest.mark.parametrize("form", ["dense", "sparse", "callable"])
@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((N, 5)), SHAPE + "(30, 5)" + BUILD),
        (np.ones((5, 5)), SHAPE + "(5, 5)" + BUILD),
        (-SAME, WEIGHTS + "-1.0 to -1.0" + SIMILAR),
        (SAME * np.nan, WEIGHTS + "nan to nan" + SIMILAR),
        (np.where(SAME, np.inf, 0.0), WEIGHTS + "inf to inf" + SIMILAR),
        (np.tril(SAME), ASYMMETRIC),
        (np.ones((N, N)), CROSSING),
    ],
)
def test_bad_affinities(W, message, form):
    given = {"dense": W, "sparse": sparse.csr_array(W), "callable": lambda samples, labels: W}[form]
    if message.startswith(WEIGHTS) and form != "sparse":
        # a dense matrix may hold zeros, and zero times NaN is NaN: only the beginning is the same
        message = message[: len(WEIGHTS)]
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        NSSE.as_published(affinity=given).fit(X, Y)


@pytest.mark.parametrize("value", [None, 3, {}, [["a"] * N] * N], ids=["None", "3", "dict", "words"])
@pytest.mark.parametrize("form", ["given", "callable"])
def test_affinities_that_are_no_matrix(value, form):
    affinity = value if form == "given" else lambda samples, labels: value
    with pytest.raises(ValueError, match=r"^`affinity` must .*Got .*\. \w+"):
        NSSE.as_published(affinity=affinity).fit(X, Y)


# --------------------------------------------------------------------------------------- bad data

# A cure tells the reader to do something.
CURE = r"(.* )?(Add|Check|Drop|Give|Look|Pass|Use)\b"


@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_nan_and_infinity_in_x(value, name):
    bad = X.copy()
    bad[3, 1] = value
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=f"^Input X contains {name}"):
            NSSE.as_published().fit(form(bad), Y)
        with pytest.raises(ValueError, match=f"^Input X contains {name}"):
            NSSE.as_published().fit(X, Y).transform(form(bad))


@pytest.mark.parametrize(
    ("labels", "shown"), [(np.full(N, "cat"), "'cat'"), (np.full(N, 7), "7"), (["dog"] * N, "'dog'")]
)
def test_one_class(labels, shown):
    got = f"1 class, {shown}"
    start = f"`y` must contain samples of at least 2 classes. Got {got!r}. "
    with pytest.raises(ValueError, match="^" + re.escape(start) + CURE):
        NSSE.as_published().fit(X, labels)


def test_no_labels():
    with pytest.raises(ValueError, match=r"requires y to be passed, but the target y is None"):
        NSSE.as_published().fit(X, None)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'y'"):
        NSSE.as_published().fit(X)


def test_labels_of_another_length():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[30, 29\]"):
        NSSE.as_published().fit(X, Y[:-1])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (X[:, 0], "Unknown label type: continuous. Maybe you are trying to fit a classifier"),
        (np.c_[Y, Y], r"y should be a 1d array, got an array of shape (30, 2) instead."),
    ],
)
def test_targets_that_are_no_labels(target, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        NSSE.as_published().fit(X, target)


@pytest.mark.parametrize("length_unit", ["median", 1.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_samples_that_are_all_equal(form, length_unit):
    start = "`X` must contain at least two distinct samples. Got 'samples that are all equal'. "
    with pytest.raises(ValueError, match="^" + re.escape(start) + CURE):
        NSSE.as_published(1, length_unit=length_unit).fit(form(np.full((N, 4), 0.3)), Y % 2)


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


def test_another_width_at_transform():
    model = NSSE.as_published().fit(X, Y)
    for method in (model.transform, model.predict, model.predict_proba):
        with pytest.raises(ValueError, match=r"^X has 3 features, but NSSE is expecting 4 features"):
            method(X[:, :3])


@pytest.mark.parametrize("method", ["transform", "predict", "predict_proba", "get_feature_names_out"])
def test_not_fitted(method):
    arguments = () if method == "get_feature_names_out" else (X,)
    with pytest.raises(NotFittedError, match=r"^This NSSE instance is not fitted yet\. Call 'fit'"):
        getattr(NSSE.as_published(), method)(*arguments)


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


def test_our_warnings_are_user_warnings():
    assert issubclass(ScaleAtBoundWarning, UserWarning)
    assert issubclass(ConditioningWarning, UserWarning)


def test_a_classifier_without_probabilities_says_so():
    model = NSSE.as_published(classifier=SVC(kernel="linear")).fit(X, Y)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        model.predict_proba(X)
