"""Choose the parameters of `SmoothEmbedding` by cross-validation: `SmoothEmbeddingCV`.

A candidate is a setting of the metric, a kernel, its width, a smoothness and a decision (`nsse.grid`).

1. Ten random splits hold out a quarter of every class. Each candidate is fitted to the other samples in
   closed form, and gives each held-out sample one value per class (`nsse.candidates`).
2. After three splits, only the settings with the lowest log-loss of held-out samples continue
   (`nsse.halving`).
3. A stack finds the non-negative weights of the candidates that minimize the log-loss of their weighted
   sum, plus a penalty for steep maps (`nsse.stack`). The few candidates with large weights are members.
4. The members are fitted to all samples. Their weighted sum is one map (`nsse.ensemble`), which gives
   labels, probabilities, coordinates and certified radii.

If the user passes `scoring`, there is no stack, and the best single candidate by this score predicts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from nsse._support.arrays import fitted_in_numpy, is_dask
from nsse._support.errors import rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_components, check_count, check_number
from nsse._support.samples import validate_data
from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats, Ints, LabelsLike, SamplesLike, WeightsLike
from nsse.base import FLOATS, EmbeddingClassifier
from nsse.candidates import FEWEST_OF_A_CLASS, Samples
from nsse.ensemble import EnsembleMap, rotation_of, zero_sum_basis
from nsse.grid import Candidate, Grid
from nsse.halving import Comparison, quiet
from nsse.maps import Member
from nsse.rows import Rows
from nsse.scores import Scores
from nsse.smooth import SmoothEmbedding
from nsse.sources import Source
from nsse.stack import Stack
from nsse.unlabeled import use_of_unlabeled
from nsse.unlabeled_candidates import UnlabeledSamples


class SmoothEmbeddingCV(EmbeddingClassifier):
    """Choose the parameters of `SmoothEmbedding` by cross-validation, and combine the best models.

    The search compares settings of the metric, kernel widths, smoothnesses and decisions on held-out
    samples, in closed form. The result is a weighted sum of a few models, which is called a stack. It is
    one map, which gives labels, probabilities, coordinates and certified radii. If `scoring` is given,
    the result is the best single model.

    Parameters
    ----------
    estimator : SmoothEmbedding, default=None
        The model whose parameters are varied. Other parameters, such as the centers and the class
        weights, stay as they are. None is ``SmoothEmbedding()``. If it uses unlabeled samples, as with
        ``unlabeled=GraphPenalty()``, the search compares several ways to use them.
    grid : dict, default=None
        Lists of values to try instead of the usual ones, for "kernel", "sigma", "smoothness", "decision"
        and parameters of the metric, such as "metric__shrinkage". Usual values of sigma come from the
        kernel (`nsse.kernels.Kernel.widths`), and usual settings of the metric from the metric
        (`nsse.metrics.Metric.candidates`).
    augment : list, default=None
        Augmentations to compare, for example ``[None, Images((28, 28))]``. The search finds the best
        settings with the first one, and combines them with the others. If None, the search uses the
        augmentation of `estimator`.
    cv : int, splitter or iterable, default=None
        Splits, as in `sklearn.model_selection.GridSearchCV`. None draws ten splits that hold out a
        quarter of every class, or of the groups if these are given. With 1000 samples or more, it draws
        four. Equal samples are always on the same side of a split. A split uses at most 500 training
        samples, or 750 with 1000 samples or more.
    scoring : str or callable, default=None
        If given, candidates are fitted and compared by this score, as in ``GridSearchCV``, and the best
        single candidate is the result. All candidates are scored on one split, the best 64 on three, and
        the best 16 on all, which takes 10 to 30 times as long. None builds the stack by the log-loss of
        held-out samples.
    slope_penalty : float, default=0.0002
        ν, the penalty for steep maps in the stack, as a share of the lowest log-loss of a candidate. A
        larger value gives a smoother map with larger certified radii, and very large values also cost
        accuracy. Common values are 0 to 0.003. Kernels with an infinite slope, such as the exponential
        kernel, need 0. The parameter has no influence if `scoring` is given.
    max_members : int, default=8
        Largest number of members of the stack. It has no influence if `scoring` is given.
    max_samples : int, default=2000
        Largest number of samples on which candidates are compared. Members are fitted to all samples.
    refit : bool, default=True
        Whether the chosen models are fitted to all samples. If False, the search cannot predict. It then
        sets only `cv_results_`, `n_splits_`, and the attributes whose names begin with "best" except
        `best_estimator_`.
    n_jobs : int, default=None
        Number of processes. None is 1, and −1 uses all processors.
    random_state : int, RandomState instance or None, default=0
        Seed for the splits. The default is a fixed number, so that the same data always give the same
        model.
    verbose : int, default=0
        If 1, a progress bar is shown even if the output is not a terminal.

    Attributes
    ----------
    members_ : list of SmoothEmbedding
        The models of the stack, fitted to all samples. The first one has the largest part in the scores,
        as measured by the standard deviation of this part.
    weights_ : ndarray of shape (n_members,)
        The weights of the members. The class scores of the ensemble are the weighted sum of the values
        of the members, minus their mean over the classes. The values of a member are its class scores,
        or minus squared distances to the nearest training samples. A weight is the weight in the stack
        divided by the temperature of the member.
    best_params_, best_estimator_, best_score_, best_index_
        The parameters of the first member, this member, its mean score on the splits, and its position
        in `cv_results_`. The search predicts with the ensemble and not with this member.
    cv_results_ : dict of arrays
        The entries "params", "param_*", "split*_test_score", "mean_test_score", "std_test_score" and
        "rank_test_score" of ``GridSearchCV``, for all candidates that were compared on all splits. If
        `scoring` is None, scores are minus the log-loss at the best temperature of the candidate.
    n_splits_ : int
        Number of splits.
    embedding_ : ndarray of shape (n_samples, n_components)
        Positions of the training samples.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    labels_ : ndarray of shape (n_samples,)
        Labels of the training samples, as they were given.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training samples. Samples without a label have a predicted one.
    leave_one_out_score_ : float
        Share of the held-out samples whose labels the stack predicts correctly. It is slightly
        optimistic, because the weights of the stack were fitted to these samples.
    map_ : EnsembleMap
        The rotated class scores of the ensemble, or the map of the best model if `scoring` is given.
    scores_ : Scores
        Labels, decision values and probabilities as functions of the map.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    SmoothEmbedding : The model.
    SequentialSearchCV : Search by the rule of the paper, for any estimator.

    Notes
    -----
    If the training part of a split lacks a class, held-out samples of this class have no influence. A
    sample of weight w counts as w samples, in fits and in the log-losses of held-out samples. If no
    class has three samples and there are no augmentations to compare, nothing is compared. The search
    then warns that it uses `estimator` as it is.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked generalization", Neural Networks 5, 1992.
    .. [2] L. Breiman, "Stacked regressions", Machine Learning 24, 1996.

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
        grid: Mapping[str, Sequence[Any]] | None = None,
        augment: Sequence[Any] | None = None,
        cv: Any = None,
        scoring: Any = None,
        slope_penalty: float = 0.0002,
        max_members: int = 8,
        max_samples: int = 2000,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.augment = augment
        self.cv = cv
        self.scoring = scoring
        self.slope_penalty = slope_penalty
        self.max_members = max_members
        self.max_samples = max_samples
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fitted_in_numpy
    @all_or_nothing
    def fit(
        self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None, groups: Any = None
    ) -> Self:
        """Compare the candidates, and fit the chosen models to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of samples that each sample counts as.
        groups : array-like of shape (n_samples,), default=None
            Samples of a group are on the same side of every split.

        Returns
        -------
        self
            The fitted search. If you interrupt the comparison, the search continues with the candidates
            that have been compared.
        """
        base = self._checked_estimator()
        if is_dask(X):
            self.n_features_in_ = int(X.shape[1])
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        marker = use_of_unlabeled(base.unlabeled).marker
        rows = Rows.of(Source.of(X), y, sample_weight, base.class_weight, marker)
        check_components(base.n_components, len(rows.classes))
        samples = Samples.of(rows, groups, int(self.max_samples))
        grid = Grid.of(base, self.grid, self.augment, samples.rows.held())
        self._check_slopes(grid)
        # Augmented samples can be compared even if a split trains on one sample of each class.
        fewest = 2 if grid.augmentations else FEWEST_OF_A_CLASS
        splits = samples.splits(self.cv, self.random_state, fewest)
        if not splits:
            reason = NO_SPLITS if groups is None else NO_SPLITS_OF_GROUPS
            warnings.warn(f"{reason} The estimator is used as it is.", UserWarning, stacklevel=4)
        comparison = Comparison(base, grid, samples, splits, self.n_jobs, self.verbose)
        compare = self._stacked if self.scoring is None else self._best_by_score
        chosen = compare(comparison, rows)
        self.n_splits_ = len(splits)
        if self.refit:
            self.classes_ = rows.classes
            self._fit_members(chosen, comparison, Given(X, y, sample_weight, rows))
            if chosen.weights is None or chosen.held_out is None:
                self._keep_single()
            else:
                self._keep_stack(chosen.weights, chosen.held_out, rows, Source.of(X), y)
        return self

    def score(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> float:
        """Return the share of correct labels, or the score of `scoring` if it is given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            The score.
        """
        if self.scoring is None:
            return float(super().score(X, y, sample_weight))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(self, scoring=self.scoring)(self, X, y, **weights))

    def __sklearn_is_fitted__(self) -> bool:
        if hasattr(self, "cv_results_") and not hasattr(self, "map_"):
            raise NotFittedError(
                "This search was fitted with refit=False, so it has no model. Pass refit=True."
            )
        return hasattr(self, "map_")

    def _checked_estimator(self) -> SmoothEmbedding:
        """Return a copy of the user's estimator, after a check of all parameters."""
        if self.estimator is not None and not isinstance(self.estimator, SmoothEmbedding):
            cure = "Use sklearn.model_selection.GridSearchCV for other estimators."
            raise rule_error("estimator", "be None or a SmoothEmbedding", self.estimator, cure)
        base: SmoothEmbedding = SmoothEmbedding() if self.estimator is None else clone(self.estimator)
        base._check_parameters()
        check_number("slope_penalty", self.slope_penalty, cure="0 does not penalize steep maps.")
        check_count("max_members", self.max_members, cure="8 is usual.")
        check_count("max_samples", self.max_samples, least=10, cure="2000 is usual.")
        if not isinstance(self.refit, bool | np.bool_):
            cure = "True fits the chosen models to all samples."
            raise rule_error("refit", "be True or False", self.refit, cure)
        if isinstance(self.scoring, list | tuple | dict | set):
            cure = "Choose one of them. sklearn.model_selection.cross_validate computes several scores."
            raise rule_error("scoring", "be one scorer", self.scoring, cure)
        if self.scoring is not None:
            check_scoring(base, scoring=self.scoring)
        return base

    def _check_slopes(self, grid: Grid) -> None:
        """Raise an error if a kernel has no slope, but slopes are penalized."""
        steep = [
            setting.kernel for setting in grid.settings if not np.isfinite(setting.kernel.curvature)
        ]
        if steep and self.scoring is None and float(self.slope_penalty) > 0.0:
            rule = f"be 0 with the kernel {steep[0]!r}, whose functions have no bounded slope"
            cure = "Pass slope_penalty=0, or another kernel."
            raise rule_error("slope_penalty", rule, self.slope_penalty, cure)

    def _stacked(self, comparison: Comparison, rows: Rows) -> Chosen:
        """Return the members of the stack with their weights."""
        compared = comparison.compared()
        if not rows.is_labeled.all() and compared.candidates:
            unlabeled = UnlabeledSamples.of(comparison.samples, rows, comparison.base)
            compared = comparison.with_unlabeled(compared, unlabeled, comparison.base.unlabeled)
        if not compared.candidates:  # without splits, nothing is known of any candidate
            self._keep_scores([comparison.grid.own], np.full((0, 1), np.nan), 0)
            return Chosen([comparison.grid.own])
        with one_blas_thread():
            n_candidates = len(compared.candidates)
            penalty = float(self.slope_penalty) * float(compared.losses.min())
            costs = penalty * comparison.slopes(compared) if penalty > 0.0 else np.zeros(n_candidates)
            start = np.zeros(n_candidates)
            start[comparison.place_of_user(compared)] = 1.0
            values = compared.scaled()
            places, weights = Stack(values, compared.held, costs, start).members(self.max_members)
        self._keep_scores(compared.candidates, -compared.losses_by_split().T, int(places[0]))
        candidates = [compared.candidates[place] for place in places]
        own, scores = compared.mean_scores(np.tensordot(weights, values[places], 1))
        held_out = HeldOutScores(comparison.samples.places[own], scores)
        return Chosen(candidates, weights / compared.temperatures[places], held_out)

    def _best_by_score(self, comparison: Comparison, rows: Rows) -> Chosen:
        """Return the best candidate by `scoring`, from fits to the training parts of the splits."""
        scorer = check_scoring(comparison.base, scoring=self.scoring)
        unlabeled = UnlabeledSamples.of(comparison.samples, rows, comparison.base)
        candidates, scores = comparison.scored(scorer, unlabeled)
        self._keep_scores(candidates, scores)
        return Chosen([candidates[self.best_index_]])

    def _keep_scores(
        self, candidates: Sequence[Candidate], scores: Floats, best: int | None = None
    ) -> None:
        """Keep the scores of candidates, of shape (n_splits, n_candidates), and the best of them."""
        every = [candidate.parameters for candidate in candidates]
        unknown = np.full(len(every), np.nan)
        mean, spread = (scores.mean(axis=0), scores.std(axis=0)) if len(scores) else (unknown, unknown)
        found: dict[str, Any] = {"params": every}
        for name in every[0]:
            column = np.ma.masked_all(len(every), dtype=object)
            for place, own in enumerate(every):
                column[place] = own[name]
            found[f"param_{name}"] = column
        found |= {f"split{split}_test_score": of_split for split, of_split in enumerate(scores)}
        found["mean_test_score"] = mean
        found["std_test_score"] = spread
        found["rank_test_score"] = rankdata(-np.nan_to_num(mean), method="min").astype(np.int32)
        self.cv_results_ = found
        self.best_index_ = int(mean.argmax()) if best is None else best
        self.best_params_ = every[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])

    def _fit_members(self, chosen: Chosen, comparison: Comparison, given: Given) -> None:
        """Fit the members to all samples. If this is interrupted, those that are done are used."""
        models = [candidate.model(comparison.base) for candidate in chosen.candidates]
        jobs = [(model,) for model in models]
        comparison.is_interrupted = False
        what = "Fitting members"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.members_ = comparison.worked(given.fitted, jobs, what) or [given.fitted(models[0])]
        # The members give the same warnings, which are shown once.
        for text, category in {(str(one.message), one.category): None for one in caught}:
            warnings.warn(text, category, stacklevel=5)
        self.best_estimator_ = self.members_[0]

    def _keep_single(self) -> None:
        """Predict with one model."""
        best = self.best_estimator_
        self.weights_ = np.ones(1)
        for name in OF_SINGLE:
            setattr(self, name, getattr(best, name))
        self._left_out_embedding = best.left_out_embedding_

    def _keep_stack(
        self, weights: Floats, held_out: HeldOutScores, rows: Rows, source: Any, y: LabelsLike
    ) -> None:
        """Predict with the weighted sum of the members."""
        self.weights_ = weights[: len(self.members_)]
        parts = tuple(
            Member(member.map_, member.scores_, float(weight))
            for member, weight in zip(self.members_, self.weights_, strict=True)
        )
        n_classes = len(self.classes_)
        plain = EnsembleMap(parts, zero_sum_basis(n_classes))
        S = source.apply(plain) @ plain.rotation.T
        places = np.flatnonzero(rows.given >= 0)
        places = places[rows.codes[rows.given[places]] >= 0]
        own = rows.given[places]
        shared = (rows.weights / np.maximum(np.bincount(own, minlength=len(rows)), 1))[own]
        V = rotation_of(S[places], rows.codes[own], shared, n_classes)
        self.map_ = replace(plain, rotation=V)
        self.scores_ = Scores.of_classes(self.classes_, V, np.zeros(n_classes))
        d = self.best_estimator_.embedding_.shape[1]
        dtype = self.best_estimator_.embedding_.dtype
        self.embedding_ = (S @ V)[:, :d].astype(dtype, copy=False)
        self.labels_ = np.asarray(y.compute() if is_dask(y) else y)
        classes, given = rows.labels
        self.transduction_ = np.where(given >= 0, classes[given], self.scores_.predict(S @ V))
        self._keep_held_out(held_out, rows, V[:, :d])

    def _keep_held_out(self, held_out: HeldOutScores, rows: Rows, V: Floats) -> None:
        """Keep the scores of held-out samples, and the positions that follow from them."""
        own = held_out.rows
        self._leave_one_out = held_out.scores
        self._leave_one_out_labels = self.classes_[rows.codes[own]]
        self._leave_one_out_counts = rows.counts[own]
        is_right = held_out.scores.argmax(axis=1) == rows.codes[own]
        self.leave_one_out_score_ = float(np.average(is_right, weights=rows.weights[own]))
        positions = np.full((len(rows) + 1, V.shape[1]), np.nan)  # the last one is of no row
        positions[own] = held_out.scores @ V
        self._left_out_embedding = positions[rows.given]

    @property
    def left_out_embedding_(self) -> Floats:
        """Return the position of every training sample by a stack that was not fitted to it."""
        check_is_fitted(self)
        return np.asarray(self._left_out_embedding.astype(self.embedding_.dtype, copy=False))


