"""LDE: local discriminant embedding (Chen, Chang & Liu 2005, Section 3.2).

W joins samples of the same class, and W' joins samples of different classes, if one is among the nearest
of the other. Both have the weights exp(−‖x_i − x_j‖²/β) with one β.
"""

from __future__ import annotations

import numpy as np

from nsse._support.types import Bools, Floats, Ints
from nsse.methods._graph_embedding import Forms, LinearMethod, graph_scatter, within_classes
from nsse.methods._method import (
    Lengths,
    gaussian_graph,
    graph_rank,
    mean_squared_length,
    nearest_columns,
    others,
)


class LDE(LinearMethod):
    """Local discriminant embedding.

    A linear map V that pulls neighbors of different classes apart while neighbors of the same class
    stay together [1]_. It maximizes

        tr(V'X'(D' − W')XV)   subject to   V'X'(D − W)XV = I,

    with the rows of X as samples, W joining neighbors of the same class, W' neighbors of different
    classes, both with weights exp(−‖x_i − x_j‖²/β). The columns of V solve the generalized
    eigenproblem of the two scatters with the largest eigenvalues.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        This is the number of features if there are more samples. "auto" takes ``n_classes - 1`` of them,
        but three for fewer than four classes, or all if there are no more. None takes all of them. The
        last ones, which separate least, have the same length as the first.
    n_neighbors : int, default=5
        Number of nearest samples of the same class that are joined in W (all of them in a class with no
        more). None joins all pairs of the same class.
    n_neighbors_between : int, default=20
        Number of nearest samples of other classes that are joined in W' (all if there are no more). None
        joins all pairs of different classes.
    beta : float, default=None
        Width β of the weights (t in [1]_), in squared units of length. None takes the mean squared
        length of the edges of both graphs.
    length_unit : {"median"} or float, default="median"
        The unit of `beta`. It is the median distance between training samples, so that the scale of X
        has no influence, or a length that is given as a number.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(S)/`n_pca_components_` is added to the scatter S of W, S + ρI. "auto" is 0.3
        if the largest possible rank of S is less than three times the number of axes, as for images, and
        None otherwise. None adds nothing, or 1e-3 if S is singular on those axes (its smallest
        eigenvalue, relative to the scatter of all samples, below 1e-10 of its largest). With 0, a
        singular S raises an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map V'. `transform` returns ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of between-class to within-class scatter of every coordinate, descending. Negative
        values are rounding errors and set to zero.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added, or 0.0 if none was.
    beta_ : float
        β, in squared units of X.
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
    LFDA : A similar method with local scaling.

    Notes
    -----
    A fit takes O(N²) memory for the distances. Sparse samples are made dense. The order of the samples
    has no influence, unless distances are equal. The order of the labels determines signs only. A ridge
    depends on the units of the features. If these differ and samples are few, standardize the features
    first.

    References
    ----------
    .. [1] H.-T. Chen, H.-W. Chang and T.-L. Liu, "Local discriminant embedding and its variants",
       IEEE Conference on Computer Vision and Pattern Recognition, 846-853, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import LDE
    >>> X, y = load_iris(return_X_y=True)
    >>> LDE(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        n_neighbors: int | None = 5,
        n_neighbors_between: int | None = 20,
        beta: float | None = None,
        length_unit: str | float = "median",
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between
        self.beta = beta
        self.length_unit = length_unit
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        D2 = lengths.D2
        within, between = discriminant_edges(D2, codes, self.n_neighbors, self.n_neighbors_between)
        width = self.beta or mean_squared_length(D2, within, between)
        self.length_unit_ = lengths.unit
        self.beta_ = width * lengths.unit * lengths.unit
        W, W_between = (gaussian_graph(D2, edges, width) for edges in (within, between))
        intrinsic = graph_scatter(W, within_classes(Z, codes))
        return Forms(graph_scatter(W_between, Z), intrinsic, graph_rank(W))


def discriminant_edges(
    D2: Floats, codes: Ints, n_within: int | None, n_between: int | None
) -> tuple[Bools, Bools]:
    """Return edges from every sample to its nearest samples of the same class and of other classes."""
    same = codes[:, np.newaxis] == codes
    within = nearest_columns(D2, same & others(len(D2)), n_within)
    return within, nearest_columns(D2, ~same, n_between)
