"""Bounds and radii beside their definitions; who gets a certificate and who an error."""

import pickle

import numpy as np
import pytest
from oracles_certificates import gram, nearest_neighbor_radius, value
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC, LinearSVC

import nsse
from nsse import LFDA, NSSE, SUPLAP, IsoKRR, MReg
from nsse.certificates import (
    Certificate,
    FunctionSpace,
    certified_radius,
    decision_of,
    expansion_of,
    lipschitz_bounds,
    radii,
)
from nsse.certificates.jacobians import _negative_half_square, jacobians, steepness
from nsse.extensions import GaussianExpansion

CLASSIFIERS = [
    KNeighborsClassifier(1),
    KNeighborsClassifier(3),
    KNeighborsClassifier(1, algorithm="brute", weights="distance"),
    NearestCentroid(),
    LinearSVC(random_state=0),
    LogisticRegression(C=100.0),
    LinearDiscriminantAnalysis(),
    RidgeClassifier(),
    Perceptron(random_state=0),
    SGDClassifier(random_state=0),
]


@pytest.fixture(scope="module")
def expansion():
    rng = np.random.default_rng(0)
    return GaussianExpansion.at(3.0 + rng.normal(size=(12, 4)), rng.normal(size=(12, 3)), 1.7)


@pytest.fixture(scope="module")
def new_points():
    return 5.0 * np.random.default_rng(5).standard_normal((40, 5))


@pytest.fixture(scope="module")
def model(blobs):
    return NSSE.as_published(sigma=1.0).fit(blobs.X, blobs.codes)


def centres_of(expansion):
    return expansion.centers.points + expansion.centers.shift


def test_gram_matrix_is_its_double_sum_and_a_little_more(expansion):
    literal = gram(centres_of(expansion), expansion.coef, expansion.sigma)
    ours = FunctionSpace.of(expansion).gram
    np.testing.assert_allclose(ours, literal, atol=1e-10)
    assert np.linalg.eigvalsh(ours - literal).min() >= 0


def test_rounding_bound_covers_the_error_of_an_ill_conditioned_map():
    """Coefficients of 10⁷ that nearly cancel, beside the same sum in extended precision."""
    rng = np.random.default_rng(1)
    Z, X = 100.0 + rng.normal(size=(30, 6)), 100.0 + rng.normal(size=(50, 6))
    C = 1e7 * rng.normal(size=(30, 2))
    C -= C.mean(axis=0)
    f = GaussianExpansion.at(Z, C, 20.0)
    long_z, long_x, long_c = (array.astype(np.longdouble) for array in (Z, X, C))
    exact = np.array([value(long_z, long_c, np.longdouble(20.0), x) for x in long_x])
    errors = np.linalg.norm((f(X) - exact).astype(float), axis=1)
    space = FunctionSpace.of(f)
    assert 0 < errors.max() <= space.rounding < 1e6 * errors.max()
    long_gram = gram(long_z, long_c, np.longdouble(20.0)).astype(float)
    assert np.linalg.eigvalsh(space.gram - long_gram).min() >= 0


def test_jacobian_and_its_climb_are_derivatives(expansion):
    rng = np.random.default_rng(2)
    x, h = rng.normal(size=4), 1e-6
    shift = expansion.centers.shift
    (J,) = jacobians(expansion, x[np.newaxis])
    steps = h * np.eye(4)
    differences = (expansion(x + shift + steps) - expansion(x + shift - steps)) / (2 * h)
    np.testing.assert_allclose(J, differences, atol=1e-8)
    assert steepness(expansion, x[np.newaxis])[0] == pytest.approx(np.linalg.norm(J, 2))
    _, slope = _negative_half_square(x, expansion)
    values = [_negative_half_square(x + s, expansion)[0] for s in (*steps, *-steps)]
    np.testing.assert_allclose(slope, (np.array(values[:4]) - values[4:]) / (2 * h), atol=1e-7)


