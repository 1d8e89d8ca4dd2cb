"""NSSE with its parameters chosen by cross-validation, all of them in one sweep."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.validation import check_is_fitted

from nsse._errors import rule_error, rule_message
from nsse._progress import progress_bar
from nsse._threads import one_blas_thread
from nsse.estimators._base import EmbeddingClassifier
from nsse.estimators._fitting import LOGGER, all_or_nothing, logged
from nsse.estimators._grid import GridPoint, Split, SplitScores, score_points, with_params
from nsse.estimators._memory import sweep_memory
from nsse.estimators._nsse import NSSE
from nsse.estimators._parameters import check_choice, check_count, check_number
from nsse.estimators._posing import encode_labels
from nsse.estimators._search import (
    NoPointError,
    Params,
    Table,
    joint_search,
    search_order,
    sequential_search,
)
from nsse.estimators._splits import BalancedSplits
from nsse.kernels import check_distinct, squared_distances


def default_param_grid(n_classes: int) -> dict[str, list[Any]]:
    """The grid that `NSSECV` searches if none is given.

    It reaches both regimes of the method: classes that collapse (small μ2, small σ, d = M − 1) and a
    smooth map into fewer dimensions (large μ3 and hence σ, d well below M).

    Parameters
    ----------
    n_classes : int
        M.

    Returns
    -------
    dict
        Values of mu1, mu2, mu3, n_components and n_neighbors.
    """
    most = n_classes - 1
    shares = (0.2, 0.3, 0.4, 0.55, 0.75, 1.0)
    return {
        "mu1": [0.1, 1.0],
        "mu2": [0.001, 0.01],
        "mu3": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0],
        "n_components": sorted({min(most, max(2, round(share * most))) for share in shares}),
        "n_neighbors": [2, 5],
    }


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
        given = X, y
        X, y = self._validated(X, y)
        classes, _ = encode_labels(y)
        base = _checked_estimator(self.estimator)
        grid = default_param_grid(len(classes)) if self.param_grid is None else self.param_grid
        splits = self._splits(X, y)
        with logged(self.verbose):
            trial = _Trial(self, base, X, y, splits)
            try:
                table, index = self._searched(grid, base, trial)
            except NoPointError:
                raise trial.total_failure() from None
            trial.warn_about_failures(table)
            LOGGER.info("%d grid points on %d splits: %s", len(table.points), len(splits), trial.told())
            best = with_params(clone(base), table.points[index]).fit(*given)
        for name, value in _fitted(best, table, index, trial, len(splits)).items():
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
        return self.best_estimator_.certified_radius(X, bound=bound)

    def _map(self, X: Any) -> NDArray[Any]:
        return self.best_estimator_._map(X)

    def _splits(self, X: Any, y: NDArray[Any]) -> list[tuple[Any, Any]]:
        if self.cv is not None:
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
            return _checked_splits(splits, len(y))
        n_repeats = check_count("n_repeats", self.n_repeats, cure="20 is a fair number.")
        fraction = check_number("validation_fraction", self.validation_fraction, cure=FRACTION_CURE)
        if fraction >= 1:
            raise rule_error(
                "validation_fraction", "be less than 1", self.validation_fraction, FRACTION_CURE
            )
        _warn_about_singles(y)
        return list(BalancedSplits(n_repeats, fraction, self.random_state).split(X, y))

    def _searched(self, grid: Any, base: NSSE, trial: _Trial) -> tuple[Table, int]:
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
# Grid points that a message names for each reason of failure.
NAMED = 3


class _Trial:
    """Scores points of a grid on all splits, and remembers what it cost and what failed."""

    def __init__(
        self, search: NSSECV, base: NSSE, X: Any, y: NDArray[Any], splits: list[tuple[Any, Any]]
    ) -> None:
        self._search, self._base = search, base
        self._score = _scorer(search.scoring)
        check_distinct(X)
        D2 = squared_distances(X)
        self._splits = [Split(X, y, D2, train, valid) for train, valid in splits]
        self._n_classes = len(np.unique(y))
        self.counts: Counter[str] = Counter()
        self.failures: dict[str, str] = {}

    def __call__(self, params: Sequence[Params]) -> Table:
        points = self.check(params)
        columns = self._columns(points)
        for column in columns:
            self.counts += column.counts
            for place, reason in column.failures.items():
                self.failures.setdefault(str(params[place]), reason)
        scores = np.array([column.scores for column in columns]).T
        sigmas = np.array([column.sigmas for column in columns]).mean(axis=0)
        mu2 = np.array([point.settings.mu2 for point in points])
        d = np.array([self._n_components(point) for point in points])
        return Table(tuple(dict(point) for point in params), scores, sigmas, mu2, d)

    def check(self, params: Sequence[Mapping[str, Any]]) -> list[GridPoint]:
        """The points, if all of them can be judged fit without any work."""
        return [GridPoint.of(self._base, dict(point)) for point in params]

    def _n_components(self, point: GridPoint) -> int:
        d = point.model.n_components
        return self._n_classes - 1 if d is None else int(d)

    def _columns(self, points: list[GridPoint]) -> list[SplitScores]:
        """One column of scores per split, in their order."""
        parallel = Parallel(n_jobs=self._search.n_jobs, return_as="generator", batch_size=1)
        results = parallel(delayed(_scored)(split, points, self._score) for split in self._splits)
        columns: list[SplitScores] = []
        shown = self._search.progress if self._search.progress is not None else _wanted(self._search)
        try:
            with progress_bar(len(self._splits), "splits", shown) as advance:
                for column in results:
                    columns.append(column)
                    advance()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"NSSECV was interrupted: {len(columns)} of {len(self._splits)} splits were scored on "
                f"{len(points)} grid points. The estimator is as it was before `fit`."
            ) from None
        finally:
            results.close()
        return columns

    def told(self) -> str:
        """What was computed."""
        return ", ".join(f"{number} {what}" for what, number in sorted(self.counts.items()))

    def warn_about_failures(self, table: Table) -> None:
        """Name the points that score NaN."""
        if self.failures:
            warnings.warn(
                f"{len(self.failures)} of {len(table.points)} grid points could not be fitted on every "
                f"split and score NaN. {self._reasons()}", FitFailedWarning, stacklevel=4,
            )  # fmt: skip

    def total_failure(self) -> ValueError:
        """The error when no point is left."""
        return ValueError(
            f"No point of `param_grid` could be fitted on every split. {self._reasons()} Widen the "
            "grid, or hold fewer samples out."
        )

    def _reasons(self) -> str:
        """Every reason, with the points it holds for."""
        points: dict[str, list[str]] = {}
        for point, reason in self.failures.items():
            points.setdefault(reason.rstrip("."), []).append(point)
        return " ".join(f"{_listed(failed)}: {reason}." for reason, failed in points.items())


def _listed(points: list[str]) -> str:
    more = f" and {len(points) - NAMED} more" if len(points) > NAMED else ""
    return ", ".join(points[:NAMED]) + more


def _checked_estimator(estimator: Any) -> NSSE:
    if estimator is None:
        return NSSE()
    if not isinstance(estimator, NSSE):
        raise rule_error(
            "estimator", "be an NSSE", estimator,
            "Leave it None, put NSSECV itself into a pipeline, or take scikit-learn's GridSearchCV.",
        )  # fmt: skip
    return estimator


def _checked_splits(splits: list[tuple[Any, Any]], n_samples: int) -> list[tuple[Any, Any]]:
    """Splits as indices, whichever form they came in."""
    indices = [(_indices(train, n_samples), _indices(valid, n_samples)) for train, valid in splits]
    if not indices or any(len(train) == 0 or len(valid) == 0 for train, valid in indices):
        sizes = [(len(train), len(valid)) for train, valid in indices]
        raise rule_error(
            "cv", "give splits with samples to train and samples to validate", sizes,
            "Leave it None for random splits.",
        )  # fmt: skip
    return indices


def _indices(chosen: Any, n_samples: int) -> NDArray[np.intp]:
    return np.arange(n_samples)[np.asarray(chosen) if len(chosen) else np.empty(0, dtype=np.intp)]


def _wanted(search: NSSECV) -> bool | None:
    return None if search.verbose else False


def _scored(split: Split, points: list[GridPoint], score: Any) -> SplitScores:
    with one_blas_thread():
        return score_points(split, points, score)


def _scorer(scoring: Any) -> Any:
    """``score(labels, split)`` for a scoring of scikit-learn's that looks at labels only."""
    if scoring is None or scoring == "accuracy":
        return _accuracy
    return _LabelScorer(get_scorer(scoring))


