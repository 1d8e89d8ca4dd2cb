"""LFDA, local Fisher discriminant analysis, as a scikit-learn transformer and classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from nsse.estimators._direct import DirectClassifier
from nsse.estimators._linear import Floats, Ints, LinearEmbeddingClassifier, dense_samples
from nsse.estimators._parameters import check_choice, check_count
from nsse.graphs.local_scaling import local_scaling_affinity, one_neighborhood
from nsse.graphs.scatters import graph_rank, local_fisher_scatters
from nsse.kernels import squared_distances
from nsse.solvers.scatter import ScatterSolution, orthonormal

METRICS = ("weighted", "orthonormalized", "plain")


class LFDA(DirectClassifier, LinearEmbeddingClassifier):
    """Local Fisher discriminant analysis.

    A linear map like that of LDA, with scatters that count pairs of the same class only as far as they
    are neighbours, A_ij = exp(−‖x_i − x_j‖²/(σ_i σ_j)), so that a class may consist of several clusters.
    The columns of the map solve S_lb v = λ S_lw v with the largest λ [1]_, where

        S_lw = ½ Σ A_ij/n_c (x_i − x_j)(x_i − x_j)'              over pairs of the same class c,
        S_lb = ½ Σ w_ij (x_i − x_j)(x_i − x_j)',                 over all pairs,

    w_ij = A_ij (1/N − 1/n_c) inside class c and 1/N between classes.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding. Unlike LDA, which ends at ``n_classes - 1``, LFDA has as many as
        there are principal axes in use, `n_pca_components_`: all features, if there are more samples.
        None takes them all; with the weighted metric the last ones hardly count.
    n_neighbors : int, default=7
        σ_i is the distance from x_i to its neighbour of this rank in its class, or to the farthest
        sample of its class if that has no more. Where that neighbour is a duplicate of x_i, σ_i is the
        distance to the nearest sample of the class in another place.
    affinity : {"local_scaling", "ones"}, default="local_scaling"
        "ones" takes every class for one neighbourhood, A_ij = 1: the subspace of LDA.
    metric : {"weighted", "orthonormalized", "plain"}, default="weighted"
        Length of the columns: "plain" has v'S_lw v = 1, "weighted" multiplies by √λ,
        "orthonormalized" makes the columns orthonormal, keeping the span of the first of them.
    pca : {"auto"}, int, float or None, default=None
        The principal axes on which the problem is solved. None: all along which the samples vary. An
        int: so many. A float between 0 and 1: the fewest that hold this share of the variance. "auto":
        all, but where these are more than S_lw can have rank (the number of samples minus the number of
        classes), the fewest that hold 95 % of the variance, and no more than that rank.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(S_lw)/`n_pca_components_` is added to S_lw, S_lw + ρI. "auto" is 0.3 where
        samples are few, that is where S_lw can have a rank less than three times the number of axes, as
        for images; else None. None adds none, or 1e-3 if S_lw is singular on those axes (its smallest
        eigenvalue, relative to the scatter of all samples, below 1e-10 of its largest). With 0 a
        singular S_lw is an error.
    classifier : classifier, default=None
        Fitted on the embedding and used by `predict`. None is the nearest neighbour.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map: transform gives ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        The training samples, embedded.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, descending. S_lb is positive semidefinite: values below zero are rounding and set to zero.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added to S_lw; 0.0 if none.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    classifier_ : classifier
        Fitted on `embedding_`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    LDE : Its relative by neighbours.

    Notes
    -----
    O(N²) memory for the distances. Sparse samples are accepted and made dense. The result does not
    depend on the order of the samples or of the classes, except that the order of the labels settles
    signs, nor on the scale of X. Directions with λ = 0 or equal λ are not unique. A ridge sees the units
    of the features: where they differ, standardise the features first if samples are few. The defaults
    of version 0.1 were ``pca="auto", reg=None``; ``docs/methods.md`` compares the errors.

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher
       discriminant analysis", Journal of Machine Learning Research 8, 1027-1061, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import LFDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LFDA(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        affinity: str = "local_scaling",
        metric: str = "weighted",
        pca: str | int | float | None = None,
        reg: str | float | None = "auto",
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.metric = metric
        self.pca = pca
        self.reg = reg
        self.classifier = classifier

    def _learn(self, X: Any, codes: Ints, length_unit: float | None) -> None:
        """Learn the map."""
        samples = dense_samples(X)
        A = self._affinity(samples, codes)
        rank = graph_rank(A)
        principal, d = self._principal(samples, rank)
        S_lb, S_lw = local_fisher_scatters(A, principal.scores, codes)
        solution = self._solved(S_lb, S_lw, principal, d, rank)
        self._keep_map(X, codes, principal, solution, self._columns(solution))

    def _check_parameters(self) -> None:
        self._check_shared(self.n_components)
        check_count("n_neighbors", self.n_neighbors, cure="7 is the usual number.")
        check_choice("affinity", self.affinity, ("local_scaling", "ones"))
        check_choice("metric", self.metric, METRICS)

    def _affinity(self, samples: Floats, codes: Ints) -> Any:
        if self.affinity == "ones":
            return one_neighborhood(codes)
        return local_scaling_affinity(squared_distances(samples), codes, self.n_neighbors)

    def _columns(self, solution: ScatterSolution) -> Floats:
        if self.metric == "orthonormalized":
            return orthonormal(solution.directions)  # the axes are orthonormal, so is their product
        if self.metric == "weighted":
            return solution.directions * np.sqrt(solution.eigenvalues)
        return solution.directions