def test_bounds_of_one_kernel_are_known():
    """f = c exp(−r²/σ²) is steepest at r = σ/√2, with the slope √(2/e)/σ · |c|."""

    class OneKernel(NSSE):
        pass

    model = OneKernel().fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1])
    model._expansion = GaussianExpansion.at(np.array([[4.0]]), np.array([[3.0]]), 2.0)
    found = lipschitz_bounds(model, [[3.0]])
    slope = 3.0 * np.sqrt(2 / np.e) / 2.0
    assert found.empirical == pytest.approx(slope, rel=1e-9)
    assert found.steepest == pytest.approx(4.0 - 2.0 / np.sqrt(2), rel=1e-4)
    assert found.proposition_1 == found.row_sum == found.best == pytest.approx(slope)
    assert found.rkhs == pytest.approx(3.0 * np.sqrt(2) / 2.0)


@pytest.mark.parametrize(
    "method", [NSSE.as_published(), SUPLAP(n_neighbors_between=8), MReg(), IsoKRR()], ids=repr
)
def test_truth_lies_between_the_bounds(method, blobs):
    model = method.fit(blobs.X, blobs.codes)
    found = lipschitz_bounds(model)
    rng = np.random.default_rng(3)
    u = blobs.X[rng.integers(60, size=2000)] + rng.normal(size=(2000, 5))
    v = u + rng.exponential(0.5, size=(2000, 1)) * rng.normal(size=(2000, 5))
    f = model.expansion_
    ratios = np.linalg.norm(f(u) - f(v), axis=1) / np.linalg.norm(u - v, axis=1)
    assert ratios.max() <= found.best
    assert found.empirical <= found.best <= found.proposition_1
    assert found.row_sum <= found.proposition_1
    unclimbed = lipschitz_bounds(model, max_iter=0)
    assert unclimbed.empirical <= found.empirical
    at = steepness(f, f.centers.moved(found.steepest[np.newaxis]))
    assert at[0] == pytest.approx(found.empirical)
    assert "steepest" not in found.to_dict()


def test_radius_is_its_definition(make_blobs):
    """Classes of no more samples than are tried, so that the best own neighbour is among them."""
    data = make_blobs((4, 3, 4))
    model = NSSE.as_published(n_components=2, sigma=0.9).fit(data.X, data.codes)
    X = data.X[::2] + 0.5 * np.random.default_rng(0).normal(size=(6, 5))
    ours = model.certified_radius(X)
    literal = [
        nearest_neighbor_radius(data.X, model.coef_, model.sigma_, model.embedding_, data.codes, x)
        for x in X
    ]
    np.testing.assert_allclose(ours, literal, rtol=1e-6)
    assert np.all(ours <= literal)
    assert ours.min() > 0


def test_more_own_neighbours_can_only_help(model, new_points, monkeypatch):
    four = model.certified_radius(new_points)
    monkeypatch.setattr(radii, "OWN", 1)
    one = model.certified_radius(new_points)
    monkeypatch.setattr(radii, "OWN", 60)
    whole = model.certified_radius(new_points)
    assert np.all(one <= four)
    assert np.all(four <= whole)


