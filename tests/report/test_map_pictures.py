"""Maps of samples: positions, counts and titles follow from the model, and every label is readable."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import nsse
from nsse import NSSE, SmoothEmbedding
from nsse.methods import LFDA
from nsse.palette import class_colors, ink_on, relative_luminance
from nsse.unlabeled import LabelPropagation

X, Y = load_digits(return_X_y=True)
TRAIN, NEW = np.arange(0, 1797, 7), np.arange(1, 1797, 5)
NEW = np.setdiff1d(NEW, TRAIN)


@pytest.fixture(scope="module")
def digits_model():
    return SmoothEmbedding().fit(X[TRAIN], Y[TRAIN])


def title_of(plot):
    return plot.figure.texts[0].get_text()


def sentence_of(plot):
    return " ".join(" ".join(text.get_text() for text in plot.figure.texts[1:]).split())


def drawn(plot, kind):
    """Return the places of the marks of a kind."""
    marks = [m.get_offsets() for m in plot.figure.axes[0].collections if m.get_gid() == kind]
    return np.vstack(marks) if marks else np.empty((0, 2))


def rows_of(frame, kind):
    return frame[frame["set"] == kind].reset_index(drop=True)


def test_a_class_map_places_new_samples_by_their_probabilities_alone(digits_model):
    """Means of corners weighted by probabilities to the power 0.6, the same alone or together."""
    frame = rows_of(nsse.plot.class_map(digits_model, X[NEW], Y[NEW]).frame, "new")
    P = digits_model.predict_proba(X[NEW]) ** 0.6
    weights = P / P.sum(axis=1, keepdims=True)
    places = frame[["x", "y"]].to_numpy()
    corners = np.linalg.lstsq(weights, places, rcond=None)[0]
    np.testing.assert_allclose(weights @ corners, places, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1.0)
    for row in (0, 100, 200):
        alone = rows_of(nsse.plot.class_map(digits_model, X[NEW[[row]]]).frame, "new")
        np.testing.assert_allclose(alone[["x", "y"]].to_numpy()[0], places[row], atol=1e-9)
    np.testing.assert_allclose(frame["probability"], digits_model.predict_proba(X[NEW]).max(axis=1))
    right = KNeighborsClassifier(5).fit(places[::2], Y[NEW][::2]).score(places[1::2], Y[NEW][1::2])
    assert right > 0.9


@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(max_iter=2000), LinearDiscriminantAnalysis(), KNeighborsClassifier()],
    ids=lambda classifier: type(classifier).__name__,
)
@pytest.mark.parametrize(
    "wrap", [lambda model: model, lambda model: make_pipeline(StandardScaler(), model)]
)
def test_any_classifier_with_probabilities_has_a_class_map(classifier, wrap):
    model = wrap(classifier).fit(X[TRAIN], Y[TRAIN])
    plot = nsse.plot.class_map(model, X[NEW], Y[NEW])
    wrong = int((model.predict(X[NEW]) != Y[NEW]).sum())
    share = 100 * wrong / len(NEW)
    name = type(classifier).__name__
    assert title_of(plot) == f"{name} mislabels {wrong} of {len(NEW)} samples ({share:.1f} %)"
    assert "RadViz" in sentence_of(plot)
    assert "training" not in sentence_of(plot)
    assert set(plot.frame["set"]) == {"given"}
    assert len(drawn(plot, "wrong")) == wrong
    with pytest.raises(ValueError, match="`X` must be given for this model"):
        nsse.plot.class_map(model)


def test_a_model_without_probabilities_has_no_class_map():
    with pytest.raises(
        TypeError, match=r"`classifier` must have the method predict_proba. Got 'LinearSVC'"
    ):
        nsse.plot.class_map(LinearSVC().fit(X[TRAIN], Y[TRAIN]), X)


def test_training_samples_are_recognized_and_drawn_where_the_model_without_them_puts_them(digits_model):
    """The reference refits without one sample at a time and uses public methods alone."""
    some = [3, 50, 120, 200]
    whole = nsse.plot.embedding(digits_model).frame
    for row in some:
        rest = np.delete(TRAIN, row)
        without = SmoothEmbedding().fit(X[rest], Y[rest])
        f = whole.iloc[row][[f"y{k}" for k in range(1, 10)]].to_numpy(dtype=float)
        # Coordinates of another fit are rotated. Inner products of scores do not change.
        own, others = without.transform(X[TRAIN[[row]]])[0], without.transform(X[rest[::20]])
        np.testing.assert_allclose(np.linalg.norm(f), np.linalg.norm(own), rtol=0.05)
        near = KNeighborsClassifier(1).fit(others, Y[rest[::20]]).predict(own[np.newaxis])[0]
        mapped = digits_model.transform(X[rest[::20]])
        assert KNeighborsClassifier(1).fit(mapped, Y[rest[::20]]).predict(f[np.newaxis])[0] == near
    np.testing.assert_allclose(whole[[f"y{k}" for k in range(1, 10)]], digits_model.left_out_embedding_)


def test_titles_state_which_samples_are_shown(digits_model):
    left_out = digits_model.scores_.predict(digits_model.left_out_embedding_)
    wrong = int((left_out != Y[TRAIN]).sum())
    assert wrong > 0
    n = len(TRAIN)
    expected = f"SmoothEmbedding mislabels {wrong} of {n} training samples, each left out"
    expected += f" ({100 * wrong / n:.1f} %)"
    for plot in (digits_model.plot(X[TRAIN], Y[TRAIN]), digits_model.plot()):
        assert title_of(plot) == expected
        assert set(plot.frame["set"]) == {"training"}
        assert len(plot.frame) == n
        np.testing.assert_array_equal(plot.frame["predicted"], left_out)
        assert len(drawn(plot, "wrong")) == wrong
        assert "Each training sample is placed by the model without it." in sentence_of(plot)
    new = digits_model.plot(X[NEW], Y[NEW])
    mistakes = int((digits_model.predict(X[NEW]) != Y[NEW]).sum())
    assert title_of(new).startswith(f"SmoothEmbedding mislabels {mistakes} of {len(NEW)} new samples (")
    assert f"{len(NEW)} new samples and {n} training samples." in sentence_of(new)
    both = digits_model.plot(X[np.r_[TRAIN[:40], NEW]], Y[np.r_[TRAIN[:40], NEW]])
    assert title_of(both) == title_of(new)
    assert "40 of the given samples are training samples." in sentence_of(both)
    assert both.frame["set"].value_counts().to_dict() == {"training": n, "new": len(NEW)}


def test_some_training_samples_alone_are_drawn_alone_in_their_order(digits_model):
    some = TRAIN[[5, 2, 90]]
    frame = digits_model.plot(X[some], Y[some]).frame
    whole = digits_model.plot().frame
    np.testing.assert_allclose(frame[["x", "y"]], whole.iloc[[5, 2, 90]][["x", "y"]])
    assert frame["label"].tolist() == Y[some].tolist()


def test_a_model_without_left_out_positions_says_so():
    data = load_iris()
    for model in (NSSE(), LFDA()):
        plot = model.fit(data.data[::3], data.target[::3]).plot()
        assert title_of(plot) == "Class map of 50 training samples"
        assert "placed by the model that was fitted to them" in sentence_of(plot)
        frame = nsse.plot.embedding(model, data.data[::3], data.target[::3]).frame
        coordinates = frame[[f"y{k + 1}" for k in range(model.embedding_.shape[1])]]
        np.testing.assert_allclose(coordinates, model.embedding_)


def test_unlabeled_training_samples_are_not_counted():
    y = Y[TRAIN].copy()
    y[::2] = -1
    model = SmoothEmbedding(unlabeled=LabelPropagation()).fit(X[TRAIN], y)
    plot = model.plot()
    assert f"of {np.sum(y >= 0)} training samples, each left out" in title_of(plot)
    assert plot.frame["label"].isna().sum() == np.sum(y < 0)


def test_samples_through_a_pipeline_and_without_labels():
    data = load_iris()
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.data[::3], data.target[::3])
    plot = nsse.plot.class_map(model, data.data)
    assert title_of(plot) == "Class map of 100 new samples and 50 training samples"
    assert "50 of the given samples are training samples." in sentence_of(plot)
    assert "have the color of their predicted class" in sentence_of(plot)
    new = rows_of(plot.frame, "new")
    assert new["label"].isna().all()
    unseen = np.setdiff1d(np.arange(150), np.arange(0, 150, 3))
    np.testing.assert_array_equal(new["predicted"], model.predict(data.data[unseen]))


def test_labels_must_belong_to_the_samples_and_to_the_classes(digits_model):
    with pytest.raises(ValueError, match=r"`y` must contain one label per sample of X. Got \(5,\)"):
        digits_model.plot(X[NEW], Y[:5])
    with pytest.raises(ValueError, match=r"`y` must contain only classes of the model. Got \[77\]"):
        digits_model.plot(X[NEW], np.where(Y[NEW] == 3, 77, Y[NEW]))


def test_an_embedding_shows_coordinates_or_a_plane_that_separates(digits_model):
    F = digits_model.transform(X[NEW])
    pair = nsse.plot.embedding(digits_model, X[NEW], Y[NEW], coordinates=(2, 0))
    np.testing.assert_allclose(rows_of(pair.frame, "new")[["x", "y"]], F[:, [2, 0]])
    assert title_of(pair).startswith("Coordinates 3 and 1 of 9: SmoothEmbedding mislabels")
    plot = nsse.plot.embedding(digits_model, X[NEW], Y[NEW])
    assert title_of(plot).startswith("Linear projection of 9 coordinates: SmoothEmbedding mislabels")
    places = rows_of(plot.frame, "new")[["x", "y"]].to_numpy()
    # The projection is linear and orthonormal.
    T = np.linalg.lstsq(F, places, rcond=None)[0]
    np.testing.assert_allclose(F @ T, places, atol=1e-9)
    np.testing.assert_allclose(T.T @ T, np.eye(2), atol=1e-9)

    def right(A):
        return KNeighborsClassifier(5).fit(A[::2], Y[NEW][::2]).score(A[1::2], Y[NEW][1::2])

    assert right(places) > right(F[:, :2])
    for wrong in ((0, 9), 1, (1,), (0, 1, 2), ("a", "b")):
        with pytest.raises(ValueError, match="`coordinates` must be two numbers from 0 to 8"):
            nsse.plot.embedding(digits_model, X[NEW], coordinates=wrong)


def test_few_components_do_not_count_mistakes_that_they_cannot_show():
    model = SmoothEmbedding(n_components=2).fit(X[TRAIN], Y[TRAIN])
    assert title_of(model.plot()) == f"Class map of {len(TRAIN)} training samples"
    plot = nsse.plot.embedding(model)
    assert title_of(plot) == f"Coordinates 1 and 2 of 2: embedding of {len(TRAIN)} training samples"
    np.testing.assert_allclose(plot.frame[["x", "y"]], model.left_out_embedding_)
    wrong = (model.predict(X[NEW]) != Y[NEW]).sum()
    assert f"mislabels {wrong} of {len(NEW)} new samples" in title_of(model.plot(X[NEW], Y[NEW]))


def test_a_transformer_without_predictions_has_no_mistakes():
    plot = nsse.plot.embedding(PCA(3).fit(X[TRAIN]), X[NEW], Y[NEW])
    assert title_of(plot) == f"Linear projection of 3 coordinates: embedding of {len(NEW)} samples"
    assert len(drawn(plot, "wrong")) == 0
    with pytest.raises(TypeError, match="`model` must have the method transform"):
        nsse.plot.embedding(LogisticRegression(max_iter=2000).fit(X[TRAIN], Y[TRAIN]), X)


def test_one_sample_is_called_one_sample(digits_model):
    assert "of 1 new sample (" in title_of(digits_model.plot(X[NEW[:1]], Y[NEW[:1]]))
    assert "of 1 training sample, each left out" in title_of(
        digits_model.plot(X[TRAIN[:1]], Y[TRAIN[:1]])
    )


def test_an_embedding_of_another_library_is_drawn_too():
    model = LinearDiscriminantAnalysis().fit(X[TRAIN], Y[TRAIN])
    plot = nsse.plot.embedding(model, X[NEW], Y[NEW])
    np.testing.assert_allclose(plot.frame[["y1", "y2"]], model.transform(X[NEW])[:, :2])
    assert "LinearDiscriminantAnalysis mislabels" in title_of(plot)


def test_two_classes_lie_across_and_labels_do_not_cover_samples(make_blobs):
    data = make_blobs((60, 40), n_features=3, spread=1.5)
    model = SmoothEmbedding().fit(data.X[::2], data.codes[::2])
    plot = model.plot(data.X[1::2], data.codes[1::2])
    q = model.predict_proba(data.X[1::2]) ** 0.6
    across = (q[:, 1] - q[:, 0]) / q.sum(axis=1)
    np.testing.assert_allclose(rows_of(plot.frame, "new")["x"], across)
    for code, sign in ((0, 1), (1, -1)):  # each class has a band, which it fills where it is dense
        heights = plot.frame["y"][plot.frame["label"] == code]
        assert (sign * heights).min() > 0
        assert 0.3 < np.ptp(heights) <= 0.8
    assert "The vertical position has no meaning." in sentence_of(plot)
    plot.figure.canvas.draw()
    (axes,) = plot.figure.axes
    badges = [text for text in axes.texts if text.get_gid() == "class-name"]
    assert len(badges) == 2
    assert covered(badges, plot) == []
    words = [text for text in axes.texts if text.get_gid() == "probability"]
    assert covered(words, plot) == []
    at = {text.get_text(): text.get_position()[0] for text in words}
    assert at["50 %"] == at["probability of 1"] == 0.0
    assert at["90 %"] == pytest.approx((0.9**0.6 - 0.1**0.6) / (0.9**0.6 + 0.1**0.6))
    line = nsse.plot.embedding(model, data.X[1::2], data.codes[1::2])
    np.testing.assert_allclose(rows_of(line.frame, "new")["x"], model.transform(data.X[1::2])[:, 0])
    line.figure.canvas.draw()
    names = line.figure.axes[0].texts
    assert [text.get_text() for text in names] == ["0", "1"]
    assert covered(names, line) == []


def covered(texts, plot):
    """Return the texts that cover samples."""
    marks = plot.figure.axes[0].transData.transform(plot.frame[["x", "y"]].to_numpy())
    boxes = {text.get_text(): text.get_window_extent().padded(4) for text in texts}
    return [name for name, box in boxes.items() if any(box.contains(*mark) for mark in marks)]


@pytest.mark.parametrize("n_classes", [2, 10, 40])
def test_small_axes_have_a_caption_within_the_figure(n_classes):
    names = np.array([f"person {k:03d}" for k in range(n_classes)])
    centers = np.random.default_rng(0).normal(scale=9, size=(n_classes, 8))
    model = SmoothEmbedding(metric="euclidean").fit(np.repeat(centers, 2, axis=0), np.repeat(names, 2))
    figure, (axes, _) = pyplot.subplots(1, 2, figsize=(9.0, 4.5))
    model.plot(centers + 3.0, np.roll(names, 1), ax=axes)
    figure.savefig(BytesIO())
    caption = axes.xaxis.label
    assert caption.get_text().startswith("Class map (related to RadViz).")
    assert figure.bbox.y0 <= caption.get_window_extent().y0
    pyplot.close(figure)
    if n_classes == 40:  # names that are too long lose their middle, and remain different
        (listed,) = [t.get_text() for t in axes.texts if t.get_gid() == "confusions"]
        words = [line.split(" × ")[1] for line in listed.splitlines() if " × " in line]
        assert len(words) > 10
        assert len(set(words)) == len(words)
        assert all("…" in word for word in words)


LONG = "{}th class of a very long name that nobody can shorten"


@pytest.mark.parametrize("n_classes", [3, 10, 16, 30])
@pytest.mark.parametrize("name", ["{}", LONG], ids=["short", "long"])
@pytest.mark.parametrize("size", [None, (4.0, 4.0), (3.0, 5.0)], ids=str)
def test_every_label_is_readable_and_outside_of_the_polygon(n_classes, name, size):
    names = np.array([name.format(k) for k in range(n_classes)])
    centers = np.random.default_rng(0).normal(scale=9, size=(n_classes, 8))
    model = SmoothEmbedding(metric="euclidean").fit(np.repeat(centers, 2, axis=0), np.repeat(names, 2))
    axes = None if size is None else Figure(figsize=size).add_axes((0.05, 0.05, 0.9, 0.9))
    plot = nsse.plot.class_map(model, centers + 0.1, names, ax=axes)
    figure, drawn_on = plot.figure, plot.figure.axes[0]
    figure.savefig(BytesIO())
    texts = [text for text in drawn_on.texts if text.get_gid() == "class-name"]
    assert len(texts) == n_classes
    boxes = [text.get_window_extent() for text in texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k]), texts[k].get_text()
        inside = drawn_on.transData.inverted().transform(box.corners())
        assert np.linalg.norm(inside, axis=1).min() > 0.99
    assert min(text.get_fontsize() for text in texts) >= 6.5
    page = figure.bbox.padded(1.0)
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes)
    assert all(page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)


def test_many_classes_have_a_list_of_confusions_instead_of_labels():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(40, 12))
    codes = np.repeat(np.arange(40), 8)
    samples = centers[codes] + 0.9 * rng.normal(size=(len(codes), 12))
    names = np.array([f"class {k}" for k in range(40)])
    model = SmoothEmbedding().fit(samples[::2], names[codes[::2]])
    labels, predicted = names[codes[1::2]], model.predict(samples[1::2])
    plot = model.plot(samples[1::2], labels)
    (listed,) = [t for t in plot.figure.axes[0].texts if t.get_gid() == "confusions"]
    assert not [t for t in plot.figure.axes[0].texts if t.get_gid() == "class-name"]
    lines = listed.get_text().splitlines()
    assert lines[0].startswith("40 classes.")
    pairs, counts = np.unique(
        np.array([labels, predicted])[:, labels != predicted], axis=1, return_counts=True
    )
    own, other = pairs[:, counts.argmax()]
    n, words = lines[3].split(" × ")
    assert int(n) == counts.max()
    assert words.split(" → ") in pairs.T[counts == counts.max()].tolist(), (own, other)
    total = sum(int(line.split(" × ")[0]) for line in lines if " × " in line)
    assert total <= counts.sum()
    assert lines[-1] == f"and {len(counts) - 18} other pairs"
    figure = plot.figure
    figure.canvas.draw()
    box = listed.get_window_extent()
    assert figure.bbox.x0 <= box.x0
    assert box.x1 <= figure.bbox.x1
    alone = model.plot(samples[1::2])
    (words,) = [t.get_text() for t in alone.figure.axes[0].texts if t.get_gid() == "confusions"]
    assert "cannot be counted" in words


def test_classes_with_similar_colors_have_other_marks(make_blobs):
    data = make_blobs((4,) * 25, n_features=5, spread=9.0)
    plot = SmoothEmbedding(metric="euclidean").fit(data.X, data.codes).plot()
    marks = [m for m in plot.figure.axes[0].collections if m.get_gid() == "training"]
    assert [len(m.get_offsets()) for m in marks] == [40, 40, 20]
    assert len({m.get_paths()[0].vertices.tobytes() for m in marks}) == 3


def test_every_sample_is_drawn_once_in_the_color_of_its_class(digits_model):
    plot = digits_model.plot(X[NEW], Y[NEW])
    np.testing.assert_allclose(drawn(plot, "new"), rows_of(plot.frame, "new")[["x", "y"]])
    np.testing.assert_allclose(drawn(plot, "training"), rows_of(plot.frame, "training")[["x", "y"]])
    (marks,) = [m for m in plot.figure.axes[0].collections if m.get_gid() == "new"]
    assert [to_hex(c) for c in marks.get_facecolors()] == [class_colors(10)[label] for label in Y[NEW]]


@pytest.mark.parametrize("n_classes", [2, 10, 11, 20, 38, 100])
def test_colors_are_all_different_and_text_on_them_can_be_read(n_classes):
    colors = class_colors(n_classes)
    assert len(set(colors)) == len(colors) == n_classes
    for color in colors:
        dark, light = sorted(relative_luminance(tone) for tone in (color, ink_on(color)))
        assert (light + 0.05) / (dark + 0.05) > 3  # WCAG 2 for large, bold text
