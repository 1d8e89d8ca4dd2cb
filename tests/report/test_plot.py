"""Figures of a fitted model and their frames; the static twin of the report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import LFDA, NSSE
from nsse.certificates import risk_coverage
from nsse.report import Samples, write_report


@pytest.fixture(scope="module")
def fitted(digits):
    return NSSE.as_published(n_components=4).fit(digits.X[::2], digits.codes[::2])


@pytest.fixture(scope="module")
def unseen(digits):
    return digits.X[1::2], digits.codes[1::2]


@pytest.mark.slow
def test_embedding_frame_holds_every_sample(fitted, unseen, digits):
    X, y = unseen
    figure, frame = nsse.plot.embedding(fitted, X, y)
    assert frame["set"] == ["train"] * 100 + ["test"] * 100
    coordinates = np.column_stack([frame[f"y{k}"] for k in range(1, 5)])
    np.testing.assert_array_equal(coordinates, np.vstack([fitted.embedding_, fitted.transform(X)]))
    assert frame["label"] == [str(label) for label in [*digits.codes[::2], *y]]
    assert frame["predicted"][100:] == [str(label) for label in fitted.predict(X)]
    drawn = {dots.get_gid(): dots.get_offsets() for axes in figure.axes for dots in axes.collections}
    np.testing.assert_allclose(drawn["NSSE-test"], np.column_stack([frame["x"], frame["y"]])[100:])
    assert len(drawn["NSSE-wrong"]) == (fitted.predict(X) != y).sum()


def test_plot_is_a_method_of_every_model(fitted, unseen):
    figure, frame = fitted.plot()
    assert set(frame["set"]) == {"train"}
    assert figure.axes
    _, frame = fitted.plot(*unseen)
    assert frame == nsse.plot.embedding(fitted, *unseen)[1]
    _, frame = fitted.plot(unseen[0])
    assert frame["label"][100:] == [None] * 100


def test_frames_go_into_pandas_and_polars(fitted, unseen):
    frames = [
        nsse.plot.embedding(fitted, *unseen)[1],
        nsse.plot.trace(fitted)[1],
        nsse.plot.confusion(fitted, *unseen)[1],
        nsse.plot.radii(fitted, *unseen)[1],
        nsse.plot.risk_coverage(fitted, *unseen)[1],
    ]
    for frame in frames:
        assert (
            pd.DataFrame(frame).shape
            == pl.DataFrame(frame).shape
            == (len(frame[next(iter(frame))]), len(frame))
        )


def test_trace_is_that_of_the_fit(fitted):
    figure, frame = nsse.plot.trace(fitted)
    assert frame == fitted.trace_.to_dict()
    (axes,) = figure.axes
    (line,) = [line for line in axes.lines if line.get_gid() == "excess"]
    order = np.argsort(frame["sigma"])
    np.testing.assert_array_equal(line.get_xdata(), np.array(frame["sigma"])[order])
    np.testing.assert_array_equal(line.get_ydata(), np.array(frame["excess"])[order])


def test_confusion_counts_as_scikit_learn_does(fitted, unseen):
    X, y = unseen
    _, frame = nsse.plot.confusion(fitted, X, y)
    counts = np.zeros((10, 10), dtype=int)
    for label, said, count in zip(frame["label"], frame["predicted"], frame["count"], strict=True):
        counts[int(label), int(said)] = count
    np.testing.assert_array_equal(counts, confusion_matrix(y, fitted.predict(X)))


def test_radii_and_risk_are_those_of_the_certificates(fitted, unseen):
    X, y = unseen
    _, frame = nsse.plot.radii(fitted, X, y)
    np.testing.assert_array_equal(frame["radius"], fitted.certified_radius(X))
    np.testing.assert_array_equal(frame["wrong"], fitted.predict(X) != y)
    assert "wrong" not in nsse.plot.radii(fitted, X)[1]
    _, frame = nsse.plot.risk_coverage(fitted, X, y)
    assert frame == risk_coverage(fitted, X, y).to_dict()


@pytest.mark.parametrize("draw", [nsse.plot.confusion, nsse.plot.risk_coverage])
def test_titles_end_before_the_page_does(draw, digits):
    few = digits.codes < 2  # two classes make the narrowest page
    figure, _ = draw(NSSE().fit(digits.X[few], digits.codes[few]), digits.X[few], digits.codes[few])
    width = figure.get_window_extent().width
    assert figure.texts
    assert all(text.get_window_extent().x1 < width for text in figure.texts)


def test_pipelines_are_drawn_too(digits, unseen):
    model = make_pipeline(StandardScaler(), NSSE.as_published(n_components=4)).fit(
        digits.X[::2], digits.codes[::2]
    )
    _, frame = nsse.plot.embedding(model, *unseen)
    np.testing.assert_array_equal(frame["y1"][100:], model.transform(unseen[0])[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_static_twin_is_one_figure(tmp_path, fitted, unseen, suffix, magic):
    for name in ("a", "b"):
        summary = write_report(tmp_path / f"{name}.{suffix}", fitted, Samples(*unseen), title="Digits")
        assert (summary.n_train, summary.n_shown, summary.live) == (100, 100, False)
    written = (tmp_path / f"a.{suffix}").read_bytes()
    assert written.startswith(magic)
    assert len(written) == summary.bytes
    assert written == (tmp_path / f"b.{suffix}").read_bytes()


def test_the_static_twin_without_labels_certificates_or_trace(tmp_path, unseen, digits):
    model = LFDA(n_components=3).fit(digits.X[::2], digits.codes[::2])
    assert write_report(tmp_path / "r.png", model, Samples(unseen[0])).bytes > 10_000


@pytest.mark.slow
def test_the_page_on_the_report_runs(tmp_path, run_page):
    assert run_page("report.md")["n_blocks"] == 2
    assert {path.name for path in tmp_path.iterdir()} == {"digits.html", "risk.png", "digits.png"}
