"""Probabilities of the samples of a report, how far they can be relied on, and sets of labels.

Nothing here is measured on samples that the model has learned from: of those that a report shows, all
count that have a label which the model knows and are no centres of its map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.certificates import Answers
from nsse.certificates.conformal import as_scores, sets_by_the_others, strangeness
from nsse.certificates.reliability import EDGES, Bin, log_loss, reliability_curve

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Bools = NDArray[np.bool_]

# How often a set of labels may lack the true one.
ALPHA = 0.1
# With fewer samples to learn from, sets that hold nine labels in ten hold all of them.
LEAST = 9


@dataclass(frozen=True)
class Sets:
    """Labels (samples × classes) at 1 − α, each by the other samples; q and how many it comes from.

    ``coverage`` and ``size`` are the share of those samples whose set holds their label, and the mean
    number of labels in a set.
    """

    members: Bools
    threshold: float
    n_samples: int
    coverage: float
    size: float


@dataclass(frozen=True)
class TestChances:
    """What is known of the samples of a report beyond their labels.

    ``probabilities`` is None where the classifier gives 0 and 1 alone; ``curve``, with ``log_loss`` over
    ``n_samples``, is empty where no unseen sample has a label; ``sets`` is None for the same reason or
    for one that ``no_sets`` tells.
    """

    __test__ = False  # pytest takes the name for a test

    probabilities: Floats | None
    curve: tuple[Bin, ...] = ()
    log_loss: float = 0.0
    n_samples: int = 0
    sets: Sets | None = None
    no_sets: str = ""


NO_CHANCES = TestChances(None, no_sets="No samples came with the model.")


def find_chances(judge: Any, said: Answers, codes: Codes, seen: Bools) -> TestChances:
    """Of samples of which a model has said this; ``codes`` are those of their labels, −1 if unknown."""
    P = said.probabilities
    fair = (codes >= 0) & (codes < len(judge.classes_)) & ~seen
    sets, no_sets = _sets(said, codes, fair)
    if P is None or not fair.any():
        return TestChances(P, sets=sets, no_sets=no_sets)
    right = said.label[fair] == judge.classes_[codes[fair]]
    curve = reliability_curve(P[fair].max(axis=1), right, EDGES)
    loss = log_loss(P[fair], codes[fair])
    return TestChances(P, tuple(curve), loss, int(fair.sum()), sets, no_sets)


def _sets(said: Answers, codes: Codes, fair: Bools) -> tuple[Sets | None, str]:
    n = int(fair.sum())
    if n < LEAST:
        return None, f"They need {LEAST} labelled samples that the model has not seen; here are {n}."
    if said.margins is None:
        return None, "The classifier says no more than a label."
    strange = strangeness(as_scores(said.margins()))
    members, q = sets_by_the_others(strange, codes, fair, ALPHA)
    held = members[fair, codes[fair]]
    return Sets(members, q, n, float(held.mean()), float(members[fair].sum(axis=1).mean())), ""
