"""What a classifier's probabilities are made of, for those who compute them elsewhere: graphs, pages.

A decision has seen affine scores, or counts of votes, on its way to the label; probabilities follow from
these by one of a few rules. What a classifier says by `decision_function` is one of three kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from nsse.extensions import ClassScores, NearestSample, knows_more, unit_of_margins

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chances:
    """How probabilities follow from what a decision has seen.

    Attributes
    ----------
    rule : {"label", "softmax", "sigmoids", "shares"}
        "label" is sure of the label, as far as ``sharpness`` says, and gives the rest to all classes
        alike; "softmax" takes exp of scores times ``sharpness`` over their sum; "sigmoids" a logistic
        function of each score, over their sum; "shares" those of the votes.
    sharpness : float
        See there.
    weights, offsets : ndarray or None
        Affine scores of the classes, where they are others than the decision's.
    """

    rule: Literal["label", "softmax", "sigmoids", "shares"]
    sharpness: float = 1.0
    weights: Floats | None = None
    offsets: Floats | None = None


def chances_of(classifier: Any, n_voters: int = 1) -> Chances | None:
    """The rule of a fitted classifier, one of several voters or alone; None where none is known."""
    if not knows_more(classifier):
        # Of V voters, one that knows its label alone is sure of it to V/(V + 1).
        return Chances("label", n_voters / (n_voters + 1.0) if n_voters > 1 else 1.0)
    if isinstance(classifier, ClassScores):
        assert classifier.temperature is not None  # it knows more than the label
        return Chances("softmax", 1.0 / float(classifier.temperature))
    if isinstance(classifier, KNeighborsClassifier):
        return Chances("shares")
    if isinstance(classifier, NearestCentroid):
        return Chances("softmax", 1.0, *_densities(classifier))
    if isinstance(classifier, LogisticRegression | LinearDiscriminantAnalysis):
        return Chances("sigmoids" if _one_against_rest(classifier) else "softmax")
    if isinstance(classifier, SGDClassifier) and classifier.loss == "log_loss":
        return Chances("sigmoids" if len(classifier.classes_) > 2 else "softmax")
    return None


@dataclass(frozen=True)
class Margins:
    """What `extensions.class_margins` gives of a classifier whose decision is known.

    Attributes
    ----------
    kind : {"distances", "votes", "scores"}
        Minus the distance to the nearest of every class, by how much it wins the vote of neighbours, or
        affine scores.
    unit : float
        What they are multiplied by among those of other voters.
    """

    kind: Literal["distances", "votes", "scores"] = "scores"
    unit: float = 1.0


def margins_of(classifier: Any) -> Margins:
    """The margins of a fitted classifier."""
    unit = unit_of_margins(classifier)
    if isinstance(classifier, NearestSample | NearestCentroid):
        return Margins("distances", unit)
    return Margins("votes" if isinstance(classifier, KNeighborsClassifier) else "scores", unit)


def _one_against_rest(classifier: Any) -> bool:
    """Whether a logistic regression of several classes is one of each: older versions have it."""
    named = getattr(classifier, "multi_class", None) == "ovr"
    alone = named or getattr(classifier, "solver", None) == "liblinear"
    return len(classifier.classes_) > 2 and alone


def _densities(classifier: Any) -> tuple[Floats, Floats]:
    """Normal densities around centroids, −‖(f − m_c)/s‖² + 2 log π_c, less what all have in common."""
    spread = np.asarray(classifier.within_class_std_dev_, dtype=np.float64)
    spread = np.where(spread == 0.0, 1.0, spread)
    centroids = np.asarray(classifier.centroids_, dtype=np.float64)
    mean = centroids.mean(axis=0)
    Z = (centroids - mean) / spread
    weights = 2.0 * Z / spread
    offsets = 2.0 * np.log(classifier.class_prior_) - np.einsum("ij,ij->i", Z, Z) - weights @ mean
    return weights, np.asarray(offsets)
