"""Training samples that are most alike a sample, within its class: by distances of samples, not of f.

Where a class has collapsed to a point, distances in the embedding rank its samples by rounding. What the
kernel measures, ‖A(x − x_i)‖ with the metric A of the model if it has one, still tells them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from nsse.certificates.models import centers_of_samples

Codes = NDArray[np.intp]

# How many are told of every sample; fewer where a class is smaller.
ALIKE = 8
# Stands for a place that is not taken.
NOBODY = 2**32 - 1
# Multiplications that a page is worth.
MOST_WORK = 2e11


def alike_in_class(core: Any, Z: Any, own: Codes, new: Codes) -> NDArray[np.uint32] | None:
    """Training samples nearest to every training sample and every row of ``Z``, in its class.

    Parameters
    ----------
    core : estimator
        Its ``centers_`` are its training samples, and copies of them if it has any.
    Z : array or None
        Other samples, as the model takes them.
    own, new : ndarray of int
        The class of every training sample, and the one in which to look for every other.

    Returns
    -------
    ndarray of shape (n_training + n_others, ALIKE) or None
        Places of training samples, nearest first; None where it would take long.
    """
    codes = np.concatenate([own, new])
    sizes = np.bincount(own, minlength=int(codes.max()) + 1)
    if float(sizes[codes].sum()) * core.n_features_in_ > MOST_WORK:
        return None
    train = _as_measured(core, centers_of_samples(core))
    others = None if Z is None else _as_measured(core, Z)
    found = np.full((len(codes), ALIKE), NOBODY, dtype=np.uint32)
    for code in np.unique(own):
        members = np.flatnonzero(own == code)
        nearest = NearestNeighbors(algorithm="brute").fit(train[members])
        # A sample is its own neighbour: one more is asked for, and it is left out.
        near = nearest.kneighbors(train[members], min(ALIKE + 1, len(members)), return_distance=False)
        for member, row in zip(members, members[near], strict=True):
            _keep(found[member], row[row != member])
        rows = np.flatnonzero(new == code)
        if others is not None and len(rows):
            near = nearest.kneighbors(others[rows], min(ALIKE, len(members)), return_distance=False)
            for row, best in zip(rows, members[near], strict=True):
                _keep(found[len(own) + row], best)
    return found


def _keep(row: NDArray[np.uint32], places: Codes) -> None:
    kept = places[:ALIKE]
    row[: len(kept)] = kept


def _as_measured(core: Any, X: Any) -> Any:
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    metric = getattr(getattr(core, "expansion_", None), "metric", None)
    return rows if metric is None else metric(rows)
