"""The picture is true: positions, counts and words follow from the frame."""

import numpy as np
import pytest

from nsse.report import class_colors, embedding_figure, polygon_view
from nsse.report.palette import ink_on, relative_luminance

RNG = np.random.default_rng(0)
N_CLASSES = 5
SIMPLEX = np.eye(N_CLASSES) @ RNG.normal(size=(N_CLASSES, N_CLASSES - 1))
LABELS = np.repeat(np.arange(N_CLASSES), 6)
TEST_LABELS = np.repeat(np.arange(N_CLASSES), 4)
for array in (SIMPLEX, LABELS, TEST_LABELS):
    array.flags.writeable = False


def some_view(name="toy", predicted=None, **arguments):
    noise = 0.1 * np.random.default_rng(1).normal(size=(20, N_CLASSES - 1))
    test = SIMPLEX[TEST_LABELS] + noise
    return polygon_view(name, SIMPLEX[LABELS], LABELS, test, TEST_LABELS, predicted, **arguments)


def two_mistakes():
    predicted = TEST_LABELS.copy()
    predicted[[3, 17]] = 2, 0
    return predicted


def test_collapsed_classes_land_on_the_corners_of_a_regular_polygon():
    view = some_view()
    np.testing.assert_allclose(view.train, view.corners[LABELS], atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(view.corners, axis=1), 1)
    np.testing.assert_allclose(view.corners[0], [0, 1], atol=1e-12)
    sides = np.linalg.norm(view.corners - np.roll(view.corners, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, sides[0])


def test_two_classes_lie_across_and_heights_only_keep_points_apart():
    """On a line points hide each other: places across are those of the embedding, heights are free."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], (60, 40))
    Y = labels[:, np.newaxis] + 0.2 * rng.standard_normal((100, 1))
    view = polygon_view("NSSE", Y[::2], labels[::2], Y[1::2], labels[1::2], labels[1::2])
    np.testing.assert_allclose(view.corners, [[-1, 0], [1, 0]])
    for places, coordinate in ((view.train, Y[::2]), (view.test, Y[1::2])):
        slope, *_ = np.polyfit(coordinate[:, 0], places[:, 0], 1, full=False)
        np.testing.assert_allclose(np.ptp(places[:, 0]), slope * np.ptp(coordinate), rtol=1e-9)
    heights = np.concatenate([view.train[:, 1], view.test[:, 1]])
    codes = np.concatenate([view.train_codes, view.test_codes])
    assert heights[codes == 0].min() > 0 > heights[codes == 1].max()
    for code in (0, 1):  # all of a band is used, where the class is densest
        assert 0.3 < np.ptp(heights[codes == code]) <= 0.8
    figure = embedding_figure(view)
    assert any("Heights mean nothing" in text.get_text() for text in figure.texts)
    three = polygon_view("NSSE", np.eye(3), [0, 1, 2])
    assert not any("Heights" in text.get_text() for text in embedding_figure(three).texts)


def test_a_sample_between_two_classes_lands_between_their_corners():
    between = 0.25 * SIMPLEX[1] + 0.75 * SIMPLEX[4]
    view = polygon_view("toy", SIMPLEX[LABELS], LABELS, [between], [4])
    np.testing.assert_allclose(view.test[0], 0.25 * view.corners[1] + 0.75 * view.corners[4], atol=1e-10)


def test_view_minimises_its_objective_and_ignores_units_shift_and_rotation():
    Y = SIMPLEX[LABELS] + RNG.normal(size=(30, 4))
    view = polygon_view("toy", Y, LABELS)
    with_ones = np.column_stack([Y, np.ones(30)])
    normal = np.linalg.solve(with_ones.T @ with_ones, with_ones.T @ view.corners[LABELS])
    np.testing.assert_allclose(view.train, with_ones @ normal, atol=1e-10)
    rotation, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
    moved = polygon_view("toy", 1e-5 * Y @ rotation + 3, LABELS)
    np.testing.assert_allclose(moved.train, view.train, atol=1e-6)


def artists(figure):
    return {dots.get_gid(): dots for axes in figure.axes for dots in axes.collections}


def words_of(figure):
    texts = [text.get_text() for text in figure.texts]
    return texts + [text.get_text() for axes in figure.axes for text in axes.texts]


def test_every_sample_is_drawn_once_in_its_colour():
    from matplotlib.colors import to_hex

    view = some_view(predicted=two_mistakes())
    drawn = artists(embedding_figure(view, [some_view("other")]))
    counts = {name: len(dots.get_offsets()) for name, dots in drawn.items()}
    assert counts == {
        "toy-train": 30,
        "toy-test": 20,
        "toy-wrong": 2,
        "other-train": 30,
        "other-test": 20,
        "other-wrong": 0,
    }
    np.testing.assert_allclose(drawn["toy-wrong"].get_offsets(), view.test[[3, 17]])
    colors = [to_hex(color) for color in drawn["toy-test"].get_facecolors()]
    assert colors == [class_colors(N_CLASSES)[label] for label in TEST_LABELS]


def test_title_states_the_true_number_and_mistakes_are_shown():
    images = RNG.random((20, 8, 8))
    figure = embedding_figure(some_view(predicted=two_mistakes()), images=images, noun="digits")
    words = words_of(figure)
    assert "toy mislabels 2 of 20 unseen digits (10.0 %)" in words
    assert "The 2 mislabelled, true → predicted" in words
    shown = [axes for axes in figure.axes if axes.images]
    assert [axes.get_xlabel() for axes in shown] == ["0 → 2", "4 → 0"]
    np.testing.assert_array_equal(shown[1].images[0].get_array(), images[17])


# Machado, Oliveira and Fernandes (2009), severity 1.


@pytest.mark.parametrize("n_classes", [2, 10, 11, 20, 38, 100])
def test_colours_are_all_different_and_their_text_reads(n_classes):
    colors = class_colors(n_classes)
    assert len(set(colors)) == len(colors) == n_classes
    for color in colors:
        dark, light = sorted(relative_luminance(tone) for tone in (color, ink_on(color)))
        assert (light + 0.05) / (dark + 0.05) > 3  # WCAG 2 for large, bold text
