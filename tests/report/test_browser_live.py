"""Tests of the live map in a browser: the page computes the same numbers as Python."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from browser import Page, wait_for
from given_ensembles import GivenEnsemble
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.augment import Images
from nsse.certificates import certified_radius, margins
from nsse.certificates.conformal import ConformalClassifier, conformity
from nsse.datasets import TableEncoder, load_dataset, load_inputs
from nsse.datasets._images import area_average
from nsse.kernels import Kernel
from nsse.methods import LFDA, SUPLAP
from nsse.report import Samples, write_report

TOLERANCE = 1e-6


class Quadratic(Kernel):
    """The rational quadratic kernel 1/(1 + t), of which a page contains a table."""

    curvature = 1.0

    def profile(self, t, xp):
        return 1.0 / (1.0 + t)

    def rate(self, t):
        return -1.0 / np.square(1.0 + t)


MODELS = {
    "scores": SmoothEmbedding(),
    "nearest": SmoothEmbedding(decision="nearest"),
    "two coordinates": SmoothEmbedding(n_components=2),
    "no metric": SmoothEmbedding(metric=None),
    "relevance": SmoothEmbedding(metric=WithinMetric(relevance=0.5)),
    "centres": SmoothEmbedding(centers=40),
    "augmented": SmoothEmbedding(augment=Images((8, 8))),
    "scaled": make_pipeline(StandardScaler(), SmoothEmbedding()),
    "scaled twice": make_pipeline(MinMaxScaler(), StandardScaler(with_mean=False), SmoothEmbedding()),
    "projected": make_pipeline(StandardScaler(), PCA(12), SmoothEmbedding()),
    "the paper": NSSE(),
    "SUPLAP": SUPLAP(),
    "linear": LFDA(n_components=5),
    "linear, scaled": make_pipeline(StandardScaler(), LFDA(n_components=5)),
    "search": SmoothEmbeddingCV(cv=3),
    "search, two coordinates": SmoothEmbeddingCV(
        SmoothEmbedding(2), cv=3, augment=[None, Images((8, 8))]
    ),
    "ensemble": GivenEnsemble(
        [SmoothEmbedding(), SmoothEmbedding(sigma=0.3), SmoothEmbedding(sigma=0.9, decision="nearest")],
        (3.0, 2.0, 9.0),
        0.8,
    ),
    "one member": GivenEnsemble([SmoothEmbedding(decision="nearest")], (4.0,)),
    "augmented member": GivenEnsemble(
        [
            SmoothEmbedding(augment=Images((8, 8))),
            SmoothEmbedding(kernel="matern32", metric="euclidean"),
        ],
        (2.0, 1.5),
    ),
    "own kernel": GivenEnsemble(
        [SmoothEmbedding(kernel=Quadratic()), SmoothEmbedding(decision="nearest", sigma=0.5)], (2.0, 3.0)
    ),
    "ensemble, scaled": make_pipeline(
        StandardScaler(), GivenEnsemble([SmoothEmbedding(), LFDA(n_components=5)], (1.0, 0.05))
    ),
}


@pytest.fixture(scope="module")
def digits_split():
    data = load_dataset("digits")
    return train_test_split(data.X, data.y, train_size=70, test_size=40, stratify=data.y, random_state=1)


def told(page, rows):
    """Return place, class, radius, probabilities and set of rows, computed by the page."""
    found = page.js(
        "const { live } = window.nsse; return arguments[0].map((x) => {"
        " const t = live.model.tell(x); return [Array.from(t.place), t.code,"
        " t.radius === Infinity ? -1 : t.radius, t.probabilities, live.setOf(t.conformity)]; })",
        np.asarray(rows).tolist(),
    )
    place, code, radius, P, sets = zip(*found, strict=True)
    radius = np.array(radius, dtype=float)
    return np.array(place), list(code), np.where(radius < 0, np.inf, radius), np.array(P), sets


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_python(browser, tmp_path, digits_split, name):
    X_train, X_test, y_train, y_test = digits_split
    model = MODELS[name].fit(X_train, y_train)
    core = model[-1] if hasattr(model, "steps") else model
    assert write_report(tmp_path / "live.html", model, Samples(X_test, y_test)).live
    page = Page(browser, tmp_path / "live.html")
    between = 0.5 * (X_test + X_train[:40])
    rows = np.vstack([X_test, X_train[:10], between, np.zeros((1, 64)), np.full((1, 64), 5.0)])
    place, codes, radius, P, sets = told(page, rows)
    largest = np.abs(core.embedding_).max()
    np.testing.assert_allclose(place, model.transform(rows), atol=TOLERANCE * largest)
    np.testing.assert_array_equal(core.classes_[codes], model.predict(rows))
    proven = certified_radius(model, rows)
    np.testing.assert_allclose(radius, proven, rtol=TOLERANCE, atol=1e-8)
    assert (proven > 1e-4).mean() > 0.5
    np.testing.assert_allclose(P, model.predict_proba(rows), atol=TOLERANCE)
    if hasattr(core, "_leave_one_out"):
        own = np.sort(ConformalClassifier(model).fit().folds_[0][1])
        q = own[int(0.1 * (len(own) + 1)) - 1]
        scores = conformity(model, rows)
        clear = (np.abs(scores - q) > TOLERANCE).all(axis=1)
        members = np.array([np.isin(np.arange(10), labels) for labels in sets])
        np.testing.assert_array_equal(members[clear], (scores >= q)[clear])
        assert clear.mean() > 0.9
    else:
        assert set(sets) == {None}
    if isinstance(core, GivenEnsemble):
        labels = [member.predict(rows) for member in core.members_] if core is model else []
        assert name != "ensemble" or any((own != model.predict(rows)).any() for own in labels)
    assert page.complaints() == []


@pytest.mark.parametrize("weights", [(1.0,), (3.0, 2.0)])
def test_many_functions_of_a_class_have_one_bound(browser, tmp_path, digits_split, monkeypatch, weights):
    monkeypatch.setattr(margins, "WORST", 3)
    X_train, X_test, y_train, y_test = digits_split
    models = [SmoothEmbedding(decision="nearest", sigma=sigma) for sigma in (0.65, 1.5)]
    model = GivenEnsemble(models[: len(weights)], weights).fit(X_train, y_train)
    assert write_report(tmp_path / "live.html", model, Samples(X_test, y_test)).live
    _, _, radius, *_ = told(Page(browser, tmp_path / "live.html"), X_test)
    np.testing.assert_allclose(radius, certified_radius(model, X_test), rtol=TOLERANCE, atol=1e-8)
    assert (radius > 1e-4).mean() > 0.5


def test_a_pasted_row_lands_where_python_puts_it(browser, tmp_path, make_blobs):
    data = make_blobs((20, 15, 12), n_features=6)
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(1000.0 + 50.0 * data.X, data.codes)
    columns = ["length", "width", "height", "weight", "age", "price"]
    row = 1000.0 + 50.0 * data.X[3] + 7.0
    prepared = {"kind": "table", "columns": columns, "label": "kind"}
    samples = Samples(1000.0 + 60.0 * data.X, data.codes)
    write_report(tmp_path / "table.html", model, samples, preparation=prepared)
    page = Page(browser, tmp_path / "table.html")
    assert "length, width, height" in page.text("#live")
    page.find("#row").send_keys(";  ".join(repr(float(v)) for v in row))
    page.click("#embed")
    last = page.js("const { place, radius } = window.nsse.live.last; return { place, radius }")
    exact = model.transform(row[np.newaxis])[0]
    np.testing.assert_allclose(last["place"], exact, atol=TOLERANCE)
    assert last["radius"] == pytest.approx(certified_radius(model, row[np.newaxis])[0], rel=TOLERANCE)
    result = page.text("#live .result")
    assert f"Predicted {model.predict(row[np.newaxis])[0]}" in result
    assert "No smaller change of the row changes this label." in result
    for words, answer in (("1, 2, 3", "6 entries. There are 3"), ("1, 2, 3, 4, nan, 6", "“nan” is not")):
        page.find("#row").clear()
        page.find("#row").send_keys(words)
        page.click("#embed")
        assert answer in page.text("#live .result")
    assert page.js("return window.nsse.stage.live") is None
    # The selected sample has the numbers that the page contains.
    page.js("window.nsse.stage.select(17); window.nsse.live.takeSelected()")
    last = page.js("const { place, neighbors } = window.nsse.live.last; return { place, neighbors }")
    np.testing.assert_allclose(last["place"], model[-1].embedding_[17], atol=1e-5)
    away = np.linalg.norm(model[-1].left_out_embedding_ - model[-1].embedding_[17], axis=1)
    assert [each["i"] for each in last["neighbors"]] == np.argsort(away)[:8].tolist()
    assert last["neighbors"][0]["distance"] == pytest.approx(away.min(), rel=1e-3)
    assert page.complaints() == []


def test_a_row_of_the_users_own_columns_lands_where_python_puts_it(browser, tmp_path):
    rng = np.random.default_rng(0)
    kinds, soils = np.repeat(["a", "b"], 20), rng.choice(["clay", "loam", "sand"], 40)
    lines = ["id,day,soil,height,kind"]
    for k, (kind, soil) in enumerate(zip(kinds, soils, strict=True)):
        height = "" if k == 7 else f"{rng.normal(3.0 * (kind == 'a'), 1.0):.3f}"
        lines.append(f"r{k},{1 + k % 28}.3.2024,{soil},{height},{kind}")
    table = tmp_path / "plants.csv"
    table.write_text("\n".join(lines))
    inputs = load_inputs(table, "kind", id="id")
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(inputs.X, inputs.y)
    samples = Samples(inputs.X, inputs.y, inputs.names)
    write_report(tmp_path / "p.html", model, samples, preparation=inputs.preparation)
    page = Page(browser, tmp_path / "p.html")
    assert "Paste a row: day, soil, height." in page.text("#live")
    exact = model.transform(inputs.X)
    for row, text in (
        (3, ",".join(lines[4].split(",")[1:4])),
        (9, f"{lines[0]}\n{lines[10]}"),  # all columns, below their names
        (7, lines[8].split(",")[1] + ";" + lines[8].split(",")[2] + ";"),  # a gap
    ):
        page.js(f"window.nsse.live.text.value = {json.dumps(text)}")
        page.click("#embed")
        last = page.js("return window.nsse.live.last.place")
        np.testing.assert_allclose(last, exact[row], atol=TOLERANCE)
    for text, answer in (
        ("1.3.2024,mud,2", "Unknown: “mud” in soil. They count as none of the known categories."),
        ("soon,clay,2", "day: “soon” is not a date."),
        ("day,height\n1.3.2024,2", "The line of names lacks soil."),
        ("1.3.2024,clay", "3 entries. There are 2"),
    ):
        page.js(f"window.nsse.live.text.value = {json.dumps(text)}")
        page.click("#embed")
        assert answer in page.text("#live .result")
    assert "radius" not in page.text("#live .result")
    assert "omitted, because this table has categories" in page.text("#radii")
    assert "entries of a row" in page.find("#row").get_attribute("placeholder")
    # The card and the selected sample have the columns of the user.
    page.js(
        "const { stage, points, live } = window.nsse; stage.select(points.nTrain + 3); "
        "live.takeSelected()"
    )
    card, cells = page.text("#sample .values"), lines[4].split(",")
    assert cells[2] in card
    assert page.js("return window.nsse.live.text.value").splitlines()[0] == "day\tsoil\theight"
    np.testing.assert_allclose(page.js("return window.nsse.live.last.place"), exact[3], atol=1e-4)
    assert page.complaints() == []


def test_a_pipeline_with_an_encoder_of_tables_has_a_report(browser, tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["a", "b"], 20)
    frame = pd.DataFrame(
        {"height": rng.normal(3.0 * (kinds == "a"), 1.0), "soil": rng.choice(["clay", "sand"], 40)}
    )
    model = make_pipeline(TableEncoder(), SmoothEmbedding(standardize=True)).fit(frame[::2], kinds[::2])
    assert write_report(tmp_path / "r.html", model, Samples(frame[1::2], kinds[1::2])).live
    page = Page(browser, tmp_path / "r.html")
    assert "Paste a row: height, soil." in page.text("#live")
    page.js("window.nsse.live.text.value = arguments[0]", f"{float(frame.height[1])!r}, {frame.soil[1]}")
    page.click("#embed")
    exact = model.transform(frame[1:2])[0]
    np.testing.assert_allclose(page.js("return window.nsse.live.last.place"), exact, atol=TOLERANCE)
    assert "omitted, because this table has categories" in page.text("#radii")
    assert page.complaints() == []


@pytest.fixture(scope="module", params=[False, True], ids=["gray", "color"])
def pictures_page(request, browser, tmp_path_factory):
    """Return whether images are in color, the model, the path and the samples of a report on images.

    The images have 12 × 10 pixels and norm 1.
    """
    rng = np.random.default_rng(3)
    hues = np.repeat([[0.9, 0.2, 0.1], [0.1, 0.8, 0.3], [0.2, 0.3, 0.9]], 20, axis=0)
    X = (hues[:, np.newaxis] * rng.uniform(0.5, 1.0, (60, 120, 1))).reshape(60, -1)
    X = X if request.param else X[:, ::3] + X[:, 1::3] ** 2
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.repeat(["red", "green", "blue"], 20)
    model = SmoothEmbedding().fit(X[::2], y[::2])
    path = tmp_path_factory.mktemp("pictures") / "r.html"
    prepared = {"kind": "images", "size": [12, 10], "unit_norm": True, "color": request.param}
    assert write_report(path, model, Samples(X[1::2], y[1::2]), preparation=prepared).live
    return request.param, model, path, X


def features_of(path, colour):
    from nsse.datasets._images import read_levels

    features = area_average(read_levels(path, color=colour), (12, 10)).ravel()
    return features / np.linalg.norm(features)


DROP = (
    "const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));"
    "const carried = new DataTransfer();"
    "carried.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }));"
    "document.getElementById('stage').dispatchEvent("
    "  new DragEvent('drop', { dataTransfer: carried, bubbles: true, cancelable: true }))"
)


@pytest.mark.parametrize("way", ["chosen", "dropped"])
def test_a_picture_lands_where_python_puts_it(browser, tmp_path, pictures_page, way):
    from PIL import Image

    colour, model, path, _ = pictures_page
    file = tmp_path / "picture.png"
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, size=(37, 29, 3), dtype=np.uint8)).save(file)
    page = Page(browser, path)
    if way == "chosen":
        page.find("#file").send_keys(str(file))
    else:
        page.js(DROP, base64.b64encode(file.read_bytes()).decode())
    wait_for(browser, "return Boolean(window.nsse.live.last)")
    last = page.js(
        "const { x, place, code, radius } = window.nsse.live.last; return { x, place, code, radius }"
    )
    x = features_of(file, colour)[np.newaxis]
    np.testing.assert_allclose(last["x"], x[0], atol=1e-12)
    np.testing.assert_allclose(last["place"], model.transform(x)[0], atol=TOLERANCE)
    assert model.classes_[last["code"]] == model.predict(x)[0]
    assert last["radius"] == pytest.approx(model.certified_radius(x)[0], rel=TOLERANCE)
    shown = re.search(r"Certified radius (\S+)\. No", page.text("#live .result"))
    assert float(shown.group(1)) <= model.certified_radius(x)[0] < 1.02 * float(shown.group(1))
    assert page.complaints() == []


def test_what_is_no_picture_is_refused_and_black_has_no_norm(browser, tmp_path, pictures_page):
    from PIL import Image

    _, _, path, _ = pictures_page
    (tmp_path / "text.png").write_text("no picture")
    Image.new("L", (20, 20)).save(tmp_path / "black.png")
    page = Page(browser, path)
    for name, words in (("text.png", "not an image"), ("black.png", "its norm is 0")):
        page.find("#file").send_keys(str(tmp_path / name))
        wait_for(
            browser, f"return document.querySelector('#live .result').innerText.includes('{words}')"
        )
        assert page.js("return window.nsse.stage.live") is None
    assert page.complaints() == []


def test_selected_pictures_are_shown_and_painted(browser, pictures_page):
    colour, model, path, X = pictures_page
    page = Page(browser, path)
    page.js("window.nsse.stage.select(3); window.nsse.live.takeSelected()")
    np.testing.assert_allclose(page.js("return window.nsse.live.last.x"), X[6], atol=2e-3)
    pixels = page.js(
        "const c = document.querySelector('.picture');"
        "return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data)"
    )
    shown = np.array(pixels).reshape(120, 4)[:, : 3 if colour else 1]
    np.testing.assert_allclose(shown.ravel() / 255, X[6] / X[6].max(), atol=0.51 / 255)
    before = np.array(page.js("return window.nsse.live.last.place"))
    np.testing.assert_allclose(before, model.embedding_[3], atol=0.05)
    page.click("#pad")
    assert np.abs(np.array(page.js("return window.nsse.live.last.place")) - before).max() > 1e-6
    assert page.js("return Math.hypot(...window.nsse.live.last.x)") == pytest.approx(1.0)
    assert page.complaints() == []
