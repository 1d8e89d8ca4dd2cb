"""What a fit of NSSE does, exact or with landmarks: rows from anywhere in, attributes of a model out."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nsse.certificates.models import floating
from nsse.estimators._centers import check_supported, choose_centers
from nsse.estimators._fitting import IN_SEARCH, LOGGER, logged
from nsse.estimators._memory import check_room
from nsse.estimators._parameters import check_n_components
from nsse.estimators._posing import (
    Posed,
    Verdict,
    center_search,
    encode_labels,
    neighbors_of,
    objective_of,
    pose,
    search,
)
from nsse.estimators._reading import Reading, SolvedRows, exact_temperature, reads_scores
from nsse.estimators._settings import Settings
from nsse.estimators._weights import fitted_reader
from nsse.estimators._within_metric import WithinMetric, contraction_of, metric_from
from nsse.extensions import Contraction, GaussianExpansion
from nsse.landmarks import CenterFit, RowSource, equal_rows, fit_centers, scatter_of_source, with_copies
from nsse.solvers import SearchResult, Step, Trace

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Attributes = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """How the eigenproblem was solved, and how hard it was.

    Attributes
    ----------
    factorization : {"cholesky", "qr", "kernel"}
        Factorisation of P = K'SK + μ2 I; "qr" is the answer to an ill-conditioned P. "kernel" is a
        Cholesky factorisation of the kernel matrix K itself, where that is well-conditioned.
    condition_number : float
        Estimate of cond(P), or of cond(K) with "kernel".
    eigensolver : {"block Krylov", "full", "class means", "class indicators"}
        How the leading eigenvectors were found; "class means" is the small problem of
        ``normalization="classes"``, "class indicators" an iteration that begins with them.
    precision : {"float64", "float32"}
        Of the kernel during the fit: single with landmarks if X is in single precision or bytes. The
        fitted map is evaluated in double precision.
    jitter : float
        What was added to μ2, only ever with landmarks: in single precision, the rounding of P; more,
        with a warning, where P was not positive definite.
    """

    factorization: str
    condition_number: float
    eigensolver: str
    precision: str = "float64"
    jitter: float = 0.0


@dataclass(frozen=True)
class Learned:
    """What a fit leaves: the attributes of the model, and how it went."""

    attributes: Attributes
    verdict: Verdict

    def kept_by(self, model: Any) -> None:
        """Give the model its attributes."""
        for name, value in self.attributes.items():
            setattr(model, name, value)


@dataclass(frozen=True)
class Work:
    """All that a fit starts from: the model with its parameters, and the samples."""

    model: Any
    source: Any
    y: NDArray[Any]
    codes: Ints
    n_components: int
    settings: Settings
    metric: WithinMetric | None
    n_copies: int
    weights: Floats | None = None

    @property
    def contraction(self) -> Contraction | None:
        """What the metric does to samples."""
        return contraction_of(self.metric)


def learn(
    model: Any, source: Any, y: NDArray[Any], settings: Settings, weights: Floats | None = None
) -> Learned:
    """Fit ``model`` to samples, and leave it alone.

    ``weights`` say how many times every sample counts; its copies do as it does.
    """
    n_copies = settings.n_copies(source.shape[1])
    y = np.repeat(y, 1 + n_copies)
    weights = None if weights is None else np.repeat(weights, 1 + n_copies)
    classes, codes = encode_labels(y)
    settings = settings.among(n_copies).weighted(counted(codes, weights), len(classes))
    d = check_n_components(model.n_components, len(codes), len(classes), settings.normalization)
    plan = settings.centers
    is_exact = plan is None or plan.is_exact_for(len(codes))
    if is_exact:
        check_room(source.X, d, len(classes), settings.metric != "euclidean", n_copies)
    if settings.invariances is not None:
        source = with_copies(source, settings.invariances, held=is_exact)
    with logged(model.verbose):
        metric = learned_metric(source, codes, settings, model.random_state, weights)
        work = Work(model, source, y, codes, d, settings, metric, n_copies, weights)
        attributes, verdict = _exact(work) if is_exact else _with_centers(work)
        tell_result(attributes, len(classes))
    return Learned(attributes, verdict)


def learned_metric(
    source: RowSource, codes: Ints, settings: Settings, random_state: Any, weights: Floats | None = None
) -> WithinMetric | None:
    """The metric that the samples ask for, fitted; None is the Euclidean one."""
    if settings.metric == "euclidean":
        return None
    k, relevance = settings.n_neighbors, settings.relevance
    rng = generator_of(random_state)
    scatter, of_features = scatter_of_source(source, codes, k, relevance, rng, weights)
    return metric_from(scatter, of_features, settings.shrinkage, k, relevance)


def counted(codes: Ints, weights: Floats | None) -> float:
    """N: as many samples as there are, or as they count."""
    return len(codes) if weights is None else float(weights.sum())


def generator_of(random_state: Any) -> np.random.Generator:
    """One that a random state gives, the same whenever it is asked for."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _exact(work: Work) -> tuple[Attributes, Verdict]:
    """All samples are centres."""
    X, y, settings = work.source.X, work.y, work.settings
    contraction = work.contraction
    parts = None if contraction is None else contraction.parts(X)
    near = X if parts is None else parts[0]
    posed = pose(X, y, work.codes, work.n_components, settings, near, work.weights)

    outcome = search(posed, settings, work.model.random_state, partial(tell, work.model, posed.unit))
    solution = outcome.solution
    temperature = None
    if reads_scores(work.model.classifier, settings.mu1):
        # Copies go with their sample, and stand where it does.
        every = 1 + work.n_copies
        first, groups = equal_rows(X[::every], work.codes[::every])
        first, groups = first * every, np.repeat(groups, every)
        temperature = exact_temperature(posed, solution.sigma, first, groups)
    coef, embedding = posed.signed(solution)
    Y = SolvedRows(embedding.astype(X.dtype), y, solution.eigenvalues, temperature, work.weights)
    centers = X if work.n_copies else X.copy()  # copies are ours
    attributes = usable(work, centers, coef, solution.sigma * posed.unit, posed.unit, Y, parts=parts)
    return attributes | search_record(posed, outcome), Verdict.of_exact(outcome)


