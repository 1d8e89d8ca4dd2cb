"""What the points of a search are compared by: losses of held-out samples.

`SquaredError` is the squared error of the scores at their best amplitude, min over a of
Σ ‖a (s − π) − (e − π)‖²: a handful of labels cannot tell points apart, their scores can, and a smooth
map, whose scores are small, is not worse for that. Many labels can: every wrong one adds N/40 to it, N
the number of samples. `Scored` is any scorer of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from nsse._support.types import LabelsLike, SamplesLike
from nsse.scores import as_decision
from nsse.smooth import SmoothEmbedding

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Samples whose labels say as much as the squared errors of their scores.
FEW_LABELS = 40
# Of probabilities while points are compared by a scorer that asks for them.
USUAL_TEMPERATURE = 0.1


@dataclass
class SquaredError:
    """Squared errors of held-out samples at the best amplitude of the scores, of points on splits.

    With z = s − π and t = e − π, ‖az − t‖² = a²‖z‖² − 2a z't + ‖t‖²: ``squares``, ``products`` and
    ``targets`` are these, sample after sample, split after split, and a of a point minimises their sum.
    ``wrong`` labels add ``price`` each.
    """

    squares: NDArray[np.float32]
    products: NDArray[np.float32]
    wrong: NDArray[np.float32]
    targets: NDArray[np.float32]
    weights: Floats
    ends: list[int]
    n_samples: int
    price: float

    @classmethod
    def of(cls, shape: tuple[int, ...], samples: Any, splits: Sequence[tuple[Ints, Ints]]) -> Self:
        """Nothing recorded yet."""
        ends = np.cumsum([0, *(len(held) for _, held in splits)]).tolist()
        squares, products, wrong = np.zeros((3, *shape, ends[-1]), dtype=np.float32)
        held = np.concatenate([np.empty(0, dtype=np.intp), *(held for _, held in splits)])
        targets = np.zeros(ends[-1], dtype=np.float32)
        weights, n = samples.weights[held], len(samples.codes)
        return cls(squares, products, wrong, targets, weights, ends, n, n / FEW_LABELS)

    def record(self, at: tuple[int, ...], split: int, fold: Any, S: Floats) -> None:
        """Keep what the scores S of the held-out samples of a split have of error."""
        here, rows, shares = slice(*self.ends[split : split + 2]), np.arange(len(S)), fold.shares
        Z = S - shares
        self.squares[at][here] = np.einsum("ij,ij->i", Z, Z)
        self.products[at][here] = Z[rows, fold.held_codes] - Z @ shares
        self.wrong[at][here] = S.argmax(axis=1) != fold.held_codes
        self.targets[here] = 1.0 - 2.0 * shares[fold.held_codes] + shares @ shares

    def losses(self, which: Any, n_splits: int) -> Losses:
        """Of some points on the first splits."""
        here = slice(0, self.ends[n_splits])
        w = self.weights[here] / self.weights[here].sum()
        squares, products = self.squares[which][..., here], self.products[which][..., here]
        a = np.maximum((products @ w) / np.maximum(squares @ w, 1e-30), 0.0)[..., np.newaxis]
        values = a * (a * squares - 2.0 * products) + self.targets[here]
        values += self.price * self.wrong[which][..., here]
        return Losses(values, w, min(self.n_samples, self.ends[n_splits]))


@dataclass
class Scored:
    """What a scorer of scikit-learn gives, of points on splits."""

    scorer: Any
    values: Floats

    @classmethod
    def of(cls, scorer: Any, shape: tuple[int, ...], n_splits: int) -> Scored:
        """Nothing recorded yet."""
        return cls(scorer, np.zeros((*shape, n_splits)))

    def record(self, at: tuple[int, ...], split: int, fold: Any, S: Floats) -> None:
        """Keep minus the score of the scores S of the held-out samples of a split."""
        classes = fold.train.classes
        self.values[at][split] = -self.scorer(Told(classes, S), fold.held, classes[fold.held_codes])

    def losses(self, which: Any, n_splits: int) -> Losses:
        """Of some points on the first splits."""
        values = self.values[which][..., :n_splits]
        return Losses(values, np.full(n_splits, 1.0 / n_splits), n_splits)


@dataclass(frozen=True)
class Losses:
    """Losses of points, one for every held-out sample or split; ``number`` are independent."""

    values: NDArray[Any]
    weights: Floats
    number: int

    def bounds(self, other: NDArray[Any], times: float) -> Floats:
        """Mean difference to other losses, sample by sample, plus so many standard errors."""
        difference = self.values - other
        mean = difference @ self.weights
        spread = np.square(difference - mean[..., np.newaxis]) @ self.weights
        return np.asarray(mean + times * np.sqrt(spread / max(self.number, 1)))


@dataclass(frozen=True)
class Told:
    """Scores of held-out samples as a scorer of scikit-learn asks for them."""

    classes_: NDArray[Any]
    values: Floats

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        return SmoothEmbedding().__sklearn_tags__()

    def fit(self, X: SamplesLike, y: LabelsLike) -> Self:
        """Nothing is learned."""
        return self

    def predict(self, X: SamplesLike) -> NDArray[Any]:
        """Labels."""
        return np.asarray(self.classes_[self.values.argmax(axis=1)])

    def decision_function(self, X: SamplesLike) -> Floats:
        """Scores."""
        return as_decision(self.values)

    def predict_proba(self, X: SamplesLike) -> Floats:
        """Probabilities at a usual temperature: the best one belongs to the model that is fitted."""
        return np.asarray(softmax(self.values / USUAL_TEMPERATURE, axis=1))
