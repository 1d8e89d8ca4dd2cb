"""What `predict_proba` makes of the scores that a label is read from, in ONNX operations.

A rule takes what the decision has seen on its way to the label, the scores of the classes or the counts
of the votes, and gives a row of probabilities; `write_chances` takes the mean of the voters' and sees to
it that the label has the largest, as `certificates.votes.vote_chances` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from nsse.certificates.votes import CASTING
from nsse.exports.operations import Interpreter, Read, one_hot
from nsse.extensions import ClassScores, knows_more

# How a classifier's probabilities follow from what was read off an embedding.
Rule = Callable[[Interpreter, Read], Any]


def rules_of(classifiers: Sequence[Any]) -> list[Rule] | None:
    """How each classifier, one of several that vote or one alone, gives probabilities; None if any cannot."""
    n_voters = len(classifiers)
    # Of several voters one that knows its label alone is not sure of it.
    sure = n_voters / (n_voters + 1.0) if n_voters > 1 else 1.0
    rules = [_rule(classifier) if knows_more(classifier) else _label(sure) for classifier in classifiers]
    known = [rule for rule in rules if rule is not None]
    return known if len(known) == len(rules) else None


def write_chances(told: Interpreter, read: Sequence[Read], rules: Sequence[Rule], code: Any) -> Any:
    """The mean of the probabilities of voters, that of the label, ``code``, the first largest."""
    rows = [rule(told, one) for rule, one in zip(rules, read, strict=True)]
    P = rows[0]
    for other in rows[1:]:
        P = told("Add", P, other)
    if len(rows) > 1:
        P = told("Mul", P, told.constant(np.array(1.0 / len(rows))))
    return _agreeing(told, P, code, read[0].n_classes)


def _agreeing(told: Interpreter, P: Any, code: Any, n_classes: int) -> Any:
    """`certificates.votes.agreeing`: where another class has the largest, the label is raised above it."""
    place = told("ArgMax", P, axis=1, keepdims=1)
    largest = told("GatherElements", P, place, axis=1)
    casting = max(CASTING, 8.0 * float(np.finfo(told.dtype).eps))
    same = told("Cast", told("Equal", place, code), to=told.proto_type)
    off = told("Sub", told.constant(np.array(1.0)), same)
    # A factor of 1 + 1e-9 onnxruntime takes for 1, and leaves out.
    more = told("Mul", largest, told.constant(np.array(casting)))
    above = told("Mul", told("Add", largest, more), off)
    raised = told("Max", P, told("Mul", one_hot(told, code, n_classes), above))
    return told("Div", raised, told("ReduceSum", raised, axes=[1], keepdims=1))


def _rule(classifier: Any) -> Rule | None:
    if isinstance(classifier, ClassScores):
        return _softmax(1.0 / float(classifier.temperature))  # type: ignore[arg-type]  # it has one
    if isinstance(classifier, KNeighborsClassifier):
        return _shares(int(classifier.n_neighbors))
    if isinstance(classifier, NearestCentroid):
        return _centroids(classifier)
    if isinstance(classifier, LogisticRegression | LinearDiscriminantAnalysis):
        alone = len(classifier.classes_) > 2 and _one_against_rest(classifier)
        return _sigmoids if alone else _softmax(1.0)
    if isinstance(classifier, SGDClassifier) and classifier.loss == "log_loss":
        return _sigmoids if len(classifier.classes_) > 2 else _softmax(1.0)
    return None


def _one_against_rest(classifier: Any) -> bool:
    """Whether a logistic regression of several classes is one of each: older versions have it."""
    named = getattr(classifier, "multi_class", None) == "ovr"
    return named or getattr(classifier, "solver", None) == "liblinear"


def _label(sure: float) -> Rule:
    """So much for the label, the rest for all classes alike."""

    def rule(told: Interpreter, read: Read) -> Any:
        marks = one_hot(told, read.code, read.n_classes)
        if sure == 1.0:
            return marks
        rest = told.constant(np.array((1.0 - sure) / read.n_classes))
        return told("Add", told("Mul", marks, told.constant(np.array(sure))), rest)

    return rule


def _softmax(sharpness: float) -> Rule:
    """exp(s/τ) over their sum; of two classes with the scores 0 and s a logistic function of s."""

    def rule(told: Interpreter, read: Read) -> Any:
        scores = read.values
        if sharpness != 1.0:
            scores = told("Mul", scores, told.constant(np.array(sharpness)))
        return told("Softmax", scores, axis=1)

    return rule


def _sigmoids(told: Interpreter, read: Read) -> Any:
    """A logistic function for each class, over their sum."""
    # Not by Sigmoid: onnxruntime's is off by 1e-7, in double precision too.
    powers = told("Exp", told("Sub", told.constant(np.array(0.0)), read.values))
    one = told.constant(np.array(1.0))
    each = told("Div", one, told("Add", one, powers))
    return told("Div", each, told("ReduceSum", each, axes=[1], keepdims=1))


def _shares(k: int) -> Rule:
    """Of the votes of k neighbours."""

    def rule(told: Interpreter, read: Read) -> Any:
        counts = read.values
        if k == 1:
            return one_hot(told, read.code, read.n_classes)
        counts = told("Cast", counts, to=told.proto_type)
        return told("Mul", counts, told.constant(np.array(1.0 / k)))

    return rule


def _centroids(classifier: Any) -> Rule:
    """Normal densities around the centroids, each coordinate with its deviation within classes."""
    spread = np.asarray(classifier.within_class_std_dev_, dtype=np.float64)
    spread = np.where(spread == 0.0, 1.0, spread)
    centroids = np.asarray(classifier.centroids_, dtype=np.float64)
    mean = centroids.mean(axis=0)
    Z = (centroids - mean) / spread
    # −‖z − c‖² + 2 log π_c, less what all classes have in common.
    offsets = 2.0 * np.log(classifier.class_prior_) - np.einsum("ij,ij->i", Z, Z)

    def rule(told: Interpreter, read: Read) -> Any:
        moved = told("Sub", read.embedding, told.constant(mean))
        scores = told("MatMul", moved, told.constant((2.0 * Z / spread).T))
        return told("Softmax", told("Add", scores, told.constant(offsets)), axis=1)

    return rule
