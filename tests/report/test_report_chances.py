"""Probabilities and sets of labels in a report: those of the model, by samples that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from browser import Page
from nsse import NSSE
from nsse.certificates import ConformalClassifier
from nsse.report import Samples, write_report


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:80], y[:80], X[80:380], y[80:380]


def test_the_page_says_them(browser, tmp_path, digits):
    X, y, new, labels = digits
    model = NSSE().fit(X, y)
    write_report(tmp_path / "page.html", model, Samples(new, labels))
    page = Page(browser, tmp_path / "page.html")
    P, wrong = model.predict_proba(new), np.flatnonzero(model.predict(new) != labels)
    for i in (int(wrong[0]), 0, 7):
        others = np.arange(len(labels)) != i
        members = ConformalClassifier(model).fit(new[others], labels[others]).predict_set(new[[i]])[0]
        page.js("const { stage, points } = window.nsse; stage.select(points.nTrain + arguments[0])", i)
        said = page.text("#sample-body")
        assert f"Probability {100 * P[i].max():.1f} %" in said
        *first, last = [str(c) for c in np.flatnonzero(members)] or ["empty"]
        joined = f"{', '.join(first)} or {last}" if first else last
        assert f"Set at 90 %: {joined}" in said
    assert f"of {labels[wrong[0]]}, the label, {100 * P[wrong[0], labels[wrong[0]]]:.1f} %" in page.js(
        "const { points } = window.nsse; window.nsse.stage.select(points.nTrain + arguments[0]);"
        "return document.querySelector('#sample-body').textContent",
        int(wrong[0]),
    )
    assert f"Log-loss {log_loss(labels, P):.3f} over 300 test samples" in page.text("#chances")
    assert "300 samples that the model has not seen" in page.text("#chances")
    assert page.js("return document.querySelectorAll('#chances .dot').length") > 2
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
