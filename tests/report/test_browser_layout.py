"""Tests of the layout at several widths: names, columns, and the bands of two classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from browser import Page
from nsse import NSSE, SmoothEmbedding, WithinMetric
from nsse.datasets import load_dataset
from nsse.report import Samples, write_report
from nsse.report.explorer.alike import ALIKE, NOBODY, alike_in_class
from nsse.report.explorer.models import find


@pytest.fixture
def sized(browser):
    """Give the window of the page a size. A narrow window has the size of a phone."""

    def resize(width, height=900):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    yield resize
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Twenty classes with long names."""
    data = load_dataset("digits")
    codes = 2 * data.y + np.arange(len(data.y)) % 2
    names = np.array([f"{'long ' * (k % 4)}name {k}" for k in range(codes.max() + 1)])
    parts = train_test_split(data.X, names[codes], train_size=200, test_size=200, random_state=0)
    path = tmp_path_factory.mktemp("objects") / "r.html"
    write_report(path, SmoothEmbedding().fit(parts[0], parts[2]), Samples(parts[1], parts[3]))
    return path


@pytest.fixture(scope="module")
def two_classes(tmp_path_factory):
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=150, stratify=y, random_state=0)
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(X, y)
    path = tmp_path_factory.mktemp("two") / "r.html"
    write_report(path, model, Samples(X_new, y_new))
    return path, model, X_new


def boxes_of(page):
    """Return left, top, right and bottom of the names, and the size of the stage."""
    page.settle()
    boxes = np.array(page.js("return window.nsse.stage.names.map((name) => name.box)"), dtype=float)
    size = page.js("return [window.nsse.stage.width, window.nsse.stage.height]")
    return np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]), size


@pytest.mark.parametrize(
    ("width", "view", "least"), [(1400, "all", 20), (390, "all", 12), (1400, "2d", 5), (390, "2d", 3)]
)
def test_names_are_whole_and_apart(browser, sized, objects, width, view, least):
    sized(width)
    page = Page(browser, objects)
    page.click(f'[data-view="{view}"]')
    boxes, (wide, high) = boxes_of(page)
    assert len(boxes) >= least
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2] <= wide).all()
    assert (boxes[:, 3] <= high).all()
    overlaps = [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if (np.minimum(boxes[i, 2:], boxes[j, 2:]) > np.maximum(boxes[i, :2], boxes[j, :2])).all()
    ]
    assert overlaps == []


@pytest.fixture(scope="module")
def many_classes(tmp_path_factory):
    """Fifty classes, some samples of which are confused."""
    rng = np.random.default_rng(0)
    y = np.tile([f"species {k}" for k in range(50)], 6)
    X = np.tile(rng.normal(size=(50, 8)), (6, 1)) + 0.5 * rng.normal(size=(300, 8))
    path = tmp_path_factory.mktemp("many") / "r.html"
    write_report(path, SmoothEmbedding().fit(X[:200], y[:200]), Samples(X[200:], y[200:]))
    return path


def test_many_classes_have_a_list_of_confusions_instead_of_names(browser, sized, many_classes):
    sized(1400)
    page = Page(browser, many_classes)
    page.settle()
    assert page.js("return window.nsse.stage.names") == []
    assert "with the most frequent pairs first" in page.text("#confusion")
    assert "→" in page.text("#confusion .chip")


def test_pairs_of_confused_classes_are_struck_out_nowhere(browser, many_classes):
    page = Page(browser, many_classes)
    chips = "[...document.querySelectorAll('.chip[data-cell]')]"
    lines = page.js(f"return {chips}.map((each) => getComputedStyle(each).textDecorationLine)")
    assert set(lines) == {"none"}


@pytest.mark.parametrize("sizes", [(20, 15, 12, 18), (30, 25)])
def test_names_do_not_cover_samples_of_the_class_map(browser, sized, tmp_path, make_blobs, sizes):
    sized(1400)
    data = make_blobs(sizes, n_features=6)
    write_report(tmp_path / "r.html", SmoothEmbedding().fit(data.X, data.codes), Samples(data.X + 0.1))
    page = Page(browser, tmp_path / "r.html")
    boxes, _ = boxes_of(page)
    assert len(boxes) == len(sizes)
    places = page.places()[:, None]
    inside = (places > boxes[:, :2]).all(axis=2) & (places < boxes[:, 2:]).all(axis=2)
    assert not inside.any()


