"""What a classifier does with f(x), written as affine scores: the label of the largest one wins.

Nearest neighbours and centroids compare ‖f − y_i‖², that is 2y_i'f − ‖y_i‖²; linear classifiers have
such scores from the start. Of other classifiers nothing is proved here: they are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._compat import remembered_neighbors
from nsse._support.errors import rule_error
from nsse.extensions import ClassScores, NearestSample, squared_size
from nsse.graphs import tie_share, tie_width

Floats = NDArray[np.float64]

EUCLIDEAN = "measure Euclidean distances"


@dataclass(frozen=True)
class Tie:
    """Which squared distances count as equal, by `tie_width`: the size of the embedding and a share."""

    size2: float
    share: float

    def width(self, D2: float) -> float:
        """How far above ``D2`` others tie with it."""
        return float(tie_width(D2, self.size2, self.share))

    def share_in(self, dtype: Any) -> float:
        """The share where distances are computed in a coarser precision."""
        return max(self.share, tie_share(dtype))


@dataclass(frozen=True)
class Decision:
    """Scores s_r(f) = w_r'f + b_r, each with a class; the largest decides, or the `n_votes` largest.

    Attributes
    ----------
    weights : ndarray of shape (n_scores, n_components)
        The w_r.
    offsets : ndarray of shape (n_scores,)
        The b_r.
    codes : ndarray of int, shape (n_scores,)
        Place in `classes` of every score's label.
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    labels : callable
        The classifier's own labels for rows of f(x).
    n_votes : int
        The k of the k nearest neighbours; 1 for all others.
    by_distance : bool
        Whether the classifier computes distances, and so rounds ‖f‖² along with its scores.
    tie : Tie or None
        Which scores count as equal, so that the first of them decides; None leaves it to rounding.

    See Also
    --------
    nsse.certificates.decision_of : That of a fitted model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import decision_of
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> decision = decision_of(model)
    >>> scores = model.transform(X[:4]) @ decision.weights.T + decision.offsets
    >>> decision.classes[decision.codes[scores.argmax(axis=1)]]
    array([0, 0, 0, 0])
    """

    weights: Floats
    offsets: Floats
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    labels: Callable[[NDArray[Any]], NDArray[Any]]
    n_votes: int = 1
    by_distance: bool = False
    tie: Tie | None = None

    def rounding(self, largest_norm: float, dtype: Any) -> float:
        """How wrong a computed score may be for an exact ‖f‖ ≤ `largest_norm`, given in `dtype`."""
        eps, d = float(np.finfo(dtype).eps), self.weights.shape[1]
        widest = float(np.linalg.norm(self.weights, axis=1).max())
        magnitude = widest * largest_norm + float(np.abs(self.offsets).max())
        if self.by_distance:
            magnitude += (largest_norm + widest) ** 2
        # A score that ties with the largest one may decide in its place.
        behind = 0.0 if self.tie is None else self.tie.width((largest_norm + widest / 2.0) ** 2)
        return 2.0 * (d + 8) * eps * magnitude + behind


def decision_of(model: Any) -> Decision:
    """The affine form of a fitted model's classifier.

    Parameters
    ----------
    model : estimator
        Fitted, with ``classifier_`` and ``classes_``; ``classifier_ = None`` takes the largest
        coordinate of the map, as `MReg` does.

    Returns
    -------
    Decision
        Its scores.

    See Also
    --------
    nsse.certificates.expansion_of : The map that the rule reads.

    Examples
    --------
    >>> from nsse.certificates import decision_of
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> type(decision_of(model)).__name__
    'Decision'
    """
    classifier = model.classifier_
    if classifier is None:
        return _largest_coordinate(model.classes_)
    known = _known_classifiers()
    if type(classifier) not in known:
        rule = f"be one whose decision is known in closed form ({', '.join(k.__name__ for k in known)})"
        cure = "Choose one of these, or go without a certificate."
        raise rule_error("classifier", rule, classifier, cure)
    return known[type(classifier)](classifier)


def _known_classifiers() -> dict[type, Callable[[Any], Decision]]:
    """By exact type: a subclass may decide otherwise. Imported at use, few need them all."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import (
        LogisticRegression,
        LogisticRegressionCV,
        Perceptron,
        RidgeClassifier,
        RidgeClassifierCV,
        SGDClassifier,
    )
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.svm import LinearSVC

    linear = (
        LinearDiscriminantAnalysis,
        LinearSVC,
        LogisticRegression,
        LogisticRegressionCV,
        Perceptron,
        RidgeClassifier,
        RidgeClassifierCV,
        SGDClassifier,
    )
    return {
        NearestSample: _nearest_sample,
        KNeighborsClassifier: _nearest_neighbors,
        NearestCentroid: _nearest_centroid,
        ClassScores: _class_scores,
        **dict.fromkeys(linear, _linear),
    }


