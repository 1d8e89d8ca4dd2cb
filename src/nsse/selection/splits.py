"""Repeated random splits of few labelled samples into training and validation samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from nsse._errors import rule_error
from nsse.estimators._parameters import check_count, check_number

Ints = NDArray[np.intp]

FRACTION_CURE = "0.15 holds out one sample of seven."


class BalancedSplits:
    """Random splits that hold out the same share of every class, and every sample equally often.

    Each class is dealt like a deck of cards: shuffled, dealt out to one validation set after another,
    and shuffled again when it is used up. That varies less than independent draws. At least one sample
    of a class is held out and at least one is kept; the only sample of a class is always kept, so its
    class is trained but never validated.

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
    nsse.NSSECV : Validates on such splits.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.selection import BalancedSplits
    >>> y = np.repeat([0, 1], 5)
    >>> [len(held) for _, held in BalancedSplits(3, 0.2, 0).split(y[:, None], y)]
    [2, 2, 2]
    """

    def __init__(self, n_repeats: int, validation_fraction: float, random_state: Any = None) -> None:
        self.n_repeats = n_repeats
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits."""
        return self.n_repeats

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Indices of training and validation samples, ascending, one pair per split."""
        rng = check_random_state(self.random_state)
        labels = np.asarray(y)
        decks = [_Deck(np.flatnonzero(labels == label), rng) for label in np.unique(labels)]
        for _ in range(self.n_repeats):
            held_out = np.zeros(len(labels), dtype=bool)
            for deck in decks:
                held_out[deck.deal(self._n_held_out(deck.size))] = True
            yield np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def _n_held_out(self, size: int) -> int:
        wanted = max(1, round(self.validation_fraction * size))
        return min(wanted, size - 1)


class _Deck:
    """Samples of a class, dealt without repetition until all have been."""

    def __init__(self, members: Ints, rng: np.random.RandomState) -> None:
        self._members, self._rng = members, rng
        self._left: list[int] = []

    @property
    def size(self) -> int:
        return len(self._members)

    def deal(self, number: int) -> list[int]:
        hand: list[int] = []
        while len(hand) < number:
            if not self._left:
                # What is in the hand already goes to the bottom: no sample twice in one hand.
                shuffled = [int(i) for i in self._rng.permutation(self._members)]
                self._left = [i for i in shuffled if i not in hand]
                self._left += [i for i in shuffled if i in hand]
            hand.append(self._left.pop(0))
        return hand


def drawn_splits(
    model: Any, X: Any, y: NDArray[Any], usual_repeats: int, usual_fraction: float
) -> list[tuple[Any, Any]]:
    """The splits that the parameters of an `NSSECV` ask for; what they leave open is as usual."""
    if model.cv is not None:
        splits = list(check_cv(model.cv, y, classifier=True).split(X, y))
        return checked_splits(splits, len(y))
    repeats = usual_repeats if model.n_repeats is None else model.n_repeats
    share = usual_fraction if model.validation_fraction is None else model.validation_fraction
    n_repeats = check_count("n_repeats", repeats, cure="20 is a fair number.")
    fraction = check_number("validation_fraction", share, cure=FRACTION_CURE)
    if fraction >= 1:
        raise rule_error(
            "validation_fraction", "be less than 1", model.validation_fraction, FRACTION_CURE
        )
    warn_about_singles(y)
    return list(BalancedSplits(n_repeats, fraction, model.random_state).split(X, y))


def checked_splits(splits: list[tuple[Any, Any]], n_samples: int) -> list[tuple[Any, Any]]:
    """Splits as indices, whichever form they came in."""
    indices = [(_indices(train, n_samples), _indices(valid, n_samples)) for train, valid in splits]
    if not indices or any(len(train) == 0 or len(valid) == 0 for train, valid in indices):
        sizes = [(len(train), len(valid)) for train, valid in indices]
        raise rule_error(
            "cv",
            "give splits with samples to train and samples to validate",
            sizes,
            "Leave it None for random splits.",
        )
    return indices


def _indices(chosen: Any, n_samples: int) -> NDArray[np.intp]:
    return np.arange(n_samples)[np.asarray(chosen) if len(chosen) else np.empty(0, dtype=np.intp)]


def warn_about_singles(y: NDArray[Any]) -> None:
    """Say which classes are never held out, to the one who called ``fit``."""
    classes, sizes = np.unique(y, return_counts=True)
    singles = classes[sizes == 1].tolist()
    if len(singles) == len(classes):
        raise rule_error(
            "y",
            "have a class with at least 2 samples",
            "one sample in every class",
            "There is nothing to hold out; fit NSSE with parameters of your choice.",
        )
    if singles:
        warnings.warn(
            f"Classes {singles} have a single sample each: it is in every training set and never "
            "held out, so that these classes do not take part in the choice of parameters.",
            UserWarning,
            stacklevel=6,
        )
