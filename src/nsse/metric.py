"""A metric that knows the classes: short along the directions in which neighbours of a class differ.

    S_w = Σ over edges (i, j) of ω_ij (x_i − x_j)(x_i − x_j)' / (2 Σ ω) = X'LX / (2 Σ ω),
    ρ = shrinkage · tr(S_w)/n,      A'A = ρ (S_w + ρI)⁻¹,

each edge of the within-class graph once, L its Laplacian, ω_ij the mean weight of its ends. It is
relevant component analysis (Bar-Hillel et al. 2003), shrunk, on the method's own graph. The singular
values of A lie in (0, 1]: a contraction. Any A with this A'A measures the same distances, so no
eigendecomposition is needed:

- n features, about as many rows: S_w + ρI = R'R, A = √ρ R⁻ᵀ;
- fewer rows than features: S_w = B'B with B = F'X/√(2 Σ ω), L = FF', and with BB' + ρI = MM',
  A = I − B'(M' + √ρ I)⁻¹ M⁻¹ B (Andrews 1968, the square root of a Kalman filter): nothing is n × n.

Features are weighted first by how much they have to do with the classes. Of the variance of a feature,
and of its distance from the median, the share r = 1 − [within/(N − M)] / [total/(N − 1)] lies between
classes: the adjusted η² of an analysis of variance. With r_j the larger of the two, not below 0,

    weight_j = max(√(r_j / max r), 1/20)^relevance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._support.errors import rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_count, check_number
from nsse.affine import Affine, is_sparse
from nsse.graphs import class_members, laplacian, within_class_graph
from nsse.rows import Rows, Source

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Half = tuple[Floats | None, Floats | None, Floats | None]
Root = Callable[[Floats, Floats | None, float], Half]

FLOATS = [np.float64, np.float32]
# What is left of a feature that says nothing: it may say something together with others.
LEAST_WEIGHT = 0.05
# With up to so many features per row, n × n matrices take less work.
WIDE = 1.4
# Share of the largest degree that makes a Laplacian, which is singular, factorisable.
RIDGE = 1e-11
# Rows whose median is the middle of all.
MIDDLE_ROWS = 15
# Values that are worked on at a time where rows leave a metric.
MOST_VALUES = 2_000_000
# Bytes of the largest matrix of a metric.
LARGEST = 2 * 1024**3
NO_SCATTER = (
    "The metric is the Euclidean one: no two different samples of a class were given, so nothing is "
    "known of how a class varies. Give more samples per class, or pass metric=None."
)


@dataclass(frozen=True)
class Scatter:
    """What a metric was learned from: S_w by its edges, and ρ.

    Attributes
    ----------
    edges : csr_array of shape (n_rows, n_rows)
        ω_ij / (2 Σ ω) of the joined rows.
    floor : float
        ρ, where rows are of order one (`centred`).
    """

    edges: sparse.csr_array
    floor: float

    def left_out_distances(self, D2: Floats, rows: Ints) -> Floats:
        """Squared distances of some rows to all, each in the metric without its own edges.

        ``D2`` are all squared distances behind A. S_w without the edges of row i is
        S_w − Σ_e c_e (x_i − x_e)(x_i − x_e)', so that with V of rows √c_e A(x_i − x_e) and
        q = V A(x_i − x_j) the distance of i and j is ‖A(x_i − x_j)‖² + q'(ρI − VV')⁻¹ q. ρ is kept.
        """
        counts = np.diff(self.edges.indptr)[rows]
        width = int(counts.max(initial=0))
        # Rows with fewer edges are filled up with edges to themselves, which weigh nothing.
        filled = np.arange(width) < counts[:, np.newaxis]
        ends, c = np.repeat(rows[:, np.newaxis], width, axis=1), np.zeros((len(rows), width))
        own = np.concatenate([np.arange(a, b) for a, b in zip(*self._ranges(rows), strict=True)])
        ends[filled], c[filled] = self.edges.indices[own], np.sqrt(self.edges.data[own])
        out, size = D2[rows], max(1, MOST_VALUES // max(1, width * len(D2)))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            out[part] += self._without(D2, rows[part], ends[part], c[part])
        return out

    def _ranges(self, rows: Ints) -> tuple[Any, Any]:
        return self.edges.indptr[rows], self.edges.indptr[rows + 1]

    def _without(self, D2: Floats, rows: Ints, ends: Ints, c: Floats) -> Floats:
        """q'(ρI − VV')⁻¹ q of some rows and all others."""
        # (u_e − u_i)'(u_i − u_j) = (‖u_e − u_j‖² − ‖u_i − u_j‖² − ‖u_e − u_i‖²)/2
        q = D2[ends]
        q -= D2[rows][:, np.newaxis]
        q -= D2[rows[:, np.newaxis], ends][:, :, np.newaxis]
        q *= c[:, :, np.newaxis] / 2.0
        inner = np.take_along_axis(q, ends[:, np.newaxis], axis=2) * c[:, np.newaxis]
        inner += self.floor * np.eye(ends.shape[1])
        y = np.linalg.inv(np.linalg.cholesky(inner)) @ q  # q'(LL')⁻¹ q = ‖L⁻¹ q‖²
        return np.einsum("rej,rej->rj", y, y)


class WithinMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Linear map that makes distances short along the directions in which neighbours of a class differ.

    ``A'A = ρ (S_w + ρI)⁻¹`` with S_w the scatter of the edges that join samples of a class to their
    nearest ones and ρ = shrinkage · tr(S_w)/n: light, pose or speaker count less than what tells
    classes apart. A is a contraction.

    Parameters
    ----------
    shrinkage : float, default=3.0
        How much the metric holds to the Euclidean one; ``inf`` is the Euclidean one.
    relevance : float, default=1.0
        How much features are shortened that tell little of the classes; 0 weighs all alike.
    n_neighbors : int or None, default=5
        Nearest samples of the same class that are joined; None joins all samples of a class.

    Attributes
    ----------
    affine_ : Affine
        What `transform` does: subtracts the mean and multiplies by A.
    weights_ : ndarray of shape (n_features,)
        What features are multiplied by first, from ``0.05 ** relevance`` to 1.
    scatter_ : Scatter or None
        The pairs of samples that it was learned from; None is the Euclidean metric.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Warns
    -----
    UserWarning
        If no two different samples of a class are joined: then A is the identity.

    See Also
    --------
    SmoothEmbedding : Has it inside, ``metric="within"``.

    References
    ----------
    .. [1] A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall, "Learning distance functions using
       equivalence relations", International Conference on Machine Learning, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from nsse import WithinMetric
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(WithinMetric(), KNeighborsClassifier(1)).fit(X[:200], y[:200])
    >>> model[:-1].transform(X).shape
    (1797, 64)
    """

    affine_: Affine

    def __init__(
        self, shrinkage: float = 3.0, *, relevance: float = 1.0, n_neighbors: int | None = 5
    ) -> None:
        self.shrinkage = shrinkage
        self.relevance = relevance
        self.n_neighbors = n_neighbors

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones are made dense.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every sample counts.

        Returns
        -------
        self
            The fitted transformer. If fit fails, it is as it was before.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        rows = Rows.of(Source.of(X), y, sample_weight)
        Z = dense_rows(rows.held())
        self.learn(Z, rows.codes, rows.weights, root=symmetric_root)
        mean = self.affine_.shift + np.average(Z - self.affine_.shift, axis=0, weights=rows.weights)
        self.affine_ = replace(self.affine_, shift=mean)
        return self

    def learn(
        self, X: Floats, codes: Ints, weight: Floats, per_sample: int = 1, root: Root | None = None
    ) -> None:
        """Learn from checked rows, of which ``per_sample`` are copies of one sample.

        ``root`` says which of the roots A of A'A; all measure the same distances.
        """
        self._check_parameters()
        n_neighbors = None if self.n_neighbors is None else self.n_neighbors * per_sample
        self.weights_ = feature_weights(X, codes, weight, float(self.relevance))
        euclidean = centred(X)
        Z = euclidean(X)
        Z *= self.weights_
        affine, scatter = Affine.diagonal(euclidean.shift, euclidean.scale * self.weights_), None
        if math.isfinite(self.shrinkage):
            half, scatter = contraction(
                Z, codes, weight, n_neighbors, float(self.shrinkage), root or fast_root
            )
            affine = Affine(affine.shift, affine.scale, affine.offset, affine.norm, *half)
        self.affine_ = affine.multiplied(1.0 / float(euclidean.scale[0]))
        self.scatter_: Scatter | None = scatter

    def transform(self, X: Any) -> NDArray[Any]:
        """Map samples to where Euclidean distances are those of the metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, new or old.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            A(x − mean) of every row, dense, in the floating-point type of ``X``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return np.asarray(self.affine_(dense_rows(X)).astype(X.dtype, copy=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        shrinkage, is_number = self.shrinkage, isinstance(self.shrinkage, Real)
        if not is_number or isinstance(shrinkage, bool) or not float(shrinkage) > 0:
            cure = "3.0 is a good start; inf is the Euclidean metric."
            raise rule_error("shrinkage", "be a positive number or inf", shrinkage, cure)
        check_number("relevance", self.relevance, cure="0 weighs all features alike.")
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, cure="None joins all samples of a class.")


def fitted_metric(metric: Any, rows: Rows) -> WithinMetric | None:
    """A `metric` parameter learned from labelled `Rows` in memory; None is the Euclidean metric.

    "within" is `WithinMetric()` for dense rows and the Euclidean metric for sparse ones, which would be
    made dense.
    """
    X = rows.held()
    if isinstance(metric, str) and metric == "within":
        metric = None if is_sparse(X) else WithinMetric()
    if metric is None:
        return None
    if not isinstance(metric, WithinMetric):
        cure = 'Pass "within", or WithinMetric(shrinkage=...) to set it.'
        raise rule_error("metric", 'be None, "within" or a WithinMetric', metric, cure)
    fitted: WithinMetric = clone(metric)
    fitted.n_features_in_ = X.shape[1]
    fitted.learn(dense_rows(X), rows.codes, rows.weights, rows.per_sample)
    return fitted


def centred(X: Any) -> Affine:
    """Moves rows to their middle and makes them of order one, by a power of two; sparse rows stay put.

    The middle is the median of a few rows: a single one that lies far out does not move it.
    """
    n_features = X.shape[1]
    shift: Any
    if is_sparse(X):
        shift, largest = np.zeros(n_features), float(abs(X.data).max(initial=0.0))
    else:
        few = np.linspace(0, X.shape[0] - 1, min(MIDDLE_ROWS, X.shape[0])).astype(np.intp)
        shift = np.median(np.asarray(X[few], dtype=np.float64), axis=0)
        largest = float(np.maximum(X.max(axis=0) - shift, shift - X.min(axis=0)).max())
    unit = math.ldexp(1.0, -math.frexp(largest)[1]) if largest > 0 else 1.0
    return Affine.diagonal(shift, np.full(n_features, unit))


def contraction(
    Z: Floats, codes: Ints, weight: Floats, n_neighbors: int | None, shrinkage: float, root: Root
) -> tuple[Half, Scatter | None]:
    """A of the rows ``Z``, a matrix or the factors of I − A as in `Affine`, and their scatter."""
    N, n = Z.shape
    L, total = scatter_laplacian(Z, codes, weight, n_neighbors)
    LZ = L @ Z
    trace = float(np.einsum("ij,ij->", Z, LZ)) / total if total > 0 else 0.0
    if not trace > 0.0:
        warnings.warn(NO_SCATTER, UserWarning, stacklevel=5)
        return (None, None, None), None
    rho = shrinkage * trace / n
    joined = abs(L - sparse.diags_array(L.diagonal()))
    scatter = Scatter(sparse.csr_array(joined / total), rho)
    if n <= WIDE * N:
        _check_size(n, n)
        return root(Z.T @ LZ / total, None, rho), scatter
    _check_size(n, N)
    B = half_scatter(Z, L, codes) / math.sqrt(total)
    return root(B @ B.T, B, rho), scatter


def fast_root(S: Floats, B: Floats | None, rho: float) -> Half:
    """A by a Cholesky factorisation of S_w + ρI, or of BB' + ρI (S is overwritten)."""
    S[np.diag_indices(len(S))] += rho
    if B is None:
        R = linalg.cholesky(S, overwrite_a=True, check_finite=False)  # upper
        inverse, _ = linalg.lapack.dtrtri(R, overwrite_c=True)
        return math.sqrt(rho) * inverse, None, None
    M = linalg.cholesky(S, lower=True, overwrite_a=True, check_finite=False)
    down = linalg.solve_triangular(M, B, lower=True, check_finite=False).T
    M[np.diag_indices(len(M))] += math.sqrt(rho)
    return None, down, linalg.solve_triangular(M, B, lower=True, check_finite=False)


