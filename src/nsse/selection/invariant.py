"""Which copies of samples help: sets of invariances, none among them, judged on samples held out.

Each is tried as it will be used, inside `fit`: the copies are those of training samples, and what is
held out is never copied. Which invariances hold is a property of the samples, hardly of the weights:
they are compared at the parameters that the estimator has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from nsse._errors import rule_error
from nsse.invariances import check_invariances, n_copies_of
from nsse.landmarks import stratified
from nsse.selection.counting import Counted, as_argument
from nsse.selection.quick import HELD_OUT, n_splits_for
from nsse.selection.scoring import CodeScorer
from nsse.selection.splits import BalancedSplits

Floats = NDArray[np.float64]

# Every so many splits sets that are behind by two standard errors of the difference are dropped; by one
# where they have more copies than the leader, and it has some.
RACED, BEHIND, LARGER_BEHIND = 4, 2.0, 1.0
# Samples that are held out in all, unless that takes too many splits: differences of sets are small.
JUDGED, MOST_SPLITS = 480, 48


@dataclass(frozen=True)
class InvarianceChoice:
    """Sets of invariances with their scores, and the one to take.

    Attributes
    ----------
    candidates : tuple
        The sets, in the order given.
    scores : ndarray of shape (n_candidates, n_splits)
        Of each on each split; NaN once it was out of the race.
    index : int
        The one to take: the best on average, of several the one with the fewest copies; none at all if
        the gain over it is not larger than its standard error.

    See Also
    --------
    nsse.selection.choose_invariances : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.invariances import Images
    >>> from nsse.selection import InvarianceChoice
    >>> choice = InvarianceChoice((None, Images((8, 8))), np.array([[0.9, 0.9], [0.92, 0.94]]), index=1)
    >>> choice.candidates[choice.index].names[0]
    'shifted left by 1'
    """

    candidates: tuple[Any, ...]
    scores: Floats
    index: int

    @property
    def best(self) -> Any:
        """The set to take; None is none."""
        return self.candidates[self.index]

    @property
    def gain(self) -> tuple[float, float]:
        """Of the best set with copies over none, in scores, and its standard error; NaN without None.

        Over the splits on which it was tried; the best is one that was tried longest.
        """
        none = _place_of_none(self.candidates)
        others = [k for k, candidate in enumerate(self.candidates) if candidate is not None]
        if none is None or not others:
            return float("nan"), float("nan")
        tried = np.isfinite(self.scores)
        best = max(others, key=lambda k: (tried[k].sum(), self.scores[k][tried[k]].mean()))
        return _difference(self.scores[best][tried[best]], self.scores[none][tried[best]])


def choose_invariances(
    estimator: Any,
    X: Any,
    y: Any,
    candidates: Sequence[Any],
    *,
    splits: Sequence[tuple[Any, Any]] | None = None,
    score: CodeScorer | None = None,
    advance: Callable[[], None] | None = None,
    random_state: Any = 0,
    n_subsample: int = 2000,
    counted: Counted | None = None,
) -> InvarianceChoice:
    """Try sets of invariances on splits of the training samples.

    Parameters
    ----------
    estimator : NSSE
        With the parameters at which they are compared, by exact fits whether or not it has landmarks.
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
        Training samples and labels.
    candidates : sequence
        Invariances of `NSSE`; None is none.
    splits : sequence of (train, valid), default=None
        Indices; None draws random splits that hold out a fifth of every class, as many as it takes to
        hold out some hundred samples.
    score : callable, default=None
        ``score(labels, truth)`` of places among the classes, with weights as a third argument where
        there are any; None is the accuracy.
    advance : callable, default=None
        Called after every split.
    random_state : int, RandomState instance or None, default=0
        Draws the splits.
    n_subsample : int, default=2000
        Where `estimator` has landmarks and no `splits` are given, the samples are a stratified part: so
        many with the copies of the largest set.
    counted : Counted, default=None
        How many times samples count, where `splits` are given.

    Returns
    -------
    InvarianceChoice
        Scores, and which set to take.

    See Also
    --------
    nsse.NSSECV : Chooses with ``invariances=[...]``.
    nsse.invariances.usual_sets : Sets to try.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import NSSE
    >>> from nsse.invariances import Images
    >>> from nsse.selection import choose_invariances
    >>> X, y = load_digits(return_X_y=True)
    >>> choice = choose_invariances(NSSE(), X[:60] / 16, y[:60], [None, Images((8, 8), shift=1)])
    >>> len(choice.scores)
    2
    """
    check_candidates(candidates)
    n_copies = [n_copies_of(candidate, X.shape[1]) for candidate in candidates]
    if estimator.n_landmarks is not None or estimator.landmarks is not None:
        estimator = clone(estimator).set_params(n_landmarks=None, landmarks=None)
        if splits is None:
            X, y = _part_of(X, np.asarray(y), n_subsample // (1 + max(n_copies)), random_state)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if splits is None:
        splits = enough_splits(X, codes, random_state)
    models = [clone(estimator).set_params(invariances=candidate) for candidate in candidates]
    scores = np.full((len(models), len(splits)), np.nan)
    alive = list(range(len(models)))
    own, judging = (None, None) if counted is None else (counted.weights, counted.judging)
    for place, (train, valid) in enumerate(splits):
        for k in alive:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a trial; the fit that follows says its own
                models[k].fit(X[train], y[train], **as_argument(None if own is None else own[train]))
            said, truth = np.searchsorted(classes, models[k].predict(X[valid])), codes[valid]
            counts = None if judging is None else judging[valid]
            right = float(np.average(said == truth, weights=counts))
            scores[k, place] = right if score is None else score(said, truth, *_given(counts))
        if advance is not None:
            advance()
        if (place + 1) % RACED == 0:
            alive = _still_good(candidates, n_copies, scores[:, : place + 1], alive)
    return InvarianceChoice(tuple(candidates), scores, _taken(candidates, scores, alive, n_copies))


def _given(counts: Floats | None) -> tuple[Floats, ...]:
    return () if counts is None else (counts,)


def enough_splits(X: Any, codes: NDArray[Any], random_state: Any) -> list[tuple[Any, Any]]:
    """As many as the quick search has, or more where each holds out few samples."""
    (_, valid), *_ = BalancedSplits(1, HELD_OUT, 0).split(X, codes)
    wanted = min(MOST_SPLITS, -(-JUDGED // max(1, len(valid))))
    n_splits = max(n_splits_for(len(codes)), wanted)
    return list(BalancedSplits(n_splits, HELD_OUT, random_state).split(X, codes))


def check_candidates(candidates: Any) -> None:
    """Refuse what is no list of invariances."""
    if isinstance(candidates, str) or not isinstance(candidates, Sequence) or len(candidates) == 0:
        rule = "be None or a list of sets of invariances, None among them for none"
        raise rule_error("invariances", rule, candidates, "One set alone is for NSSE(invariances=...).")
    for candidate in candidates:
        check_invariances(candidate)


def _part_of(X: Any, y: NDArray[Any], n_rows: int, random_state: Any) -> tuple[Any, NDArray[Any]]:
    """A stratified part of many samples, two of a class at least."""
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if len(y) <= max(n_rows, 2 * len(sizes)):
        return X, y
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    some = stratified(codes.astype(np.intp), max(n_rows, 2 * len(sizes)), rng)
    return X[some], y[some]


def _still_good(
    candidates: Sequence[Any], n_copies: Sequence[int], scores: Floats, alive: list[int]
) -> list[int]:
    """Those that are not far behind; none at all stays, for what is gained is gained over it."""
    leader = max(alive, key=lambda k: (round(float(scores[k].mean()), 12), -k))

    def is_behind(k: int) -> bool:
        lost, error = _difference(scores[leader], scores[k])
        is_larger = n_copies[k] > n_copies[leader] > 0
        return lost > (LARGER_BEHIND if is_larger else BEHIND) * error and lost > 0

    return [k for k in alive if k == leader or candidates[k] is None or not is_behind(k)]


def _taken(candidates: Sequence[Any], scores: Floats, alive: list[int], n_copies: Sequence[int]) -> int:
    best = min(alive, key=lambda k: (-round(float(scores[k].mean()), 12), n_copies[k], k))
    none = _place_of_none(candidates)
    if none is None or best == none:
        return best
    gain, error = _difference(scores[best], scores[none])
    return best if gain > error else none


def _place_of_none(candidates: Sequence[Any]) -> int | None:
    return next((k for k, candidate in enumerate(candidates) if candidate is None), None)


def _difference(a: Floats, b: Floats) -> tuple[float, float]:
    """Mean of a − b over the splits, and its standard error."""
    differences = a - b
    n = len(differences)
    error = float(differences.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return float(differences.mean()), error
