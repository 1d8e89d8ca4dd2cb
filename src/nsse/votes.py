"""A vote: one decision of several members, each a map with its scores.

`MeanVote` takes the mean of the class scores of its members, one function with one certificate.
`MajorityVote` takes the label that most members give; of equal ones the earlier members decide. Both
are asked as a model is: values of the classes, labels, decision values, probabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from nsse._support.errors import rule_error
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.maps import Map
from nsse.scores import Scores, as_decision, fitted_temperature


class Member(NamedTuple):
    """A map and the scores that read it."""

    map: Map
    scores: Scores

    def values(self, X: SamplesLike) -> Floats:
        """The largest function of every class at the rows of ``X``."""
        return self.scores.values(self.map(X))


@dataclass(frozen=True)
class Vote(ABC):
    """What the two kinds of a vote share: labels and probabilities from values of the classes.

    Attributes
    ----------
    members : sequence of Member
        Maps and scores, the best first; all know the same classes.
    temperature : float
        τ of the probabilities.
    """

    members: Sequence[Member]
    temperature: float = 1.0

    takes_nearest: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.members) == 0:
            raise rule_error("members", "be one or more", self.members, "Pass (map, scores) of each.")
        if not (self.takes_nearest or all(scores.has_one_per_class for _, scores in self.members)):
            cure = "Take a MajorityVote where a member reads the nearest sample."
            raise rule_error("members", "have one score per class each", "more functions", cure)
        object.__setattr__(self, "members", [Member(*member) for member in self.members])

    @property
    def classes(self) -> NDArray[np.generic]:
        """Labels, in the order of the values."""
        return self.members[0].scores.classes

    @abstractmethod
    def values(self, X: SamplesLike) -> Floats:
        """A value of every class, the largest that of the label, of shape (n_samples, n_classes)."""

    def predict(self, X: SamplesLike) -> NDArray[np.generic]:
        """Labels."""
        return self.classes[self.values(X).argmax(axis=1)]

    def decision(self, X: SamplesLike) -> Floats:
        """`values`; of two classes the second's less the first's."""
        return as_decision(self.values(X))

    def probabilities(self, X: SamplesLike) -> Floats:
        """Probabilities of the classes, of shape (n_samples, n_classes)."""
        return np.exp(self.log_probabilities(X))

    def log_probabilities(self, X: SamplesLike) -> Floats:
        """Logarithms of `probabilities`."""
        return np.asarray(log_softmax(self.values(X) / self.temperature, axis=1))

    def calibrated(self, values: Floats, codes: Ints, sample_weight: Floats) -> Self:
        """With the temperature of the smallest log-loss of ``values`` of samples that were left out."""
        return replace(self, temperature=fitted_temperature(values, codes, sample_weight))


@dataclass(frozen=True)
class MeanVote(Vote):
    """The mean of class scores, s(x) = Σ_v s_v(x)/V."""

    takes_nearest = False

    def values(self, X: SamplesLike) -> Floats:
        """Mean scores."""
        return np.asarray(np.mean([member.values(X) for member in self.members], axis=0))


@dataclass(frozen=True)
class MajorityVote(Vote):
    """The label that most members give.

    The value of a class is the weight of the members that are for it. Weights 1 + 2^−(v + 2) let the
    earlier members decide where as many are for either, and a small share of the mean probability
    orders the classes that no member is for.
    """

    @property
    def weights(self) -> Floats:
        """Weight of every member: more than half of them outweigh the others."""
        return np.asarray(1.0 + 0.5 ** np.arange(2, len(self.members) + 2), dtype=np.float64)

    def codes(self, X: SamplesLike) -> Ints:
        """The class that every member gives, of shape (n_samples, n_members)."""
        return np.column_stack([member.values(X).argmax(axis=1) for member in self.members])

    def values(self, X: SamplesLike) -> Floats:
        """Weight of the members for every class."""
        each = [member.values(X) for member in self.members]
        return self._votes(each) + 0.5 ** (len(each) + 2) * self._mean_probability(each)

    def log_probabilities(self, X: SamplesLike) -> Floats:
        """Logarithms of the mean of the members' probabilities, sharpened by 1/τ.

        Classes that are likelier than the one that most are for share their probability with it.
        """
        each = [member.values(X) for member in self.members]
        P, won = self._mean_probability(each), self._votes(each).argmax(axis=1)[:, np.newaxis]
        above = np.take_along_axis(P, won, axis=1) <= P
        shared = np.sum(P, axis=1, where=above, keepdims=True) / above.sum(axis=1, keepdims=True)
        P = np.where(above, shared, P)
        np.put_along_axis(P, won, shared * (1.0 + 1e-9), axis=1)
        return np.asarray(log_softmax(np.log(np.maximum(P, 1e-300)) / self.temperature, axis=1))

    def _votes(self, each: Sequence[Floats]) -> Floats:
        votes = np.zeros_like(each[0])
        for weight, values in zip(self.weights, each, strict=True):
            votes[np.arange(len(values)), values.argmax(axis=1)] += weight
        return votes

    def _mean_probability(self, each: Sequence[Floats]) -> Floats:
        shares = [
            softmax(values / member.scores.temperature, axis=1)
            for values, member in zip(each, self.members, strict=True)
        ]
        return np.asarray(np.mean(shares, axis=0))


def vote_of(model: Any) -> Vote:
    """The decision of a fitted model: its ``vote_``, or its map and scores as a majority of one."""
    vote: Vote | None = getattr(model, "vote_", None)
    return MajorityVote([Member(model.map_, model.scores_)]) if vote is None else vote
