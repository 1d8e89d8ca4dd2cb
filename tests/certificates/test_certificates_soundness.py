"""No point within a certified radius gets another label: dense sampling, attacks, both precisions."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from nsse import NSSE, SUPLAP, MReg
from nsse.certificates import Certificate, FunctionSpace, decision_of
from nsse.datasets import load_dataset
from nsse.extensions import ClassScores, GaussianExpansion

SMALL = st.floats(-3, 3, allow_nan=False, width=32)
CLASSIFIERS = {
    "1-NN": lambda: KNeighborsClassifier(1),
    "3-NN": lambda: KNeighborsClassifier(3),
    "centroid": NearestCentroid,
    "linear": lambda: LogisticRegression(C=10.0),
    "scores": ClassScores,
}


class Model:
    """The least that a certificate needs: a classifier of points in the embedding."""

    def __init__(self, classifier, points, labels):
        self.classifier_ = classifier.fit(points, labels)


def around(x, radius, count):
    """Points of the ball: its surface and its inside, in random directions and along the axes."""
    n, rng = len(x), np.random.default_rng(0)
    directions = np.vstack([rng.standard_normal((count, n)), np.eye(n), -np.eye(n)])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    shares = np.concatenate([rng.random(count) ** (1 / n), np.ones(2 * n)])[:, np.newaxis]
    shares[: count // 2] = 1.0
    return x + radius * (1 - 1e-12) * shares * directions


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(CLASSIFIERS)))
def test_dense_samples_of_the_ball_keep_the_label(data, name):
    """Maps with any centres and coefficients, classifiers of any points: not what a fit would give."""
    n, d = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    N, R = data.draw(st.integers(1, 8)), data.draw(st.integers(4, 9))
    f = GaussianExpansion.at(
        data.draw(arrays(float, (N, n), elements=SMALL)),
        data.draw(arrays(float, (N, d), elements=SMALL)),
        data.draw(st.floats(0.05, 20.0)),
    )
    points = data.draw(arrays(float, (R, d), elements=SMALL))
    if name == "centroid":  # which refuses samples that are all the same
        points = points + 0.01 * np.random.default_rng(0).standard_normal(points.shape)
    labels = np.arange(R) % data.draw(st.integers(2, min(4, R - 1)))
    model = Model(CLASSIFIERS[name](), points, labels)
    certificate = Certificate(FunctionSpace.of(f), decision_of(model))
    X = data.draw(arrays(float, (4, n), elements=SMALL))
    radius = certificate.radius(f(X))
    predicted = model.classifier_.predict(f(X))
    assert not np.isnan(radius).any()
    nearby = [around(x, min(r, 1e6), 400) for x, r in zip(X, radius, strict=True)]
    labels_nearby = model.classifier_.predict(f(np.vstack(nearby))).reshape(4, -1)
    assert np.all(labels_nearby == predicted[:, np.newaxis])


def test_on_a_line_the_whole_interval_keeps_its_label():
    """One feature: a fine grid leaves nothing unseen, and the radius is within reach of the truth."""
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(0, 6, 24))[:, np.newaxis]
    y = (X[:, 0] > 2).astype(int) + (X[:, 0] > 4)
    model = NSSE.as_published(sigma=0.5).fit(X, y)
    grid = np.linspace(-1, 7, 40_001)[:, np.newaxis]
    labels = model.predict(grid)
    radius = model.certified_radius(X)
    changes = grid[:-1][labels[1:] != labels[:-1], 0]
    truth = np.abs(X - changes).min(axis=1)
    assert np.all(radius <= truth + 2e-4)
    assert np.median(radius / truth) > 0.3


def attacked(model, X, radius, steps=12):
    """Whether labels change on the way to the nearest rival, by finite differences, from two starts."""
    decision = decision_of(model)
    labels = model.predict(X)
    own = decision.codes == np.searchsorted(decision.classes, labels)[:, np.newaxis]
    changed = np.zeros(len(X), dtype=bool)

    def lead(points):
        scores = model.expansion_(points) @ decision.weights.T + decision.offsets
        return np.where(own, -np.inf, scores).max(axis=1) - np.where(own, scores, -np.inf).max(axis=1)

    for start in range(2):
        step = start * np.random.default_rng(0).standard_normal(X.shape)
        step *= radius[:, np.newaxis] / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300)
        moved = X + step
        h = 1e-5
        for k in range(steps):
            slope = np.stack(
                [lead(moved + h * e) - lead(moved - h * e) for e in np.eye(X.shape[1])], axis=1
            )
            slope /= np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300)
            change = moved + 2 * radius[:, np.newaxis] / (1 + k) * slope - X
            length = np.linalg.norm(change, axis=1)
            change *= (radius / np.maximum(length, radius) * (1 - 1e-9))[:, np.newaxis]
            moved = X + change
            changed |= model.predict(moved) != labels
    return changed


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        NSSE.as_published(),
        NSSE.as_published(n_components=2),
        NSSE.as_published(classifier=KNeighborsClassifier(5)),
        NSSE.as_published(classifier=NearestCentroid()),
        NSSE.as_published(classifier=LogisticRegression(C=1e3)),
        NSSE.as_published(classifier="scores"),
        NSSE.as_published(mu2=1.0, normalization="classes", classifier="scores", embedding_scale="unit"),
        SUPLAP(n_neighbors_between=8),
        MReg(),
    ],
    ids=repr,
)
def test_attacks_fail_inside_and_succeed_outside(method, make_blobs):
    data = make_blobs((12, 12, 12), n_features=6, spread=1.5)
    model = method.fit(data.X, data.codes)
    X = make_blobs((40, 40, 40), n_features=6, spread=1.5).X[::4]
    radius = model.certified_radius(X)
    for share in (0.5, 1.0):
        assert not attacked(model, X, share * radius).any()
    assert attacked(model, X[radius > 0], 4 * radius[radius > 0]).mean() > 0.3


@pytest.mark.parametrize(
    "method",
    [MReg(gamma_A=1e-12, sigma=20.0), SUPLAP(n_neighbors_between=8, sigma=10.0, ridge=1e-13)],
    ids=repr,
)
def test_ill_conditioned_maps_keep_their_labels(method, make_blobs):
    """Coefficients of 10⁸ that cancel: little is certain, and that little holds."""
    data = make_blobs((12, 12, 12), n_features=6, spread=1.5)
    model = method.fit(data.X, data.codes)
    assert np.abs(model.coef_).sum() > 1e7
    X = make_blobs((40, 40, 40), n_features=6, spread=1.5).X[::3]
    radius = model.certified_radius(X)
    assert np.median(radius) > 0
    assert not attacked(model, X, radius).any()


def test_single_precision_keeps_its_labels(make_blobs):
    """Perturbed samples in float32, whose embeddings are rounded to it before they are classified."""
    data = make_blobs((15, 15, 15), n_features=3)
    model = NSSE.as_published().fit(data.X.astype(np.float32), data.codes)
    X = data.X.astype(np.float32) + np.float32(0.3)
    radius = model.certified_radius(X)
    labels = model.predict(X)
    assert np.median(radius) > 0.01
    for x, r, label in zip(X, radius, labels, strict=True):
        nearby = around(x.astype(float), r, 200).astype(np.float32)
        inside = np.linalg.norm(nearby.astype(float) - x.astype(float), axis=1) <= r
        assert np.all(model.predict(nearby[inside]) == label)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "orl"])
def test_real_images_keep_their_labels(name, request):
    if name == "orl":
        request.getfixturevalue("nsse_data")
        pytest.importorskip("PIL")
    data = load_dataset(name, size=(8, 8))
    size = 5 * len(np.unique(data.y))
    train, test = next(StratifiedShuffleSplit(1, train_size=size, random_state=0).split(data.X, data.y))
    model = NSSE.as_published().fit(data.X[train], data.y[train])
    X = data.X[test][:30]
    radius = model.certified_radius(X)
    assert np.median(radius) > 0.05
    assert not attacked(model, X, radius, steps=5).any()
    assert attacked(model, X, 4 * radius, steps=5).mean() > 0.3
