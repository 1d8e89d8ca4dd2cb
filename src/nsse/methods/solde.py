"""SOLDE: stable orthogonal local discriminant embedding (Gao, Ma, Zhang, Gao & Liu 2013).

Three graphs: *similarity* S and *diversity* H between neighbours of the same class, F between
neighbours of different ones, with weights

    S_ij = F_ij = exp(−‖x_i − x_j‖²/β),     H_ij = 1 − exp(−‖x_i − x_j‖²/β).

Neighbours of a class are drawn together, but not onto one point: A = α L_S − (1 − α) L_H is the
Laplacian of the weights S_ij − (1 − α) on the edges within classes. Directions are found one by one,
each with the largest v'X'L_F Xv / v'X'AXv among those orthogonal to all before. With A = R'R and u =
Rv that is the leading eigenvector of R⁻ᵀBR⁻¹ among u orthogonal to all R⁻ᵀv_j.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from nsse._support.errors import rule_error
from nsse._support.parameters import check_number
from nsse._support.types import Bools, Floats, Ints
from nsse.methods._graph_embedding import (
    Form,
    Forms,
    LinearMethod,
    graph_checks,
    graph_form,
    inside_classes,
)
from nsse.methods._method import Lengths, gaussian_graph, graph_rank, mean_squared_length
from nsse.methods.lde import discriminant_edges

# Axes from which on Lanczos iterations find one eigenvector faster than LAPACK.
LANCZOS = 100


def check_similarity(name: str, value: Any) -> None:
    """A number from 0.5 to 1."""
    cure = "0.9 is a fair start; 1 leaves diversity out."
    if not 0.5 <= check_number(name, value, positive=True, cure=cure) <= 1:
        raise rule_error(name, "be a number from 0.5 to 1", value, cure)


class SOLDE(LinearMethod):
    """Stable orthogonal local discriminant embedding.

    A linear map with orthonormal columns that separates neighbours of different classes, draws those
    of the same class together, and keeps their variation [1]_. One after the other, a column v has the
    largest

        v'X'L_F Xv / v'X'(α L_S − (1 − α) L_H)Xv

    among those orthogonal to all before, with Laplacians of graphs of neighbours, of the same class
    with weights S_ij = exp(−‖x_i − x_j‖²/β) and H_ij = 1 − S_ij, of different classes with weights
    F_ij = exp(−‖x_i − x_j‖²/β).

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        "auto" takes ``n_classes - 1`` of them, but three for fewer than four classes, or all where
        there are no more. None takes them all.
    alpha : float, default=0.9
        α, from 0.5 to 1: how much similarity counts beside diversity. 1 leaves diversity out.
    n_neighbors : int, default=5
        Nearest samples of the same class joined in S and H (all of them in a class that has no more).
        None joins all pairs of the same class.
    n_neighbors_between : int, default=20
        Nearest samples of other classes joined in F. None joins all pairs of different classes.
    beta : float, default=None
        Width β of the weights, in squared units of length. None takes the mean squared length of the
        edges, or more where the longest edge within a class would push its ends apart otherwise.
    length_unit : {"median"} or float, default="median"
        The unit in which `beta` is understood: the median distance between training samples, so that
        rescaling X changes nothing, or a length given as a number.
    pca : {"auto"}, int, float or None, default=None
        The principal axes on which the problem is solved. None: all along which the samples vary. An
        int: so many. A float between 0 and 1: the fewest that hold this share of the variance. "auto":
        all, but where these are more than the form A = X'(α L_S − (1 − α) L_H)X can have rank, the
        fewest that hold 95 % of the variance, and no more than that rank.
    reg : {"auto"}, float or None, default=0.3
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to A, A + ρI.
        "auto" is 0.3 where samples are few, that is where A can have a rank less than three times the
        number of axes, as for images; else None. None adds none, or 1e-3 if A is singular on those
        axes. With 0 a singular A is an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map: transform gives ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        The training samples, embedded.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of every column, descending.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added; 0.0 if none.
    beta_ : float
        β, in squared units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    map_ : LinearMap
        What `transform` does.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    LDE : Without diversity, its directions not orthogonal.

    Notes
    -----
    O(N²) memory for the distances. Sparse samples are accepted and made dense. Orthonormal columns
    keep the unit of the samples. For n > N [1]_ projects on principal axes first. The text of [1]_ was
    not at hand; graphs and objective are those that its successor by trace ratios (Yang et al. 2017)
    gives for it, with neighbours looked for in a class and outside it, as in `LDE`. Edges with S_ij <
    1 − α push neighbours apart: where they outweigh the others, α is refused as too small.

    References
    ----------
    .. [1] Q. Gao, J. Ma, H. Zhang, X. Gao and Y. Liu, "Stable orthogonal local discriminant embedding
       for linear dimensionality reduction", IEEE Transactions on Image Processing 22(7), 2521-2531,
       2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import SOLDE
    >>> X, y = load_iris(return_X_y=True)
    >>> SOLDE(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = graph_checks(alpha=check_similarity)

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        alpha: float = 0.9,
        n_neighbors: int | None = 5,
        n_neighbors_between: int | None = 20,
        beta: float | None = None,
        length_unit: str | float = "median",
        pca: str | int | float | None = None,
        reg: str | float | None = 0.3,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between
        self.beta = beta
        self.length_unit = length_unit
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints) -> Forms:
        within, between = discriminant_edges(
            lengths.D2, codes, self.n_neighbors, self.n_neighbors_between
        )
        width = self.beta or similar_width(lengths.D2, within, between, self.alpha)
        S, F = (gaussian_graph(lengths.D2, edges, width) for edges in (within, between))
        self.length_unit_, self.beta_ = lengths.unit, width * lengths.unit * lengths.unit
        rank, A = graph_rank(S), S.copy()
        A.data = A.data - (1.0 - self.alpha)  # α S − (1 − α)(1 − S)
        return Forms(graph_form(F), self._outweighing(inside_classes(graph_form(A), codes)), rank)

    def _outweighing(self, form: Form) -> Form:
        """The form, refused where diversity outweighs similarity in sum."""

        def checked(Z: Floats) -> Floats:
            A = form(Z)
            if np.trace(A) < 0:
                raise self._diverse()
            return A

        return checked

    def _diverse(self) -> ValueError:
        rule = "be large enough for similarity to outweigh diversity along every direction"
        cure = "Raise it, or `reg`, or `beta`: 1 leaves diversity out."
        return rule_error("alpha", rule, self.alpha, cure)

    def _directions(self, B: Floats, A: Floats, d: int) -> tuple[Floats, Floats]:
        try:
            R = linalg.cholesky(A, check_finite=False)
        except linalg.LinAlgError:
            raise self._diverse() from None
        return orthogonal_directions(B, R, d)

    def _columns(self, V: Floats, values: Floats, unit: float) -> Floats:
        return V / unit


