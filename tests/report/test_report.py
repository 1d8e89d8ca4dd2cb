"""The picture is true: positions, counts and words follow from the frame."""

from io import BytesIO

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.methods import LFDA
from nsse.planes import Plane
from nsse.report import PolygonView, class_colors, embedding_figure, polygon_view
from nsse.report.embedding_plot import draw_view
from nsse.report.palette import ink_on, relative_luminance

N_CLASSES = 5


def certain(labels, n_classes=N_CLASSES, share=1.0):
    """Probabilities of samples that are all but certain of their labels."""
    P = np.full((len(labels), n_classes), (1.0 - share) / (n_classes - 1))
    P[np.arange(len(labels)), labels] = share
    return P


LABELS = np.repeat(np.arange(N_CLASSES), 6)
TEST_LABELS = np.repeat(np.arange(N_CLASSES), 4)


def some_view(predicted=None, names=None, n_classes=N_CLASSES):
    plane = Plane.of_confusions(np.zeros((n_classes, n_classes)))
    labels, test = np.repeat(np.arange(n_classes), 6), np.repeat(np.arange(n_classes), 4)
    names = np.arange(n_classes) if names is None else np.array(names, dtype=object)
    places = plane(certain(labels, n_classes)), plane(certain(test, n_classes, 0.8))
    corners = plane.corners, plane.sharpness
    return PolygonView(
        "toy", n_classes - 1, names, *corners, places[0], labels, places[1], test, predicted
    )


def two_mistakes():
    predicted = TEST_LABELS.copy()
    predicted[[3, 17]] = 2, 0
    return predicted


def test_the_view_is_the_plane_of_the_model():
    X, y = load_digits(return_X_y=True)
    model = SmoothEmbedding().fit(X[::9], y[::9])
    view = polygon_view(model, X[1::9], y[1::9])
    np.testing.assert_allclose(view.train, model.plane(X[::9]), atol=1e-9)
    np.testing.assert_allclose(view.test, model.plane(X[1::9]), atol=1e-12)
    np.testing.assert_array_equal(view.wrong, np.flatnonzero(model.predict(X[1::9]) != y[1::9]))
    np.testing.assert_array_equal(view.train_codes, y[::9])


def test_a_pipeline_a_vote_and_a_model_with_few_centres_have_a_view(make_blobs):
    data = make_blobs((40, 30, 30, 30), n_features=6)
    scaled = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.X, data.codes)
    np.testing.assert_allclose(
        polygon_view(scaled, data.X).test, nsse.planes.plane(scaled, data.X), atol=1e-12
    )
    search = SmoothEmbeddingCV(n_voters=2, grid={"sigma": [0.5, 1.0]}).fit(data.X, data.codes)
    view = polygon_view(search, data.X)
    np.testing.assert_allclose(view.train, view.test, atol=1e-6)  # by the vote, both
    few = SmoothEmbedding(n_components=2, centers=20).fit(data.X, data.codes)
    places = polygon_view(few).train
    assert places.shape == (130, 2)
    assert np.linalg.norm(places - few.plane(data.X), axis=1).max() < 1.0
    for model in (NSSE(), LFDA()):
        model.fit(data.X, data.codes)
        np.testing.assert_allclose(polygon_view(model).train, model.plane(data.X), atol=1e-6)


def test_two_classes_lie_across_and_heights_only_keep_points_apart(make_blobs):
    """On a line points hide each other: places across are those of the plane, heights are free."""
    data = make_blobs((60, 40), n_features=3, spread=1.5)
    model = SmoothEmbedding().fit(data.X[::2], data.codes[::2])
    view = polygon_view(model, data.X[1::2], data.codes[1::2])
    np.testing.assert_allclose(view.corners, [[-1, 0], [1, 0]])
    np.testing.assert_allclose(view.test[:, 0], model.plane(data.X[1::2])[:, 0])
    heights = np.concatenate([view.train[:, 1], view.test[:, 1]])
    codes = np.concatenate([view.train_codes, view.test_codes])
    assert heights[codes == 0].min() > 0 > heights[codes == 1].max()
    for code in (0, 1):  # all of a band is used, where the class is densest
        assert 0.3 < np.ptp(heights[codes == code]) <= 0.8
    figure = embedding_figure(view)
    assert any("Heights mean nothing" in text.get_text() for text in figure.texts)
    assert not any("Heights" in text.get_text() for text in embedding_figure(some_view()).texts)


