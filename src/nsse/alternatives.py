"""What a search tries beside the parameters of a kernel: augmentations, and uses of unlabelled samples.

Each is compared on a few splits with none at all, by the squared errors of the scores of held-out
samples, and taken where it is clearly better. A `Trial` has candidates, the first of which is none, and
gives the scores of a candidate on a split.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nsse.centers import EXACT_UP_TO
from nsse.rows import Source, checked_weights, encoded, stacked
from nsse.smooth import SmoothEmbedding
from nsse.unlabeled import Smooth, Spread

Floats = NDArray[np.float64]

# Weights of the smoothness of unlabelled samples, and how many of these, at most, help to choose one.
UNLABELED_WEIGHTS, MOST_UNLABELED = (0.0, 1.0, 10.0, 100.0), 1500


@dataclass(frozen=True)
class Trial(ABC):
    """Values of a parameter, compared on a few splits of a table."""

    parameter: ClassVar[str]
    what: ClassVar[str]
    candidates: Sequence[Any]
    model: SmoothEmbedding
    table: Any

    @abstractmethod
    def scores(self, candidate: Any, split: int) -> Floats:
        """Class scores of the held-out samples of a split."""

    def steps(self, error: Any, folds: Sequence[Any]) -> Iterator[None]:
        """Record the errors of every candidate on every split."""
        for split, fold in enumerate(folds):
            for place, candidate in enumerate(self.candidates):
                error.record((place,), split, fold, self.scores(candidate, split))
                yield

    def best(self, error: Any, n_steps: int, times: float) -> Any:
        """The best candidate after so many steps; none unless it is better by some standard errors."""
        n_splits = n_steps // len(self.candidates)
        if n_splits == 0:
            return self.candidates[0]
        losses = error.losses(slice(None), n_splits)
        has_none = self.candidates[0] is None or self.parameter == "unlabeled"
        bounds = losses.bounds(losses.values[0], times if has_none else 0.0)
        return self.candidates[int(bounds.argmin())]


@dataclass(frozen=True)
class AugmentTrial(Trial):
    """Augmentations of the training samples."""

    parameter = "augment"
    what = "Comparing augmentations"

    @classmethod
    def of(cls, candidates: Sequence[Any], model: SmoothEmbedding, table: Any) -> Self:
        """Of these, None first if it is among them."""
        return cls(sorted(candidates, key=lambda augment: augment is not None), model, table)

    def scores(self, candidate: Any, split: int) -> Floats:
        """By the model with augmented training samples."""
        return np.asarray(self.table.fold(split, candidate).values(self.model))


@dataclass(frozen=True)
class UnlabeledTrial(Trial):
    """Uses of unlabelled samples: none, smooth with several weights, spread.

    Fewer centres than samples cannot follow the graph that scores are to be smooth on: there labels
    spread or are not used.

    ``X`` are the compared samples, and some without a label behind them.
    """

    parameter = "unlabeled"
    what = "Comparing uses of unlabelled samples"
    X: Any
    weights: Floats

    @classmethod
    def of(cls, model: SmoothEmbedding, table: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        """With some of the samples that have no label."""
        own, samples = model.unlabeled, table.samples
        shared = {"marker": own.marker, "n_neighbors": own.n_neighbors}
        is_exact = model.centers is None or (
            isinstance(model.centers, str) and samples.n_given <= EXACT_UP_TO
        )
        smooth = UNLABELED_WEIGHTS if is_exact else UNLABELED_WEIGHTS[:1]
        uses = [*(Smooth(weight, **shared) for weight in smooth), Spread(**shared)]
        weights = checked_weights(sample_weight, samples.n_given)
        others = np.flatnonzero((encoded(y, own.marker)[1] < 0) & (weights > 0))
        if len(others) > MOST_UNLABELED:
            others = np.sort(np.random.default_rng(0).permutation(others)[:MOST_UNLABELED])
        rows = stacked([samples.X, Source.of(X).take(others)])
        return cls(uses, model, table, rows, np.concatenate([samples.weights, weights[others]]))

    def scores(self, candidate: Any, split: int) -> Floats:
        """By the model that has the labels of the training samples alone."""
        (train, held), samples = self.table.splits[split], self.table.samples
        known = np.full(self.X.shape[0], -1)
        known[train] = samples.codes[train]
        own = clone(candidate).set_params(marker=-1)
        settings = {"unlabeled": own, "augment": None, "class_weight": None, "centers": None}
        fitted = clone(self.model).set_params(**settings).fit(self.X, known, self.weights)
        S = np.zeros((len(held), len(samples.classes)))
        S[:, fitted.classes_] = fitted.scores_.values(fitted.map_(self.X[held]))
        return S
