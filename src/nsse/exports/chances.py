"""Probabilities in ONNX operations: the mean of those of the voters, the largest the label's.

The rules are those of `certificates.chances`; the mean is that of `certificates.votes.vote_chances`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsse.certificates.chances import Chances, chances_of
from nsse.certificates.votes import CASTING
from nsse.exports.operations import Interpreter, Read, one_hot


def rules_of(classifiers: Sequence[Any]) -> list[Chances] | None:
    """How each of the classifiers that vote gives probabilities; None if any cannot."""
    rules = [chances_of(classifier, len(classifiers)) for classifier in classifiers]
    known = [rule for rule in rules if rule is not None]
    return known if len(known) == len(rules) else None


def write_chances(told: Interpreter, read: Sequence[Read], rules: Sequence[Chances], code: Any) -> Any:
    """The mean of the probabilities of voters, that of the label, ``code``, the first largest."""
    rows = [_spoken(told, one, rule) for one, rule in zip(read, rules, strict=True)]
    P = rows[0]
    for other in rows[1:]:
        P = told("Add", P, other)
    if len(rows) > 1:
        P = told("Mul", P, told.constant(np.array(1.0 / len(rows))))
    return _agreeing(told, P, code, read[0].n_classes)


def _agreeing(told: Interpreter, P: Any, code: Any, n_classes: int) -> Any:
    """`certificates.votes.agreeing`: where another class has the largest, the label is put above it."""
    place = told("ArgMax", P, axis=1, keepdims=1)
    largest = told("GatherElements", P, place, axis=1)
    casting = max(CASTING, 8.0 * float(np.finfo(told.dtype).eps))
    same = told("Cast", told("Equal", place, code), to=told.proto_type)
    off = told("Sub", told.constant(np.array(1.0)), same)
    # A factor of 1 + 1e-9 onnxruntime takes for 1, and leaves out.
    more = told("Mul", largest, told.constant(np.array(casting)))
    above = told("Mul", told("Add", largest, more), off)
    raised = told("Max", P, told("Mul", one_hot(told, code, n_classes), above))
    return _over_their_sum(told, raised)


def _spoken(told: Interpreter, read: Read, rule: Chances) -> Any:
    if rule.rule == "label":
        return _of_the_label(told, read, rule.sharpness)
    if rule.rule == "shares":
        return _shares(told, read)
    scores = read.values
    if rule.weights is not None and rule.offsets is not None:
        product = told("MatMul", read.embedding, told.constant(rule.weights.T))
        scores = told("Add", product, told.constant(rule.offsets))
    if rule.rule == "sigmoids":
        return _sigmoids(told, scores)
    if rule.sharpness != 1.0:
        scores = told("Mul", scores, told.constant(np.array(rule.sharpness)))
    # Of two classes with the scores 0 and s it is a logistic function of s.
    return told("Softmax", scores, axis=1)


def _of_the_label(told: Interpreter, read: Read, sure: float) -> Any:
    marks = one_hot(told, read.code, read.n_classes)
    if sure == 1.0:
        return marks
    rest = told.constant(np.array((1.0 - sure) / read.n_classes))
    return told("Add", told("Mul", marks, told.constant(np.array(sure))), rest)


def _shares(told: Interpreter, read: Read) -> Any:
    if read.n_votes == 1:
        return one_hot(told, read.code, read.n_classes)
    counts = told("Cast", read.values, to=told.proto_type)
    return told("Mul", counts, told.constant(np.array(1.0 / read.n_votes)))


def _sigmoids(told: Interpreter, scores: Any) -> Any:
    # Not by Sigmoid: onnxruntime's is off by 1e-7, in double precision too.
    powers = told("Exp", told("Sub", told.constant(np.array(0.0)), scores))
    one = told.constant(np.array(1.0))
    return _over_their_sum(told, told("Div", one, told("Add", one, powers)))


def _over_their_sum(told: Interpreter, values: Any) -> Any:
    return told("Div", values, told("ReduceSum", values, axes=[1], keepdims=1))