MANY = [pytest.param(n, marks=pytest.mark.slow) for n in (2, 10, 15, 50, 150, 400)]
LONG = "{}th class of a very long name that nobody can shorten"


@pytest.mark.parametrize("n_classes", [3, 16, *MANY])
@pytest.mark.parametrize("name", ["{}", LONG], ids=["short", "long"])
@pytest.mark.parametrize("axes", [None, (4.0, 4.0), (3.0, 5.0)], ids=str)
def test_every_name_is_readable_or_absent(n_classes, name, axes):
    from matplotlib.figure import Figure

    view = some_view(names=[name.format(k) for k in range(n_classes)], n_classes=n_classes)
    if axes is None:
        figure = embedding_figure(view)
    else:
        figure = Figure(figsize=axes)
        draw_view(figure.add_axes((0.05, 0.05, 0.9, 0.9)), view, size=0.7)
    drawn = figure.axes[0]
    figure.canvas.draw() if axes is None else figure.savefig(BytesIO())
    texts = [text for text in drawn.texts if text.get_gid() == "class-name"]
    boxes = [text.get_window_extent() for text in texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k]), texts[k].get_text()
    assert min(text.get_fontsize() for text in texts) >= 6.5
    if n_classes <= 50 and axes is None:
        assert len(texts) == n_classes
    assert len(texts) >= min(n_classes, 40)
    if n_classes > 2:  # of two, names have half of the picture each
        inside = figure.bbox.padded(1.0)
        assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in boxes)
        assert all(inside.y0 <= box.y0 and box.y1 <= inside.y1 for box in boxes)


def test_the_marks_of_classes_with_like_colours_have_other_shapes():
    figure = embedding_figure(some_view(n_classes=25))
    marks = [dots for dots in figure.axes[0].collections if dots.get_gid() == "toy-train"]
    assert [len(dots.get_offsets()) for dots in marks] == [60, 60, 30]
    assert len({dots.get_paths()[0].vertices.tobytes() for dots in marks}) == 3


def artists(figure):
    return {dots.get_gid(): dots for axes in figure.axes for dots in axes.collections}


def words_of(figure):
    texts = [text.get_text() for text in figure.texts]
    return texts + [text.get_text() for axes in figure.axes for text in axes.texts]


def test_every_sample_is_drawn_once_in_its_colour():
    from matplotlib.colors import to_hex

    view = some_view(predicted=two_mistakes())
    drawn = artists(embedding_figure(view))
    counts = {name: len(dots.get_offsets()) for name, dots in drawn.items()}
    assert counts == {"toy-train": 30, "toy-test": 20, "toy-wrong": 2}
    np.testing.assert_allclose(drawn["toy-wrong"].get_offsets(), view.test[[3, 17]])
    colors = [to_hex(color) for color in drawn["toy-test"].get_facecolors()]
    assert colors == [class_colors(N_CLASSES)[label] for label in TEST_LABELS]


def test_title_states_the_true_number():
    figure = embedding_figure(some_view(predicted=two_mistakes()), noun="digits")
    assert "toy mislabels 2 of 20 unseen digits (10.0 %)" in words_of(figure)


# Machado, Oliveira and Fernandes (2009), severity 1.


@pytest.mark.parametrize("n_classes", [2, 10, 11, 20, 38, 100])
def test_colours_are_all_different_and_their_text_reads(n_classes):
    colors = class_colors(n_classes)
    assert len(set(colors)) == len(colors) == n_classes
    for color in colors:
        dark, light = sorted(relative_luminance(tone) for tone in (color, ink_on(color)))
        assert (light + 0.05) / (dark + 0.05) > 3  # WCAG 2 for large, bold text
