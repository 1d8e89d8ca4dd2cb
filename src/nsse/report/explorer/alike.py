"""Find the training samples of the same class that are most similar to a sample, in the input space.

If a class has collapsed to a point, distances in the embedding rank its samples by rounding. The
distances of the kernel, ‖A(x − x_i)‖ with the metric A of the map, still distinguish them. For an
ensemble, A is the metric of its first member without augmented samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from nsse.report.explorer.models import Findings

# Number of samples in the list of each sample. It is smaller if a class is smaller.
ALIKE = 8
# Marks an empty place of a list.
NOBODY = 2**32 - 1
# Up to this number of multiplications the lists are computed.
MOST_WORK = 2e11


def alike_in_class(findings: Findings) -> NDArray[np.uint32] | None:
    """Return the nearest training samples of its class for every training and every other sample.

    Returns
    -------
    ndarray of shape (n_training + n_others, ALIKE) or None
        Places of training samples, nearest first. None if the model does not store its samples, or if
        the computation would take long.
    """
    if not findings.per_sample:
        return None
    f, own = findings.rows, findings.train.codes
    codes = np.concatenate([own, findings.test.predicted])
    sizes = np.bincount(own, minlength=int(codes.max()) + 1)
    if float(sizes[codes].sum()) * f.centers.shape[1] > MOST_WORK:
        return None
    train = f.centers[:: findings.per_sample]
    others = None if findings.behind is None else f.metric(findings.behind)
    found = np.full((len(codes), ALIKE), NOBODY, dtype=np.uint32)
    for code in np.unique(own):
        members = np.flatnonzero(own == code)
        nearest = NearestNeighbors(algorithm="brute").fit(train[members])
        # A sample is its own neighbor, so one more is computed, and the sample is left out.
        near = nearest.kneighbors(train[members], min(ALIKE + 1, len(members)), return_distance=False)
        for member, row in zip(members, members[near], strict=True):
            others_of = row[row != member][:ALIKE]
            found[member, : len(others_of)] = others_of
        rows = np.flatnonzero(findings.test.predicted == code)
        if others is not None and len(rows):
            near = nearest.kneighbors(others[rows], min(ALIKE, len(members)), return_distance=False)
            found[len(own) + rows, : near.shape[1]] = members[near]
    return found
