"""What a user of NSSE counts on: the scikit-learn API, the fitted attributes, the arguments."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from nsse import NSSE


def digits_split(per_class: int = 20, seed: int = 0):
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, train_size=10 * per_class, stratify=y, random_state=seed)


@pytest.fixture(scope="module")
def digits():
    return digits_split()


@pytest.fixture(scope="module")
def fitted(digits):
    X, _, y, _ = digits
    return NSSE.as_published().fit(X, y)


def blobs(n_samples: int = 60, n_classes: int = 3, n_features: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    return rng.normal(size=(n_classes, n_features))[y] * 2 + rng.normal(size=(n_samples, n_features)), y


# ------------------------------------------------------------------------------- the fitted model


def test_shapes_and_types_of_the_fitted_attributes(fitted, digits):
    X, _, _, _ = digits
    assert fitted.embedding_.shape == fitted.coef_.shape == (200, 9)
    assert fitted.eigenvalues_.shape == (9,)
    assert np.all(np.diff(fitted.eigenvalues_) >= 0)
    np.testing.assert_array_equal(fitted.centers_, X)
    np.testing.assert_array_equal(fitted.classes_, np.arange(10))
    assert isinstance(fitted.classifier_, KNeighborsClassifier)
    assert fitted.classifier_.n_neighbors == 1
    assert isinstance(fitted.sigma_, float)
    assert isinstance(fitted.objective_, float)
    assert fitted.n_features_in_ == 64
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.n_iter_ == len(fitted.trace_) > 1
    assert fitted.condition_.factorization == "cholesky"
    assert 1 < fitted.condition_.condition_number < 1e13


def test_f_passes_through_the_embedding(fitted, digits):
    np.testing.assert_allclose(fitted.transform(digits[0]), fitted.embedding_, rtol=0, atol=1e-9)


def test_the_embedding_is_orthonormal(fitted):
    np.testing.assert_allclose(fitted.embedding_.T @ fitted.embedding_, np.eye(9), rtol=0, atol=1e-12)


def test_sigma_is_in_the_units_of_x(fitted, digits):
    X_new = digits[1]
    kernel = np.exp(-cdist(X_new, fitted.centers_, "sqeuclidean") / fitted.sigma_**2)
    np.testing.assert_allclose(kernel @ fitted.coef_, fitted.transform(X_new), rtol=0, atol=1e-10)


def test_predict_is_the_nearest_neighbour_in_the_embedding(fitted, digits):
    _, X_new, y, y_new = digits
    nearest = cdist(fitted.transform(X_new), fitted.embedding_).argmin(axis=1)
    np.testing.assert_array_equal(fitted.predict(X_new), y[nearest])
    assert fitted.score(X_new, y_new) == np.mean(y[nearest] == y_new) > 0.94
    weights = (y_new == 3).astype(float)
    expected = np.mean((y[nearest] == y_new)[y_new == 3])
    assert fitted.score(X_new, y_new, sample_weight=weights) == pytest.approx(expected)


def within_class_weights(X, y, n_neighbors, beta):
    """W_w in loops, from its definition; distances and beta in the units of X."""
    D2 = cdist(X, X, "sqeuclidean")
    edges = []
    for i in range(len(X)):
        same = [j for j in np.argsort(D2[i]) if y[j] == y[i] and j != i]
        edges += [(i, j) for j in same[:n_neighbors]]
    width = np.mean([D2[i, j] for i, j in edges]) if beta is None else beta
    W = np.zeros_like(D2)
    for i, j in edges:
        W[i, j] = W[j, i] = np.exp(-D2[i, j] / width)
    return W


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"solver": "alternating"},
        {"n_components": 4, "mu1": 30.0, "mu2": 0.2, "mu3": 2.0, "n_neighbors": None, "beta": 0.7},
        {"n_components": 12, "n_neighbors": 2, "sigma": 0.6},
        {"length_unit": 1.0, "sigma_range": (2.0, 200.0), "mu3": 40.0, "beta": 300.0},
        {"solver": "alternating", "sigma_init": 0.3, "n_sigmas": 12, "mu1": 0.09, "mu2": 0.045},
        {"mu1": 0.0, "n_components": 12},
    ],
)
def test_objective_is_equation_11(digits, parameters):
    X, _, y, _ = digits
    model = NSSE.as_published(**parameters).fit(X, y)
    Y, C, unit = model.embedding_, model.coef_, model.length_unit_
    N, d = Y.shape
    beta = None if model.beta is None else model.beta * unit**2
    W_w = within_class_weights(X, y, model.n_neighbors, beta)
    W_b = (y[:, np.newaxis] != y).astype(float)
    mu3 = 5 * model.mu2 * d if model.mu3 is None else model.mu3
    terms = {
        "within": 0.5 * np.sum(W_w * cdist(Y, Y, "sqeuclidean")),
        "between": -model.mu1 * 0.5 * np.sum(W_b * cdist(Y, Y, "sqeuclidean")),
        "regularity": model.mu2 * np.sum(C**2),
        "scale": mu3 / (model.sigma_ / unit) ** 2,
    }
    floor = -model.mu1 * N * d
    # The constant dominates the objective: what matters is what lies above it.
    assert model.objective_ - floor == pytest.approx(sum(terms.values()) - floor, rel=1e-6)

    best = min(model.trace_, key=lambda step: step.objective)
    assert best.objective == model.objective_
    assert best.sigma == model.sigma_
    for name, value in terms.items():
        assert getattr(best, name) == pytest.approx(value, rel=1e-6, abs=1e-10), name
    eigenvalues = model.objective_ - terms["scale"]
    if model.solver == "joint":
        assert model.eigenvalues_.sum() - floor == pytest.approx(eigenvalues - floor, rel=1e-9)


def test_joint_is_never_above_alternating(digits):
    X, _, y, _ = digits
    assert (
        NSSE.as_published().fit(X, y).objective_
        <= NSSE.as_published(solver="alternating").fit(X, y).objective_
    )


def test_the_search_ends_at_a_minimum(fitted, digits):
    X, _, y, _ = digits
    at = fitted.sigma_ / fitted.length_unit_
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert NSSE.as_published(sigma=at * factor).fit(X, y).objective_ > fitted.objective_


def test_alternating_looks_on_its_grid(digits):
    X, _, y, _ = digits
    model = NSSE.as_published(
        solver="alternating", sigma_range=(0.2, 5.0), n_sigmas=9, sigma_init=0.4
    ).fit(X, y)
    sigmas = model.trace_.column("sigma") / model.length_unit_
    assert sigmas[0] == pytest.approx(0.4)
    assert np.isclose(sigmas[-1], np.geomspace(0.2, 5.0, 9), rtol=1e-12).any()
    middle = NSSE.as_published(solver="alternating", sigma_range=(0.2, 5.0)).fit(X, y)
    assert middle.trace_[0].sigma / middle.length_unit_ == pytest.approx(1.0)


def test_the_unit_of_length(digits):
    X, _, y, _ = digits
    model = NSSE.as_published(sigma=0.8).fit(X, y)
    assert model.length_unit_ == pytest.approx(np.median(pdist(X)), rel=1e-12)
    assert model.sigma_ == 0.8 * model.length_unit_
    absolute = NSSE.as_published(
        sigma=model.sigma_, length_unit=1.0, mu3=0.45 * model.length_unit_**2
    ).fit(X, y)
    assert absolute.length_unit_ == 1.0
    assert absolute.sigma_ == model.sigma_
    assert absolute.objective_ == pytest.approx(model.objective_, rel=1e-12)


def test_mu3_follows_mu2_and_d_unless_given(digits):
    X, _, y, _ = digits
    implied = NSSE.as_published(4, mu2=0.1).fit(X, y)
    given = NSSE.as_published(4, mu2=0.1, mu3=5 * 0.1 * 4).fit(X, y)
    np.testing.assert_array_equal(implied.embedding_, given.embedding_)
    assert NSSE.as_published(4, mu2=0.1, mu3=50.0).fit(X, y).sigma_ > given.sigma_


@pytest.mark.parametrize("d", [1, 8, 9, 10, 30, 199, 200])
def test_any_number_of_components(digits, d):
    X, X_new, y, _ = digits
    model = NSSE.as_published(n_components=np.int64(d), sigma=0.5).fit(X, y)
    assert model.transform(X_new).shape == (len(X_new), d)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(d), rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.transform(X), model.embedding_, rtol=0, atol=1e-9)


def test_the_first_components_do_not_depend_on_how_many(digits):
    X, _, y, _ = digits
    few, many = (NSSE.as_published(d, sigma=0.8).fit(X, y).embedding_ for d in (4, 15))
    np.testing.assert_allclose(few, many[:, :4], rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_components_default_to_one_fewer_than_the_classes(n_classes):
    X, y = blobs(70, n_classes)
    assert NSSE.as_published().fit(X, y).embedding_.shape == (70, n_classes - 1)


def test_no_warning_at_default_settings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for per_class in (3, 7, 20):
            X, X_new, y, _ = digits_split(per_class)
            NSSE.as_published().fit(X, y).predict(X_new)
            NSSE.as_published(solver="alternating").fit(X, y)


@pytest.mark.slow
def test_untuned_it_beats_nearest_neighbour_and_svm():
    errors = {"nsse": [], "1-nn": [], "svm": []}
    for seed in range(5):
        X, X_new, y, y_new = digits_split(seed=seed)
        models = {"nsse": NSSE.as_published(), "1-nn": KNeighborsClassifier(1), "svm": SVC(C=10)}
        for name, model in models.items():
            errors[name].append(1 - model.fit(X, y).score(X_new, y_new))
    mean = {name: np.mean(values) for name, values in errors.items()}
    assert mean["nsse"] < min(mean["1-nn"], mean["svm"])


# ------------------------------------------------------------------------------ scikit-learn's API


@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_fit_transform_is_fit_then_transform(digits, solver):
    X, _, y, _ = digits
    model = NSSE.as_published(solver=solver)
    at_once = model.fit_transform(X, y)
    np.testing.assert_array_equal(at_once, NSSE.as_published(solver=solver).fit(X, y).transform(X))
    np.testing.assert_array_equal(at_once, model.transform(X))


def test_fitting_twice_gives_the_same_bits(fitted, digits):
    X, _, y, _ = digits
    again = clone(fitted).fit(X, y)
    np.testing.assert_array_equal(again.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(again.fit(X, y).coef_, fitted.coef_)
    # and nothing is left of another fit
    other = NSSE.as_published().fit(*blobs())
    np.testing.assert_array_equal(other.fit(X, y).coef_, fitted.coef_)


def test_parameters_and_clone(fitted):
    model = NSSE.as_published(3, mu1=2.0, sigma_range=(0.2, 2.0), classifier=SVC(C=3.0))
    assert clone(model).get_params()["sigma_range"] == (0.2, 2.0)
    assert clone(model).get_params()["classifier__C"] == 3.0
    model.set_params(classifier__C=5.0, mu2=0.5)
    assert (model.classifier.C, model.mu2) == (5.0, 0.5)
    assert not hasattr(clone(fitted), "embedding_")
    assert fitted.get_params() == NSSE.as_published().get_params()


def test_pickle_keeps_the_bits(fitted, digits):
    X_new = digits[1]
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.transform(X_new), fitted.transform(X_new))
    np.testing.assert_array_equal(back.predict(X_new), fitted.predict(X_new))
    assert back.trace_ == fitted.trace_
    assert back.condition_ == fitted.condition_
    assert pickle.loads(pickle.dumps(NSSE.as_published(mu1=3.0))).mu1 == 3.0


def test_pickle_holds_the_centres_once():
    X, y = blobs(60, n_features=4000)
    model = NSSE.as_published().fit(X, y)
    assert len(pickle.dumps(model)) < 1.1 * X.nbytes


@pytest.mark.slow
def test_pipeline_and_grid_search_on_workers():
    X, y = blobs(90, n_features=6)
    pipeline = make_pipeline(StandardScaler(), NSSE.as_published())
    grid = {"nsse__mu2": [0.01, 1.0], "nsse__n_components": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.8
    assert search.predict(X).shape == (90,)
    assert search.transform(X).shape == (90, search.best_params_["nsse__n_components"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_in_and_out(digits, library):
    frames = pytest.importorskip(library)
    X, X_new, y, _ = digits
    names = [f"pixel {i}" for i in range(64)]
    plain = NSSE.as_published().fit(X, y)
    model = NSSE.as_published().set_output(transform=library)
    model.fit(frames.DataFrame(dict(zip(names, X.T, strict=True))), y)
    new = frames.DataFrame(dict(zip(names, X_new.T, strict=True)))
    out = model.transform(new)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == [f"nsse{i}" for i in range(9)] == list(model.get_feature_names_out())
    np.testing.assert_allclose(out.to_numpy(), plain.transform(X_new), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), plain.predict(X_new))
    assert list(model.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(new[names[::-1]])


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix, sparse.coo_matrix]
)
def test_sparse_is_as_good_as_dense(fitted, digits, form):
    X, X_new, y, _ = digits
    model = NSSE.as_published().fit(form(X), y)
    np.testing.assert_allclose(model.embedding_, fitted.embedding_, rtol=0, atol=1e-8)
    for new in (form(X_new), X_new):
        np.testing.assert_allclose(model.transform(new), fitted.transform(X_new), rtol=0, atol=1e-8)
        np.testing.assert_array_equal(model.predict(new), fitted.predict(X_new))
    np.testing.assert_allclose(fitted.transform(form(X_new)), model.transform(X_new), rtol=0, atol=1e-8)
    assert sparse.issparse(model.centers_)


def test_float32_stays_float32(digits):
    X, X_new, y, _ = digits
    X, X_new = X / 3.7, X_new / 3.7  # no longer exact in float32
    double, single = NSSE.as_published().fit(X, y), NSSE.as_published().fit(X.astype(np.float32), y)
    assert single.embedding_.dtype == np.float32
    assert single.transform(X_new.astype(np.float32)).dtype == np.float32
    assert single.transform(X_new).dtype == np.float64
    assert single.fit_transform(X.astype(np.float32), y).dtype == np.float32
    np.testing.assert_allclose(single.embedding_, double.embedding_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        single.transform(X_new.astype(np.float32)), double.transform(X_new), rtol=0, atol=1e-6
    )
    assert np.mean(single.predict(X_new) == double.predict(X_new)) > 0.999


def test_lists_and_integers_are_welcome():
    X, y = blobs()
    X = np.round(10 * X).astype(int)
    np.testing.assert_array_equal(
        NSSE.as_published().fit(X.tolist(), y.tolist()).embedding_,
        NSSE.as_published().fit(X.astype(float), y).embedding_,
    )


# -------------------------------------------------------------------------------- classifier


def test_predict_proba_of_the_nearest_neighbour(fitted, digits):
    X_new = digits[1]
    P = fitted.predict_proba(X_new)
    assert set(np.unique(P)) == {0.0, 1.0}
    np.testing.assert_array_equal(fitted.classes_[P.argmax(axis=1)], fitted.predict(X_new))


@pytest.mark.parametrize(
    ("classifier", "has_probabilities"),
    [
        (LogisticRegression(C=1e3), True),
        (SVC(kernel="linear"), False),
        (KNeighborsClassifier(3), True),
        (RandomForestClassifier(10, random_state=0), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
    ],
    ids=lambda value: None if isinstance(value, bool) else type(value).__name__,
)
def test_another_classifier(digits, classifier, has_probabilities):
    X, X_new, y, y_new = digits
    names = np.array(list("abcdefghij"))
    model = NSSE.as_published(classifier=classifier)
    assert hasattr(model, "predict_proba") is has_probabilities
    model.fit(X, names[y])
    assert model.classifier_ is not classifier
    assert not hasattr(classifier, "classes_"), "the one given stays unfitted"
    expected = clone(classifier).fit(model.embedding_, names[y])
    np.testing.assert_array_equal(model.predict(X_new), expected.predict(model.transform(X_new)))
    assert model.score(X_new, names[y_new]) > 0.8
    assert hasattr(model, "predict_proba") is has_probabilities
    if has_probabilities:
        P = model.predict_proba(X_new)
        np.testing.assert_array_equal(P, expected.predict_proba(model.transform(X_new)))
        assert P.shape == (len(X_new), 10)


# --------------------------------------------------------------------------------- affinity


@pytest.mark.parametrize("form", ["dense", "sparse", "callable"])
def test_an_affinity_of_ones_own(form):
    X, X_new, y, _ = digits_split(7)
    X, y = X[:64], y[:64]
    model = NSSE.as_published().fit(X, y)
    W = within_class_weights(X, y, 5, None)
    seen = []

    def weights(samples, labels):
        seen.append((samples, labels))
        return sparse.coo_array(W)

    affinity = {"dense": W, "sparse": sparse.csr_matrix(W), "callable": weights}[form]
    own = NSSE.as_published(affinity=affinity).fit(X, y)
    np.testing.assert_allclose(own.embedding_, model.embedding_, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(own.predict(X_new), model.predict(X_new))
    assert own.objective_ == pytest.approx(model.objective_, rel=1e-12)
    if form == "callable":
        np.testing.assert_array_equal(seen[0][0], X)
        np.testing.assert_array_equal(seen[0][1], y)
    without = NSSE.as_published(affinity=0 * W).fit(X, y)
    assert np.abs(without.embedding_ - model.embedding_).max() > 1e-6
