"""NSSE with its parameters chosen by cross-validation, all of them in one sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nsse._errors import rule_error
from nsse.certificates.votes import vote_radii, winners
from nsse.estimators._base import EmbeddingClassifier, gives_probabilities
from nsse.estimators._fitting import LOGGER, all_or_nothing, logged
from nsse.estimators._grid import Split, default_param_grid, with_params
from nsse.estimators._memory import sweep_memory
from nsse.estimators._nsse import NSSE
from nsse.estimators._parameters import check_choice, check_count, check_number
from nsse.estimators._posing import encode_labels
from nsse.estimators._scoring import label_scorer
from nsse.estimators._search import (
    NoPointError,
    Table,
    cv_results,
    joint_search,
    search_order,
    sequential_search,
)
from nsse.estimators._splits import BalancedSplits, checked_splits, warn_about_singles
from nsse.estimators._trial import Trial, voters
from nsse.kernels import check_distinct, squared_distances


class NSSECV(MetaEstimatorMixin, EmbeddingClassifier):
    """NSSE with its parameters chosen by cross-validation.

    Splits the training samples repeatedly at random, scores every point of a grid on the samples held
    out and fits NSSE with the best one to all samples. It does what scikit-learn's
    ``GridSearchCV(NSSE(...))`` does on the same splits, many times faster: kernel matrices are shared
    by all weights, solutions by all `mu3` and `n_components`.

    Parameters
    ----------
    param_grid : dict or list of dicts, default=None
        Parameter names of NSSE and lists of values, as in ``GridSearchCV``. None is
        `default_param_grid` for the number of classes. Values of ``n_components``, ``mu1``, ``mu2``,
        ``mu3``, ``n_neighbors``, ``beta`` and ``sigma`` share their work; any other parameter
        multiplies it. ``solver="alternating"`` shares nothing.
    estimator : NSSE, default=None
        Holds the parameters that are not in the grid. None is ``NSSE()``.
    search : {"joint", "sequential"}, default="joint"
        "joint" scores the whole grid. "sequential" is the rule of the paper: one parameter at a time,
        the others kept at their best values so far.
    start : dict, default=None
        Sequential search only: first values of parameters; those not named start at what `estimator`
        has.
    order : sequence of str, default=None
        Sequential search only: the order in which parameters are set. None is mu1, mu2, mu3 and then
        the others.
    n_rounds : int, default=1
        Sequential search only: how often to go through all parameters.
    n_repeats : int, default=20
        Number of random splits.
    validation_fraction : float, default=0.15
        Share of every class that is held out, rounded, at least one sample of each. A small share: the
        models that are compared learn from almost as many samples as the final one.
    cv : int, splitter or iterable, default=None
        Splits in any form that scikit-learn takes, instead of the two parameters above.
    scoring : str or callable, default=None
        As in ``GridSearchCV``, for scores made of predicted labels; None is the accuracy.
    n_jobs : int, default=None
        Splits scored at a time, by joblib: within ``joblib.parallel_config(backend="dask")`` they go
        to a Dask cluster.
    tolerance : float, default=0.0
        Take the smoothest of the points whose mean score is within so many standard errors of the
        best. 0 takes the best one, as ``GridSearchCV`` does; ``docs/model_selection.md`` measures
        others.
    n_voters : int, default=20
        How many of the best points, at most, vote on labels: `predict` takes the label that most of
        them give. On few samples the scores of good points differ by chance, and a vote makes fewer
        mistakes than the one that came out best (``docs/model_selection.md``). Those within one
        standard error of the best one vote. 1 leaves labels to `best_estimator_`, as
        ``GridSearchCV`` does.
    random_state : int, RandomState instance or None, default=0
        Draws the splits.
    progress : bool, default=None
        Show a bar on stderr. None shows it where stderr is a terminal, `verbose` is set and rich is
        installed.
    verbose : int, default=0
        1 logs what was done.

    Attributes
    ----------
    best_estimator_ : NSSE
        Fitted to all samples with the parameters chosen.
    voters_ : list of NSSE
        The models that vote: `best_estimator_`, and the next best, fitted to all samples at the mean
        kernel scale of their splits.
    best_params_ : dict
        The point of the grid that was chosen.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its row in `cv_results_`.
    cv_results_ : dict of arrays
        As in ``GridSearchCV``: params, param_*, split*_test_score, mean_test_score, std_test_score,
        rank_test_score, and mean_sigma, the kernel scale in units of length. Times of single points
        do not exist: their work is shared.
    n_splits_ : int
        Number of splits.
    counts_ : dict
        Kernel matrices, Gram matrices and factorisations computed during the search.
    embedding_, classes_, classifier_
        Of `best_estimator_`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Where σ is given, scores are those of ``GridSearchCV``. Where it is found, the embedding at the best
    σ is interpolated between the σ that all points share: a validation sample that is as near to
    one class as to another, to about one part in a thousand, may then be labelled otherwise.

    Of several points with the same best mean score, or within `tolerance` of it, the smoothest is
    taken: the one with the largest mean σ, then the largest mu2, then the fewest components.

    `transform`, `embedding_` and exports to ONNX are those of `best_estimator_`; `predict`,
    `predict_proba` and `certified_radius` speak of the vote. Where votes are equal, the label of the
    better point counts.

    A class with a single sample is never held out: it is in every training set, and a warning says so.
    A point that cannot be fitted on some split scores NaN, and a warning names it.

    Memory is O(N²) for each of `n_jobs` workers: see `estimate_memory`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from nsse import NSSECV
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     X, y, train_size=70, stratify=y, random_state=0)
    >>> search = NSSECV({"mu2": [0.01, 0.1], "n_components": [5, 9]}, n_repeats=3)
    >>> search.fit(X_train, y_train).best_estimator_.embedding_.shape[0]
    70
    """

    def __init__(
        self,
        param_grid: Any = None,
        *,
        estimator: NSSE | None = None,
        search: str = "joint",
        start: Mapping[str, Any] | None = None,
        order: Sequence[str] | None = None,
        n_rounds: int = 1,
        n_repeats: int = 20,
        validation_fraction: float = 0.15,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        tolerance: float = 0.0,
        n_voters: int = 20,
        random_state: Any = 0,
        progress: bool | None = None,
        verbose: int = 0,
    ) -> None:
        self.param_grid = param_grid
        self.estimator = estimator
        self.search = search
        self.start = start
        self.order = order
        self.n_rounds = n_rounds
        self.n_repeats = n_repeats
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.tolerance = tolerance
        self.n_voters = n_voters
        self.random_state = random_state
        self.progress = progress
        self.verbose = verbose

    @property
    def classifier(self) -> Any:
        """The classifier of the underlying NSSE: of the one chosen, once there is one."""
        return getattr(getattr(self, "best_estimator_", self.estimator), "classifier", None)

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> NSSECV:
        """Choose the parameters and fit NSSE with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.

        Returns
        -------
        self : NSSECV
            The fitted estimator. If fit fails or is interrupted, it is as it was before.
        """
        check_choice("search", self.search, ("joint", "sequential"))
        n_voters = check_count("n_voters", self.n_voters, cure="1 leaves labels to the best point.")
        given = X, y
        X, y = self._validated(X, y)
        classes, _ = encode_labels(y)
        base = _checked_estimator(self.estimator)
        grid = default_param_grid(len(classes)) if self.param_grid is None else self.param_grid
        splits = self._splits(X, y)
        with logged(self.verbose):
            trial = self._trial(base, X, y, splits)
            try:
                table, index = self._searched(grid, base, trial)
            except NoPointError:
                raise trial.total_failure() from None
            trial.warn_about_failures(table)
            LOGGER.info("%d grid points on %d splits: %s", len(table.points), len(splits), trial.told())
            best = with_params(clone(base), table.points[index]).fit(*given)
            others = voters(base, table, table.next_best(index, n_voters - 1), *given)
            for model in others:
                model.share_centers(best)
        for name, value in _fitted([best, *others], table, index, trial, len(splits)).items():
            setattr(self, name, value)
        return self

    def estimate_memory(self, n_samples: int, n_features: int, n_classes: int = 10) -> int:
        """Bytes that `fit` will need at its peak, all workers together.

        Parameters
        ----------
        n_samples, n_features : int
            Shape of the training samples.
        n_classes : int, default=10
            Matters for the default grid only, whose dimensions follow the number of classes.

        Returns
        -------
        int
            Bytes, beside what Python and its libraries take.
        """
        grid = default_param_grid(n_classes) if self.param_grid is None else self.param_grid
        n_workers, n_train = effective_n_jobs(self.n_jobs), n_samples
        if self.cv is None:
            n_workers = min(n_workers, self.n_repeats)
            n_train = round((1 - self.validation_fraction) * n_samples)
        sweeps = n_workers * sweep_memory(n_train, list(ParameterGrid(grid)), n_classes)
        refit = (NSSE() if self.estimator is None else self.estimator).estimate_memory(
            n_samples, n_features
        )
        distances = 8 * n_samples**2
        return distances + max(sweeps, refit)

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
            Euclidean radii.
        """
        check_is_fitted(self)
        radii = [model.certified_radius(X, bound=bound) for model in self.voters_]
        return vote_radii(self._votes(X), np.column_stack(radii))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label that most of the voters give.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[winners(self._votes(X))])

    @available_if(lambda self: all(map(gives_probabilities, getattr(self, "voters_", [self]))))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes: the mean of what the voters give.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(sum(model.predict_proba(X) for model in self.voters_) / len(self.voters_))

    def _votes(self, X: Any) -> NDArray[np.intp]:
        """Codes of the labels that the voters give, one column for each."""
        labels = [model.predict(X) for model in self.voters_]
        return np.column_stack([np.searchsorted(self.classes_, given) for given in labels])

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for model in getattr(self, "voters_", [])[1:]:
            model.share_centers(self.best_estimator_)

    def _map(self, X: Any) -> NDArray[Any]:
        return self.best_estimator_._map(X)

    def _splits(self, X: Any, y: NDArray[Any]) -> list[tuple[Any, Any]]:
        if self.cv is not None:
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
            return checked_splits(splits, len(y))
        n_repeats = check_count("n_repeats", self.n_repeats, cure="20 is a fair number.")
        fraction = check_number("validation_fraction", self.validation_fraction, cure=FRACTION_CURE)
        if fraction >= 1:
            raise rule_error(
                "validation_fraction", "be less than 1", self.validation_fraction, FRACTION_CURE
            )
        warn_about_singles(y)
        return list(BalancedSplits(n_repeats, fraction, self.random_state).split(X, y))

    def _trial(self, base: NSSE, X: Any, y: NDArray[Any], splits: list[tuple[Any, Any]]) -> Trial:
        score = label_scorer(self.scoring)
        check_distinct(X)
        D2 = squared_distances(X)
        progress = False if self.progress is None and not self.verbose else self.progress
        cut = [Split(X, y, D2, train, valid) for train, valid in splits]
        return Trial(base, cut, score, n_jobs=self.n_jobs, progress=progress)

    def _searched(self, grid: Any, base: NSSE, trial: Trial) -> tuple[Table, int]:
        tolerance = check_number("tolerance", self.tolerance, cure="0 takes the best point.")
        if self.search == "joint":
            return joint_search(grid, tolerance, trial)
        if not isinstance(grid, Mapping):
            raise rule_error(
                "param_grid", 'be one dict for search="sequential"', type(grid).__name__,
                'Join the dicts, or take search="joint".',
            )  # fmt: skip
        order = search_order(grid, self.order)
        start = base.get_params() | dict(self.start or {})
        unknown = sorted(set(self.start or {}) - set(order))
        if unknown:
            raise rule_error(
                "start", "name parameters of the grid", unknown, "Set others on `estimator`."
            )
        n_rounds = check_count("n_rounds", self.n_rounds, cure="1 is what the paper does.")
        trial.check(
            [*ParameterGrid([{name: values} for name, values in grid.items()]), self.start or {}]
        )
        return sequential_search(grid, start, order, n_rounds, tolerance, trial)


FRACTION_CURE = "0.15 holds out one sample of seven."


def _checked_estimator(estimator: Any) -> NSSE:
    if estimator is None:
        return NSSE()
    if not isinstance(estimator, NSSE):
        raise rule_error(
            "estimator", "be an NSSE", estimator,
            "Leave it None, put NSSECV itself into a pipeline, or take scikit-learn's GridSearchCV.",
        )  # fmt: skip
    return estimator


def _fitted(voting: list[NSSE], table: Table, index: int, trial: Trial, n_splits: int) -> dict[str, Any]:
    best = voting[0]
    return {
        "best_estimator_": best, "best_params_": dict(table.points[index]), "best_index_": index,
        "best_score_": float(table.means[index]), "cv_results_": cv_results(table), "voters_": voting,
        "n_splits_": n_splits, "counts_": dict(trial.counts), "classes_": best.classes_,
        "embedding_": best.embedding_, "classifier_": best.classifier_,
    }  # fmt: skip
