"""All that a model says of samples, from one evaluation of its map: embedding, label, radius."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error
from nsse.certificates.decisions import decision_of
from nsse.certificates.function_space import FunctionSpace
from nsse.certificates.models import check_certified, map_at, opened
from nsse.certificates.radii import Certificate, check_bound
from nsse.certificates.steps import NotAffineError, Passage, affine_of
from nsse.certificates.votes import agreeing, majority_margins, vote_chances, vote_radii, winners
from nsse.extensions import as_columns, class_leads, class_margins, knows_more

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
        What `certified_radius` gives, in the units of X; None where nothing is proved, or nothing was
        asked for.
    unproved : str
        Why there is no radius; empty where there is one.
    training : ndarray of shape (n_training, n_components)
        The embedding of the training samples.
    model_radius : ndarray of shape (n_samples,) or None
        Radii of changes to what the model takes, behind the steps of a pipeline: there even where one
        of these is not affine. Without steps the same as `radius`.
    chances : callable
        Gives `probabilities`.
    margins : callable or None
        Gives what `decision_function` does; None where the classifier says no more than a label.

    See Also
    --------
    nsse.certificates.answers : Gives them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import answers
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> said = answers(model, X[:4])
    >>> said.probabilities.shape, bool((said.radius > 0).all())
    ((4, 3), True)
    """

    embedding: NDArray[Any]
    label: NDArray[Any]
    radius: Floats | None
    unproved: str
    training: NDArray[Any]
    model_radius: Floats | None = None
    chances: Callable[[], Floats | None] = field(default=lambda: None, repr=False, compare=False)
    margins: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def probabilities(self) -> Floats | None:
        """What `predict_proba` gives, computed when asked for; None where it would be 0 or 1."""
        return self.chances()

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
        Fitted, one of this library's methods, alone or at the end of a pipeline. Radii are in the units
        of X where the steps before it are affine (`Answers.radius`).
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    bound : {"directional", "rkhs", "row_sum", "proposition_1"} or None, default="directional"
        See `Certificate.radius`; None leaves the radii out.

    Returns
    -------
    Answers
        As arrays.

    See Also
    --------
    nsse.certificates.certified_radius : The radii alone.

    Examples
    --------
    >>> from nsse.certificates import answers
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> found = answers(model, X[:4])
    >>> found.label, found.embedding.shape
    (array([0, 0, 0, 0]), (4, 2))
    """
    return answers_behind(*opened(model), X, bound)


def answers_behind(before: list[Any], last: Any, X: Any, bound: str | None = "directional") -> Answers:
    """The same of a model and the steps before it."""
    check_is_fitted(last)
    Z, passage, not_affine = _passed(before, X, bound)
    voters = getattr(last, "voters_", [last])
    said = [_said(voter, Z, bound, passage) for voter in voters]
    if not_affine:
        told = [one.unproved or not_affine for one in said]
        said = [replace(one, radius=None, unproved=why) for one, why in zip(said, told, strict=True)]
    best = said[0]
    if len(said) == 1:
        return best
    votes = np.column_stack([np.searchsorted(last.classes_, one.label) for one in said])
    won = winners(votes)

    def chances() -> Floats | None:
        return vote_chances([one.probabilities for one in said], votes, len(last.classes_))

    def margins() -> Floats:
        shares = chances() if len(last.classes_) == 2 else None
        if shares is not None:  # of two classes both are to have samples in the same order
            return np.asarray(as_columns(shares, won))
        told = [
            class_leads(voter.classifier_, one.embedding)
            for voter, one in zip(voters, said, strict=True)
        ]
        return np.asarray(as_columns(majority_margins(np.stack(told, axis=1)), won))

    return Answers(
        best.embedding,
        last.classes_[won],
        _of_the_vote(votes, [one.radius for one in said]),
        next((one.unproved for one in said if one.unproved), ""),
        best.training,
        _of_the_vote(votes, [one.model_radius for one in said]),
        chances,
        margins,
    )


def _of_the_vote(votes: NDArray[np.intp], radii: list[Floats | None]) -> Floats | None:
    known = [radius for radius in radii if radius is not None]
    return vote_radii(votes, np.column_stack(known)) if len(known) == len(radii) else None


def _passed(before: list[Any], X: Any, bound: str | None) -> tuple[Any, Passage | None, str]:
    """What the model sees, the way there where it is affine, and else which step is not."""
    not_affine = ""
    if before and bound is not None:
        try:
            passage = Passage.of(before, X)
            return passage.Z, passage, ""
        except NotAffineError as error:
            not_affine = str(error)
    for step in before:
        X = step.transform(X)
    return X, None, not_affine


def certified_radius(
    model: Any, X: Any, bound: str = "directional", *, units: str = "samples"
) -> Floats:
    """Certified radii of predictions, through pipelines and votes.

    Proved, not estimated: no sample that differs from x by less than its radius gets another label.

    Parameters
    ----------
    model : estimator
        Fitted: a Gaussian expansion with a classifier whose decision is known, an `NSSECV`, or a
        pipeline with one of them at its end and affine steps before it. These are scikit-learn's
        scalers, PCA and other linear projections, selections of features, imputers of what is missing,
        and `WithinMetric`, `LFDA`, `LDE`; others are refused by name.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, as the first step takes them. What is missing from a sample is no part of it that could
        change.
    bound : {"directional", "rkhs", "row_sum", "proposition_1"}, default="directional"
        See `Certificate.radius`.
    units : {"samples", "model", "metric"}, default="samples"
        "samples" gives the radius of a ball in the units of ``X``: the largest inside the ellipsoid that
        the other two describe. "model" measures the change of what the last step takes, of standardised
        columns for instance; "metric" that in the metric of the model, which a vote has none of.

    Returns
    -------
    ndarray of shape (n_samples,)
        Radii: 0 where nothing is certain, ``inf`` where no change of x can change the label.

    See Also
    --------
    nsse.NSSE.certified_radius : The same of one model.
    nsse.certificates.answers : Embedding, label and radius at once.
    nsse.plot.radii : Draws them.

    Examples
    --------
    >>> from nsse.certificates import certified_radius
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> radius = certified_radius(model, X[:4])
    >>> bool((radius > 0).all())
    True

    No change of the sample shorter than its radius changes the label:

    >>> moved = X[:4].copy()
    >>> moved[:, 0] += 0.99 * radius
    >>> bool((model.predict(moved) == model.predict(X[:4])).all())
    True
    """
    return certified_labels(model, X, bound, units)[1]


def certified_labels(
    model: Any, X: Any, bound: str = "directional", units: str = "samples"
) -> tuple[NDArray[Any], Floats]:
    """Labels and certified radii of a model that must have them, from one evaluation of its map."""
    check_certified(model)
    check_bound(bound)
    before, last = opened(model)
    voters = getattr(last, "voters_", [last])
    _check_units(units, len(voters))
    for voter in voters:
        decision_of(voter)  # refuses classifiers of which nothing is known before any work
    if units == "metric":
        for step in before:
            X = step.transform(X)
        said = _said(voters[0], X, bound, None, in_metric=True)
    else:
        if units == "samples":
            for step in before:
                affine_of(step)  # refuses steps of which nothing is known
        said = answers(model, X, bound=bound)
    radius = said.radius if units == "samples" else said.model_radius
    assert radius is not None
    return said.label, radius


def _check_units(units: Any, n_voters: int) -> None:
    if units not in ("samples", "model", "metric"):
        cure = "A ball in the units of X, one of what the last step takes, or one in the model's metric."
        raise rule_error("units", 'be "samples", "model" or "metric"', units, cure)
    if units == "metric" and n_voters > 1:
        rule, cure = "be another than the metric of a vote, whose maps each have one", 'Take "model".'
        raise rule_error("units", rule, units, cure)


def _said(
    model: Any, X: Any, bound: str | None, passage: Passage | None = None, in_metric: bool = False
) -> Answers:
    """The answers of a single model, behind steps that were passed."""
    said = _read(model, X, bound, passage, in_metric)
    return replace(said, margins=_margins(model, said.embedding))


def _read(model: Any, X: Any, bound: str | None, passage: Passage | None, in_metric: bool) -> Answers:
    if not hasattr(type(model), "expansion_"):
        embedding = np.asarray(model.transform(X))
        unproved = f"Nothing is proved about the map of {type(model).__name__}."
        label = np.asarray(model.classifier_.predict(embedding))
        chances = _chances(model, embedding, label)
        return Answers(embedding, label, None, unproved, model.embedding_, chances=chances)
    values, dtype = map_at(model, X)
    embedding = values.astype(dtype, copy=False)
    try:
        decision = decision_of(model)
    except ValueError as error:  # nothing is known of its classifier
        label = np.asarray(model.classifier_.predict(embedding))
        chances = _chances(model, embedding, label)
        return Answers(embedding, label, None, str(error), model.embedding_, chances=chances)
    label = np.asarray(decision.labels(embedding))
    chances = _chances(model, embedding, label)
    if bound is None:
        return Answers(
            embedding, label, None, "No radii were asked for.", model.embedding_, chances=chances
        )
    certificate = Certificate(FunctionSpace.of(model.expansion_), decision)
    there = certificate.radius_of(values, label, dtype, bound)
    seen = there if in_metric else certificate.in_units_of_samples(there)
    radius = seen if passage is None else passage.in_units_of_samples(there, model.expansion_.metric)
    return Answers(embedding, label, radius, "", model.embedding_, seen, chances)


def _margins(model: Any, embedding: NDArray[Any]) -> Callable[[], Floats] | None:
    """What asks the classifier how clearly it speaks for each class."""
    classifier = model.classifier_
    if not hasattr(model, "decision_function"):
        return None

    def margins() -> Floats:
        if classifier is None:  # the largest coordinate decides
            values = embedding.astype(np.float64, copy=False)
            return np.asarray(as_columns(values, values.argmax(axis=1)))
        return np.asarray(class_margins(classifier, embedding))

    return margins


def _chances(model: Any, embedding: NDArray[Any], label: NDArray[Any]) -> Callable[[], Floats | None]:
    """What asks the classifier for probabilities, if it has any that are more than the label."""
    classifier = model.classifier_

    def chances() -> Floats | None:
        if not knows_more(classifier):
            return None
        codes = np.searchsorted(model.classes_, label).astype(np.intp)
        return agreeing(np.asarray(classifier.predict_proba(embedding)), codes)

    return chances