def _nearest_sample(classifier: NearestSample) -> Decision:
    points, codes, _ = remembered_neighbors(classifier)
    decision = _by_distance(points, codes, classifier, 1)
    return replace(decision, tie=Tie(squared_size(points), tie_share(points.dtype)))


def _nearest_neighbors(classifier: Any) -> Decision:
    points, codes, metric = remembered_neighbors(classifier)
    _must(metric == "euclidean", EUCLIDEAN, metric, 'Use KNeighborsClassifier with metric="euclidean".')
    k = int(classifier.n_neighbors)
    # One vote is one vote, however it is weighted by distance.
    equal = classifier.weights in (None, "uniform") or (k == 1 and classifier.weights == "distance")
    cure = 'Use KNeighborsClassifier with weights="uniform".'
    _must(equal, "count its neighbours equally", classifier.weights, cure)
    return _by_distance(points, codes, classifier, k)


def _nearest_centroid(classifier: Any) -> Decision:
    classes, metric, priors = classifier.classes_, classifier.metric, classifier.class_prior_
    _must(metric == "euclidean", EUCLIDEAN, metric, 'Use NearestCentroid with metric="euclidean".')
    same = np.isclose(priors, 1 / len(classes)).all()
    _must(same, "give all classes the same prior", priors, 'Use NearestCentroid with priors="uniform".')
    return _by_distance(classifier.centroids_, np.arange(len(classes)), classifier, 1)


def _must(fits: Any, rule: str, got: Any, cure: str) -> None:
    if not fits:
        raise rule_error("classifier", f"{rule} to be certified", got, cure)


def _by_distance(points: NDArray[Any], codes: NDArray[Any], classifier: Any, k: int) -> Decision:
    """‖f − y‖² ≤ ‖f − y'‖² is the same as 2y'f − ‖y‖² ≥ 2y''f − ‖y'‖²."""
    Y = np.asarray(points, dtype=np.float64)
    return Decision(
        weights=2.0 * Y,
        offsets=-np.einsum("ij,ij->i", Y, Y),
        codes=np.asarray(codes, dtype=np.intp),
        classes=classifier.classes_,
        labels=classifier.predict,
        n_votes=k,
        by_distance=True,
    )


def _linear(classifier: Any) -> Decision:
    W = np.atleast_2d(np.asarray(classifier.coef_, dtype=np.float64))
    b = np.broadcast_to(np.asarray(classifier.intercept_, dtype=np.float64), len(W))
    if len(W) == 1:  # two classes: the sign of one score decides
        W, b = np.vstack([np.zeros_like(W), W]), np.append(0.0, b)
    return Decision(W, np.array(b), np.arange(len(W)), classifier.classes_, classifier.predict)


def _class_scores(classifier: ClassScores) -> Decision:
    W, b = classifier.coef_, classifier.intercept_
    return Decision(W, b, np.arange(len(W)), classifier.classes_, classifier.predict)


def _largest_coordinate(classes: NDArray[Any]) -> Decision:
    M = len(classes)

    def labels(scores: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(classes[scores.argmax(axis=1)])

    return Decision(np.eye(M), np.zeros(M), np.arange(M), classes, labels)
