"""How f is normalised, in which units it is given, and who reads labels from it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracles
from nsse import LFDA, NSSE, SUPLAP, MReg

CLASSES = {"normalization": "classes"}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return X[::3], y[::3], X[1::3], y[1::3]


def means_of(Y, y):
    return np.array([Y[y == label].mean(axis=0) for label in np.unique(y)])


def mean_scatter(Y, y):
    """Σ_c n_c (ȳ_c − ȳ)(ȳ_c − ȳ)'."""
    centred = means_of(Y, y) - Y.mean(axis=0)
    return (centred.T * np.unique(y, return_counts=True)[1]) @ centred


# Scores against the closed form


def closed_form(X, y, X_new, sigma, nu):
    """Regression of class indicators on kernel functions c, ν‖c‖² added; of two classes also on a
    constant b, b² added."""
    K, K_new = oracles.kernel_matrix(X, X, sigma), oracles.kernel_matrix(X_new, X, sigma)
    E = (y[:, np.newaxis] == np.unique(y)).astype(float)
    N, price = len(y), 1.0 if E.shape[1] == 2 else 1e12
    rows = np.block(
        [
            [K, np.ones((N, 1))],
            [np.sqrt(nu) * np.eye(N), np.zeros((N, 1))],
            [np.zeros((1, N)), np.full((1, 1), np.sqrt(price))],
        ]
    )
    targets = np.vstack([E - E.mean(axis=0), np.zeros((N + 1, E.shape[1]))])
    found = np.linalg.lstsq(rows, targets, rcond=None)[0]
    return E.mean(axis=0) + K_new @ found[:-1] + found[-1]


@pytest.mark.parametrize(("mu1", "mu2"), [(1.0, 0.1), (0.2, 5.0), (10.0, 1e-3)])
@pytest.mark.parametrize("sigma", [1.0, 4.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_a_ridge_regression_where_classes_are_of_equal_size(
    make_blobs, mu1, mu2, sigma, n_classes
):
    """No edges in the graph: class indicators regressed on kernel functions, and on a constant."""
    data = make_blobs((12,) * n_classes, n_features=4, seed=5)
    X, y = data.X, data.codes
    no_edges = np.zeros((len(y), len(y)))
    options = {"affinity": no_edges, "sigma": sigma, "length_unit": 1.0, "classifier": "scores"}
    model = NSSE.as_published(mu1=mu1, mu2=mu2, **options, **CLASSES).fit(X, y)
    expected = closed_form(X, y, X + 0.3, sigma, mu2 / (mu1 * 12))
    if n_classes == 2:
        expected = expected[:, 1] - expected[:, 0]
    np.testing.assert_allclose(model.decision_function(X + 0.3), expected, atol=1e-6)


def test_scores_of_a_model_are_those_of_its_attributes(cancer):
    X, y, new, _ = cancer
    model = NSSE.as_published(mu2=1.0, classifier="scores").fit(X, y)
    Y, M, N = model.embedding_, 2, len(y)
    excess = model.eigenvalues_ + model.mu1 * N
    b = np.diag(mean_scatter(Y, y))
    whole = b + excess / (model.mu1 * N / M)
    sizes = np.bincount(y)
    contrasts = (means_of(Y, y) - Y.mean(axis=0)) * sizes[:, np.newaxis]
    shift = Y.sum(axis=0) / (N + 1)  # of two classes a constant costs as much as one sample
    scores = (model.transform(new) - shift) @ (contrasts / whole).T + sizes / N
    np.testing.assert_allclose(model.decision_function(new), scores[:, 1] - scores[:, 0], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(new), model.classes_[scores.argmax(axis=1)])


# Normalisation


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 60}, {"solver": "alternating"}])
def test_class_means_have_unit_scatter(cancer, options):
    X, y, _, _ = cancer
    model = NSSE.as_published(mu2=1.0, **CLASSES, **options).fit(X, y)
    np.testing.assert_allclose(mean_scatter(model.embedding_, y), np.eye(1), atol=1e-8)


def test_objective_is_the_sum_of_its_terms_and_of_eigenvalues(blobs):
    for options in ({}, {"n_landmarks": 30, "landmarks": "random"}):
        model = NSSE.as_published(mu1=0.3, mu2=0.1, mu3=0.2, **CLASSES, **options).fit(
            blobs.X, blobs.codes
        )
        last = min(model.trace_.steps, key=lambda step: step.excess) if not options else model.trace_[-1]
        terms = last.within + last.between + last.regularity + last.scale
        assert model.objective_ == pytest.approx(terms, rel=1e-7)
        relative = model.sigma_ / model.length_unit_
        assert model.objective_ == pytest.approx(model.eigenvalues_.sum() + 0.2 / relative**2, rel=1e-7)


