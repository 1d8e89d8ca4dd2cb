"""The bytes that `NSSECV` will take, from its parameters and the shape of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from nsse.estimators._memory import FLOAT
from nsse.estimators._settings import Settings
from nsse.selection.choosing import CLOSED_FORM
from nsse.selection.quick import planned_rounds, training_rows
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
class SearchMemory:
    """A search, as far as it is known beforehand.

    Attributes
    ----------
    base : NSSE
        What the points start from.
    settings : Settings
        Its parameters, checked.
    grid : QuickGrid
        What is tried.
    shape : tuple of (int, int, int)
        Samples, features, classes.
    n_searched : int
        Samples on which the search runs.
    n_train : int
        Of these in the training part of a split.
    n_splits, n_voters : int
        Splits, models that vote.
    per_sample : int
        Rows that every training sample makes, of the largest set of invariances.
    """

    base: Any
    settings: Settings
    grid: QuickGrid
    shape: tuple[int, int, int]
    n_searched: int
    n_train: int
    n_splits: int
    n_voters: int
    per_sample: int = 1

    @property
    def bytes(self) -> int:
        """At the peak: of the search, or of a fit beside the other voters."""
        fit = self._typical.estimate_memory(*self.shape)
        return int(max(self._search_bytes, fit + self._held_bytes))

    @property
    def _n_rows(self) -> int:
        """That train on a split, copies among them."""
        return training_rows(self.n_train, self.per_sample)

    @property
    def _n_all(self) -> int:
        """Samples and copies that the fits have."""
        return self.shape[0] * self.per_sample

    def _n_axes(self, n_rows: int) -> int:
        """Axes of the within-class metric of so many rows, at most."""
        _, n_features, n_classes = self.shape
        return min(max(n_rows - n_classes, 0), n_features)

    @property
    def _search_bytes(self) -> float:
        """All distances; of a split its samples, the metric, the matrices, and what readers take."""
        N, v, k = self._n_rows, self.n_searched - self.n_train, len(self.grid.nus)
        (_, n, M), r = self.shape, self._n_axes(N)
        # Coordinates for every weight, and where neighbours are looked for, all distances twice.
        nearest = 2 * k * v * N if "nearest" in self.grid.readers else 0
        read = READ_MATRICES * N**2 + 2 * v * N + 2 * k * M * (N + v) + nearest
        samples = (N + v) * (n + r) + n * r
        matrices = NEW_MATRICES * v * N + max(DECOMPOSED_MATRICES * N**2, read)
        return FLOAT * (self.n_searched**2 + samples + matrices)

    @property
    def _held_bytes(self) -> float:
        """Of the voters but one: their centres, as they are and moved, axes of a metric, solutions."""
        N, (_, n, M) = self._n_all, self.shape
        d = M - 1 if self.base.n_components is None else int(self.base.n_components)
        centers = self._n_centers * (2 * n + d)
        axes = self._share_in_metric * n * self._n_axes(N)
        return float(FLOAT * (self._n_voting - 1) * (centers + axes + N * d))

    @property
    def _n_voting(self) -> int:
        """No more than the kernels that are left in the end, each by every reader."""
        last = planned_rounds(self._n_rows, self.n_splits, len(self.grid.kernels))[-1]
        return min(self.n_voters, last.n_kernels * len(self.grid.readers))

    @property
    def _share_in_metric(self) -> float:
        """Of the models that may be chosen those that are in a metric."""
        finite = float(np.mean(np.isfinite(self.grid.shrinkages)))
        weighted = float(np.mean(np.asarray(self.grid.relevances) > 0))
        return 1.0 - (1.0 - finite) * (1.0 - weighted)

    @property
    def _typical(self) -> Any:
        """A model that the closed form may choose."""
        given = {
            name: min(values) for name, values in (("sigma", self.grid.sigmas),) if len(values) == 1
        }
        mu2 = TYPICAL_NU * max(self.base.mu1, 1e-12) * self._n_all / self.shape[2]
        params = {"sigma": TYPICAL_SIGMA, "mu2": mu2} | given | CLOSED_FORM
        params["metric"] = "within" if self._share_in_metric > 0 else "euclidean"
        return clone(self.base).set_params(**params)

    @property
    def _n_centers(self) -> int:
        N, plan = self._n_all, self.settings.centers
        return N if plan is None or plan.is_exact_for(N) else min(N, plan.n_centers(N))


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
