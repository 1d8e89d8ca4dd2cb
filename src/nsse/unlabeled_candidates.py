"""Compute values of candidates that use unlabeled samples, by a fit to the training part of every split.

Held-out samples have no part in these fits, just as new samples have none. Each use of unlabeled samples
is combined with a few settings that are good without them.

If there are fewer centers than samples, class scores cannot follow a graph, so only the propagation of
labels is tried. It is then also tried along the Euclidean graph of all samples, which does not depend on
labels and is the same for every split.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nsse._support.types import Floats, Ints
from nsse.candidates import Samples, Split, centered_values, norms_of_scores
from nsse.centers import EXACT_UP_TO
from nsse.grid import Candidate
from nsse.rows import Rows
from nsse.smooth import SmoothEmbedding
from nsse.sources import Source, stacked
from nsse.unlabeled import UnlabeledUse, in_the_middle

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
        Functions that propagate labels along the graph of all rows, by the number of neighbors.
    """

    samples: Samples
    X: Any
    weights: Floats
    is_exact: bool
    graphs: dict[int, Any] = field(default_factory=dict)

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
        self, candidate: Candidate, base: SmoothEmbedding, split: Split
    ) -> tuple[NDArray[np.float32], float]:
        """Return the centered values of the held-out samples, and R²."""
        train, held = split
        codes = np.full(len(self.weights), -1)
        codes[train] = self.samples.codes[train]
        use = clone(candidate.setting.unlabeled).set_params(marker=-1)
        model = candidate.model(base)
        model.set_params(unlabeled=use, class_weight=None, centers=None, n_components=None)
        if use.has_own_graph:
            model.set_params(unlabeled=None)
            codes = self._propagated(use, train)[: len(codes)]
        n_labeled = len(self.samples.codes)
        used = np.concatenate([train, np.arange(n_labeled, len(codes))])
        model.fit(self.X[used], codes[used], self.weights[used])
        n_classes = len(self.samples.rows.classes)
        values = np.full((len(held), n_classes), np.nan, dtype=np.float32)
        values[:, model.classes_] = model.scores_.values(model.map_(self.X[held]))
        V = model.scores_.weights
        return centered_values(values), norms_of_scores(V @ model.map_.gram @ V.T)

    def _propagated(self, use: Any, train: Ints) -> Ints:
        """Return the labels of all rows, propagated from the training rows along the whole graph."""
        if use.n_neighbors not in self.graphs:
            known = np.pad(
                self.samples.codes, (0, self.X.shape[0] - len(self.samples.codes)), constant_values=-1
            )
            rows = Rows.of(Source.of(self.X), known, None, None, -1)
            self.graphs[use.n_neighbors] = rows.given, use.along(in_the_middle(rows.held()))
        of_row, along = self.graphs[use.n_neighbors]
        known, codes = np.unique(self.samples.codes[train], return_inverse=True)
        return np.asarray(known[along(of_row[train], codes, len(known))[of_row]])
