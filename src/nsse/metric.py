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
  The graph, BB' and what the rows are apart come from XX' alone: behind A it is XX' − V'V, V = M⁻¹BX'.
  A waits for new samples; with nearly as many rows it is the one above.

Features are weighted first by how much they have to do with the classes. Of the variance of a feature,
and of its squared distance from the mean, the share r = 1 − [within/(N − M)] / [total/(N − 1)] lies
between classes: the adjusted η² of an analysis of variance. With r_j the larger of the two (the first
alone without ``spreads``), not below 0,

    weight_j = max(√(r_j / max r), 1/20)^relevance.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
from nsse.affine import Affine, dense_array, formed_later, is_sparse
from nsse.distances import distances_from, products, squared_distances
from nsse.graphs import members_by_size, within_class_graph
from nsse.hull import Hull
from nsse.rows import Rows
from nsse.sources import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

FLOATS = [np.float64, np.float32]
# What is left of a feature that says nothing: it may say something together with others.
LEAST_WEIGHT = 0.05
# Deviations from the mean, as a share of it, and variances of their squares, as a share of fourth
# powers, that are rounding.
CONSTANT, CONSTANT_SPREAD = 1e-14, 1e-8
# With up to so many features per row, n × n matrices take less work for new samples.
WIDE = 1.4
# Share of the largest degree that makes a Laplacian, which is singular, factorisable.
RIDGE = 1e-11
# Rows whose median is the middle of all.
MIDDLE_ROWS = 15
# So many values of sparse rows tell which size is usual.
SOME_VALUES = 1000
# Usual values must be a larger share of the largest value, or fourth powers of them underflow.
LEAST_USUAL = 1e-50
# Values that are worked on at a time where rows leave a metric.
MOST_VALUES = 250_000
# Values of the largest matrix of a metric, 2 GiB.
LARGEST = 2 * 1024**3 // 8
# Columns of a symmetric product that are worked on at a time.
PANEL = 64
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

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats:
        """Return squared distances of some rows to all, each in the metric without its own edges.

        ``D2`` are all squared distances behind A. S_w without the edges of row i is
        S_w − Σ_e c_e (x_i − x_e)(x_i − x_e)', so that with V of rows √c_e A(x_i − x_e) and
        q = V A(x_i − x_j) the distance of i and j is ‖A(x_i − x_j)‖² + q'(ρI − VV')⁻¹ q. ρ is kept.
        """
        lost = self._lost(rows, left)
        counts = np.diff(self.edges.indptr)[left]
        order = np.argsort(counts)  # those with as many edges together
        size = max(1, MOST_VALUES // (len(D2) * max(1, int(counts.max(initial=0)))))
        out = D2[left]
        for start in range(0, len(left), size):
            part = order[start : start + size]
            y = self._whitened(D2, left[part], counts[part], lost)
            out[part] += np.einsum("rej,rej->rj", y, y)
        return out

    def _lost(self, rows: Rows, left: Ints) -> Floats:
        """Return what every edge loses if one sample of the row that it begins at is left out."""
        lost = self.edges.data.copy()
        for i in left[rows.removed[left] < rows.weights[left]]:
            # The weight of an edge is the mean weight of its ends, and the row stays.
            own = slice(self.edges.indptr[i], self.edges.indptr[i + 1])
            lost[own] *= rows.removed[i] / (rows.weights[i] + rows.weights[self.edges.indices[own]])
        return np.asarray(lost)

    def _whitened(self, D2: Floats, left: Ints, counts: Ints, lost: Floats) -> Floats:
        """Return H⁻¹q of some rows and all others, with HH' = ρI − VV'."""
        steps = np.arange(int(counts.max()))
        # Rows with fewer edges are filled up with edges to themselves, which weigh nothing.
        filled = steps < counts[:, np.newaxis]
        places = (self.edges.indptr[left][:, np.newaxis] + steps)[filled]
        ends, c = np.repeat(left[:, np.newaxis], len(steps), axis=1), np.zeros(filled.shape)
        ends[filled], c[filled] = self.edges.indices[places], np.sqrt(lost[places])
        # (u_e − u_i)'(u_i − u_j) = (‖u_e − u_j‖² − ‖u_i − u_j‖² − ‖u_e − u_i‖²)/2
        own = D2[left[:, np.newaxis], ends]
        among = D2[ends[:, :, np.newaxis], ends[:, np.newaxis]] - own[:, np.newaxis]
        inner = (among - own[:, :, np.newaxis]) * (c[:, :, np.newaxis] * c[:, np.newaxis] / 2.0)
        inner += self.floor * np.eye(ends.shape[1])
        half = np.linalg.inv(np.linalg.cholesky(inner)) * (c[:, np.newaxis] / 2.0)
        # One product: of the rows of the ends, and of row i, which is taken from each of them.
        half = np.concatenate([half, -half.sum(axis=2, keepdims=True)], axis=2)
        q = half @ D2[np.concatenate([ends, left[:, np.newaxis]], axis=1)]
        q -= half[:, :, :-1] @ own[:, :, np.newaxis]
        return np.asarray(q)


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
    spreads : bool, default=True
        Whether features tell of the classes, too, whose spread differs between them, not their mean.
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
        self,
        shrinkage: float = 3.0,
        *,
        relevance: float = 1.0,
        spreads: bool = True,
        n_neighbors: int | None = 5,
    ) -> None:
        self.shrinkage = shrinkage
        self.relevance = relevance
        self.spreads = spreads
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
        self.learn(Z, rows.codes, rows.weights, symmetric=True)
        mean = self.affine_.shift + np.average(Z - self.affine_.shift, axis=0, weights=rows.weights)
        self.affine_ = replace(self.affine_, shift=mean)
        return self

    def learn(
        self,
        X: Floats,
        codes: Ints,
        weight: Floats,
        per_sample: int = 1,
        *,
        symmetric: bool = False,
        with_hull: bool = False,
    ) -> Learned:
        """Learn from checked rows, of which ``per_sample`` are copies of one sample.

        All roots A of A'A measure the same distances. The ``symmetric`` one does not depend on the order
        of the rows, and takes an eigendecomposition.
        """
        self._check_parameters()
        euclidean = centred(X)
        Z = euclidean(X)
        self.weights_ = feature_weights(Z, codes, weight, float(self.relevance), self.spreads)
        Z *= self.weights_
        unit = float(euclidean.scale[0])
        learned = Learned(Affine.diagonal(euclidean.shift, euclidean.scale * self.weights_), Z, unit)
        if with_hull:
            learned = learned.with_hull()
        if math.isfinite(self.shrinkage):
            n_neighbors = None if self.n_neighbors is None else self.n_neighbors * per_sample
            learned = contracted(learned, codes, weight, n_neighbors, float(self.shrinkage), symmetric)
        self.affine_ = learned.affine.multiplied(1.0 / unit)
        self.scatter_: Scatter | None = learned.scatter
        return learned

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
        if not isinstance(self.spreads, bool | np.bool_):
            raise rule_error("spreads", "be True or False", self.spreads, "True is usual.")
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, cure="None joins all samples of a class.")