def _accuracy(labels: NDArray[Any], split: Split) -> float:
    return float(np.mean(labels == split.y[split.valid]))


class _LabelScorer:
    """A scorer of scikit-learn's, applied to labels that are known already."""

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer

    def __call__(self, labels: NDArray[Any], split: Split) -> float:
        answers = _Answers(labels, np.unique(split.y))
        try:
            return float(self._scorer(answers, split.X[split.valid], split.y[split.valid]))
        except AttributeError as error:
            message = rule_message(
                "scoring", "be made of predicted labels alone", self._scorer,
                "Take one such as \"balanced_accuracy\", or scikit-learn's GridSearchCV.",
            )  # fmt: skip
            raise TypeError(message) from error


class _Answers(ClassifierMixin, BaseEstimator):
    """Stands for a fitted classifier that has predicted."""

    def __init__(self, labels: Any, classes: Any) -> None:
        self.labels, self.classes_ = labels, classes

    def predict(self, X: Any) -> Any:
        """The labels, whatever is asked."""
        return self.labels


def _warn_about_singles(y: NDArray[Any]) -> None:
    classes, sizes = np.unique(y, return_counts=True)
    singles = classes[sizes == 1].tolist()
    if len(singles) == len(classes):
        raise rule_error(
            "y", "have a class with at least 2 samples", "one sample in every class",
            "There is nothing to hold out; fit NSSE with parameters of your choice.",
        )  # fmt: skip
    if singles:
        warnings.warn(
            f"Classes {singles} have a single sample each: it is in every training set and never "
            "held out, so that these classes do not take part in the choice of parameters.",
            UserWarning, stacklevel=5,
        )  # fmt: skip


