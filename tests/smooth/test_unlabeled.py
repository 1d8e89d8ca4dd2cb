"""Uses of unlabeled samples that a user writes: what a fit does with them, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import GridSearchCV

from nsse import SmoothEmbedding, SmoothEmbeddingCV, load, save
from nsse.unlabeled import GraphPenalty, LabelPropagation, UnlabeledUse

X, LABELS = load_digits(return_X_y=True)
X, LABELS, NEW, NEW_LABELS = X[:300], LABELS[:300], X[300:], LABELS[300:]
Y = np.where(np.arange(300) < 100, LABELS, -1)


class NearestLabel(UnlabeledUse):
    """Give every unlabeled row the label of the nearest labeled row."""

    is_exact = True

    def __init__(self, marker=-1):
        self.marker = marker

    def labels(self, near):
        Z, known = near.held(), near.is_labeled
        nearest = pairwise_distances_argmin(Z, Z[known])
        return replace(near, codes=np.where(known, near.codes, near.codes[known][nearest]))


class SmallCoefficients(UnlabeledUse):
    """Use unlabeled rows as centers, and penalize the squares of all coefficients."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def sums(self, near, of_block):
        total = super().sums(near, of_block)
        return replace(total, products=total.products + self.penalty * np.eye(len(total.products)))


@pytest.mark.parametrize("centers", [None, np.arange(0, 300, 6)], ids=["exact", "centers"])
def test_a_use_gives_labels_before_the_model_learns(centers):
    """The model is the one of these labels, in a metric and with a width that do not depend on them."""
    known = Y >= 0
    given = np.where(known, Y, Y[known][pairwise_distances_argmin(X, X[known])])
    settings = {"metric": "euclidean", "centers": centers}
    model = SmoothEmbedding(unlabeled=NearestLabel(), **settings).fit(X, Y)
    expected = SmoothEmbedding(**settings).fit(X, given)
    # With fewer centers, the unit of the width comes from the labeled rows.
    expected.set_params(sigma=expected.sigma * model.sigma_ / expected.sigma_).fit(X, given)
    np.testing.assert_allclose(model.transform(NEW), expected.transform(NEW), atol=1e-9)
    assert model.score(NEW, NEW_LABELS) > 0.75


def test_a_use_that_defines_nothing_has_unlabeled_rows_as_centers():
    known = Y >= 0
    model = SmoothEmbedding(metric="euclidean", unlabeled=UnlabeledUse()).fit(X, Y)
    expected = SmoothEmbedding(metric="euclidean", centers=X).fit(X[known], Y[known])
    np.testing.assert_allclose(model.transform(NEW), expected.transform(NEW), atol=1e-9)


def test_a_use_adds_a_penalty():
    """The coefficients satisfy (K'WK + λ K_ZZ + penalty I) C = K'T, of the definition in `ridge`."""
    model = SmoothEmbedding(metric="euclidean", unlabeled=SmallCoefficients(2.0)).fit(X, Y)
    known = Y >= 0
    squares = ((model.centers_[:, np.newaxis] - X) ** 2).sum(axis=2)
    K = np.exp(-squares / model.sigma_**2)
    order = np.argmin(squares, axis=1)
    A = K[:, known] @ K[:, known].T + model.smoothness * K[:, order] + 2.0 * np.eye(len(K))
    E = np.eye(10)[Y[known]]
    C = np.linalg.solve(A, K[:, known] @ (E - E.mean(axis=0)))
    coordinates, *_ = np.linalg.lstsq(C, model.coef_, rcond=None)
    np.testing.assert_allclose(C @ coordinates, model.coef_, atol=1e-8)
    plain = SmoothEmbedding(metric="euclidean", unlabeled=UnlabeledUse()).fit(X, Y)
    assert np.linalg.norm(model.coef_) < np.linalg.norm(plain.coef_)


def test_parameters_of_a_use_are_those_of_an_estimator():
    model = SmoothEmbedding(unlabeled=SmallCoefficients())
    assert clone(model).set_params(unlabeled__penalty=3.0).unlabeled.penalty == 3.0
    search = GridSearchCV(model, {"unlabeled__penalty": [0.1, 10.0]}, cv=2).fit(X[:60], LABELS[:60])
    assert search.best_params_["unlabeled__penalty"] == 0.1
    words = SmoothEmbedding(unlabeled=NearestLabel("?")).fit(X, np.where(Y < 0, "?", Y.astype(str)))
    assert list(words.classes_) == sorted("0123456789")


def test_a_model_is_saved_without_the_use_of_the_user(tmp_path):
    model = SmoothEmbedding(unlabeled=NearestLabel()).fit(X, Y)
    with pytest.raises(ValueError, match="`unlabeled` to be saved"):
        save(model, tmp_path / "model.nsse")
    save(model.set_params(unlabeled=None), tmp_path / "model.nsse")
    predicted = load(tmp_path / "model.nsse").predict_proba(NEW)
    np.testing.assert_array_equal(predicted, model.predict_proba(NEW))


class Duck:
    """Not a subclass."""

    marker, is_exact = -1, False

    def labels(self, near):
        return near

    def sums(self, near, of_block):
        return near.source.fold(of_block, near.codes, near.weights)


class Returning(UnlabeledUse):
    """Return what `change` makes of the codes."""

    def __init__(self, change, is_exact=False):
        self.change = change
        self.is_exact = is_exact

    def labels(self, near):
        return self.change(near)


class ExactWithSums(SmallCoefficients):
    is_exact = True


class ExactWithRoughness(GraphPenalty):
    is_exact = True


WRONG = {
    "a duck": (Duck(), "be None, a GraphPenalty, a LabelPropagation"),
    "a class": (NearestLabel, "be None, a GraphPenalty, a LabelPropagation"),
    "no rows": (Returning(lambda near: None), "return from `labels`"),
    "fewer": (Returning(lambda near: replace(near, codes=near.codes[:5])), "return from `labels`"),
    "fractions": (Returning(lambda near: replace(near, codes=near.codes * 1.0)), "return from `labels`"),
    "no class": (Returning(lambda near: replace(near, codes=near.codes + 10)), "keep labels"),
    "changed": (Returning(lambda near: replace(near, codes=near.codes[::-1])), "keep labels"),
    "not exact": (Returning(lambda near: near, is_exact=True), "keep labels"),
    "unused sums": (ExactWithSums(), "leave `is_exact` False"),
    "unused roughness": (ExactWithRoughness(), "leave `is_exact` False"),
}


@pytest.mark.parametrize(("use", "rule"), WRONG.values(), ids=WRONG)
def test_wrong_uses_are_refused(use, rule):
    model = SmoothEmbedding(unlabeled=use)
    with pytest.raises(ValueError, match=f"`unlabeled` must {rule}"):
        model.fit(X, Y)
    assert not hasattr(model, "map_")


def test_the_search_compares_the_use_of_the_user_with_none():
    search = SmoothEmbeddingCV(SmoothEmbedding(unlabeled=NearestLabel()), random_state=0).fit(X, Y)
    uses = [setting["unlabeled"] for setting in search.cv_results_["params"]]
    assert {type(use) for use in uses} == {type(None), NearestLabel}
    assert len(search.transduction_) == len(X)


def test_uses_have_a_base_class():
    assert all(issubclass(kind, UnlabeledUse) for kind in (GraphPenalty, LabelPropagation))
