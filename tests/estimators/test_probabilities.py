"""Decision functions and probabilities: the label is the largest, for every classifier, anywhere."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC, LinearSVC

import nsse
from nsse import NSSE, NSSECV
from nsse.extensions import fitted_temperature, softmax
from nsse.extensions.nearest import vote_of_neighbors
from nsse.invariances import enlarged
from nsse.solvers.problem import constant_price

CLASSIFIERS = {
    "scores": "scores",
    "nearest": "nearest",
    "3-NN": KNeighborsClassifier(3),
    "4-NN": KNeighborsClassifier(4),
    "all of them": KNeighborsClassifier(90),
    "4-NN by distance": KNeighborsClassifier(4, weights="distance"),
    "centroid": NearestCentroid(),
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "linear SVC": LinearSVC(),
    "SVC": SVC(),
    "SVC one against one": SVC(decision_function_shape="ovo"),
    "forest": RandomForestClassifier(10, random_state=0),
    "Bayes": GaussianNB(),
}


def samples(n_classes, n=90):
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 1.2 * np.eye(n_classes, 3)[y], np.array(["b", "a", "d", "c"])[y]


def labels_of(model, decision):
    if len(model.classes_) == 2:
        assert decision.ndim == 1
        return model.classes_[(decision > 0).astype(int)]
    assert decision.shape[1] == len(model.classes_)
    return model.classes_[decision.argmax(axis=1)]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_the_largest_is_the_label(classifier, n_classes):
    X, y = samples(n_classes)
    new = np.r_[np.random.default_rng(1).normal(scale=3.0, size=(10_000, 3)), X]
    model = NSSE(classifier=classifier).fit(X, y)
    labels = model.predict(new)
    np.testing.assert_array_equal(labels_of(model, model.decision_function(new)), labels)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(new)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], labels)


COMPARED = ["SUPLAP", "MReg", "IsoKRR", "LFDA", "LDE", "NYS", "SPE", "SemiRBF"]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", COMPARED)
def test_of_the_methods_compared_too(name, n_classes):
    X, y = samples(n_classes)
    model = getattr(nsse, name)().fit(X, y)
    n = 500 if name == "SPE" else 10_000  # which takes a millisecond for each
    new = np.random.default_rng(1).normal(scale=2.0, size=(n, 3))
    labels = model.predict(new)
    np.testing.assert_array_equal(labels_of(model, model.decision_function(new)), labels)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(new)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], labels)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_of_a_vote_too(n_classes):
    X, y = samples(n_classes)
    new = np.random.default_rng(1).normal(scale=3.0, size=(10_000, 3))
    search = NSSECV(n_repeats=2).fit(X, y)
    assert len(search.voters_) > 1
    labels, P = search.predict(new), search.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(search.classes_[P.argmax(axis=1)], labels)
    np.testing.assert_array_equal(labels_of(search, search.decision_function(new)), labels)
    n_voters = len(search.voters_)
    told = [voter.predict_proba(new) for voter in search.voters_]
    told = [
        (n_voters * p + 1 / n_classes) / (n_voters + 1) if set(np.unique(p)) == {0.0, 1.0} else p
        for p in told
    ]
    agree = search.classes_[np.mean(told, axis=0).argmax(axis=1)] == labels
    np.testing.assert_allclose(P[agree], np.mean(told, axis=0)[agree], atol=1e-8)


CONTINUOUS = ["scores", "nearest", "3-NN", "4-NN", "centroid", "logistic", "ridge", "linear SVC"]


def jumps(model, X):
    """Whether the decision function makes steps that stay where points are ten times closer."""
    largest = []
    for n in (2_001, 20_001):
        steps = np.linspace(0.0, 1.0, n)[:, np.newaxis]
        ways = np.vstack([(1 - steps) * X[i] + steps * X[j] for i, j in ((0, 1), (2, 3), (4, 8))])
        along = model.decision_function(ways).reshape(3, n, -1)
        largest.append(np.abs(np.diff(along, axis=1)).max())
    return largest[1] > 0.3 * largest[0]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("classifier", CONTINUOUS)
def test_margins_are_continuous(classifier, n_classes):
    X, y = samples(n_classes)
    assert not jumps(NSSE(classifier=CLASSIFIERS[classifier]).fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [3, 4])
def test_those_of_a_vote_are_too(n_classes):
    X, y = samples(n_classes)
    for base in (NSSE(), NSSE(classifier="nearest")):
        search = NSSECV(base, n_repeats=2, n_voters=4).fit(X, y)
        assert len(search.voters_) > 2
        assert not jumps(search, X)


def test_distances_by_hand():
    X, y = samples(3)
    model = NSSE.as_published().fit(X, y)
    new = model.transform(X + 0.2)
    for z, margins in zip(new, model.decision_function(X + 0.2), strict=True):
        for label, margin in zip(model.classes_, margins, strict=True):
            nearest = min(np.linalg.norm(z - own) for own in model.embedding_[y == label])
            assert margin == pytest.approx(-nearest, abs=1e-7)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_votes_of_neighbours_by_hand(k):
    """Shift all distances by the margin, to and fro: that is when a class wins, and no sooner."""
    rng = np.random.default_rng(k)
    codes = np.repeat(np.arange(3), [9, 2, 6])
    Y, z = rng.normal(size=(17, 2)), rng.normal(size=(60, 2))
    margins = vote_of_neighbors(Y, codes, z, 3, k)
    for point, found in zip(z, margins, strict=True):
        lengths = np.linalg.norm(Y - point, axis=1)
        reach = np.sort(lengths)[k - 1 : k + 1].mean()
        for c in range(3):
            sides = [won(lengths, reach, codes, c, found[c] + step) for step in (-1e-6, 1e-6)]
            assert sides == [True, False]


def won(lengths, reach, codes, c, t):
    """Whether c wins where its rows are farther by t, and each single other class nearer by t."""
    own = np.sum(lengths[codes == c] + t <= reach)
    others = {e: np.sum(lengths[codes == e] - t <= reach) for e in set(codes.tolist()) - {c}}
    return all(own > n if e < c else own >= n for e, n in others.items())


@pytest.mark.parametrize(
    "options", [{}, {"n_landmarks": 40}, {"n_landmarks": 40, "landmarks": "random"}]
)
def test_the_temperature_is_near_the_best_of_new_samples(options):
    X, y = load_digits(return_X_y=True)
    model = NSSE(**options).fit(X[:300], y[:300])
    scores = model.decision_function(X[300:])
    np.testing.assert_allclose(
        model.predict_proba(X[300:]), softmax(scores, model.classifier_.temperature), atol=1e-12
    )
    best = min(log_loss(y[300:], softmax(scores, tau)) for tau in np.geomspace(0.01, 1.0, 60))
    found = log_loss(y[300:], model.predict_proba(X[300:]))
    assert found < 1.05 * best
    assert found < log_loss(y[300:], softmax(scores, 1.0)) / 2


def test_copies_are_left_out_with_their_sample():
    """A copy that stays would tell the label of its original, and nothing would be in doubt."""
    X, y = load_digits(return_X_y=True)
    plain = NSSE().fit(X[:150], y[:150]).classifier_.temperature
    copied = NSSE(invariances=nearly_equal).fit(X[:150], y[:150]).classifier_.temperature
    repeated = NSSE().fit(np.repeat(X[:150], 2, axis=0), np.repeat(y[:150], 2)).classifier_.temperature
    assert copied == pytest.approx(plain, rel=0.3)
    assert repeated == pytest.approx(plain, rel=0.3)


@pytest.mark.parametrize("landmarks", ["random", "kmeans"])
def test_with_landmarks_too(landmarks):
    """The temperature of scores of regressions that never saw a sample, its copies and its centres."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:60] / 16.0, y[:60]
    model = NSSE(
        invariances=shifted, n_landmarks=70, landmarks=landmarks, metric="euclidean", mu2=0.3
    ).fit(X, y)
    rows, codes = enlarged(shifted, X), np.repeat(y, 2)
    K = np.exp(-((rows[:, np.newaxis] - model.centers_) ** 2).sum(axis=2) / model.sigma_**2)
    is_centre = (rows[:, np.newaxis] == model.centers_).all(axis=2)
    is_centre &= landmarks == "random"  # a mean is nobody's
    assert is_centre.sum() == (70 if landmarks == "random" else 0)
    nu = 0.3 / (model.mu1 * len(rows) / 10)
    scores = []
    for i in range(len(X)):
        gone = np.arange(len(rows)) // 2 == i
        kept = ~is_centre[gone].any(axis=0)
        scores.append(regressed(K[~gone][:, kept], codes[~gone], K[2 * i, kept], nu))
    expected = fitted_temperature(np.array(scores), y, np.ones(len(y)))
    assert model.classifier_.temperature == pytest.approx(expected, rel=1e-6)


def regressed(K, codes, k, nu):
    """Class indicators less their shares on kernel values alone, at a new sample."""
    assert np.isinf(constant_price(10))
    E = np.eye(10)[codes]
    shares = E.mean(axis=0)
    return shares + k @ np.linalg.solve(K.T @ K + nu * np.eye(len(k)), K.T @ (E - shares))


def shifted(X):
    return [X + 0.05]


def nearly_equal(X):
    return [X + 0.01]
