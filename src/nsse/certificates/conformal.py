"""Sets of labels that hold the true one with a given chance: split-conformal prediction.

How strange a label c is for x, is by how much the best of the others leads it,
a_c(x) = max_{j≠c} s_j − s_c, s a decision function. Of n samples that the model has not seen, with their
own labels, let q be the ⌈(n + 1)(1 − α)⌉-th smallest a. Then {c: a_c(x) ≤ q} holds the label of one more
such sample with a chance of at least 1 − α, whatever the model and the samples are (Vovk et al. 2005);
with a q from the samples of every class, so it does within each class.

If x was moved by less than r before it was seen, by anyone and anywhere, the differences of affine
scores were moved by no more than b_jc(r) = ‖(w_j − w_c)'f‖ √(2 − 2 exp(−r²/σ²)) (``radii``): the set
{c: max_{j≠c} (s_j − s_c − b_jc(r)) ≤ q} holds whatever {c: a_c ≤ q} held before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse.certificates.decisions import decision_of
from nsse.certificates.function_space import EPS, FunctionSpace
from nsse.certificates.models import expansion_of, map_at
from nsse.certificates.radii import Certificate
from nsse.extensions import leads
from nsse.kernels import row_products

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def strangeness(scores: Floats) -> Floats:
    """a of every class: the largest score of the others less its own."""
    return -leads(scores)


def threshold(values: Floats, alpha: float) -> float:
    """q: the ⌈(n + 1)(1 − α)⌉-th smallest value; infinite where there are not so many."""
    rank = _rank(len(values), alpha)
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else np.inf


def _rank(n: int, alpha: float) -> int:
    return int(np.ceil((n + 1) * (1.0 - alpha) - 1e-9))


def thresholds(strange: Floats, codes: Ints, alpha: float, per_class: bool) -> Floats:
    """q for every class, the same or its own, from the strangeness of own labels."""
    n_classes = strange.shape[1]
    own = strange[np.arange(len(codes)), codes]
    if not per_class:
        return np.full(n_classes, threshold(own, alpha))
    return np.array([threshold(own[codes == c], alpha) for c in range(n_classes)])


def sets_by_the_others(
    strange: Floats, codes: Ints, fair: NDArray[np.bool_], alpha: float
) -> tuple[NDArray[np.bool_], float]:
    """Sets for samples by what all the others tell, and q for one that is not among them.

    The model being what it is, samples that it has not seen are exchangeable: the set of each, with a q
    from all the others, holds its label with a chance of at least 1 − α.

    Parameters
    ----------
    strange : ndarray of shape (n_samples, n_classes)
        a of every class.
    codes : ndarray of shape (n_samples,)
        Their labels; any number where a sample is not `fair`.
    fair : ndarray of bool, shape (n_samples,)
        Which samples tell: those unseen by the model, with a label that it knows.
    alpha : float
        α.
    """
    places = np.flatnonzero(fair)
    own = strange[places, codes[places]]
    q = np.full(len(strange), threshold(own, alpha))
    if len(own):
        rank, values = _rank(len(own) - 1, alpha), np.append(np.sort(own), np.inf)
        at, after = values[min(rank - 1, len(own))], values[min(rank, len(own))]
        # Without one that is not above the rank-th smallest, the next one has that rank.
        q[places] = np.where(own <= at, after, at)
    return np.asarray(strange <= q[:, np.newaxis]), threshold(own, alpha)


def class_scores(model: Any, X: Any) -> Floats:
    """A column for each class; of the one column of two classes, half of it on either side."""
    return as_scores(model.decision_function(X))


def as_scores(margins: Any) -> Floats:
    """A decision function with a column for each class."""
    values = np.asarray(margins, dtype=np.float64)
    return np.c_[-values / 2, values / 2] if values.ndim == 1 else values


def least_strangeness(model: Any, X: Any, radius: float) -> Floats:
    """No more than a of every class anywhere within ``radius``, in the units of ``X``."""
    space, decision = FunctionSpace.of(expansion_of(model)), decision_of(model)
    n_classes = len(decision.classes)
    if decision.by_distance or not np.array_equal(decision.codes, np.arange(n_classes)):
        raise rule_error(
            "model",
            "read labels by one affine score for each class where samples may have been moved",
            model.classifier_,
            'Take classifier="scores" or a linear one, or radius=0.',
        )
    values, dtype = map_at(model, X)
    scores = row_products(values, decision.weights.T) + decision.offsets
    metric = space.expansion.metric
    moved = radius * (1.0 if metric is None else metric.norm) * (1.0 + 8 * EPS)
    lengths = np.sqrt(-2.0 * np.expm1(-((moved / space.sigma) ** 2))) * (1.0 + 8 * EPS)
    images = decision.weights @ space.factor
    doubt = Certificate(space, decision).doubt(dtype)
    least = np.empty_like(scores)
    for c in range(n_classes):
        norms = np.linalg.norm(images - images[c], axis=1) * (1.0 + 64 * EPS)
        lead = scores - scores[:, c : c + 1] - norms * lengths - doubt
        lead[:, c] = -np.inf
        least[:, c] = lead.max(axis=1)
    return least
