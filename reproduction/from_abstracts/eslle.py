"""ESLLE: enhanced supervised locally linear embedding, from an abstract, with kernel ridge regression.

Neighbors are the samples at the smallest dissimilarities, which are less than one within a class and
larger between classes (`class_dissimilarities`, of Geng et al. 2005),

    √(1 − exp(−d²/β)) within a class,     √exp(d²/β) − overlap between classes.

Weights reconstruct every sample from them, and the embedding minimizes tr(Y'R'RY) subject to Y'Y = I and
Y'1 = 0. A class that is larger than its neighborhoods is a connected piece of the graph, and all
functions that are constant on such pieces have the eigenvalue zero. Among equally good coordinates,
those along which the samples vary most come first, as in a principal component analysis. Then the order
and rotation of the samples change nothing. The paper was not available (Zhang, Pattern Recognition
Letters 30(13), 1208-1218, 2009). Its abstract repeats the words of Geng et al., so their dissimilarity
is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from nsse._support.types import Floats, Ints, SamplesLike
from nsse.base import row_signs
from nsse.maps import KernelMap
from nsse.methods._eigenmaps import Eigenmap, check_eigenmap_components, smallest_eigenpairs
from nsse.methods._method import Lengths, Method, check_edges, checks, nearest_columns, others, unless
from nsse.methods._reconstruction import residual_rank, residuals
from nsse.methods.isokrr import check_overlap, class_dissimilarities

# Eigenvalues of R'R, relative to its size, that are zero up to rounding.
ZERO = 1e-13
FEW_NEIGHBORS = 5


class ESLLE(Method):
    """Embed samples by locally linear embedding among neighbors that depend on the labels.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, less than the number of training samples. The default is
        ``n_classes - 1``.
    n_neighbors : {"auto"}, int or None, default="auto"
        Samples at the smallest dissimilarities that reconstruct a sample. "auto" takes five, or as many
        others as the smallest class of several samples has. None takes all.
    beta : float, default=None
        β, in squared units of length. None takes the square of the mean distance between samples.
    overlap : float, default=0.0
        A number from 0 to 1 by which dissimilarities between classes are reduced.
    sigma, ridge : float
        Scale and ridge of the regression that extends the embedding to new samples, as in
        `nsse.methods.IsoKRR`.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma` and `beta`. "median" is the median distance between training samples.

    Attributes
    ----------
    lle_embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates that the regression is fitted to.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of R'R, ascending, without the zero of the constant.
    embedding_, coef_, sigma_, length_unit_
        As for `nsse.methods.IsoKRR`.
    """

    _checks = checks(overlap=check_overlap, n_neighbors=unless(check_edges, "auto"))

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int | str | None = "auto",
        beta: float | None = None,
        overlap: float = 0.0,
        sigma: float = 2.0,
        ridge: float = 1e-3,
        length_unit: str | float = "median",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.overlap = overlap
        self.sigma = sigma
        self.ridge = ridge
        self.length_unit = length_unit

    def _learn(self, X: SamplesLike, codes: Ints) -> KernelMap:
        d = check_eigenmap_components(self.n_components, len(codes), len(self.classes_))
        lengths = Lengths.of(X, self.length_unit)
        D = class_dissimilarities(lengths.D2, codes, self.beta, self.overlap)
        k = class_neighbors(codes) if isinstance(self.n_neighbors, str) else self.n_neighbors
        R = residuals(lengths.D2, nearest_columns(D, others(len(D)), k))
        eigenmap = reconstruction_eigenmap(R, lengths.D2, d)
        self.lle_embedding_ = eigenmap.vectors * row_signs(eigenmap.vectors, codes)
        self.eigenvalues_ = eigenmap.eigenvalues
        return self._regressed(lengths, self.lle_embedding_)


def class_neighbors(codes: Ints) -> int:
    """Return `FEW_NEIGHBORS`, or as many others as the smallest class of several samples has."""
    sizes = np.bincount(codes)
    return min(FEW_NEIGHBORS, int(sizes[sizes > 1].min(initial=FEW_NEIGHBORS + 1)) - 1)


def reconstruction_eigenmap(R: Any, D2: Floats, d: int) -> Eigenmap:
    """Return the d smallest eigenpairs of R'R without the constant.

    Coordinates of eigenvalue zero are ordered by the variation of the samples, which follows from their
    squared distances ``D2``.
    """
    N = len(D2)
    M = (R.T @ R).toarray()
    size = float(np.abs(M).sum(axis=1).max())
    M += 2.0 * size / N  # moves the constant beyond all others
    n_pieces = N - residual_rank(R)
    found = smallest_eigenpairs(M, min(max(d, n_pieces - 1), N - 1))
    values, Y = found.eigenvalues, found.vectors
    n_zero = int(np.sum(values <= ZERO * size))
    if n_zero > 1:
        # Y'XX'Y = Y'(−½ D2)Y, because Y is centered.
        _, V = linalg.eigh(Y[:, :n_zero].T @ D2 @ Y[:, :n_zero])
        Y = np.hstack([Y[:, :n_zero] @ V, Y[:, n_zero:]])
    return Eigenmap(values[:d], np.ascontiguousarray(Y[:, :d]), found.gap)
