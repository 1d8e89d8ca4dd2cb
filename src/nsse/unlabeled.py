"""Use samples without a label, by a penalty on neighboring class scores or by label propagation.

`GraphPenalty` adds μ Σ w_ij ‖s(x_i) − s(x_j)‖² over the edges of the graph that joins every row to its
nearest ones. Its Laplacian is divided by the mean degree, and is one more matrix in the sums of the
regression. `LabelPropagation` first gives labels to all rows along that graph, minimizing

    Σ_labeled ‖t_i − F_i‖² + κ tr(F'LF) + ε‖F‖²,    so (J + κL + εI) F = JT

(Zhu, Ghahramani & Lafferty 2003; Zhou et al. 2004), and the regression then learns from all of them. It
is used for many rows and few centers, which cannot follow the graph. If there are few labels, F is
nearly constant away from them (Nadler, Srebro & Zhou 2009), so columns are compared in units of their
own deviation. The graph uses distances in the metric of the model, or Euclidean ones, because a metric
that was learned from few labels can be worse than none if there are enough rows for a dense graph.
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
from nsse._support.types import Bools, Floats, Ints, Matrix, SamplesLike
from nsse.distances import squared_distances, squared_norms
from nsse.graphs import BLOCK_ROWS, degrees, laplacian, neighbor_graph
from nsse.metrics.learned import centered
from nsse.ridge import KernelSums, Sums
from nsse.rows import Rows

__all__ = ["GraphPenalty", "LabelPropagation", "UnlabeledUse"]

# Weights of the graph penalty that a search compares.
WEIGHTS = (1.0, 10.0, 100.0)
# ε, which determines rows without any influence of labels. It is small compared with the 1 of a label.
PRICE = 1e-4
# The tolerance of conjugate gradients, as a share of the right-hand side, and the largest number of
# steps.
TOLERANCE, MOST_STEPS = 1e-6, 5000


class UnlabeledUse(BaseEstimator):
    """Base class of the ways to use unlabeled samples.

    Pass an object of a subclass as the parameter ``unlabeled`` of `SmoothEmbedding`. A fit first calls
    `labels`, which may give labels to rows that have none. The regression is then solved by `sums`, or
    directly if `is_exact` is True and the centers are the rows. All members have defaults. With the
    defaults, unlabeled rows are centers of the map and have no other influence. A use
    that adds a penalty on class scores defines `roughness`.

    As in scikit-learn, parameters are arguments of ``__init__`` and are stored under the same names. A
    file cannot contain your own subclass. Set ``unlabeled`` of the fitted model to None before you save
    it.

    Attributes
    ----------
    marker : int, str or None
        The label of samples without one. The default is -1. Missing labels (None, NaN) always count as
        no label. If it is None, only missing labels do.
    is_exact : bool
        Whether `labels` gives every row a label, and neither `roughness` nor `sums` is replaced. The
        regression is then an ordinary one, so that fits whose centers are the rows need no sums. A fit
        raises an error if it is True and a row has no label. The default is False, which is right for
        every use.

    See Also
    --------
    GraphPenalty, LabelPropagation : The uses of nsse.
    nsse.SmoothEmbedding : Takes a use as ``unlabeled``.

    Examples
    --------
    A use that gives every unlabeled row the label of the nearest labeled row:

    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from nsse import SmoothEmbedding
    >>> from nsse.unlabeled import UnlabeledUse
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import pairwise_distances_argmin
    >>> class NearestLabel(UnlabeledUse):
    ...     is_exact = True
    ...
    ...     def labels(self, near):
    ...         Z, known = near.held(), near.is_labeled
    ...         nearest = pairwise_distances_argmin(Z, Z[known])
    ...         return replace(near, codes=np.where(known, near.codes, near.codes[known][nearest]))
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(500) < 50, y[:500], -1)
    >>> model = SmoothEmbedding(unlabeled=NearestLabel()).fit(X[:500], few)
    >>> bool(model.score(X[500:], y[500:]) > 0.7)
    True
    """

    marker: Any = -1
    is_exact: bool = False

    @property
    def has_own_graph(self) -> bool:
        """Whether labels are propagated along a graph that does not depend on labels or the metric."""
        return False

    def candidates(self, is_exact: bool) -> list[UnlabeledUse]:
        """Return other uses that a search compares with this one. The default is none.

        Parameters
        ----------
        is_exact : bool
            Whether the centers of the model are its training samples.
        """
        return []

    def labels(self, near: Rows) -> Rows:
        """Return the rows with the labels that the regression learns from.

        The default returns the rows as they are.

        Parameters
        ----------
        near : Rows
            The training rows in the metric of the model. ``near.held()`` contains them all,
            ``near.codes`` contains for each row the position of its label in ``near.classes``, or −1 if
            it has none, and ``near.is_labeled`` is True for rows that have one.

        Returns
        -------
        Rows
            The same rows, for example ``dataclasses.replace(near, codes=codes)``. Rows that have a
            label keep it.
        """
        return near

    def sums(self, near: Rows, of_block: KernelSums) -> Sums:
        """Return the sums that the regression is solved with.

        The default returns the sums over the rows that have a label.

        Parameters
        ----------
        near : Rows
            The rows that `labels` returned.
        of_block : KernelSums
            ``of_block(Z, codes, weights)`` returns the sums over rows Z, without those whose code is −1.
            ``of_block.kernel`` is the kernel k and ``of_block.centers`` are the centers z_j.

        Returns
        -------
        Sums
            ``products``, with Σ_i w_i k(x_i, z_j) k(x_i, z_l) in its lower half, ``by_class``, with
            Σ w_i k(x_i, z_j) over the rows of each class, and ``sizes``, the weight of each class. A use
            adds a penalty C'PC on the coefficients C by adding P to ``products``.
        """
        sums: Sums = near.source.fold(of_block, near.codes, near.weights)
        P = self.roughness(near)
        if P is None:
            return sums
        K = of_block.kernel.between(near.held(), of_block.centers)
        return replace(sums, products=sums.products + K.T @ (P @ K))

    def roughness(self, near: Rows) -> sparse.csr_array | None:
        """Return P of a penalty tr(S'PS) on the class scores S of all rows. The default, None, is none.

        Parameters
        ----------
        near : Rows
            The rows that `labels` returned.
        """
        return None


class Labeled(UnlabeledUse):
    """The use for samples that all have a label."""

    marker = None
    is_exact = True


class GraphPenalty(UnlabeledUse):
    """Penalize differences of class scores between neighboring samples, labeled or not.

    Parameters
    ----------
    weight : float, default=1.0
        μ, the weight of the penalty.
    marker : int, str or None, default=-1
        The label of samples without one. Missing labels (None, NaN) always mark such samples.
    n_neighbors : int, default=3
        Number of nearest samples to which every sample is joined.

    See Also
    --------
    LabelPropagation : For many samples and few centers.

    Examples
    --------
    >>> from nsse import SmoothEmbedding
    >>> from nsse.unlabeled import GraphPenalty
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[50:] = -1
    >>> model = SmoothEmbedding(unlabeled=GraphPenalty()).fit(X[:500], y[:500])
    >>> model.transduction_.shape
    (500,)
    """

    def __init__(self, weight: float = 1.0, *, marker: Any = -1, n_neighbors: int = 3) -> None:
        self.weight = weight
        self.marker = marker
        self.n_neighbors = n_neighbors

    def candidates(self, is_exact: bool) -> list[UnlabeledUse]:
        """Return penalties of several weights, and the propagation of labels."""
        return usual_uses(is_exact, self.marker, self.n_neighbors)

    def roughness(self, near: Rows) -> sparse.csr_array | None:
        """Return μL. Rows are stored."""
        weight = check_number("weight", self.weight, cure="0 leaves only the centers at these samples.")
        k = check_count("n_neighbors", self.n_neighbors, cure="3 is a good start.")
        if weight == 0.0:
            return None
        return mean_degree_laplacian(neighbor_graph(near.held(), k)) * weight


class LabelPropagation(UnlabeledUse):
    """Propagate labels to all samples along a graph of neighbors, before the model learns from them.

    Parameters
    ----------
    weight : float, default=1.0
        κ, the weight of the smoothness of labels along the graph.
    marker : int, str or None, default=-1
        The label of samples without one. Missing labels (None, NaN) always mark such samples.
    n_neighbors : int, default=3
        Number of nearest samples to which every sample is joined.
    metric : {"model", "euclidean"}, default="model"
        The distance of the graph. "euclidean" is for very many samples and few labels, which are not
        sufficient for learning a metric.

    See Also
    --------
    GraphPenalty : For some thousand samples.

    Examples
    --------
    >>> from nsse import SmoothEmbedding
    >>> from nsse.unlabeled import LabelPropagation
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[50:] = -1
    >>> model = SmoothEmbedding(unlabeled=LabelPropagation(), centers=200).fit(X[:500], y[:500])
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

    @property
    def has_own_graph(self) -> bool:
        """Whether the graph is the Euclidean one."""
        return bool(self.metric == "euclidean")

    def candidates(self, is_exact: bool) -> list[UnlabeledUse]:
        """Return penalties of several weights, and the propagation of labels."""
        return usual_uses(is_exact, self.marker, self.n_neighbors)

    def labels(self, near: Rows) -> Rows:
        """Return all rows with a label, their own or the propagated one."""
        if near.is_labeled.all():
            return near
        places = np.flatnonzero(near.is_labeled)
        is_own = check_choice("metric", self.metric, ("model", "euclidean")) == "model"
        Z = near.held() if is_own else in_the_middle(near.source.base.take(np.arange(len(near))))
        return replace(near, codes=self.along(Z)(places, near.codes[places], len(near.classes)))

    def along(self, Z: Matrix) -> Callable[[Ints, Ints, int], Ints]:
        """Propagate labels along the graph of some rows, as `spread_labels` does."""
        kappa = check_number("weight", self.weight, positive=True, cure="1.0 is a good start.")
        k = check_count("n_neighbors", self.n_neighbors, cure="3 is a good start.")
        return partial(spread_labels, Z, neighbor_graph(Z, k), kappa)


def usual_uses(is_exact: bool, marker: Any, n_neighbors: int) -> list[UnlabeledUse]:
    """Return the uses that a search compares.

    With fewer centers than samples, class scores cannot follow a graph, so only labels are propagated.
    With so many samples, the Euclidean graph is dense, and it can be better than one in a metric that
    was learned from few labels.
    """
    own = {"marker": marker, "n_neighbors": n_neighbors}
    if not is_exact:
        return [LabelPropagation(**own), LabelPropagation(**own, metric="euclidean")]
    return [*(GraphPenalty(weight, **own) for weight in WEIGHTS), LabelPropagation(**own)]


def use_of_unlabeled(unlabeled: Any) -> UnlabeledUse:
    """Return the object that an `unlabeled` parameter means. None takes every value of y as a label."""
    if unlabeled is None:
        return Labeled()
    if not isinstance(unlabeled, UnlabeledUse):
        rule = "be None, a GraphPenalty, a LabelPropagation or an object of a subclass of UnlabeledUse"
        cure = "Pass unlabeled=GraphPenalty(marker=-1), or LabelPropagation(marker=-1) for many samples."
        raise rule_error("unlabeled", rule, unlabeled, cure)
    has_roughness = type(unlabeled).roughness is not UnlabeledUse.roughness
    if unlabeled.is_exact and (has_roughness or has_own_sums(unlabeled)):
        rule = "leave `is_exact` False if it defines `roughness` or `sums`, which exact fits do not call"
        raise rule_error("unlabeled", rule, unlabeled, "Remove one of them from its class.")
    return unlabeled


def has_own_sums(use: UnlabeledUse) -> bool:
    """Whether the class of a use replaces `sums`."""
    return type(use).sums is not UnlabeledUse.sums


def labeled_by(use: UnlabeledUse, near: Rows) -> Rows:
    """Return the rows with the labels that a use gives them, after a check of these labels."""
    found = use.labels(near)
    if found is near and not use.is_exact:
        return near
    least = 0 if use.is_exact else -1
    codes = np.asarray(found.codes) if isinstance(found, Rows) else np.empty(0)
    cure = "Check its method `labels`."
    if len(codes) != len(near) or codes.dtype.kind != "i":
        rule = f"return from `labels` the {len(near)} rows, with whole numbers as codes"
        raise rule_error("unlabeled", rule, codes if isinstance(found, Rows) else found, cure)
    is_kept = np.array_equal(codes[near.is_labeled], near.codes[near.is_labeled])
    if not is_kept or codes.min() < least or codes.max() >= len(near.classes):
        rule = f"keep labels that are given, and return codes from {least} to {len(near.classes) - 1}"
        if use.is_exact:
            cure += " If some rows remain without a label, set `is_exact` to False."
        raise rule_error("unlabeled", rule, codes, cure)
    return found


def in_the_middle(X: SamplesLike) -> Any:
    """Center rows in their own precision, so that distances keep their digits."""
    return centered(X)(X).astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)


