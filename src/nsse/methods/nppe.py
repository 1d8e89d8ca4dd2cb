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
    total_scatter,
)
from nsse.methods._method import Lengths
from nsse.methods._reconstruction import residual_matrix, residual_rank, residual_scatter


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
        """Dimension d of the embedding."""
        return int(self.coef.shape[1])

    def __call__(self, X: SamplesLike) -> Floats:
        """Return the map at the rows of ``X``, dense or sparse, in float64."""

        def block(rows: Any) -> Floats:
            Z = self.metric(rows)
            dense = Z.toarray() if hasattr(Z, "toarray") else Z
            return np.asarray((powers(dense, self.sizes) - self.mean) @ self.coef)

        return in_row_blocks(block, X, *self.coef.shape)


class NPPE(GraphEmbedding):
    """Neighborhood preserving polynomial embedding.

    A nonlinear map under which every sample stays the same combination of its neighbors [1]_.
    Coordinates are polynomials in the features without products of several features, f(x) = Σ_q x^[q]
    V_q with the q-th powers x^[q] of all features, q = 1, …, degree. With weights w_ij that
    minimize ‖x_i − Σ_j w_ij x_j‖² and add up to one for every i, the coefficients minimize

        Σ_i ‖f(x_i) − Σ_j w_ij f(x_j)‖²   subject to   Σ_i f(x_i) f(x_i)' = I.

    Labels are only used by the nearest-neighbor rule.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        "auto" tries a few dimensions from half to four times the number of classes, and takes the one
        in which the nearest other training sample predicts the most labels. None takes all of them.
    degree : int, default=2
        p, the highest power. 1 is `NPE`.
    n_neighbors : int, default=5
        Number of nearest samples that reconstruct a sample (all if there are no more). None uses all.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to the objective A, A + ρI. "auto" is 3
        if the largest possible rank of A is less than three times the number of axes, as for images, and
        None otherwise. None adds nothing, or 1e-3 if A is singular on those axes. With 0, a singular A
        raises an error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of constraint to objective of every coordinate, descending. In [1]_, eigenvalues are
        the inverse of these.
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
    NPE : The same objective for linear maps.

    Notes
    -----
    A fit takes O(N²) memory for the distances. Sparse samples are made dense. For n > N, linear maps
    suffice for every embedding of the training samples. Departs from [1]_: samples are centered before
    powers are computed, every power is divided by its size, and a ridge is added to the objective if
    there are few samples. A rotation of the features changes the powers and the map. Principal axes are
    computed from the powers. Certified radii are for kernel and linear maps only.

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
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.degree = degree
        self.n_neighbors = n_neighbors
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        R = residual_matrix(lengths.D2, self.n_neighbors)
        return Forms(total_scatter(Z), residual_scatter(R, Z), residual_rank(R))

    def _space(self, lengths: Lengths) -> Space:
        # Powers depend on the origin, which is therefore the mean, to the last digit.
        metric, mean = lengths.metric, lengths.Z.mean(axis=0)
        metric, Z = replace(metric, shift=metric.shift + mean / metric.scale), lengths.Z - mean
        sizes = power_sizes(Z, self.degree)
        mean, axes, scores = principal_axes(powers(Z, sizes), self.pca)
        return Space(scores, lambda V: PolynomialMap(metric, sizes, mean, axes.T @ V))

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
