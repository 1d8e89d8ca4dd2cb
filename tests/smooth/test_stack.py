"""The weights of a stack, seen from the search that uses them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from nsse import SmoothEmbedding, SmoothEmbeddingCV

X, Y = load_wine(return_X_y=True)
OWN = SmoothEmbedding(metric="euclidean", standardize=True, smoothness=1.0)


def fitted(monkeypatch, prior, grid=None):
    """A search whose weights are held to the user's model with this strength."""
    monkeypatch.setattr("nsse.stack.PRIOR", prior)
    search = SmoothEmbeddingCV(OWN, grid=grid, slope_penalty=0.0, random_state=0)
    return search.fit(X[::3], Y[::3])


def test_a_stack_that_is_held_to_the_model_of_the_user_is_this_model(monkeypatch):
    search = fitted(monkeypatch, 1e6)
    assert [model.smoothness for model in search.members_] == [1.0]
    np.testing.assert_array_equal(search.predict(X), OWN.fit(X[::3], Y[::3]).predict(X))


def test_the_model_of_the_user_is_held_at_its_best_temperature(monkeypatch):
    """Of a single candidate, the weight with the lowest log-loss is the inverse of its temperature."""
    alone = {"sigma": [OWN.sigma], "smoothness": [1.0], "decision": ["scores"]}
    held, free = (fitted(monkeypatch, prior, alone) for prior in (1e6, 0.0))
    assert len(held.members_) == len(free.members_) == 1
    assert held.weights_[0] == pytest.approx(free.weights_[0], rel=0.1)


def test_a_scorer_sees_the_best_candidates_of_the_first_split_on_all_splits(monkeypatch):
    monkeypatch.setattr("nsse.halving.SCORED_ROUNDS", ((None, 1), (1, 4)))
    sigmas = [0.01, 0.02, 0.6, 100.0]
    grid = {"sigma": sigmas, "smoothness": [1.0], "decision": ["scores"]}
    own = SmoothEmbedding(metric="euclidean", standardize=True, sigma=0.02, smoothness=1.0)
    search = SmoothEmbeddingCV(own, grid=grid, scoring="neg_log_loss", random_state=0)
    search.fit(X[::3], Y[::3])
    # The model of the user stays, and the best of the others stays with it.
    assert [one["sigma"] for one in search.cv_results_["params"]] == [0.02, 0.6]


def test_coordinates_of_a_search_count_copies_as_weights():
    rows, labels = X[::3], Y[::3]
    weights = np.where(labels == 0, 4.0, 1.0)
    copies = np.repeat(np.arange(len(rows)), weights.astype(int))
    search = SmoothEmbeddingCV(SmoothEmbedding(standardize=True), random_state=0)
    weighted = search.fit(rows, labels, sample_weight=weights).transform(X)
    copied = search.fit(rows[copies], labels[copies]).transform(X)
    np.testing.assert_allclose(copied, weighted, atol=1e-5)
