"""Copies of samples: every transformation against a literal one, in blocks as at once."""

from __future__ import annotations

import pickle

import numpy as np
import oracles_invariances as oracles
import pytest
from scipy import ndimage
from sklearn.base import clone

from nsse.invariances import Enlarged, Images, Noise, Signals, copy_names, enlarged, n_copies_of


def pictures(shape, n=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.2, 0.9, size=(n, int(np.prod(shape))))


@pytest.mark.parametrize("shape", [(5, 7), (7, 4, 3), (1, 6), (2, 2)])
def test_every_view_is_that_of_a_loop_over_pixels(shape):
    X = pictures(shape)
    views = Images(shape, shift=None if 1 in shape else 1, rotate=25, scale=1.3, mirror=True)
    made = views(X)
    assert len(made) == views.n_copies == len(views.names)
    full = shape if len(shape) == 3 else (*shape, 1)
    for place, x in enumerate(X):
        expected = oracles.views(x.reshape(full), 1, 25, 1.3)
        if views.shift is None:  # of those that are not mirrored, and of those that are
            expected = expected[4:9] + expected[13:]
        for copy, view in zip(made, expected, strict=True):
            np.testing.assert_allclose(copy[place], view.ravel(), rtol=0, atol=1e-12)


def test_shifts_of_several_lengths_repeat_the_edge():
    shape = (6, 5)
    X = pictures(shape, n=1)
    made = Images(shape, shift=(1, 3), rotate=None)(X)
    for copies, pixels in ((made[:4], 1), (made[4:], 3)):
        for copy, (d, r) in zip(copies, ((0, -1), (0, 1), (-1, 0), (1, 0)), strict=True):
            expected = oracles.shifted(X.reshape(6, 5, 1), d * pixels, r * pixels)
            np.testing.assert_array_equal(copy, expected.reshape(1, -1))


def test_a_turn_is_that_of_scipy():
    X = pictures((9, 9), n=1)
    left, right = Images((9, 9), shift=None, rotate=17)(X)
    for copy, angle in ((left, 17), (right, -17)):
        expected = ndimage.rotate(X.reshape(9, 9), angle, reshape=False, order=1, mode="nearest")
        np.testing.assert_allclose(copy.reshape(9, 9), expected, atol=1e-12)


def test_brighter_and_darker_go_a_share_of_the_way():
    X = pictures((3, 4))
    brighter, darker = Images((3, 4), shift=None, rotate=None, brightness=0.25)(X)
    for x, up, down in zip(X, brighter, darker, strict=True):
        for value, higher, lower in zip(x, up, down, strict=True):
            assert higher == pytest.approx(value + 0.25 * (max(x) - value))
            assert lower == pytest.approx(value + 0.25 * (min(x) - value))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_no_copy_leaves_the_range_of_its_picture(dtype):
    X = (255 * pictures((8, 9), n=40)).astype(dtype)
    every = Images((8, 9), rotate=(6, 11), scale=1.07, mirror=True, brightness=0.3)
    for copy in every(X):
        assert (copy.max(axis=1) <= X.max(axis=1)).all()
        assert (copy.min(axis=1) >= X.min(axis=1)).all()


def test_a_flat_picture_stays_what_it_is_to_the_bit():
    flat = np.full((1, 42), 0.1)
    for copy in Images((6, 7), rotate=7, scale=1.2, mirror=True, brightness=0.1)(flat):
        np.testing.assert_array_equal(copy, flat)


def test_pixels_that_are_only_moved_keep_their_type():
    X = (255 * pictures((5, 5))).astype(np.uint8)
    assert enlarged(Images((5, 5), rotate=None, mirror=True), X).dtype == np.uint8
    assert enlarged(Images((5, 5)), X).dtype == np.float32
    assert enlarged(Images((5, 5)), X.astype(np.float64)).dtype == np.float64


