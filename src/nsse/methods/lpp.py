"""LPP: locality preserving projections (He & Niyogi 2004), unsupervised and supervised.

    minimize tr(V'X'LXV)  subject to  V'X'DXV = I,     L = D − W,

This is the best linear approximation of Laplacian eigenmaps. W joins neighbors, whatever their labels or
of the same class only. On complete graphs of the classes with weights 1/n_c, X'LX is the scatter within
classes and X'DX the total scatter, and the map is the one of LDA.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nsse._support.types import Floats, Ints
from nsse.graphs import degrees
from nsse.methods._graph_embedding import (
    Forms,
    LinearMethod,
    graph_checks,
    graph_scatter,
    symmetric,
    within_classes,
)
from nsse.methods._method import Lengths, check_flag, graph_rank, neighbor_graph


class LPP(LinearMethod):
    """Locality preserving projections.

    A linear map V under which neighbors stay neighbors [1]_. It minimizes

        tr(V'X'(D − W)XV)   subject to   V'X'DXV = I,

    with the centered samples as rows of X and W_ij = exp(−‖x_i − x_j‖²/β) between neighbors. If it is
    supervised, neighbors have the same class. If all samples of a class are joined, all weights are
    1/n_c, where n_c is the size of the class, and the result is the subspace of LDA.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        "auto" tries a few dimensions from half to four times the number of classes, and takes the one in
        which the nearest other training sample predicts the most labels. If supervised, it takes four
        times the number of classes, or all if there are no more. None takes all of them.
    supervised : bool, default=False
        Whether neighbors must have the same class. With False, labels are only used by the
        nearest-neighbor rule.
    n_neighbors : int, default=5
        Number of nearest samples that are joined in W (all of them if there are no more). None joins all
        pairs. With ``supervised=True`` it joins all pairs of each class, with weights 1/n_c.
    beta : float, default=None
        Width β of the weights (t in [1]_), in squared units of length. None takes the mean squared
        length of the edges.
    length_unit : {"median"} or float, default="median"
        The unit of `beta`. It is the median distance between training samples, so that the scale of X
        has no influence, or a length that is given as a number.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to A = X'LX, A + ρI. "auto" is 3 (0.3 if
        supervised) if the largest possible rank of A is less than three times the number of axes, as for
        images, and None otherwise. None adds nothing, or 1e-3 if A is singular on those axes. With 0, a
        singular A raises an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map. `transform` returns ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of X'DX to X'LX of every coordinate, descending. In [1]_, eigenvalues are the inverse
        of these.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added, or 0.0 if none was.
    beta_ : float or None
        β, in squared units of X, or None if weights are 1/n_c.
    length_unit_ : float
        The unit of length, in the units of X.
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
    NPE : A similar method that preserves reconstructions by neighbors.
    LDE : A similar method with a second graph, between classes.

    Notes
    -----
    A fit takes O(N²) memory for the distances. Sparse samples are made dense. For n > N, [1]_ projects
    on all principal axes along which the samples vary. Every embedding of the training samples is then
    possible, including Laplacian eigenmaps, and the map follows the noise. Departs from [1]_: if there
    are few samples, a ridge is added to X'LX, which makes the map smooth. If it is supervised, columns
    have v'X'LXv = 1, as in LDA. Samples are centered, which leaves the constant coordinate out.

    References
    ----------
    .. [1] X. He and P. Niyogi, "Locality preserving projections", Advances in Neural Information
       Processing Systems 16, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import LPP
    >>> X, y = load_iris(return_X_y=True)
    >>> LPP(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _is_wide = True
    _checks = graph_checks(supervised=check_flag)

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        supervised: bool = False,
        n_neighbors: int | None = 5,
        beta: float | None = None,
        length_unit: str | float = "median",
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.supervised = supervised
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.length_unit = length_unit
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        if self.supervised and self.n_neighbors is None:
            W, self.beta_ = class_averages(codes), None
        else:
            own = codes if self.supervised else None
            W, width = neighbor_graph(lengths.D2, self.n_neighbors, self.beta, own)
            self.beta_ = width * lengths.unit * lengths.unit
        self.length_unit_ = lengths.unit
        penalty = symmetric(Z.T @ (degrees(W)[:, np.newaxis] * Z))
        within = within_classes(Z, codes) if self.supervised else Z
        return Forms(penalty, graph_scatter(W, within), graph_rank(W))

    @property
    def _ignores_labels(self) -> bool:
        return not self.supervised


def class_averages(codes: Ints) -> Any:
    """Return W_ij = 1/n_c in class c, including i = j, so that all degrees are one."""
    sizes = np.bincount(codes)
    return sparse.csr_array(np.where(codes[:, np.newaxis] == codes, 1.0 / sizes[codes], 0.0))
