"""Exact radii of classifiers whose regions are polyhedra: the nearest neighbor, and linear classifiers.

The label of x by its nearest neighbor is c. It changes in the cells of the other training samples: in
that of sample j, which is closer there than all samples i of class c,

    2 (z_j − z_i)'δ ≥ ‖x − z_j‖² − ‖x − z_i‖²    for all i of class c.

The radius is the smallest distance to such a region over all j. Each is a least distance problem, which
non-negative least squares solve (Lawson and Hanson 1974, Chapter 23). The distance to one half space is
a lower bound. Regions whose largest lower bound exceeds the best distance so far are skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from nsse._support.types import Floats, Ints


def nearest_neighbor_radii(Z: Floats, codes: Ints, X: Floats) -> Floats:
    """Return the exact radius of the label of each row of X by its nearest neighbor in Z."""
    basis = np.linalg.qr(Z.T)[0] if Z.shape[1] > len(Z) else np.eye(Z.shape[1])
    # Only the part of a change in the span of the training samples matters.
    D2 = np.maximum((X**2).sum(1)[:, np.newaxis] - 2.0 * X @ Z.T + (Z**2).sum(1), 0.0)
    inside = Z @ basis
    return np.array([_radius(inside, codes, d2) for d2 in D2])


def _radius(Z: Floats, codes: Ints, d2: Floats) -> float:
    label = codes[np.argmin(d2)]
    own, others = np.flatnonzero(codes == label), np.flatnonzero(codes != label)
    apart = np.sqrt(np.maximum(((Z[others][:, np.newaxis] - Z[own]) ** 2).sum(axis=2), 1e-300))
    lower = ((d2[others][:, np.newaxis] - d2[own]) / (2.0 * apart)).max(axis=1)
    best = np.inf
    for place in np.argsort(lower):
        if lower[place] >= best:
            break
        j = others[place]
        best = min(best, least_distance(2.0 * (Z[j] - Z[own]), d2[j] - d2[own]))
    return float(max(best, 0.0))


def least_distance(G: Floats, h: Floats) -> float:
    """Return the smallest norm of a vector δ with G δ ≥ h, infinite if there is none."""
    scale = float(np.abs(h).max()) or 1.0
    E = np.vstack([G.T, h / scale])
    f = np.zeros(len(E))
    f[-1] = 1.0
    dual, _ = nnls(E, f, maxiter=50 * E.shape[1])
    residual = E @ dual - f
    if -residual[-1] <= 1e-12:
        return np.inf
    return float(scale * np.linalg.norm(residual[:-1]) / -residual[-1])


def linear_radii(model: Any, X: Floats) -> Floats:
    """Return the exact radius of the label of each row of X by a linear classifier.

    The label is the class with the largest decision value, or the sign of the value of two classes.
    """
    W, values = np.atleast_2d(model.coef_), model.decision_function(X)
    if len(W) == 1:
        return np.asarray(np.abs(values) / np.linalg.norm(W[0]))
    rows, label = np.arange(len(X)), values.argmax(axis=1)
    apart = np.linalg.norm(W[label][:, np.newaxis] - W, axis=2)
    lead = values[rows, label][:, np.newaxis] - values
    apart[rows, label], lead[rows, label] = 1.0, np.inf
    return np.asarray((lead / np.maximum(apart, 1e-300)).min(axis=1))