def test_signals_repeat_their_ends():
    X = np.arange(12.0).reshape(2, 6)
    earlier, later = Signals(shift=2)(X)
    for i in range(2):
        for j in range(6):
            assert earlier[i, j] == X[i, min(j + 2, 5)]
            assert later[i, j] == X[i, max(j - 2, 0)]
    first, _ = Signals(shift=1, channels=2)(X)
    np.testing.assert_array_equal(first, X[:, [2, 3, 4, 5, 4, 5]])


def test_noise_belongs_to_its_sample_and_has_its_scale():
    X = np.random.default_rng(1).normal(size=(400, 30))
    noise = Noise(scale=np.linspace(0.0, 2.0, 30), copies=3, random_state=4)
    made = noise(X)
    for copy, alone in zip(made, noise(X[7:8]), strict=True):
        np.testing.assert_array_equal(copy[7:8], alone)
    spread = np.concatenate([copy - X for copy in made]).std(axis=0)
    np.testing.assert_allclose(spread, np.linspace(0.0, 2.0, 30), rtol=0.1)
    assert not np.array_equal(made[0], Noise(scale=2.0, copies=3, random_state=5)(X)[0])
    between = np.corrcoef((made[0] - X)[0, 1:] / noise.scale[1:], (made[0] - X)[1, 1:] / noise.scale[1:])
    assert abs(between[0, 1]) < 0.6  # another noise for another sample


def test_a_sample_stands_before_its_copies():
    X = pictures((4, 4), n=5)
    views = Images((4, 4), rotate=None, mirror=True)
    E = enlarged(views, X)
    assert E.shape == (5 * 10, 16)
    for i in range(5):
        np.testing.assert_array_equal(E[10 * i], X[i])
        for j, copy in enumerate(views(X), start=1):
            np.testing.assert_array_equal(E[10 * i + j], copy[i])


@pytest.mark.parametrize("views", [Images((4, 5)), Noise(0.1), lambda X: np.stack([X + 1, X * 2])])
def test_rows_made_when_asked_for_are_those_made_at_once(views):
    X = pictures((4, 5), n=1300)
    lazy, E = Enlarged.of(X, views), enlarged(views, X)
    assert (lazy.shape, lazy.dtype, len(lazy)) == (E.shape, E.dtype, len(E))
    for which in (slice(0, 100), slice(17, None, 3), slice(3, 3), np.array([0, 5, len(E) - 1])):
        np.testing.assert_array_equal(lazy[which], E[which])
    some = np.random.default_rng(0).choice(len(E), 700, replace=False)  # in any order
    np.testing.assert_array_equal(lazy[some], E[some])


def test_few_copies_are_held_at_a_time():
    asked = []

    def views(X):
        asked.append(len(X))
        return [X + 1.0]

    Enlarged.of(np.zeros((5000, 2)), views)[:]
    assert max(asked) <= 512


def test_invariances_compare_clone_and_travel():
    views = Images((8, 8), shift=(1, 2), mirror=True)
    assert clone(views) == views == pickle.loads(pickle.dumps(views))
    assert hash(clone(views)) == hash(views)
    assert Images((8, 8)) != views != Signals()
    assert Images([8, 8]) == Images((8, 8))
    assert Noise(np.ones(3)) == Noise(np.ones(3)) != Noise(1.0)
    assert "mirror=True" in repr(views)
    assert views.set_params(shift=1).n_copies == 13


def test_names_say_what_was_done():
    assert Images((3, 3), rotate=6, scale=1.1, brightness=0.2, mirror=True).names[3:12] == (
        "shifted down by 1",
        "turned by +6°",
        "turned by -6°",
        "enlarged by 1.1",
        "shrunk by 1.1",
        "brighter by 0.2",
        "darker by 0.2",
        "mirrored",
        "shifted left by 1, mirrored",
    )
    assert copy_names(lambda X: [X, X], 2) == ("copy 1", "copy 2")
    assert n_copies_of(lambda X: [X, X], 3) == 2
    assert n_copies_of(None, 3) == 0
