"""The base class of metrics ``‖components_ (u − v)‖``, and how any object of this kind is used.

A metric is an estimator whose ``fit(X, y, sample_weight=None)`` sets ``components_``. This is the
convention of metric-learn and of `sklearn.neighbors.NeighborhoodComponentsAnalysis`, so their estimators
can be used as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from nsse._support.errors import Described, rule_error
from nsse._support.samples import validate_data
from nsse._support.types import LabelsLike, Matrix, SamplesLike, WeightsLike
from nsse.affine import Affine, is_sparse
from nsse.distances import squared_distances
from nsse.hull import Hull
from nsse.metrics.learned import LARGEST, Learned, centered, too_large
from nsse.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Components = Floats | sparse.csr_array | LinearOperator

FLOATS = [np.float64, np.float32]


class Metric(TransformerMixin, BaseEstimator, ABC):
    """Base class of metrics, which measure ``‖components_ (u − v)‖``.

    A subclass defines ``fit``. Fits, certificates, files, ONNX graphs and explanations then work with
    the metric. The other methods have defaults that are right for every metric, but slower than
    formulas.

    Attributes
    ----------
    components_ : {ndarray, sparse matrix, LinearOperator} of shape (n_components, n_features)
        The matrix that multiplies differences of samples. ``fit`` sets it.
    settled_at : float
        With so many samples per feature, a single sample has no influence on the metric that matters.
        Probabilities are then calibrated with the metric of all samples. The default is never.

    See Also
    --------
    Euclidean, WithinMetric : The metrics of nsse.

    Examples
    --------
    A metric that measures each feature in its own standard deviation:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from nsse import SmoothEmbedding
    >>> from nsse.metrics import Metric
    >>> class Standardized(Metric):
    ...     def fit(self, X, y, sample_weight=None):
    ...         self.components_ = np.diag(1 / X.std(axis=0))
    ...         return self
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SmoothEmbedding(metric=Standardized()).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    components_: Components
    settled_at: float = np.inf

    @property
    def is_fixed(self) -> bool:
        """Whether the training samples have no influence on the distances. The default is False."""
        return False

    @abstractmethod
    def fit(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Learn the metric and set ``components_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. Equal samples of a class are one row.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples every row stands for, times its class weight.
        """

    def transform(self, X: SamplesLike) -> NDArray[Any]:
        """Map samples so that their Euclidean distances are the distances in the metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``components_ @ x`` for every row x.
        """
        check_is_fitted(self, "components_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        found = X @ self.components_.T
        return np.asarray(found.toarray() if is_sparse(found) else found)

    def dense_components(self) -> Floats:
        """Return ``components_`` as an array of shape (n_components, n_features)."""
        return dense_components(self.components_)

    def candidates(self) -> Sequence[Mapping[str, Any]]:
        """Return the parameter settings that a search tries, by default ``[{}]``."""
        return [{}]

    def distances(
        self, rows: Rows, held: Any, candidates: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield squared distances of the rows, and of held-out samples to them, for every candidate.

        Held-out samples are projected onto the hull of the rows if there are more features than rows.
        The default fits a clone of the metric for each candidate. A metric whose candidates share work,
        such as a decomposition, overrides this method.
        """
        for candidate in candidates:
            space = self.with_parameters(candidate).learn(rows, with_hull=True).projected()
            yield space.distances(), squared_distances(space.affine(held), space.formed_rows)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that a search can set, by name."""
        return dict(self.get_params())

    def with_parameters(self, candidate: Mapping[str, Any]) -> Metric:
        """Return an unfitted copy of the metric with some parameters changed."""
        return clone(self).set_params(**candidate)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is not valid, before any work. The default accepts them all."""

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats | None:
        """Return squared distances of some rows to all, each in the metric without the row.

        ``D2`` are the squared distances of all rows in the metric. The default is None, which means that
        there is no formula. Probabilities are then calibrated by fits without folds of the samples.
        """
        return None

    def learn(self, rows: Rows, with_hull: bool = False) -> Learned:
        """Fit the metric to rows in memory, and return the rows behind it."""
        X = rows.held()
        fit_to(self, X, rows)
        return behind_components(self, X, with_hull)

    def heights(self, affine: Affine, X: SamplesLike) -> Floats:
        """Return squared distances of samples from the hull of the training rows, in the metric.

        ``affine`` takes samples to coordinates of the hull.
        """
        unprojected = Affine(affine.shift, affine.scale, np.zeros(self._n_components), affine.matrix)
        U = unprojected(X)
        inside = affine(X)
        squares = np.einsum("ij,ij->i", U, U) - np.einsum("ij,ij->i", inside, inside)
        return np.asarray(np.maximum(squares, 0.0))

    @property
    def _n_components(self) -> int:
        return int(self.components_.shape[0])


class Foreign(Metric):
    """An estimator of another library that sets ``components_``."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator, by name."""
        return dict(self.estimator.get_params())

    def with_parameters(self, candidate: Mapping[str, Any]) -> Metric:
        """Return an unfitted copy, with some parameters of the estimator changed."""
        return Foreign(clone(self.estimator).set_params(**candidate))

    def fit(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the estimator."""
        fit_with_weights(self.estimator, X, y, sample_weight)
        if not hasattr(self.estimator, "components_"):
            raise not_a_metric(self.estimator)
        self.components_ = self.estimator.components_
        return self


class FixedMetric(Metric):
    """A metric with given components, which learns nothing.

    Files contain it in place of metrics that nsse does not define.

    Parameters
    ----------
    components : {array-like, sparse matrix} of shape (n_components, n_features)
        The matrix that multiplies differences of samples.

    Attributes
    ----------
    components_ : {ndarray, sparse matrix} of shape (n_components, n_features)
        The same.

    See Also
    --------
    Metric : The base class for metrics that learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.metrics import FixedMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding(metric=FixedMetric(np.diag([1, 1, 2, 2]))).fit(X, y)
    >>> model.metric_.components_.shape
    (4, 4)
    """

    settled_at = 10.0

    @property
    def is_fixed(self) -> bool:
        """True."""
        return True

    def __init__(self, components: Any) -> None:
        self.components = components

    def fit(self, X: SamplesLike, y: LabelsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Check the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y, sample_weight : ignored
            There for scikit-learn's pipelines.

        Returns
        -------
        self
            The metric.
        """
        validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        components = self.components
        if not is_sparse(components):
            components = np.asarray(components, dtype=np.float64)
        if components.ndim != 2 or components.shape[1] != self.n_features_in_:
            rule = f"have two dimensions and {self.n_features_in_} columns"
            cure = "Give one row for every output and one column for every feature."
            raise rule_error("components", rule, components.shape, cure)
        self.components_ = components
        return self

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats:
        """Return the distances as they are, because no row has an influence on them."""
        return np.asarray(D2[left])


@dataclass(frozen=True)
class Linear:
    """A is given by components, with the rows Z before it."""

    Z: Matrix
    components: Any

    def projector(self, weights: Floats) -> tuple[Any, Floats]:
        """Return A' and the combinations of the rows behind A."""
        behind = (weights @ self.Z) @ self.components.T
        A = self.components
        return (sparse.csr_array(A.T) if is_sparse(A) else A.T), np.asarray(behind).T


def as_metric(metric: Any) -> Metric:
    """Return an object as a metric. Other estimators are wrapped."""
    return metric if isinstance(metric, Metric) else Foreign(metric)


def own_metric(metric: Any) -> Any:
    """Return what users see as ``metric_``."""
    return metric.estimator if isinstance(metric, Foreign) else metric


def not_a_metric(got: Any) -> ValueError:
    """Return the error for an object that is not a metric."""
    rule = 'be "within", "euclidean", None, or an estimator whose fit sets components_'
    cure = "See nsse.metrics.Metric. For cosine distances, put Normalizer() before the model."
    return rule_error("metric", rule, got, cure)


def fit_with_weights(estimator: Any, X: SamplesLike, y: LabelsLike, weights: WeightsLike) -> None:
    """Fit an estimator, with weights if its ``fit`` takes them."""
    if weights is None or not has_fit_parameter(estimator, "sample_weight"):
        estimator.fit(X, y)
    else:
        estimator.fit(X, y, sample_weight=weights)


def fit_to(metric: Metric, X: SamplesLike, rows: Rows) -> None:
    """Fit a metric to rows, with weights if they differ, and check what it sets."""
    weights = rows.weights if np.any(rows.weights != rows.weights[0]) else None
    fit_with_weights(metric, X, rows.classes[rows.codes], weights)
    components: Any = getattr(metric, "components_", None)
    if components is None:
        raise not_a_metric(own_metric(metric))
    shape = np.shape(components)
    if isinstance(components, LinearOperator):
        numbers = np.empty(0, dtype=components.dtype)  # its values are not at hand
    else:
        numbers = np.asarray(components.data if is_sparse(components) else components)
    is_real = numbers.dtype.kind in "buif"
    is_finite = is_real and bool(np.isfinite(numbers).all())
    if len(shape) != 2 or shape[1] != X.shape[1] or not is_finite:
        rule = f"set real, finite components_ of {X.shape[1]} columns"
        got = Described(f"components_ of shape {shape} and type {numbers.dtype}")
        raise rule_error("metric", rule, got, "Check its fit method.")


def behind_components(metric: Metric, X: SamplesLike, with_hull: bool) -> Learned:
    """Return rows behind the components of a fitted metric."""
    plain = centered(X)
    Z, unit = plain(X), float(plain.scale[0])
    components: Any = metric.components_
    if isinstance(components, LinearOperator):
        components = dense_components(components)
    n_components = components.shape[0]
    U = Z @ components.T
    U = U.toarray() if is_sparse(U) else U
    matrix: Any = sparse.csr_array(components.T) if is_sparse(components) else components.T
    affine = Affine(plain.shift, plain.scale, np.zeros(n_components), matrix)
    space = Learned(affine, U, unit)
    if not with_hull or len(U) > n_components:
        return space
    gram = U @ U.T
    return Learned(affine, U, unit, gram=gram, hull=Hull.of(gram), root=Linear(Z, components))


def held_components(components: Any) -> Matrix:
    """Return components in memory. Sparse ones stay sparse."""
    if is_sparse(components):
        return sparse.csr_array(components).astype(np.float64, copy=False)
    return dense_components(components)


def dense_components(components: Any) -> Floats:
    """Return components as an array, unless it would be too large."""
    if components.shape[0] * components.shape[1] > LARGEST:
        raise too_large(*components.shape)
    if isinstance(components, LinearOperator):
        return np.asarray(components @ np.eye(components.shape[1]))
    return np.asarray(components.toarray() if is_sparse(components) else components, dtype=np.float64)
