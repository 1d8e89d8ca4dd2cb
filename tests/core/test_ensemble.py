"""`EnsembleMap`: a weighted sum of the class values of several models as one map."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nsse import SmoothEmbedding
from nsse.ensemble import EnsembleMap
from nsse.maps import Member

WEIGHTS = (3.0, 0.5, 1.5)


@pytest.fixture(scope="module")
def models():
    X, y = load_digits(return_X_y=True)
    settings = ({}, {"decision": "nearest", "sigma": 1.0}, {"metric": "euclidean", "smoothness": 1.0})
    return [SmoothEmbedding(**own).fit(X[:150], y[:150]) for own in settings]


@pytest.fixture(scope="module")
def ensemble(models):
    parts = [Member(m.map_, m.scores_, w) for m, w in zip(models, WEIGHTS, strict=True)]
    rotation = np.linalg.qr(np.eye(10)[:, :9] - 0.1)[0]
    return EnsembleMap(tuple(parts), rotation)


@pytest.fixture(scope="module")
def new():
    return load_digits().data[200:240]


def by_definition(models, x):
    """S(x) by loops: the largest function of each class of each member."""
    total = np.zeros(10)
    for model, weight in zip(models, WEIGHTS, strict=True):
        f = model.map_(x[np.newaxis])[0]
        for c in range(10):
            own = np.flatnonzero(model.scores_.codes == c)
            total[c] += weight * max(
                model.scores_.weights[i] @ f + model.scores_.offsets[i] for i in own
            )
    return total - total.mean()


def test_values_are_the_weighted_sum(models, ensemble, new):
    for x, scores, f in zip(new, ensemble.class_scores(new), ensemble(new), strict=True):
        np.testing.assert_allclose(scores, by_definition(models, x), atol=1e-10)
        np.testing.assert_allclose(f @ ensemble.rotation.T, scores, atol=1e-10)


def test_the_jacobian_agrees_with_differences(ensemble, new):
    x, step = new[0], 1e-5
    J = ensemble.jacobian(new[:1])[0]
    for j in (10, 20, 30, 43):
        move = step * np.eye(64)[j]
        difference = (ensemble((x + move)[np.newaxis]) - ensemble((x - move)[np.newaxis]))[0] / (
            2 * step
        )
        np.testing.assert_allclose(J[:, j], difference, atol=1e-7)
