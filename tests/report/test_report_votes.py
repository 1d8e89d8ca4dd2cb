"""Reports, figures and measures of a vote speak of the vote; drawn is the best map, and they say so."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import nsse.plot
from nsse import NSSECV
from nsse.certificates import SelectivePredictor, certified_radius, expansion_of, risk_coverage
from nsse.report import Samples, write_report


@pytest.fixture(scope="module")
def digits():
    """Few samples, so that voters disagree: a model that votes and samples that it has not seen."""
    X, y = load_digits(return_X_y=True)
    X = X[:, :40]  # less than there is to see
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = NSSECV(n_repeats=4, n_voters=6).fit(X[:60], y[:60])
    new, labels = X[60:560], y[60:560]
    differ = int((model.predict(new) != model.best_estimator_.predict(new)).sum())
    assert differ > 5, "they never disagree: nothing is tested"
    return model, new, labels, differ


@pytest.mark.slow
def test_the_page_says_so(digits, tmp_path):
    model, X, y, _ = digits
    assert write_report(tmp_path / "page.html", model, Samples(X, y)).live
    text = (tmp_path / "page.html").read_text()
    wrong = int((model.predict(X) != y).sum())
    said = re.search(r"The vote of (\d+) NSSE maps mislabels (\d+) of 500", text)
    assert said.groups() == (str(len(model.voters_)), str(wrong))
    write_report(tmp_path / "page.png", model, Samples(X, y))


@pytest.mark.slow
def test_figures_are_those_of_the_vote(digits):
    model, X, y, _ = digits
    for frame in (nsse.plot.embedding(model, X, y)[1], model.plot(X, y)[1]):
        said = np.array(frame["predicted"])[np.array(frame["set"]) == "test"]
        np.testing.assert_array_equal(said, model.predict(X).astype(str))
    np.testing.assert_array_equal(nsse.plot.radii(model, X, y)[1]["radius"], model.certified_radius(X))
    counts = nsse.plot.confusion(model, X, y)[1]
    wrong = [n for a, b, n in zip(*counts.values(), strict=True) if a != b]
    assert sum(wrong) == (model.predict(X) != y).sum()
    frame = nsse.plot.risk_coverage(model, X, y)[1]
    assert frame["risk"][-1] == pytest.approx((model.predict(X) != y).mean())


def test_risk_coverage_and_rejects_take_a_vote(digits):
    model, X, y, _ = digits
    np.testing.assert_array_equal(certified_radius(model, X), model.certified_radius(X))
    assert risk_coverage(model, X, y).error == pytest.approx((model.predict(X) != y).mean())
    careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(X)
    kept = careful.predict(X) != -1
    assert 0.8 <= kept.mean() < 1
    np.testing.assert_array_equal(careful.predict(X)[kept], model.predict(X)[kept])


def test_what_needs_one_map_names_the_one_to_pass(digits):
    with pytest.raises(TypeError, match=r"Got 'NSSECV'. Pass its `best_estimator_`"):
        expansion_of(digits[0])
    with pytest.raises(TypeError, match="Got 'StandardScaler'"):
        certified_radius(StandardScaler(), digits[1])


def test_labels_are_the_most_probable_ones(digits):
    model, X, _, _ = digits
    shares = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_labels_are_the_most_probable_ones_of_any_classifier():
    """The mean of soft probabilities may favour another class than most voters do."""
    X, y = load_digits(return_X_y=True)
    base = nsse.NSSE(classifier=LogisticRegression(max_iter=1000))
    model = NSSECV(base, n_repeats=3, n_voters=6).fit(X[:60], y[:60])
    assert len(model.voters_) > 1
    shares = model.predict_proba(X[60:])
    np.testing.assert_array_equal(model.predict(X[60:]), model.classes_[shares.argmax(axis=1)])