def _fitted(best: NSSE, table: Table, index: int, trial: _Trial, n_splits: int) -> dict[str, Any]:
    return {
        "best_estimator_": best, "best_params_": dict(table.points[index]), "best_index_": index,
        "best_score_": float(table.means[index]), "cv_results_": _cv_results(table),
        "n_splits_": n_splits, "counts_": dict(trial.counts), "classes_": best.classes_,
        "embedding_": best.embedding_, "classifier_": best.classifier_,
    }  # fmt: skip


def _cv_results(table: Table) -> dict[str, Any]:
    """The table in the form of ``GridSearchCV``."""
    results: dict[str, Any] = {}
    for name in sorted({name for point in table.points for name in point}):
        values = np.ma.masked_all(len(table.points), dtype=object)
        for place, point in enumerate(table.points):
            if name in point:
                values[place] = point[name]
        results[f"param_{name}"] = values
    results["params"] = [dict(point) for point in table.points]
    for split, column in enumerate(table.scores.T):
        results[f"split{split}_test_score"] = column.copy()
    means = table.means
    results["mean_test_score"] = means
    results["std_test_score"] = table.scores.std(axis=1)
    worst = np.nanmin(means) - 1 if not np.all(np.isnan(means)) else 0.0
    ranked = rankdata(-np.nan_to_num(means, nan=worst), method="min")
    results["rank_test_score"] = ranked.astype(np.int32)
    results["mean_sigma"] = table.sigmas
    return results
