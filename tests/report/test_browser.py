"""Tests of the report in a browser: it opens offline, draws every point and reacts to input."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial.distance import pdist
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from browser import Page
from nsse import SmoothEmbedding
from nsse.datasets import load_dataset
from nsse.methods import LFDA
from nsse.report import Samples, write_report
from nsse.report.explorer.pictures import quantised

IMAGES = {"kind": "images", "size": [8, 8], "unit_norm": False}


class Written:
    """Return a report on the digits, with its model and samples."""

    def __init__(self, folder):
        data = load_dataset("digits")
        parts = train_test_split(
            data.X, data.y, train_size=80, test_size=150, stratify=data.y, random_state=0
        )
        self.X_train, self.X_test, self.y_train, self.y_test = parts
        self.model = SmoothEmbedding().fit(self.X_train, self.y_train)
        self.predicted = self.model.predict(self.X_test)
        self.path = folder / "digits.html"
        names = [f"digit-{row:03d}.png" for row in range(150)]
        samples = Samples(self.X_test, self.y_test, names)
        self.summary = write_report(
            self.path, self.model, samples, preparation=IMAGES, title="Digits & <friends>"
        )

    @property
    def n_wrong(self):
        return int((self.predicted != self.y_test).sum())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return Written(tmp_path_factory.mktemp("report"))


@pytest.fixture
def page(browser, written):
    opened = Page(browser, written.path)
    yield opened
    assert opened.complaints() == []
    assert opened.requests() == []


def test_opens_from_disk_and_states_the_error_and_that_of_the_largest_class(page, written):
    assert page.text("h1") == "Digits & <friends>"
    assert f"mislabels {written.n_wrong} of 150 test samples" in page.text(".finding")
    largest = np.bincount(written.y_train).argmax()
    base = 100 * np.mean(written.y_test != largest)
    words = f"largest training class, {largest}, would mislabel {base:.1f} %."
    assert words in page.text(".finding")


def test_a_misclassified_sample_is_selected_at_the_start(page, written):
    first = int(np.flatnonzero(written.predicted != written.y_test)[0])
    assert page.js("return window.nsse.stage.selected") == 80 + first
    assert f"Predicted {written.predicted[first]}" in page.text("#sample .wrong")
    assert f"digit-{first:03d}.png" in page.text("#sample")


def test_a_card_shows_the_images_that_support_a_label_and_its_rival(page, written):
    first = int(np.flatnonzero(written.predicted != written.y_test)[0])
    found = written.model.explain(written.X_test[[first]])
    text = page.text("#sample")
    for name in (found.label[0], found.rival[0]):
        assert f"Training samples that support {name}" in text
    best = found.influential[0][found.weights[0] > 0][0]
    expected = quantised(written.X_train[best].reshape(1, 8, 8), unit_norm=False)[0]
    np.testing.assert_array_equal(page.picture("#sample .why canvas"), expected)
    assert f"Most similar training images of {found.label[0]}" in text


def test_the_calibration_has_counts_and_error_bars(page, written):
    P = written.model.predict_proba(written.X_test).max(axis=1)
    edges = np.array([0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
    counts = np.histogram(P, edges)[0]
    shown = page.js(
        "return [...document.querySelectorAll('#probabilities text.count')].map((text) => {"
        "const box = text.getBoundingClientRect();"
        "return [text.textContent, box.left, box.right, box.top, box.bottom] })"
    )
    assert [int(count) for count, *_ in shown] == counts[counts > 0].tolist()
    for (_, *one), (_, *other) in pairwise(shown):
        assert one[1] <= other[0] or one[2] >= other[3] or one[3] <= other[2]
    n_bars = page.js("return document.querySelectorAll('#probabilities .error').length")
    assert n_bars == np.count_nonzero(counts)
    assert "Calibration" in page.text("#probabilities")
    assert "90 % prediction set" in page.text("#sample")


def test_isolated_points_have_the_colour_of_their_class_on_the_canvas(page, written):
    places, pixels = page.places(), page.pixels()
    codes = np.concatenate([written.y_train, written.y_test])
    hues = np.round(255 * np.array(page.js("return window.nsse.stage.hues"))).astype(int)
    apart = np.linalg.norm(places[:, np.newaxis] - places, axis=2) + 1e9 * np.eye(len(places))
    alone = [i for i in range(80, 230) if apart[i].min() > 15]
    assert len(alone) > 5
    for i in alone:
        x, y = np.floor(places[i]).astype(int)
        *color, alpha = pixels[y, x].astype(float)
        assert alpha > 180
        np.testing.assert_allclose(color, hues[codes[i]], atol=6)


def test_as_many_spots_on_the_canvas_as_points(browser, tmp_path):
    # A linear map leaves the points of a grid apart.
    across, up = np.meshgrid(np.arange(4.0), np.arange(3.0))
    X, y = np.column_stack([across.ravel(), up.ravel()]), (across.ravel() > 1.5).astype(int)
    model = LFDA(n_components=2).fit(X, y)
    write_report(tmp_path / "few.html", model, Samples(X + np.array([0.5, 0.45]), 1 - y))
    page = Page(browser, tmp_path / "few.html")
    page.click("[data-view='2d']")
    page.click("#reset")
    page.js("window.nsse.stage.select(-1)")
    page.settle()
    assert pdist(page.places()).min() > 30, "the test needs points that do not touch"
    _, spots = ndimage.label(page.pixels()[..., 3] > 60, structure=np.ones((3, 3)))
    drawn = page.drawn()
    assert (drawn["training"], drawn["total"]) == (12, 24)
    assert drawn["mislabelled"] > 0
    # The ring of a mislabeled sample is a separate spot.
    assert spots == drawn["total"] + drawn["mislabelled"]


def test_hover_shows_the_picture_of_the_sample(page, written):
    apart = page.places()
    alone = [i for i in range(80, 230) if np.sort(np.linalg.norm(apart - apart[i], axis=1))[1] > 15]
    for point in alone[:3]:
        page.mouse_to(point)
        row = point - 80
        expected = quantised(written.X_test[row].reshape(1, 8, 8), unit_norm=False)[0]
        np.testing.assert_array_equal(page.picture("#tip canvas"), expected)
        assert f"digit-{row:03d}.png" in page.text("#tip")
        assert f"Class {written.y_test[row]}" in page.text("#tip")


def test_a_click_marks_the_nearest_training_samples(page, written):
    apart = page.places()
    point = next(i for i in range(100, 230) if np.sort(np.linalg.norm(apart - apart[i], axis=1))[1] > 15)
    page.mouse_to(point).click().perform()
    page.settle()
    place = written.model.transform(written.X_test[[point - 80]])
    nearest = np.argsort(np.linalg.norm(written.model.left_out_embedding_ - place, axis=1))[:8]
    shown = page.js("return window.nsse.stage.neighbors.map((n) => n.i)")
    assert shown == nearest.tolist()


def test_legend_hides_classes_and_kinds(page, written):
    in_class = int((written.y_train == 3).sum() + (written.y_test == 3).sum())
    before = (page.pixels()[..., 3] > 0).sum()
    page.click("#classes .chip:nth-child(4)")
    assert page.drawn()["total"] == 230 - in_class
    assert (page.pixels()[..., 3] > 0).sum() < before
    page.click("#classes .chip:nth-child(4)")
    page.click("#kinds .chip:nth-child(1)")
    assert page.drawn()["training"] == 0
    page.click("#no-class")
    assert page.drawn()["total"] == 0
    assert (page.pixels()[..., 3] > 0).sum() == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [("7", None), ("test 12", [92]), ("training 12", [12]), ("row 12", [12, 92]), ("T-012.P", [92])],
)
def test_search_finds_classes_rows_and_names(page, written, query, expected):
    page.find("#query").send_keys(query)
    page.settle()
    if expected is None:
        codes = np.concatenate([written.y_train, written.y_test])
        expected = np.flatnonzero(codes == 7).tolist()
    assert sorted(page.js("return [...window.nsse.stage.filter.strong]")) == expected
    assert page.text("#found") == f"{len(expected)} found"
    page.find("#query").submit()
    page.settle()
    assert page.js("return window.nsse.stage.selected") == expected[0]


def test_confusion_matrix_counts_and_highlights(page, written):
    true, said = next((t, p) for t, p in zip(written.y_test, written.predicted, strict=True) if t != p)
    members = np.flatnonzero((written.y_test == true) & (written.predicted == said))
    cell = f"[data-cell='{true},{said}']"
    assert page.text(cell) == str(len(members))
    page.click(cell)
    assert sorted(page.js("return [...window.nsse.stage.filter.strong]")) == (80 + members).tolist()


def test_axes_and_three_dimensions(page, written):
    page.click("[data-view='2d']")
    page.js(
        "const s = document.querySelectorAll('#axes select')[1]; s.value = '4';"
        "s.dispatchEvent(new Event('change'))"
    )
    page.settle()
    seen = np.array(page.js("return Array.from(window.nsse.stage.view.positions)")).reshape(-1, 3)
    np.testing.assert_allclose(seen[:80, :2], written.model.left_out_embedding_[:, [0, 4]], atol=1e-6)
    page.click("[data-view='3d']")
    before = page.pixels()
    page.find("#overlay").send_keys("\ue012\ue012")  # the left arrow key turns
    page.settle()
    assert (page.pixels() != before).any()


def test_dark_theme_has_a_dark_ground_and_lighter_hues(page):
    page.js("if (window.nsse.stage.dark) document.getElementById('theme').click()")
    light = page.js("return window.nsse.stage.hues")
    page.click("#theme")
    assert page.js("return window.nsse.stage.dark")
    assert (np.array(page.js("return window.nsse.stage.hues")) >= np.array(light)).all()


def test_a_hostile_class_name_is_only_a_name(browser, tmp_path, make_blobs):
    data = make_blobs((8, 8))
    names = np.array(["</script><script>window.broken = 1</script>", "<img src=x onerror='broken=1'>"])
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.X, names[data.codes])
    write_report(tmp_path / "names.html", model, Samples(data.X + 0.1, names[data.codes]))
    page = Page(browser, tmp_path / "names.html")
    assert page.js("return window.broken") is None
    assert names[0] in page.text("#classes")
    assert page.complaints() == []


def test_a_spectrum_is_a_curve_and_training_samples_have_their_names(browser, tmp_path):
    data = load_dataset("digits")
    X, X_new, y, y_new = train_test_split(data.X, data.y, train_size=80, test_size=20, random_state=0)
    names = [f"plate {k}" for k in range(80)]
    samples = Samples(X_new, y_new, train_names=names)
    write_report(tmp_path / "r.html", SmoothEmbedding().fit(X, y), samples)
    page = Page(browser, tmp_path / "r.html")
    (path,) = page.js(
        "return [...document.querySelectorAll('.curve path')].map((p) => p.getAttribute('d'))"
    )
    points = np.array([point.split() for point in path[1:].split("L")], dtype=float)
    row = page.js("return window.nsse.stage.selected") - 80
    expected = X_new[row]
    assert len(points) == 64
    np.testing.assert_allclose(np.corrcoef(points[:, 1], expected)[0, 1], -1.0, atol=1e-3)
    assert re.findall(r"plate \d+", page.text("#sample .neighbors"))
    with pytest.raises(ValueError, match=r"`samples\.train_names` must hold one name per sample"):
        write_report(
            tmp_path / "r.html", SmoothEmbedding().fit(X, y), Samples(None, train_names=names[1:])
        )
