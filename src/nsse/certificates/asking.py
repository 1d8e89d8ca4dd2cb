"""All that a model says of samples, from one evaluation of its map: embedding, label, radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from nsse.certificates.decisions import decision_of
from nsse.certificates.function_space import FunctionSpace
from nsse.certificates.models import check_certified, check_units, map_at, opened
from nsse.certificates.radii import Certificate, check_bound
from nsse.certificates.votes import vote_radii, winners

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """What a model says of samples, the same to the bit as its methods say one by one.

    Attributes
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        What `transform` gives.
    label : ndarray of shape (n_samples,)
        What `predict` gives.
    radius : ndarray of shape (n_samples,) or None
        What `certified_radius` gives; None where nothing is proved, or nothing was asked for.
    unproved : str
        Why there is no radius; empty where there is one.
    training : ndarray of shape (n_training, n_components)
        The embedding of the training samples.
    """

    embedding: NDArray[Any]
    label: NDArray[Any]
    radius: Floats | None
    unproved: str
    training: NDArray[Any]

    @cached_property
    def distance(self) -> Floats:
        """Distances to the nearest training sample in the embedding, computed when asked for."""
        # The tree measures differences; the faster way for many dimensions subtracts squares.
        nearest = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(self.training)
        return np.asarray(nearest.kneighbors(self.embedding)[0][:, 0])


def answers(model: Any, X: Any, *, bound: str | None = "directional") -> Answers:
    """Embedding, labels and certified radii of samples; the map is evaluated once.

    Parameters
    ----------
    model : estimator
        Fitted, one of this library's methods, alone or at the end of a pipeline: radii are then
        lengths of changes to what the steps before it give.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    bound : {"directional", "rkhs", "row_sum", "proposition_1"} or None, default="directional"
        See `Certificate.radius`; None leaves the radii out.

    Returns
    -------
    Answers
        As arrays.
    """
    before, last = opened(model)
    check_is_fitted(last)
    for step in before:
        X = step.transform(X)
    said = [_said(voter, X, bound) for voter in getattr(last, "voters_", [last])]
    best = said[0]
    if len(said) == 1:
        return best
    votes = np.column_stack([np.searchsorted(last.classes_, one.label) for one in said])
    radii = [one.radius for one in said if one.radius is not None]
    radius = vote_radii(votes, np.column_stack(radii)) if len(radii) == len(said) else None
    unproved = next((one.unproved for one in said if one.unproved), "")
    return Answers(best.embedding, last.classes_[winners(votes)], radius, unproved, best.training)


def certified_labels(
    model: Any, X: Any, bound: str = "directional", units: str = "samples"
) -> tuple[NDArray[Any], Floats]:
    """Labels and certified radii of a model that must have them, from one evaluation of its map."""
    check_certified(model)
    check_bound(bound)
    check_units(units)
    for voter in getattr(model, "voters_", [model]):
        decision_of(voter)  # refuses classifiers of which nothing is known before any work
    said = answers(model, X, bound=bound) if units == "samples" else _said(model, X, bound, units)
    assert said.radius is not None
    return said.label, said.radius


def _said(model: Any, X: Any, bound: str | None, units: str = "samples") -> Answers:
    """The answers of a single model."""
    if not hasattr(type(model), "expansion_"):
        embedding = np.asarray(model.transform(X))
        unproved = f"Nothing is proved about the map of {type(model).__name__}."
        label = np.asarray(model.classifier_.predict(embedding))
        return Answers(embedding, label, None, unproved, model.embedding_)
    values, dtype = map_at(model, X)
    embedding = values.astype(dtype, copy=False)
    try:
        decision = decision_of(model)
    except ValueError as error:  # nothing is known of its classifier
        label = np.asarray(model.classifier_.predict(embedding))
        return Answers(embedding, label, None, str(error), model.embedding_)
    label = np.asarray(decision.labels(embedding))
    if bound is None:
        return Answers(embedding, label, None, "No radii were asked for.", model.embedding_)
    certificate = Certificate(FunctionSpace.of(model.expansion_), decision)
    radius = certificate.radius_of(values, label, dtype, bound)
    if units == "samples":
        radius = certificate.in_units_of_samples(radius)
    return Answers(embedding, label, radius, "", model.embedding_)
