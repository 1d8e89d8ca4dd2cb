"""NSSE's parameters, checked once and before any work is done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from nsse._errors import rule_error
from nsse.estimators._centers import CenterPlan, check_landmarks
from nsse.estimators._parameters import (
    check_choice,
    check_classifier,
    check_count,
    check_length_unit,
    check_marker,
    check_number,
    check_optional,
    check_optional_count,
    check_range,
)
from nsse.estimators._weights import check_class_weight
from nsse.estimators._within_metric import check_relevance, check_shrinkage
from nsse.invariances import check_invariances, n_copies_of

# Where a user says nothing: σ in medians, the shrinkage of the metric, the relevance of features in it,
# and ν = μ2/(μ1 n̄), n̄ the mean class size. Chosen on one half of the sets of reproduction/study.
SIGMA, SHRINKAGE, RELEVANCE, SMOOTHNESS = 0.65, 3.0, 0.5, 0.1
# And μ4/(μ1 n̄), where some samples have no label: chosen on wine, digits and ORL, splits that are not
# reported (docs/unlabeled.md).
GRAPH_SMOOTHNESS = 10.0


@dataclass(frozen=True)
class Settings:
    """Checked parameters of an NSSE fit, in the units the user gave."""

    mu1: float
    mu2: float | None
    mu3: float | None
    n_neighbors: int | None
    beta: float | None
    affinity: Any
    sigma: float | None
    sigma_range: tuple[float, float]
    length_unit: float | None
    solver: str
    sigma_init: float
    n_sigmas: int
    tol: float
    max_iter: int
    centers: CenterPlan | None = None
    metric: str = "euclidean"
    shrinkage: float = 1.0
    relevance: float = 0.0
    normalization: str = "samples"
    embedding_scale: str = "orthonormal"
    invariances: Any = None
    unlabeled: Any = None
    mu4: float | None = None
    spread: float | None = None

    def n_copies(self, n_features: int) -> int:
        """How many copies every sample gets."""
        return n_copies_of(self.invariances, n_features)

    def among(self, n_copies: int) -> Settings:
        """With neighbours that are samples with their copies: a sample's own are its first ones."""
        if self.n_neighbors is None:
            return self
        return replace(self, n_neighbors=self.n_neighbors * (1 + n_copies))

    def weighted(self, n_samples: float, n_classes: int) -> Settings:
        """With a μ2 for so many samples: the one given, or ν μ1 n̄, n̄ the mean class size."""
        if self.mu2 is not None:
            return self
        return replace(self, mu2=SMOOTHNESS * self._pull(n_samples / n_classes))

    def graph_weight(self, mean_size: float) -> float:
        """μ4 for classes of a mean size: the one given, or in proportion to the separation, as μ2."""
        return GRAPH_SMOOTHNESS * self._pull(mean_size) if self.mu4 is None else self.mu4

    def _pull(self, mean_size: float) -> float:
        """μ1 n̄, beside which smoothness is weighed; n̄ where nothing is separated."""
        return mean_size * (self.mu1 if self.mu1 > 0 else 1.0)


def check_settings(model: Any) -> Settings:
    """Check every parameter of ``model`` that can be judged without the data."""
    _check_parts(model)
    sigma_range = check_range("sigma_range", model.sigma_range)
    return Settings(
        mu1=check_number("mu1", model.mu1, cure="0 switches the separation of classes off."),
        mu2=None
        if model.mu2 is None
        else check_number(
            "mu2",
            model.mu2,
            positive=True,
            cure="Without it f may be arbitrarily rough; take a small value such as 1e-6.",
        ),
        mu3=None
        if model.mu3 is None
        else check_number("mu3", model.mu3, cure="Leave it None for 5 * mu2 * n_components."),
        n_neighbors=check_optional_count(
            "n_neighbors", model.n_neighbors, cure="None joins all pairs of a class."
        ),
        beta=check_optional("beta", model.beta),
        affinity=model.affinity,
        sigma=check_optional("sigma", model.sigma),
        sigma_range=sigma_range,
        length_unit=check_length_unit(model.length_unit),
        solver=check_choice("solver", model.solver, ("joint", "alternating")),
        sigma_init=_check_sigma_init(model.sigma_init, sigma_range),
        n_sigmas=check_count("n_sigmas", model.n_sigmas, least=2, cure="40 is a fine grid."),
        tol=check_number("tol", model.tol, cure="1e-8 is exact for all purposes."),
        max_iter=check_count("max_iter", model.max_iter, cure="50 is plenty."),
        centers=check_landmarks(model),
        metric=check_choice("metric", model.metric, ("euclidean", "within")),
        shrinkage=check_shrinkage(model.shrinkage),
        relevance=check_relevance(model.relevance),
        normalization=check_choice("normalization", model.normalization, ("samples", "classes")),
        embedding_scale=check_choice("embedding_scale", model.embedding_scale, ("orthonormal", "unit")),
        invariances=_check_invariances(model),
        unlabeled=check_marker(model.unlabeled),
        mu4=None
        if model.mu4 is None
        else check_number("mu4", model.mu4, cure="0 switches the graph of all samples off."),
        spread=_check_spread(model),
    )


def _check_spread(model: Any) -> float | None:
    """Refuse two uses of the graph of all samples at once."""
    if model.spread is None:
        return None
    if model.mu4 is not None:
        cure = "Labels are spread along the graph, or f is smooth along it: leave one of them None."
        raise rule_error("mu4", "be None where there is `spread`", model.mu4, cure)
    return check_number("spread", model.spread, positive=True, cure="1 is a fair weight.")


def _check_invariances(model: Any) -> Any:
    """Refuse what counts samples where these have copies."""
    check_invariances(model.invariances)
    if model.invariances is None:
        return None
    if not isinstance(model.affinity, str) and not callable(model.affinity):
        cure = "A matrix has no weights for copies; a function is called with samples and copies."
        raise rule_error("affinity", "be no matrix where there are invariances", "a matrix", cure)
    plan = check_landmarks(model)
    if plan is not None and plan.is_indices:
        cure = "Indices count samples; name a rule, or give the centres themselves."
        raise rule_error("landmarks", "be no indices where there are invariances", "indices", cure)
    return model.invariances


def _check_sigma_init(value: Any, sigma_range: tuple[float, float]) -> float:
    middle = float(np.sqrt(sigma_range[0] * sigma_range[1]))
    if value is None:
        return middle
    return check_number("sigma_init", value, positive=True, cure=f"None starts at {middle:.3g}.")


def _check_parts(model: Any) -> None:
    """Check the parameters that are objects: classifier, callback, affinity."""
    if isinstance(model.affinity, str):
        check_choice("affinity", model.affinity, ("gaussian",))
    if model.callback is not None and not callable(model.callback):
        raise rule_error("callback", "be callable", model.callback, "It is called as `callback(step)`.")
    check_classifier(model.classifier, "scores", ("nearest", "scores"))
    check_class_weight(model.class_weight)
    by_scores = isinstance(model.classifier, str) and model.classifier == "scores"
    if by_scores and isinstance(model.mu1, Real) and model.mu1 == 0:
        raise rule_error(
            "mu1",
            'be positive with classifier="scores"',
            model.mu1,
            "Coordinates are weighted by how well they separate classes.",
        )
