"""Probabilities and sets of labels in a report: those of the model, by samples that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from browser import Page
from nsse import NSSE, NSSECV
from nsse.certificates import ConformalClassifier
from nsse.report import Samples, write_report
from nsse.report.explorer.facts import probability_sentence, set_sentence
from nsse.report.explorer.models import find


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:80], y[:80], X[80:380], y[80:380]


@pytest.mark.parametrize(
    "model", [NSSE(), NSSECV(n_repeats=2), make_pipeline(StandardScaler(), NSSE())], ids=str
)
def test_they_are_those_of_the_model(model, digits):
    X, y, new, labels = digits
    chances = find(model.fit(X, y), Samples(new, labels)).chances
    np.testing.assert_allclose(chances.probabilities, model.predict_proba(new), atol=1e-12)
    assert chances.log_loss == pytest.approx(log_loss(labels, model.predict_proba(new)))
    assert sum(each[2] for each in chances.curve) == chances.n_samples == len(labels)
    assert chances.sets.threshold == ConformalClassifier(model).fit(new, labels).thresholds_[0]


def test_every_sample_has_its_set_from_the_others(digits):
    X, y, new, labels = digits
    model = NSSE().fit(X, y)
    sets = find(model, Samples(new, labels)).chances.sets
    for i in range(0, len(labels), 7):
        others = np.arange(len(labels)) != i
        alone = ConformalClassifier(model).fit(new[others], labels[others])
        np.testing.assert_array_equal(sets.members[i], alone.predict_set(new[i : i + 1])[0])
    assert sets.coverage == sets.members[np.arange(len(labels)), labels].mean()
    assert sets.coverage >= 0.89


def test_training_samples_and_strangers_tell_nothing(digits):
    X, y, new, labels = digits
    model = NSSE().fit(X[y < 9], y[y < 9])
    alone = find(model, Samples(new[labels < 9], labels[labels < 9])).chances
    among = find(model, Samples(np.r_[new, X], np.r_[labels, y])).chances
    assert among.sets.threshold == alone.sets.threshold
    assert among.sets.n_samples == among.n_samples == (labels < 9).sum()
    assert among.log_loss == pytest.approx(alone.log_loss)


def test_what_is_not_known_is_said(digits):
    X, y, new, labels = digits
    unlabelled = find(NSSE().fit(X, y), Samples(new))
    assert unlabelled.chances.curve == ()
    assert unlabelled.chances.probabilities is not None
    assert "No labelled sample that the model has not seen" in probability_sentence(unlabelled)
    assert "need 9 labelled samples that the model has not seen; here are 0" in set_sentence(unlabelled)
    nearest = find(NSSE.as_published().fit(X, y), Samples(new, labels))
    assert nearest.chances.probabilities is None
    assert nearest.chances.sets is not None  # by distances
    assert "no probabilities but 0 and 1" in probability_sentence(nearest)
    few = find(NSSE(classifier=LinearSVC()).fit(X, y), Samples(new[:5], labels[:5]))
    assert few.chances.sets is None
    alone = find(NSSE().fit(X, y), Samples(None))
    assert alone.chances.sets is None


def test_the_page_says_them(browser, tmp_path, digits):
    X, y, new, labels = digits
    model = NSSE().fit(X, y)
    write_report(tmp_path / "page.html", model, Samples(new, labels))
    page = Page(browser, tmp_path / "page.html")
    P, wrong = model.predict_proba(new), np.flatnonzero(model.predict(new) != labels)
    sets = find(model, Samples(new, labels)).chances.sets
    sizes = sets.members.sum(axis=1)
    for i in (int(wrong[0]), int(sizes.argmin()), int(sizes.argmax())):
        page.js("const { stage, points } = window.nsse; stage.select(points.nTrain + arguments[0])", i)
        said = page.text("#sample-body")
        assert f"Probability {100 * P[i].max():.1f} %" in said
        *others, last = [str(c) for c in np.flatnonzero(sets.members[i])] or ["empty"]
        joined = f"{', '.join(others)} or {last}" if others else last
        assert f"Set at 90 %: {joined}" in said
    assert f"of {labels[wrong[0]]}, the label, {100 * P[wrong[0], labels[wrong[0]]]:.1f} %" in page.js(
        "const { points } = window.nsse; window.nsse.stage.select(points.nTrain + arguments[0]);"
        "return document.querySelector('#sample-body').textContent",
        int(wrong[0]),
    )
    assert f"Log-loss {log_loss(labels, P):.3f} over 300 test samples" in page.text("#chances")
    assert "300 samples that the model has not seen" in page.text("#chances")
    curve = find(model, Samples(new, labels)).chances.curve
    assert page.js("return document.querySelectorAll('#chances .dot').length") == len(curve)
    page.js("window.nsse.live.show(Float64Array.from(arguments[0]))", new[wrong[0]].tolist())
    assert f"Probability {100 * P[wrong[0]].max():.1f} %" in page.text("#live .result")
    assert "by the labels of 300 test samples" in page.text("#live .result")
    assert page.complaints() == []


def test_a_page_without_them_shows_no_panel(browser, tmp_path, digits):
    X, y, new, _ = digits
    write_report(tmp_path / "page.html", NSSE.as_published().fit(X, y), Samples(new))
    page = Page(browser, tmp_path / "page.html")
    assert not page.find("#chances").is_displayed()
    page.js("window.nsse.stage.select(window.nsse.points.nTrain)")
    assert "Probability" not in page.text("#sample-body")
    assert page.complaints() == []


def test_the_static_twin_draws_the_curve(tmp_path, digits):
    pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'nsse[plot]'")
    from nsse.report.plots import report_figure

    X, y, new, labels = digits
    findings = find(NSSE().fit(X, y), Samples(new, labels))
    (drawn,) = [
        line
        for axes in report_figure(findings, "").axes
        for line in axes.lines
        if line.get_gid() == "reliability"
    ]
    expected = 100 * np.array([each[3:] for each in findings.chances.curve])
    np.testing.assert_allclose(np.c_[drawn.get_xdata(), drawn.get_ydata()], expected)