@dataclass(frozen=True)
class Learned:
    """Rows that a metric was learned from, behind it.

    Attributes
    ----------
    affine : Affine
        What takes rows there, with values of order one.
    rows : ndarray or csr_array of shape (n_rows, n_outputs), or function returning it
        The rows.
    unit : float
        What lengths in the units of the samples are multiplied by.
    scatter : Scatter or None
        S_w; None for the Euclidean metric.
    gram : ndarray of shape (n_rows, n_rows) or None
        Inner products of the rows, if they are known.
    hull : Hull or None
        The affine hull of the rows before A. None if new rows are not projected onto it.
    root : Identity, LowRank, Triangle or None
        A with the rows before it. None if there is no hull.
    """

    affine: Affine
    rows: Any
    unit: float
    scatter: Scatter | None = None
    gram: Floats | None = None
    hull: Hull | None = None
    root: Identity | LowRank | Triangle | None = None

    def with_hull(self) -> Learned:
        """Return these rows with their hull, if there are no more rows than features. A is I."""
        if self.rows.shape[0] > self.affine.n_features:
            return self
        gram = products(self.rows, self.rows)
        return replace(self, gram=gram, hull=Hull.of(gram), root=Identity(self.rows))

    def projected(self) -> Learned:
        """Return the rows in coordinates of their hull, onto which the affine map projects new rows."""
        if self.hull is None or self.gram is None or self.root is None:
            return self
        hull, scale = self.hull.within(self.gram), self.affine.scale
        projection = Projection(hull, self.root)
        later: dict[str, Any] = {
            name: partial(getattr, projection, name) for name in ("matrix", "tail", "rows")
        }
        rows = later.pop("rows")
        shift = self.affine.shift + dense_array(self.root.Z[[hull.origin]]).ravel() / scale
        affine = Affine(shift, scale, np.zeros(len(hull.independent)), **later)
        return replace(self, affine=affine, rows=rows)

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> tuple[Floats, Floats | None]:
        """Return squared distances of rows to all in metrics and hulls without them, and heights.

        The height of a row over the hull of the others is the same before and behind the metric without
        this row: what that metric shortens lies in the hull of the others.
        """
        found = D2[left] if self.scatter is None else self.scatter.left_out_distances(D2, rows, left)
        if self.hull is None:
            return found, None
        heights = self.hull.heights(left)
        heights[rows.removed[left] < rows.weights[left]] = 0.0  # an equal sample stays
        found -= heights[:, np.newaxis]
        return np.maximum(found, 0.0, out=found), heights

    def distances(self, places: Ints | None = None) -> Floats:
        """Squared distances of all rows, or of some of them."""
        if self.gram is not None:
            return distances_from(self.gram if places is None else self.gram[np.ix_(places, places)])
        Z = self.rows if places is None else self.rows[places]
        if not is_sparse(Z):  # what is the same everywhere, as edges of pictures, tells nothing apart
            Z = Z[:, Z.max(axis=0) > Z.min(axis=0)]
        return squared_distances(Z, Z) if is_sparse(Z) else distances_from(Z @ Z.T, overwrite=True)


