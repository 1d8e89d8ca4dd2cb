"""What `NSSECV` will take, in seconds and in bytes, from its parameters and the shape of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv

from nsse.estimators._memory import FLOAT, sweep_memory
from nsse.estimators._settings import Settings
from nsse.selection.choosing import CLOSED_FORM
from nsse.selection.costs import Sizes, Work, fit_work, quick_work, sweep_work
from nsse.selection.quick import Round, planned_rounds, training_rows
from nsse.selection.quick_grid import QuickGrid

# N × N arrays of the quick search on a split: distances, those outside the axes of the metric, those in
# it, and the vectors of the kernel, beside what readers make of them; or its decomposition in their
# place: the kernel, its vectors, and a workspace of two.
READ_MATRICES, DECOMPOSED_MATRICES = 4.0, 7.0
# The same of the samples held out, beside the training ones: distances three times, and the kernel.
NEW_MATRICES = 4.0
# A point of the closed form that is neither easy nor hard to solve, in medians and in ν.
TYPICAL_SIGMA, TYPICAL_NU = 1.2, 1e-2


@dataclass(frozen=True)
class Forecast:
    """A search, as far as it is known beforehand.

    Attributes
    ----------
    base : NSSE
        What the points start from.
    settings : Settings
        Its parameters, checked.
    grid : QuickGrid or list of dict
        What is tried: by the closed form, or the points of a grid.
    shape : tuple of (int, int, int)
        Samples, features, classes.
    n_searched : int
        Samples on which the search runs.
    n_train : int
        Of these in the training part of a split.
    n_splits, n_voters, n_workers : int
        Splits, models that vote, workers that score splits at the same time.
    per_sample : int
        Rows that every training sample makes, of the largest set of invariances.
    compared : tuple of int
        The same of every set that is to be chosen from; empty where there is no choice.
    """

    base: Any
    settings: Settings
    grid: QuickGrid | list[dict[str, Any]]
    shape: tuple[int, int, int]
    n_searched: int
    n_train: int
    n_splits: int
    n_voters: int
    n_workers: int
    per_sample: int = 1
    compared: tuple[int, ...] = ()

    @property
    def rounds(self) -> list[Round]:
        """Of the quick search."""
        assert isinstance(self.grid, QuickGrid)
        return planned_rounds(self._n_rows, self.n_splits, len(self.grid.kernels))

    @property
    def _n_rows(self) -> int:
        """That train on a split, copies among them."""
        return training_rows(self.n_train, self.per_sample)

    @property
    def _n_all(self) -> int:
        """Samples and copies that the fits have."""
        return self.shape[0] * self.per_sample

    @property
    def _comparison(self) -> Work:
        """Of the sets of invariances: an exact fit on every split."""
        in_metric = self.settings.metric == "within"
        sizes = [self._sizes(k * self.n_train) for k in self.compared]
        fits = (fit_work(one, one.n_rows, in_metric=in_metric, searches=False) for one in sizes)
        return sum(fits, Work()).times(self.n_splits)

    @property
    def work(self) -> Work:
        """All that is computed by the longest of the workers, and the fits of those that vote."""
        return self._search + self._fits

    @property
    def _search(self) -> Work:
        if isinstance(self.grid, QuickGrid):
            distances = Work(products=self.n_searched**2 * self.shape[1])
            race = quick_work(self.rounds, self.grid, self._sizes(self._n_rows))
            return self._comparison + distances + race
        sizes = self._sizes(self.n_train)
        split = sweep_work(self.grid, sizes, self._n_centers(self.n_train))
        return split.times(np.ceil(self.n_splits / self.n_workers))

    @property
    def _fits(self) -> Work:
        sizes, m = self._sizes(self._n_all), self._n_centers(self._n_all)
        if isinstance(self.grid, QuickGrid):
            n_within = self._share_in_metric * self._n_voting
            within, without = (
                fit_work(sizes, m, in_metric=in_it, searches=False) for in_it in (True, False)
            )
            return within.times(n_within) + without.times(self._n_voting - n_within)
        at_scale = fit_work(sizes, m, in_metric=self.settings.metric == "within", searches=False)
        finds = self.settings.sigma is None and "sigma" not in self.grid[0]
        first = fit_work(sizes, m, in_metric=self.settings.metric == "within", searches=finds)
        return first + at_scale.times(min(self.n_voters, len(self.grid)) - 1)

    @property
    def bytes(self) -> int:
        """At the peak, all workers together."""
        n_samples, n_features, n_classes = self.shape
        if isinstance(self.grid, QuickGrid):
            fit = self._typical.estimate_memory(n_samples, n_features, n_classes)
            return int(max(self._quick_bytes, fit + self._held_bytes))
        sweeps = self.n_workers * sweep_memory(self.n_train, self.grid, n_classes)
        fit = self.base.estimate_memory(n_samples, n_features, n_classes)
        return int(FLOAT * self.n_searched**2 + max(sweeps, fit))

    @property
    def _quick_bytes(self) -> float:
        """All distances; of a split its samples, the metric, the matrices, and what readers take."""
        assert isinstance(self.grid, QuickGrid)
        sizes, k = self._sizes(self._n_rows), len(self.grid.nus)
        N, v, n, r, M = sizes.n_rows, sizes.n_valid, sizes.n_features, sizes.n_axes, sizes.n_classes
        # Coordinates for every weight, and where neighbours are looked for, all distances twice.
        nearest = 2 * k * v * N if "nearest" in self.grid.readers else 0
        read = READ_MATRICES * N**2 + 2 * v * N + 2 * k * M * (N + v) + nearest
        samples = (N + v) * (n + r) + n * r
        matrices = NEW_MATRICES * v * N + max(DECOMPOSED_MATRICES * N**2, read)
        return FLOAT * (self.n_searched**2 + samples + matrices)

    @property
    def _held_bytes(self) -> float:
        """Of the voters but one: their centres, as they are and moved, axes of a metric, solutions."""
        sizes = self._sizes(self._n_all)
        centers = self._n_centers(self._n_all) * (2 * sizes.n_features + sizes.n_components)
        axes = self._share_in_metric * sizes.n_features * sizes.n_axes
        return float(FLOAT * (self._n_voting - 1) * (centers + axes + sizes.n_rows * sizes.n_components))

    @property
    def _n_voting(self) -> int:
        """No more than the kernels that are left in the end, each by every reader."""
        assert isinstance(self.grid, QuickGrid)
        return min(self.n_voters, self.rounds[-1].n_kernels * len(self.grid.readers))

    @property
    def _share_in_metric(self) -> float:
        """Of the models that may be chosen those that are in a metric."""
        assert isinstance(self.grid, QuickGrid)
        finite = float(np.mean(np.isfinite(self.grid.shrinkages)))
        weighted = float(np.mean(np.asarray(self.grid.relevances) > 0))
        return 1.0 - (1.0 - finite) * (1.0 - weighted)

    @cached_property
    def _typical(self) -> Any:
        """A model that the closed form may choose."""
        assert isinstance(self.grid, QuickGrid)
        given = {
            name: min(values) for name, values in (("sigma", self.grid.sigmas),) if len(values) == 1
        }
        mu2 = TYPICAL_NU * max(self.base.mu1, 1e-12) * self._n_all / self.shape[2]
        params = {"sigma": TYPICAL_SIGMA, "mu2": mu2} | given | CLOSED_FORM
        params["metric"] = "within" if self._share_in_metric > 0 else "euclidean"
        return clone(self.base).set_params(**params)

    def _sizes(self, n_rows: int) -> Sizes:
        _, n_features, n_classes = self.shape
        d = n_classes - 1 if self.base.n_components is None else int(self.base.n_components)
        return Sizes(n_rows, self.n_searched - self.n_train, n_features, n_classes, d)

    def _n_centers(self, n_rows: int) -> int:
        plan = self.settings.centers
        if plan is None or plan.is_exact_for(n_rows):
            return n_rows
        return min(n_rows, plan.n_centers(max(n_rows, self._n_all)))


def sequential_points(grid: Any, n_rounds: int) -> list[dict[str, Any]]:
    """About as many points as a search of one parameter at a time looks at."""
    return list(ParameterGrid([{name: values} for name, values in grid.items()])) * n_rounds


def split_plan(cv: Any, n_samples: int, usual: tuple[int, float]) -> tuple[int, int]:
    """How many splits, and how many samples of each train.

    An iterator can be read once, by `fit`: its splits are taken for the usual ones.
    """
    if isinstance(cv, Sequence) and len(cv) > 0:
        return len(cv), len(cv[0][0])
    if isinstance(cv, Integral) or hasattr(cv, "get_n_splits"):
        rows = np.zeros((n_samples, 1))
        n_splits = int(check_cv(cv, classifier=True).get_n_splits(rows, rows[:, 0]))
        return n_splits, n_samples - n_samples // max(2, n_splits)
    n_splits, held_out = usual
    return n_splits, max(1, round((1.0 - held_out) * n_samples))
