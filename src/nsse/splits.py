"""Split few labeled samples, or groups of them, at random for training and validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import check_random_state

from nsse._support.types import Ints, LabelsLike, SamplesLike

__all__ = ["BalancedSplits", "GroupedSplits"]


@dataclass
class BalancedSplits:
    """Hold out the same share of every class at random, and every sample equally often.

    The samples of each class are shuffled, given to one validation set after another, and shuffled again
    when all of them have been used. Scores vary less than with independent draws. At least one sample of
    a class is held out, and at least one is in the training part. If a class has only one sample, it is
    always in the training part.

    Parameters
    ----------
    n_repeats : int
        Number of splits.
    validation_fraction : float
        Share of every class that is held out, rounded, within the limits above.
    random_state : int, RandomState instance or None
        Shuffles the decks.

    See Also
    --------
    nsse.SmoothEmbeddingCV : Validates on such splits.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.splits import BalancedSplits
    >>> y = np.repeat([0, 1], 5)
    >>> [len(held) for _, held in BalancedSplits(3, 0.2, 0).split(y[:, None], y)]
    [2, 2, 2]
    """

    n_repeats: int
    validation_fraction: float
    random_state: Any = None

    def get_n_splits(self, X: SamplesLike = None, y: LabelsLike = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_repeats

    def split(self, X: SamplesLike, y: LabelsLike, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield ascending indices of training and validation samples, one pair per split."""
        rng = check_random_state(self.random_state)
        labels = np.asarray(y)
        decks = [_Deck(np.flatnonzero(labels == label), rng) for label in np.unique(labels)]
        for _ in range(self.n_repeats):
            held_out = np.zeros(len(labels), dtype=bool)
            for deck in decks:
                size = len(deck.members)
                n_held_out = min(max(1, round(self.validation_fraction * size)), size - 1)
                held_out[deck.deal(n_held_out)] = True
            yield np.flatnonzero(~held_out), np.flatnonzero(held_out)


@dataclass
class GroupedSplits:
    """Hold out whole groups of samples at random, with about the same share of every class.

    The splits are folds of scikit-learn's `StratifiedGroupKFold`, shuffled again for every pass.

    Parameters
    ----------
    n_repeats : int
        Number of splits.
    validation_fraction : float
        Approximate share of the samples that is held out.
    random_state : int, RandomState instance or None
        Shuffles the groups.

    See Also
    --------
    BalancedSplits : Splits without groups.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.splits import GroupedSplits
    >>> y, groups = np.repeat([0, 1], 6), np.arange(12) // 2
    >>> splits = GroupedSplits(2, 1 / 3, 0).split(y[:, None], y, groups)
    >>> [len(held) - 2 * len(set(groups[held])) for _, held in splits]  # both samples of every group
    [0, 0]
    """

    n_repeats: int
    validation_fraction: float
    random_state: Any = None

    def get_n_splits(self, X: SamplesLike = None, y: LabelsLike = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_repeats

    def split(self, X: SamplesLike, y: LabelsLike, groups: Any) -> Iterator[tuple[Ints, Ints]]:
        """Yield ascending indices of training and validation samples, one pair per split."""
        rng, n_groups = check_random_state(self.random_state), len(np.unique(groups))
        n_folds = min(max(2, round(1.0 / self.validation_fraction)), n_groups)
        for start in range(0, self.n_repeats, n_folds):
            folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=rng.randint(2**31 - 1))
            yield from islice(folds.split(X, y, groups), self.n_repeats - start)


@dataclass
class _Deck:
    """Samples of a class, dealt without repetition until all have been."""

    members: Ints
    rng: np.random.RandomState
    left: list[int] = field(default_factory=list)

    def deal(self, number: int) -> list[int]:
        hand: list[int] = []
        while len(hand) < number:
            if not self.left:
                # Samples that are in the hand go to the bottom, so that no hand has a sample twice.
                shuffled = [int(i) for i in self.rng.permutation(self.members)]
                self.left = [i for i in shuffled if i not in hand]
                self.left += [i for i in shuffled if i in hand]
            hand.append(self.left.pop(0))
        return hand
