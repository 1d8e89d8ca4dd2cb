"""Samples without a label: scores that change little between neighbours, or labels that spread first.

`Smooth` adds μ Σ w_ij ‖s(x_i) − s(x_j)‖² over the edges of the graph that joins every row to its
nearest ones, its Laplacian divided by the mean degree: one more matrix in the sums of the regression.
`Spread` first gives labels to all rows along that graph, minimising

    Σ_labelled ‖t_i − F_i‖² + κ tr(F'LF) + ε‖F‖²,    so (J + κL + εI) F = JT

(Zhu, Ghahramani & Lafferty 2003; Zhou et al. 2004), and lets the regression learn from all of them: for
many rows and few centres, which cannot follow the graph. Where labels are few, F is nearly constant
away from them (Nadler, Srebro & Zhou 2009), so columns are compared in units of their own deviation.
The graph is one of distances in the metric of the model, or of Euclidean ones: a metric that was
learned from few labels can be worse than none where there are rows enough for a dense graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from nsse._support.errors import rule_error
from nsse._support.parameters import check_choice, check_count, check_number
from nsse._support.types import Bools, Floats, Ints
from nsse.distances import squared_distances, squared_norms
from nsse.graphs import BLOCK_ROWS, degrees, laplacian, neighbor_graph
from nsse.metrics.learned import centred
from nsse.ridge import KernelSums, Sums
from nsse.rows import Rows

# ε, which settles what no label does: small beside the 1 of a label.
PRICE = 1e-4
# Where conjugate gradients stop, as a share of the right-hand side, and the steps by which they must.
TOLERANCE, MOST_STEPS = 1e-6, 5000


class Labeled:
    """Every sample has a label: nothing is added."""

    marker = None
    is_exact = True

    def labels(self, near: Rows) -> Rows:
        """The rows as they are."""
        return near

    def sums(self, near: Rows, of_block: KernelSums) -> Sums:
        """Sums over all blocks of labelled rows."""
        return near.source.fold(of_block, near.codes, near.weights)


class Smooth(BaseEstimator):
    """Class scores that change little between neighbouring samples, labelled or not.

    Parameters
    ----------
    weight : float, default=1.0
        μ, the weight of that smoothness.
    marker : int, str or None, default=-1
        The label of samples without one; missing labels (None, NaN) are always meant.
    n_neighbors : int, default=3
        Nearest samples that every sample is joined to.

    See Also
    --------
    Spread : For many samples and few centres.

    Examples
    --------
    >>> from nsse import Smooth, SmoothEmbedding
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[50:] = -1
    >>> model = SmoothEmbedding(unlabeled=Smooth()).fit(X[:500], y[:500])
    >>> model.transduction_.shape
    (500,)
    """

    is_exact = False

    def __init__(self, weight: float = 1.0, *, marker: Any = -1, n_neighbors: int = 3) -> None:
        self.weight = weight
        self.marker = marker
        self.n_neighbors = n_neighbors

    def labels(self, near: Rows) -> Rows:
        """The rows as they are."""
        return near

    def sums(self, near: Rows, of_block: KernelSums) -> Sums:
        """Sums over the labelled rows, and μ K'LK over all: rows and kernel values are held."""
        weight = check_number("weight", self.weight, cure="0 leaves only the centres at these samples.")
        k = check_count("n_neighbors", self.n_neighbors, cure="3 is a good start.")
        Z = near.held()
        total = of_block(Z, near.codes, near.weights)
        if weight == 0.0:
            return total
        L = mean_degree_laplacian(neighbor_graph(Z, k))
        K = of_block.kernel.between(Z, of_block.centers)
        return replace(total, products=total.products + weight * (K.T @ (L @ K)))


class Spread(BaseEstimator):
    """Labels given to all samples along the graph of neighbours before the model learns from them.

    Parameters
    ----------
    weight : float, default=1.0
        κ, the weight of the smoothness of labels along the graph.
    marker : int, str or None, default=-1
        The label of samples without one; missing labels (None, NaN) are always meant.
    n_neighbors : int, default=3
        Nearest samples that every sample is joined to.
    metric : {"model", "euclidean"}, default="model"
        What nearest means. "euclidean" is for very many samples and few labels, from which a metric
        that is good for a graph cannot be learned.

    See Also
    --------
    Smooth : For some thousand samples.

    Examples
    --------
    >>> from nsse import SmoothEmbedding, Spread
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[50:] = -1
    >>> model = SmoothEmbedding(unlabeled=Spread(), centers=200).fit(X[:500], y[:500])
    >>> model.transduction_.shape
    (500,)
    """

    is_exact = True

    def __init__(
        self, weight: float = 1.0, *, marker: Any = -1, n_neighbors: int = 3, metric: str = "model"
    ) -> None:
        self.weight = weight
        self.marker = marker
        self.n_neighbors = n_neighbors
        self.metric = metric

    def labels(self, near: Rows) -> Rows:
        """All rows with a label: their own, or the one that reached them."""
        if near.is_labeled.all():
            return near
        places = np.flatnonzero(near.is_labeled)
        is_own = check_choice("metric", self.metric, ("model", "euclidean")) == "model"
        Z = near.held() if is_own else in_the_middle(near.source.base.take(np.arange(len(near))))
        return replace(near, codes=self.along(Z)(places, near.codes[places], len(near.classes)))

    def along(self, Z: Any) -> Callable[[Ints, Ints, int], Ints]:
        """`spread_labels` along the graph of some rows, whichever of these have a label."""
        kappa = check_number("weight", self.weight, positive=True, cure="1.0 is a good start.")
        k = check_count("n_neighbors", self.n_neighbors, cure="3 is a good start.")
        return partial(spread_labels, Z, neighbor_graph(Z, k), kappa)

    def sums(self, near: Rows, of_block: KernelSums) -> Sums:
        """Sums over all blocks of rows, all of which have a label by now."""
        return Labeled().sums(near, of_block)


