"""Whether samples without a label help, and how much smoothness along them: chosen on labels held out.

The quick search has chosen metric, σ and ν on the labelled samples. Here these and some others are tried
once more with all samples, on the same splits: a labelled sample that is held out loses its label and
stays in as the samples without one are. So the choice is honest for labels given to samples of the fit
(`transduction_`); for new samples, which are no centres, it is that of the same map. The metric of a
split knows the labels that are left, and no others. What wins must be better than no smoothness at all
by more than the standard error of the difference: otherwise μ4 = 0 and the labelled samples are the
centres, which is NSSE of these alone. So nothing is spoiled where neighbours are of other classes.
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
from nsse.estimators._settings import RELEVANCE, SHRINKAGE, Settings
from nsse.estimators._unlabeled import check_partly, labeled_rows
from nsse.estimators._within_metric import contraction
from nsse.graphs import GRAPH_NEIGHBORS, all_rows_affinity, mean_degree_laplacian
from nsse.graphs.relevance import feature_weights
from nsse.kernels import gaussian, median_distance, squared_distances
from nsse.landmarks import ArrayRows, scatter_of
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
# Splits on which it is tried: each takes a metric, a graph and factors of all samples.
MOST_SPLITS = 8
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


def check_search(is_quick: bool, base: Any, candidates: Any) -> None:
    """Refuse what is not searched where some samples have no label."""
    where = "where some samples have no label"
    if not is_quick:
        cure = "Leave `param_grid` None: the quick search knows what to do with them."
        raise rule_error("search", f'be "quick" {where}', "a search by fits", cure)
    given = candidates if base.invariances is None else base.invariances
    if given is not None:
        cure = "NSSE(invariances=..., unlabeled=...) takes both."
        raise rule_error("invariances", f"be None {where}", given, cure)


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
        Of the best point with μ4 > 0 over the first one, and its standard error.
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
    nu: float
    kappa: float

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
    keep: Collection[str],
    n_voters: int,
    most_rows: int,
    score: CodeScorer | None,
    random_state: Any,
    advance: Callable[[], None] | None = None,
) -> tuple[Choice, GraphChoice]:
    """The choice of the labelled samples ``X``, ``y``, with what all samples have to say about it."""
    classes, codes = np.unique(y, return_inverse=True)
    own, others = partly.rows(X, most_rows, random_state)
    unit_weight = choice.base.mu1 * len(y) / len(classes)  # μ1 n̄
    points = _points(choice, keep, unit_weight)
    some = list(splits)[:MOST_SPLITS]
    trial = _Trial(own, others, codes.astype(np.intp), choice.base.n_neighbors, score)
    columns = []
    with one_blas_thread():
        for train, valid in some:
            columns.append(trial.scored(points, train, valid))
            if advance is not None:
                advance()
    scores = np.array(columns).T
    found = _judged(points, scores, is_given=choice.base.mu4 is not None)
    if found.index == 0:
        return replace(choice, base=_without_graph(choice.base, partly.labeled)), found
    return _with_graph(choice, found, n_voters), found


def _without_graph(base: Any, labeled: NDArray[np.bool_]) -> Any:
    """NSSE that learns nothing from samples without a label: its centres are the labelled ones.

    Where these are more than the landmarks that were asked for, centres are as they were asked for.
    """
    plain, n_labeled = clone(base).set_params(mu4=0.0), int(labeled.sum())
    asked = base.n_landmarks if isinstance(base.n_landmarks, Integral) else np.inf
    if base.landmarks is not None or n_labeled > asked:
        return plain
    return plain.set_params(n_landmarks=None, landmarks=np.flatnonzero(labeled))


def _points(choice: Choice, keep: Collection[str], unit_weight: float) -> list[_Point]:
    """The choice itself without smoothness, then all metrics, σ and weights that are tried with it."""
    best = dict(choice.table.points[choice.index])
    fixed = fixed_params(choice.base, keep)
    nu = float(best["mu2"]) / unit_weight
    own = {name: best[name] for name in METRIC_NAMES}
    metrics = [own]
    if not set(METRIC_NAMES) & set(fixed):
        metrics = [*METRICS, *([] if own in METRICS else [own])]
    sigmas = [float(best["sigma"])] if "sigma" in fixed else list(SIGMAS)
    nus = [nu] if "mu2" in fixed else list(NUS)
    given = choice.base.mu4
    kappas = KAPPAS if given is None else (float(given) / unit_weight,)
    reader = fixed.get("classifier", "scores")

    def point(metric: dict[str, Any], sigma: float, nu: float, kappa: float) -> _Point:
        told = metric | {"sigma": sigma, "mu2": nu * unit_weight, "mu4": kappa * unit_weight}
        return _Point(told | {"classifier": reader}, sigma, nu, kappa)

    first = replace(point(own, float(best["sigma"]), nu, 0.0), params=best | {"mu4": 0.0})
    tried = [
        point(metric, sigma, weight, kappa)
        for metric in metrics
        for sigma in sigmas
        for weight in nus
        for kappa in kappas
    ]
    return [first, *tried]


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
        # A class that is not in the training part cannot be told: places among those that are.
        present, places = np.unique(self.codes[train], return_inverse=True)
        codes = np.zeros(len(self.codes), dtype=np.intp)
        codes[train] = places
        price = constant_price(len(present))
        order = np.concatenate([train, valid])
        local_train, local_valid = np.arange(len(train)), np.arange(len(train), len(order))
        for kernel, members in _grouped(points):
            K, smooth = self._kernel(kernel, train, order)
            for place in members:
                point = points[place]
                if point.kappa == 0.0:  # the labelled samples alone
                    near = K[: len(order), : len(train)]
                    H: Floats | None = near @ near.T / point.nu
                else:
                    H = label_kernel(K, smooth, len(order), point.nu, point.kappa)
                if H is None:
                    continue
                args = codes[order], local_train, local_valid, len(present), price
                labels = present[scores_without_labels(H, *args).argmax(axis=1)]
                truth = self.codes[valid]
                found[place] = (
                    float(np.mean(labels == truth)) if self.score is None else self.score(labels, truth)
                )
        return found

    def _kernel(
        self, kernel: tuple[float, float, float], train: Ints, order: Ints
    ) -> tuple[Floats, Floats]:
        """K of all samples, labelled ones of the split first, and K'LK."""
        shrinkage, relevance, sigma = kernel
        near = np.concatenate([self.own[order], self.others])
        if np.isfinite(shrinkage) or relevance > 0:
            X, codes = self.own[train], np.unique(self.codes[train], return_inverse=True)[1]
            weights = feature_weights(X, codes.astype(np.intp), relevance)
            scatter = scatter_of(X, codes.astype(np.intp), self.n_neighbors, weights)
            near = contraction(scatter.axes, scatter.factors(shrinkage), weights)(near)
        D2 = squared_distances(near)
        n = len(train)
        unit = median_distance(D2[:n, :n]) if D2[:n, :n].any() else 1.0
        L = mean_degree_laplacian(all_rows_affinity(D2, GRAPH_NEIGHBORS))
        K = gaussian(D2, sigma * unit)
        return K, K @ (L @ K)


