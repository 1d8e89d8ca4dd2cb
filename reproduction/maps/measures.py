"""What is measured of a map. Every measure is a function of positions, or of a function that places.

`accuracy`, `gap` and `null` are about classes, `trust` and `structure` about features, `alone` and
`refit` about how much a position depends on other samples.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import procrustes
from scipy.stats import spearmanr
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier

from nsse._support.types import Floats, Ints
from reproduction.maps.methods import N_NEIGHBORS, FittedMap, Place

# Neighbors of trustworthiness and continuity; trees of importances; samples that are placed alone.
N_TRUSTED, N_TREES, N_ALONE = 10, 50, 10


def accuracy(train: Floats, y_train: Ints, test: Floats, y_test: Ints) -> float:
    """Return the accuracy of five nearest neighbors, from training to test positions."""
    return float(KNeighborsClassifier(N_NEIGHBORS).fit(train, y_train).score(test, y_test))


def left_out_accuracy(train: Floats, y: Ints) -> float:
    """Return the accuracy of five nearest neighbors for training positions, each left out."""
    nearest = KNeighborsClassifier(N_NEIGHBORS).fit(train, y)
    return float(np.mean(nearest.predict(None) == y))


def silhouette(F: Floats, y: Ints) -> float:
    """Return the mean silhouette, 0 if all positions are the same."""
    return float(silhouette_score(F, y)) if np.ptp(F, axis=0).max() > 0 else 0.0


@dataclass(frozen=True)
class Unseen:
    """The test samples of a split, with what all maps of the split are compared with."""

    X: Floats
    y: Ints

    @cached_property
    def neighbors(self) -> tuple[Ints, Ints]:
        """The nearest neighbors of every sample, and the ranks of all others by their distance."""
        return _neighbors_and_ranks(self.X)

    @cached_property
    def importances(self) -> Floats:
        """The importance of every feature for the classes."""
        return label_importances(self.X, self.y)


def _neighbors_and_ranks(X: Floats) -> tuple[Ints, Ints]:
    from zadu.measures.utils.knn import knn_with_ranking

    found: tuple[Ints, Ints] = knn_with_ranking(X, min(N_TRUSTED, len(X) // 2 - 1))
    return found


def trust(unseen: Unseen, F: Floats) -> dict[str, float]:
    """Return trustworthiness and continuity of test positions, by the package ``zadu``.

    A map is trustworthy if neighbors in it are neighbors in the data. It is continuous if neighbors in
    the data are neighbors in it. Both are 1 at best.
    """
    from zadu.measures import trustworthiness_continuity

    ranking = *unseen.neighbors, *_neighbors_and_ranks(F)
    k = ranking[0].shape[1]
    found = trustworthiness_continuity.measure(unseen.X, F, k=k, knn_ranking_info=ranking)
    return {name: float(found[name]) for name in ("trustworthiness", "continuity")}


def label_importances(X: Floats, y: Ints) -> Floats:
    """Return the importance of every feature for the classes of samples, by extremely random trees."""
    return np.asarray(ExtraTreesClassifier(N_TREES, random_state=0).fit(X, y).feature_importances_)


def position_importances(X: Floats, F: Floats) -> Floats:
    """Return the importance of every feature for the positions of samples.

    Coordinates count by their variance.
    """
    trees = ExtraTreesRegressor(N_TREES, max_features="sqrt", random_state=0)
    return np.asarray(trees.fit(X, F / max(F.std(axis=0).max(), 1e-300)).feature_importances_)


def structure(unseen: Unseen, F: Floats) -> float:
    """Return the rank correlation of feature importances for the classes and for the positions."""
    own = position_importances(unseen.X, F)
    if np.ptp(own) == 0 or np.ptp(unseen.importances) == 0:
        return 0.0
    return float(spearmanr(unseen.importances, own).statistic)


def alone(place: Place, X: Floats, F: Floats) -> float:
    """Return how far samples move if each of the first ten is placed alone.

    It is a root mean square, relative to the spread of all test positions ``F``.
    """
    some = X[:N_ALONE]
    by_itself = np.vstack([place(x[np.newaxis]) for x in some])
    moved = np.sqrt(np.mean(np.sum((by_itself - F[: len(some)]) ** 2, axis=1)))
    return float(moved / spread(F))


def spread(F: Floats) -> float:
    """Return the root mean square distance of positions from their mean."""
    return float(max(np.sqrt(np.sum(F.var(axis=0))), 1e-300))


def refit(
    fit: Callable[[Floats, Ints], list[FittedMap]], X: Floats, y: Ints, X_test: Floats, seed: int
) -> dict[str, float]:
    """Return how much the test positions of two fits to bootstrap samples differ, by map.

    It is the Procrustes distance, from 0 for maps of the same form to 1. Every class keeps its number of
    samples.
    """
    rng = np.random.default_rng(seed)
    first, second = (
        {one.name: one.place(X_test) for one in fit(X[rows], y[rows])}
        for rows in (bootstrap(y, rng), bootstrap(y, rng))
    )
    return {name: procrustes_distance(first[name], second[name]) for name in first}


def bootstrap(y: Ints, rng: np.random.Generator) -> Ints:
    """Return the places of a bootstrap sample of every class, which has two different ones at least."""
    found = []
    for code in np.unique(y):
        own = np.flatnonzero(y == code)
        drawn = rng.choice(own, len(own))
        drawn[:2] = rng.choice(own, min(2, len(own)), replace=False)
        found.append(drawn)
    return np.concatenate(found)


def procrustes_distance(F: Floats, G: Floats) -> float:
    """Return the Procrustes distance of positions, 1 if one of the maps is constant."""
    width = max(F.shape[1], G.shape[1])
    F, G = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (F, G))
    if spread(F) <= 1e-300 or spread(G) <= 1e-300:
        return 1.0
    return float(procrustes(F, G)[2])


def n_bytes(model: object) -> int:
    """Return the size of a pickled model."""
    return len(pickle.dumps(model))
