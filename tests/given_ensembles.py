"""Make ensembles of given models and weights, as a search makes them of its models."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from nsse import SmoothEmbeddingCV
from nsse.base import EmbeddingClassifier
from nsse.ensemble import EnsembleMap
from nsse.maps import Member
from nsse.scores import Scores


def rotation_of(n_classes):
    """Return a matrix with orthonormal columns that add up to zero."""
    return np.linalg.qr(np.eye(n_classes)[:, :-1] - 1.0 / n_classes)[0]


def made_of(estimator, models, weights, X, temperature=1.0):
    """Give an estimator the fitted attributes of an ensemble of models that were fitted to ``X``."""
    first = models[0]
    n_classes = len(first.classes_)
    V = rotation_of(n_classes)
    parts = [Member(m.map_, m.scores_, float(w)) for m, w in zip(models, weights, strict=True)]
    codes = np.arange(n_classes)
    estimator.map_ = EnsembleMap(tuple(parts), V)
    estimator.scores_ = Scores(first.classes_, V, np.zeros(n_classes), codes, float(temperature))
    estimator.members_, estimator.weights_ = list(models), np.asarray(weights, dtype=np.float64)
    estimator.best_estimator_ = models[int(np.argmax(weights))]
    estimator.classes_, estimator.labels_ = first.classes_, first.labels_
    estimator.n_features_in_ = first.n_features_in_
    estimator.embedding_ = estimator.map_(X)
    return estimator


def ensemble_of(models, weights, X, temperature=1.0):
    """Return a fitted search with these members, which were fitted to ``X``, and weights."""
    return made_of(SmoothEmbeddingCV(), models, weights, X, temperature)


class GivenEnsemble(EmbeddingClassifier):
    """An estimator that fits an ensemble of given models with given weights."""

    _takes_other_namespaces = True

    def __init__(self, models, weights, temperature=1.0):
        self.models = models
        self.weights = weights
        self.temperature = temperature

    def fit(self, X, y):
        fitted = [clone(model).fit(X, y) for model in self.models]
        return made_of(self, fitted, self.weights, X, self.temperature)
