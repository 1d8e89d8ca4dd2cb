"""How clearly a classifier speaks for each class at points of an embedding; the largest is the label's.

Its own decision function where it has one with a column per class; minus the distance to the nearest
sample or centroid of every class; else its probabilities, which for k neighbours are shares of votes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from nsse._compat import remembered_neighbors
from nsse.extensions.nearest import NearestSample, nearest_of_classes
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


def _values(classifier: Any, Y: NDArray[Any], n_classes: int) -> Floats:
    if isinstance(classifier, NearestSample):
        points, codes, _ = remembered_neighbors(classifier)
        return -nearest_of_classes(points, codes, Y, n_classes)
    if isinstance(classifier, NearestCentroid) and classifier.metric == "euclidean":
        return -np.sqrt(Shifted.of(classifier.centroids_).squared_distances_from(Y))
    own_columns = getattr(classifier, "decision_function_shape", "ovr") != "ovo"
    if hasattr(classifier, "decision_function") and (own_columns or n_classes == 2):
        values = np.asarray(classifier.decision_function(Y), dtype=np.float64)
        return np.c_[-values / 2, values / 2] if values.ndim == 1 else values
    if isinstance(classifier, KNeighborsClassifier) or hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(Y), dtype=np.float64)
    # All that is left to say is the label.
    return np.eye(n_classes)[np.searchsorted(classifier.classes_, classifier.predict(Y))]
