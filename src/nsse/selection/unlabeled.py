"""Whether samples without a label help, and how much smoothness along them: chosen on labels held out.

The quick search has chosen metric, σ and ν on the labelled samples. Here these and some others are tried
once more with all samples, on the same splits: a labelled sample that is held out loses its label and
stays in as the samples without one are. So the choice is honest for labels given to samples of the fit
(`transduction_`); for new samples, which are no centres, it is that of the same map. The metric of a
split knows the labels that are left, and no others. Samples without a label have two uses: f is smooth
along them (μ4), or they are given labels along their graph, which f then learns (`spread`). What wins
must be better than the labelled samples alone by more than the standard error of the difference:
otherwise μ4 = 0 and these are the centres, which is NSSE of them. So nothing is spoiled where neighbours
are of other classes.

Where f has landmarks and there are more rows than are looked at, labels are spread along the graph of
all of them and nothing else is tried: few rows make a poor graph, and few centres are too few for f to
follow a good one. The graph is the Euclidean one, which knows no label and serves every split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from nsse._errors import rule_error
from nsse._threads import one_blas_thread
from nsse.estimators._centers import check_landmarks
from nsse.estimators._settings import RELEVANCE, SHRINKAGE, SIGMA, Settings
from nsse.estimators._unlabeled import check_partly, labeled_rows
from nsse.estimators._within_metric import contraction
from nsse.graphs import GRAPH_NEIGHBORS, all_rows_affinity, mean_degree_laplacian
from nsse.graphs.relevance import feature_weights
from nsse.kernels import gaussian, median_distance, squared_distances
from nsse.landmarks import ArrayRows, NeighborGraph, scatter_of, spread_labels
from nsse.landmarks.moments import add_products
from nsse.selection.choosing import Choice, fixed_params
from nsse.selection.scoring import CodeScorer
from nsse.selection.search import Scores
from nsse.solvers.label_kernel import label_kernel, scores_without_labels
from nsse.solvers.problem import constant_price

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Splits = Sequence[tuple[Any, Any]]

# What is tried in all metrics: σ in medians, ν and κ = μ4/(μ1 n̄).
SIGMAS, NUS, KAPPAS = (0.5, 1.0), (1e-4, 1e-2), (0.1, 1.0, 10.0, 100.0)
# The weight with which labels are spread (0.1 and 10 give the same ones but for a few), and ν of the map
# that learns them: chosen on splits of COIL-20, digits, ORL and MNIST that are not reported.
SPREAD, SPREAD_NU = 1.0, 1e-3
# Splits on which it is tried: each takes a metric, a graph and factors of all samples.
MOST_SPLITS = 8
# Points that vote, unless the user says how many: in more of them metrics vote in which the graph is
# worse than it looks on few labels held out (COIL-20 and digits, splits that are not reported).
VOTERS = 5
METRIC_NAMES = ("metric", "shrinkage", "relevance")
# Metrics that are tried beside the one chosen: that of NSSE by default, and the Euclidean one.
METRICS: tuple[dict[str, Any], ...] = (
    {"metric": "within", "shrinkage": SHRINKAGE, "relevance": RELEVANCE},
    {"metric": "euclidean", "shrinkage": 1.0, "relevance": 0.0},
)


@dataclass(frozen=True)
class PartlyLabeled:
    """All rows of a search of which only some have a label."""

    source: Any
    y: NDArray[Any]
    labeled: NDArray[np.bool_]

    @classmethod
    def of(cls, source: Any, y: NDArray[Any], settings: Settings, weights: Any) -> PartlyLabeled | None:
        """None where all of them have one."""
        labeled = labeled_rows(y, settings.unlabeled)
        if labeled.all():
            return None
        check_partly(settings, weights)
        return cls(source, y, labeled)

    @property
    def own(self) -> tuple[ArrayRows, NDArray[Any]]:
        """The labelled rows alone, and their labels."""
        places = np.flatnonzero(self.labeled)
        return ArrayRows(self.source.take(places)), self.y[places]

    def rows(self, own: Any, most: int, random_state: Any) -> Any:
        """Labelled rows, those given, and of the others as many as make so many in all."""
        others = np.flatnonzero(~self.labeled)
        wanted = max(most - own.shape[0], 0)
        if len(others) > wanted:
            rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
            others = np.sort(rng.choice(others, wanted, replace=False))
        return _dense(own), _dense(self.source.take(others))


def check_search(base: Any, candidates: Any) -> None:
    """Refuse what is not searched where some samples have no label."""
    given = candidates if base.invariances is None else base.invariances
    if given is not None:
        cure = "NSSE(invariances=..., unlabeled=...) takes both."
        raise rule_error("invariances", "be None where some samples have no label", given, cure)


@dataclass(frozen=True)
class GraphChoice:
    """What was tried with samples that have no label.

    Attributes
    ----------
    points : tuple of dict
        Parameters of NSSE; the first is the choice of the labelled samples alone, with μ4 = 0.
    scores : ndarray of shape (n_points, n_splits)
        Shares of the labels held out that were given back.
    index : int
        The point to take.
    gain : tuple of float
        Of the best of the others over the first one, and its standard error.
    """

    points: tuple[dict[str, Any], ...]
    scores: Floats
    index: int
    gain: tuple[float, float]


@dataclass(frozen=True)
class _Point:
    """Places in what is tried: a metric, a σ, and weights."""

    params: dict[str, Any]
    sigma: float
    nu: float = 0.0
    kappa: float = 0.0
    spread: float | None = None

    @property
    def metric(self) -> tuple[float, float]:
        """Shrinkage and relevance; those of the Euclidean metric are infinite and zero."""
        if self.params["metric"] == "euclidean":
            return np.inf, 0.0
        return float(self.params["shrinkage"]), float(self.params["relevance"])


def choose_smoothness(
    partly: PartlyLabeled,
    choice: Choice,
    X: Any,
    y: NDArray[Any],
    splits: Splits,
    *,
    places: Ints | None,
    keep: Collection[str],
    n_voters: int,
    most_rows: int,
    score: CodeScorer | None,
    random_state: Any,
    advance: Callable[[], None] | None = None,
) -> tuple[Choice, GraphChoice]:
    """The choice of the labelled samples ``X``, ``y``, with what all samples have to say about it.

    ``places`` are those of ``X`` among all labelled samples, None where they are all of them.
    """
    classes, codes = np.unique(y, return_inverse=True)
    unit_weight = choice.base.mu1 * len(y) / len(classes)  # μ1 n̄
    metrics = _metrics(choice, keep)
    all_codes = codes.astype(np.intp)
    judge: _Trial | _SpreadOverAll
    if _is_spread_over_all(partly, choice, metrics, most_rows):
        points = [_alone(choice, unit_weight), _spread_point(choice, keep, METRICS[1], partly, classes)]
        judge = _SpreadOverAll.of(partly, places, _dense(X), all_codes, choice.base.n_neighbors, score)
    else:
        points = _points(choice, keep, metrics, unit_weight, partly, classes)
        own, others = partly.rows(X, most_rows, random_state)
        judge = _Trial(own, others, all_codes, choice.base.n_neighbors, score)
    some = list(splits)[:MOST_SPLITS]
    columns = []
    with one_blas_thread():
        for train, valid in some:
            columns.append(judge.scored(points, train, valid))
            if advance is not None:
                advance()
    scores = np.array(columns).T
    is_given = choice.base.mu4 is not None or choice.base.spread is not None
    found = _judged(points, scores, is_given=is_given)
    if found.index == 0:
        return replace(choice, base=_without_graph(choice.base, partly.labeled)), found
    return _with_graph(choice, found, n_voters), found


def _without_graph(base: Any, labeled: NDArray[np.bool_]) -> Any:
    """NSSE that learns nothing from samples without a label: its centres are the labelled ones.

    Where these are more than the landmarks that were asked for, centres are as they were asked for.
    """
    plain, n_labeled = clone(base).set_params(mu4=0.0, spread=None), int(labeled.sum())
    asked = base.n_landmarks if isinstance(base.n_landmarks, Integral) else np.inf
    if base.landmarks is not None or n_labeled > asked:
        return plain
    return plain.set_params(n_landmarks=None, landmarks=np.flatnonzero(labeled))


def _metrics(choice: Choice, keep: Collection[str]) -> list[dict[str, Any]]:
    """Those that are tried: the one that the labelled samples choose, and others unless one is given."""
    best = choice.table.points[choice.index]
    own = {name: best[name] for name in METRIC_NAMES}
    if set(METRIC_NAMES) & set(fixed_params(choice.base, keep)):
        return [own]
    return [*METRICS, *([] if own in METRICS else [own])]


def _is_spread_over_all(
    partly: PartlyLabeled, choice: Choice, metrics: list[dict[str, Any]], most_rows: int
) -> bool:
    """Whether f has landmarks, there are more rows than are looked at, and nothing else is asked for.

    Where all samples are centres, f follows the graph in any metric, and a part of them can judge it.
    """
    plan, n_rows = check_landmarks(choice.base), len(partly.y)
    is_exact = plan is None or plan.is_exact_for(n_rows)
    is_open = choice.base.mu4 is None and METRICS[1] in metrics
    return not is_exact and n_rows > most_rows and is_open


def _alone(choice: Choice, unit_weight: float) -> _Point:
    """The choice of the labelled samples itself, without smoothness."""
    best = dict(choice.table.points[choice.index])
    return _Point(best | {"mu4": 0.0}, float(best["sigma"]), float(best["mu2"]) / unit_weight)


def _spread_point(
    choice: Choice,
    keep: Collection[str],
    metric: dict[str, Any],
    partly: PartlyLabeled,
    classes: NDArray[Any],
) -> _Point:
    """Labels spread along the graph in a metric, and f of all rows by them."""
    fixed, base = fixed_params(choice.base, keep), choice.base
    sigma = float(fixed.get("sigma", SIGMA))
    mu2 = float(fixed.get("mu2", SPREAD_NU * base.mu1 * len(partly.y) / len(classes)))
    spread = SPREAD if base.spread is None else float(base.spread)
    told = metric | {"sigma": sigma, "mu2": mu2, "mu4": None, "spread": spread}
    return _Point(told | {"classifier": fixed.get("classifier", "scores")}, sigma, spread=spread)


def _points(
    choice: Choice,
    keep: Collection[str],
    metrics: list[dict[str, Any]],
    unit_weight: float,
    partly: PartlyLabeled,
    classes: NDArray[Any],
) -> list[_Point]:
    """The choice itself, then all metrics: with labels spread, and with σ and weights of smoothness."""
    first = _alone(choice, unit_weight)
    fixed, given = fixed_params(choice.base, keep), choice.base.mu4
    sigmas = [first.sigma] if "sigma" in fixed else list(SIGMAS)
    nus = [first.nu] if "mu2" in fixed else list(NUS)
    kappas = KAPPAS if given is None else (float(given) / unit_weight,)
    reader = fixed.get("classifier", "scores")

    def point(metric: dict[str, Any], sigma: float, nu: float, kappa: float) -> _Point:
        told = metric | {"sigma": sigma, "mu2": nu * unit_weight, "mu4": kappa * unit_weight}
        return _Point(told | {"classifier": reader}, sigma, nu, kappa)

    spread = (
        []
        if given is not None
        else [_spread_point(choice, keep, metric, partly, classes) for metric in metrics]
    )
    smooth = (
        []
        if choice.base.spread is not None
        else [
            point(metric, sigma, weight, kappa)
            for metric in metrics
            for sigma in sigmas
            for weight in nus
            for kappa in kappas
        ]
    )
    return [first, *spread, *smooth]


@dataclass(frozen=True)
class _Split:
    """Training and held-out labels of a split, as places among the classes that are in the former."""

    train: Ints
    valid: Ints
    present: Ints  # a class that is not in the training part cannot be told
    codes: Ints  # of the training samples

    @classmethod
    def of(cls, codes: Ints, train: Ints, valid: Ints) -> _Split:
        present, places = np.unique(codes[train], return_inverse=True)
        return cls(train, valid, present.astype(np.intp), places.astype(np.intp))

    @property
    def order(self) -> Ints:
        """Training samples first."""
        return np.concatenate([self.train, self.valid])

    def alone(self, K: Floats, nu: float) -> Ints:
        """Labels by the labelled samples alone; K is that of `order`."""
        near = K[:, : len(self.train)]
        return self.read(near @ near.T / nu)

    def read(self, H: Floats) -> Ints:
        """Labels by a kernel between labelled samples (`label_kernel`)."""
        n = len(self.train)
        codes = np.concatenate([self.codes, np.zeros(len(self.valid), dtype=np.intp)])
        price = constant_price(len(self.present))
        places = np.arange(n), np.arange(n, len(codes))
        scores = scores_without_labels(H, codes, *places, len(self.present), price)
        return np.asarray(self.present[scores.argmax(axis=1)])


def _score_of(labels: Ints, truth: Ints, score: CodeScorer | None) -> float:
    return float(np.mean(labels == truth)) if score is None else score(labels, truth)


@dataclass(frozen=True)
class _Near:
    """Samples in the metric of a split, the labelled ones first, and what follows from it for all σ."""

    rows: Floats
    D2: Floats
    W: Any
    unit: float

    @classmethod
    def of(
        cls, own: Floats, others: Floats, split: _Split, metric: tuple[float, float], k: int | None
    ) -> _Near:
        """The metric knows the training samples and their labels."""
        shrinkage, relevance = metric
        rows = np.concatenate([own[split.order], others])
        if np.isfinite(shrinkage) or relevance > 0:
            X = own[split.train]
            weights = feature_weights(X, split.codes, relevance)
            scatter = scatter_of(X, split.codes, k, weights)
            rows = contraction(scatter.axes, scatter.factors(shrinkage), weights)(rows)
        D2 = squared_distances(rows)
        n = len(split.train)
        unit = median_distance(D2[:n, :n]) if D2[:n, :n].any() else 1.0
        return cls(rows, D2, all_rows_affinity(D2, GRAPH_NEIGHBORS), unit)

    def kernel(self, sigma: float) -> Floats:
        """K of all samples; σ in medians."""
        return gaussian(self.D2, sigma * self.unit)


@dataclass(frozen=True)
class _Trial:
    """Labelled and other samples, and how points are judged on a split of the former."""

    own: Floats
    others: Floats
    codes: Ints
    n_neighbors: int | None
    score: CodeScorer | None

    def scored(self, points: list[_Point], train: Ints, valid: Ints) -> Floats:
        """The score of every point; −inf where its problem cannot be solved in floating point."""
        found = np.full(len(points), -np.inf)
        split, truth = _Split.of(self.codes, train, valid), self.codes[valid]
        for metric, members in _grouped(points, lambda point: point.metric):
            near = _Near.of(self.own, self.others, split, metric, self.n_neighbors)
            for place, labels in self._labels(points, members, near, split):
                found[place] = _score_of(labels, truth, self.score)
        return found

    def _labels(
        self, points: list[_Point], members: list[int], near: _Near, split: _Split
    ) -> Iterator[tuple[int, Ints]]:
        """Labels of the samples held out, for points of one metric."""
        n, n_own = len(split.train), len(split.order)
        for place in members:
            weight = points[place].spread
            if weight is not None:
                args = np.arange(n), split.codes, len(split.present), weight
                yield place, split.present[spread_labels(near.rows, near.W, *args)[n:n_own]]
        by_map = [place for place in members if points[place].spread is None]
        L = mean_degree_laplacian(near.W)
        for sigma, own in _grouped([points[place] for place in by_map], lambda point: point.sigma):
            K = near.kernel(sigma)
            smooth: Floats | None = None
            for place in (by_map[index] for index in own):
                point = points[place]
                if point.kappa == 0.0:
                    yield place, split.alone(K[:n_own, :n_own], point.nu)
                    continue
                smooth = _half_products(K, L) if smooth is None else smooth
                H = label_kernel(K, smooth, n_own, point.nu, point.kappa)
                if H is not None:
                    yield place, split.read(H)


def _half_products(K: Floats, L: Any) -> Floats:
    """K'LK on and below the diagonal, which is all that a factor reads."""
    out = np.zeros_like(K)
    add_products(K, L @ K, out)
    return out


