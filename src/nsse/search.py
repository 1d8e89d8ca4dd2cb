"""`SmoothEmbeddingCV`: the parameters of `SmoothEmbedding`, chosen on inner splits in closed form.

A kernel is a metric (relevance, shrinkage) and a width σ. Distances for every shrinkage come from one
decomposition of the scatter; scores of held-out samples for every λ from a Cholesky factorisation each.
Kernels that fall behind are dropped by successive halving. What is compared is the squared error of the
scores at their best amplitude, min over a of Σ ‖a (s − π) − (e − π)‖²: a handful of labels cannot tell
points apart, their scores can, and a smooth map, whose scores are small, is not worse for that. Many
labels can: every wrong label adds N/40 to it, N the number of samples. A point is judged by its
difference to the untuned one, sample by sample, plus a standard error, of few samples three: where the
data cannot tell, the untuned model stays. The mean of the scores of the best few points decides, with
those of the untuned one unless it is clearly behind; of few samples only if fewer held-out labels are
wrong than by the untuned one alone. Where the nearest training sample in the embedding has clearly more
labels right on the held-out samples, the majority of the best few nearest-sample rules does; they are
ranked by (d²/(d² + d'²))², d and d' the distances to the nearest sample of the own class and of the
others, and by their wrong labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import softmax, stdtrit
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from nsse._support.arrays import fitted_in_numpy, is_dask
from nsse._support.errors import rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_count
from nsse._support.progress import progress_bar
from nsse._support.threads import one_blas_thread
from nsse._support.types import LabelsLike, SamplesLike, WeightsLike
from nsse.affine import is_sparse
from nsse.alternatives import AugmentTrial, FirstAugmentTrial, Trial, UnlabeledTrial
from nsse.base import FLOATS, EmbeddingClassifier
from nsse.criteria import Losses, Scored, SquaredError
from nsse.distances import distances_from, median_distance, products, squared_norms
from nsse.hull import squared_heights
from nsse.kernels import Gaussian, as_kernel
from nsse.labels import checked_weights, class_factors, encoded
from nsse.metrics import Euclidean, WithinMetric
from nsse.metrics.learned import centred
from nsse.metrics.relevance import feature_weights
from nsse.metrics.scatter import along_scatter
from nsse.model import UNIT_SAMPLES, evenly
from nsse.rows import Rows, stratified
from nsse.smooth import SmoothEmbedding
from nsse.sources import Source
from nsse.splits import BalancedSplits, GroupedSplits
from nsse.unlabeled import GraphPenalty, LabelPropagation, use_of_unlabeled
from nsse.votes import MajorityVote, MeanVote, Member

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Kernel = tuple[float, bool, float, float]

GRID: dict[str, tuple[float, ...]] = {
    "relevance": (0.0, 1.0, 2.0),
    "spreads": (False,),
    "shrinkage": (float("inf"), 10.0, 3.0, 0.3, 0.1),
    "sigma": (0.5, 1.0, 4.0),
    "smoothness": (0.01, 0.1, 1.0, 3.0),
}
# Splits of the rounds of successive halving, and the share of kernels that each round compares.
ROUNDS, SHARES = (2, 3, 5), (1.0, 0.25, 0.125)
FEWEST_KERNELS = 4
# Share of a class that is held out, and samples from which on fewer splits are enough.
HELD_OUT, MANY_SAMPLES = 0.25, 1000
# Samples that a split trains on, at most: a Cholesky factorisation is cubic in their number.
MOST_TRAINING = 500
# Rows that a split trains on where samples are augmented, and their values, at most; and what is tried
# there: augmented samples keep a map smooth, λ may be less and no wide kernel is needed.
MOST_ROWS, MOST_VALUES = 1500, 1_500_000
AUGMENTED: dict[str, Sequence[float]] = {"sigma": (0.5, 1.0), "smoothness": (0.001, 0.01, 0.1)}
# Least λ, for every row, beside which single precision is precise enough.
ROUNDING = 4e-7
# Voters beside the untuned point.
N_VOTERS = 5
# Standard errors by which a point must be better than the untuned one, and nearest samples than scores;
# and by which augmentation and unlabelled samples must.
BETTER, CLEARLY = 1.0, 1.25
# Of few samples the best of many points is often best by chance: as many as Student's t has at a level.
FEW_SAMPLES, LEVEL_OF_FEW = 80, 0.005
# Splits on which decision rules are compared and probabilities calibrated; and augmentations compared.
CALIBRATION_SPLITS, TRIAL_SPLITS = 10, 3


class SmoothEmbeddingCV(EmbeddingClassifier):
    """`SmoothEmbedding` with parameters chosen by cross-validation, in closed form.

    Metric, width of the kernel, smoothness and decision rule are compared on inner splits by the scores
    of held-out samples. The models that are better than the untuned one, and it, decide together: where
    the samples cannot tell, the untuned model stays.

    Parameters
    ----------
    estimator : SmoothEmbedding, default=None
        The untuned model, which holds all that is not searched: centres, class weights. None is
        ``SmoothEmbedding()``. With ``metric=None`` no metric is tried. With
        ``unlabeled=GraphPenalty()`` or ``LabelPropagation()`` its weight is chosen too.
    grid : dict, default=None
        Values of "relevance", "spreads", "shrinkage", "sigma" and "smoothness" to try instead of the
        usual ones.
    augment : sequence, default=None
        Augmentations to choose among, None among them: ``[None, Images((28, 28))]``. Parameters are
        compared again with the best one, which is taken where it is better then.
    cv : int, splitter or iterable, default=None
        Splits, as in ``GridSearchCV``. None draws ten that hold out a quarter of every class, or of
        the groups where these are given. Of many training samples of a split 500 are taken, of
        augmented ones those that make 1500 rows.
    scoring : str or callable, default=None
        What is compared. None is the squared error of the scores at their best amplitude, and how many
        labels are wrong, which counts the more the more samples there are; or any scorer of
        scikit-learn.
    n_voters : int, default=None
        Models that decide together beside the untuned one, at most; 1 is the best model alone. None is
        5, and 1 beyond `max_samples`.
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
        Mean score of these on held-out samples: minus what is compared, or that of `scoring`.
    best_estimator_ : SmoothEmbedding
        The best model alone; its map is the one that `transform` gives.
    cv_results_ : dict of arrays
        "params", "mean_test_score", "std_test_score", "rank_test_score", "n_splits" of every point that
        was compared to the end, and "gain", how much better than the untuned point it is at least.
    voters_ : list of SmoothEmbedding
        The models that decide, the best first.
    vote_ : MeanVote or MajorityVote
        Their decision.
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

    # Groups are meant for the splits wherever they are given, as in the group splitters.
    __metadata_request__fit: ClassVar = {"groups": True}

    _takes_other_namespaces = True

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

    @fitted_in_numpy
    @all_or_nothing
    def fit(
        self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None, groups: Any = None
    ) -> Self:
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
            Samples of a group are not split.

        Returns
        -------
        self
            The fitted search. Interrupted, it goes on with the best of what it knows.
        """
        base = SmoothEmbedding() if self.estimator is None else clone(self.estimator)
        base._check_parameters()
        require_gaussian(base.kernel)
        require_searched(base.metric)
        require_known_use(base.unlabeled)
        if not is_dask(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        else:
            self.n_features_in_ = int(X.shape[1])
        most = check_count("max_samples", self.max_samples, least=10, cure="2000 is usual.")
        samples = Samples.of(base, X, y, sample_weight, groups, most)
        n_voters = N_VOTERS if samples.n_given <= most else 1
        if self.n_voters is not None:
            cure = "5 is usual, 1 takes the best alone."
            n_voters = check_count("n_voters", self.n_voters, cure=cure)
        with one_blas_thread():  # splits have few rows, on which several threads fight
            splits = samples.splits(self.cv, self.random_state)
            table = Table.of(base, self.grid, samples, splits, self.scoring)
            self._worked(table.steps(), table.n_steps, "Comparing parameters", least=1)
            if self.augment is not None or base.unlabeled is not None:
                table = self._with_alternatives(table, n_voters, X, y, sample_weight)
            decisions = table.decisions(n_voters)
            outside = self._held_out(table, decisions)
        decision = outside.best(samples.better)
        self.voters_ = self._fitted(decisions[decision], X, y, sample_weight)
        self._keep(table, outside, decision)
        if table.uses_unlabeled:
            hidden = np.flatnonzero(encoded(y, base.unlabeled.marker)[1] < 0)
            labels = self.best_estimator_.transduction_.copy()
            labels[hidden] = self.vote_.predict(Source.of(X).take(hidden))
            self.transduction_ = labels
        return self

    def _worked(self, steps: Iterator[Any], total: int, what: str, least: int = 0) -> list[Any]:
        """Results of steps, under a bar; interrupted, those that there are if they are enough."""
        done: list[Any] = []
        try:
            shown = True if self.verbose else None
            with progress_bar(total, what, shown) as advance, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of parts of the samples
                for result in steps:
                    done.append(result)
                    advance()
        except KeyboardInterrupt:
            if len(done) < least:
                raise
            message = f"Interrupted while {what.lower()}: the best of what is known is taken."
            warnings.warn(message, UserWarning, stacklevel=4)
        return done

    def _with_alternatives(
        self, table: Table, n_voters: int, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike
    ) -> Table:
        """The table with the augmentation and the use of unlabelled samples that are clearly better."""
        model, base = table.decisions(n_voters)["scores"][0], table.base
        if table.uses_unlabeled:
            trial = UnlabeledTrial.of(model, table, X, y, sample_weight)
            base.set_params(unlabeled=self._best_of(trial, TRIAL_SPLITS, CLEARLY))
        if self.augment is None:
            return table
        first = FirstAugmentTrial.of(self.augment, model, table)
        base.set_params(augment=self._best_of(first, TRIAL_SPLITS, CLEARLY).augment)
        if base.augment is None:
            return table
        # Other parameters are best with augmented samples than without.
        n_splits = max(1, len(table.splits) // 2)
        grid = AUGMENTED | dict(self.grid or {})
        again = Table.of(base, grid, table.samples, table.splits[:n_splits], self.scoring)
        self._worked(again.steps(), again.n_steps, "Comparing parameters again")
        usual = first.candidates[0].augment
        if not again.n_done:
            base.set_params(augment=usual)
            return table
        if usual is not None:
            return again
        without = table.best(again.n_done).set_params(augment=None)
        pair = AugmentTrial([without, again.best(again.n_done)], table)
        if self._best_of(pair, n_splits, table.samples.better) is not without:
            return again
        base.set_params(augment=None)
        return table

    def _best_of(self, trial: Trial, n_splits: int, times: float) -> Any:
        """The best candidate of a trial on the first splits, by its rule and so many standard errors."""
        splits = trial.table.splits[:n_splits]
        error = SquaredError.of((len(trial.candidates),), trial.table.samples, splits)
        error.price *= trial.price
        steps = trial.steps(error, [trial.table.fold(split, None) for split in range(len(splits))])
        done = self._worked(steps, len(trial.candidates) * len(splits), trial.what)
        return trial.best(error, len(done), times)

    def _held_out(self, table: Table, decisions: Mapping[str, list[SmoothEmbedding]]) -> HeldOut:
        """Values of the models of all decisions for held-out samples."""
        # Where labels spread, none is held out here: every model knows its own temperature.
        n_splits = 0 if table.uses_unlabeled else min(len(table.splits), CALIBRATION_SPLITS)
        models = [model for some in decisions.values() for model in some]
        folds = (table.fold(split, models[0].augment, MOST_ROWS) for split in range(n_splits))
        steps = ([fold.values(model) for model in models] for fold in folds)
        done = self._worked(steps, n_splits, "Comparing decision rules")
        samples, held = table.samples, [held for _, held in table.splits[: len(done)]]
        which = np.concatenate([np.empty(0, dtype=np.intp), *held])
        none = np.empty((len(models), 0, len(samples.classes)))
        values = np.concatenate([none, *map(np.stack, done)], axis=1)
        parts = np.split(values, np.cumsum([len(some) for some in decisions.values()])[:-1])
        by_name = dict(zip(decisions, parts, strict=True))
        return HeldOut(by_name, samples.codes[which], samples.weights[which], len(samples.codes))

    def _fitted(
        self,
        models: Sequence[SmoothEmbedding],
        X: SamplesLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
    ) -> list[SmoothEmbedding]:
        """The models fitted to all samples; interrupted, those that are, the best in any case."""
        fitted: list[SmoothEmbedding] = []
        try:
            for model in models:
                fitted.append(model.fit(X, y, sample_weight))
        except KeyboardInterrupt:
            warnings.warn("Interrupted: fewer models decide.", UserWarning, stacklevel=4)
        return fitted or [models[0].fit(X, y, sample_weight)]

    def _keep(self, table: Table, outside: HeldOut, decision: str) -> None:
        """Set the fitted attributes."""
        best = self.voters_[0]
        self.best_estimator_ = best
        for name in ("classes_", "embedding_", "map_", "scores_", "labels_", "transduction_"):
            setattr(self, name, getattr(best, name))
        names = ("metric", "sigma", "smoothness", "decision", "augment", "unlabeled")
        self.best_params_ = {name: getattr(best, name) for name in names}
        self.cv_results_, self.best_score_ = table.results(best)
        each, codes = outside.values[decision][: len(self.voters_)], outside.codes
        members = [Member(voter.map_, voter.scores_) for voter in self.voters_]
        if best.decision == "nearest":
            self.vote_: Any = MajorityVote(members)
            taus = np.array([member.scores.temperature for member in members])
            each = softmax(each / taus[:, np.newaxis, np.newaxis], axis=2)
        values = np.asarray(each.mean(axis=0))
        self._leave_one_out, self._leave_one_out_labels = values, self.classes_[codes]
        if best.decision == "scores" and len(codes):
            self.vote_ = MeanVote(members).calibrated(values, codes, outside.weights)
        elif best.decision == "scores":
            self.vote_ = MeanVote(members, best.scores_.temperature)
            self._leave_one_out = best._leave_one_out
            self._leave_one_out_labels = best._leave_one_out_labels


def require_searched(metric: Any) -> None:
    """Raise an error for other metrics, whose parameters the search does not compare yet."""
    if not (metric is None or isinstance(metric, str | WithinMetric | Euclidean)):
        rule = 'have the metric "within", "euclidean" or a WithinMetric in a search'
        cure = "Compare other metrics with sklearn.model_selection.GridSearchCV."
        raise rule_error("estimator", rule, metric, cure)


def require_known_use(unlabeled: Any) -> None:
    """Raise an error for other uses of unlabeled samples, which the search does not compare."""
    if not (unlabeled is None or isinstance(unlabeled, GraphPenalty | LabelPropagation)):
        cure = "Compare other uses with sklearn.model_selection.GridSearchCV."
        raise rule_error(
            "estimator", "have a GraphPenalty or a LabelPropagation as `unlabeled`", unlabeled, cure
        )


def is_euclidean(metric: Any) -> bool:
    """Whether a metric of a search is the Euclidean one."""
    return metric is None or isinstance(metric, Euclidean) or metric == "euclidean"


def require_gaussian(kernel: Any) -> None:
    """Raise an error for other kernels, whose scores the search cannot compute yet."""
    if type(as_kernel(kernel)) is not Gaussian:
        cure = "Compare other kernels with sklearn.model_selection.GridSearchCV."
        raise rule_error("estimator", 'have kernel="gaussian" in a search', kernel, cure)


@dataclass(frozen=True)
class Samples:
    """The labelled samples on which parameters are compared, in memory; ``places`` are theirs in X.

    ``better`` is the number of standard errors by which a point must be better than the untuned one.
    """

    X: SamplesLike
    classes: NDArray[Any]
    codes: Ints
    weights: Floats
    places: Ints
    groups: NDArray[Any] | None
    n_given: int
    better: float

    @classmethod
    def of(
        cls,
        base: SmoothEmbedding,
        X: SamplesLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
        groups: Any,
        most: int,
    ) -> Samples:
        """Samples that have a label and a weight, at most so many."""
        source, marker = Source.of(X), use_of_unlabeled(base.unlabeled).marker
        # Refuses what cannot be fitted.
        rows = Rows.of(source, y, sample_weight, base.class_weight, marker)
        given = np.flatnonzero(rows.given >= 0)
        codes = rows.codes[rows.given[given]]
        places, codes = given[codes >= 0], codes[codes >= 0]
        weights = checked_weights(sample_weight, len(rows.given))[places]
        if base.class_weight is not None:
            weights = weights * class_factors(base.class_weight, rows.classes, codes, weights)
        if len(places) > most:
            some = stratified(codes, most, np.random.default_rng(0))
            places, codes, weights = places[some], codes[some], weights[some]
        own = None if groups is None else checked_groups(groups, len(rows.given))[places]
        X = source.take(places)
        few = float(stdtrit(len(codes) - 1, 1.0 - LEVEL_OF_FEW))
        better = few if len(codes) <= FEW_SAMPLES else BETTER
        return cls(X, rows.classes, codes, weights, places, own, len(rows.given), better)

    def splits(self, cv: Any, random_state: Any) -> list[tuple[Ints, Ints]]:
        """Splits of these samples, of one class none; given as indices they are those of all samples."""
        labels, rng = self.classes[self.codes], np.random.default_rng(0)
        if cv is None:
            n_splits = sum(ROUNDS) if len(self.codes) < MANY_SAMPLES else ROUNDS[0]
            seed = check_random_state(random_state).randint(2**31 - 1)
            cv = (BalancedSplits if self.groups is None else GroupedSplits)(n_splits, HELD_OUT, seed)
        if hasattr(cv, "split") or not isinstance(cv, Iterable):
            drawn = check_cv(cv, labels, classifier=True).split(self.X, labels, self.groups)
        else:
            position = np.full(self.n_given, -1)
            position[self.places] = np.arange(len(self.places))
            own = [[position[np.arange(self.n_given)[np.asarray(part)]] for part in pair] for pair in cv]
            drawn = [(train[train >= 0], held[held >= 0]) for train, held in own]
        found = []
        for train, held in drawn:
            if len(train) > MOST_TRAINING:
                train = train[stratified(self.codes[train], MOST_TRAINING, rng)]
            if len(held) and len(np.unique(self.codes[train])) > 1:
                found.append((train, held))
        return found


@dataclass
class Table:
    """Points compared on splits; kernels drop out by successive halving.

    A point is a kernel and a λ; the first kernel, with the λ at ``own``, is the untuned model.
    ``ratios`` are mean losses of nearest-sample rules, NaN where none was computed.
    """

    kernels: list[Kernel]
    smoothness: Floats
    own: int
    base: SmoothEmbedding
    samples: Samples
    splits: list[tuple[Ints, Ints]]
    criterion: Any
    ratios: Floats
    rounds: list[tuple[int, range]]
    n_steps: int
    asks_for_nearest: bool
    uses_unlabeled: bool
    alive: Ints
    n_done: int = 0

    @classmethod
    def of(
        cls,
        base: SmoothEmbedding,
        grid: Mapping[str, Sequence[float]] | None,
        samples: Samples,
        splits: list[tuple[Ints, Ints]],
        scoring: Any,
    ) -> Table:
        """Nothing compared yet."""
        points, untuned = checked_grid(grid, base, samples.X), kernel_of(base, samples.X)
        # Without relevance no feature is weighted, by spreads or not: one kernel.
        every = product(*(points[name] for name in list(GRID)[:-1]))
        kernels: Any = list(dict.fromkeys((r, bool(r and s), *rest) for r, s, *rest in every))
        # Of equals the first is taken, hence one with the metric of the untuned model.
        kernels.sort(key=lambda kernel: kernel[:-1] != untuned[:-1])
        kernels = [untuned, *(kernel for kernel in kernels if kernel != untuned)]
        smoothness = np.unique([*points["smoothness"], float(base.smoothness)])
        shape, own = (len(kernels), len(smoothness)), int(np.searchsorted(smoothness, base.smoothness))
        if scoring is None:
            criterion: Any = SquaredError.of(shape, samples, splits)
            # Labels are few where unlabelled samples are to help, and metrics are those of a graph.
            criterion.price *= base.unlabeled is None
        else:
            criterion = Scored.of(get_scorer(scoring), shape, len(splits))
        ratios, n = np.full((*shape, len(splits)), np.nan), len(kernels)
        ends = [*np.minimum(np.cumsum((0, *ROUNDS[:-1])), len(splits)).tolist(), len(splits)]
        sizes = [min(n, max(FEWEST_KERNELS, round(n * share))) for share in SHARES]
        rounds = list(zip(sizes, map(range, ends[:-1], ends[1:]), strict=True))
        # A scorer is given scores: no nearest-sample rules.
        both = scoring is None and base.decision == "scores"
        n_steps = sum(size * len(part) for size, part in rounds)
        helped = base.unlabeled is not None and len(samples.codes) < samples.n_given
        parts = base, samples, splits, criterion, ratios, rounds, n_steps, both, helped, np.arange(n)
        return cls(kernels, smoothness, own, *parts)

    def steps(self) -> Iterator[None]:
        """Compare all points, round by round, a kernel on a split at a time."""
        for size, splits in self.rounds:
            if self.n_done:
                # The untuned kernel and those of least loss, a third of them by the nearest sample.
                losses = self.criterion.losses(self.alive, self.n_done)
                by_loss = np.argsort((losses.values @ losses.weights).min(axis=1), kind="stable")
                ratios = self.ratios[self.alive, :, : self.n_done].mean(axis=2).min(axis=1)
                third = size // 3 if self.asks_for_nearest else 0
                by_ratio = np.argsort(ratios, kind="stable")[:third]
                order = [0, *self.alive[by_ratio], *self.alive[by_loss]]
                self.alive = np.array(list(dict.fromkeys(order))[:size])
            for split in splits:
                fold = self.fold(split, self.base.augment, MOST_ROWS)
                for k in self.alive.tolist():
                    for place, (S, F) in enumerate(fold.scores(self.kernels[k], self.smoothness)):
                        self.criterion.record((k, place), split, fold, S)
                        if self.asks_for_nearest:
                            self.ratios[k, place, split] = fold.ratio(S, F, self.criterion.price)
                    yield
                self.n_done = split + 1

    def fold(self, split: int, augment: Any, most_rows: int | None = None) -> Fold:
        """A split as rows, of equal samples one; only its training samples are augmented."""
        (train, held), samples = self.splits[split], self.samples
        known, codes = np.unique(samples.codes[train], return_inverse=True)
        rows = Rows.of(Source.of(samples.X[train]), codes, samples.weights[train])
        # All classes, also those that are held out whole.
        rows = replace(rows, classes=samples.classes, codes=known[rows.codes].astype(np.intp))
        rows = rows.augmented(augment)
        if most_rows is not None:
            most = min(most_rows, max(MOST_TRAINING, MOST_VALUES // samples.X.shape[1]))
            rows = rows.sample(most // rows.per_sample, np.random.default_rng(split))
        metric = self.base.metric if isinstance(self.base.metric, WithinMetric) else WithinMetric()
        held_rows = samples.X[held], samples.codes[held], samples.weights[held]
        sizes = np.bincount(rows.codes, rows.weights, len(rows.classes))
        return Fold(rows, *held_rows, metric.n_neighbors, sizes / sizes.sum(), {})

    def best(self, n_splits: int) -> SmoothEmbedding:
        """The model with the least loss on the first splits."""
        losses = self.criterion.losses(self.alive, n_splits)
        place = divmod(int((losses.values @ losses.weights).argmin()), len(self.smoothness))
        return self._model(place, self.base.decision)

    def decisions(self, n_voters: int) -> dict[str, list[SmoothEmbedding]]:
        """Models that may decide together, the best first: by scores, and what these compete with.

        Of few samples they compete with the untuned model alone, and with nearest samples. The untuned
        model is the last of those by scores, unless it is behind the others.
        """
        untuned: SmoothEmbedding = clone(self.base)
        if not self.n_done:
            return {"scores": [untuned]}
        losses, times = self.criterion.losses(self.alive, self.n_done), self.samples.better
        own = losses.values[0, self.own]
        bounds = losses.bounds(own, times)
        better = [place for place in _distinct(bounds) if bounds[place] < 0.0][:n_voters]
        models = [self._model(place, self.base.decision) for place in better]
        together = np.mean([own, *(losses.values[place] for place in better)], axis=0)
        is_behind = replace(losses, values=together).bounds(own, times + 1.0) < 0.0
        if not models or (n_voters > 1 and not is_behind):
            models.append(untuned)
        found = {"scores": models}
        if better and times > BETTER and isinstance(self.criterion, SquaredError):
            found["untuned"] = [untuned]
        if self.asks_for_nearest:
            ratios = self.ratios[self.alive, :, : self.n_done].mean(axis=2)
            found["nearest"] = [self._model(p, "nearest") for p in _distinct(ratios)[:n_voters]]
        return found

    def _model(self, place: tuple[int, int], decision: str) -> SmoothEmbedding:
        relevance, spreads, shrinkage, sigma = self.kernels[self.alive[place[0]]]
        own, metric = self.base.metric, None
        if relevance > 0.0 or np.isfinite(shrinkage):
            metric = clone(own) if isinstance(own, WithinMetric) else WithinMetric()
            metric.set_params(shrinkage=shrinkage, relevance=relevance, spreads=bool(spreads))
        model: SmoothEmbedding = clone(self.base)
        values = {"sigma": sigma, "smoothness": float(self.smoothness[place[1]])}
        return model.set_params(metric=metric, decision=decision, **values)

    def results(self, best: SmoothEmbedding) -> tuple[dict[str, Any], float]:
        """`cv_results_`, the best mean score first, and the mean score of the best model."""
        if not self.n_done:
            return {}, float("nan")
        losses = self.criterion.losses(self.alive, self.n_done)
        mean, own = losses.values @ losses.weights, losses.values[0, self.own]
        bounds = losses.bounds(own, self.samples.better)
        spread = np.square(losses.values - mean[..., np.newaxis]) @ losses.weights
        order = [divmod(k, mean.shape[1]) for k in np.argsort(mean, None, kind="stable").tolist()]
        points = [(*self.kernels[self.alive[k]], float(self.smoothness[i])) for k, i in order]
        found: dict[str, Any] = {
            "params": [dict(zip(GRID, point, strict=True)) for point in points],
            "mean_test_score": np.array([-mean[place] for place in order]),
            "std_test_score": np.array([spread[place] ** 0.5 for place in order]),
            "gain": np.array([-bounds[place] for place in order]),
            "n_splits": np.full(len(order), self.n_done),
            "rank_test_score": np.arange(1, len(order) + 1),
        }
        point = (*kernel_of(best, self.samples.X), float(best.smoothness))
        return found, float(found["mean_test_score"][points.index(point)])


@dataclass(frozen=True)
class Fold:
    """The training rows and the held-out samples of one split; ``known`` are distances in metrics."""

    train: Rows
    held: Any
    held_codes: Ints
    held_weights: Floats
    n_neighbors: int | None
    shares: Floats
    known: dict[Any, Any]

    def scores(self, kernel: Kernel, smoothness: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Class scores of held-out samples and of training rows for every λ."""
        relevance, spreads, shrinkage, sigma = kernel
        if kernel[:2] not in self.known:
            self.known[kernel[:2]] = Axes.of(self, relevance, spreads)
        if kernel[:3] not in self.known:
            self.known[kernel[:3]] = self.known[kernel[:2]].distances(shrinkage)
        D2, E2 = self.known[kernel[:3]]
        root, scale = np.sqrt(self.train.weights).astype(np.float32), np.float32(-1.0 / sigma**2)
        shares, targets = self.shares, self.train.indicators() - self.shares
        T = root[:, np.newaxis] * targets.astype(np.float32)
        K = np.exp(D2 * scale) * (root * root[:, np.newaxis])
        there = np.exp(E2 * scale) * root
        diagonal = np.diag_indices(len(K))
        for weight in smoothness:
            # In single precision where λ is large beside the rounding of K.
            G = K.astype(np.float32 if weight > ROUNDING * len(K) else np.float64)
            G[diagonal] += weight
            posv = linalg.lapack.sposv if G.dtype == np.float32 else linalg.lapack.dposv
            _, C, problem = posv(G.T, T, overwrite_a=True)  # in place
            if problem:
                raise np.linalg.LinAlgError(f"K + {weight:g} I has no Cholesky factor in {G.dtype}.")
            yield there @ C + shares, targets - weight * C / root[:, np.newaxis] + shares

    def nearest(self, S: Floats, F: Floats) -> Floats:
        """−‖s − f‖² of scores S to the nearest row F of every class, −inf where there is none."""
        order = np.argsort(self.train.codes, kind="stable")
        known, starts = np.unique(self.train.codes[order], return_index=True)
        F = F[order].astype(np.float32)
        P = F @ S.T.astype(np.float32) * 2.0 - squared_norms(F)[:, np.newaxis]
        found = np.full((S.shape[1], len(S)), -np.inf)
        found[known] = np.minimum(np.maximum.reduceat(P, starts) - squared_norms(S), 0.0)
        return found.T

    def ratio(self, S: Floats, F: Floats, price: float) -> float:
        """Mean of (d²/(d² + d'²))², d to the nearest row F of the own class, and of wrong labels."""
        D2, rows = -self.nearest(S, F), np.arange(len(S))
        own = D2[rows, self.held_codes]
        D2[rows, self.held_codes] = np.inf
        other = D2.min(axis=1)
        share = 1.0 - other / np.maximum(own + other, 1e-300)  # 1 where no row is of the own class
        return float(np.average(share**2 + price * (own > other), weights=self.held_weights))

    def values(self, model: SmoothEmbedding) -> Floats:
        """Values of the classes for held-out samples by a model, as its decision rule has them."""
        kernel = kernel_of(model, self.held)
        S, F = next(self.scores(kernel, np.array([float(model.smoothness)])))
        return S if model.decision == "scores" else self.nearest(S, F)