def symmetric_root(S: Floats, B: Floats | None, rho: float) -> Half:
    """The symmetric A, by an eigendecomposition: the one that does not depend on the order of rows."""
    values, V = np.linalg.eigh(S)
    values = np.maximum(values, 0.0)
    factors = np.sqrt(rho / (values + rho))
    if B is None:
        return (V * factors) @ V.T, None, None
    kept = values > len(S) * float(np.finfo(np.float64).eps) * values[-1]
    axes = B.T @ (V[:, kept] / np.sqrt(values[kept]))
    return None, axes * (1.0 - factors[kept]), axes.T


def scatter_laplacian(
    Z: Floats, codes: Ints, weight: Floats, n_neighbors: int | None
) -> tuple[sparse.csr_array, float]:
    """L and 2 Σ ω of the within-class graph: S_w = Z'LZ over the second."""
    W = within_class_graph(Z, codes, n_neighbors)
    if np.any(weight != weight[0]):
        rows = np.repeat(np.arange(len(codes)), np.diff(W.indptr))
        W.data = (weight[rows] + weight[W.indices]) / 2.0
    return laplacian(W), float(W.data.sum())


def half_scatter(Z: Floats, L: sparse.csr_array, codes: Ints) -> Floats:
    """B = F'Z with L = FF', class by class: B'B = Z'LZ."""
    B, place = np.empty_like(Z), np.empty(len(Z), dtype=np.intp)
    edges = np.repeat(np.arange(len(Z)), np.diff(L.indptr)), L.indices
    of_edge = codes[edges[0]]
    order = np.argsort(of_edge, kind="stable")
    ends = np.searchsorted(of_edge[order], np.arange(int(codes.max()) + 2))
    for members in class_members(codes):
        place[members] = np.arange(len(members))
        code = codes[members[0]]
        own = order[ends[code] : ends[code + 1]]
        block = np.zeros((len(members), len(members)))
        block[place[edges[0][own]], place[edges[1][own]]] = L.data[own]
        block[np.diag_indices(len(block))] += RIDGE * max(float(block.diagonal().max()), 1e-300)
        rows = Z[members]
        B[members] = np.linalg.cholesky(block).T @ (rows - rows[0])
    return B