def similar_width(D2: Floats, within: Bools, between: Bools, alpha: float) -> float:
    """The mean squared length of the edges, or what keeps S above 1 − α on all edges within classes."""
    width, longest = mean_squared_length(D2, within, between), float(D2[within].max(initial=0.0))
    return max(width, longest / -np.log(1.0 - alpha)) if alpha < 1 else width


def orthogonal_directions(B: Floats, R: Floats, d: int) -> tuple[Floats, Floats]:
    """The largest v'Bv/v'R'Rv among v orthogonal to those before, d times, and the v, orthonormal."""
    half = linalg.solve_triangular(R, B, trans="T", check_finite=False)
    C = linalg.solve_triangular(R, half.T, trans="T", check_finite=False)
    C = (C + C.T) / 2
    values, V, Q = np.empty(d), np.empty((len(B), d)), np.empty((len(B), d))
    for j in range(d):
        values[j], u = leading_vector(C, Q[:, :j])
        v = linalg.solve_triangular(R, u, check_finite=False)
        v -= V[:, :j] @ (V[:, :j].T @ v)  # orthogonal already, up to rounding
        V[:, j] = v / np.linalg.norm(v)
        q = linalg.solve_triangular(R, V[:, j], trans="T", check_finite=False)
        for _ in range(2):  # once more: R may be far from orthogonal
            q -= Q[:, :j] @ (Q[:, :j].T @ q)
        Q[:, j] = q / np.linalg.norm(q)
    return np.maximum(values, 0.0), V


def leading_vector(C: Floats, Q: Floats) -> tuple[float, Floats]:
    """The largest eigenvalue of (I − QQ') C (I − QQ') and its vector, orthogonal to Q."""
    n = len(C)

    def projected(u: Floats) -> Floats:
        return np.asarray(u - Q @ (Q.T @ u))

    if n < LANCZOS:
        # What Q spans goes to −1, below all of C ⪰ 0.
        P = np.eye(n) - Q @ Q.T
        values, U = linalg.eigh(P @ C @ P - Q @ Q.T, subset_by_index=(n - 1, n - 1))
        return float(values[0]), U[:, 0]
    operator = LinearOperator((n, n), matvec=lambda u: projected(C @ projected(u)), dtype=np.float64)
    values, U = eigsh(operator, k=1, which="LA", v0=projected(C @ projected(np.ones(n))))
    return float(values[0]), projected(U[:, 0])
