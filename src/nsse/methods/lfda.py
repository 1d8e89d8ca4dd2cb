"""LFDA: local Fisher discriminant analysis (Sugiyama 2007).

A_ij = exp(−‖x_i − x_j‖²/(σ_i σ_j)) between samples of the same class, where σ_i is the distance from x_i
to its k-th nearest neighbor *in its class* (Zelnik-Manor & Perona 2004). If a class has no k-th
neighbor, σ_i is the distance to the farthest sample. This is decided for each class, so that a small
class has no influence on the others. A sample with k duplicates would have σ_i = 0. Departs from the
paper, where A_ij is then undefined: σ_i is the distance to the nearest different sample of the class. If
all samples of a class are equal, A_ij = 1.

The scatters (Eqs. 9-12) are pairwise sums with the weights

    W_lw = A_ij/n_c          and  W_lb = A_ij (1/N − 1/n_c)   inside class c,
    W_lw = 0                 and  W_lb = 1/N                  between classes.

The negative weights of W_lb make rounding dangerous. With A_ij = 1 − (1 − A_ij), S_lb becomes the
between-class scatter of LDA plus a sum over pairs of the same class that are not neighbors,

    S_lb = Σ_c n_c m_c m_c' + ½ Σ_same (1 − A_ij)(1/n_c − 1/N)(z_i − z_j)(z_i − z_j)',

where m_c are the class means minus the mean of all. All terms are positive semidefinite, and nothing has
the size N × N.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import linalg, sparse

from nsse._support.parameters import check_choice, check_count
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.distances import SAME_PLACE, squared_distances, squared_norms
from nsse.graphs import class_members
from nsse.maps import LinearMap
from nsse.methods._graph_embedding import (
    Forms,
    LinearMethod,
    between_scatter,
    check_whole,
    dense_rows,
    graph_checks,
    graph_scatter,
    linear_space,
    within_classes,
)
from nsse.methods._method import graph_rank
from nsse.metrics.learned import centered

METRICS = ("weighted", "orthonormalized", "plain")


class LFDA(LinearMethod):
    """Local Fisher discriminant analysis.

    A linear map like the one of LDA, whose scatters weight pairs of the same class by their similarity
    A_ij = exp(−‖x_i − x_j‖²/(σ_i σ_j)), so that a class may consist of several clusters. The columns of
    the map solve S_lb v = λ S_lw v with the largest λ [1]_, where

        S_lw = ½ Σ A_ij/n_c (x_i − x_j)(x_i − x_j)'              over pairs of the same class c,
        S_lb = ½ Σ w_ij (x_i − x_j)(x_i − x_j)',                 over all pairs,

    w_ij = A_ij (1/N − 1/n_c) inside class c and 1/N between classes.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding. Unlike LDA, which ends at ``n_classes - 1``, LFDA has as many as
        there are principal axes in use, `n_pca_components_`. This is the number of features if there are
        more samples. None takes all of them. In the weighted metric, the last ones hardly count.
    n_neighbors : int, default=7
        σ_i is the distance from x_i to its neighbor of this rank in its class, or to the farthest
        sample of its class if that has no more. If that neighbor is a duplicate of x_i, σ_i is the
        distance to the nearest different sample of the class.
    affinity : {"local_scaling", "ones"}, default="local_scaling"
        "ones" makes every class one neighborhood, A_ij = 1, and gives the subspace of LDA.
    metric : {"weighted", "orthonormalized", "plain"}, default="weighted"
        Length of the columns. "plain" has v'S_lw v = 1, "weighted" multiplies by √λ, and
        "orthonormalized" makes the columns orthonormal without changing the span of the first of them.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(S_lw)/`n_pca_components_` is added to S_lw, S_lw + ρI. "auto" is 0.3 if the
        largest possible rank of S_lw is less than three times the number of axes, as for images, and
        None otherwise. None adds nothing, or 1e-3 if S_lw is singular on those axes (its smallest
        eigenvalue, relative to the scatter of all samples, below 1e-10 of its largest). With 0, a
        singular S_lw raises an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map. `transform` returns ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, descending. Negative values are rounding errors and set to zero.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added to S_lw, or 0.0 if none was.
    map_ : LinearMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    LDE : A similar method with neighbor graphs.

    Notes
    -----
    A fit takes O(N²) memory for the distances. Sparse samples are made dense. The result does not depend
    on the scale of X or on the order of the samples. The order of the labels determines signs only.
    Directions with λ = 0 or equal λ are not unique. A ridge depends on the units of the features. If
    these differ and samples are few, standardize the features first.

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher
       discriminant analysis", Journal of Machine Learning Research 8, 1027-1061, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import LFDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LFDA(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = graph_checks(
        n_components=check_whole,
        n_neighbors=partial(check_count, cure="7 is the usual number."),
        affinity=partial(check_choice, choices=("local_scaling", "ones")),
        metric=partial(check_choice, choices=METRICS),
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        affinity: str = "local_scaling",
        metric: str = "weighted",
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.pca = pca
        self.reg = reg

    def _learn(self, X: SamplesLike, codes: Ints) -> LinearMap:
        X = dense_rows(X)
        metric = centered(X)
        Z = metric(X)
        if self.affinity == "ones":
            affinities = [np.ones((len(rows), len(rows))) for rows in class_members(codes)]
        else:
            affinities = local_scaling(Z, codes, self.n_neighbors)
        space = linear_space(metric, Z, self.pca)
        S_lb, S_lw = local_scatters(affinities, space.scores, codes)
        rank = graph_rank(block_diagonal(affinities))
        return self._solved(space, Forms(S_lb, S_lw, rank), codes)

    def _columns(self, V: Floats, values: Floats, unit: float) -> Floats:
        if self.metric == "orthonormalized":
            # Gram-Schmidt preserves the span of the first j columns, for every j.
            return np.asarray(linalg.qr(V, mode="economic")[0] / unit, dtype=np.float64)
        return np.asarray(V * np.sqrt(values)) if self.metric == "weighted" else V


