"""Class maps: means of corners weighted by probabilities, with confused classes as neighbors."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nsse import SmoothEmbedding
from nsse.class_maps import MOST_LABELS, ClassMap, confusions, confusions_left_out, ring


def random_confusions(n_classes, seed):
    S = np.random.default_rng(seed).random((n_classes, n_classes))
    S = S + S.T
    np.fill_diagonal(S, 0.0)
    return S


@pytest.mark.parametrize("n_classes", [2, 3, 5, 7])
def test_the_ring_is_close_to_the_best_of_all_rings(n_classes):
    for seed in range(10):
        S = random_confusions(n_classes, seed)
        order = ring(S)
        assert sorted(order) == list(range(n_classes))
        assert order[0] == 0
        rings = ([0, *rest] for rest in permutations(range(1, n_classes)))
        best = max(S[each, np.roll(each, -1)].sum() for each in rings)
        assert S[order, np.roll(order, -1)].sum() > 0.95 * best


def test_a_ring_that_is_confused_as_a_ring_is_found_whatever_the_names():
    places = np.random.default_rng(0).permutation(40)
    apart = np.abs(places[:, np.newaxis] - places)
    S = np.exp(-np.minimum(apart, 40 - apart))
    np.fill_diagonal(S, 0.0)
    order = places[ring(S)]
    assert set(np.abs(np.diff(order))) <= {1, 39}


def test_places_are_means_of_corners_and_corners_a_regular_polygon():
    plane = ClassMap.of_confusions(random_confusions(5, 0))
    np.testing.assert_allclose(plane(np.eye(5)), plane.corners, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(plane.corners, axis=1), 1.0)
    np.testing.assert_allclose(plane(np.full((1, 5), 0.2)), 0.0, atol=1e-12)
    half = np.array([[0.5, 0.5, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(plane(half)[0], plane.corners[:2].mean(axis=0), atol=1e-12)
    tiny = np.array([[1e-200, 1e-220, 1e-210, 0.0, 1e-300]])  # no power of these underflows to 0/0
    np.testing.assert_allclose(plane(tiny)[0], plane.corners[0], atol=1e-5)


def test_confusions_are_those_of_left_out_samples():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:300], order[300:]
    model = SmoothEmbedding().fit(X[train], y[train])
    found = confusions_left_out(model)
    np.testing.assert_allclose(found, found.T)
    P = model.predict_proba(X[new])
    unseen = np.array([P[y[new] == digit].mean(axis=0) for digit in range(10)])
    off = ~np.eye(10, dtype=bool)
    assert np.corrcoef(found[off], (unseen + unseen.T)[off])[0, 1] > 0.4
    # Samples that the model was fitted to are confused less.
    fitted = confusions(model.predict_proba(X[train]), y[train])
    assert found.sum() > 1.5 * fitted.sum()


@pytest.mark.parametrize("n_classes", range(3, MOST_LABELS + 1))
def test_labels_of_a_column_are_a_gap_apart_and_outside_of_the_polygon(n_classes):
    placed = ClassMap.of_confusions(random_confusions(n_classes, 0))
    x, y, side = placed.labels.T
    assert set(side) == {-1.0, 1.0}
    for own in (side < 0, side > 0):
        heights = np.sort(y[own])
        assert np.all(np.diff(heights) >= placed.label_gap - 1e-9)
    assert np.all(np.hypot(x, y) > 1.05)
    assert np.abs(y).max() < 1.3
