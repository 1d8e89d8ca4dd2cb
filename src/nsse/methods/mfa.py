"""MFA: marginal Fisher analysis (Yan et al. 2007).

W joins every sample to its nearest samples of the same class. For every class, W' joins the nearest
*pairs* of a sample of the class and a sample of another class. Both have weights 0 and 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsse._support.types import Floats, Ints
from nsse.graphs import class_members, symmetric_graph
from nsse.methods._graph_embedding import (
    Forms,
    LinearMethod,
    graph_checks,
    graph_scatter,
    within_classes,
)
from nsse.methods._method import Lengths, check_edges, graph_rank, nearest_columns, others, unless


class MFA(LinearMethod):
    """Marginal Fisher analysis.

    A linear map V that draws neighbors of the same class together and pushes apart the pairs at the
    margins of the classes [1]_. It maximizes

        tr(V'X'(D' − W')XV)   subject to   V'X'(D − W)XV = I,

    with the rows of X as samples. W_ij = 1 if one of x_i and x_j is among the nearest samples of the
    other in its class. W'_ij = 1 if the pair is among the nearest pairs of a class with all others.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        "auto" takes four times the number of classes, or all if there are no more. None takes them all.
    n_neighbors : int, default=5
        Number of nearest samples of the same class that are joined in W (all of them in a class with no
        more), k₁ in [1]_. None joins all pairs of the same class.
    n_pairs : int, default=200
        Pairs of every class with the others that are joined in W', k₂ in [1]_. None joins all pairs of
        different classes.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to the scatter A of W, A + ρI. "auto" is 0.3
        if the largest possible rank of A is less than three times the number of axes, as for images, and
        None otherwise. None adds nothing, or 1e-3 if A is singular on those axes. With 0, a singular A
        raises an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map. `transform` returns ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of the scatters of W' and W of every coordinate, descending.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added, or 0.0 if none was.
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
    LDE : A similar method with neighbors of every sample, and Gaussian weights.

    Notes
    -----
    A fit takes O(N²) memory for the distances. Sparse samples are made dense. For n > N, [1]_ projects
    on principal axes first. If all pairs are joined and all classes have the same size, the first
    ``n_classes - 1`` coordinates span the subspace of LDA.

    References
    ----------
    .. [1] S. Yan, D. Xu, B. Zhang, H.-J. Zhang, Q. Yang and S. Lin, "Graph embedding and extensions: a
       general framework for dimensionality reduction", IEEE Transactions on Pattern Analysis and
       Machine Intelligence 29(1), 40-51, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import MFA
    >>> X, y = load_iris(return_X_y=True)
    >>> MFA(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _is_wide = True
    _checks = graph_checks(n_pairs=unless(check_edges))

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        n_neighbors: int | None = 5,
        n_pairs: int | None = 200,
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_pairs = n_pairs
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        return marginal_forms(lengths.D2, Z, codes, codes, self.n_neighbors, self.n_pairs)


def marginal_forms(
    D2: Floats, Z: Floats, codes: Ints, groups: Ints, n_neighbors: int | None, n_pairs: int | None
) -> Forms:
    """Return the forms of W' and W with neighbors and pairs of groups. In MFA, groups are classes."""
    N = len(codes)
    same_group = (groups[:, np.newaxis] == groups) & others(N)
    here, there = np.nonzero(nearest_columns(D2, same_group, n_neighbors))
    W = symmetric_graph(here, there, N)
    W_between = symmetric_graph(*marginal_pairs(D2, codes, groups, n_pairs), N)
    intrinsic = graph_scatter(W, within_classes(Z, codes))
    return Forms(graph_scatter(W_between, Z), intrinsic, graph_rank(W))


def marginal_pairs(D2: Floats, codes: Ints, groups: Ints, n_pairs: int | None) -> tuple[Any, Any]:
    """Return the nearest pairs of a sample of a group and one of another class, as two arrays."""
    starts, ends = [], []
    for own in class_members(groups):
        rest = np.flatnonzero(codes != codes[own[0]])
        between = D2[np.ix_(own, rest)].ravel()
        k = between.size if n_pairs is None else min(n_pairs, between.size)
        chosen = np.argpartition(between, k - 1)[:k]
        starts.append(own[chosen // len(rest)])
        ends.append(rest[chosen % len(rest)])
    return np.concatenate(starts), np.concatenate(ends)