def _with_centers(work: Work) -> tuple[Attributes, Verdict]:
    """Few centres, and the samples in blocks."""
    model, source, settings, d = work.model, work.source, work.settings, work.n_components
    check_supported(model)
    assert settings.centers is not None
    rng = generator_of(model.random_state)
    centers = choose_centers(
        settings.centers,
        source,
        work.codes,
        rng,
        d,
        work.contraction,
        is_weighted=work.weights is not None,
    )

    fit = fit_centers(
        source,
        work.codes,
        centers,
        objective_of(settings, d),
        neighbors_of(settings),
        center_search(settings),
        settings.length_unit,
        rng,
        partial(tell, model),
        work.contraction,
        leave_out=reads_scores(model.classifier, settings.mu1),
        weights=work.weights,
        per_sample=1 + work.n_copies,
    )
    embedding = fit.embedding.astype(floating(source.dtype), copy=False)
    Y = SolvedRows(embedding, work.y, fit.eigenvalues, fit.temperature, work.weights)
    attributes = usable(work, centers.rows, fit.coef, fit.scale, fit.unit, Y)
    shift = objective_of(settings, d).shift_of_one(counted(work.codes, work.weights))
    return attributes | center_record(fit, shift), Verdict.of_centers(fit)


def usable(
    work: Work,
    centers: Any,
    coef: Any,
    sigma: float,
    unit: float,
    rows: SolvedRows,
    parts: tuple[Any, Any] | None = None,
    all_rows: Any = None,
) -> Attributes:
    """Attributes of a model that can transform and predict.

    The classifier knows all rows; the user knows the samples, not their copies. ``parts`` are those of
    the centres in the metric, where they are known. ``all_rows`` is the embedding of these and of rows
    without a label, where there are any.
    """
    own = slice(None, None, 1 + work.n_copies)
    sizes = np.bincount(work.codes, work.weights)
    reading = Reading.of(work.model.classifier, work.settings, rows, sizes)
    coef, embedding = coef * reading.factors, reading.scaled(rows.embedding)
    shown = embedding if all_rows is None else reading.scaled(all_rows)
    return {
        "embedding_": shown[own],
        "coef_": coef,
        "centers_": centers,
        "sigma_": sigma,
        "n_landmarks_": len(coef),
        "n_copies_": work.n_copies,
        "length_unit_": unit,
        "classes_": np.unique(work.y),
        "_codes": np.searchsorted(np.unique(work.y), rows.y[own]),
        "_is_labeled": None,
        "classifier_": fitted_reader(reading.reader, embedding, rows.y, rows.weights),
        "metric_": work.metric,
        "_expansion": GaussianExpansion.at(centers, coef, sigma, work.contraction, parts),
    }


def search_record(posed: Posed, outcome: SearchResult) -> Attributes:
    """Attributes that tell how the search went."""
    solution = outcome.solution
    return {
        "objective_": solution.excess - posed.problem.shift,
        "eigenvalues_": solution.eigenvalues
        - posed.problem.objective.shift_of_one(posed.problem.n_samples),
        "trace_": _in_units_of_x(outcome.trace, posed.unit),
        "n_iter_": outcome.n_iter,
        "condition_": Condition(solution.factorization, solution.condition, solution.eigensolver),
    }


def center_record(fit: CenterFit, shift: float) -> Attributes:
    """The same of a fit with centres; ``shift`` is that of one eigenvalue."""
    return {
        "objective_": fit.excess - shift * len(fit.eigenvalues),
        "eigenvalues_": fit.eigenvalues - shift,
        "trace_": _in_units_of_x(fit.trace, fit.unit),
        "n_iter_": len(fit.trace),
        "condition_": Condition(
            "cholesky", fit.condition, fit.eigensolver, str(fit.precision), fit.added
        ),
    }


def _in_units_of_x(trace: Trace, unit: float) -> Trace:
    return Trace(tuple(replace(step, sigma=step.sigma * unit) for step in trace.steps))


def tell(model: Any, unit: float, step: Step) -> bool:
    """Tell the log and the user's callback about a step of a search; True if the latter ends it."""
    LOGGER.debug(
        "%s %d: sigma %.4g units, objective %.6g above its floor (%.2f s)",
        step.stage,
        step.iteration,
        step.sigma,
        step.excess,
        step.seconds,
    )
    callback = model.callback
    answer = None if callback is None else callback(replace(step, sigma=step.sigma * unit))
    return isinstance(answer, bool | np.bool_) and bool(answer)


def tell_result(attributes: Attributes, n_classes: int) -> None:
    """One line on a fit, not on each of the many that a search makes."""
    n_samples, d = attributes["embedding_"].shape
    LOGGER.log(
        logging.DEBUG if IN_SEARCH.get() else logging.INFO,
        "fitted %d samples of %d classes: %d dimensions, sigma %.4g after %d steps",
        n_samples,
        n_classes,
        d,
        attributes["sigma_"],
        attributes["n_iter_"],
    )
