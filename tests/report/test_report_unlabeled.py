"""The report tells training samples that had no label from those that had one."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from browser import Page
from nsse import NSSE
from nsse.report import Samples, write_report


def few_digits(n_samples=300):
    X, y = load_digits(return_X_y=True)
    few = np.full(n_samples, -1)
    for c in range(10):
        few[np.flatnonzero(y[:n_samples] == c)[:6]] = c
    return X[:n_samples], few, X[n_samples : n_samples + 40], y[n_samples : n_samples + 40]


def test_they_are_hollow_and_told_of(browser, tmp_path):
    X, few, new, truth = few_digits()
    model = NSSE(unlabeled=-1).fit(X, few)
    write_report(tmp_path / "r.html", model, Samples(new, truth))
    page = Page(browser, tmp_path / "r.html")
    kinds = page.js("return [...document.querySelectorAll('#kinds .chip')].map((c) => c.textContent)")
    assert "Training, no label, hollow240" in kinds
    assert "Training, outlined60" in kinds
    assert "240 of the 300 training samples had no label" in page.text("body")
    assert page.complaints() == []
