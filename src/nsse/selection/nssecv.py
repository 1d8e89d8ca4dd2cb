"""NSSE with its parameters chosen by cross-validation, by a closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nsse._errors import rule_error
from nsse._progress import progress_bar
from nsse.certificates.asking import answers, certified_labels
from nsse.estimators._base import EmbeddingClassifier, gives_probabilities
from nsse.estimators._fitting import LOGGER, all_or_nothing, in_search, logged
from nsse.estimators._memory import check_room
from nsse.estimators._nsse import NSSE
from nsse.estimators._parameters import check_count
from nsse.estimators._posing import encode_labels
from nsse.estimators._rows import counted_rows, keep_width, require_landmarks, row_source
from nsse.estimators._settings import Settings, check_settings
from nsse.estimators._weights import check_reader, checked_weights
from nsse.invariances import n_copies_of
from nsse.kernels import check_distinct
from nsse.landmarks import read_blocks
from nsse.selection.choosing import Choice, check_quick, quick_choice, quick_grid
from nsse.selection.counting import Counted, as_argument, without
from nsse.selection.invariant import (
    InvarianceChoice,
    check_candidates,
    choose_invariances,
    enough_splits,
)
from nsse.selection.memory import SearchMemory, split_plan
from nsse.selection.quick import HELD_OUT, n_splits_for
from nsse.selection.quick_grid import n_voters_for
from nsse.selection.scoring import code_scorer
from nsse.selection.search import cv_results
from nsse.selection.splits import checked_splits, drawn_splits
from nsse.selection.subsample import Searched, searched_samples
from nsse.selection.unlabeled import MOST_SPLITS as GRAPH_SPLITS
from nsse.selection.unlabeled import VOTERS as GRAPH_VOTERS
from nsse.selection.unlabeled import GraphChoice, PartlyLabeled, check_search, choose_smoothness
from nsse.selection.voting import share_centers, transduced, vote_margins, vote_probabilities, voters

Floats = NDArray[np.float64]


class NSSECV(MetaEstimatorMixin, EmbeddingClassifier):
    """NSSE with its parameters chosen by cross-validation.

    Splits the training samples repeatedly at random and chooses metric, shrinkage, relevance, σ, `mu2`
    and the reader of f by a closed form on the samples held out: one eigendecomposition serves all
    weights, and what falls behind is dropped. Then NSSE is fitted with the best points to all samples.
    For a grid of other parameters take ``GridSearchCV(NSSE(...), ...)``, or `SequentialSearchCV`.

    Parameters
    ----------
    estimator : NSSE, default=None
        What it sets otherwise than NSSE's defaults is kept, and so is what `keep` names. Its
        `class_weight` is that of all fits and of the closed form. None is ``NSSE()``.
    invariances : sequence, default=None
        Sets of invariances (`nsse.invariances`) to choose among, None for none. They
        are compared at the parameters of `estimator`, on the splits that are given or on as many as it
        takes; copies are made of training samples alone, and none at all are taken where the gain is
        within its standard error. None leaves it to what `estimator` has.
    class_weight : {"balanced"}, dict or None, default=None
        That of all fits, as in `NSSE`, and of the samples held out where `scoring` is None: "balanced"
        then chooses by the balanced accuracy. None leaves it to what `estimator` has, and samples held
        out count alike.
    keep : sequence of str, default=()
        Which of these parameters `estimator` has right, default or not.
    n_repeats : int, default=None
        Number of random splits. None is 8 to 16, the fewer the more samples.
    validation_fraction : float, default=None
        Share of every class that is held out, rounded, at least one sample of each. A small share: the
        models that are compared learn from almost as many samples as the final one. None is 0.2.
    cv : int, splitter or iterable, default=None
        Splits in any form that scikit-learn takes, instead of the two parameters above.
    scoring : str or callable, default=None
        As in ``GridSearchCV``, for scores made of predicted labels; None is the accuracy, every class
        counting by its share of all samples, however many were held out.
    n_subsample : int, default=2000
        Where `estimator` has landmarks and there are more samples than this, the search runs on a
        stratified subsample of so many, each of which stands for as many as it represents; the model
        chosen is then fitted to all samples in one pass. Without landmarks the search is on all: up to
        2000 of a split train, and all that are held out judge.
    n_voters : int, default=None
        How many of the best points, at most, vote on labels: `predict` takes the label that most of
        them give. On few samples the scores of good points differ by chance, and a vote makes fewer
        mistakes than the one that came out best (``docs/model_selection.md``). Those within two
        standard errors of the best one vote. None is 9 (beyond 2500 samples fewer, at last 3: a fit
        takes time as their cube), 5 where samples without a label help, and 1 with landmarks, where
        every voter is another pass over all samples. 1 leaves labels to `best_estimator_`, as
        ``GridSearchCV`` does.
    random_state : int, RandomState instance or None, default=0
        Draws the splits.
    progress : bool, default=None
        Show a bar: in a notebook, or on stderr, which needs rich. None shows it in a notebook and in a
        terminal where rich is installed.
    verbose : int, default=0
        1 logs what was done; 2 every step of every fit as well.

    Attributes
    ----------
    best_estimator_ : NSSE
        Fitted to all samples with the parameters chosen.
    voters_ : list of NSSE
        The models that vote: `best_estimator_`, and the next best, fitted to all samples.
    best_params_ : dict
        The parameters that were chosen.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its row in `cv_results_`.
    cv_results_ : dict of arrays
        As in ``GridSearchCV``: params, param_*, split*_test_score, mean_test_score, std_test_score
        and rank_test_score. Times of single points do not exist: their work is shared.
    invariances_ : invariances or None
        Those that were chosen, or that `estimator` has.
    invariance_results_ : dict
        Where there were several to choose among: ``invariances``, the scores of each on every split
        (``split_test_score``, NaN once it was behind) and their ``mean_test_score``, and ``gain``, that
        of the best over none, with its standard error; else empty.
    unlabeled_results_ : dict
        Where some samples have no label: ``params``, the points that were tried with them, the first
        without smoothness, their scores on every split (``split_test_score``) and ``mean_test_score``,
        and ``gain``, that of the best over the first, with its standard error; else empty.
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training samples: their own, or those that the voters give.
    n_splits_ : int
        Number of splits.
    counts_ : dict
        Eigendecompositions computed during the search.
    embedding_, classes_, classifier_
        Of `best_estimator_`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    NSSE : The model that it fits.
    SequentialSearchCV : Any parameters, one at a time.
    nsse.selection.choose_invariances : Sets of copies alone.

    Notes
    -----
    Of several points with the same best mean score the one nearest to the defaults of NSSE is taken.

    `transform` and `embedding_`, in ONNX graphs too, are those of `best_estimator_`; `predict`,
    `predict_proba`, `certified_radius` and the labels of a graph speak of the vote. Where votes are
    equal, the label of the better point counts.

    A class with a single sample is never held out: it is in every training set, and a warning says so.

    With copies the search decomposes kernels of samples and copies, and its first rounds draw their
    rows among both.

    Where some samples have no label (``estimator=NSSE(unlabeled=-1)``) the search first chooses on the
    labelled ones alone. Then `mu4` or `spread`, and metric, σ and μ2 with them, are chosen with all
    samples on up to eight of the same splits: a labelled sample that is held out stays in as one
    without a label, which is the use that such samples have in `transduction_`. What gives back most of
    the labels held out is taken, if it does so by more than one standard error; else μ4 = 0, centres
    are the labelled samples, and the maps are those of these alone. With more than `n_subsample` rows a
    part of them decides; with landmarks labels are spread along the Euclidean graph of all rows then,
    and nothing else is tried unless the metric or `mu4` is given.

    Memory is O(N²): see `estimate_memory`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from nsse import NSSECV
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     X, y, train_size=70, stratify=y, random_state=0)
    >>> search = NSSECV(n_repeats=3).fit(X_train, y_train)
    >>> search.best_estimator_.embedding_.shape[0], len(search.voters_) <= 9
    (70, True)
    """

    _answers_dask = True

    def __init__(
        self,
        estimator: NSSE | None = None,
        *,
        invariances: Sequence[Any] | None = None,
        class_weight: Any = None,
        keep: Sequence[str] = (),
        n_repeats: int | None = None,
        validation_fraction: float | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_subsample: int = 2000,
        n_voters: int | None = None,
        random_state: Any = 0,
        progress: bool | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.invariances = invariances
        self.class_weight = class_weight
        self.keep = keep
        self.n_repeats = n_repeats
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.scoring = scoring
        self.n_subsample = n_subsample
        self.n_voters = n_voters
        self.random_state = random_state
        self.progress = progress
        self.verbose = verbose

    @property
    def classifier(self) -> Any:
        """The classifier of the underlying NSSE: of the one chosen, once there is one."""
        return getattr(getattr(self, "best_estimator_", self.estimator), "classifier", None)

    @property
    def transduction_(self) -> Any:
        """Labels of all training samples: their own, or those that the voters give."""
        check_is_fitted(self)
        return transduced(self.voters_, self.classes_)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NSSECV:
        """Choose the parameters and fit NSSE with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; where `estimator` has landmarks, a Dask array as well.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each sample counts, where it trains and where it is held out; 0 leaves it
            out. Splits are drawn among samples, whatever they weigh: the search is that of repeated
            rows on splits which keep the copies of a row together. None counts each once.

        Returns
        -------
        self : NSSECV
            The fitted estimator. If fit fails or is interrupted, it is as it was before.
        """
        base, settings = self._checked()
        source, labels = row_source(self, X, y, settings)
        weights = checked_weights(sample_weight, len(labels))

        def refit(best: NSSE) -> NSSE:
            return best.fit(X, y, **as_argument(weights))

        return self._fit(base, settings, source, labels, refit, weights)

    @all_or_nothing
    def fit_blocks(self, blocks: Any, sample_weight: Any = None) -> NSSECV:
        """Choose the parameters on a subsample and fit NSSE to samples that come in blocks.

        Parameters
        ----------
        blocks : iterable of (X, y), or function returning one
            As for `NSSE.fit_blocks`; `estimator` must have landmarks.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`, of the samples of all blocks one after another; none may be 0.

        Returns
        -------
        self : NSSECV
            The fitted estimator. If fit fails or is interrupted, it is as it was before.
        """
        base, settings = self._checked()
        require_landmarks(settings, "blocks of samples")
        source = read_blocks(blocks)
        keep_width(self, source)
        weights = checked_weights(sample_weight, len(source.y))

        def refit(best: NSSE) -> NSSE:
            return best.fit_blocks(blocks, **as_argument(weights))

        return self._fit(base, settings, source, source.y, refit, weights)

    def _checked(self) -> tuple[NSSE, Settings]:
        base = _checked_estimator(self.estimator)
        if self.class_weight is not None:
            base = clone(base).set_params(class_weight=self.class_weight)
        settings = check_settings(base)
        check_quick(base, self.keep)
        if self.invariances is not None:
            check_candidates(self.invariances)
        return base, settings

    def _fit(
        self,
        base: NSSE,
        settings: Settings,
        source: Any,
        y: NDArray[Any],
        refit: Callable[[NSSE], NSSE],
        weights: Floats | None,
    ) -> NSSECV:
        n_rows = check_count("n_subsample", self.n_subsample, cure="2000 is a fair number.")
        whole, n_samples = source, len(y)
        partly = PartlyLabeled.of(source, y, settings, weights)
        if partly is not None:
            check_search(base, self.invariances)
            source, y = partly.own
        given = y
        source, y, weights, kept = counted_rows(source, y, weights)
        if partly is None:
            whole, n_samples = source, len(y)
        classes, _ = encode_labels(y)
        if weights is not None or base.class_weight is not None:
            check_reader(base.classifier)
        most = self._rows_per_sample(base, source.shape[1])
        if settings.centers is None or settings.centers.is_exact_for(n_samples):
            # What the search comes to is a fit to all samples: better said before it than after.
            d = len(classes) - 1 if base.n_components is None else base.n_components
            # Which metric, and which copies, the search will tell.
            check_room(whole.X, d, len(classes), in_metric=False)
        searched = searched_samples(source, y, settings, n_rows, self.random_state, most)
        check_distinct(searched.X)
        searched = self._counted(searched, weights, base.class_weight)
        plan = n_splits_for(len(searched.y)), HELD_OUT
        if self.cv is None or kept is None:
            splits = drawn_splits(self, searched.X, searched.y, *plan)
        else:  # they speak of all samples, those of no weight among them
            splits = drawn_splits(self, np.zeros((len(given), 1)), given, *plan)
            splits = checked_splits(without(splits, kept, len(given)), len(y))
        n_voters = self._n_voters(settings, most * n_samples)
        with logged(self.verbose):
            tried = self._tried_copies(base, searched, splits)
            if tried is not None:
                base = clone(base).set_params(invariances=tried.best)
            choice = quick_choice(self, base, searched, splits, n_voters)
            graph = None
            if partly is not None:
                choice, graph = self._smoothed(partly, choice, searched, splits, n_voters)
            n_points = len(choice.table.points)
            LOGGER.info("%d grid points on %d splits: %s", n_points, choice.n_splits, choice.told())
            with in_search():
                best = refit(clone(choice.base).set_params(**choice.table.points[choice.index]))
                others = voters(choice.base, choice.table, choice.others, refit)
        told = _fitted([best, *others], choice) | _copied(best, tried) | _tried_graph(graph)
        for name, value in told.items():
            setattr(self, name, value)
        share_centers(self.voters_)
        return self

    def _counted(self, searched: Searched, weights: Floats | None, class_weight: Any) -> Searched:
        """The samples of a search, as many times as they count."""
        if weights is None and class_weight is None:
            return searched
        if searched.places is not None:
            weights = None if weights is None else weights[searched.places]
        judges = self.class_weight if self.scoring is None else None
        return replace(searched, counted=Counted.of(searched.y, weights, class_weight, judges))

    def _tried_copies(
        self, base: NSSE, searched: Searched, splits: Sequence[Any]
    ) -> InvarianceChoice | None:
        """Which of several sets of invariances to take, by exact fits to the samples of the search."""
        if self.invariances is None:
            return None
        plain = clone(base).set_params(callback=None, verbose=0)
        score = code_scorer(self.scoring, np.unique(searched.y))
        # Splits that nobody asked for are for other questions.
        said = any(value is not None for value in (self.cv, self.n_repeats, self.validation_fraction))
        if not said:
            splits = enough_splits(searched.X, searched.y, self.random_state)
        with progress_bar(len(splits), "splits", self.progress) as advance:
            return choose_invariances(
                plain,
                searched.X,
                searched.y,
                self.invariances,
                splits=splits,
                score=score,
                advance=advance,
                counted=searched.counted,
            )

    def _smoothed(
        self,
        partly: PartlyLabeled,
        choice: Choice,
        searched: Searched,
        splits: Sequence[Any],
        n_voters: int,
    ) -> tuple[Choice, GraphChoice]:
        """The choice once more, with the samples that have no label."""
        if self.n_voters is None:
            n_voters = min(n_voters, GRAPH_VOTERS)
        n_splits = min(len(splits), GRAPH_SPLITS)
        with progress_bar(n_splits, "splits with all samples", self.progress) as advance:
            return choose_smoothness(
                partly,
                choice,
                searched.X,
                searched.y,
                splits,
                places=searched.places,
                keep=self.keep,
                n_voters=n_voters,
                most_rows=self.n_subsample,
                score=code_scorer(self.scoring, np.unique(searched.y)),
                random_state=self.random_state,
                advance=advance,
            )

    def _rows_per_sample(self, base: NSSE, n_features: int) -> int:
        """Of the largest set of invariances."""
        sets = [base.invariances] if self.invariances is None else self.invariances
        return 1 + max(n_copies_of(invariances, n_features) for invariances in sets)

    def predict(self, X: Any) -> Any:
        """The label that most of the voters give.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; lazily, where X is a Dask array.
        """
        return super().predict(X)

    @available_if(lambda self: all(map(gives_probabilities, getattr(self, "voters_", [self]))))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes: the mean of those of the voters, so that `predict` agrees.

        A voter by the nearest neighbour, one of V, gives its label V/(V + 1) and the rest to all classes
        alike. Where the majority is for another class than the mean, its probability is raised above the
        largest by a part in a billion, and all are divided by their sum. A single voter gives its own.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; lazily, where X is a Dask array.
        """
        return super().predict_proba(X)

    def certified_radius(self, X: Any, *, bound: str = "directional") -> NDArray[np.float64]:
        """How far each sample can move without a change of its label: see `NSSE.certified_radius`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        bound : {"directional", "rkhs", "row_sum", "proposition_1"}, default="directional"
            Which bound on the change of f to use.

        Returns
        -------
        ndarray of shape (n_samples,)
            Euclidean radii: no smaller change turns enough voters to change the majority.
        """
        return certified_labels(self, X, bound)[1]

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Models of earlier versions lack these.
        super().__setstate__({"keep": (), "invariances": None, "class_weight": None} | state)
        share_centers(getattr(self, "voters_", []))

    def _map(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.best_estimator_._map(X))

    def _labels(self, X: Any) -> NDArray[Any]:
        return answers(self, X, bound=None).label

    def _margins(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(vote_margins(self.voters_, self.classes_, X))

    def _probabilities(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return vote_probabilities(self.voters_, self.classes_, X)

    def estimate_memory(self, n_samples: int, n_features: int, n_classes: int = 10) -> int:
        """Bytes that `fit` will need at its peak.

        Parameters
        ----------
        n_samples, n_features : int
            Shape of the training samples.
        n_classes : int, default=10
            Number of classes.

        Returns
        -------
        int
            Bytes, beside what Python and its libraries take.
        """
        base, settings = self._checked()
        sets = [base.invariances] if self.invariances is None else list(self.invariances)
        per_sample = [1 + n_copies_of(invariances, n_features) for invariances in sets]
        most = max(per_sample)
        base = clone(base).set_params(invariances=sets[per_sample.index(most)])
        n_rows = n_samples
        if settings.centers is not None and not settings.centers.is_exact_for(most * n_samples):
            n_rows = min(n_samples, max(2, self.n_subsample // most))
        n_repeats = n_splits_for(n_rows) if self.n_repeats is None else self.n_repeats
        fraction = HELD_OUT if self.validation_fraction is None else self.validation_fraction
        n_splits, n_train = split_plan(self.cv, n_rows, (n_repeats, fraction))
        return SearchMemory(
            base,
            settings,
            quick_grid(base, self.keep, most * n_samples / n_classes),
            (n_samples, n_features, n_classes),
            n_rows,
            n_train,
            n_splits,
            self._n_voters(settings, most * n_samples),
            most,
        ).bytes

    def _n_voters(self, settings: Settings, n_rows: int) -> int:
        if self.n_voters is not None:
            return check_count("n_voters", self.n_voters, cure="1 leaves labels to the best point.")
        return 1 if settings.centers is not None else n_voters_for(n_rows)


def _checked_estimator(estimator: Any) -> NSSE:
    if estimator is None:
        return NSSE()
    if not isinstance(estimator, NSSE):
        raise rule_error(
            "estimator",
            "be an NSSE",
            estimator,
            "Leave it None, put NSSECV itself into a pipeline, or take SequentialSearchCV.",
        )
    return estimator


def _fitted(voting: list[NSSE], choice: Choice) -> dict[str, Any]:
    best, table, index = voting[0], choice.table, choice.index
    return {
        "best_estimator_": best,
        "best_params_": dict(table.points[index]),
        "best_index_": index,
        "best_score_": float(table.means[index]),
        "cv_results_": cv_results(table),
        "voters_": voting,
        "n_splits_": choice.n_splits,
        "counts_": dict(choice.counts),
        "classes_": best.classes_,
        "embedding_": best.embedding_,
        "classifier_": best.classifier_,
    }


def _tried_graph(graph: GraphChoice | None) -> dict[str, Any]:
    if graph is None:
        return {"unlabeled_results_": {}}
    means = graph.scores.mean(axis=1)
    told = {"params": list(graph.points), "split_test_score": graph.scores, "mean_test_score": means}
    return {"unlabeled_results_": told | {"gain": graph.gain}}


def _copied(best: NSSE, tried: InvarianceChoice | None) -> dict[str, Any]:
    if tried is None:
        return {"invariances_": best.invariances, "invariance_results_": {}}
    told = {
        "invariances": list(tried.candidates),
        "split_test_score": tried.scores,
        "mean_test_score": np.array([float(np.mean(row)) for row in tried.scores]),
        "gain": tried.gain,
    }
    return {"invariances_": best.invariances, "invariance_results_": told}