def _grouped(points: list[_Point]) -> Iterator[tuple[tuple[float, float, float], list[int]]]:
    """Points by metric and σ, which share a kernel matrix."""
    kernels: dict[tuple[float, float, float], list[int]] = {}
    for place, point in enumerate(points):
        kernels.setdefault((*point.metric, point.sigma), []).append(place)
    yield from kernels.items()


def _judged(points: list[_Point], scores: Floats, *, is_given: bool) -> GraphChoice:
    """The best point with smoothness, if it is better than without by more than chance."""
    means = np.round(scores.mean(axis=1), 12)
    kernels = {place: key for key, members in _grouped(points) for place in members}
    # Ties, which few labels make many of, go to the kernel that is good with other weights too.
    standing = {key: float(means[members].mean()) for key, members in _grouped(points)}
    best = max(range(1, len(points)), key=lambda k: (means[k], standing[kernels[k]], -k))
    differences = scores[best] - scores[0]
    error = float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0
    gain = float(differences.mean())
    index = best if is_given or gain > error else 0
    return GraphChoice(tuple(point.params for point in points), scores, index, (gain, error))


def _with_graph(choice: Choice, found: GraphChoice, n_voters: int) -> Choice:
    """The choice with the points tried here: of every kernel its best one votes, where it is good."""
    points = found.points
    table = Scores(
        points,
        found.scores,
        np.array([float(point["sigma"]) for point in points]),
        np.array([float(point["mu2"]) for point in points]),
        np.full(len(points), choice.table.n_components[choice.index]),
    )
    means = np.round(table.means, 12)
    lines: dict[tuple[Any, ...], list[int]] = {}
    for row in range(1, len(points)):
        key = tuple(points[row][name] for name in (*METRIC_NAMES, "sigma"))
        lines.setdefault(key, []).append(row)
    firsts = [max(line, key=lambda row: (row == found.index, means[row])) for line in lines.values()]
    good = set(table.hardly_worse(found.index)) - {found.index}
    others = sorted((row for row in firsts if row in good), key=lambda row: -means[row])
    counts = choice.counts + Counter({"factors of all samples": found.scores.size})
    return Choice(choice.base, table, found.index, others[: n_voters - 1], counts, choice.n_splits)


def _dense(rows: Any) -> Floats:
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.asarray(dense, dtype=np.float64)
