"""The classifiers of the table: each returns models that were tuned for each radius, with their radii.

All parameters are chosen on five folds of the training samples. One grid search computes the radii of
the held-out samples once for every fit, and the certified accuracy at all radii from them. The choice at
a radius r is that of ``GridSearchCV(model, grid, scoring=certified_accuracy(r))``. Radius 0 is accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse._support.types import Floats, Ints
from nsse.certificates import certified_radius
from reproduction.certified.cells import linear_radii, nearest_neighbor_radii

RADII = (0.1, 0.25, 0.5, 1.0, 1.58)
TUNED_FOR = (0.0, *RADII)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
RadiiOf = Callable[[Any, Floats], Floats]
# Lengths of changes are Euclidean, so the Euclidean metric comes first and wins if accuracies are equal.
GRID = [
    {"metric": ["euclidean"], "sigma": [0.5, 0.65, 1.0, 1.6, 4.0], "smoothness": [0.1, 1.0, 10.0]},
    {"metric": ["within"], "sigma": [0.65, 1.0, 2.5], "smoothness": [0.1, 1.0]},
]
PENALTIES = {"C": [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0]}


@dataclass(frozen=True)
class Tuned:
    """A fitted model, the radii of its labels, what was chosen, and whether radii are exact."""

    model: Any
    radii: RadiiOf
    chosen: Mapping[str, Any]
    is_exact: bool


def certified_curve(radii_of: RadiiOf) -> Callable[[Any, Floats, Ints], dict[str, float]]:
    """Return a scorer of the certified accuracy at all radii, named by the radius."""

    def score(model: Any, X: Floats, y: Ints) -> dict[str, float]:
        right, radii = model.predict(X) == y, radii_of(model, X)
        return {str(radius): float(np.mean(right & (radii >= radius))) for radius in TUNED_FOR}

    return score


def searched(
    model: Any, grid: Any, radii_of: RadiiOf, is_exact: bool
) -> Callable[[Floats, Ints], dict[float, Tuned]]:
    """Return a method that tunes a model for every radius."""

    def fit(X: Floats, y: Ints) -> dict[float, Tuned]:
        scoring = certified_curve(radii_of)
        search = GridSearchCV(model, grid, scoring=scoring, refit=False, cv=FOLDS).fit(X, y)
        found: dict[float, Tuned] = {}
        fitted: dict[int, Any] = {}
        for radius in TUNED_FOR:
            place = int(np.argmax(search.cv_results_[f"mean_test_{radius}"]))
            chosen = search.cv_results_["params"][place]
            if place not in fitted:
                fitted[place] = clone(model).set_params(**chosen).fit(X, y)
            found[radius] = Tuned(fitted[place], radii_of, chosen, is_exact)
        return found

    return fit


def stack(X: Floats, y: Ints) -> dict[float, Tuned]:
    """`SmoothEmbeddingCV` with its default parameters, which minimize the log-loss."""
    model = SmoothEmbeddingCV().fit(X, y)
    return {0.0: Tuned(model, certified_radius, {"members": len(model.members_)}, False)}


def nearest_neighbor(X: Floats, y: Ints) -> dict[float, Tuned]:
    """The nearest training sample, which has no parameters."""
    model = KNeighborsClassifier(1).fit(X, y)

    def radii(model: Any, X_new: Floats) -> Floats:
        return nearest_neighbor_radii(X, y, X_new)

    return {0.0: Tuned(model, radii, {}, True)}


OURS = ("SmoothEmbedding", "SmoothEmbeddingCV")
METHODS: dict[str, Callable[[Floats, Ints], dict[float, Tuned]]] = {
    "SmoothEmbedding": searched(SmoothEmbedding(), GRID, certified_radius, False),
    "1-NN": nearest_neighbor,
    "linear SVM": searched(LinearSVC(max_iter=2000, random_state=0), PENALTIES, linear_radii, True),
    "logistic regression": searched(LogisticRegression(max_iter=500), PENALTIES, linear_radii, True),
    "SmoothEmbeddingCV": stack,
}