def test_coarser_bounds_give_smaller_radii(model, new_points):
    by = {bound: model.certified_radius(new_points, bound=bound) for bound in radii.BOUNDS}
    assert np.all(by["directional"] >= by["rkhs"] * (1 - 1e-9))
    assert np.all(by["rkhs"] > by["proposition_1"])
    assert np.all(by["row_sum"] >= by["proposition_1"])
    lipschitz = lipschitz_bounds(model).proposition_1
    f, Y, y = model.transform(new_points), model.embedding_, model.classifier_.predict(model.embedding_)
    distances = np.linalg.norm(f[:, np.newaxis] - Y, axis=2)
    k = int(by["proposition_1"].argmax())
    own = y == model.predict(new_points)[k]
    i, rivals = np.argmin(np.where(own, distances[k], np.inf)), np.flatnonzero(~own)
    to_bisectors = (distances[k, rivals] ** 2 - distances[k, i] ** 2) / (
        2 * np.linalg.norm(Y[rivals] - Y[i], axis=1)
    )
    assert by["proposition_1"][k] >= to_bisectors.min() / lipschitz * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_decide_as_the_classifier_does(classifier, n_classes, make_blobs, new_points):
    data = make_blobs((15,) * n_classes)
    words = np.array(["delta", "alpha", "charlie", "bravo"])[data.codes]
    model = NSSE.as_published(n_components=3, classifier=classifier).fit(data.X, words)
    decision = decision_of(model)
    scores = model.expansion_(new_points) @ decision.weights.T + decision.offsets
    nearest = np.argsort(-scores, axis=1)[:, : decision.n_votes]
    votes = np.array([np.bincount(row, minlength=n_classes) for row in decision.codes[nearest]])
    np.testing.assert_array_equal(decision.classes[votes.argmax(axis=1)], model.predict(new_points))
    radius = model.certified_radius(new_points)
    assert radius.shape == (40,)
    assert np.all(radius >= 0)
    assert np.median(radius) > 0


def test_largest_score_of_mreg_decides(blobs, new_points):
    model = MReg().fit(blobs.X, blobs.codes)
    decision = decision_of(model)
    np.testing.assert_array_equal(
        decision.labels(model.transform(new_points)), model.predict(new_points)
    )
    ours = model.certified_radius(new_points)
    G = gram(blobs.X, model.coef_, model.sigma_)
    for x, radius in zip(new_points, ours, strict=True):
        scores = model.transform(x[np.newaxis])[0]
        top = scores.argmax()
        slack = np.inf
        for rival in set(range(4)) - {top}:
            w = np.eye(4)[top] - np.eye(4)[rival]
            slack = min(slack, (scores[top] - scores[rival]) / np.sqrt(w @ G @ w))
        assert radius == pytest.approx(
            model.sigma_ * np.sqrt(-np.log(1 - slack**2 / 2)), rel=1e-6, abs=1e-8
        )


def test_constant_decision_has_an_infinite_radius(blobs, new_points):
    model = NSSE.as_published(classifier=LogisticRegression()).fit(blobs.X, blobs.codes > 1)
    model.classifier_.intercept_ = np.array([1e3])
    assert np.all(model.predict(new_points))
    assert np.all(np.isinf(model.certified_radius(new_points)))


def test_ties_have_no_radius():
    """A sample in two classes: who stands on it, or between two classes, has nothing certain."""
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    model = NSSE.as_published(n_components=1, sigma=1.0).fit(X, [0, 0, 1, 1])
    radius = model.certified_radius([[1.0], [0.0]])
    assert radius[0] == 0
    assert radius[1] > 0


def test_a_vote_without_majority_has_no_radius(blobs):
    """Fewer samples of the class than a majority needs."""
    data_y = np.where(np.arange(60) == 0, 9, blobs.codes)
    model = NSSE.as_published(classifier=KNeighborsClassifier(5)).fit(blobs.X, data_y)
    model.classifier_.predict = lambda X: np.full(len(X), 9)
    assert np.all(model.certified_radius(blobs.X[:3]) == 0)


def test_rescaled_samples_have_rescaled_radii(blobs, new_points):
    one = NSSE.as_published().fit(blobs.X, blobs.codes).certified_radius(new_points)
    thousand = NSSE.as_published().fit(1000 * blobs.X, blobs.codes).certified_radius(1000 * new_points)
    np.testing.assert_allclose(thousand, 1000 * one, rtol=1e-6)


def test_blocks_and_sparse_samples_change_nothing(blobs, new_points, monkeypatch):
    model = NSSE.as_published(classifier=KNeighborsClassifier(3)).fit(blobs.X, blobs.codes)
    whole = model.certified_radius(new_points)
    monkeypatch.setattr(radii, "BLOCK_VALUES", 7 * 60)
    np.testing.assert_allclose(model.certified_radius(new_points), whole, rtol=1e-12)
    thin = NSSE.as_published(classifier=KNeighborsClassifier(3)).fit(
        sparse.csr_matrix(blobs.X), blobs.codes
    )
    np.testing.assert_allclose(thin.certified_radius(sparse.csr_matrix(new_points)), whole, rtol=1e-6)
    assert lipschitz_bounds(thin).empirical == pytest.approx(lipschitz_bounds(model).empirical, rel=1e-6)


