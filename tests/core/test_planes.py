"""The plane: corners of a polygon weighted by probabilities, confused classes side by side."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from nsse import SmoothEmbedding
from nsse.planes import Plane, confusions, ring


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
    plane = Plane.of_confusions(random_confusions(5, 0))
    np.testing.assert_allclose(plane(np.eye(5)), plane.corners, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(plane.corners, axis=1), 1.0)
    np.testing.assert_allclose(plane(np.full((1, 5), 0.2)), 0.0, atol=1e-12)
    half = np.array([[0.5, 0.5, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(plane(half)[0], plane.corners[:2].mean(axis=0), atol=1e-12)
    tiny = np.array([[1e-200, 1e-220, 1e-210, 0.0, 1e-300]])  # no power of these underflows to 0/0
    np.testing.assert_allclose(plane(tiny)[0], plane.corners[0], atol=1e-5)


def test_confused_digits_stand_side_by_side_and_neighbours_in_the_plane_are_right():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:300], order[300:]
    model = SmoothEmbedding().fit(X[train], y[train])
    found = confusions(model)
    np.testing.assert_allclose(found, found.T)
    corners = model.plane(X[train])
    right = KNeighborsClassifier(5).fit(corners, y[train]).score(model.plane(X[new]), y[new])
    assert right > 0.93
    one_by_one = np.vstack([model.plane(row[np.newaxis]) for row in X[new[:5]]])
    np.testing.assert_allclose(one_by_one, model.plane(X[new[:5]]), atol=1e-12)
