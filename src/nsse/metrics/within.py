"""Learn a metric that is short along the directions in which neighbors of a class differ.

The within-class graph joins neighboring rows of the same class. The scatter of its edges (i, j) is

    S_w = Σ ω_ij (x_i − x_j)(x_i − x_j)' / (2 Σ ω) = X'LX / (2 Σ ω),

where every edge counts once, ω_ij is the mean weight of its ends, and L is the Laplacian of the graph.
The metric multiplies rows by a matrix A with

    A'A = ρ (S_w + ρI)⁻¹,      ρ = shrinkage · tr(S_w)/n.

This is relevant component analysis (Bar-Hillel et al. 2003) with shrinkage, on the within-class graph of
the method. The singular values of A lie in (0, 1], so A is a contraction. Features are weighted first
(`nsse.metrics.relevance`).

`nsse.metrics.contraction` computes A, and `nsse.metrics.shared_scatter` the distances for many values of
the shrinkage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_count, check_number
from nsse._support.samples import validate_data
from nsse._support.types import Floats, Ints, LabelsLike, SamplesLike, WeightsLike
from nsse.affine import Affine
from nsse.labels import check_targets
from nsse.metrics.base import FLOATS, Components, Metric
from nsse.metrics.contraction import contracted
from nsse.metrics.learned import Learned, centered, dense_rows
from nsse.metrics.relevance import feature_weights
from nsse.metrics.scatter import Scatter
from nsse.metrics.shared_scatter import SharedScatter
from nsse.rows import Rows
from nsse.sources import Source

# The values that a search tries.
RELEVANCES, SHRINKAGES = (0.0, 1.0, 2.0), (math.inf, 10.0, 3.0, 0.3, 0.1)
# With more features per row than this, a row has an influence on the feature weights that matters: 90 %
# sets of new samples cover 90 % at two features per row and 86 % at five if it stays in the weights.
WIDE_WEIGHTS = 2


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
            The fitted transformer. If fit fails, it is unchanged.
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
        """Learn from rows in memory, and return the rows in the metric."""
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
                shared[key] = SharedScatter.of(
                    rows, held, float(metric.relevance), metric.spreads, metric.n_neighbors
                )
            yield shared[key].distances(float(metric.shrinkage))

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats | None:
        """Return squared distances of some rows to all, each in the metric without its own edges.

        The feature weights are computed from all rows. If there are many more features than rows,
        left-out rows would therefore look too good, and None is returned.
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