@dataclass(frozen=True)
class Projection:
    """The matrix that takes new rows to coordinates of the hull, formed when first needed."""

    hull: Hull
    root: Identity | LowRank | Triangle

    @cached_property
    def matrix(self) -> Any:
        """Return A'A times the vectors of the basis, or the rows if they are sparse."""
        Z: Any = self.root.Z
        return Z.T.tocsr() if is_sparse(Z) else self.root.pulled(self.hull.combinations)

    @cached_property
    def tail(self) -> Floats | None:
        """Return the weights of the rows in the vectors of the basis, if the rows are sparse."""
        return self.hull.combinations.T if is_sparse(self.root.Z) else None

    @cached_property
    def rows(self) -> Floats:
        """Return the coordinates of the rows."""
        return self.hull.coordinates


@dataclass(frozen=True)
class Identity:
    """A = I, and the rows Z before it."""

    Z: Any

    def pulled(self, weights: Floats) -> Floats:
        """Return A'A Σ_j weights_j z_j for every row of weights, one column for each."""
        return np.asarray((weights @ self.Z).T)


@dataclass(frozen=True)
class ClassRoots:
    """F with FF' = L, the Laplacian of a within-class graph: members and blocks of classes by size."""

    blocks: list[tuple[Ints, NDArray[Any]]]

    @classmethod
    def of(cls, W: Any, codes: Ints) -> ClassRoots:
        """Of the weights W of the edges, a csr_array."""
        blocks, groups = [], members_by_size(codes)
        place, first = np.empty((2, len(codes)), dtype=np.intp)
        ends = np.cumsum([0] + [own.size * own.shape[1] for own in groups])
        for own, start in zip(groups, ends, strict=False):  # blocks lie one behind the other
            place[own] = np.arange(own.shape[1])
            first[own] = start + own.shape[1] * np.arange(own.size).reshape(own.shape)
        values = np.zeros(ends[-1])
        values[np.repeat(first, np.diff(W.indptr)) + place[W.indices]] = -W.data
        for own, part in zip(groups, np.split(values, ends[1:-1]), strict=True):
            L = part.reshape(*own.shape, -1)
            sums = -L.sum(axis=2)
            least = RIDGE * np.maximum(sums.max(axis=1, keepdims=True), 1e-300)
            np.einsum("cii->ci", L)[...] = sums + least
            F = np.linalg.cholesky(L)[:, :, :-1].transpose(0, 2, 1)  # the last column is zero
            blocks.append((own, F))
        return cls(blocks)

    def times(self, A: Floats) -> Floats:
        """F'A."""
        parts = []
        for members, F in self.blocks:
            own = A[members]
            own -= A[members[:, :1]]  # F'1 = 0: changes nothing but rounding
            parts.append((F @ own).reshape(members.size - len(members), A.shape[1]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def combined(self, B: Floats, n_rows: int) -> Floats:
        """FB, of shape (n_rows, B.shape[1])."""
        found, start = np.zeros((n_rows, B.shape[1])), 0
        for members, F in self.blocks:
            stop = start + members.size - len(members)
            part = B[start:stop].reshape(len(members), -1, B.shape[1])
            found[members] = F.transpose(0, 2, 1) @ part
            start = stop
        return found


@dataclass(frozen=True)
class LowRank:
    """A = I − B'(M' + √ρ I)⁻¹ M⁻¹ B, B = F'Z, and the rows Z behind it, formed when first needed.

    ``V`` is (M⁻¹ B Z')', ``root`` √ρ.
    """

    Z: Floats
    F: ClassRoots
    M: Floats
    V: Floats
    root: float

    @cached_property
    def down(self) -> Floats:
        """(M⁻¹ B)'."""
        return rows_solved(self.M, self.F.times(self.Z))

    @cached_property
    def up(self) -> Floats:
        """(M + √ρ I)⁻¹ B."""
        return rows_solved(self.M + self.root * np.eye(len(self.M)), self.F.times(self.Z)).T

    @cached_property
    def rows(self) -> Floats:
        """The rows behind A."""
        return self.Z - self.V @ self.up

    def pulled(self, weights: Floats) -> Floats:
        """Return A'A Σ_j weights_j z_j for every row of weights, one column for each.

        A'A = I − (M⁻¹B)'M⁻¹B with B = F'Z, so that the columns are combinations of the rows.
        """
        lost = linalg.solve_triangular(self.M, (weights @ self.V).T, lower=True, trans="T")
        weights = weights - self.F.combined(lost, len(self.Z)).T
        return (weights @ self.Z).T


@formed_later("S")
@dataclass(frozen=True)
class Triangle:
    """A = √ρ R⁻ᵀ with S_w + ρI = R'R, and the rows Z behind it, formed when first needed."""

    Z: Floats
    S: Any
    floor: float

    @cached_property
    def matrix(self) -> Floats:
        """A', upper triangular, in the place of S_w, of which the lower half is read."""
        self.S[np.diag_indices(len(self.S))] += self.floor
        R = linalg.cholesky(self.S.T, overwrite_a=True, check_finite=False)  # upper
        A, _ = linalg.lapack.dtrtri(R, overwrite_c=True)
        A *= math.sqrt(self.floor)
        return np.asarray(A)

    @cached_property
    def rows(self) -> Floats:
        """The rows behind A."""
        return np.asarray(linalg.blas.dtrmm(1.0, self.matrix, self.Z.T, trans_a=True).T)

    def pulled(self, weights: Floats) -> Floats:
        """Return A'A Σ_j weights_j z_j for every row of weights, one column for each."""
        return np.asarray(self.matrix @ (weights @ self.rows).T)


def learned_metric(
    metric: Any, rows: Rows, with_hull: bool = False
) -> tuple[WithinMetric | None, Learned]:
    """Learn a `metric` parameter from labeled rows, and return it with the rows. None is Euclidean.

    "within" is `WithinMetric()` for dense rows. For sparse rows it is the Euclidean metric, because any
    other would make them dense.
    """
    X = rows.held()
    is_default = isinstance(metric, str) and metric == "within"
    if metric is None or (is_default and is_sparse(X)):
        affine = centred(X)
        plain = Learned(affine, affine(X), float(affine.scale[0]))
        return None, plain.with_hull() if with_hull else plain
    if not isinstance(metric, WithinMetric) and not is_default:
        cure = 'Pass "within", or WithinMetric(shrinkage=...) to set it.'
        raise rule_error("metric", 'be None, "within" or a WithinMetric', metric, cure)
    fitted = WithinMetric() if is_default else clone(metric)
    fitted.n_features_in_ = X.shape[1]
    X = dense_rows(X) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    learned = fitted.learn(X, rows.codes, rows.weights, rows.per_sample, with_hull=with_hull)
    return fitted, learned


def centred(X: Any) -> Affine:
    """Moves rows to their middle and makes them of order one, by a power of two; sparse rows stay put.

    The middle is the median of a few rows: a single one that lies far out does not move it.
    """
    n_features = X.shape[1]
    shift: Any
    if is_sparse(X):
        shift, largest = np.zeros(n_features), float(abs(X.data).max(initial=0.0))
        some = abs(X.data[:: 1 + len(X.data) // SOME_VALUES])
        usual = float(np.median(some[some > 0])) if some.any() else 0.0
    else:
        few = np.linspace(0, X.shape[0] - 1, min(MIDDLE_ROWS, X.shape[0])).astype(np.intp)
        ordered, quarter = np.sort(np.asarray(X[few], dtype=np.float64), axis=0), len(few) // 4
        shift = ordered[len(few) // 2]
        usual = float((ordered[-1 - quarter] - ordered[quarter]).max())
        largest = float(np.maximum(X.max(axis=0) - shift, shift - X.min(axis=0)).max())
    if 0.0 < usual < LEAST_USUAL * largest:
        rule = f"have no value more than {1 / LEAST_USUAL:.0e} times as large as the usual ones"
        cure = "Leave the samples with the largest values out, or mark the values as missing."
        raise rule_error("X", rule, f"values up to {largest:.1e}", cure)
    unit = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000)) if largest > 0 else 1.0
    return Affine.diagonal(shift, np.full(n_features, unit))


def contracted(
    plain: Learned,
    codes: Ints,
    weight: Floats,
    n_neighbors: int | None,
    shrinkage: float,
    symmetric: bool,
) -> Learned:
    """Rows of a Euclidean metric behind A."""
    Z, (N, n) = plain.rows, plain.rows.shape
    if n * min(n, N) > LARGEST:
        raise too_large(n, min(n, N))
    G: Any = plain.gram
    if G is None and n > (WIDE * N if symmetric else N):
        G = Z @ Z.T
    W = scatter_edges(Z, codes, weight, n_neighbors, G)
    is_wide = n > (WIDE * N if symmetric else N)
    if is_wide:
        F = ClassRoots.of(W, codes)
        P = F.times(G)
        S = F.times(P.T)
    else:
        S = scatter_matrix(W, Z)
    trace = float(S.trace())
    if not trace > 0.0:
        warnings.warn(NO_SCATTER, UserWarning, stacklevel=6)
        return plain
    rho = shrinkage * trace / n
    plain = replace(plain, scatter=Scatter(W, rho))
    if is_wide:
        return behind_low_rank(plain, G, F, P, S, symmetric)
    if symmetric:
        values, V = np.linalg.eigh(S)
        A = (V * np.sqrt(rho / (np.maximum(values, 0.0) + rho))) @ V.T
        return replace(plain, affine=replace(plain.affine, matrix=A), rows=plain.rows @ A)
    root = Triangle(Z, S, rho)
    gram = None if plain.gram is None else root.rows @ root.rows.T
    affine = replace(plain.affine, matrix=root.matrix)
    return replace(plain, affine=affine, rows=root.rows, gram=gram, root=root)


def scatter_edges(
    Z: Floats, codes: Ints, weight: Floats, n_neighbors: int | None, G: Floats | None
) -> Any:
    """ω_ij / (2 Σ ω) of the within-class graph: S_w = Z'LZ with its Laplacian L. G = ZZ' if known."""
    W: Any = within_class_graph(Z, codes, n_neighbors, G)
    if np.any(weight != weight[0]):
        W.data = (np.repeat(weight, np.diff(W.indptr)) + weight[W.indices]) / 2.0
    W.data /= max(float(W.data.sum()), 1e-300)
    return W


def scatter_matrix(W: Any, Z: Floats) -> Floats:
    """S_w = Z'LZ, the blocks of its lower half."""
    n, LZ = Z.shape[1], np.asarray(W.sum(axis=1)).reshape(-1, 1) * Z - W @ Z
    S = np.zeros((n, n))
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        np.matmul(Z[:, start:stop].T, LZ[:, :stop], out=S[start:stop, :stop])
    return S


def behind_low_rank(
    plain: Learned, G: Floats, F: ClassRoots, P: Floats, S: Floats, symmetric: bool
) -> Learned:
    """Distances behind A from BB' + ρI = MM', A itself later; G = ZZ', P = BZ', S = BB'."""
    assert plain.scatter is not None
    Z, rho = plain.rows, plain.scatter.floor
    if symmetric:
        values, V = np.linalg.eigh((S + S.T) / 2)
        kept = values > len(S) * float(np.finfo(np.float64).eps) * values[-1]
        up = (V[:, kept] / np.sqrt(values[kept])).T @ F.times(Z)
        down = up.T * (1.0 - np.sqrt(rho / (values[kept] + rho)))
        affine = replace(plain.affine, down=down, up=up)
        return replace(plain, affine=affine, rows=Z - (Z @ down) @ up)
    S[np.diag_indices(len(S))] += rho
    M, _ = linalg.cho_factor(S.T, lower=True, overwrite_a=True, check_finite=False)
    V = rows_solved(M, P)
    root: Any = LowRank(Z, F, M, V, math.sqrt(rho))
    names = ["rows", "down", "up"]
    if Z.shape[1] <= WIDE * len(Z):
        root = Triangle(Z, partial(scatter_matrix, plain.scatter.edges, Z), rho)
        names = ["rows", "matrix"]
    later: dict[str, Any] = {name: partial(getattr, root, name) for name in names}
    rows, affine = later.pop("rows"), replace(plain.affine, **later)
    return replace(plain, affine=affine, rows=rows, gram=G - V @ V.T, root=root)


def along_scatter(
    Z: Floats, X: Floats, G: Floats, H: Floats, codes: Ints, weight: Floats, n_neighbors: int | None
) -> tuple[Floats, Floats, Floats, float]:
    """Eigenvalues of S_w of the rows Z, Z and other rows X along its eigenvectors, and tr(S_w)/n.

    G = ZZ' and H = XZ'. For every ρ, ‖A(u − u')‖² = ‖u − u'‖² − Σ_k v_k/(v_k + ρ) (u_k − u'_k)².
    """
    N, n = Z.shape
    W = scatter_edges(Z, codes, weight, n_neighbors, G)
    if n <= WIDE * N:
        values, V = np.linalg.eigh(scatter_matrix(W, Z))
        return np.maximum(values, 0.0), Z @ V, X @ V, float(values.sum()) / n
    # S_w = B'B: with BB' = VΛV' its eigenvectors are B'VΛ^(−1/2), and BZ' comes from ZZ' alone.
    F = ClassRoots.of(W, codes)
    P = F.times(G)
    values, V = np.linalg.eigh(F.times(P.T))
    kept = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
    V = V[:, kept] / np.sqrt(values[kept])
    return values[kept], P.T @ V, F.times(H.T).T @ V, float(values.sum()) / n


def rows_solved(M: Floats, B: Floats) -> Floats:
    """(M⁻¹ B)' = B' M⁻ᵀ, for a lower triangular M: our rows are columns to BLAS. B is overwritten."""
    return np.asarray(
        linalg.blas.dtrsm(1.0, M, B.T, side=True, lower=True, trans_a=True, overwrite_b=True)
    )


def feature_weights(X: Floats, codes: Ints, weight: Floats, relevance: float, spreads: bool) -> Floats:
    """What every feature is multiplied by, of rows of order one; 1 each where nothing can be said."""
    n_classes, N = int(codes.max()) + 1, float(weight.sum())
    if relevance == 0.0 or n_classes < 2 or n_classes >= N:
        return np.ones(X.shape[1])
    E = np.zeros((n_classes, len(codes)))
    E[codes, np.arange(len(codes))] = weight
    mean, sizes = weight @ X / N, E.sum(axis=1)[:, np.newaxis]
    powers = X - mean
    first = E @ powers
    np.square(powers, out=powers)
    second = E @ powers
    variance = second.sum(axis=0) / N
    # What rounding makes of a constant column is no variance.
    shares = np.maximum(_between_share(first, variance, sizes, (CONSTANT * mean) ** 2), 0.0)
    if spreads:
        fourth = weight @ np.square(powers, out=powers) / N
        least = CONSTANT_SPREAD * fourth
        second -= sizes * variance
        shares = np.maximum(shares, _between_share(second, fourth - variance**2, sizes, least))
    most = float(shares.max(initial=0.0))
    if most <= 0.0:
        return np.ones(X.shape[1])
    return np.maximum(np.sqrt(shares / most), LEAST_WEIGHT) ** relevance


def _between_share(sums: Floats, variance: Floats, sizes: Floats, least: Floats) -> Floats:
    """r of every column from its sums over classes, its mean being zero; 0 where it does not vary."""
    N, n_classes = float(sizes.sum()), len(sizes)
    between = (np.square(sums) / sizes).sum(axis=0)
    varies = variance > least
    total = np.where(varies, variance, 1.0) * N
    return np.where(varies, 1.0 - (total - between) / (N - n_classes) * (N - 1) / total, 0.0)


def dense_rows(X: Any) -> Floats:
    """A dense float64 array of dense or sparse rows."""
    if is_sparse(X):
        if X.shape[0] * X.shape[1] > LARGEST:
            raise too_large(*X.shape)
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)


def too_large(n_rows: int, n_columns: int) -> ValueError:
    """The error of a matrix that no metric should need."""
    sizes = [f"{8 * n_values / 1024**3:.1f} GiB" for n_values in (LARGEST, n_rows * n_columns)]
    cure = "Pass metric=None, or reduce the features first (TruncatedSVD)."
    rule = f"have matrices of at most {sizes[0]} in a learned metric"
    return rule_error("X", rule, f"{n_rows} × {n_columns}, {sizes[1]}", cure)
