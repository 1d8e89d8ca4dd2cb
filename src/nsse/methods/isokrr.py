"""IsoKRR: supervised Isomap, extended by Gaussian kernel ridge regression.

Supervised Isomap (Geng, Zhan & Zhou 2005, Eq. 4) replaces the distance d by

    √(1 − exp(−d²/β))    within a class: at most 1,
    √(exp(d²/β)) − α     between classes: at least 1 − α,

so that classes move apart before the graph is built. Its neighbors then mostly lie in the sample's own
class and the graph falls into pieces. Geodesics between pieces are infinite, so that every pair of
pieces is joined by its shortest edge, as scikit-learn's Isomap does, and their number is kept.

Classical scaling uses B = −½ J G² J with J = I − 11'/N, which holds the inner products of points at
distances G, if there are such points. Geodesics are seldom Euclidean. B then has negative eigenvalues,
along which lengths would be imaginary. They give no coordinates, and their share of Σ|λ| is stored.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, shortest_path

from nsse._support.errors import rule_error
from nsse._support.parameters import check_number
from nsse._support.types import Bools, Floats, Ints, SamplesLike
from nsse.base import row_signs
from nsse.maps import KernelMap
from nsse.methods._method import Lengths, Method, check_n_components, checks, nearest_columns, others

# Largest d²/β: squares of sums of e^150 are still far from overflow.
LARGEST_EXPONENT = 300.0


def check_overlap(name: str, value: Any) -> None:
    """Check for a number from 0 to 1."""
    if check_number(name, value, cure="0 keeps classes farthest apart.") > 1:
        cure = "Above 1 samples of different classes would be at negative distances."
        raise rule_error(name, "be a number from 0 to 1", value, cure)


class IsoKRR(Method):
    """Supervised Isomap, extended to new samples by Gaussian kernel ridge regression.

    Distances d are replaced by class-dependent dissimilarities [2]_,

        √(1 − exp(−d²/β)) within a class,    √(exp(d²/β)) − α between classes,

    their geodesics on a neighbor graph are embedded by classical multidimensional scaling (Isomap),
    and kernel ridge regression learns the map from samples to coordinates [1]_. New samples are mapped
    by it and classified by their nearest neighbor.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d of the embedding, at most the number of positive eigenvalues of the scaling, itself
        less than the number of training samples. None means ``n_classes - 1``, or the number of positive
        eigenvalues if that is smaller.
    n_neighbors : int, default=None
        Samples at the smallest dissimilarities joined in the graph (all of them if there are no more).
        Two samples are joined if either is a neighbor of the other. None joins all pairs. With a
        thousand samples or more, a number is faster.
    beta : float, default=10.0
        β, in squared units of length. A larger value gives distances less influence compared with the
        labels. None uses the square of the mean distance between samples, about 1 (see Notes).
    overlap : float, default=0.0
        α, from 0 to 1. The dissimilarity of samples of different classes is at least 1 − α. In [2]_ it
        is 0.5.
    alpha : float, default=1e-3
        Ridge of the regression. It must be positive. A very small value interpolates.
    sigma : float, default=1.0
        Scale σ of the kernel exp(−‖x − x'‖²/σ²), in units of length.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma` and `beta`. It is the median distance between training samples, so that the
        scale of X has no influence, or a length that is given as a number.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples, with which `predict` compares new samples.
    isomap_embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of Isomap, to which f was fitted.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the scaling, descending.
    negative_share_ : float
        Share of the negative eigenvalues in the sum of all magnitudes. It measures how far the geodesics
        are from distances in a Euclidean space. Those eigenvalues are not used.
    n_connected_components_ : int
        Number of pieces of the neighbor graph. If there are several, as is common for separate classes,
        every two of them were joined by the shortest edge between them.
    coef_ : ndarray of shape (n_samples, n_components)
        Coefficients of f.
    sigma_, length_unit_ : float
        Kernel scale and unit of length, in the units of X.
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
    MReg : Kernel ridge regression with a penalty along a graph.

    Notes
    -----
    A fit takes O(N³) time and O(N²) memory for N samples. The number of features has an influence on
    distances only, so more features than samples need no care. [2]_ sets β to the mean distance. Its
    square has the units of d² and makes the result independent of the scale of X.

    References
    ----------
    .. [1] C. Orsenigo and C. Vercellis, "Kernel ridge regression for out-of-sample mapping in
       supervised manifold learning", Expert Systems with Applications 39(9), 7757-7762, 2012.
    .. [2] X. Geng, D.-C. Zhan and Z.-H. Zhou, "Supervised nonlinear dimensionality reduction for
       visualization and classification", IEEE Trans. Systems, Man, and Cybernetics B 35(6),
       1098-1107, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import IsoKRR
    >>> X, y = load_iris(return_X_y=True)
    >>> IsoKRR(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = checks(
        overlap=check_overlap,
        alpha=partial(check_number, positive=True, cure="Take 1e-8 to interpolate."),
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int | None = None,
        beta: float | None = 10.0,
        overlap: float = 0.0,
        alpha: float = 1e-3,
        sigma: float = 1.0,
        length_unit: str | float = "median",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.overlap = overlap
        self.alpha = alpha
        self.sigma = sigma
        self.length_unit = length_unit

    def _learn(self, X: SamplesLike, codes: Ints) -> KernelMap:
        d = check_n_components(self.n_components, len(codes), len(self.classes_))
        lengths = Lengths.of(X, self.length_unit)
        D = class_dissimilarities(lengths.D2, codes, self.beta, self.overlap)
        G, self.n_connected_components_ = geodesic_distances(D, self.n_neighbors)
        Y, positive, self.negative_share_ = classical_scaling(G)
        if d > len(positive) and self.n_components is not None:
            rule = f"not exceed the number of positive eigenvalues, {len(positive)}"
            cure = "Lower it, because lengths along the other directions would not be real."
            raise rule_error("n_components", rule, d, cure)
        self.isomap_embedding_ = Y[:, :d] * row_signs(Y[:, :d], codes)
        self.eigenvalues_ = positive[:d]
        return self._regressed(lengths, self.isomap_embedding_, "alpha")


def class_dissimilarities(D2: Floats, codes: Ints, beta: float | None, alpha: float) -> Floats:
    """Return the dissimilarities above from squared distances, symmetric and zero on the diagonal.

    ``beta`` is in the units of ``D2``. None uses the square of the mean distance between samples.
    """
    N = len(D2)
    width = float((np.sqrt(D2).sum() / (N * (N - 1))) ** 2) if beta is None else beta
    exponent = D2 / width
    if exponent.max() > LARGEST_EXPONENT:
        rule = f"be at least the largest squared distance / {LARGEST_EXPONENT:.0f}"
        cure = "Raise it, or leave out samples that lie far from all others."
        raise rule_error("beta", rule, width, cure)
    same = codes[:, np.newaxis] == codes
    return np.where(same, np.sqrt(-np.expm1(-exponent)), np.exp(0.5 * exponent) - alpha)


def geodesic_distances(D: Floats, n_neighbors: int | None) -> tuple[Floats, int]:
    """Return shortest paths over the joined neighbor graph, and its number of pieces."""
    # SciPy reads a zero as no edge. The smallest positive number changes no sum.
    D = np.maximum(D, np.finfo(np.float64).tiny)
    edges = nearest_columns(D, others(len(D)), n_neighbors)
    edges = edges | edges.T
    n_pieces, piece = connected_components(edges, directed=False)
    if n_pieces > 1:
        edges |= shortest_links(D, piece.astype(np.intp))
    # Every edge is there in both directions, so SciPy need not look for the other one.
    lengths = shortest_path(sparse.csr_array(np.where(edges, D, 0.0)), method="D", directed=True)
    # Sums along a path and back differ by rounding.
    return np.minimum(lengths, lengths.T), int(n_pieces)


def shortest_links(D: Floats, piece: Ints) -> Bools:
    """Return the shortest edge between every two pieces, in both directions."""
    links = np.zeros(D.shape, dtype=bool)
    members = [np.flatnonzero(piece == number) for number in range(int(piece.max()) + 1)]
    for a, own in enumerate(members):
        for other in members[:a]:
            i, j = np.unravel_index(np.argmin(D[np.ix_(own, other)]), (len(own), len(other)))
            links[own[i], other[j]] = links[other[j], own[i]] = True
    return links


def classical_scaling(G: Floats) -> tuple[Floats, Floats, float]:
    """Return coordinates V √λ of positive eigenpairs of B, these λ, and the negative share."""
    G2 = G**2
    means = G2.mean(axis=0)
    B = -0.5 * (G2 - means - means[:, np.newaxis] + means.mean())
    values, vectors = eigh(B, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    sizes = np.abs(values)
    d = int(np.sum(values > len(B) * np.finfo(np.float64).eps * sizes.max()))
    share = float(sizes[values < 0].sum() / sizes.sum()) if sizes.any() else 0.0
    return vectors[:, :d] * np.sqrt(values[:d]), values[:d], share
