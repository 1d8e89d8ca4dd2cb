"""Compute values of candidates that use unlabeled samples, by fits to the training part of every split.

Held-out samples have no part in these fits, just as new samples have none. A setting has one metric and
one kernel matrix K of all rows of a split, which serve all uses of unlabeled samples. For each use and
each smoothness λ, the coefficients solve the equation of Laplacian regularized least squares (Belkin,
Niyogi & Sindhwani 2006),

    (W K + P K + λ I) C = W T,

with P of the use (`nsse.unlabeled.UnlabeledUse.roughness`). W contains the weights of the rows that have
a label, given or propagated, and zeros for the others.

If there are fewer centers than samples, class scores cannot follow a graph, so only the propagation of
labels is tried. It is then also tried along the Euclidean graph of all samples, which does not depend on
labels and is the same for every split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import linalg

from nsse._support.types import Floats, Ints
from nsse.candidates import Samples, Singles, Split, centered_values, norms_of_scores
from nsse.centers import EXACT_UP_TO
from nsse.columns import standardizing
from nsse.distances import median_distance, squared_distances
from nsse.grid import Grid, Setting
from nsse.model import evenly
from nsse.rows import Rows
from nsse.smooth import SmoothEmbedding
from nsse.sources import Source, stacked
from nsse.unlabeled import UnlabeledUse, has_own_sums, in_the_middle, labeled_by

# Unlabeled samples in the fits, and in the graph that serves all splits, at most.
MOST_UNLABELED, MOST_IN_GRAPH = 1500, 100_000


@dataclass(frozen=True)
class UnlabeledSamples:
    """The samples that are compared, followed by samples without a label.

    Attributes
    ----------
    samples : Samples
        The labeled samples.
    X : {ndarray, sparse matrix}
        Their rows, followed by rows without a label, of which the last ones are only used in a graph.
    weights : ndarray
        Weights of the rows that models are fitted to, which are the first ones.
    is_exact : bool
        Whether the centers of the model are its rows.
    graphs : dict
        Functions that propagate labels along the graph of all rows, by the use.
    propagated : dict
        Labels of all rows, by the use and the training rows.
    """

    samples: Samples
    X: Any
    weights: Floats
    is_exact: bool
    graphs: dict[str, Any] = field(default_factory=dict)
    propagated: dict[tuple[str, bytes], Ints] = field(default_factory=dict)

    @classmethod
    def of(cls, samples: Samples, rows: Rows, base: SmoothEmbedding) -> Self:
        """Take some of the rows without a label."""
        is_small = isinstance(base.centers, str) and len(rows) <= EXACT_UP_TO
        is_exact = base.centers is None or is_small
        hidden = np.random.default_rng(0).permutation(np.flatnonzero(~rows.is_labeled))
        few, others = np.sort(hidden[:MOST_UNLABELED]), np.sort(hidden[MOST_UNLABELED:MOST_IN_GRAPH])
        parts = [samples.rows.held(), rows.source.take(few)]
        if len(others) and not is_exact:
            parts.append(rows.source.take(others))
        weights = np.concatenate([samples.rows.weights, rows.weights[few]])
        return cls(samples, stacked(parts), weights, is_exact)

    def uses(self, own: UnlabeledUse) -> list[UnlabeledUse]:
        """Return the uses to try, the user's first."""
        distinct = {repr(use): use for use in (own, *own.candidates(self.is_exact))}
        return list(distinct.values())

    def fitted(self, model: SmoothEmbedding, train: Ints) -> SmoothEmbedding:
        """Fit a model to the training rows of a split, and to rows without a label if it uses these."""
        rows = self.samples.rows
        labels = rows.classes[rows.codes[train]]
        weights = rows.counts[train] if np.any(rows.counts[train] != 1.0) else None
        if model.unlabeled is None or len(self.weights) == len(rows):
            return model.fit(self.X[train], labels, weights)
        hidden = np.arange(len(rows), len(self.weights))
        # Missing labels always count as no label, whatever the marker of the user is.
        known = np.concatenate([labels.astype(object), np.full(len(hidden), None)])
        used = np.concatenate([train, hidden])
        return model.fit(self.X[used], known, np.concatenate([rows.counts[train], self.weights[hidden]]))

    def values(
        self,
        base: SmoothEmbedding,
        grid: Grid,
        setting: Setting,
        uses: Sequence[UnlabeledUse],
        split: Split,
    ) -> tuple[Singles, Floats]:
        """Return the centered values of the held-out samples, and R², of each use with each λ."""
        train, held = split
        fold = self._fold(base, grid, setting, split)
        found: list[tuple[Floats, float]] = []
        for use in uses:
            candidates = grid.with_use(setting, use)
            if has_own_sums(use) or setting.augment is not None:
                found.extend(self._of_fit(own.model(base), split) for own in candidates)
            else:
                near = self._labeled(use, fold.near, train)
                found.extend(fold.solved(use, near, [own.smoothness for own in candidates]))
        n_classes = len(self.samples.rows.classes)
        values = np.full((len(found), len(held), n_classes), np.nan, dtype=np.float32)
        for own, (scores, _) in zip(values, found, strict=True):
            own[:, fold.near.classes] = scores
        return np.stack([centered_values(own) for own in values]), np.array([norm for _, norm in found])

    def _fold(self, base: SmoothEmbedding, grid: Grid, setting: Setting, split: Split) -> UnlabeledFold:
        """Return the rows of a split in the metric that is learned from those with a label."""
        train, held = split
        used = self._used(train)
        codes = np.concatenate([self.samples.codes[train], np.full(len(used) - len(train), -1)])
        rows = Rows.of(Source.of(self.X[used]), codes, self.weights[used], None, -1)
        new = self.X[held]
        if base.standardize:
            front = standardizing(rows)
            rows, new = rows.through(front), front(new)
        labeled = rows.select(np.flatnonzero(rows.is_labeled))
        metric = grid.metric.with_parameters(setting.metric).learn(labeled)
        near = rows.through(metric.affine)
        unit = median_distance(metric.distances())
        near = near.select(np.arange(len(near)))
        return UnlabeledFold(near, metric.affine(new), setting, unit, self.is_exact)

    def _labeled(self, use: UnlabeledUse, near: Rows, train: Ints) -> Rows:
        """Return the rows of a split with the labels that a use gives them."""
        if not use.has_own_graph:
            return labeled_by(use, near)
        codes = np.empty(len(near), dtype=np.intp)
        labels = self._propagated(use, train)[self._used(train)]
        codes[near.given] = np.searchsorted(near.classes, labels)
        return replace(near, codes=codes)

    def _used(self, train: Ints) -> Ints:
        """Return the positions of the training rows, followed by the rows without a label."""
        return np.concatenate([train, np.arange(len(self.samples.codes), len(self.weights))])

    def _propagated(self, use: Any, train: Ints) -> Ints:
        """Return the labels of all rows, propagated from the training rows along the whole graph."""
        name = repr(use)
        key = name, train.tobytes()
        if name not in self.graphs:
            known = np.pad(
                self.samples.codes, (0, self.X.shape[0] - len(self.samples.codes)), constant_values=-1
            )
            rows = Rows.of(Source.of(self.X), known, None, None, -1)
            self.graphs[name] = rows.given, use.along(in_the_middle(rows.held()))
        if key not in self.propagated:
            of_row, along = self.graphs[name]
            known, codes = np.unique(self.samples.codes[train], return_inverse=True)
            self.propagated[key] = known[along(of_row[train], codes, len(known))[of_row]]
        return self.propagated[key]

    def _of_fit(self, model: SmoothEmbedding, split: Split) -> tuple[Floats, float]:
        """Return the values of the held-out samples, and R², from a fit of the model."""
        train, held = split
        model = self.fitted(model, train)
        V = model.scores_.weights
        values = model.scores_.values(model.map_(self.X[held]))
        return values, norms_of_scores(V @ model.map_.gram @ V.T)


