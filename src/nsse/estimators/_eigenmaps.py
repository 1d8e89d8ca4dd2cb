"""What the methods share whose embedding is a Laplacian eigenmap."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.estimators._parameters import check_n_components
from nsse.estimators._warnings import DegenerateEmbeddingWarning
from nsse.graphs import degrees
from nsse.solvers import Eigenmap, fix_signs

Floats = NDArray[np.float64]

SMALLEST_GAP = 1e-10
SMALLEST_DEGREE = 1e-200  # its square root and inverse are far from over- and underflow


def check_eigenmap_components(value: Any, n_samples: int, n_classes: int) -> int:
    """d: from 1 to N − 1, the trivial coordinate being left out; None means n_classes − 1."""
    d = check_n_components(value, n_samples, n_classes)
    if d == n_samples:
        raise rule_error(
            "n_components",
            f"be smaller than the number of training samples, {n_samples}",
            d,
            f"Lower it; None takes n_classes - 1 = {n_classes - 1}.",
        )
    return d


def check_no_sample_alone(W: Any, beta: float | None) -> None:
    """Refuse a graph in which a sample has no neighbour: its coordinate would be 0/0."""
    alone = int(np.sum(degrees(W) <= SMALLEST_DEGREE))
    if alone:
        raise rule_error(
            "beta",
            "be large enough for every sample to have a neighbour of positive weight",
            beta,
            f"Raise it: samples without any: {alone}.",
        )


def unsupervised_signs(Y: Floats) -> Floats:
    """The signs of our rule, for embeddings that must not look at labels: one class."""
    return fix_signs(Y, np.zeros(len(Y), dtype=np.intp))


def warn_if_degenerate(eigenmap: Eigenmap, advice: str) -> None:
    """Say so where the coordinates are not determined by the problem."""
    if eigenmap.gap <= SMALLEST_GAP:
        d = len(eigenmap.eigenvalues)
        warnings.warn(
            f"The embedding in {d} dimensions is one of many that are equally good: eigenvalues {d} and "
            f"{d + 1} of its graph agree. {advice}",
            DegenerateEmbeddingWarning,
            stacklevel=5,  # the line that called `fit`: up from here, `_learn`, `fit` and its decorator
        )
