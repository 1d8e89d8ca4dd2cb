"""How clearly a classifier speaks for each class at points of an embedding; the largest is the label's.

Its own decision function where it has one with a column per class; minus the distance to the nearest
sample or centroid of every class; of k neighbours, by how much all distances may change before the class
loses the vote, or wins it; else its probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from nsse._compat import remembered_neighbors
from nsse.extensions.nearest import NearestSample, nearest_of_classes, vote_of_neighbors
from nsse.extensions.scores import ClassScores
from nsse.extensions.temperature import as_columns
from nsse.kernels import Shifted

Floats = NDArray[np.float64]


def has_margins(classifier: Any) -> bool:
    """Whether a classifier, fitted or not, says more than a label; None or a name is one of ours."""
    if classifier is None or isinstance(classifier, str | NearestCentroid):
        return True
    return hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")


def knows_more(classifier: Any) -> bool:
    """Whether a fitted classifier has probabilities other than 0 and 1."""
    if isinstance(classifier, ClassScores):
        return classifier.temperature is not None
    return hasattr(classifier, "predict_proba") and not isinstance(classifier, NearestSample)


def class_margins(classifier: Any, Y: NDArray[Any]) -> Any:
    """A column for every class, of two classes one; the largest, or the sign, is that of `predict`.

    Parameters
    ----------
    classifier : estimator
        Fitted on an embedding.
    Y : ndarray of shape (n_samples, n_components)
        Points of it.
    """
    classes = classifier.classes_
    codes = np.searchsorted(classes, classifier.predict(Y))
    return as_columns(_values(classifier, Y, len(classes)), codes.astype(np.intp))


def class_leads(classifier: Any, Y: NDArray[Any]) -> Floats:
    """By how much each class leads the best of the others, s_c − max_{j≠c} s_j, two classes alike.

    Scores of classes are in units of their temperature, so that those of several models compare.
    """
    values = np.asarray(class_margins(classifier, Y), dtype=np.float64)
    columns = np.c_[-values / 2, values / 2] if values.ndim == 1 else values
    return leads(columns) * unit_of_margins(classifier)


def unit_of_margins(classifier: Any) -> float:
    """What margins are multiplied by where several models are compared: 1/τ of scores, else 1."""
    scored = isinstance(classifier, ClassScores) and classifier.temperature is not None
    return 1.0 / float(classifier.temperature) if scored else 1.0


def leads(scores: Floats) -> Floats:
    """Every score less the largest of the others in its row."""
    order = np.sort(scores, axis=1)
    largest, second = order[:, -1:], order[:, -2:-1]
    return np.asarray(scores - np.where(scores == largest, second, largest))


def counts_neighbors(classifier: Any) -> bool:
    """Whether it counts its k nearest neighbours alike, by Euclidean distances."""
    if not isinstance(classifier, KNeighborsClassifier):
        return False
    alike = classifier.weights in (None, "uniform") or (
        classifier.n_neighbors == 1 and classifier.weights == "distance"
    )
    return bool(alike and remembered_neighbors(classifier)[2] == "euclidean")


def _values(classifier: Any, Y: NDArray[Any], n_classes: int) -> Floats:
    if isinstance(classifier, NearestSample):
        points, codes, _ = remembered_neighbors(classifier)
        return -nearest_of_classes(points, codes, Y, n_classes)
    if counts_neighbors(classifier):
        points, codes, _ = remembered_neighbors(classifier)
        return vote_of_neighbors(points, codes, Y, n_classes, int(classifier.n_neighbors))
    if isinstance(classifier, NearestCentroid) and classifier.metric == "euclidean":
        return -np.sqrt(Shifted.of(classifier.centroids_).squared_distances_from(Y))
    own_columns = getattr(classifier, "decision_function_shape", "ovr") != "ovo"
    if hasattr(classifier, "decision_function") and (own_columns or n_classes == 2):
        values = np.asarray(classifier.decision_function(Y), dtype=np.float64)
        return np.c_[-values / 2, values / 2] if values.ndim == 1 else values
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(Y), dtype=np.float64)
    # All that is left to say is the label.
    return np.eye(n_classes)[np.searchsorted(classifier.classes_, classifier.predict(Y))]