def local_scaling(Z: Floats, codes: Ints, n_neighbors: int) -> list[Floats]:
    """Return A between the samples of every class, class by class."""
    same_place = 4.0 * SAME_PLACE * float(squared_norms(Z).max())
    affinities = []
    for rows in class_members(codes):
        own = Z[rows] - Z[rows].mean(axis=0)  # classes far apart cost no digits
        D2 = squared_distances(own, own)
        scales = np.sqrt(squared_scales(D2, n_neighbors, same_place))
        affinities.append(np.exp(-D2 / np.outer(scales, scales)))
    return affinities


def squared_scales(D2: Floats, n_neighbors: int, same_place: float) -> Floats:
    """Return σ_i² inside one class. Squared distances up to ``same_place`` belong to duplicates."""
    k = min(n_neighbors, len(D2) - 1)
    # In order of distance the sample itself stands at place 0, so the k-th other one at place k.
    kth = np.partition(D2, k, axis=1)[:, k]
    elsewhere = np.where(same_place < D2, D2, np.inf).min(axis=1)
    return np.where(kth > same_place, kth, elsewhere)  # infinite, so that A = 1, if there is none


def local_scatters(affinities: list[Floats], Z: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Return S_lb and S_lw of centered Z, for affinities A ≤ 1 inside the classes."""
    # Laplacians inside classes are independent of class means, so distant classes cost no digits.
    inside = within_classes(Z, codes)[np.concatenate(class_members(codes))]
    N = len(codes)
    near = [A / len(A) for A in affinities]
    freed = [(1.0 - A) * (1.0 / len(A) - 1.0 / N) for A in affinities]
    S_lb = between_scatter(Z, codes) + graph_scatter(block_diagonal(freed), inside)
    return S_lb, graph_scatter(block_diagonal(near), inside)


def block_diagonal(blocks: list[Floats]) -> sparse.csr_array:
    """Return the graph whose pieces are the blocks."""
    return sparse.csr_array(sparse.block_diag(blocks))