@pytest.mark.parametrize("width", [1400, 1100, 390])
def test_nothing_is_wider_than_the_window_and_no_column_is_empty(browser, sized, objects, width):
    sized(width)
    page = Page(browser, objects)
    assert page.js("return document.documentElement.scrollWidth") <= width
    page.js("window.nsse.stage.select(window.nsse.points.nTrain)")
    page.settle()
    aside, panels, stage, high = page.js(
        "return [...['aside', '.panels', '.stage-column'].map((s) => {"
        " const box = document.querySelector(s).getBoundingClientRect();"
        " return [box.left, box.top + scrollY, box.right, box.bottom + scrollY] }),"
        " document.documentElement.scrollHeight]"
    )
    assert panels[0] == stage[0]
    assert panels[2] == aside[2]  # the panels take the whole width
    assert panels[1] >= max(stage[3], aside[3])
    assert high - panels[3] < 80
    if width > 1088:
        assert abs(aside[3] - stage[3]) < 2  # the column beside the stage scrolls its content


def test_a_line_is_spread_out_and_said_to_be(browser, sized, two_classes):
    path, model, X_new = two_classes
    sized(1400)
    page = Page(browser, path)
    assert "The vertical position has no meaning." in page.text("#hint")
    assert not page.find('[data-view="all"]').is_displayed()
    places = page.places()
    across, heights = places.T
    q = model.predict_proba(X_new) ** 0.6
    expected = (q[:, 1] - q[:, 0]) / q.sum(axis=1)
    assert np.corrcoef(across[150:], expected)[0, 1] > 1 - 1e-9
    codes = np.array(page.js("return Array.from(window.nsse.points.shown)"))
    assert heights[codes == 0].max() < heights[codes == 1].min()  # a band for each class
    for code in (0, 1):
        own = places[codes == code]
        apart = np.linalg.norm(own[:, None] - own[None], axis=2)[np.triu_indices(len(own), 1)]
        on_a_line = np.abs(own[:, None, 0] - own[None, :, 0])[np.triu_indices(len(own), 1)]
        assert (apart < 3).sum() < 0.2 * (on_a_line < 3).sum()
    page.js("const { stage, live } = window.nsse; stage.select(0); live.takeSelected()")
    page.settle()
    star = page.js(
        "const { stage } = window.nsse, { live, view } = stage;"
        " return view.toScreen(view.ofLive(live), stage.width, stage.height)"
    )
    label = page.js("return window.nsse.live.last.code")
    assert heights[codes == label].min() < star[1] < heights[codes == label].max()


def test_the_objective_is_drawn_by_the_scale(browser, sized, tmp_path, make_blobs):
    sized(1400)
    data = make_blobs((20, 15, 12), n_features=6)
    model = NSSE().fit(data.X, data.codes)
    write_report(tmp_path / "r.html", model, Samples(data.X))
    page = Page(browser, tmp_path / "r.html")
    assert "kernel scale σ" in page.text("#trace svg")
    xs = page.js(
        "return [...document.querySelectorAll('#trace .dot')].map((dot) => +dot.getAttribute('cx'))"
    )
    sigma = np.sort(model.trace_.to_dict()["sigma"])
    np.testing.assert_allclose(np.corrcoef(xs, np.log(sigma))[0, 1], 1.0, atol=1e-9)
    # With a given scale there is no curve.
    write_report(tmp_path / "r.html", NSSE(sigma=1.0).fit(data.X, data.codes), Samples(data.X))
    assert not Page(browser, tmp_path / "r.html").find("#trace").is_displayed()


def nearest_by_hand(A, X, codes, x, code, leave=None):
    members = [i for i in range(len(X)) if codes[i] == code and i != leave]
    return sorted(members, key=lambda i: np.linalg.norm(A @ (X[i] - x)))[:ALIKE]


@pytest.mark.parametrize("metric", [None, WithinMetric(shrinkage=0.1)])
def test_samples_most_alike_are_those_of_the_definition(metric, make_blobs):
    data = make_blobs((20, 5, 12), n_features=6)
    new = data.X[::3] + 0.7
    model = SmoothEmbedding(metric=metric).fit(data.X, data.codes)
    predicted = model.predict(new)
    found = alike_in_class(find(model, Samples(new)))
    A = np.eye(6) if metric is None else model.metric_.affine_.dense().T
    for row, (x, code) in zip(found[len(data.X) :], zip(new, predicted, strict=True), strict=True):
        assert row[row != NOBODY].tolist() == nearest_by_hand(A, data.X, data.codes, x, code)
    for i in range(len(data.X)):
        expected = nearest_by_hand(A, data.X, data.codes, data.X[i], data.codes[i], leave=i)
        assert found[i][found[i] != NOBODY].tolist() == expected