NO_SPLITS = (
    "No candidates were compared, because no class has enough samples to hold some of them out. Give at "
    "least three samples of a class."
)
NO_SPLITS_OF_GROUPS = (
    "No candidates were compared, because no split of the groups has samples of two classes to train on "
    "and a sample of one of these to hold out. Give more groups, so that classes are in several of them."
)
# Attributes that a search takes over from a single model.
OF_SINGLE = (
    "map_",
    "scores_",
    "embedding_",
    "labels_",
    "transduction_",
    "_leave_one_out",
    "_leave_one_out_labels",
    "_leave_one_out_counts",
    "_leave_one_out_heights",
    "_leave_one_out_gain",
    "leave_one_out_score_",
    "metric_",
)


@dataclass(frozen=True)
class HeldOutScores:
    """Mean scores of the stack for held-out samples.

    Attributes
    ----------
    rows : ndarray of shape (n_held_out,)
        Positions of the samples among all rows.
    scores : ndarray of shape (n_held_out, n_classes)
        Their scores.
    """

    rows: Ints
    scores: Floats


@dataclass(frozen=True)
class Chosen:
    """The candidates that are fitted to all samples.

    Attributes
    ----------
    candidates : list of Candidate
        The candidates, the heaviest first.
    weights : ndarray of shape (n_candidates,) or None
        w_k/τ_k. None if the first candidate predicts alone.
    held_out : HeldOutScores or None
        The scores of the stack for held-out samples.
    """

    candidates: list[Candidate]
    weights: Floats | None = None
    held_out: HeldOutScores | None = None


@dataclass(frozen=True)
class Given:
    """Training samples as they were given."""

    X: SamplesLike
    y: LabelsLike
    sample_weight: WeightsLike
    rows: Rows

    def fitted(self, model: SmoothEmbedding) -> SmoothEmbedding:
        """Fit a model to all samples that it can use."""
        labeled = np.flatnonzero(self.rows.labels[1] >= 0)
        if model.unlabeled is not None or len(labeled) == len(self.rows.labels[1]):
            return model.fit(self.X, self.y, self.sample_weight)
        weights = None if self.sample_weight is None else np.asarray(self.sample_weight)[labeled]
        classes, codes = self.rows.labels
        with quiet():  # the centers that the user wants may be more than the labeled samples
            return model.fit(Source.of(self.X).take(labeled), classes[codes[labeled]], weights)