@dataclass(frozen=True)
class UnlabeledFold:
    """The rows that a split trains on with those without a label, and the samples that it holds out.

    Attributes
    ----------
    near : Rows
        The rows in the metric of a setting.
    held : ndarray
        The held-out samples in this metric.
    setting : Setting
        The setting.
    unit : float
        The median distance of the rows with a label.
    is_exact : bool
        Whether the centers of the model are its rows.
    """

    near: Rows
    held: Any
    setting: Setting
    unit: float
    is_exact: bool

    @cached_property
    def distances(self) -> tuple[Floats, Floats]:
        """Squared distances of the rows, and of the held-out samples to them."""
        Z = self.near.held()
        return squared_distances(Z, Z), squared_distances(self.held, Z)

    def solved(
        self, use: UnlabeledUse, near: Rows, smoothness: Sequence[float]
    ) -> Iterator[tuple[Floats, float]]:
        """Yield the class scores of the held-out samples, and R², for each λ.

        ``near`` has the labels that the use gives to the rows.
        """
        D2, E2 = self.distances
        some = evenly(len(D2))
        # If all rows have a label and are centers, the width is measured by all of them, as in a fit.
        by_all = use.is_exact and self.is_exact
        unit = median_distance(D2[np.ix_(some, some)]) if by_all else self.unit
        K, across = self.setting.kernel(D2 / unit**2), self.setting.kernel(E2 / unit**2)
        weights = np.where(near.is_labeled, near.weights, 0.0)[:, np.newaxis]
        T = weights * (near.indicators() - near.shares)
        A = weights * K
        P = use.roughness(near)
        if P is not None:
            A += P @ K
        diagonal = np.diag_indices(len(A))
        for weight in smoothness:
            G = A.copy()
            G[diagonal] += weight
            C = linalg.lu_solve(linalg.lu_factor(G, overwrite_a=True, check_finite=False), T)
            yield across @ C + near.shares, norms_of_scores(C.T @ (K @ C))