def test_with_all_samples_as_landmarks_it_is_the_exact_model(blobs):
    order = np.argsort(blobs.codes, kind="stable")
    X, y = blobs.X[order], blobs.codes[order]
    options = {"mu2": 0.1, "sigma": 0.8, "n_neighbors": None, "classifier": "scores"}
    exact = NSSE.as_published(**options, **CLASSES).fit(X, y)
    unit = exact.length_unit_
    centred = NSSE.as_published(**options, **CLASSES, landmarks=np.arange(len(y)), length_unit=unit)
    centred.set_params(sigma=0.8).fit(X, y)
    np.testing.assert_allclose(centred.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(centred.embedding_, exact.embedding_, atol=1e-6)
    np.testing.assert_allclose(centred.decision_function(X), exact.decision_function(X), atol=1e-7)


def test_blocks_and_single_precision_give_the_same_model(blobs):
    options = {"n_landmarks": 25, "landmarks": "random", "mu2": 0.1, "classifier": "scores"}
    model = NSSE.as_published(**options, **CLASSES).fit(blobs.X, blobs.codes)
    order = [slice(0, 11), slice(11, 60)]
    cut = NSSE.as_published(**options, **CLASSES).fit_blocks(
        [(blobs.X[s], blobs.codes[s]) for s in order]
    )
    np.testing.assert_array_equal(cut.coef_, model.coef_)
    np.testing.assert_array_equal(cut.classifier_.coef_, model.classifier_.coef_)
    single = NSSE.as_published(**options, **CLASSES).fit(blobs.X.astype(np.float32), blobs.codes)
    np.testing.assert_allclose(single.eigenvalues_, model.eigenvalues_, rtol=1e-3)


def test_more_components_than_class_means_are_refused(blobs):
    model = NSSE.as_published(4, **CLASSES)
    with pytest.raises(ValueError, match=r"^`n_components` must not exceed n_classes - 1 = 3 with norm"):
        model.fit(blobs.X, blobs.codes)
    assert not hasattr(model, "coef_")
    assert NSSE.as_published(4).fit(blobs.X, blobs.codes).embedding_.shape == (60, 4)


# Readers


def test_none_reads_scores_and_without_separation_the_nearest(blobs):
    named, default = (
        NSSE.as_published(classifier=c).fit(blobs.X, blobs.codes) for c in ("scores", None)
    )
    assert type(named.classifier_) is type(default.classifier_)
    np.testing.assert_array_equal(named.decision_function(blobs.X), default.decision_function(blobs.X))
    for options in ({"classifier": "nearest"}, {"classifier": None, "mu1": 0.0}):
        nearest = NSSE.as_published(**options).fit(blobs.X, blobs.codes)
        assert set(np.unique(nearest.predict_proba(blobs.X))) == {0.0, 1.0}


def test_defaults_are_a_point_of_the_study(blobs):
    """What NSSE() is, by name; and the weight that it takes, for classes of any size."""
    explicit = {
        "metric": "within",
        "shrinkage": 3.0,
        "sigma": 0.65,
        "normalization": "classes",
        "classifier": "scores",
        "embedding_scale": "unit",
        "mu2": 0.1 * len(blobs.codes) / 4,
    }
    model, named = NSSE().fit(blobs.X, blobs.codes), NSSE(**explicit).fit(blobs.X, blobs.codes)
    np.testing.assert_array_equal(model.transform(blobs.X), named.transform(blobs.X))
    np.testing.assert_array_equal(model.decision_function(blobs.X), named.decision_function(blobs.X))
    assert NSSE(mu1=0.0).fit(blobs.X, blobs.codes).predict(blobs.X).shape == (60,)


@pytest.mark.parametrize("method", [SUPLAP(n_neighbors_between=8), LFDA(2), MReg()])
def test_other_methods_know_the_nearest_by_name_and_no_scores(method, blobs):
    model = clone(method).set_params(classifier="nearest").fit(blobs.X, blobs.codes)
    assert model.predict_proba(blobs.X).shape == (60, 4)
    with pytest.raises(
        ValueError, match=r'^`classifier` must be a scikit-learn .*, or "nearest"\. Got '
    ):
        clone(method).set_params(classifier="scores").fit(blobs.X, blobs.codes)


def test_scores_survive_clones_pickles_and_pipelines(cancer):
    X, y, new, labels = cancer
    model = make_pipeline(
        StandardScaler(), NSSE.as_published(mu2=1.0, classifier="scores", **CLASSES)
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert model.score(new, labels) > 0.95


# Units of f


@pytest.mark.parametrize("options", [{}, CLASSES, {"n_landmarks": 40}])
@pytest.mark.parametrize("classifier", ["nearest", "scores"])
def test_unit_scale_changes_units_only(cancer, options, classifier):
    X, y, new, _ = cancer
    plain = NSSE.as_published(mu2=0.1, classifier=classifier, **options).fit(X, y)
    unit = clone(plain).set_params(embedding_scale="unit").fit(X, y)
    factor = np.sqrt(len(y))
    if options == CLASSES:  # the whole of a coordinate, not its class means alone
        factor = factor / np.sqrt(1 + plain.eigenvalues_ / (plain.mu1 * len(y) / 2))
    np.testing.assert_allclose(unit.embedding_, factor * plain.embedding_, rtol=1e-12)
    np.testing.assert_allclose(unit.transform(new), factor * plain.transform(new), rtol=1e-9)
    np.testing.assert_array_equal(unit.predict(new), plain.predict(new))
    radius = plain.certified_radius(new)
    np.testing.assert_allclose(unit.certified_radius(new), radius, rtol=1e-6, atol=1e-9)
    assert unit.objective_ == plain.objective_
    Y = unit.embedding_
    if options != CLASSES:
        np.testing.assert_allclose((Y**2).mean(axis=0), 1.0, rtol=1e-6)


def test_unit_scale_makes_weak_coordinates_short(make_blobs):
    """With class means normalised; the nearest neighbour then weighs coordinates as the scores do."""
    data = make_blobs((20, 20, 20, 20), n_features=3, seed=2)
    options = {"mu2": 3.0, "normalization": "classes", "sigma": 1.0}
    plain = NSSE.as_published(**options).fit(data.X, data.codes)
    unit = NSSE.as_published(**options, embedding_scale="unit").fit(data.X, data.codes)
    theta = plain.mu1 * 20 / plain.eigenvalues_  # between beside within + smooth, falling
    np.testing.assert_allclose(
        unit.embedding_, plain.embedding_ * np.sqrt(80 * theta / (1 + theta)), rtol=1e-9
    )
    assert theta[0] / theta[-1] > 2
    new = data.X + 0.5
    both = [
        clone(model).set_params(classifier="scores").fit(data.X, data.codes) for model in (plain, unit)
    ]
    np.testing.assert_allclose(*(model.decision_function(new) for model in both), atol=1e-9)
    np.testing.assert_allclose(*(model.certified_radius(new) for model in both), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_unit_scale_is_what_logistic_regression_can_digest(cancer):
    X, y, new, labels = cancer
    units = {"orthonormal": 0.8, "unit": 0.91}
    found = {
        scale: [
            NSSE.as_published(classifier=LogisticRegression(), embedding_scale=scale)
            .fit(X, y)
            .score(new, labels),
            make_pipeline(NSSE.as_published(embedding_scale=scale), LogisticRegression())
            .fit(X, y)
            .score(new, labels),
        ]
        for scale in units
    }
    assert max(found["orthonormal"]) < units["orthonormal"]
    assert min(found["unit"]) > units["unit"]


def test_embeddings_in_single_precision_stay_so(blobs):
    X = blobs.X.astype(np.float32)
    model = NSSE.as_published(embedding_scale="unit", classifier="scores").fit(X, blobs.codes)
    assert model.embedding_.dtype == model.transform(X).dtype == np.float32


# By name


def test_as_published_is_the_method_of_the_paper(blobs):
    """At its own σ the literal eigenproblem's embedding, and the nearest neighbour's labels."""
    model = NSSE.as_published(n_components=2).fit(blobs.X, blobs.codes)
    X = blobs.X / model.length_unit_
    sigma = model.sigma_ / model.length_unit_
    W = oracles.within_class_weights(X, blobs.codes, 5)
    A = oracles.literal_matrix(
        oracles.squared_distance_matrix(X, X), blobs.codes, W, mu1=1.0, mu2=0.01, sigma=sigma
    )
    values, vectors = np.linalg.eigh(A)
    np.testing.assert_allclose(model.eigenvalues_, values[:2], rtol=1e-6)
    Y = model.embedding_
    np.testing.assert_allclose(Y @ Y.T, vectors[:, :2] @ vectors[:, :2].T, atol=1e-5)
    terms = oracles.objective_terms(Y, model.coef_, sigma, W, blobs.codes, 1.0, 0.01, 0.1)
    assert model.objective_ == pytest.approx(terms.objective, rel=1e-6)
    new = blobs.X + 0.2
    distances = oracles.squared_distance_matrix(model.transform(new), Y)
    np.testing.assert_array_equal(model.predict(new), blobs.codes[distances.argmin(axis=1)])


def test_as_published_takes_other_parameters_and_names_all_that_may_move():
    assert NSSE.as_published(mu2=0.3, classifier="scores").get_params()["mu2"] == 0.3
    assert NSSE.as_published(classifier="scores").classifier == "scores"
    settings = NSSE.as_published().get_params()
    assert settings["normalization"] == "samples"
    assert settings["classifier"] == "nearest"
    assert settings["embedding_scale"] == "orthonormal"
    with pytest.raises(TypeError, match="unexpected"):
        NSSE.as_published(mu5=1.0)


# In a search
