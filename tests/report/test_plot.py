"""Tests of plots and their frames, shown and saved, and of the static report."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import image
from matplotlib.figure import Figure
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix

import nsse
from nsse import NSSE, SmoothEmbedding, figures
from nsse.certificates import risk_coverage
from nsse.certificates.reliability import EDGES, reliability_curve
from nsse.methods import LFDA, NYS
from nsse.plot import Plot
from nsse.report import Samples, write_report

PLOTS = {
    "class_map": nsse.plot.class_map,
    "embedding": nsse.plot.embedding,
    "confusion": nsse.plot.confusion,
    "radii": nsse.plot.radii,
    "reliability": nsse.plot.reliability,
    "risk_coverage": nsse.plot.risk_coverage,
    "trace": lambda model, X, y, **options: nsse.plot.trace(model, **options),
}


@pytest.fixture(scope="module")
def fitted(digits):
    return NSSE(n_components=4).fit(digits.X[::2], digits.codes[::2])


@pytest.fixture(scope="module")
def unseen(digits):
    return digits.X[1::2], digits.codes[1::2]


@pytest.mark.slow
def test_a_confusion_matrix_says_which_way_round_it_is_and_can_be_read():
    X = np.random.default_rng(0).normal(scale=9, size=(50, 8))
    names = [f"species {k}" for k in range(50)]
    model = SmoothEmbedding(metric=None).fit(np.repeat(X, 2, axis=0), np.repeat(names, 2))
    figure = nsse.plot.confusion(model, X, names).figure
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted label", "true label")
    figure.draw_without_rendering()
    words = [*figure.texts, axes.xaxis.label, axes.yaxis.label]
    for text in [*words, *axes.get_xticklabels(), *axes.get_yticklabels()]:
        assert figure.bbox.fully_containsx(text.get_window_extent().x0)
        assert figure.bbox.fully_containsy(text.get_window_extent().y0)
    assert axes.get_yticklabels()[0].get_fontsize() > 7


@pytest.mark.slow
def test_plot_is_a_method_of_every_model(fitted, unseen):
    assert set(fitted.plot().frame["set"]) == {"training"}
    pd.testing.assert_frame_equal(fitted.plot(*unseen).frame, nsse.plot.class_map(fitted, *unseen).frame)
    assert fitted.plot(unseen[0]).frame["label"][100:].isna().all()


@pytest.mark.slow
def test_frames_are_those_of_the_definitions(fitted, unseen):
    X, y = unseen
    predicted, P = fitted.predict(X), fitted.predict_proba(X)
    trace = nsse.plot.trace(fitted)
    assert trace.frame.to_dict("list") == fitted.trace_.to_dict()
    (line,) = [line for line in trace.figure.axes[0].lines if line.get_gid() == "excess"]
    np.testing.assert_array_equal(line.get_xdata(), np.sort(trace.frame["sigma"]))
    counts = np.zeros((10, 10), dtype=int)
    for label, said, count in nsse.plot.confusion(fitted, X, y).frame.itertuples(index=False):
        counts[int(label), int(said)] = count
    np.testing.assert_array_equal(counts, confusion_matrix(y, predicted))
    radii = nsse.plot.radii(fitted, X, y).frame
    np.testing.assert_array_equal(radii["radius"], fitted.certified_radius(X))
    np.testing.assert_array_equal(radii["wrong"], predicted != y)
    assert "wrong" not in nsse.plot.radii(fitted, X).frame
    risk = nsse.plot.risk_coverage(fitted, X, y).frame
    assert risk.to_dict("list") == risk_coverage(fitted, X, y).to_dict()
    curve = nsse.plot.reliability(fitted, X, y).frame
    assert curve[["low", "high", "n", "mean", "right"]].to_numpy().tolist() == [
        list(each) for each in reliability_curve(P.max(axis=1), predicted == y, EDGES)
    ]
    for n, right, low, high in curve[["n", "right", "right_low", "right_high"]].to_numpy():
        exact = binomtest(round(n * right), int(n)).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_shown_saved_and_told_in_a_line(fitted, unseen, name, tmp_path):
    plot = PLOTS[name](fitted, *unseen)
    assert isinstance(plot, Plot)
    data, size = plot._repr_png_()
    (tmp_path / "p.png").write_bytes(data)
    height, width, _ = image.imread(tmp_path / "p.png").shape
    assert (width, height) == (int(figures.SHARP * size["width"]), int(figures.SHARP * size["height"]))
    assert image.imread(tmp_path / "p.png").std() > 0.01, "an empty picture"
    assert len(repr(plot)) < 200
    assert "\n" not in repr(plot)
    assert plot[0] is plot.figure
    assert plot[1] is plot.frame
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        plot.save(tmp_path / f"p{suffix}")
        assert (tmp_path / f"p{suffix}").read_bytes().startswith(magic)
    with pytest.raises(ValueError, match=r"`path` must end in .png, .svg, .pdf. Got 'p.txt'"):
        plot.save("p.txt")


@pytest.mark.slow
@pytest.mark.parametrize("name", PLOTS)
def test_plots_draw_on_axes_that_are_given(fitted, unseen, name):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    plot = PLOTS[name](fitted, *unseen, ax=right)
    assert plot.figure is figure
    pd.testing.assert_frame_equal(plot.frame, PLOTS[name](fitted, *unseen).frame)
    assert plot._repr_png_() is None  # it is shown with the figure that it is on
    assert pickle.loads(pickle.dumps(plot))._repr_png_() is None
    assert not left.has_data()
    assert right.has_data()
    assert right.get_title(loc="left")
    for ax in ("axes", figure, 3):
        with pytest.raises(ValueError, match=r"`ax` must be the axes of a matplotlib figure. Got"):
            PLOTS[name](fitted, *unseen, ax=ax)


SCRIPT = """
import sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from nsse import SmoothEmbedding
X, y = load_iris(return_X_y=True)
model = SmoothEmbedding().fit(X[::3], y[::3])
seen = []
plt.show = lambda: seen.append(plt.get_fignums())
first, second = model.plot(X, y), model.plot()
assert plt.gcf() is second.figure, "plt.show() would not find it"
first.show()
assert seen == [[1, 2]], seen
assert model.plot(ax=plt.subplots()[1]).figure is plt.gcf()
assert plt.get_fignums() == [1, 2, 3]
sys.modules["pandas"] = None
import importlib.util
importlib.util.find_spec = lambda name: None
import nsse._support.frames as frames
frames.find_spec = lambda name: None
assert isinstance(model.plot().frame, dict)
"""


@pytest.mark.slow
def test_pyplot_finds_figures_in_a_script_and_frames_are_dicts_without_pandas():
    subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], check=True)


@pytest.mark.slow
def test_what_cannot_be_drawn_is_refused(fitted, unseen, digits):
    X, y = unseen
    with pytest.raises(TypeError, match=r"`model` must search for its kernel scale. Got 'LFDA'"):
        nsse.plot.trace(LFDA(n_components=3).fit(X, y))
    with pytest.raises(
        TypeError, match=r"`model` must have a kernel or linear map to be certified. Got 'NYS"
    ):
        nsse.plot.radii(NYS().fit(X, y), X)
    for draw in (nsse.plot.confusion, nsse.plot.risk_coverage, nsse.plot.reliability):
        with pytest.raises(ValueError, match=r"`y` must be given to count mistakes"):
            draw(fitted, X, None)
    with pytest.raises(ValueError, match=r"`X` must contain samples that the model was not fitted to"):
        nsse.plot.reliability(fitted, digits.X[::2], digits.codes[::2])


@pytest.mark.slow
def test_confusion_and_reliability_take_any_classifier(unseen, digits):
    X, y = unseen
    model = LogisticRegression(max_iter=2000).fit(digits.X[::2], digits.codes[::2])
    frame = nsse.plot.confusion(model, X, y).frame
    assert frame["count"][frame["label"] != frame["predicted"]].sum() == (model.predict(X) != y).sum()
    assert nsse.plot.reliability(model, X, y).frame["n"].sum() == len(y)
    assert f" of {len(y)} samples (" in title_of(nsse.plot.confusion(model, X, y))
    strangers = nsse.plot.confusion(
        model, X, np.where(y == 3, 77, y)
    ).frame  # 77 is not a class of the model
    assert strangers["count"][strangers["label"] == 77].sum() == (y == 3).sum()


@pytest.mark.slow
def test_confusion_states_how_many_samples_are_training_samples(digits):
    X, y = digits.X, digits.codes
    model = SmoothEmbedding().fit(X[::2], y[::2])
    title = title_of(nsse.plot.confusion(model, X[::2], y[::2]))
    assert title.startswith(f"SmoothEmbedding mislabels none of {len(y[::2])} training samples (")
    title = title_of(nsse.plot.confusion(model, X, y))
    assert f" of {len(y)} samples, {len(y[::2])} of them training samples (" in title


def title_of(plot):
    return plot.figure.texts[0].get_text()


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


@pytest.mark.slow
def test_the_static_twin_without_labels_or_certificates(tmp_path, unseen):
    model = NYS().fit(*unseen)
    assert write_report(tmp_path / "r.png", model, Samples(unseen[0])).bytes > 10_000