def mean_degree_laplacian(W: sparse.csr_array) -> sparse.csr_array:
    """Divide L by the mean degree, so that a weight has the same meaning for every graph."""
    mean = float(degrees(W).mean())
    return sparse.csr_array(laplacian(W) / (mean if mean > 0 else 1.0))


def spread_labels(
    Z: Matrix, W: sparse.csr_array, kappa: float, places: Ints, codes: Ints, n_classes: int
) -> Ints:
    """Return the class of every row, which is its own at ``places`` and the propagated one elsewhere."""
    scores = spread_scores(W, places, codes, n_classes, kappa)
    found = np.asarray(scores.argmax(axis=1), dtype=np.intp)
    found[places] = codes
    reached = np.isfinite(scores[:, 0])
    found[~reached] = found[nearest_reached(Z, reached)]
    return found


def spread_scores(
    W: sparse.csr_array, places: Ints, codes: Ints, n_classes: int, kappa: float
) -> Floats:
    """Return F (N × M) in deviations of its columns, and −inf for rows that no path joins to a label."""
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


def nearest_reached(Z: Matrix, reached: Bools) -> Ints:
    """Return the nearest labeled row for every row that no label reached."""
    known, lost = np.flatnonzero(reached), np.flatnonzero(~reached)
    near, squares = Z[known], squared_norms(Z[known])
    parts = [lost[start : start + BLOCK_ROWS] for start in range(0, len(lost), BLOCK_ROWS)]
    found = [known[squared_distances(Z[part], near, squares).argmin(axis=1)] for part in parts]
    return np.concatenate([np.empty(0, dtype=np.intp), *found])


def conjugate_gradients(A: Any, B: Floats) -> Floats:
    """Return A⁻¹B for a sparse positive definite A, for all columns at a time, each with its own steps.

    SciPy's function takes one column. A product of A with all columns costs little more than with one.
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
    raise np.linalg.LinAlgError(f"{message} Lower the weight of LabelPropagation.")


def _over(a: Floats, b: Floats) -> Floats:
    """Return a/b, or 0 if a column is solved exactly."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