@dataclass(frozen=True)
class _SpreadOverAll:
    """The graph of all rows, in the Euclidean metric, and how labels spread along it are judged."""

    graph: NeighborGraph
    places: Ints
    alone: _Trial

    @classmethod
    def of(
        cls,
        partly: PartlyLabeled,
        places: Ints | None,
        own: Floats,
        codes: Ints,
        n_neighbors: int | None,
        score: CodeScorer | None,
    ) -> _SpreadOverAll:
        """``places`` are those of the rows ``own`` among the labelled ones, None for all of them."""
        labeled = np.flatnonzero(partly.labeled).astype(np.intp)
        labeled = labeled if places is None else labeled[places]
        graph = NeighborGraph.of(partly.source, labeled, GRAPH_NEIGHBORS)
        return cls(graph, labeled, _Trial(own, own[:0], codes, n_neighbors, score))

    def scored(self, points: list[_Point], train: Ints, valid: Ints) -> Floats:
        """The scores of the labelled samples alone, and of labels spread."""
        alone, *spread = points
        split, truth = _Split.of(self.alone.codes, train, valid), self.alone.codes[valid]
        found = list(self.alone.scored([alone], train, valid))
        for point in spread:
            assert point.spread is not None
            args = self.places[train], split.codes, len(split.present), point.spread
            labels = split.present[self.graph.labels(*args)[self.places[valid]]]
            found.append(_score_of(labels, truth, self.alone.score))
        return np.array(found)


