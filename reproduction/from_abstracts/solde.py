"""SOLDE: stable orthogonal local discriminant embedding, from an abstract.

There are three graphs: *similarity* S and *diversity* H between neighbors of the same class, and F
between neighbors of different classes, with weights

    S_ij = F_ij = exp(−‖x_i − x_j‖²/β),     H_ij = 1 − exp(−‖x_i − x_j‖²/β).

Neighbors of a class are drawn together, but not onto one point: A = α L_S − (1 − α) L_H is the Laplacian
of the weights S_ij − (1 − α) on the edges within classes. Directions are found one by one. Each has the
largest v'X'L_F Xv / v'X'AXv among those orthogonal to all before. With A = R'R and u = Rv this is the
leading eigenvector of R⁻ᵀBR⁻¹ among the u that are orthogonal to all R⁻ᵀv_j.

The paper was not available (Gao, Ma, Zhang, Gao and Liu, IEEE Transactions on Image Processing 22(7),
2521-2531, 2013). Graphs and objective are those that a later paper on trace ratios states for it (Yang
et al. 2017). Neighbors are searched within a class and outside it, as in `nsse.methods.LDE`.
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
    Forms,
    LinearMethod,
    graph_checks,
    graph_scatter,
    within_classes,
)
from nsse.methods._method import Lengths, gaussian_graph, graph_rank, mean_squared_length
from nsse.methods.lde import discriminant_edges

# With at least so many axes, Lanczos iterations find one eigenvector faster than LAPACK.
LANCZOS = 100


def check_similarity(name: str, value: Any) -> None:
    """Check for a number from 0.5 to 1."""
    cure = "0.9 is a good start, and 1 ignores diversity."
    if not 0.5 <= check_number(name, value, positive=True, cure=cure) <= 1:
        raise rule_error(name, "be a number from 0.5 to 1", value, cure)


class SOLDE(LinearMethod):
    """Separate neighbors of different classes by orthonormal directions and keep variation in classes.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding. "auto" takes ``n_classes - 1``, but at least three if there are as
        many principal axes. None takes all axes.
    alpha : float, default=0.9
        α, from 0.5 to 1: the weight of similarity compared with diversity. 1 ignores diversity. Edges
        with S_ij < 1 − α push neighbors apart. If they outweigh the others, an error is raised.
    n_neighbors, n_neighbors_between, beta, length_unit, pca, reg
        As for `nsse.methods.LDE`. `beta` is by default at least so large that no edge within a class
        pushes its ends apart.

    Attributes
    ----------
    components_, mean_, embedding_, eigenvalues_, beta_, length_unit_
        As for `nsse.methods.LDE`. Columns are orthonormal, so coordinates have the unit of the samples.
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
        pca: float | None = None,
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

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        within, between = discriminant_edges(
            lengths.D2, codes, self.n_neighbors, self.n_neighbors_between
        )
        width = self.beta or similar_width(lengths.D2, within, between, self.alpha)
        S, F = (gaussian_graph(lengths.D2, edges, width) for edges in (within, between))
        self.length_unit_, self.beta_ = lengths.unit, width * lengths.unit * lengths.unit
        rank, A = graph_rank(S), S.copy()
        A.data = A.data - (1.0 - self.alpha)  # α S − (1 − α)(1 − S)
        intrinsic = graph_scatter(A, within_classes(Z, codes))
        if np.trace(intrinsic) < 0:  # diversity outweighs similarity in sum
            raise self._diverse()
        return Forms(graph_scatter(F, Z), intrinsic, rank)

    def _diverse(self) -> ValueError:
        rule = "be large enough for similarity to outweigh diversity along every direction"
        cure = "Raise it, or `reg`, or `beta`. 1 ignores diversity."
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
    """Return the mean squared length of the edges, or more if S must exceed 1 − α within classes."""
    width, longest = mean_squared_length(D2, within, between), float(D2[within].max(initial=0.0))
    return max(width, longest / -np.log(1.0 - alpha)) if alpha < 1 else width


def orthogonal_directions(B: Floats, R: Floats, d: int) -> tuple[Floats, Floats]:
    """Return the d largest v'Bv/v'R'Rv, each orthogonal to the ones before, and the directions v."""
    half = linalg.solve_triangular(R, B, trans="T", check_finite=False)
    C = linalg.solve_triangular(R, half.T, trans="T", check_finite=False)
    C = (C + C.T) / 2
    values, V, Q = np.empty(d), np.empty((len(B), d)), np.empty((len(B), d))
    for j in range(d):
        values[j], u = leading_vector(C, Q[:, :j])
        v = linalg.solve_triangular(R, u, check_finite=False)
        v -= V[:, :j] @ (V[:, :j].T @ v)  # orthogonal up to rounding before
        V[:, j] = v / np.linalg.norm(v)
        q = linalg.solve_triangular(R, V[:, j], trans="T", check_finite=False)
        for _ in range(2):  # twice, because R may be far from orthogonal
            q -= Q[:, :j] @ (Q[:, :j].T @ q)
        Q[:, j] = q / np.linalg.norm(q)
    return np.maximum(values, 0.0), V


def leading_vector(C: Floats, Q: Floats) -> tuple[float, Floats]:
    """Return the largest eigenvalue of (I − QQ') C (I − QQ') and its vector, orthogonal to Q."""
    n = len(C)

    def projected(u: Floats) -> Floats:
        return np.asarray(u - Q @ (Q.T @ u))

    if n < LANCZOS:
        # The eigenvalues on the span of Q become −1, below all of C ⪰ 0.
        P = np.eye(n) - Q @ Q.T
        values, U = linalg.eigh(P @ C @ P - Q @ Q.T, subset_by_index=(n - 1, n - 1))
        return float(values[0]), U[:, 0]
    operator = LinearOperator((n, n), matvec=lambda u: projected(C @ projected(u)), dtype=np.float64)
    values, U = eigsh(operator, k=1, which="LA", v0=projected(C @ projected(np.ones(n))))
    return float(values[0]), projected(U[:, 0])
