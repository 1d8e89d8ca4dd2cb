"""From samples, labels and settings to a posed problem, its search, and back to the user's order."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from nsse._errors import rule_error
from nsse.estimators._fitting import IN_SEARCH
from nsse.estimators._gaussian_map import measured_distances
from nsse.estimators._settings import Settings
from nsse.estimators._warnings import ConditioningWarning, ScaleAtBoundWarning
from nsse.estimators._within_metric import NO_SCATTER, WithinMetric
from nsse.graphs import check_affinity, gaussian_affinity
from nsse.landmarks import CenterFit, Neighbors, Search
from nsse.solvers import (
    Objective,
    Problem,
    SearchResult,
    Solution,
    fix_signs,
    solve_alternating,
    solve_fixed,
    solve_joint,
)
from nsse.solvers.problem import Affinity
from nsse.solvers.recorder import OnStep

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# μ3 = 5 μ2 d where the user gives none; chosen in docs/defaults_study.md.
MU3_PER_MU2 = 5.0
# The normalisation of a model with centres holds to this, or its precision is not enough.
LEAST_ACCURACY = 1e-2


@dataclass(frozen=True)
class Posed:
    """A problem in units of length with its samples sorted by class, and the way back."""

    problem: Problem
    order: Ints
    unit: float

    def unsorted(self, rows: Floats) -> Floats:
        """Rows of the problem in the order of the user's samples."""
        out = np.empty_like(rows, order="C")
        out[self.order] = rows
        return out

    def signed(self, solution: Solution) -> tuple[Floats, Floats]:
        """Coefficients and embedding in the user's order, with the signs of our rule."""
        graph, coef, Y = self.problem.graph, solution.coef, solution.embedding
        if graph.roots is not None:  # samples that count w times have w coefficients, here added up
            coef, Y = coef * graph.roots, Y / graph.roots
        labeled = Y[: len(graph.codes)]  # all rows, or those that come first
        signs = fix_signs(labeled, graph.codes, graph.weights)
        return self.unsorted(coef * signs), self.unsorted(Y * signs)