@dataclass(frozen=True)
class Axes:
    """Rows and held-out samples with weighted features; distances in metrics of every shrinkage.

    ``inner`` and ``across`` are inner products of rows, and of held-out samples with them.

    With x_k along the eigenvectors of S_w and its eigenvalues v_k,
    (Ax)'(Az) = x'z − Σ_k v_k/(v_k + ρ) x_k z_k: one decomposition for all ρ.
    """

    rows: Any
    held: Any
    inner: Floats
    across: Floats
    codes: Ints
    weights: Floats
    n_neighbors: int | None

    @classmethod
    def of(cls, fold: Fold, relevance: float, spreads: bool) -> Axes:
        """Of a split."""
        X, weights = fold.train.held(), fold.train.weights
        codes = np.unique(fold.train.codes, return_inverse=True)[1]
        affine, k = centred(X), fold.n_neighbors
        rows, held = affine(X), affine(fold.held)
        if relevance > 0.0:
            by_feature = feature_weights(rows, codes, weights, relevance, spreads)
            rows, held = rows * by_feature, held * by_feature
        k = None if k is None else k * fold.train.per_sample
        return cls(rows, held, products(rows, rows), products(held, rows), codes, weights, k)

    @cached_property
    def heights(self) -> Floats:
        """Return squared distances of held-out samples from the hull of the rows.

        They are the same in all metrics, which shorten directions in the hull alone.
        """
        if len(self.inner) > self.rows.shape[1]:
            return np.zeros(len(self.across))
        return squared_heights(self.inner, self.across, squared_norms(self.held))

    @cached_property
    def scatter(self) -> tuple[Floats, Floats, Floats, float]:
        """Eigenvalues of S_w, rows and held-out samples along its eigenvectors, and tr(S_w)/n."""
        edges = self.codes, self.weights, self.n_neighbors
        return along_scatter(self.rows, self.held, self.inner, self.across, *edges)

    def distances(self, shrinkage: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Squared distances of rows, and of held-out samples to them, by that in their middle."""
        inner, across, norms = self.inner, self.across, squared_norms(self.held) - self.heights
        if np.isfinite(shrinkage) and self.scatter[3] > 0.0:
            values, rows, held, mean = self.scatter
            factors = values / (values + shrinkage * mean)
            P = rows * factors
            inner, across = inner - P @ rows.T, across - held @ P.T
            norms = norms - np.square(held) @ factors
        E2 = np.maximum(norms[:, np.newaxis] + inner.diagonal() - 2.0 * across, 0.0)
        D2 = distances_from(inner)
        part = D2 if len(D2) <= UNIT_SAMPLES else D2[np.ix_(*2 * [evenly(len(D2))])]
        scale = median_distance(part) ** -2
        return (D2 * scale).astype(np.float32), (E2 * scale).astype(np.float32)


@dataclass(frozen=True)
class HeldOut:
    """Values of the classes for held-out samples, by decision and model."""

    values: Mapping[str, Floats]
    codes: Ints
    weights: Floats
    n_samples: int

    def best(self, times: float) -> str:
        """The decision: scores, where they have fewer wrong labels than the untuned model.

        Nearest samples, where they have fewer than that by so many standard errors.
        """
        if not len(self.codes):
            return "scores"
        shares, number = self.weights / self.weights.sum(), min(len(self.codes), self.n_samples)
        labels = {
            name: each.argmax(axis=2)
            if name == "nearest"
            else each.mean(axis=0, keepdims=True).argmax(axis=2)
            for name, each in self.values.items()
        }
        wrong = {name: (own != self.codes).mean(axis=0) for name, own in labels.items()}
        found = "scores"
        if "untuned" in wrong and not (wrong["scores"] - wrong["untuned"]) @ shares < 0.0:
            found = "untuned"
        if "nearest" in wrong:
            nearest = Losses(wrong["nearest"], shares, number)
            found = "nearest" if nearest.bounds(wrong[found], times) < 0.0 else found
        return found


def checked_grid(
    grid: Mapping[str, Sequence[float]] | None, base: SmoothEmbedding, X: SamplesLike
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
    if is_euclidean(base.metric) or is_sparse(X):
        found |= {"relevance": (0.0,), "shrinkage": (float("inf"),)}
    return dict(found)


def checked_groups(groups: Any, n_samples: int) -> NDArray[Any]:
    """One group for every sample."""
    found = np.asarray(groups)
    if found.shape != (n_samples,):
        rule = f"have one group for each of the {n_samples} samples"
        raise rule_error("groups", rule, f"shape {found.shape}", "Check its length.")
    return found


def kernel_of(model: SmoothEmbedding, X: SamplesLike) -> Kernel:
    """Relevance and by what, shrinkage and width of a model for such samples."""
    is_default = isinstance(model.metric, str) and model.metric == "within"
    metric = WithinMetric() if is_default and not is_sparse(X) else model.metric
    if not isinstance(metric, WithinMetric):
        return 0.0, False, float("inf"), float(model.sigma)
    shrinkage, sigma = float(metric.shrinkage), float(model.sigma)
    return float(metric.relevance), bool(metric.relevance and metric.spreads), shrinkage, sigma


def _distinct(values: Floats, digits: int = 7) -> list[tuple[int, int]]:
    """Places of points, the least value first, one of those that the samples cannot tell apart."""
    found: dict[float, tuple[int, int]] = {}
    for place in np.argsort(values, None, kind="stable").tolist():
        found.setdefault(round(float(values.flat[place]), digits), divmod(place, values.shape[1]))
    return list(found.values())