def test_single_precision_is_charged_for(blobs, new_points):
    single = NSSE.as_published().fit(blobs.X.astype(np.float32), blobs.codes)
    coarse = single.certified_radius(new_points.astype(np.float32))
    fine = single.certified_radius(new_points.astype(np.float32).astype(np.float64))
    assert np.all(coarse[fine > 0] < fine[fine > 0])
    np.testing.assert_allclose(coarse[fine > 0.1], fine[fine > 0.1], rtol=0.05)


def test_frames_pickles_and_functions_give_the_same(model, new_points):
    pandas = pytest.importorskip("pandas")
    names = [f"column {k}" for k in range(5)]
    framed = NSSE.as_published(sigma=1.0).set_output(transform="pandas")
    framed.fit(
        pandas.DataFrame(model.centers_, columns=names), model.classifier_.classes_[model.classifier_._y]
    )
    plain = model.certified_radius(new_points)
    np.testing.assert_allclose(
        framed.certified_radius(pandas.DataFrame(new_points, columns=names)), plain, rtol=1e-9
    )
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).certified_radius(new_points), plain)
    np.testing.assert_array_equal(certified_radius(model, new_points), plain)
    assert nsse.certificates.certified_radius is certified_radius


def test_a_certificate_needs_no_estimator(expansion):
    """Centres that are no samples: what is needed is a map and a decision."""
    points = np.random.default_rng(4).normal(size=(9, 3))
    classifier = KNeighborsClassifier(1).fit(points, np.arange(9) % 3)

    class Anything:
        classifier_ = classifier

    certificate = Certificate(FunctionSpace.of(expansion), decision_of(Anything()))
    X = 3.0 + np.random.default_rng(6).normal(size=(20, 4))
    radius = certificate.radius(expansion(X))
    literal = [
        nearest_neighbor_radius(centres_of(expansion), expansion.coef, 1.7, points, np.arange(9) % 3, x)
        for x in X
    ]
    np.testing.assert_allclose(radius, literal, rtol=1e-6, atol=1e-12)


class Odd(KNeighborsClassifier):
    """A subclass may decide otherwise."""


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        (SVC(), r"`classifier` must be one whose decision is known in closed form.*Got SVC\(\)"),
        (Odd(1), r"`classifier` must be one whose decision is known.*Got Odd\(n_neighbors=1\)"),
        (KNeighborsClassifier(1, metric="manhattan"), r"Euclidean distances.*Got 'manhattan'"),
        (KNeighborsClassifier(3, weights="distance"), r"count its neighbours equally.*Got 'distance'"),
        (NearestCentroid(metric="manhattan"), r"Euclidean distances.*Got 'manhattan'"),
        (NearestCentroid(priors=[0.4, 0.3, 0.2, 0.1]), r"same prior to be certified"),
    ],
)
def test_other_classifiers_get_an_error(classifier, words, blobs):
    model = NSSE.as_published(classifier=classifier).fit(blobs.X, blobs.codes)
    with pytest.raises(ValueError, match=words):
        model.certified_radius(blobs.X)


def test_other_models_get_an_error(blobs):
    other = LFDA().fit(blobs.X, blobs.codes)
    for function in (expansion_of, lipschitz_bounds, lambda m: certified_radius(m, blobs.X)):
        with pytest.raises(TypeError, match=r"`model` must have a Gaussian expansion.*Got 'LFDA'"):
            function(other)
    assert not hasattr(other, "certified_radius")
    for function in (lipschitz_bounds, lambda m: certified_radius(m, blobs.X)):
        with pytest.raises(NotFittedError):
            function(NSSE.as_published())
