"""How many times samples count in a search: when they train, and when they judge.

Splits are drawn among samples, whatever they weigh: one that counts w times is held out as a whole. So
the search is that of repeated rows on splits which keep the copies of a row together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._weights import with_classes

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Counted:
    """Weights of the samples of a search.

    Attributes
    ----------
    classes : ndarray
        Labels, in the order of their codes.
    weights : ndarray of shape (n_samples,) or None
        As the user gives them, none zero; None counts each once.
    class_weight : None, "balanced" or dict
        Of all fits, by the samples that train.
    judging : ndarray of shape (n_samples,) or None
        How many times each counts where it is held out.
    """

    classes: Any = None
    weights: Floats | None = None
    class_weight: Any = None
    judging: Floats | None = None

    @classmethod
    def of(cls, y: NDArray[Any], weights: Floats | None, trains: Any, judges: Any) -> Counted:
        """Of samples with labels; class weights count where samples train, and where they judge."""
        classes, codes = np.unique(y, return_inverse=True)
        judging = with_classes(weights, judges, classes, codes.astype(np.intp))
        return cls(classes, weights, trains, judging)

    def training(self, places: Ints, codes: Ints) -> Floats | None:
        """Of samples that train, with the codes of their classes, some of which may be missing."""
        weights = None if self.weights is None else self.weights[places]
        if self.class_weight is None:
            return weights
        present, consecutive = np.unique(codes, return_inverse=True)
        known = self.classes[present]
        chosen = self.class_weight
        if isinstance(chosen, Mapping):
            chosen = {label: weight for label, weight in chosen.items() if label in known.tolist()}
        return with_classes(weights, chosen, known, consecutive.astype(np.intp))


ONCE = Counted()


def as_argument(weights: Floats | None) -> dict[str, Any]:
    """Of a `fit` or a scorer: nothing where there are none, for not all of them know weights."""
    return {} if weights is None else {"sample_weight": weights}


def without(splits: Sequence[tuple[Ints, Ints]], kept: Ints, n_samples: int) -> list[tuple[Ints, Ints]]:
    """Splits of samples as splits of those of them that are kept, which count from 0 again."""
    place = np.full(n_samples, -1, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    return [(_left(place[train]), _left(place[valid])) for train, valid in splits]


def _left(places: Ints) -> Ints:
    return np.asarray(places[places >= 0])