def _grouped(points: list[_Point], key: Callable[[_Point], Any]) -> Iterator[tuple[Any, list[int]]]:
    """Places of points that share something."""
    groups: dict[Any, list[int]] = {}
    for place, point in enumerate(points):
        groups.setdefault(key(point), []).append(place)
    yield from groups.items()


def _line(point: _Point) -> tuple[Any, ...]:
    """What points share that differ in weights: a kernel, or labels spread in a metric."""
    return (*point.metric, point.sigma, point.spread is None)


def _judged(points: list[_Point], scores: Floats, *, is_given: bool) -> GraphChoice:
    """The best point with smoothness, if it is better than without by more than chance."""
    means = np.round(scores.mean(axis=1), 12)
    kernels = {place: key for key, members in _grouped(points, _line) for place in members}
    # Ties, which few labels make many of, go to the kernel that is good with other weights too.
    standing = {key: float(means[members].mean()) for key, members in _grouped(points, _line)}
    best = max(range(1, len(points)), key=lambda k: (means[k], standing[kernels[k]], -k))
    differences = scores[best] - scores[0]
    error = float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0
    gain = float(differences.mean())
    index = best if is_given or gain > error else 0
    return GraphChoice(tuple(point.params for point in points), scores, index, (gain, error))


def _with_graph(choice: Choice, found: GraphChoice, n_voters: int) -> Choice:
    """The choice with the points tried here: of every kernel its best one votes, where it is good."""
    points = found.points
    table = Scores(points, found.scores)
    means = np.round(table.means, 12)
    lines: dict[tuple[Any, ...], list[int]] = {}
    for row in range(1, len(points)):
        key = tuple(points[row].get(name) for name in (*METRIC_NAMES, "sigma", "spread"))
        lines.setdefault(key, []).append(row)
    firsts = [max(line, key=lambda row: (row == found.index, means[row])) for line in lines.values()]
    good = set(table.hardly_worse(found.index)) - {found.index}
    others = sorted((row for row in firsts if row in good), key=lambda row: -means[row])
    counts = choice.counts + Counter({"factors of all samples": found.scores.size})
    return Choice(choice.base, table, found.index, others[: n_voters - 1], counts, choice.n_splits)


def _dense(rows: Any) -> Floats:
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.asarray(dense, dtype=np.float64)
