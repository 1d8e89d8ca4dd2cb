"""What a search tries beside the parameters of a kernel: augmentations, and uses of unlabelled samples.

Each is compared on a few splits with none at all, by the squared errors of the scores of held-out
samples, and taken where it is clearly better. The best augmentation goes on where it is not clearly
worse: a search with it follows, and its best model is compared with the best one without. A `Trial` has
candidates, the first of which is none, and gives the scores of a candidate on a split. Labels that
spread, the last use of unlabelled samples, are taken where they are clearly better than none, unless
another use is clearly better than they are: squared errors of scores that are all 0 or 1 are large
beside those of graded ones with as many mistakes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nsse._support.types import LabelsLike, SamplesLike, WeightsLike
from nsse.centers import EXACT_UP_TO
from nsse.labels import checked_weights, encoded
from nsse.rows import Rows
from nsse.smooth import SmoothEmbedding
from nsse.sources import Source, stacked
from nsse.unlabeled import GraphPenalty, LabelPropagation, in_the_middle

Floats = NDArray[np.float64]

# Weights of the smoothness of unlabelled samples, and how many of these, at most, help to choose one.
UNLABELED_WEIGHTS, MOST_UNLABELED = (0.0, 1.0, 10.0, 100.0), 1500
# Unlabelled samples in the graph that serves all splits, at most: its time is quadratic in them.
MOST_IN_GRAPH = 100_000


@dataclass(frozen=True)
class Trial(ABC):
    """Candidates, compared on a few splits of a table."""

    what: ClassVar[str]
    usual: ClassVar[int] = 0
    price: ClassVar[float] = 1.0
    candidates: Sequence[Any]
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
        """The best candidate after so many steps.

        None unless another is better by some standard errors; if the usual one is, it, unless another
        is better than that one by as many.
        """
        n_splits = n_steps // len(self.candidates)
        if n_splits == 0:
            return self.candidates[0]
        losses = error.losses(slice(None), n_splits)
        bounds = losses.bounds(losses.values[0], times)
        if bounds[self.usual] < 0.0:
            bounds = losses.bounds(losses.values[self.usual], times)
        return self.candidates[int(bounds.argmin())]


@dataclass(frozen=True)
class AugmentTrial(Trial):
    """Models with and without augmented training samples, the first without if one of them is."""

    what = "Comparing augmentations"

    def scores(self, candidate: SmoothEmbedding, split: int) -> Floats:
        """By the model with augmented training samples, all of them."""
        return np.asarray(self.table.fold(split, candidate.augment).values(candidate))


@dataclass(frozen=True)
class FirstAugmentTrial(AugmentTrial):
    """One model with several augmentations; parameters are compared again with the best of them."""

    price = 0.25  # few labels are wrong with augmented samples, and these tell less

    @classmethod
    def of(cls, augmentations: Sequence[Any], model: SmoothEmbedding, table: Any) -> Self:
        """Of these augmentations."""
        ordered = sorted(augmentations, key=lambda augment: augment is not None)
        return cls([clone(model).set_params(augment=augment) for augment in ordered], table)

    def best(self, error: Any, n_steps: int, times: float) -> Any:
        """The best augmentation after so many steps; none where it is worse than none by so many errors.

        What is best without augmentation is not best with it.
        """
        n_splits, has_none = n_steps // len(self.candidates), self.candidates[0].augment is None
        if n_splits == 0 or len(self.candidates) == has_none:
            return self.candidates[0]
        losses = error.losses(slice(None), n_splits)
        place = has_none + int(losses.bounds(losses.values[0], times)[has_none:].argmin())
        is_worse = has_none and losses.bounds(losses.values[0], -times)[place] > 0.0
        return self.candidates[0 if is_worse else place]


@dataclass(frozen=True)
class UnlabeledTrial(Trial):
    """Uses of unlabelled samples: none, smooth with several weights, spread.

    Fewer centres than samples cannot follow the graph that scores are to be smooth on: there labels
    spread or are not used. And a graph of a part of many samples is worse than that of all of them, so
    that there labels spread along the Euclidean graph of all, too: it knows no label, and serves every
    split.

    ``X`` are the compared samples, and behind them those without a label; ``weights`` are of the first
    ones, which models are fitted to.
    """

    what = "Comparing uses of unlabelled samples"
    usual = -1
    price = 0.0  # where labels spread, scores are labels: squared errors count the wrong ones already
    model: SmoothEmbedding
    X: SamplesLike
    weights: Floats

    @classmethod
    def of(
        cls,
        model: SmoothEmbedding,
        table: Any,
        X: SamplesLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
    ) -> Self:
        """With some of the samples that have no label."""
        own, samples = model.unlabeled, table.samples
        shared = {"marker": own.marker, "n_neighbors": own.n_neighbors}
        is_small = isinstance(model.centers, str) and samples.n_given <= EXACT_UP_TO
        is_exact = model.centers is None or is_small
        smooth = UNLABELED_WEIGHTS if is_exact else UNLABELED_WEIGHTS[:1]
        uses = [*(GraphPenalty(weight, **shared) for weight in smooth), LabelPropagation(**shared)]
        weights = checked_weights(sample_weight, samples.n_given)
        others, more = np.flatnonzero((encoded(y, own.marker)[1] < 0) & (weights > 0)), []
        if len(others) > MOST_UNLABELED:
            drawn = np.random.default_rng(0).permutation(others)
            others = np.sort(drawn[:MOST_UNLABELED])
            if not is_exact:
                more = [Source.of(X).take(np.sort(drawn[MOST_UNLABELED:MOST_IN_GRAPH]))]
                uses.append(LabelPropagation(**shared, metric="euclidean"))
        rows = stacked([samples.X, Source.of(X).take(others), *more])
        return cls(uses, table, model, rows, np.concatenate([samples.weights, weights[others]]))

    @cached_property
    def whole(self) -> tuple[NDArray[np.intp], Callable[..., Any]]:
        """Places of the compared samples in the Euclidean graph of all rows, and this graph."""
        codes = self.table.samples.codes
        known = np.pad(codes, (0, self.X.shape[0] - len(codes)), constant_values=-1)
        rows = Rows.of(Source.of(self.X), known, None, None, -1)
        return rows.given, self.candidates[-1].along(in_the_middle(rows.held()))

    def scores(self, candidate: Any, split: int) -> Floats:
        """By the model that has the labels of the training samples alone, or by their labels spread."""
        (train, held), samples = self.table.splits[split], self.table.samples
        if getattr(candidate, "metric", "model") == "euclidean":
            places, along = self.whole
            classes, codes = np.unique(samples.codes[train], return_inverse=True)
            found = classes[along(places[train], codes, len(classes))[places[held]]]
            return np.eye(len(samples.classes))[found]
        X, known = self.X[: len(self.weights)], np.full(len(self.weights), -1)
        known[train] = samples.codes[train]
        own = clone(candidate).set_params(marker=-1)
        settings = {"unlabeled": own, "augment": None, "class_weight": None, "centers": None}
        fitted = clone(self.model).set_params(**settings).fit(X, known, self.weights)
        S = np.zeros((len(held), len(samples.classes)))
        S[:, fitted.classes_] = fitted.scores_.values(fitted.map_(X[held]))
        return S
