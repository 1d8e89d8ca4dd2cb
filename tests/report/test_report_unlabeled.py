"""The report tells training samples that had no label from those that had one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from browser import Page
from nsse import NSSE, NSSECV
from nsse.report import Samples, write_report
from nsse.report.explorer.facts import about_labels
from nsse.report.explorer.models import find


def few_digits(n_samples=300):
    X, y = load_digits(return_X_y=True)
    few = np.full(n_samples, -1)
    for c in range(10):
        few[np.flatnonzero(y[:n_samples] == c)[:6]] = c
    return X[:n_samples], few, X[n_samples : n_samples + 40], y[n_samples : n_samples + 40]


@pytest.mark.parametrize("search", [False, True])
def test_what_is_found(search):
    X, few, new, truth = few_digits()
    base = NSSE(unlabeled=-1)
    model = (NSSECV(estimator=base, n_repeats=2) if search else base).fit(X, few)
    findings = find(model, Samples(new, truth))
    np.testing.assert_array_equal(findings.train.unlabelled, few < 0)
    np.testing.assert_array_equal(findings.train.codes, model.transduction_)
    assert findings.classes == tuple("0123456789")
    certainty = model.predict_proba(X).max(axis=1)
    hidden = few < 0
    np.testing.assert_allclose(findings.train.certainty[hidden], certainty[hidden], atol=1e-6)
    np.testing.assert_array_equal(findings.train.certainty[~hidden], 0.0)
    assert "240 of the 300 training samples had no label" in about_labels(findings)[-1]


def test_without_such_samples_nothing_is_said():
    X, few, new, truth = few_digits()
    findings = find(NSSE(unlabeled=-1).fit(X[few >= 0], few[few >= 0]), Samples(new, truth))
    assert findings.train.unlabelled is None
    assert not any("no label" in line for line in about_labels(findings))


def test_they_are_hollow_and_told_of(browser, tmp_path):
    X, few, new, truth = few_digits()
    model = NSSE(unlabeled=-1).fit(X, few)
    write_report(tmp_path / "r.html", model, Samples(new, truth))
    page = Page(browser, tmp_path / "r.html")
    kinds = page.js("return [...document.querySelectorAll('#kinds .chip')].map((c) => c.textContent)")
    assert "Training, no label, hollow240" in kinds
    assert "Training, outlined60" in kinds
    assert page.complaints() == []
