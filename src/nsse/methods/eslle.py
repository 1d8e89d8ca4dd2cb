"""ESLLE: enhanced supervised locally linear embedding (Zhang 2009), extended by kernel ridge regression.

Neighbours are those at the smallest dissimilarities, which are less than one within classes and not
between them (`class_dissimilarities`, of Geng et al. 2005),

    √(1 − exp(−d²/β)) of the same class,     √exp(d²/β) − overlap of different ones;

weights reconstruct every sample from them, and the embedding minimises tr(Y'R'RY) subject to Y'Y = I
and Y'1 = 0. A class that is larger than its neighbourhoods is a piece of the graph of its own: all
functions constant on such pieces have the eigenvalue zero. Among equally good coordinates we take, in
order, those along which the samples vary most, as principal components do; then order and rotation of
the samples change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from nsse._support.types import Floats, Ints, SamplesLike
from nsse.base import row_signs
from nsse.maps import KernelMap
from nsse.methods._eigenmaps import Eigenmap, check_eigenmap_components, smallest_eigenpairs
from nsse.methods._method import Lengths, Method, check_edges, checks, unless
from nsse.methods._reconstruction import residual_matrix, residual_rank
from nsse.methods.isokrr import check_overlap, class_dissimilarities

# Eigenvalues of R'R, relative to its size, that are zero up to rounding.
ZERO = 1e-13
FEW_NEIGHBORS = 5


class ESLLE(Method):
    """Enhanced supervised locally linear embedding, with a map for new samples.

    Locally linear embedding among neighbours by a dissimilarity that knows the labels [1]_: less than
    one within a class, one at least between classes,

        √(1 − exp(−‖x_i − x_j‖²/β)) of the same class,     √exp(‖x_i − x_j‖²/β) − overlap otherwise.

    Weights w_ij of the neighbours reconstruct x_i, and the embedding minimises Σ_i ‖y_i − Σ_j w_ij
    y_j‖² subject to Y'Y = I. New samples are embedded by kernel ridge regression onto it.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, smaller than the number of training samples. None means
        ``n_classes - 1``.
    n_neighbors : {"auto"}, int or None, default="auto"
        Samples at the smallest dissimilarities that reconstruct a sample (all where there are no
        more). "auto" takes five, or as many others as the smallest class of several has, so that they
        are of the same class. None takes all.
    beta : float, default=None
        β, in squared units of length. None takes the square of the mean distance between samples.
    overlap : float, default=0.0
        From 0 to 1: how much closer than 1, the most within a class, samples of different classes may
        come.
    sigma : float, default=2.0
        Scale σ of the kernel exp(−‖x − x'‖²/σ²) of the regression, in units of length.
    ridge : float, default=1e-3
        Ridge of the regression.
    length_unit : {"median"} or float, default="median"
        The unit in which `sigma` and `beta` are understood: the median distance between training
        samples, so that rescaling X changes nothing, or a length given as a number.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples: what `transform` gives, and what `predict` compares with.
    lle_embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates found by locally linear embedding, to which f was fitted.
    eigenvalues_ : ndarray of shape (n_components,)
        Of R'R, ascending; the trivial 0 of the constant is left out.
    coef_ : ndarray of shape (n_samples, n_components)
        Coefficients of f.
    sigma_, length_unit_ : float
        Kernel scale and unit of length, in the units of X.
    map_ : KernelMap
        What `transform` does.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    IsoKRR : Isomap by the same dissimilarity.
    NPDE : Its linear relative.

    Notes
    -----
    O(N³) time and O(N²) memory; the number n of features enters through distances only, so that n > N
    needs no care. Classes with more samples than neighbours are one point each. [1]_ embeds the
    training samples only; the regression is that of `IsoKRR`. The text of [1]_ was not at hand: the
    dissimilarity is that of its model, Geng et al. (2005), whose words its abstract repeats.

    References
    ----------
    .. [1] S. Zhang, "Enhanced supervised locally linear embedding", Pattern Recognition Letters
       30(13), 1208-1218, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import ESLLE
    >>> X, y = load_iris(return_X_y=True)
    >>> ESLLE().fit(X, y).transform(X).shape
    (150, 2)
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
        R = residual_matrix(lengths.D2, k, D)
        eigenmap = reconstruction_eigenmap(R, lengths.D2, d)
        self.lle_embedding_ = eigenmap.vectors * row_signs(eigenmap.vectors, codes)
        self.eigenvalues_ = eigenmap.eigenvalues
        return self._regressed(lengths, self.lle_embedding_)


def class_neighbors(codes: Ints) -> int:
    """`FEW_NEIGHBORS`, or as many others as the smallest class of several samples has."""
    sizes = np.bincount(codes)
    return min(FEW_NEIGHBORS, int(sizes[sizes > 1].min(initial=FEW_NEIGHBORS + 1)) - 1)


def reconstruction_eigenmap(R: Any, D2: Floats, d: int) -> Eigenmap:
    """The d smallest eigenpairs of R'R without the constant, in the order of the samples' variation.

    ``D2`` are squared distances of the samples: what settles coordinates of eigenvalue zero.
    """
    N = len(D2)
    M = (R.T @ R).toarray()
    size = float(np.abs(M).sum(axis=1).max())
    M += 2.0 * size / N  # the constant goes beyond all others
    n_pieces = N - residual_rank(R)
    found = smallest_eigenpairs(M, min(max(d, n_pieces - 1), N - 1))
    values, Y = found.eigenvalues, found.vectors
    n_zero = int(np.sum(values <= ZERO * size))
    if n_zero > 1:
        # Y'XX'Y from distances: the rows of Y'(−½ D2)Y, Y being centred.
        _, V = linalg.eigh(Y[:, :n_zero].T @ D2 @ Y[:, :n_zero])
        Y = np.hstack([Y[:, :n_zero] @ V, Y[:, n_zero:]])
    return Eigenmap(values[:d], np.ascontiguousarray(Y[:, :d]), found.gap)
