"""NPPE: neighborhood preserving polynomial embedding (Qiao, Zhang, Wang & Zhang 2013).

The objective is the one of NPE. The functions are polynomials in the simplified form of the original,
with powers of every feature and without products of several features,

    f(x) = Σ_{q ≤ p} x^[q] V_q,     x^[q] the q-th powers of all features,

with the centered x in units of length, and every power divided by its size over the training samples,
so that a ridge weighs all powers alike. Constants drop out: f is centered at the training samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.parameters import check_count
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.affine import Affine
from nsse.distances import in_row_blocks
from nsse.methods._graph_embedding import (
    Forms,
    GraphEmbedding,
    Space,
    graph_checks,
    principal_axes,
    total_form,
)
from nsse.methods._method import Lengths
from nsse.methods._reconstruction import residual_form, residual_matrix, residual_rank


@dataclass(frozen=True)
class PolynomialMap:
    """Polynomials without mixed terms.

    Attributes
    ----------
    metric : Affine
        Takes samples to their mean as origin, in units of length.
    sizes : ndarray of shape (degree,)
        What every power is divided by.
    mean : ndarray of shape (degree * n_features,)
        Mean of the powers over the training samples.
    coef : ndarray of shape (degree * n_features, d)
        V, power by power.
    """

    metric: Affine
    sizes: Floats
    mean: Floats
    coef: Floats

    @property
    def n_components(self) -> int:
        """d."""
        return int(self.coef.shape[1])

    def __call__(self, X: SamplesLike) -> Floats:
        """Return the map at the rows of ``X``, dense or sparse, in float64."""

        def block(rows: Any) -> Floats:
            Z = self.metric(rows)
            dense = Z.toarray() if hasattr(Z, "toarray") else Z
            return np.asarray((powers(dense, self.sizes) - self.mean) @ self.coef)

        return in_row_blocks(block, X, *self.coef.shape)


@dataclass(frozen=True)
class PolynomialSpace(Space):
    """Polynomials without mixed terms, along the principal axes of the powers."""

    metric: Affine
    sizes: Floats
    mean: Floats
    axes: Floats
    scores: Floats

    def map(self, V: Floats) -> PolynomialMap:
        """Return the polynomials with these coordinates."""
        return PolynomialMap(self.metric, self.sizes, self.mean, self.axes.T @ V)


class NPPE(GraphEmbedding):
    """Neighborhood preserving polynomial embedding.

    An explicit nonlinear map under which every sample stays the same combination of its neighbors
    [1]_. Coordinates are polynomials in the features without products of several of them, f(x) = Σ_q
    x^[q] V_q with the q-th powers x^[q] of all features, q = 1, …, degree. With weights w_ij that
    minimize ‖x_i − Σ_j w_ij x_j‖² and add up to one for every i, the coefficients minimize

        Σ_i ‖f(x_i) − Σ_j w_ij f(x_j)‖²   subject to   Σ_i f(x_i) f(x_i)' = I.

    Labels are only used by the nearest-neighbor rule.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        "auto" takes the one of a few, from half to four times the number of classes, in which the
        nearest other training sample tells most labels. None takes them all.
    degree : int, default=2
        p, the highest power. 1 is `NPE`.
    n_neighbors : int, default=5
        Number of nearest samples that reconstruct a sample (all if there are no more). None uses all.
    pca : {"auto"}, int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance. "auto" means all axes. If these are more than the largest possible
        rank of the objective A, it means the fewest that contain 95 % of the variance, and at most that
        rank.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to the objective A, A + ρI. "auto" is 3
        where samples are few, that is where A can have a rank less than three times the number of axes,
        as for images; else None. None adds nothing, or 1e-3 if A is singular on those axes. With 0, a
        singular A raises an error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        Constraint over objective of every coordinate, descending: one over those of [1]_.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added, or 0.0 if none was.
    map_ : PolynomialMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    NPE : The same for linear maps.

    Notes
    -----
    O(N²) memory for the distances. Sparse samples are accepted and made dense. For n > N all
    embeddings of the training samples are within reach of linear maps already. Departs from [1]_:
    powers are of centered samples, each divided by its size, and a ridge is added to the objective
    where samples are few. A rotation of the features changes the powers, hence the map. The principal
    axes are those of the powers. Certified radii are for kernel and linear maps only.

    References
    ----------
    .. [1] H. Qiao, P. Zhang, D. Wang and B. Zhang, "An explicit nonlinear mapping for manifold
       learning", IEEE Transactions on Cybernetics 43(1), 51-63, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import NPPE
    >>> X, y = load_iris(return_X_y=True)
    >>> NPPE(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _is_wide = True
    _checks = graph_checks(degree=partial(check_count, cure="1 is linear, 2 the usual one."))

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        degree: int = 2,
        n_neighbors: int | None = 5,
        pca: str | int | float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.degree = degree
        self.n_neighbors = n_neighbors
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints) -> Forms:
        R = residual_matrix(lengths.D2, self.n_neighbors)
        return Forms(total_form, residual_form(R), residual_rank(R))

    def _space(self, lengths: Lengths, rank: int) -> PolynomialSpace:
        # Powers depend on the origin, which is therefore the mean, to the last digit.
        metric, mean = lengths.metric, lengths.Z.mean(axis=0)
        metric, Z = replace(metric, shift=metric.shift + mean / metric.scale), lengths.Z - mean
        sizes = power_sizes(Z, self.degree)
        return PolynomialSpace(metric, sizes, *principal_axes(powers(Z, sizes), self.pca, rank))

    @property
    def _ignores_labels(self) -> bool:
        return True


def powers(Z: Floats, sizes: Floats) -> Floats:
    """Return Z, Z², … elementwise, each divided by its size, side by side."""
    return np.concatenate([Z ** (q + 1) / size for q, size in enumerate(sizes)], axis=1)


def power_sizes(Z: Floats, degree: int) -> NDArray[np.float64]:
    """Return the root of the summed variances of every power relative to the first one, or 1."""
    spread = np.array([np.sqrt(np.var(Z**q, axis=0).sum()) for q in range(1, degree + 1)])
    return np.where(spread > 0, spread / spread[0], 1.0)
