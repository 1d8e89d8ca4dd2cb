"""Pipelines as people have them: a frame with words, numbers and gaps through a ColumnTransformer."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nsse
from nsse import SmoothEmbedding
from nsse.certificates import (
    ConformalClassifier,
    SelectivePredictor,
    certified_radius,
    lipschitz_bounds,
    risk_coverage,
    typicality,
)
from nsse.report import Samples, write_report

FRUIT = np.array(["apple", "pear", "plum"])


def fruit(n=240):
    """Two columns of numbers and two of words, with gaps, and labels."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, n)
    words = np.where(rng.random(n) < 0.8, np.array(["red", "green", "blue"])[codes], "red")
    frame = pd.DataFrame({
        "size": codes + rng.normal(0, 0.4, n),
        "weight": 100.0 * codes + rng.normal(0, 50.0, n),
        "color": words.astype(object),
        "note": rng.choice(np.array(["a", "b", None], dtype=object), n),
    })  # fmt: skip
    frame.loc[::17, "size"] = np.nan
    frame.loc[::23, "color"] = None
    return frame, FRUIT[codes]


@pytest.fixture(scope="module")
def data():
    frame, y = fruit()
    return frame[:160], y[:160], frame[160:], y[160:]


@pytest.fixture(scope="module", params=["pipeline", "search"])
def model(request, data):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    columns = ColumnTransformer(
        [("numbers", numbers, ["size", "weight"]), ("words", words, ["color", "note"])]
    )
    pipeline = make_pipeline(columns, SmoothEmbedding())
    if request.param == "search":
        pipeline = GridSearchCV(pipeline, {"smoothembedding__sigma": [0.5, 0.9]}, cv=2)
    return pipeline.fit(data[0], data[1])


@pytest.mark.slow
def test_plots_show_themselves(model, data, tmp_path):
    _, _, X, y = data
    for draw in (nsse.plot.embedding, nsse.plot.confusion, nsse.plot.reliability):
        plt.close("all")
        drawn = draw(model, X, y)
        assert plt.get_fignums() == [drawn.figure.number]  # plt.show() finds it
        assert isinstance(drawn.frame, pd.DataFrame)
        drawn.save(tmp_path / "drawn.png")
        assert (tmp_path / "drawn.png").stat().st_size > 5000
    plt.close("all")
    assert nsse.plot.confusion(model, X, y).frame["count"].sum() == len(y)
    assert nsse.plot.reliability(model, X, y).frame["n"].sum() == len(y)
    shown = nsse.plot.embedding(model, X, y).frame
    np.testing.assert_array_equal(shown["y1"][160:], model.transform(X)[:, 0])
    plt.close("all")


@pytest.mark.slow
def test_the_report_shows_the_raw_columns(model, data, tmp_path):
    _, _, X, y = data
    written = write_report(tmp_path / "r.html", model, Samples(X, y))
    assert (written.n_shown, written.live) == (len(y), False)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    rows = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))["rows"]
    assert rows["columns"] == list(X.columns)
    assert [row[2] for row in rows["words"]] == X["color"].fillna("").tolist()
    assert [not row[0] for row in rows["words"]] == X["size"].isna().tolist()
    assert write_report(tmp_path / "r.png", model, Samples(X, y)).bytes > 10_000


@pytest.mark.slow
def test_sets_refusal_and_selection(model, data):
    _, _, X, y = data
    sets = ConformalClassifier(model, alpha=0.1).fit().predict_set(X)
    assert sets[np.arange(len(y)), np.searchsorted(FRUIT, y)].mean() > 0.8
    folds = ConformalClassifier(model, alpha=0.1, cv=4).fit(data[0], data[1]).predict_set(X)
    assert folds[np.arange(len(y)), np.searchsorted(FRUIT, y)].mean() > 0.8
    assert typicality(model, X).shape == y.shape
    careful = SelectivePredictor(model, by="probability", coverage=0.7, rejected="?").fit(X)
    assert np.mean(careful.predict(X) == "?") == pytest.approx(0.3, abs=0.02)
    assert risk_coverage(model, X, y, by="probability").error < 0.2


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X, path: certified_radius(model, X),
        lambda model, X, path: SelectivePredictor(model, coverage=0.8).fit(X),
        lambda model, X, path: nsse.plot.radii(model, X),
        lambda model, X, path: nsse.plot.risk_coverage(model, X, np.repeat(FRUIT[:2], 40)),
        lambda model, X, path: nsse.to_onnx(model),
        lambda model, X, path: nsse.save(model, path),
    ],
    ids=["radius", "selected by radius", "radii", "risk", "onnx", "file"],
)
def test_what_needs_affine_steps_says_so_in_one_line(ask, model, data, tmp_path):
    with pytest.raises((TypeError, ValueError), match=r"affine steps.*ColumnTransformer") as caught:
        ask(model, data[2], tmp_path / "m.nsse")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_bounds_of_a_pipeline_name_its_last_step(model):
    with pytest.raises(TypeError, match=r"`model` must have a kernel map\. .*model\[-1\]"):
        lipschitz_bounds(model)


def test_a_search_is_kept_as_its_best_estimator(data, tmp_path):
    X, y, new, _ = (
        part[["size", "weight"]].fillna(0.0) if k % 2 == 0 else part for k, part in enumerate(data)
    )
    pipeline = make_pipeline(StandardScaler(), SmoothEmbedding())
    search = GridSearchCV(pipeline, {"smoothembedding__sigma": [0.5, 0.9]}, cv=2).fit(X, y)
    nsse.save(search, tmp_path / "m.nsse")
    loaded = nsse.load(tmp_path / "m.nsse")
    assert loaded[-1].sigma == search.best_params_["smoothembedding__sigma"]
    np.testing.assert_array_equal(loaded.predict(new), search.predict(new))