def encode_labels(y: Any) -> tuple[NDArray[Any], Ints]:
    """Classes in order, and the class of every sample as an integer."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise rule_error(
            "y",
            "contain samples of at least 2 classes",
            f"1 class, {classes.tolist()[0]!r}",
            "Add samples of another class; those whose `sample_weight` is 0 do not count.",
        )
    return classes, codes.astype(np.intp)


def pose(
    X: Any,
    y: Any,
    codes: Ints,
    n_components: int,
    settings: Settings,
    near: Any,
    weights: Floats | None = None,
) -> Posed:
    """Sort by class, measure in units of length, build the graph.

    ``near`` are the samples in the metric, ``weights`` how many times they count.
    """
    order = np.argsort(codes, kind="stable").astype(np.intp)
    own = None if weights is None else weights[order]
    D2, unit = measured_distances(near[order], settings.length_unit, own)
    rule = affinity_rule(X, y, codes, order, settings, own)
    problem = Problem.build(D2, codes[order], rule, objective_of(settings, n_components), own)
    return Posed(problem, order, unit)


def scale_weight(settings: Settings, n_components: int) -> float:
    """μ3: the one given, or the default in proportion to μ2 d."""
    assert settings.mu2 is not None
    return MU3_PER_MU2 * settings.mu2 * n_components if settings.mu3 is None else settings.mu3


def objective_of(settings: Settings, n_components: int) -> Objective:
    """The weights of Eq. (11), from settings that are `weighted`."""
    mu3 = scale_weight(settings, n_components)
    assert settings.mu2 is not None
    return Objective(settings.mu1, settings.mu2, mu3, n_components, settings.normalization)


def neighbors_of(settings: Settings) -> Neighbors:
    """The neighbour graph of a fit with landmarks."""
    return Neighbors(settings.n_neighbors, settings.beta)


def center_search(settings: Settings) -> Search:
    """Where a fit with landmarks looks for σ."""
    return Search(settings.sigma, settings.sigma_range, settings.tol, settings.max_iter)


def affinity_rule(
    X: Any, y: Any, codes: Ints, order: Ints, settings: Settings, weights: Floats | None = None
) -> Affinity:
    """W_w as a function of a subset of the (sorted) samples, which count as ``weights`` say."""
    if isinstance(settings.affinity, str):
        k, beta = settings.n_neighbors, settings.beta
        return lambda D2, c, members: gaussian_affinity(
            D2, c, k, beta, None if weights is None else weights[members]
        )
    given = settings.affinity(X, y) if callable(settings.affinity) else settings.affinity
    W = check_affinity(given, codes)[order][:, order]
    if weights is not None:  # every copy is joined as the sample is
        times = sparse.diags_array(weights)
        W = sparse.csr_array(times @ W @ times)
    return lambda D2, c, members: W[members][:, members]


def search(posed: Posed, settings: Settings, random_state: Any, on_step: OnStep) -> SearchResult:
    """Find σ by the solver asked for, or take the one given."""
    problem = posed.problem
    if settings.sigma is not None:
        return solve_fixed(problem, settings.sigma)
    limits: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "on_step": on_step}
    if settings.solver == "alternating":
        return solve_alternating(
            problem,
            settings.sigma_range,
            sigma_init=settings.sigma_init,
            n_sigmas=settings.n_sigmas,
            **limits,
        )
    seed = check_random_state(random_state).randint(2**31 - 1)
    return solve_joint(problem, settings.sigma_range, rng=np.random.default_rng(seed), **limits)


@dataclass(frozen=True)
class Verdict:
    """How a search went and how well the problem was solved; σ in units of length."""

    sigma: float
    converged: bool
    at_bound: bool
    trouble: str | None = None

    @classmethod
    def of_exact(cls, outcome: SearchResult) -> Verdict:
        """Of a search on all samples."""
        solution = outcome.solution
        trouble = None
        if solution.factorization == "qr":
            trouble = (
                f"The problem is ill-conditioned (condition number {solution.condition:.1e}); "
                "it was solved by a QR factorisation, accurate but slower. Raise `mu2`, or lower "
                "`sigma` or the upper end of `sigma_range`."
            )
        return cls(solution.sigma, outcome.converged, outcome.at_bound, trouble)

    @classmethod
    def of_centers(cls, fit: CenterFit) -> Verdict:
        """Of a fit with centres."""
        trouble = None
        if fit.had_to_add:
            trouble = (
                f"The problem is ill-conditioned: its matrix was not positive definite in "
                f"{fit.precision}, and {fit.added:.1e} was added to its diagonal, which acts like a "
                "larger `mu2`. Raise `mu2`, lower `sigma`, or pass X as float64."
            )
        elif fit.orthonormality > LEAST_ACCURACY:
            trouble = (
                f"The normalisation holds to {fit.orthonormality:.1e} only: {fit.precision} is not "
                "enough for this problem. Raise `mu2`, lower `sigma`, or pass X as float64."
            )
        return cls(fit.sigma, fit.converged, fit.at_bound, trouble)


def warn_about(verdict: Verdict, settings: Settings, metric: WithinMetric | None) -> None:
    """Say what a user should know about how the search went."""
    if metric is not None and metric.deviations_.size == 0:
        _warn(NO_SCATTER, UserWarning)
    if not verdict.converged:
        _warn(
            f"The search for sigma did not converge in max_iter={settings.max_iter} steps; the best "
            "one seen is kept. Raise `max_iter` or `tol`.",
            ConvergenceWarning,
        )
    if verdict.at_bound:
        _warn(
            f"The best sigma, {verdict.sigma:.3g} units of length, lies at an end of "
            f"sigma_range={settings.sigma_range}. Widen `sigma_range`, change `mu3`, or fix `sigma`.",
            ScaleAtBoundWarning,
        )
    if verdict.trouble:
        _warn(verdict.trouble, ConditioningWarning)


def _warn(message: str, category: type[Warning]) -> None:
    if IN_SEARCH.get() and "`" in message:
        message += " These are parameters of `estimator`."
    # Up to the line that called `fit`: this function, warn_about, fit and its decorator.
    warnings.warn(message, category, stacklevel=5)
