"""SUPLAP: supervised Laplacian eigenmaps, extended by Gaussian RBF interpolation.

There are two graphs (Raducanu & Dornaika 2012, Section 3). W_w joins neighbors of the same class with
weight exp(−‖x_i − x_j‖²/β), and W_b joins neighbors of different classes with weight 1. There is an edge
if either sample is a neighbor of the other. *Adaptive* neighbors of x_i are the samples that are more
similar to x_i than all samples are on average,

    exp(−‖x_i − x_j‖²/β) > (1/N) Σ_k exp(−‖x_i − x_k‖²/β)     (k = i included),

so that samples in dense regions get many neighbors and outliers get few.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from nsse._support.parameters import check_count, check_number
from nsse._support.types import Bools, Floats, Ints, SamplesLike
from nsse.base import row_signs
from nsse.maps import KernelMap
from nsse.methods._eigenmaps import Eigenmap, smallest_eigenpairs
from nsse.methods._method import (
    Lengths,
    Method,
    check_n_components,
    checks,
    mean_squared_length,
    nearest_columns,
    others,
    unless,
)

Neighbors = int | str | None


check_neighbors = unless(
    partial(check_count, cure='"adaptive" chooses from the data, None takes all.'), "adaptive"
)


class SUPLAP(Method):
    """Supervised Laplacian eigenmaps with an RBF interpolator.

    Embeds the training samples by minimizing (Eq. 2 of [2]_)

        tr(Y'L_w Y) − μ tr(Y'L_b Y)   subject to   Y'Y = I,

    with Laplacians of a within-class and a between-class neighbor graph. Y are the eigenvectors of
    L_w − μ L_b to its smallest eigenvalues. Then the embedding is extended to new samples by the
    Gaussian interpolator f(x) = Σ c_i exp(−‖x − x_i‖²/σ²) with f(x_i) = y_i. NSSE learns both together.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, at most the number of training samples. None means
        ``n_classes - 1``.
    mu : float, default=0.001
        Weight of the separation between classes.
    n_neighbors : {"adaptive"}, int or None, default=None
        Samples of the same class that are joined with weight exp(−‖x_i − x_j‖²/β). None joins all of
        them, "adaptive" joins those that are more similar to x_i than all samples are on average [1]_,
        and a number joins as many of the nearest ones.
    n_neighbors_between : {"adaptive"}, int or None, default="adaptive"
        Samples of other classes that are joined with weight 1, in the same way. None joins all pairs of
        different classes (see Notes).
    beta : float, default=None
        Width of similarities and weights, in squared units of length. None takes the mean squared
        distance between training samples.
    sigma : float, default=1.0
        Kernel scale σ of the interpolator, in units of length.
    ridge : float, default=1e-10
        Added to the diagonal of the kernel matrix, so that duplicated samples can be interpolated. Then
        f(x_i) = y_i − ridge·c_i. The difference is small unless the kernel is wide.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma` and `beta`. It is the median distance between training samples, or a length
        in the units of X.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples.
    coef_ : ndarray of shape (n_samples, n_components)
        Coefficients of f.
    sigma_ : float
        Kernel scale, in the units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L_w − μ L_b belonging to the coordinates, ascending.
    objective_ : float
        The objective above at its minimum, the sum of `eigenvalues_`.
    map_ : KernelMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    NSSE : Learns embedding and map together.

    Notes
    -----
    [1]_ combines the two terms in another form, with the largest eigenvectors under Y'D_w Y = I. This is
    the form of Eq. (2) of [2]_. The number of features has an influence on distances only, so more
    features than samples need no care.

    If every pair of different classes is joined, all centered vectors that are constant on the classes
    have the same eigenvalue −μN, and the problem is degenerate. Up to ``n_classes - 1`` dimensions, the
    embedding then puts each class on one point whatever the samples are, and the coordinates are an
    arbitrary basis, or a part of one. The same holds at the eigenvalue 0 for classes without any edge to
    another class. A fit whose coordinates are not determined warns (`DegenerateEmbeddingWarning`).

    References
    ----------
    .. [1] B. Raducanu and F. Dornaika, "A supervised non-linear dimensionality reduction approach for
       manifold learning", Pattern Recognition 45(6), 2432-2444, 2012.
    .. [2] C. Örnek and E. Vural, "Nonlinear supervised dimensionality reduction via smooth regular
       embeddings", Pattern Recognition 87, 55-66, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import SUPLAP
    >>> X, y = load_iris(return_X_y=True)
    >>> SUPLAP(n_components=2, n_neighbors_between=10).fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = checks(
        mu=partial(check_number, cure="0 switches the separation of classes off."),
        n_neighbors=check_neighbors,
        n_neighbors_between=check_neighbors,
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        mu: float = 0.001,
        n_neighbors: int | str | None = None,
        n_neighbors_between: int | str | None = "adaptive",
        beta: float | None = None,
        sigma: float = 1.0,
        ridge: float = 1e-10,
        length_unit: str | float = "median",
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between
        self.beta = beta
        self.sigma = sigma
        self.ridge = ridge
        self.length_unit = length_unit

    def _learn(self, X: SamplesLike, codes: Ints) -> KernelMap:
        d = check_n_components(self.n_components, len(codes), len(self.classes_))
        lengths = Lengths.of(X, self.length_unit)
        D2, between = lengths.D2, self.n_neighbors_between
        W_w, W_b = class_graphs(D2, codes, self.n_neighbors, between, self.beta)
        eigenmap, Y = supervised_eigenmap(W_w, W_b, codes, self.mu, d)
        eigenmap.warn_if_degenerate("Change `n_neighbors_between` or `mu`, or another `n_components`.")
        self.eigenvalues_ = eigenmap.eigenvalues
        self.objective_ = float(eigenmap.eigenvalues.sum())
        return self._regressed(lengths, Y)  # Eq. (7)


def class_graphs(
    D2: Floats, codes: Ints, within: Neighbors, between: Neighbors, beta: float | None
) -> tuple[Floats, Floats]:
    """Return W_w and W_b from squared distances and classes.

    ``within`` and ``between`` determine the neighbors: "adaptive", a number of nearest ones, or None for
    all. ``beta`` is in the units of ``D2``. None uses the mean squared distance between samples.
    """
    everyone = others(len(D2))
    width = mean_squared_length(D2, everyone) if beta is None else beta
    similarity = np.exp(D2 / -width)
    adaptive = similarity > similarity.mean(axis=1, keepdims=True)
    same = codes[:, np.newaxis] == codes
    W_w = similarity * _joined(D2, same & everyone, within, adaptive)
    return W_w, _joined(D2, ~same, between, adaptive).astype(np.float64)


def _joined(D2: Floats, allowed: Bools, neighbors: Neighbors, adaptive: Bools) -> Bools:
    if isinstance(neighbors, str):
        allowed, neighbors = allowed & adaptive, None
    edges = nearest_columns(D2, allowed, neighbors)
    return np.asarray(edges | edges.T)


def supervised_eigenmap(
    W_w: Floats, W_b: Floats, codes: Ints, mu: float, n_components: int
) -> tuple[Eigenmap, Floats]:
    """Return the smallest eigenpairs of L_w − μ L_b, Eq. (2), with the signs of the vectors set."""
    W = W_w - mu * W_b
    L = np.diag(W.sum(axis=1)) - W
    eigenmap = smallest_eigenpairs(L, n_components)
    return eigenmap, eigenmap.vectors * row_signs(eigenmap.vectors, codes)
