"""Targets that are not supported raise an error that says so, in every estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.methods import LFDA, MReg

X, Y = load_iris(return_X_y=True)
ESTIMATORS = [SmoothEmbedding(), SmoothEmbeddingCV(), NSSE(), WithinMetric(), LFDA(), MReg()]
SEVERAL = [np.eye(3, dtype=int)[Y], np.column_stack([Y, Y]), X[:, :2], np.eye(3)[Y].tolist()]
SEVERAL += [[[1, 2], [3]] * 75, [{1}, {2, 3}] * 75]
KINDS = ["multilabel", "multioutput", "two numbers", "lists", "lists of different lengths", "sets"]


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_regression_targets_are_refused(model):
    with pytest.raises(ValueError, match=r"`y` must contain class labels.*Regression is not supported"):
        model.fit(X, X[:, 0])


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
@pytest.mark.parametrize("targets", SEVERAL, ids=KINDS)
def test_several_labels_per_sample_are_refused(model, targets):
    with pytest.raises(ValueError, match=r"`y` must contain one class label per sample.*MultiOutput"):
        model.fit(X, targets)


def test_a_column_of_labels_is_accepted():
    with pytest.warns(UserWarning, match="column-vector"):
        model = SmoothEmbedding().fit(X, Y[:, np.newaxis])
    np.testing.assert_array_equal(model.predict(X), SmoothEmbedding().fit(X, Y).predict(X))


def test_partial_fit_refuses_them_too():
    with pytest.raises(ValueError, match="`y` must contain one class label per sample"):
        SmoothEmbedding(centers=20).partial_fit(X, SEVERAL[0])