def use_of_unlabeled(unlabeled: Any) -> Any:
    """The object that an `unlabeled` parameter means; None takes every value of y as a label."""
    if unlabeled is None:
        return Labeled()
    is_class = isinstance(unlabeled, type)
    if is_class or not (hasattr(unlabeled, "labels") and hasattr(unlabeled, "sums")):
        cure = "Pass unlabeled=Smooth(marker=-1), or Spread(marker=-1) for many samples."
        raise rule_error("unlabeled", "be None, a Smooth or a Spread", unlabeled, cure)
    return unlabeled


def in_the_middle(X: Any) -> Any:
    """Rows less their middle, in their own precision: distances keep their digits."""
    return centred(X)(X).astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)


def mean_degree_laplacian(W: Any) -> sparse.csr_array:
    """L divided by the mean degree: its weight means the same for every graph."""
    mean = float(degrees(W).mean())
    return sparse.csr_array(laplacian(W) / (mean if mean > 0 else 1.0))


def spread_labels(Z: Any, W: Any, kappa: float, places: Ints, codes: Ints, n_classes: int) -> Ints:
    """The class of every row: its own at ``places``, or the one that reached it."""
    scores = spread_scores(W, places, codes, n_classes, kappa)
    found = np.asarray(scores.argmax(axis=1), dtype=np.intp)
    found[places] = codes
    reached = np.isfinite(scores[:, 0])
    found[~reached] = found[nearest_reached(Z, reached)]
    return found


def spread_scores(W: Any, places: Ints, codes: Ints, n_classes: int, kappa: float) -> Floats:
    """F (N × M) in units of its columns' deviations; −inf in rows that no path joins to a label."""
    L, N = mean_degree_laplacian(W), W.shape[0]
    J = np.zeros(N)
    J[places] = 1.0
    T = np.zeros((N, n_classes))
    T[places] = np.eye(n_classes)[codes] - np.bincount(codes, minlength=n_classes) / len(codes)
    F = conjugate_gradients(sparse.csr_array(L * kappa + sparse.diags_array(J + PRICE)), T)
    part = connected_components(L, directed=False)[1]
    reached = np.isin(part, part[places])
    deviation = F[reached].std(axis=0)
    F = (F - F[reached].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    F[~reached] = -np.inf
    return np.asarray(F)


def nearest_reached(Z: Any, reached: Bools) -> Ints:
    """For every row that no label reached, the nearest one that was."""
    known, lost = np.flatnonzero(reached), np.flatnonzero(~reached)
    near, squares = Z[known], squared_norms(Z[known])
    parts = [lost[start : start + BLOCK_ROWS] for start in range(0, len(lost), BLOCK_ROWS)]
    found = [known[squared_distances(Z[part], near, squares).argmin(axis=1)] for part in parts]
    return np.concatenate([np.empty(0, dtype=np.intp), *found])


def conjugate_gradients(A: Any, B: Floats) -> Floats:
    """A⁻¹B for a sparse positive definite A, all columns at a time, each with steps of its own.

    SciPy's takes one column: a product of A with all of them costs little more than with one.
    """
    scale = 1.0 / A.diagonal()[:, np.newaxis]
    X, R = np.zeros_like(B), B.copy()
    Z = R * scale
    P, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
    enough = TOLERANCE**2 * np.einsum("ij,ij->j", B, B)
    for _ in range(MOST_STEPS):
        if np.all(np.einsum("ij,ij->j", R, R) <= enough):
            return X
        AP = A @ P
        step = _over(rz, np.einsum("ij,ij->j", P, AP))
        X += step * P
        R -= step * AP
        np.multiply(R, scale, out=Z)
        before, rz = rz, np.einsum("ij,ij->j", R, Z)
        P *= _over(rz, before)
        P += Z
    message = f"Labels did not spread in {MOST_STEPS} steps of conjugate gradients."
    raise np.linalg.LinAlgError(f"{message} Lower the weight of Spread.")


def _over(a: Floats, b: Floats) -> Floats:
    """a/b, 0 where a column is solved to the last bit."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
