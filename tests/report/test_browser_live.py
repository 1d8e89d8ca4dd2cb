"""The live map in a real browser: what the page computes is what Python computes."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from browser import Page
from nsse import NSSE, NSSECV, SUPLAP, IsoKRR, MReg
from nsse.certificates import answers, certified_radius
from nsse.certificates.conformal import class_scores, strangeness
from nsse.datasets import area_average, load_dataset
from nsse.report import Samples, write_report
from nsse.report.explorer.models import steps_and_judge, voters_of

TOLERANCE = 1e-4

MODELS = {
    "NSSE": NSSE.as_published(),
    "three votes": NSSE.as_published(classifier=KNeighborsClassifier(3)),
    "centroids": NSSE.as_published(classifier=NearestCentroid()),
    "scores": NSSE.as_published(
        mu2=1.0, normalization="classes", classifier="scores", embedding_scale="unit"
    ),
    "logistic": NSSE.as_published(classifier=LogisticRegression(max_iter=1000)),
    "scaled": make_pipeline(StandardScaler(), NSSE.as_published()),
    "scaled twice": make_pipeline(MinMaxScaler(), StandardScaler(with_mean=False), NSSE.as_published()),
    "in a metric": NSSE.as_published(metric="within", shrinkage=0.3),
    "in a metric, scaled": make_pipeline(StandardScaler(), NSSE.as_published(metric="within")),
    "MReg": MReg(),
    "large coefficients": IsoKRR(n_components=5, sigma=6.0, alpha=1e-9),
    "wide kernel": SUPLAP(sigma=8.0, ridge=1e-10),
    "with a temperature": NSSE(),
    "two votes": NSSE(classifier=KNeighborsClassifier(2)),
    "LDA": NSSE(classifier=LinearDiscriminantAnalysis()),
    "by stochastic gradients": NSSE(classifier=SGDClassifier(loss="log_loss", random_state=0)),
    "quick vote": NSSECV(n_repeats=2),
    "cross-validated": NSSECV(n_repeats=2, n_voters=1),
    "vote": NSSECV(NSSE(classifier="nearest"), n_repeats=4, n_voters=7),
    "vote with landmarks": NSSECV(NSSE(n_landmarks=30), n_repeats=4, n_voters=5),
}


@pytest.fixture(scope="module")
def digits_split():
    data = load_dataset("digits")
    return train_test_split(data.X, data.y, train_size=70, test_size=40, stratify=data.y, random_state=1)


def computed_in_page(page, rows):
    """Coordinates, class and radius of rows, by the functions that the page itself uses."""
    found = page.js(
        "const m = window.nsse.live.model; return arguments[0].map((x) => {"
        " const { place, code, radius } = m.tell(x);"
        " return [Array.from(place), code, radius === Infinity ? -1 : radius]; })",
        np.asarray(rows).tolist(),
    )
    radius = np.array([r for _, _, r in found], dtype=float)
    return (
        np.array([y for y, _, _ in found]),
        [c for _, c, _ in found],
        np.where(radius < 0, np.inf, radius),
    )


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_python(browser, tmp_path, digits_split, name):
    X_train, X_test, y_train, y_test = digits_split
    model = MODELS[name].fit(X_train, y_train)
    assert write_report(tmp_path / "live.html", model, Samples(X_test, y_test)).live
    page = Page(browser, tmp_path / "live.html")
    between = 0.5 * (X_test + X_train[:40])
    rows = np.vstack([X_test, X_train[:10], between, np.zeros((1, 64)), np.full((1, 64), 5.0)])
    embedded, codes, radius = computed_in_page(page, rows)
    before, core = steps_and_judge(model)
    Z = rows
    for step in before:
        Z = step.transform(Z)
    exact = np.asarray(core.transform(Z))
    assert np.abs(embedded - exact).max() <= TOLERANCE * np.abs(core.embedding_).max()
    np.testing.assert_array_equal(core.classes_[codes], core.predict(Z))
    certified = certified_radius(model, rows)
    largest = max(voter.expansion_.sigma for voter in voters_of(core))
    np.testing.assert_allclose(radius, certified, rtol=TOLERANCE, atol=1e-5 * largest)
    check_chances(page, model, core, rows, Z)
    if name.startswith("vote"):
        assert len(core.voters_) > 1
        assert (core.best_estimator_.predict(Z) != core.predict(Z)).any(), "they never disagree"
    assert page.complaints() == []


def check_chances(page, model, core, rows, Z):
    """Probabilities and sets of labels, by the functions that the page itself uses."""
    found = page.js(
        "const { live } = window.nsse; return arguments[0].map((x) => {"
        " const { chances, strange } = live.model.tell(x); return [chances, live.setOf(strange)]; })",
        np.asarray(rows).tolist(),
    )
    told = answers(model, rows).probabilities
    speaks = page.js("return Boolean(window.nsse.points.data.chances.said)")
    assert speaks == (told is not None)
    if told is not None:
        chances = np.array([row for row, _ in found])
        # Densities around collapsed classes are steep, and centres in single precision.
        steep = isinstance(core.classifier_, LinearDiscriminantAnalysis | NearestCentroid)
        np.testing.assert_allclose(chances, told, atol=0.02 if steep else 1e-3)
        np.testing.assert_array_equal(core.classes_[chances.argmax(axis=1)], core.predict(Z))
    q = page.js("return window.nsse.points.data.chances.sets.threshold")
    strange = strangeness(class_scores(core, Z))
    clear = np.abs(strange - q) > 1e-3 * np.abs(strange).max()
    sets = np.array([np.isin(np.arange(len(core.classes_)), labels) for _, labels in found])
    np.testing.assert_array_equal(sets[clear], (strange <= q)[clear])
    assert clear.mean() > 0.5


def test_large_coefficients_are_large_and_stored_in_double_precision(browser, tmp_path, digits_split):
    X_train, X_test, y_train, y_test = digits_split
    kinds = {}
    for name in ("NSSE", "large coefficients"):
        write_report(tmp_path / "live.html", MODELS[name].fit(X_train, y_train), Samples(X_test, y_test))
        page = Page(browser, tmp_path / "live.html")
        kinds[name] = page.js("return window.nsse.live.map.centers.values.constructor.name")
    assert kinds == {"NSSE": "Float32Array", "large coefficients": "Float64Array"}


def test_a_pasted_row_lands_where_python_puts_it(browser, tmp_path, make_blobs):
    data = make_blobs((20, 15, 12), n_features=6)
    model = make_pipeline(StandardScaler(), NSSE.as_published()).fit(1000.0 + 50.0 * data.X, data.codes)
    columns = ["length", "width", "height", "weight", "age", "price"]
    row = 1000.0 + 50.0 * data.X[3] + 7.0
    write_report(
        tmp_path / "table.html",
        model,
        Samples(1000.0 + 60.0 * data.X, data.codes),
        preparation={"kind": "table", "columns": columns, "label": "kind"},
    )
    page = Page(browser, tmp_path / "table.html")
    assert "length, width, height" in page.text("#live")
    page.find("#row").send_keys(";  ".join(repr(float(v)) for v in row))
    page.click("#embed")
    place = page.js("return window.nsse.live.last.place")
    exact = model.transform(row[np.newaxis])[0]
    np.testing.assert_allclose(place, exact, atol=TOLERANCE * np.abs(exact).max())
    assert f"Predicted {model.predict(row[np.newaxis])[0]}" in page.text("#live .result")
    # A spread of 50 makes one of 1: the radius is that of the row, and the other is said beside it.
    told = page.js("const { radius, modelRadius } = window.nsse.live.last; return [radius, modelRadius]")
    both = [certified_radius(model, row[np.newaxis], units=units)[0] for units in ("samples", "model")]
    np.testing.assert_allclose(told, both, rtol=1e-4)
    assert told[0] > 20 * told[1]
    assert "no smaller change of the row changes this label" in page.text("#live .result")
    assert "Measured on scaled features" in page.text("#live .result")
    page.find("#row").clear()
    page.find("#row").send_keys("1, 2, 3")
    page.click("#embed")
    assert "6 numbers; there are 3" in page.text("#live .result")
    page.find("#row").clear()
    page.find("#row").send_keys("1, 2, 3, 4, nan, 6")
    page.click("#embed")
    assert "“nan” is not a number" in page.text("#live .result")
    assert page.js("return window.nsse.stage.live") is None
    assert page.complaints() == []


@pytest.fixture(scope="module")
def objects_page(browser, tmp_path_factory):
    """A report on pictures of 12 × 10 pixels with norm 1, its model and its path."""
    data = load_dataset("objects", size=(12, 10), unit_norm=True)
    some = np.flatnonzero(data.y <= 4)
    X_train, X_test, y_train, y_test = train_test_split(
        data.X[some], data.y[some], train_size=60, stratify=data.y[some], random_state=0
    )
    model = NSSE.as_published().fit(X_train, y_train)
    path = tmp_path_factory.mktemp("objects") / "objects.html"
    prepared = {"kind": "images", "size": [12, 10], "unit_norm": True}
    write_report(path, model, Samples(X_test, y_test), preparation=prepared)
    return model, path, X_train


def colour_picture(path, seed=0, colour=False):
    """A picture of no round size, and its features by the functions of `nsse.datasets`."""
    from PIL import Image

    from nsse.datasets._images import read_levels

    rng = np.random.default_rng(seed)
    Image.fromarray(rng.integers(0, 256, size=(37, 29, 3), dtype=np.uint8)).save(path)
    features = area_average(read_levels(path, colour=colour), (12, 10)).ravel()
    return features / np.linalg.norm(features)


def check_picture(page, model, features):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page.driver, 10).until(lambda _: page.js("return Boolean(window.nsse.live.last)"))
    last = page.js(
        "const { x, place, code, radius } = window.nsse.live.last; return { x, place, code, radius }"
    )
    np.testing.assert_allclose(last["x"], features, atol=1e-12)
    exact = model.transform(features[np.newaxis])[0]
    np.testing.assert_allclose(last["place"], exact, atol=TOLERANCE * np.abs(model.embedding_).max())
    label = model.predict(features[np.newaxis])[0]
    assert model.classes_[last["code"]] == label
    assert f"Predicted {label}" in page.text("#live .result")
    radius = model.certified_radius(features[np.newaxis])[0]
    assert last["radius"] == pytest.approx(radius, rel=TOLERANCE, abs=1e-5 * model.sigma_)
    assert page.complaints() == []


def test_a_chosen_picture_lands_where_python_puts_it(browser, tmp_path, objects_page):
    model, path, _ = objects_page
    features = colour_picture(tmp_path / "chosen.png")
    page = Page(browser, path)
    page.find("#file").send_keys(str(tmp_path / "chosen.png"))
    check_picture(page, model, features)


def test_a_dropped_picture_lands_where_python_puts_it(browser, tmp_path, objects_page):
    model, path, _ = objects_page
    features = colour_picture(tmp_path / "dropped.png", seed=1)
    page = Page(browser, path)
    page.js(
        "const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));"
        "const carried = new DataTransfer();"
        "carried.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }));"
        "document.getElementById('stage').dispatchEvent("
        "  new DragEvent('drop', { dataTransfer: carried, bubbles: true, cancelable: true }))",
        base64.b64encode((tmp_path / "dropped.png").read_bytes()).decode(),
    )
    check_picture(page, model, features)


@pytest.fixture(scope="module")
def colour_page(browser, tmp_path_factory):
    """A report on pictures in colour, 12 × 10 pixels with norm 1, its model and its path."""
    rng = np.random.default_rng(3)
    hues = np.repeat([[0.9, 0.2, 0.1], [0.1, 0.8, 0.3], [0.2, 0.3, 0.9]], 20, axis=0)
    X = (hues[:, np.newaxis] * rng.uniform(0.5, 1.0, (60, 120, 1))).reshape(60, -1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.repeat(["red", "green", "blue"], 20)
    model = NSSE.as_published().fit(X[::2], y[::2])
    path = tmp_path_factory.mktemp("colour") / "colour.html"
    prepared = {"kind": "images", "size": [12, 10], "unit_norm": True, "colour": True}
    assert write_report(path, model, Samples(X[1::2], y[1::2]), preparation=prepared).live
    return model, path, X


def test_a_picture_in_colour_lands_where_python_puts_it(browser, tmp_path, colour_page):
    model, path, _ = colour_page
    features = colour_picture(tmp_path / "chosen.png", colour=True)
    page = Page(browser, path)
    assert "It is averaged to 10 × 12" in page.text("#live")
    page.find("#file").send_keys(str(tmp_path / "chosen.png"))
    check_picture(page, model, features)


def test_samples_in_colour_are_shown_in_colour_and_can_be_painted(browser, colour_page):
    _, path, X = colour_page
    page = Page(browser, path)
    page.js("window.nsse.stage.select(3); window.nsse.live.takeSelected()")
    np.testing.assert_allclose(page.js("return window.nsse.live.last.x"), X[6], atol=1e-7)
    pixels = page.js(
        "const c = document.querySelector('.picture');"
        "return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data)"
    )
    shown = np.array(pixels).reshape(12, 10, 4)[:, :, :3]
    np.testing.assert_allclose(shown / 255, X[6].reshape(12, 10, 3) / X[6].max(), atol=0.51 / 255)
    before = np.array(page.js("return window.nsse.live.last.place"))
    page.click("#pad")
    assert np.abs(np.array(page.js("return window.nsse.live.last.place")) - before).max() > 1e-6
    assert page.complaints() == []


def turned_photograph(path):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    rng = np.random.default_rng(5)
    Image.fromarray(rng.integers(0, 256, size=(9, 11, 3), dtype=np.uint8)).resize((88, 72)).save(
        path, exif=exif, quality=95, subsampling=0
    )


def inks(path):
    from PIL import Image

    pixels = np.random.default_rng(6).integers(0, 256, size=(9, 11, 4), dtype=np.uint8)
    whole = Image.frombytes("CMYK", (11, 9), pixels.tobytes()).resize((88, 72))
    whole.save(path, quality=95, subsampling=0)


@pytest.mark.parametrize("make", [turned_photograph, inks])
@pytest.mark.parametrize("colour", [False, True])
def test_page_and_python_see_the_same_photograph(
    browser, tmp_path, objects_page, colour_page, make, colour
):
    from selenium.webdriver.support.ui import WebDriverWait

    from nsse.datasets._images import read_levels

    _, path, _ = colour_page if colour else objects_page
    make(tmp_path / "photo.jpg")
    features = area_average(read_levels(tmp_path / "photo.jpg", colour=colour), (12, 10)).ravel()
    page = Page(browser, path)
    page.find("#file").send_keys(str(tmp_path / "photo.jpg"))
    WebDriverWait(browser, 10).until(lambda _: page.js("return Boolean(window.nsse.live.last)"))
    seen = page.js("return window.nsse.live.last.x")
    # Two decoders of JPEG may round otherwise, by a level or two of 255.
    np.testing.assert_allclose(seen, features / np.linalg.norm(features), atol=2e-3)


def test_what_is_no_picture_is_refused_and_black_has_no_norm(browser, tmp_path, objects_page):
    from PIL import Image
    from selenium.webdriver.support.ui import WebDriverWait

    _, path, _ = objects_page
    (tmp_path / "text.png").write_text("no picture")
    Image.new("L", (20, 20)).save(tmp_path / "black.png")
    page = Page(browser, path)
    for name, words in (("text.png", "not a picture"), ("black.png", "its norm is 0")):
        page.find("#file").send_keys(str(tmp_path / name))
        WebDriverWait(browser, 10).until(lambda _, words=words: words in page.text("#live .result"))
        assert page.js("return window.nsse.stage.live") is None
    assert page.complaints() == []


def test_a_training_sample_lands_on_its_own_point(browser, objects_page):
    model, path, X_train = objects_page
    page = Page(browser, path)
    page.js("window.nsse.stage.select(17); window.nsse.live.takeSelected()")
    last = page.js(
        "const { x, place, neighbors } = window.nsse.live.last; return { x, place, neighbors }"
    )
    np.testing.assert_allclose(last["x"], X_train[17], atol=1e-7)
    np.testing.assert_allclose(last["place"], model.embedding_[17], atol=1e-5)
    assert last["neighbors"][0]["distance"] < 1e-5


def test_painting_moves_the_point(browser, objects_page):
    _, path, _ = objects_page
    page = Page(browser, path)
    page.js("window.nsse.stage.select(3); window.nsse.live.takeSelected()")
    before = np.array(page.js("return window.nsse.live.last.place"))
    page.click("#pad")
    after = np.array(page.js("return window.nsse.live.last.place"))
    assert np.abs(after - before).max() > 1e-6
    assert page.js("return Math.hypot(...window.nsse.live.last.x)") == pytest.approx(1.0)
