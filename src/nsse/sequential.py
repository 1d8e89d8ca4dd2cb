"""Choose parameters one at a time by cross-validation, as the paper chooses its weights (§5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from nsse._support.errors import rule_error
from nsse._support.parameters import check_count
from nsse._support.types import LabelsLike, SamplesLike

Params = dict[str, Any]


class SequentialSearchCV(GridSearchCV):
    """Choose parameters one at a time by cross-validation, as the paper chooses its weights.

    The search starts from some values and tries all values of the first parameter while the others are
    fixed. It sets this parameter to the best value, and continues with the next parameter. A grid of
    five values for each of three parameters takes 15 candidates instead of 125. Everything else is as in
    ``GridSearchCV``.

    Parameters
    ----------
    estimator : estimator
        Any estimator of this package or of scikit-learn, or a pipeline. It contains the parameters that
        the grid does not name.
    param_grid : dict
        Parameter names and lists of values.
    start : dict, default=None
        First values of parameters of the grid. Other parameters start at their value in `estimator`.
    order : sequence of str, default=None
        The order in which parameters are chosen. None is the order of `param_grid`.
    n_rounds : int, default=1
        How often to go through all parameters, at most. A round that changes nothing is the last one.
        The paper goes through them once.
    scoring : str or callable, default=None
        As in ``GridSearchCV``. None is the score of `estimator`. If there are several, `refit` names the
        one that is used for the choice.
    cv : int, splitter or iterable, default=None
        As in ``GridSearchCV``. None is five folds. The paper draws several random splits, as
        ``nsse.splits.BalancedSplits`` does. All candidates are compared on the same splits.
    refit : bool or str, default=True
        Whether to fit the best candidate to all samples.
    n_jobs : int, default=None
        Fits at a time, by joblib.
    error_score : "raise" or number, default=nan
        Score of a candidate that cannot be fitted.
    verbose : int, default=0
        As in ``GridSearchCV``.

    Attributes
    ----------
    best_params_ : dict
        The chosen candidate.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its row in `cv_results_`.
    best_estimator_ : estimator
        The estimator with the chosen parameters, fitted to all samples if `refit`.
    cv_results_ : dict of arrays
        As in ``GridSearchCV``, with all candidates in the order in which they were tried.
    scorer_, n_splits_, refit_time_, multimetric_
        As in ``GridSearchCV``.
    classes_, n_features_in_, feature_names_in_
        The attributes of `best_estimator_`.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : All combinations of values.
    nsse.splits.BalancedSplits : Random splits of few samples.

    Notes
    -----
    A value replaces the current one only if its mean score is higher. If scores are equal, the current
    value stays, and of several better and equal values the first one is used. List values in the order
    of your preference.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE, SequentialSearchCV
    >>> from nsse.splits import BalancedSplits
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"mu1": [0.1, 1.0], "mu2": [0.001, 0.1], "mu3": [1.0, 10.0]}
    >>> search = SequentialSearchCV(
    ...     NSSE(n_components=2), grid, cv=BalancedSplits(5, 0.2, random_state=0))
    >>> sorted(search.fit(X[::3], y[::3]).best_params_)
    ['mu1', 'mu2', 'mu3']
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]],
        *,
        start: Mapping[str, Any] | None = None,
        order: Sequence[str] | None = None,
        n_rounds: int = 1,
        scoring: Any = None,
        cv: Any = None,
        refit: bool | str = True,
        n_jobs: int | None = None,
        error_score: Any = float("nan"),
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            cv=cv,
            refit=refit,
            n_jobs=n_jobs,
            error_score=error_score,
            verbose=verbose,
        )
        self.start = start
        self.order = order
        self.n_rounds = n_rounds

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn's search, which lack the tag of transformers."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags = get_tags(self.estimator).transformer_tags
        return tags

    @available_if(lambda self: hasattr(self.estimator, "transform"))
    def fit_transform(self, X: SamplesLike, y: LabelsLike = None, **params: Any) -> Any:
        """Fit, and return the coordinates of the samples, which ``transform`` returns as well."""
        return self.fit(X, y, **params).transform(X)

    def _run_search(self, evaluate_candidates: Callable[..., Params]) -> None:
        """Score one line of candidates after another.

        The search of scikit-learn takes the best of all.
        """
        grid, order = _checked_grid(self.param_grid, self.order)
        current = _starting_point(self.estimator, order, self.start)
        rank = f"rank_test_{self.refit if isinstance(self.refit, str) else 'score'}"
        n_rounds = check_count("n_rounds", self.n_rounds, cure="1 is what the paper does.")
        splits = _SameSplits(self.cv, is_classifier(self.estimator))
        waiting, seen = [current], {_key(current)}
        for _ in range(n_rounds):
            before = _key(current)
            for name in order:
                for value in grid[name]:
                    point = current | {name: value}
                    if _key(point) not in seen:
                        seen.add(_key(point))
                        waiting.append(point)
                if waiting:
                    results = evaluate_candidates(waiting, cv=splits)
                    if rank not in results:
                        cure = "It decides which value is kept."
                        raise rule_error("refit", "name one of several scores", self.refit, cure)
                    current = results["params"][results[rank].argmin()]
                    waiting = []
            if _key(current) == before:
                break


class _SameSplits:
    """The splits of `cv`, drawn once, because a splitter without a seed would draw others."""

    def __init__(self, cv: Any, for_classes: bool) -> None:
        self._cv, self._for_classes = cv, for_classes
        self._drawn: list[tuple[Any, Any]] | None = None

    def split(self, X: SamplesLike, y: LabelsLike = None, **params: Any) -> Iterator[tuple[Any, Any]]:
        """Return indices of training and validation samples, one pair per split."""
        if self._drawn is None:
            splitter = check_cv(self._cv, y, classifier=self._for_classes)
            self._drawn = list(splitter.split(X, y, **params))
            if not self._drawn:
                cure = "A generator is used up after one reading. Pass a list of its splits."
                raise rule_error("cv", "give splits whenever it is read", self._cv, cure)
        return iter(self._drawn)


def _checked_grid(
    grid: Any, order: Sequence[str] | None
) -> tuple[Mapping[str, Sequence[Any]], list[str]]:
    """Return the grid, and the names in the order in which they are chosen."""
    if not isinstance(grid, Mapping):
        cure = "GridSearchCV takes several grids."
        raise rule_error("param_grid", "be one dict", type(grid).__name__, cure)
    ParameterGrid(grid)  # refuses what holds no values
    if not grid:
        raise rule_error("param_grid", "name a parameter", grid, "Fit `estimator` where all are known.")
    if order is not None and sorted(order) != sorted(grid):
        rule = f"name each parameter of the grid once, {sorted(grid)}"
        raise rule_error("order", rule, list(order), "Leave it None for the order of the grid.")
    return grid, list(grid if order is None else order)


def _starting_point(estimator: Any, order: Sequence[str], start: Mapping[str, Any] | None) -> Params:
    given = dict(start or {})
    unknown = sorted(set(given) - set(order))
    if unknown:
        raise rule_error("start", "name parameters of the grid", unknown, "Set others on `estimator`.")
    own = estimator.get_params()
    wrong = sorted(set(order) - set(own))
    if wrong:
        rule = f"name parameters of {type(estimator).__name__}"
        raise rule_error("param_grid", rule, wrong, "`estimator.get_params()` lists them.")
    return {name: given.get(name, own[name]) for name in order}


def _key(point: Params) -> tuple[Any, ...]:
    """Return a key that distinguishes candidates: numbers and names by value, other values by object."""
    return tuple(_identity(value) for value in point.values())


def _identity(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
