"""What the search chose: a table of points, the best of them, and who votes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from nsse._errors import listed, rule_error
from nsse._progress import progress_bar
from nsse.invariances import n_copies_of
from nsse.selection.quick import planned_rounds, quick_search, training_rows
from nsse.selection.quick_grid import QuickGrid
from nsse.selection.scoring import code_scorer
from nsse.selection.search import Scores
from nsse.selection.subsample import Searched

# What the quick search chooses, each unless the estimator has another value than NSSE's own.
CHOSEN = ("metric", "shrinkage", "relevance", "sigma", "mu2", "classifier")
# What its closed form stands for.
CLOSED_FORM = {"normalization": "classes", "embedding_scale": "unit"}
OTHERS = "Leave it, or take scikit-learn's GridSearchCV(NSSE(...), ...)."
NOTHING_YET = (
    "NSSECV was interrupted in the first of {} rounds. The estimator is as it was before `fit`."
)
STOPPED = (
    "NSSECV was interrupted after {} of {} rounds: the best points so far are fitted. Interrupt again "
    "to stop, and leave the estimator as it was."
)


@dataclass(frozen=True)
class Choice:
    """Points with their scores, and what was made of them.

    Attributes
    ----------
    base : NSSE
        Unfitted; it holds what the points do not say.
    table : Scores
        The points.
    index : int
        The best of them.
    others : list of int
        Those that vote beside it, the best first.
    counts : Counter
        What was computed.
    n_splits : int
        On how many splits.
    """

    base: Any
    table: Scores
    index: int
    others: list[int]
    counts: Counter[str]
    n_splits: int

    def told(self) -> str:
        """What was computed."""
        return ", ".join(f"{number} {what}" for what, number in sorted(self.counts.items()))


def quick_choice(
    model: Any, base: Any, searched: Searched, splits: Sequence[tuple[Any, Any]], n_voters: int
) -> Choice:
    """Metric, scale, smoothness and reader by the closed form, for the parameters of an `NSSECV`."""
    classes, codes = np.unique(searched.y, return_inverse=True)
    _check_dimension(base.n_components, len(classes))
    fixed = fixed_params(base, model.keep)
    n_samples = searched.n_counted
    per_sample = 1 + n_copies_of(base.invariances, searched.X.shape[1])
    mean_class_size = per_sample * n_samples / len(classes)
    grid = quick_grid(base, model.keep, mean_class_size)
    n_rows = training_rows(max(len(train) for train, _ in splits), per_sample)
    n_rounds = len(planned_rounds(n_rows, len(splits), len(grid.kernels)))
    with progress_bar(n_rounds, "rounds", model.progress) as advance:
        try:
            found = quick_search(
                searched.X,
                codes.astype(np.intp),
                splits,
                grid,
                n_neighbors=base.n_neighbors,
                score=code_scorer(model.scoring, classes),
                advance=advance,
                invariances=base.invariances,
                counted=searched.counted,
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(NOTHING_YET.format(n_rounds)) from None
    if found.interrupted:
        warnings.warn(STOPPED.format(found.n_rounds, n_rounds), UserWarning, stacklevel=5)
    raw = found.table(base.mu1, mean_class_size)
    table = Scores(tuple(_params(point, fixed) for point in raw.points), raw.scores)
    rows = found.voters(raw, n_voters)
    counts = Counter({"eigendecompositions": found.n_decompositions})
    start = clone(base).set_params(**CLOSED_FORM)
    return Choice(start, table, rows[0], rows[1:], counts, len(found.scores))


def fixed_params(base: Any, keep: Collection[str]) -> dict[str, Any]:
    """What is to be kept, and what the estimator says otherwise than NSSE does by itself."""
    given, usual = base.get_params(deep=False), type(base)().get_params(deep=False)
    return {name: given[name] for name in CHOSEN if name in keep or _is_said(given[name], usual[name])}


def _is_said(value: Any, usual: Any) -> bool:
    """Whether it is a value of its own; None leaves the choice to whoever makes it."""
    plain = (str, int, float)
    same = isinstance(value, plain) and isinstance(usual, plain) and value == usual
    return value is not None and not same


def check_quick(base: Any, keep: Any) -> None:
    """Refuse names of what the quick search does not choose, and what its closed form cannot solve."""
    if isinstance(keep, str) or any(name not in CHOSEN for name in keep):
        rule = f"list parameters that the search chooses, of {listed(CHOSEN)}"
        raise rule_error("keep", rule, keep, "It keeps all others of `estimator` anyway.")
    unset = [name for name in keep if getattr(base, name) is None]
    if unset:
        raise rule_error(
            "keep", "list parameters that `estimator` has set", unset, "Set them, or leave it."
        )
    if base.mu1 == 0:
        rule = "be positive for the search, which weighs smoothness beside the separation"
        raise rule_error("mu1", rule, base.mu1, OTHERS)
    if base.length_unit != "median":
        rule = 'be "median" for the search, which tries σ in medians of every metric'
        raise rule_error("length_unit", rule, base.length_unit, OTHERS)


def _check_dimension(n_components: Any, n_classes: int) -> None:
    if isinstance(n_components, Integral) and int(n_components) >= n_classes:
        rule = f"be less than n_classes = {n_classes} for the search, which separates class means"
        raise rule_error("n_components", rule, n_components, OTHERS)


def quick_grid(base: Any, keep: Collection[str], mean_class_size: float) -> QuickGrid:
    """The grid, with one value for what is fixed; a classifier of the user's own reads the result."""
    fixed = fixed_params(base, keep)
    grid = QuickGrid()
    if fixed.get("metric") == "euclidean":
        grid = replace(grid, shrinkages=(np.inf,), relevances=(0.0,))
    elif "shrinkage" in fixed:
        grid = replace(grid, shrinkages=(float(fixed["shrinkage"]),))
    elif "metric" in fixed:
        grid = replace(grid, shrinkages=tuple(s for s in grid.shrinkages if np.isfinite(s)))
    if "relevance" in fixed and fixed.get("metric") != "euclidean":
        grid = replace(grid, relevances=(float(fixed["relevance"]),))
    if "sigma" in fixed:
        grid = replace(grid, sigmas=(float(fixed["sigma"]),))
    if "mu2" in fixed:
        grid = replace(grid, nus=(float(fixed["mu2"]) / (base.mu1 * mean_class_size),))
    if "classifier" in fixed:
        named = fixed["classifier"] if isinstance(fixed["classifier"], str) else "scores"
        grid = replace(grid, readers=(named,))
    return grid


def _params(point: dict[str, Any], fixed: dict[str, Any]) -> dict[str, Any]:
    """A point of the closed form as parameters of NSSE."""
    euclidean = np.isinf(point["shrinkage"]) and point["relevance"] == 0
    told = {
        "metric": "euclidean" if euclidean else "within",
        "shrinkage": 1.0 if euclidean else point["shrinkage"],
        "relevance": point["relevance"],
        "sigma": point["sigma"],
        "mu2": point["mu2"],
        "classifier": point["reader"],
    }
    return told | fixed
