"""What a fit of NSSE does where some samples have no label: `learn` of the others, smooth along all.

The metric, the unit of length, the weights, class means and the classifier are those of the labelled
samples. Samples without a label are centres, and rows of the graph along which f is smooth
(`nsse.graphs.PartlyLabeledGraph`, `nsse.landmarks.Smoothness`). With `spread` they are given labels
along that graph instead (`nsse.landmarks.NeighborGraph`), and it is `learn` of all. Where there is none
it is `learn`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.certificates.models import floating
from nsse.estimators._centers import check_supported, choose_centers
from nsse.estimators._fitting import logged
from nsse.estimators._gaussian_map import measured_distances
from nsse.estimators._learning import (
    Attributes,
    Learned,
    Work,
    center_record,
    counted,
    generator_of,
    learn,
    learned_metric,
    search_record,
    tell,
    tell_result,
    usable,
)
from nsse.estimators._memory import check_room
from nsse.estimators._parameters import check_n_components
from nsse.estimators._posing import (
    Posed,
    Verdict,
    affinity_rule,
    center_search,
    encode_labels,
    neighbors_of,
    objective_of,
    search,
)
from nsse.estimators._reading import SolvedRows, reads_scores
from nsse.estimators._rows import weighted_rows
from nsse.estimators._settings import Settings
from nsse.estimators._weights import check_reader, with_classes
from nsse.estimators._within_metric import contraction_of
from nsse.extensions import ClassScores, NearestSample, fitted_temperature
from nsse.graphs import GRAPH_NEIGHBORS, PartlyLabeledGraph, ShiftedGraph, all_rows_affinity
from nsse.kernels import median_distance
from nsse.landmarks import (
    ArrayRows,
    Centers,
    NeighborGraph,
    Smoothness,
    distinct_rows,
    fit_centers,
    with_copies,
)
from nsse.solvers import Problem
from nsse.solvers.leave_one_out import IndicatorRegression, some_of
from nsse.solvers.problem import constant_price

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]


def learn_rows(
    model: Any, source: Any, y: NDArray[Any], settings: Settings, sample_weight: Any = None
) -> Learned:
    """Fit ``model`` to samples of which those that ``settings.unlabeled`` marks have no label."""
    labeled = labeled_rows(y, settings.unlabeled)
    if labeled.all():
        source, y, weights = weighted_rows(model, source, y, sample_weight)
        return learn(model, source, y, settings, weights)
    check_partly(settings, sample_weight)
    if settings.spread is not None:
        return _learn_spread(model, source, y, labeled, settings)
    return _learn_partly(model, source, y, labeled, settings)


def _learn_spread(
    model: Any, source: Any, y: NDArray[Any], labeled: Mask, settings: Settings
) -> Learned:
    """Give labels to all samples along their graph, and learn from all of them.

    The metric of the graph is that of the labelled samples; f has one of all samples.
    """
    own = np.flatnonzero(labeled).astype(np.intp)
    classes, codes = encode_labels(y[own])
    source = _held(source)
    graph = _graph_of(source, own, codes, settings, model.random_state)
    assert settings.spread is not None
    told = classes[graph.labels(own, codes, len(classes), settings.spread)]
    del graph
    source, told, weights = weighted_rows(model, source, told, None)
    learned = learn(model, source, told, settings, weights)
    changed = _transduced(learned.attributes, y, labeled)
    return replace(learned, attributes=learned.attributes | changed)


def _graph_of(
    source: Any, own: Ints, codes: Ints, settings: Settings, random_state: Any
) -> NeighborGraph:
    """The graph of all samples, in the metric of those that have a label."""
    rows = ArrayRows(source.take(own)) if settings.metric != "euclidean" else None
    metric = None if rows is None else learned_metric(rows, codes, settings, random_state)
    return NeighborGraph.of(source, own, GRAPH_NEIGHBORS, contraction_of(metric))


def labeled_rows(y: NDArray[Any], marker: Any) -> Mask:
    """Which samples have a label; a marker that no label could be is refused.

    One that none of them happens to be marks nothing.
    """
    if marker is None:
        return np.ones(len(y), dtype=bool)
    are_words = y.dtype.kind in "OUS" and any(isinstance(label, str) for label in y.tolist())
    if are_words != isinstance(marker, str) or not isinstance(marker, str | Real):
        what = "strings" if are_words else "numbers"
        cure = "It marks samples by the very value that they have in `y`."
        raise rule_error("unlabeled", f"be of the kind of the labels, {what}", marker, cure)
    labeled = np.array([label != marker for label in y.tolist()])
    if not labeled.any():
        got = f"{marker!r} in all {len(y)} rows, which marks samples without a label"
        cure = "Give labels to some samples of at least 2 classes, or leave `unlabeled` None."
        raise rule_error("y", "have labels", got, cure)
    return labeled


def check_partly(settings: Settings, sample_weight: Any) -> None:
    """Refuse what has no meaning, or none yet, where some samples have no label."""
    where = "where some samples have no label"
    if sample_weight is not None:
        cure = "In the graph of all samples each counts once; `class_weight` weighs classes."
        raise rule_error("sample_weight", f"be None {where}", "weights", cure)
    if settings.normalization != "classes":
        cure = "The scatter of samples without a label is not to be made large."
        raise rule_error("normalization", f'be "classes" {where}', settings.normalization, cure)
    if not isinstance(settings.affinity, str) and not callable(settings.affinity):
        cure = "A function is called with the labelled samples."
        raise rule_error("affinity", f"be no matrix {where}", "a matrix", cure)


@dataclass(frozen=True)
class _Rows:
    """All rows, copies among them: where they are, which have a label, and the fit of those that do."""

    source: Any
    labeled: Mask
    work: Work
    mu4: float
    n_neighbors: int


def _learn_partly(
    model: Any, source: Any, y: NDArray[Any], labeled: Mask, settings: Settings
) -> Learned:
    n_copies = settings.n_copies(source.shape[1])
    every = 1 + n_copies
    rows = np.repeat(labeled, every)
    own_y = np.repeat(y[labeled], every)
    classes, codes = encode_labels(own_y)
    weights = with_classes(None, model.class_weight, classes, codes)
    if weights is not None:
        check_reader(model.classifier)
    settings = settings.among(n_copies).weighted(counted(codes, weights), len(classes))
    d = check_n_components(model.n_components, len(codes), len(classes), settings.normalization)
    plan = settings.centers
    is_exact = plan is None or plan.is_exact_for(len(rows))
    if is_exact:
        check_room(source.X, d, len(classes), settings.metric != "euclidean", n_copies)
    else:
        _check_scale(settings)
    if settings.invariances is not None:
        source = with_copies(source, settings.invariances, held=is_exact)
    source = _held(source)
    with logged(model.verbose):
        own_source = ArrayRows(_Selected.of(source.X, np.flatnonzero(rows)))
        if is_exact or own_source.shape[0] <= HELD_ROWS:
            own_source = ArrayRows(own_source.X[slice(None)])
        metric = learned_metric(own_source, codes, settings, model.random_state, weights)
        work = Work(model, own_source, own_y, codes, d, settings, metric, n_copies, weights)
        mu4 = settings.graph_weight(counted(codes, weights) / len(classes))
        partly = _Rows(source, rows, work, mu4, GRAPH_NEIGHBORS * every)
        attributes, verdict = _exact(partly) if is_exact else _with_centers(partly)
        attributes |= _transduced(attributes, y, labeled)
        tell_result(attributes, len(classes))
    return Learned(attributes, verdict)


# Labelled rows that are taken out of the others at once.
HELD_ROWS = 20_000


def _check_scale(settings: Settings) -> None:
    if settings.sigma is None:
        rule = "be given where there are landmarks and some samples have no label"
        cure = "0.65 is the default; None is for exact fits."
        raise rule_error("sigma", rule, None, cure)


def _held(source: Any) -> Any:
    """All rows in memory, for everyone may be the neighbour of everyone."""
    if isinstance(source, ArrayRows):
        return source
    return ArrayRows(source.take(np.arange(source.shape[0])))


@dataclass(frozen=True, eq=False)
class _Selected:
    """Some rows of a matrix, taken out of it when they are asked for."""

    X: Any
    places: Ints

    @classmethod
    def of(cls, X: Any, places: Ints) -> _Selected:
        return cls(X, places.astype(np.intp))

    @property
    def shape(self) -> tuple[int, int]:
        """Of these rows."""
        return len(self.places), self.X.shape[1]

    @property
    def dtype(self) -> Any:
        """Of the matrix."""
        return self.X.dtype

    def __getitem__(self, which: Any) -> Any:
        return self.X[self.places[which]]


def _exact(partly: _Rows) -> tuple[Attributes, Verdict]:
    """All samples are centres, labelled or not."""
    work, X = partly.work, partly.source.X
    contraction = work.contraction
    parts = None if contraction is None else contraction.parts(X)
    posed = _posed(partly, X if parts is None else parts[0])

    outcome = search(
        posed, work.settings, work.model.random_state, partial(tell, work.model, posed.unit)
    )
    solution, temperature = outcome.solution, None
    if reads_scores(work.model.classifier, work.settings.mu1):
        temperature = _temperature(posed, work, solution.sigma)
    coef, embedding = posed.signed(solution)
    Y = embedding.astype(X.dtype)
    own = SolvedRows(Y[partly.labeled], work.y, solution.eigenvalues, temperature, work.weights)
    sigma, centers = solution.sigma * posed.unit, X if work.n_copies else X.copy()
    attributes = usable(work, centers, coef, sigma, posed.unit, own, parts=parts, all_rows=Y)
    return attributes | search_record(posed, outcome), Verdict.of_exact(outcome)


def _posed(partly: _Rows, near: Any) -> Posed:
    """The problem: labelled rows sorted by class, then the others; the unit is that of the former."""
    work, settings = partly.work, partly.work.settings
    own, by_class = np.flatnonzero(partly.labeled), np.argsort(work.codes, kind="stable")
    order = np.concatenate([own[by_class], np.flatnonzero(~partly.labeled)]).astype(np.intp)
    weights = None if work.weights is None else work.weights[by_class]
    D2, unit = measured_distances(near[order], 1.0)
    n_own = len(own)
    among = D2[:n_own, :n_own]
    unit = median_distance(among, weights) if settings.length_unit is None else settings.length_unit
    D2 /= unit**2
    objective = objective_of(settings, work.n_components)
    rule = affinity_rule(work.source.X, work.y, work.codes, by_class, settings, weights)
    codes = work.codes[by_class]
    centring = objective.centring(counted(codes, weights), int(codes.max()) + 1)
    own_W = rule(among, codes, np.arange(n_own))
    labeled = ShiftedGraph.from_affinity(own_W, codes, objective.mu1, centring, weights)
    W = all_rows_affinity(D2, partly.n_neighbors)
    return Posed(Problem(D2, PartlyLabeledGraph.of(labeled, W, partly.mu4), objective), order, unit)


def _temperature(posed: Posed, work: Work, sigma: float) -> float:
    """τ from the scores that labelled samples have where their label, and nothing else, is left out.

    They stay in as the samples without a label are: what is read off is the confidence in labels that
    are given to those. The regression of ``solvers.leave_one_out`` with one more penalty, that of the
    graph; copies and equal samples lose their labels together.
    """
    problem, every = posed.problem, 1 + work.n_copies
    graph, objective = problem.graph, problem.objective
    assert isinstance(graph, PartlyLabeledGraph)
    first, groups = distinct_rows(work.source.X[::every], work.codes[::every])
    first, groups = first * every, np.repeat(groups, every)
    own = np.ones(len(groups)) if work.weights is None else work.weights
    weights = np.bincount(groups, own).astype(np.float64)
    codes = work.codes[first]
    place = np.argsort(np.argsort(work.codes, kind="stable"))[first]  # among the rows of the problem
    pull = objective.mu1 * problem.n_samples / graph.n_classes
    K = problem.kernel(sigma).K  # times √w on both sides
    features = K[place] if graph.roots is None else K[place] / graph.roots[place]
    counted_features = features * np.sqrt(weights)[:, np.newaxis]
    products = K @ (graph.smooth @ K) / pull
    products += counted_features.T @ counted_features
    sums = np.eye(graph.n_classes)[codes].T * weights
    regression = IndicatorRegression(
        products,
        sums @ features,
        sums.sum(axis=1),
        objective.mu2 / pull,
        constant_price(graph.n_classes),
    )
    some = some_of(codes, regression.sizes, weights)
    stay = np.full(len(some), -1, dtype=np.intp)
    scores = regression.left_out(features[some], codes[some], weights[some], stay)
    return fitted_temperature(scores, codes[some], weights[some])


def _with_centers(partly: _Rows) -> tuple[Attributes, Verdict]:
    """Few centres among all rows, and these in blocks."""
    work, source = partly.work, partly.source
    model, settings, d = work.model, work.settings, work.n_components
    check_supported(model)
    assert settings.centers is not None
    rng = generator_of(model.random_state)
    # Rows without a label are a class of their own where centres are shared out among classes.
    all_codes = np.full(len(partly.labeled), int(work.codes.max()) + 1, dtype=np.intp)
    all_codes[partly.labeled] = work.codes
    centers = choose_centers(settings.centers, source, all_codes, rng, d, work.contraction)

    fit = fit_centers(
        work.source,
        work.codes,
        # As if they were no samples: a labelled row that loses its label stays, and so does its centre.
        Centers(centers.rows, None),
        objective_of(settings, d),
        neighbors_of(settings),
        center_search(settings),
        settings.length_unit,
        rng,
        partial(tell, model),
        work.contraction,
        leave_out=reads_scores(model.classifier, settings.mu1),
        weights=work.weights,
        smoothness=Smoothness(source, partly.mu4, partly.n_neighbors),
    )
    embedding = fit.embedding.astype(floating(source.dtype), copy=False)
    own = SolvedRows(embedding, work.y, fit.eigenvalues, fit.temperature, work.weights)
    attributes = usable(work, centers.rows, fit.coef, fit.scale, fit.unit, own)
    samples = source
    if work.n_copies:
        samples = ArrayRows(_Selected.of(source.X, np.arange(0, source.shape[0], 1 + work.n_copies)))
    mapped = samples.mapped(attributes["_expansion"])
    attributes["embedding_"] = mapped.astype(floating(source.dtype), copy=False)
    shift = objective_of(settings, d).shift_of_one(counted(work.codes, work.weights))
    return attributes | center_record(fit, shift), Verdict.of_centers(fit)


def _transduced(attributes: Attributes, y: NDArray[Any], labeled: Mask) -> Attributes:
    """Labels of all samples as places among the classes: their own, or those that they are given."""
    classes, reader = attributes["classes_"], attributes["classifier_"]
    Y = attributes["embedding_"][~labeled]
    ours = isinstance(reader, ClassScores | NearestSample)
    said = reader.labels_of(Y) if ours else reader.predict(Y)
    codes = np.empty(len(y), dtype=np.intp)
    codes[labeled] = np.searchsorted(classes, y[labeled])
    codes[~labeled] = np.searchsorted(classes, said)
    return {"_codes": codes, "_is_labeled": labeled.copy()}
