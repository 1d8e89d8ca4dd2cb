"""`SmoothEmbeddingCV`: the parameters of `SmoothEmbedding`, chosen on inner splits in closed form.

A kernel is a metric (relevance, shrinkage) and a width σ. On every split one eigendecomposition of its
matrix, K = VΛV', gives the scores of the held-out samples for every λ by the filter 1/(Λ + λ). Kernels
that fall behind are dropped by successive halving. What is compared is the squared error of the scores,
not the number of right labels: a handful of labels cannot tell points apart, their scores can. The mean
of the scores of the best few points and of the default point decides; where the nearest training sample
in the embedding has clearly more labels right on the held-out samples, the majority of the best few
nearest-sample rules does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from nsse._support.dask import is_dask
from nsse._support.errors import rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_count
from nsse._support.progress import progress_bar
from nsse._support.threads import threads_for
from nsse.affine import is_sparse
from nsse.estimator import FLOATS, EmbeddingClassifier
from nsse.kernels import median_distance, squared_distances
from nsse.metric import WithinMetric, centred, fitted_metric
from nsse.rows import Rows, Source, checked_weights, class_factors, read_rows, stratified
from nsse.scores import Scores, as_decision
from nsse.smooth import SmoothEmbedding, evenly
from nsse.splits import BalancedSplits
from nsse.unlabeled import use_of_unlabeled
from nsse.votes import MajorityVote, MeanVote, Member

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

GRID: dict[str, tuple[float, ...]] = {
    "relevance": (0.0, 0.5, 1.0),
    "shrinkage": (float("inf"), 3.0, 1.0, 0.3, 0.1),
    "sigma": (0.4, 0.65, 1.0, 1.6, 2.5, 4.0, 8.0),
    "smoothness": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
}
# Splits of the rounds of successive halving, and the share of kernels that stays after each.
ROUNDS, STAY = (2, 3, 5), 1 / 3
FEWEST_KERNELS = 6
# Share of a class that is held out, and samples from which on fewer splits are enough.
HELD_OUT, MANY_SAMPLES = 0.25, 1000
# Samples that a split trains on, at most: an eigendecomposition is cubic in their number.
MOST_TRAINING = 600
# Voters beside the default point.
N_VOTERS = 5
# By how many standard errors more labels must be right for the nearest-sample rule to be taken.
CLEARLY = 1.0
# Of probabilities while points are compared by a scorer that asks for them.
USUAL_TEMPERATURE = 0.1


class SmoothEmbeddingCV(EmbeddingClassifier):
    """`SmoothEmbedding` with parameters chosen by cross-validation, in closed form.

    Metric, width of the kernel, smoothness and decision rule are compared on inner splits by the squared
    error of the scores of held-out samples. The best few models and the untuned one decide together.

    Parameters
    ----------
    estimator : SmoothEmbedding, default=None
        Holds all that is not searched: centres, unlabelled samples, class weights. None is
        ``SmoothEmbedding()``. With ``metric=None`` no metric is tried.
    grid : dict, default=None
        Values of "relevance", "shrinkage", "sigma" and "smoothness" to try instead of the usual ones.
    augment : sequence, default=None
        Augmentations to choose among, None among them: ``[None, Images((28, 28))]``.
    cv : int, splitter or iterable, default=None
        Splits, as in ``GridSearchCV``. None draws ten that hold out a quarter of every class.
    scoring : str or callable, default=None
        What is compared. None is the squared error of the scores; or any scorer of scikit-learn.
    n_voters : int, default=None
        Models that decide together beside the untuned one; 1 is the best model alone. None is 5, and 1
        beyond `max_samples`.
    max_samples : int, default=2000
        Samples on which parameters are compared, at most; the models are fitted to all.
    random_state : int, RandomState instance or None, default=0
        Draws the splits.
    verbose : int, default=0
        1 shows a progress bar also where nobody looks at a terminal.

    Attributes
    ----------
    best_params_ : dict
        Parameters of `best_estimator_`.
    best_score_ : float
        Mean score of these on held-out samples: minus the squared error, or that of `scoring`.
    best_estimator_ : SmoothEmbedding
        The best model alone; its map is the one that `transform` gives.
    cv_results_ : dict of arrays
        "params", "mean_test_score", "std_test_score", "rank_test_score" and the number of splits of
        every point that was compared to the end.
    voters_ : list of SmoothEmbedding
        The models that decide.
    vote_ : MeanVote or MajorityVote
        Their decision.
    leave_one_out_, leave_one_out_labels_ : ndarrays
        Class scores of held-out samples, averaged over the voters, and their labels.
    classes_, embedding_, map_, scores_, n_features_in_, feature_names_in_
        Of `best_estimator_`.

    See Also
    --------
    SmoothEmbedding : The model.
    SequentialSearchCV : The paper's rule, for any estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbeddingCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SmoothEmbeddingCV().fit(X[::3], y[::3])
    >>> bool(search.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: SmoothEmbedding | None = None,
        *,
        grid: Mapping[str, Sequence[float]] | None = None,
        augment: Sequence[Any] | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_voters: int | None = None,
        max_samples: int = 2000,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.augment = augment
        self.cv = cv
        self.scoring = scoring
        self.n_voters = n_voters
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the parameters and fit the models that decide.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples every sample counts as.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples, for splitters that keep groups together.

        Returns
        -------
        self
            The fitted search. Interrupted, it keeps the best of what it has compared.
        """
        base = SmoothEmbedding() if self.estimator is None else clone(self.estimator)
        if not is_dask(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        else:
            self.n_features_in_ = int(X.shape[1])
        compared = Samples.of(base, X, y, sample_weight, groups, self._most_samples())
        with threads_for(len(compared.codes)):
            table = self._compared(base, compared)
        n_voters = self._n_voters(compared.n_given)
        chosen = table.chosen(n_voters, base, self.scoring is None)
        if self.augment is not None:
            augment = best_augment(self.augment, base, chosen[0], compared, table.splits)
            chosen = [clone(model).set_params(augment=augment) for model in chosen]
        self.voters_ = fitted_voters(chosen, X, y, sample_weight)
        self._keep(table, compared)
        return self

    def _compared(self, base: SmoothEmbedding, samples: Samples) -> Table:
        """Points compared on the splits, all of them or as many as an interruption left."""
        points = checked_grid(self.grid, base, samples)
        splits = self._splits(samples)
        scorer = None if self.scoring is None else get_scorer(self.scoring)
        table = Table.of(points, splits, samples, base, scorer)
        shown = True if self.verbose else None
        with progress_bar(table.n_steps, "Comparing parameters", shown) as advance:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # of parts of the samples
                    table.run(advance)
            except KeyboardInterrupt:
                if not table.has_results:
                    raise
                warnings.warn(
                    "Interrupted: the best of what was compared is taken.", UserWarning, stacklevel=4
                )
        return table

    def _splits(self, samples: Samples) -> list[tuple[Ints, Ints]]:
        if self.cv is None:
            n_splits = sum(ROUNDS) if len(samples.codes) < MANY_SAMPLES else ROUNDS[0]
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            drawn = samples.splits(BalancedSplits(n_splits, HELD_OUT, seed))
            found = [(samples.at_most(a, MOST_TRAINING), b) for a, b in drawn]
        else:
            found = list(samples.splits(self.cv))
        # A part of one class cannot be trained on.
        return [(a, b) for a, b in found if len(b) and len(np.unique(samples.codes[a])) > 1]

    def _n_voters(self, n_samples: int) -> int:
        if self.n_voters is not None:
            return check_count("n_voters", self.n_voters, cure="5 is usual, 1 takes the best alone.")
        return N_VOTERS if n_samples <= int(self.max_samples) else 1

    def _most_samples(self) -> int:
        return check_count("max_samples", self.max_samples, least=10, cure="2000 is usual.")

    def _keep(self, table: Table, samples: Samples) -> None:
        """Set the fitted attributes."""
        best = self.voters_[0]
        self.best_estimator_ = best
        for name in ("classes_", "embedding_", "map_", "scores_", "labels_", "transduction_"):
            setattr(self, name, getattr(best, name))
        self.best_params_ = {
            "metric": best.metric,
            "sigma": best.sigma,
            "smoothness": best.smoothness,
            "decision": best.decision,
            "augment": best.augment,
        }
        self.cv_results_, self.best_score_ = table.results()
        members = [Member(voter.map_, voter.scores_) for voter in self.voters_]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of parts of the samples
            values, codes, weights = table.held_out(self.voters_)
        self.leave_one_out_, self.leave_one_out_labels_ = values, self.classes_[codes]
        if best.decision == "nearest":
            self.vote_: Any = MajorityVote(members)
        else:
            self.vote_ = MeanVote(members).calibrated(values, codes, weights)

    def _decided(self, what: str, X: Any) -> NDArray[Any]:
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return np.asarray(getattr(self.vote_, what)(X))


@dataclass(frozen=True)
class Samples:
    """The labelled samples on which parameters are compared, in memory; ``places`` are theirs in X."""

    X: Any
    classes: NDArray[Any]
    codes: Ints
    weights: Floats
    places: Ints
    groups: NDArray[Any] | None
    n_given: int

    @classmethod
    def of(
        cls, base: SmoothEmbedding, X: Any, y: Any, sample_weight: Any, groups: Any, most: int
    ) -> Samples:
        """Samples that have a label and a weight, at most so many."""
        source, marker = read_rows(X), use_of_unlabeled(base.unlabeled).marker
        rows = Rows.of(
            source, y, sample_weight, base.class_weight, marker
        )  # refuses what cannot be fitted
        given = np.flatnonzero(rows.given >= 0)
        codes = rows.codes[rows.given[given]]
        places, codes = given[codes >= 0], codes[codes >= 0]
        weights = checked_weights(sample_weight, len(rows.given))[places]
        if base.class_weight is not None:
            weights = weights * class_factors(base.class_weight, rows.classes, codes, weights)
        if len(places) > most:
            some = stratified(codes, most, np.random.default_rng(0))
            places, codes, weights = places[some], codes[some], weights[some]
        own = None if groups is None else np.asarray(groups)[places]
        return cls(source.take(places), rows.classes, codes, weights, places, own, len(rows.given))

    def splits(self, cv: Any) -> Iterator[tuple[Ints, Ints]]:
        """Splits of these samples; given as indices they are those of all samples."""
        labels = self.classes[self.codes]
        if hasattr(cv, "split") or not isinstance(cv, Iterable):
            yield from check_cv(cv, labels, classifier=True).split(self.X, labels, self.groups)
            return
        position = np.full(self.n_given, -1)
        position[self.places] = np.arange(len(self.places))
        for pair in cv:
            train, held = (position[np.arange(self.n_given)[np.asarray(part)]] for part in pair)
            yield train[train >= 0], held[held >= 0]

    def at_most(self, which: Ints, most: int) -> Ints:
        """Samples, or a stratified draw of so many of them."""
        if len(which) <= most:
            return which
        codes = np.unique(self.codes[which], return_inverse=True)[1]
        return which[stratified(codes, most, np.random.default_rng(0))]

    def rows(self, which: Ints) -> Rows:
        """Some of the samples as rows to train on; equal ones are one."""
        known, codes = np.unique(self.codes[which], return_inverse=True)
        rows = Rows.of(Source.of(self.X[which]), codes, self.weights[which])
        return replace(rows, classes=self.classes, codes=known[rows.codes].astype(np.intp))


@dataclass
class Table:
    """Losses and right labels of points on splits; kernels drop out as splits are worked through.

    ``losses``, ``right`` and ``nearest`` have one entry for every kernel, λ and split, NaN where none
    was computed: the loss of the scores, the share of labels that are right by the largest score, and
    by the nearest training sample.
    """

    kernels: list[tuple[float, float, float]]
    smoothness: Floats
    splits: list[tuple[Ints, Ints]]
    samples: Samples
    base: SmoothEmbedding
    scorer: Any
    losses: Floats
    right: Floats
    nearest: Floats

    @classmethod
    def of(
        cls,
        points: dict[str, Sequence[float]],
        splits: list[tuple[Ints, Ints]],
        samples: Samples,
        base: SmoothEmbedding,
        scorer: Any,
    ) -> Table:
        """Nothing computed yet."""
        kernels = list(product(points["relevance"], points["shrinkage"], points["sigma"]))
        smoothness = np.array(points["smoothness"], dtype=np.float64)
        empty = [np.full((len(kernels), len(smoothness), len(splits)), np.nan) for _ in range(3)]
        return cls(kernels, smoothness, splits, samples, base, scorer, *empty)

    @property
    def n_steps(self) -> int:
        """Kernels times splits, about."""
        return sum(
            size * len(splits) for size, splits in zip(self._sizes(), self._rounds(), strict=True)
        )

    @property
    def has_results(self) -> bool:
        """Whether every kernel has been on a split."""
        return bool(len(self.splits) and np.isfinite(self.losses[:, 0, 0]).all())

    def run(self, advance: Callable[[], None]) -> None:
        """Compare all points, round by round."""
        alive = np.arange(len(self.kernels))
        for size, splits in zip(self._sizes(), self._rounds(), strict=True):
            alive = self._best_kernels(size) if np.isfinite(self.losses[:, 0, 0]).all() else alive
            for split in splits:
                self._score(alive, split, advance)

    def _rounds(self) -> list[range]:
        ends = np.minimum(np.cumsum((0, *ROUNDS)), len(self.splits))
        ends[-1] = len(self.splits)
        return [range(a, b) for a, b in pairwise(ends.tolist())]

    def _sizes(self) -> list[int]:
        n = len(self.kernels)
        least = min(n, FEWEST_KERNELS)
        return [max(least, round(n * STAY**k)) for k in range(len(ROUNDS))]

    def _best_kernels(self, size: int) -> Ints:
        """Kernels with the least loss, a third of them with the most labels right by the nearest."""
        done = np.isfinite(self.losses[:, 0]).sum(axis=1)
        last = done == done.max()
        loss = np.where(last, _mean(self.losses).min(axis=1), np.inf)
        near = np.where(last, -_mean(self.nearest).max(axis=1), np.inf)
        by_nearest = np.argsort(near, kind="stable")[: size // 3]
        by_loss = [k for k in np.argsort(loss, kind="stable") if k not in by_nearest]
        return np.sort(np.concatenate([by_nearest, by_loss[: size - len(by_nearest)]]).astype(np.intp))

    def _score(self, alive: Ints, split: int, advance: Callable[[], None]) -> None:
        """All λ of some kernels on one split."""
        train, held = self.splits[split]
        fold = Fold.of(self.samples, train, held, self.base.augment)
        by_metric: dict[tuple[float, float], list[int]] = {}
        for k in alive:
            by_metric.setdefault(self.kernels[k][:2], []).append(int(k))
        for metric, kernels in by_metric.items():
            distances = fold.distances(*metric)
            for k in kernels:
                for place, scores in enumerate(
                    fold.scores(distances, self.kernels[k][2], self.smoothness)
                ):
                    at = k, place, split
                    self.losses[at], self.right[at], self.nearest[at] = fold.judged(*scores, self.scorer)
                advance()

    def chosen(
        self, n_voters: int, base: SmoothEmbedding, may_be_nearest: bool
    ) -> list[SmoothEmbedding]:
        """The models that decide, the best first, the untuned one last where there are several."""
        if not self.has_results:
            return [clone(base)]
        loss, right = _complete(self.losses, self.losses), _complete(self.right, self.losses)
        nearest = _complete(self.nearest, self.losses)
        best = _order(loss)[:n_voters]
        near = _order(1e-3 * loss - np.where(np.isfinite(loss), nearest, 0.0))[:n_voters]
        A, B = np.mean([right[p] for p in best]), np.mean([nearest[p] for p in near])
        n = len(self.samples.codes)
        clear = CLEARLY * np.sqrt(max(A * (1.0 - A), 0.25 / n) / n)
        if may_be_nearest and A + clear < B:
            return [self._model(p, "nearest") for p in near]
        models = [self._model(p, base.decision) for p in best]
        return models if n_voters == 1 else [*models, clone(base).set_params(decision="scores")]

    def _model(self, place: tuple[int, int], decision: str) -> SmoothEmbedding:
        relevance, shrinkage, sigma = self.kernels[place[0]]
        metric: Any = WithinMetric(shrinkage, relevance=relevance)
        if relevance == 0.0 and np.isinf(shrinkage):
            metric = None
        model: SmoothEmbedding = clone(self.base)
        values = {"sigma": sigma, "smoothness": float(self.smoothness[place[1]])}
        return model.set_params(metric=metric, decision=decision, **values)

    def results(self) -> tuple[dict[str, Any], float]:
        """`cv_results_`, best first, and the best mean score."""
        if not self.has_results:
            return {}, float("nan")
        loss = _complete(self.losses, self.losses)
        order = [p for p in _order(loss) if np.isfinite(loss[p])]
        params = [
            dict(zip(GRID, (*self.kernels[k], float(self.smoothness[i])), strict=True)) for k, i in order
        ]
        found: dict[str, Any] = {
            "params": params,
            "mean_test_score": np.array([-loss[p] for p in order]),
            "std_test_score": np.array([np.nanstd(self.losses[p]) for p in order]),
            "n_splits": np.array([int(np.isfinite(self.losses[p]).sum()) for p in order]),
            "rank_test_score": np.arange(1, len(order) + 1),
        }
        return found, float(found["mean_test_score"][0])

    def held_out(self, voters: Sequence[SmoothEmbedding]) -> tuple[Floats, Ints, Floats]:
        """Mean scores of the voters for held-out samples, their classes and weights."""
        n_classes = len(self.samples.classes)
        values, codes, weights = [np.empty((0, n_classes))], [np.empty(0, dtype=np.intp)], [np.empty(0)]
        for train, held in self.splits[: ROUNDS[0] + ROUNDS[1]]:
            fold = Fold.of(self.samples, train, held, voters[0].augment)
            values.append(np.mean([fold.scores_of(voter) for voter in voters], axis=0))
            codes.append(fold.held_codes)
            weights.append(fold.held_weights)
        return np.concatenate(values), np.concatenate(codes), np.concatenate(weights)


@dataclass(frozen=True)
class Fold:
    """The training rows and the held-out samples of one split."""

    train: Rows
    held: Any
    held_codes: Ints
    held_weights: Floats

    @classmethod
    def of(cls, samples: Samples, train: Ints, held: Ints, augment: Any) -> Fold:
        """Of some samples; only the training samples are augmented."""
        rows = samples.rows(train).augmented(augment)
        return cls(rows, samples.X[held], samples.codes[held], samples.weights[held])

    def distances(self, relevance: float, shrinkage: float) -> tuple[Floats, Floats, float]:
        """Squared distances in a metric: of training rows, of held-out samples to them; their median."""
        X = self.train.held()
        if relevance == 0.0 and np.isinf(shrinkage):
            affine = centred(X)
        else:
            learned = fitted_metric(WithinMetric(shrinkage, relevance=relevance), self.train)
            assert learned is not None
            affine = learned.affine_.multiplied(float(centred(X).scale[0]))
        U = affine(X)
        D2 = squared_distances(U, U)
        return D2, squared_distances(affine(self.held), U), median_distance(_part(D2))

    def scores(
        self, distances: tuple[Floats, Floats, float], sigma: float, smoothness: Floats
    ) -> Iterator[tuple[Floats, Floats]]:
        """Class scores of held-out samples and of training rows for every λ."""
        D2, E2, unit = distances
        root, scale = np.sqrt(self.train.weights), -1.0 / (sigma * unit) ** 2
        shares = self.train.shares
        T = root[:, np.newaxis] * (self.train.indicators() - shares)
        K = np.exp(D2 * scale)
        values, V = np.linalg.eigh(K * root * root[:, np.newaxis])
        values = np.maximum(values, 0.0)
        VT = V.T @ T
        there, here = (np.exp(E2 * scale) * root) @ V, (V * values) / root[:, np.newaxis]
        for weight in smoothness:
            filtered = VT / (values + weight)[:, np.newaxis]
            yield there @ filtered + shares, here @ filtered + shares

    def judged(self, S: Floats, F: Floats, scorer: Any) -> tuple[float, float, float]:
        """Loss of the scores S, shares of right labels by the largest score and by the nearest row."""
        rows, w = np.arange(len(S)), self.held_weights / self.held_weights.sum()
        right = float(w @ (S.argmax(axis=1) == self.held_codes))
        nearest = self.train.codes[squared_distances(S, F).argmin(axis=1)]
        near = float(w @ (nearest == self.held_codes))
        if scorer is not None:
            model = Told(self.train.classes, S)
            return -float(scorer(model, self.held, self.train.classes[self.held_codes])), right, near
        error = (S**2).sum(axis=1) - 2.0 * S[rows, self.held_codes] + 1.0
        return float(w @ error), right, near

    def scores_of(self, voter: SmoothEmbedding) -> Floats:
        """Class scores of held-out samples by a model with the parameters of a fitted one.

        Probabilities where it decides by the nearest training sample.
        """
        relevance, shrinkage = 0.0, float("inf")
        if voter.metric_ is not None:
            relevance, shrinkage = voter.metric_.relevance, voter.metric_.shrinkage
        distances = self.distances(relevance, shrinkage)
        weights = np.array([float(voter.smoothness)])
        S, F = next(self.scores(distances, float(voter.sigma), weights))
        if voter.decision == "scores":
            return S
        rule = Scores.nearest(self.train.classes, F, self.train.codes)
        return replace(rule, temperature=voter.scores_.temperature).probabilities(S)


@dataclass(frozen=True)
class Told:
    """Scores of held-out samples as a scorer of scikit-learn asks for them."""

    classes_: NDArray[Any]
    values: Floats

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        return SmoothEmbedding().__sklearn_tags__()

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing is learned."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels."""
        return np.asarray(self.classes_[self.values.argmax(axis=1)])

    def decision_function(self, X: Any) -> Floats:
        """Scores."""
        return as_decision(self.values)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities at a usual temperature: the best one belongs to the model that is fitted."""
        return np.asarray(softmax(self.values / USUAL_TEMPERATURE, axis=1))


def checked_grid(
    grid: Mapping[str, Sequence[float]] | None, base: SmoothEmbedding, samples: Samples
) -> dict[str, Sequence[float]]:
    """The values to try; no metric for sparse samples or where none is wanted."""
    unknown = sorted(set(grid or {}) - set(GRID))
    if unknown:
        rule = f"name parameters among {sorted(GRID)}"
        raise rule_error("grid", rule, unknown, "Set others on `estimator`.")
    found = {name: tuple((grid or {}).get(name, values)) for name, values in GRID.items()}
    for name, values in found.items():
        if not values or not all(isinstance(value, Real) and value >= 0 for value in values):
            raise rule_error("grid", f"have positive numbers for {name}", values, "Leave it out.")
    if base.metric is None or is_sparse(samples.X):
        found |= {"relevance": (0.0,), "shrinkage": (float("inf"),)}
    return dict(found)


def best_augment(
    candidates: Sequence[Any],
    base: SmoothEmbedding,
    model: SmoothEmbedding,
    samples: Samples,
    splits: list[tuple[Ints, Ints]],
) -> Any:
    """The augmentation with the least error; None unless another is better by a standard error."""
    errors = {}
    for place, augment in enumerate(candidates):
        losses = []
        for train, held in splits[: ROUNDS[0] + 1]:
            fold = Fold.of(samples, train, held, augment)
            rows = fold.train
            fitted = clone(model).set_params(augment=None, unlabeled=None, class_weight=None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted.fit(rows.held(), rows.classes[rows.codes], rows.weights)
            S = fitted.map_(fold.held) @ fitted.scores_.weights.T + fitted.scores_.offsets
            losses.append(fold.judged(S, S[:1], None)[0])
        errors[place] = np.array(losses)
    best = min(errors, key=lambda place: errors[place].mean())
    none = next((place for place, augment in enumerate(candidates) if augment is None), None)
    if none is not None and best != none:
        gain = errors[none] - errors[best]
        if gain.mean() <= gain.std() / max(len(gain), 1) ** 0.5:
            best = none
    return candidates[best]


def held_rows(fold: Fold) -> Any:
    """The held-out samples."""
    return fold.held


def fitted_voters(
    models: Sequence[SmoothEmbedding], X: Any, y: Any, sample_weight: Any
) -> list[SmoothEmbedding]:
    """The models fitted to all samples; interrupted, those that are."""
    fitted: list[SmoothEmbedding] = []
    for model in models:
        try:
            fitted.append(model.fit(X, y, sample_weight))
        except KeyboardInterrupt:
            if not fitted:
                raise
            warnings.warn("Interrupted: fewer models decide.", UserWarning, stacklevel=4)
            break
    return fitted


def _mean(values: Floats) -> Floats:
    """Mean over the splits that were computed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # kernels that were on no split
        return np.asarray(np.nanmean(values, axis=2))


def _complete(values: Floats, losses: Floats) -> Floats:
    """Means of points that were on as many splits as any; infinite for the others."""
    done = np.isfinite(losses).sum(axis=2)
    return np.where(done == done.max(), _mean(values), np.inf)


def _order(values: Floats) -> list[tuple[int, int]]:
    """Places of points, the least value first."""
    flat = np.argsort(values.ravel(), kind="stable")
    return [(int(k), int(i)) for k, i in zip(*np.unravel_index(flat, values.shape), strict=True)]


def _part(D2: Floats) -> Floats:
    some = evenly(len(D2))
    return D2 if len(some) == len(D2) else D2[np.ix_(some, some)]