def feature_weights(X: Floats, codes: Ints, weight: Floats, relevance: float) -> Floats:
    """What every feature is multiplied by; 1 each where nothing can be said."""
    n_classes = int(codes.max()) + 1
    if relevance == 0.0 or not weight.sum() > n_classes or n_classes < 2:
        return np.ones(X.shape[1])
    deviations = X - np.median(np.ascontiguousarray(X.T), axis=1)
    largest = np.abs(deviations).max(axis=0)  # so that squares neither overflow nor underflow
    deviations /= np.where(largest > 0, largest, 1.0)
    E = np.zeros((len(codes), n_classes))
    E[np.arange(len(codes)), codes] = weight
    shares = _between_share(deviations, E, weight)
    np.abs(deviations, out=deviations)
    np.maximum(shares, _between_share(deviations, E, weight), out=shares)
    most = float(shares.max(initial=0.0))
    if most <= 0.0:
        return np.ones(X.shape[1])
    return np.maximum(np.sqrt(np.maximum(shares, 0.0) / most), LEAST_WEIGHT) ** relevance


def _between_share(X: Floats, E: Floats, weight: Floats) -> Floats:
    """r of every column; 0 for one that is constant. E has the weights, one column per class."""
    N, sizes = float(weight.sum()), E.sum(axis=0)
    centred_rows = X - weight @ X / N
    total = weight @ centred_rows**2
    within = total - ((E.T @ centred_rows) ** 2 / sizes[:, np.newaxis]).sum(axis=0)
    within, total = within / (N - len(sizes)), total / (N - 1)
    varies = total > np.finfo(np.float64).eps ** 2 * N  # rounding of a constant column is no variance
    return np.where(varies, 1.0 - within / np.where(varies, total, 1.0), 0.0)


def dense_rows(X: Any) -> Floats:
    """A dense float64 array of dense or sparse rows."""
    if hasattr(X, "toarray"):
        _check_size(*X.shape)
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)


def _check_size(n_rows: int, n_columns: int) -> None:
    size = 8 * n_rows * n_columns
    if size > LARGEST:
        most, got = f"{LARGEST / 1024**3:.0f} GiB", f"{n_rows} × {n_columns}, {size / 1024**3:.1f} GiB"
        cure = "Pass metric=None, or reduce the features first (TruncatedSVD)."
        raise rule_error("X", f"have matrices of at most {most} in a learned metric", got, cure)
