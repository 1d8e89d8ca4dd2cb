"""NSSE as an estimator: its contract, what must not matter, awkward data, decisions, errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import oracles_published as oracles
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse._support import machine
from nsse.exceptions import ConditioningWarning, ScaleAtBoundWarning
from nsse.published import NSSE
from nsse.scores import fitted_temperature

SOLVERS = pytest.mark.parametrize("solver", ["joint", "alternating"])


@pytest.mark.slow
@parametrize_with_checks([NSSE(), NSSE(solver="alternating", classifier="linear")])
def test_the_contract_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ScaleAtBoundWarning, ConditioningWarning))
        check(estimator)


@pytest.fixture(scope="module")
def split():
    """Digits with a little noise, so that no two distances tie: train, test, labels of both."""
    X, y = load_digits(return_X_y=True)
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    return train_test_split(X, y, train_size=200, stratify=y, random_state=0)


@pytest.fixture(scope="module")
def fitted(split):
    return NSSE().fit(split[0], split[2])


def clouds(n_samples, n_classes=3, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = 1.2 * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


def check_sound(model, X, y):
    d = model.coef_.shape[1]
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    assert np.isfinite(model.objective_)
    assert model.score(X, y) == 1.0


# What a fit leaves


@SOLVERS
@pytest.mark.parametrize("params", [{}, {"sigma": 0.5}, {"length_unit": 1.0, "sigma_range": (3, 300)}])
def test_a_fit_is_eq_11_at_its_solution(split, solver, params):
    """All terms by double loops, in the units in which the parameters are understood."""
    X, _, y, _ = split
    X, y = X[:80], y[:80]
    model = NSSE(5, mu1=0.5, solver=solver, n_neighbors=3, **params).fit(X, y)
    unit = model.length_unit_
    if not params:
        assert unit == pytest.approx(np.median(cdist(X, X)[np.triu_indices(80, 1)]), rel=1e-9)
    W = oracles.within_class_weights(X / unit, y, 3)
    weights = 0.5, 0.01, 5 * 0.01 * 5
    Y, sigma = model.embedding_, model.sigma_ / unit
    terms = oracles.objective_terms(Y, model.coef_, sigma, W, y, *weights)
    assert model.objective_ == pytest.approx(terms.objective, rel=1e-9)
    assert model.objective_ == pytest.approx(model.trace_.column("objective").min(), rel=1e-12)
    A = oracles.literal_matrix(cdist(X, X, "sqeuclidean") / unit**2, y, W, 0.5, 0.01, sigma)
    np.testing.assert_allclose(model.eigenvalues_, np.diag(Y.T @ A @ Y), rtol=1e-6)
    np.testing.assert_array_equal(model.labels_, y)
    check_sound(model, X, y)


def test_the_map_is_the_expansion_of_the_paper(fitted, split):
    X, X_new, _, _ = split
    expected = [oracles.rbf_map(x, X, fitted.coef_, fitted.sigma_) for x in X_new[:20]]
    np.testing.assert_allclose(fitted.transform(X_new[:20]), expected, atol=1e-10)
    np.testing.assert_array_equal(fitted.centers_, X)
    K = oracles.kernel_matrix(X[:3], X, fitted.sigma_)
    np.testing.assert_allclose(K @ fitted.coef_, fitted.embedding_[:3], atol=1e-10)
    np.testing.assert_allclose(fitted.map_.gram, fitted.coef_.T @ fitted.embedding_, atol=1e-10)


def test_labels_are_those_of_the_nearest_training_sample(fitted, split):
    _, X_new, y, y_new = split
    nearest = cdist(fitted.transform(X_new), fitted.embedding_).argmin(axis=1)
    np.testing.assert_array_equal(fitted.predict(X_new), y[nearest])
    assert fitted.score(X_new, y_new) > 0.94


def test_trace_and_callback_tell_the_same(split):
    X, _, y, _ = split
    told = []
    model = NSSE(callback=told.append).fit(X, y)
    assert tuple(told) == model.trace_.steps
    assert model.n_iter_ == len(model.trace_) == len(model.trace_.to_dict()["sigma"])
    assert model.sigma_ in model.trace_.column("sigma")
    early = NSSE(callback=lambda step: step.iteration == 1).fit(X, y)
    assert len(early.trace_) == 2
    assert early.objective_ == early.trace_.column("objective").min()


# What must not matter


@SOLVERS
@pytest.mark.parametrize(
    ("factor", "offset"), [(1e-6, 0.0), (1.0, 1e5), (1e160, 0.0), (1e-160, 0.0), (-3.0, 40.0)]
)
def test_units_and_origin_of_x(split, solver, factor, offset):
    X, X_new, y, _ = split
    model = NSSE(solver=solver).fit(X, y)
    moved = NSSE(solver=solver).fit(factor * X + offset, y)
    np.testing.assert_array_equal(moved.predict(factor * X_new + offset), model.predict(X_new))
    np.testing.assert_allclose(moved.embedding_, model.embedding_, atol=1e-6)
    assert moved.sigma_ == pytest.approx(abs(factor) * model.sigma_, rel=1e-6)


def test_rotation_of_x(fitted, split):
    X, X_new, y, _ = split
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))
    turned = NSSE().fit(X @ Q, y)
    np.testing.assert_array_equal(turned.predict(X_new @ Q), fitted.predict(X_new))
    np.testing.assert_allclose(turned.embedding_, fitted.embedding_, atol=1e-8)


@SOLVERS
def test_order_of_the_samples(split, solver):
    X, X_new, y, _ = split
    model = NSSE(solver=solver).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = NSSE(solver=solver).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.embedding_, model.embedding_[order], atol=1e-7)
    np.testing.assert_allclose(shuffled.coef_, model.coef_[order], atol=1e-5)
    np.testing.assert_array_equal(shuffled.predict(X_new), model.predict(X_new))


@pytest.mark.parametrize("names", [np.arange(10)[::-1], np.array(list("jxhgfedcba"))])
def test_names_of_the_classes(fitted, split, names):
    X, X_new, y, _ = split
    model = NSSE().fit(X, names[y])
    np.testing.assert_array_equal(model.predict(X_new), names[fitted.predict(X_new)])
    expected = fitted.predict_proba(X_new)[:, np.argsort(names)]
    np.testing.assert_allclose(model.predict_proba(X_new), expected, atol=1e-6)


@pytest.mark.parametrize("form", [sparse.csr_array, np.float32, np.asfortranarray])
def test_forms_of_x(fitted, split, form):
    X, X_new, y, _ = split
    model = NSSE().fit(form(X), y)
    assert np.mean(model.predict(form(X_new)) == fitted.predict(X_new)) > 0.999
    np.testing.assert_allclose(model.embedding_, fitted.embedding_, atol=1e-5)
    assert model.transform(form(X_new)).dtype == (np.float32 if form is np.float32 else np.float64)


def test_pickles_and_grids(fitted, split):
    X, X_new, y, _ = split
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X_new), fitted.transform(X_new))
    search = GridSearchCV(NSSE(), {"mu2": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


# Awkward data


def literal_error(model, X, y, X_new, y_new):
    """Share of wrong labels of the method as printed, through the inverse of Ψ, at the σ of a model."""
    K, K_new = (np.exp(-cdist(A, X, "sqeuclidean") / model.sigma_**2) for A in (X, X_new))
    W = oracles.within_class_weights(X / model.length_unit_, y)
    S = oracles.shifted_matrix(W, y, 1.0)
    try:
        inverse = np.linalg.inv(K)
    except np.linalg.LinAlgError:
        return 1.0
    A = S + 0.01 * inverse @ inverse
    Y = np.linalg.eigh((A + A.T) / 2)[1][:, : model.coef_.shape[1]]
    return np.mean(y[cdist(K_new @ (inverse @ Y), Y).argmin(axis=1)] != y_new)


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_twenty_duplicated_samples_change_little(split, noise):
    """Where the literal method works ours is the same method; where samples coincide it breaks down."""
    X, X_new, y, y_new = split
    clean = NSSE(n_neighbors=None).fit(X, y)
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(X), 20, replace=False)
    X_more = np.vstack([X, X[chosen] + noise * rng.normal(size=(20, 64))])
    y_more = np.r_[y, y[chosen]]
    model = NSSE(n_neighbors=None).fit(X_more, y_more)
    assert abs(model.score(X_new, y_new) - clean.score(X_new, y_new)) < 0.005
    check_sound(model, X_more, y_more)
    assert literal_error(clean, X, y, X_new, y_new) == pytest.approx(
        1 - clean.score(X_new, y_new), abs=0.005
    )
    assert literal_error(model, X_more, y_more, X_new, y_new) > 0.5


@SOLVERS
def test_every_sample_twice(split, solver):
    X, X_new, y, y_new = split
    model = NSSE(solver=solver).fit(np.vstack([X, X]), np.r_[y, y])
    assert model.score(X_new, y_new) > 0.94
    np.testing.assert_allclose(model.embedding_[:200], model.embedding_[200:], atol=1e-9)


@pytest.mark.slow
def test_every_sample_twice_with_two_labels(split):
    X, _, y, _ = split
    model = NSSE().fit(np.vstack([X, X]), np.r_[y, (y + 1) % 10])
    np.testing.assert_allclose(model.embedding_[:200], model.embedding_[200:], atol=1e-9)
    assert np.isfinite(model.predict_proba(X)).all()


@SOLVERS
@pytest.mark.parametrize(
    "classes", [[0, 1], [0, 1, 1], list(range(12)), [0] * 20 + [1] * 20 + [2]], ids=len
)
def test_tiny_classes(solver, classes):
    X, _ = clouds(len(classes))
    model = NSSE(solver=solver).fit(X, classes)
    check_sound(model, X, classes)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("d", [1, 2, 3, 20, 45])
def test_any_number_of_components(d):
    X, y = clouds(45)
    check_sound(NSSE(d).fit(X, y), X, y)


def test_an_outlier_is_embedded_or_refused():
    X, y = clouds(60)
    X[0] *= 1e4
    check_sound(NSSE().fit(X, y), X, y)
    X[0] *= 1e6
    with pytest.raises(ValueError, match="`X` must have no samples so far from the others"):
        NSSE().fit(X, y)


# Decisions


def test_probabilities_have_the_temperature_of_samples_left_out(fitted, split):
    """−‖y_i − y_j‖² to the nearest other sample of every class; a shift of a row changes nothing."""
    _, X_new, y, y_new = split
    D2 = cdist(fitted.embedding_, fitted.embedding_, "sqeuclidean")
    np.fill_diagonal(D2, np.inf)
    values = -np.stack([D2[:, y == code].min(axis=1) for code in range(10)], axis=1)
    expected = fitted_temperature(values, y, np.ones(200))
    assert fitted.scores_.temperature == pytest.approx(expected, rel=1e-6)
    P = fitted.predict_proba(X_new)
    np.testing.assert_array_equal(fitted.classes_[P.argmax(axis=1)], fitted.predict(X_new))
    assert -np.log(P[np.arange(len(y_new)), y_new]).mean() < 0.4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_linear_classifier_minimises_its_loss(n_classes):
    """Multinomial logistic loss on √N Y with half the squared weights, by another optimiser."""
    X, y = clouds(40, n_classes)
    model = NSSE(2, classifier="linear").fit(X, y)
    Y, d = np.sqrt(40) * model.embedding_, 2

    def loss(theta):
        W, b = theta[: n_classes * d].reshape(n_classes, d), theta[n_classes * d :]
        if n_classes == 2:  # scikit-learn penalises the one function of two classes, their difference
            W, b = np.vstack([-W[1], W[1]]) / 2, np.r_[-b[1], b[1]] / 2
        total = sum(w @ w for w in W) / 2 if n_classes > 2 else np.sum((2 * W[1]) ** 2) / 2
        for row, label in zip(Y, y, strict=True):
            scores = W @ row + b
            total += np.log(np.sum(np.exp(scores - scores.max()))) + scores.max() - scores[label]
        return total

    best = minimize(loss, np.zeros(n_classes * (d + 1)), options={"gtol": 1e-7}).fun
    scores = model.scores_
    W, b = scores.weights / np.sqrt(40), scores.offsets
    reached = loss(np.r_[(W * (2 if n_classes == 2 else 1)).ravel(), b * (2 if n_classes == 2 else 1)])
    assert reached == pytest.approx(best, rel=1e-4)
    np.testing.assert_array_equal(
        model.predict(X), (model.transform(X) @ scores.weights.T + b).argmax(1)
    )
    assert scores.has_one_per_class


# Failures


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 31}, "n_components"),
        ({"mu1": -1.0}, "mu1"),
        ({"mu2": 0.0}, "mu2"),
        ({"mu3": np.nan}, "mu3"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"beta": 0.0}, "beta"),
        ({"sigma": "wide"}, "sigma"),
        ({"sigma_range": (2.0, 1.0)}, "sigma_range"),
        ({"length_unit": "mean"}, "length_unit"),
        ({"length_unit": 1e150}, "length_unit"),
        ({"solver": "newton"}, "solver"),
        ({"classifier": "svm"}, "classifier"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"callback": 3}, "callback"),
    ],
)
def test_a_wrong_parameter_is_named_and_leaves_the_model_as_it_was(params, name):
    X, y = clouds(30)
    model = NSSE().fit(X, y)
    before = dict(vars(model))
    model.set_params(**params)
    with pytest.raises(ValueError, match=f"`{name}`? ?.*must .* Got "):
        model.fit(X, y)
    model.set_params(**NSSE().get_params())
    assert dict(vars(model)) == before


def test_samples_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="`X` must contain at least two distinct samples"):
        NSSE().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match=r"`n_components` must not exceed .* Only 2 independent"):
        NSSE(3).fit(np.repeat([[0.0], [1.0]], 4, axis=0), [0, 1] * 4)


def test_a_fit_without_room_is_refused_before_it_starts(monkeypatch):
    X, y = clouds(30)
    monkeypatch.setattr(machine, "WORTH_ASKING", 0)
    monkeypatch.setattr(machine, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match="Take fewer samples"):
        NSSE().fit(X, y)
    estimate = NSSE().estimate_memory
    assert 40 * 5000**2 < estimate(5000, 100, 10) < 60 * 5000**2


def test_warnings_say_what_happened():
    X, y = clouds(60)
    with pytest.warns(ScaleAtBoundWarning, match="sigma_range") as caught:
        NSSE(sigma_range=(5.0, 9.0)).fit(X, y)
    assert caught[0].filename == __file__
    with pytest.warns(ConditioningWarning, match="Raise `mu2`"):
        assert NSSE(mu2=1e-14, sigma=2.0).fit(X, y).condition_.factorization == "qr"
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        NSSE(max_iter=1, tol=0.0).fit(X, y)


def test_a_clone_knows_nothing_of_the_fit(fitted):
    assert not hasattr(clone(fitted), "map_")
