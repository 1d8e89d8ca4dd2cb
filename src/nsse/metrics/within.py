"""Learn a metric that is short along the directions in which neighbors of a class differ.

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

Features are weighted first (`nsse.metrics.relevance`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_count, check_number
from nsse._support.samples import validate_data
from nsse._support.types import LabelsLike, SamplesLike, WeightsLike
from nsse.affine import Affine, formed_later
from nsse.distances import distances_from, products, squared_norms
from nsse.hull import squared_heights
from nsse.labels import check_targets
from nsse.metrics.base import FLOATS, Components, Metric
from nsse.metrics.learned import LARGEST, Learned, centered, dense_rows, too_large
from nsse.metrics.relevance import feature_weights
from nsse.metrics.scatter import WIDE, ClassRoots, Scatter, along_scatter, scatter_edges, scatter_matrix
from nsse.rows import Rows
from nsse.sources import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# The values that a search tries.
RELEVANCES, SHRINKAGES = (0.0, 1.0, 2.0), (math.inf, 10.0, 3.0, 0.3, 0.1)
# With more features per row than this, a row has an influence on the feature weights that matters: 90 %
# sets of new samples cover 90 % at two features per row and 86 % at five if it stays in the weights.
WIDE_WEIGHTS = 2
NO_SCATTER = (
    "Distances are Euclidean, because no class has two different samples from which the metric could be "
    "learned. Give more samples per class, or pass metric=None."
)


class WithinMetric(OneToOneFeatureMixin, Metric):
    """Learn a linear map that shortens directions in which neighbors of the same class differ.

    ``A'A = ρ (S_w + ρI)⁻¹``, where S_w is the scatter of the edges that join each sample to its nearest
    samples of the same class, and ρ = shrinkage · tr(S_w)/n. Differences in light, view angle or speaker
    then count less than differences between classes. A is a contraction.

    Parameters
    ----------
    shrinkage : float, default=3.0
        A larger value makes distances more Euclidean, and ``inf`` makes them Euclidean.
    relevance : float, default=1.0
        A larger value shortens features more that separate the classes little. With 0, all features have
        the same weight.
    spreads : bool, default=True
        Whether the relevance of a feature also depends on how much its spread differs between classes,
        and not on their means alone.
    n_neighbors : int or None, default=5
        Number of nearest samples of the same class that are joined. None joins all samples of a class.

    Attributes
    ----------
    components_ : {ndarray, LinearOperator} of shape (n_features, n_features)
        The matrix that multiplies differences of samples. It is an operator if there are many more
        features than samples, because an array would be large. `dense_components` returns an array.
    affine_ : Affine
        The map of `transform`, which subtracts the mean and multiplies by A.
    weights_ : ndarray of shape (n_features,)
        Factors of the features before A, from ``0.05 ** relevance`` to 1.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Warns
    -----
    UserWarning
        If no two different samples of a class are joined. A is the identity then.

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
    settled_at = 10.0

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
    def fit(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. Sparse ones are made dense.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each sample counts.

        Returns
        -------
        self
            The fitted transformer. If fit fails, it is as it was before.
        """
        check_targets(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        rows = Rows.of(Source.of(X), y, sample_weight)
        Z = dense_rows(rows.held())
        self._learn(Z, rows, symmetric=True)
        mean = self.affine_.shift + np.average(Z - self.affine_.shift, axis=0, weights=rows.weights)
        self.affine_ = replace(self.affine_, shift=mean)
        return self

    def learn(self, rows: Rows, with_hull: bool = False) -> Learned:
        """Learn from rows in memory, and return the rows behind the metric."""
        X = dense_rows(rows.held())
        self.n_features_in_ = X.shape[1]
        return self._learn(X, rows, with_hull=with_hull)

    def _learn(
        self, X: Floats, rows: Rows, *, symmetric: bool = False, with_hull: bool = False
    ) -> Learned:
        """Learn from checked rows.

        All roots A of A'A measure the same distances. The ``symmetric`` one does not depend on the order
        of the rows, and takes an eigendecomposition.
        """
        self.check_parameters()
        euclidean = centered(X)
        Z = euclidean(X)
        self.weights_ = feature_weights(Z, rows.codes, rows.weights, float(self.relevance), self.spreads)
        Z *= self.weights_
        unit = float(euclidean.scale[0])
        learned = Learned(Affine.diagonal(euclidean.shift, euclidean.scale * self.weights_), Z, unit)
        if with_hull:
            learned = learned.with_hull()
        self._scatter: Scatter | None = None
        if math.isfinite(self.shrinkage):
            n_neighbors = None if self.n_neighbors is None else self.n_neighbors * rows.per_sample
            found = contracted(learned, rows, n_neighbors, float(self.shrinkage), symmetric)
            learned, self._scatter = found
        self.affine_ = learned.affine.multiplied(1.0 / unit)
        return learned

    @property
    def is_fixed(self) -> bool:
        """Whether no two samples of a class were joined and features are not weighted."""
        return self._scatter is None and float(self.relevance) == 0.0

    @property
    def components_(self) -> Components:  # type: ignore[override]
        """The matrix that multiplies differences of samples."""
        check_is_fitted(self, "affine_")
        affine = self.affine_
        if affine.matrix is not None or affine.down is None:
            return affine.dense().T
        n = affine.n_features
        zeros = replace(affine, shift=np.zeros(n))
        return LinearOperator(
            (n, n),
            matvec=lambda x: zeros(np.reshape(x, (1, -1)))[0],
            rmatvec=lambda z: affine.pull_back(np.reshape(z, (1, -1)))[0],
            matmat=lambda X: zeros(X.T).T,
            rmatmat=lambda Z: affine.pull_back(Z.T).T,
            dtype=np.float64,
        )

    def candidates(self) -> Sequence[Mapping[str, Any]]:
        """Return the settings that a search tries: feature weights by means, and shrinkages."""
        return [
            {"relevance": relevance, "spreads": False, "shrinkage": shrinkage}
            for relevance in RELEVANCES
            for shrinkage in SHRINKAGES
        ]

    def distances(
        self, rows: Rows, held: Any, candidates: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield squared distances of the rows, and of held-out samples to them, for every candidate.

        Candidates with the same feature weights share one decomposition of the scatter.
        """
        shared: dict[Any, SharedScatter] = {}
        for candidate in candidates:
            metric: WithinMetric = clone(self).set_params(**candidate)
            metric.check_parameters()
            key = metric.relevance, bool(metric.spreads and metric.relevance), metric.n_neighbors
            if key not in shared:
                shared[key] = SharedScatter.of(metric, rows, held)
            yield shared[key].distances(float(metric.shrinkage))

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats | None:
        """Return squared distances of some rows to all, each in the metric without its own edges.

        A row stays in the feature weights. If there are many more features than rows, left-out rows
        would look too good, and None is returned.
        """
        if float(self.relevance) > 0.0 and self.n_features_in_ > WIDE_WEIGHTS * len(D2):
            return None
        if self._scatter is None:
            return np.asarray(D2[left])
        return self._scatter.left_out_distances(D2, rows, left)

    def heights(self, affine: Affine, X: SamplesLike) -> Floats:
        """Return squared distances of samples from the hull of the training rows.

        The metric shortens directions in the hull alone, so the distance is the one before it.
        """
        return affine.squares_outside(X)

    def transform(self, X: SamplesLike) -> NDArray[Any]:
        """Map samples into the space in which Euclidean distances are the distances of the metric.

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

    def check_parameters(self) -> None:
        """Raise an error if a parameter is not valid."""
        shrinkage, is_number = self.shrinkage, isinstance(self.shrinkage, Real)
        if not is_number or isinstance(shrinkage, bool) or not float(shrinkage) > 0:
            cure = "3.0 is a good start, and inf gives the Euclidean metric."
            raise rule_error("shrinkage", "be a positive number or inf", shrinkage, cure)
        check_number("relevance", self.relevance, cure="0 weighs all features alike.")
        if not isinstance(self.spreads, bool | np.bool_):
            raise rule_error("spreads", "be True or False", self.spreads, "True is usual.")
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, cure="None joins all samples of a class.")


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

    def projector(self, weights: Floats) -> tuple[Floats, None]:
        """Return the matrix T with x'T = x'A'A Σ_j weights_j z_j for every row of weights.

        A'A = I − (M⁻¹B)'M⁻¹B with B = F'Z, so that the columns are combinations of the rows.
        """
        lost = linalg.solve_triangular(self.M, (weights @ self.V).T, lower=True, trans="T")
        weights = weights - self.F.combined(lost, len(self.Z)).T
        return (weights @ self.Z).T, None


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

    def projector(self, weights: Floats) -> tuple[Floats, None]:
        """Return the matrix T with x'T = x'A'A Σ_j weights_j z_j for every row of weights."""
        return np.asarray(self.matrix @ (weights @ self.rows).T), None


def contracted(
    plain: Learned, given: Rows, n_neighbors: int | None, shrinkage: float, symmetric: bool
) -> tuple[Learned, Scatter | None]:
    """Return rows of a Euclidean metric behind A, and the scatter that A is made from.

    ``given`` are the same rows before any metric.
    """
    Z, (N, n) = plain.rows, plain.rows.shape
    if n * min(n, N) > LARGEST:
        raise too_large(n, min(n, N))
    G: Any = plain.gram
    if G is None and n > (WIDE * N if symmetric else N):
        G = Z @ Z.T
    W = scatter_edges(Z, given.codes, given.weights, n_neighbors, G, given.keys)
    is_wide = n > (WIDE * N if symmetric else N)
    if is_wide:
        F = ClassRoots.of(W, given.codes)
        P = F.times(G)
        S = F.times(P.T)
    else:
        S = scatter_matrix(W, Z)
    trace = float(S.trace())
    if not trace > 0.0:
        warnings.warn(NO_SCATTER, UserWarning, stacklevel=7)
        return plain, None
    rho = shrinkage * trace / n
    scatter = Scatter(W, rho)
    if is_wide:
        return behind_low_rank(plain, scatter, G, F, P, S, symmetric), scatter
    if symmetric:
        values, V = np.linalg.eigh(S)
        A = (V * np.sqrt(rho / (np.maximum(values, 0.0) + rho))) @ V.T
        return replace(plain, affine=replace(plain.affine, matrix=A), rows=plain.rows @ A), scatter
    root = Triangle(Z, S, rho)
    gram = None if plain.gram is None else root.rows @ root.rows.T
    affine = replace(plain.affine, matrix=root.matrix)
    return replace(plain, affine=affine, rows=root.rows, gram=gram, root=root), scatter


def behind_low_rank(
    plain: Learned, scatter: Scatter, G: Floats, F: ClassRoots, P: Floats, S: Floats, symmetric: bool
) -> Learned:
    """Compute distances behind A from BB' + ρI = MM' with G = ZZ', P = BZ', S = BB'.

    A is computed later.
    """
    Z, rho = plain.rows, scatter.floor
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
        root = Triangle(Z, partial(scatter_matrix, scatter.edges, Z), rho)
        names = ["rows", "matrix"]
    later: dict[str, Any] = {name: partial(getattr, root, name) for name in names}
    rows, affine = later.pop("rows"), replace(plain.affine, **later)
    return replace(plain, affine=affine, rows=rows, gram=G - V @ V.T, root=root)


@dataclass(frozen=True)
class SharedScatter:
    """Rows and other samples with weighted features, and their distances for every shrinkage.

    With x_k along the eigenvectors of S_w and its eigenvalues v_k,
    (Ax)'(Az) = x'z − Σ_k v_k/(v_k + ρ) x_k z_k, so one decomposition serves all ρ.

    Attributes
    ----------
    rows, held : ndarrays
        The rows and the other samples, centered, with weighted features.
    inner, across : ndarrays
        Inner products of the rows, and of the other samples with the rows.
    edges : tuple
        Classes and weights of the rows, and the number of neighbors in the within-class graph.
    """

    rows: Floats
    held: Floats
    inner: Floats
    across: Floats
    edges: tuple[Ints, Floats, int | None]

    @classmethod
    def of(cls, metric: WithinMetric, given: Rows, held: Any) -> SharedScatter:
        """Weight the features of rows and of other samples."""
        X = dense_rows(given.held())
        affine = centered(X)
        rows, others = affine(X), affine(dense_rows(held))
        codes = np.unique(given.codes, return_inverse=True)[1]
        if metric.relevance > 0.0:
            own = feature_weights(rows, codes, given.weights, float(metric.relevance), metric.spreads)
            rows, others = rows * own, others * own
        k = None if metric.n_neighbors is None else metric.n_neighbors * given.per_sample
        inner, across = products(rows, rows), products(others, rows)
        return cls(rows, others, inner, across, (codes, given.weights, k))

    @cached_property
    def heights(self) -> Floats:
        """Return squared distances of the other samples from the hull of the rows.

        They are the same in all metrics, which shorten directions in the hull alone.
        """
        if len(self.inner) > self.rows.shape[1]:
            return np.zeros(len(self.across))
        return squared_heights(self.inner, self.across, squared_norms(self.held))

    @cached_property
    def scatter(self) -> tuple[Floats, Floats, Floats, float]:
        """Eigenvalues of S_w, rows and other samples along its eigenvectors, and tr(S_w)/n."""
        return along_scatter(self.rows, self.held, self.inner, self.across, *self.edges)

    def distances(self, shrinkage: float) -> tuple[Floats, Floats]:
        """Return squared distances of the rows, and of the other samples to them."""
        inner = self.inner
        across = self.across
        norms = squared_norms(self.held) - self.heights
        if np.isfinite(shrinkage) and self.scatter[3] > 0.0:
            values, rows, held, mean = self.scatter
            factors = values / (values + shrinkage * mean)
            P = rows * factors
            inner, across = inner - P @ rows.T, across - held @ P.T
            norms = norms - np.square(held) @ factors
        E2 = np.maximum(norms[:, np.newaxis] + inner.diagonal() - 2.0 * across, 0.0)
        return distances_from(inner), E2


def rows_solved(M: Floats, B: Floats) -> Floats:
    """Return (M⁻¹ B)' = B' M⁻ᵀ for a lower triangular M.

    Our rows are columns for BLAS. B is overwritten.
    """
    return np.asarray(
        linalg.blas.dtrsm(1.0, M, B.T, side=True, lower=True, trans_a=True, overwrite_b=True)
    )
