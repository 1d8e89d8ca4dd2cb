"""WithinMetric: the metric of the within-class graph, as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._errors import rule_error
from nsse.estimators._fitting import all_or_nothing
from nsse.estimators._parameters import check_number, check_optional_count
from nsse.extensions import Contraction
from nsse.graphs.metric import WithinScatter
from nsse.graphs.relevance import feature_weights
from nsse.landmarks import scatter_of

Floats = NDArray[np.float64]

FLOATS = (np.float64, np.float32)
NO_SCATTER = (
    "No two different samples of a class are joined: without within-class scatter the metric is the "
    "Euclidean one. Add samples to the classes."
)


class WithinMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Makes distances short along the directions in which neighbours of a class differ.

    Light, pose and noise move a sample among its class; they tell nothing about it. From the edges of
    the within-class graph

        S_w = Σ (x_i − x_j)(x_i − x_j)' / (2 · edges),   ρ = shrinkage · tr(S_w)/n,

    and samples are multiplied by A = (ρ (S_w + ρI)⁻¹)^½, so that the Euclidean distance of what comes
    out is the metric ‖A(x − z)‖. It is relevant component analysis [1]_, shrunk, on a local graph. A is
    symmetric with eigenvalues in (0, 1]: no two samples move apart, and a radius within which nothing
    changes after `transform` is one before it, too. With `relevance`, features are weighted before all
    this by how much of their variance lies between classes.

    Parameters
    ----------
    shrinkage : float, default=1.0
        How much the metric holds to the Euclidean one: variances well below ρ are left alone, those
        well above are made as large as ρ. Positive; ``inf`` gives A = I, the Euclidean metric. With
        few samples per class, or light that changes much, values down to 0.1 are worth a try.
    n_neighbors : int, default=5
        Nearest samples of the same class that a sample is joined to, as in `NSSE`. None joins all
        samples of a class: the within-class scatter of LDA, each pair counting the same.
    relevance : float, default=0.0
        How much features that tell little of the classes are shortened. 0 leaves all as they are; 1
        weighs a feature by the square root of the share of its variance, or of its deviation from the
        median, that lies between classes, relative to that of the best feature (`weights_`). Tables
        gain by it in which some features say nothing.

    Attributes
    ----------
    axes_ : ndarray of shape (n_features, n_axes)
        Orthonormal columns, eigenvectors of S_w by falling variance; their signs mean nothing.
        Directions in which no edge leads are not among them: there A is the identity.
    deviations_ : ndarray of shape (n_axes,)
        Standard deviations along `axes_`, in the units of X; their squares are the eigenvalues of S_w.
    factors_ : ndarray of shape (n_axes,)
        What A multiplies the axes by, √(ρ/(deviations_² + ρ)), ascending.
    weights_ : ndarray of shape (n_features,)
        What features are multiplied by first, from ``0.05 ** relevance`` to 1.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Warns
    -----
    UserWarning
        If no two different samples of a class are joined: S_w = 0, and A = I.

    See Also
    --------
    NSSE : Has it inside: ``metric="within"``.

    Notes
    -----
    `transform` gives ``Z − (Z axes_) (1 − factors_) axes_'`` with ``Z = X * weights_``, in the
    floating-point type of X. Rescaling X leaves A as it is; a feature in another unit does not.

    Memory: the squared distances of the largest class, and twice n_features × n_axes numbers, n_axes
    being less than the number of samples; no more than 2 GiB of `axes_` are accepted. Sparse samples
    stay sparse in `fit`. What `transform` gives is dense: 320 MB for 2,000 samples of 20,000 features.

    References
    ----------
    .. [1] A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall, "Learning distance functions using
       equivalence relations", International Conference on Machine Learning, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from nsse import NSSE, WithinMetric
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(WithinMetric(shrinkage=3.0), NSSE()).fit(X[:200], y[:200])
    >>> model[:-1].transform(X).shape
    (1797, 64)
    """

    def __init__(
        self, shrinkage: float = 1.0, *, n_neighbors: int | None = 5, relevance: float = 0.0
    ) -> None:
        self.shrinkage = shrinkage
        self.n_neighbors = n_neighbors
        self.relevance = relevance

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Find the axes along which neighbours of a class differ.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self
            The fitted transformer. If fit fails, it is as it was before.
        """
        check_shrinkage(self.shrinkage)
        check_optional_count("n_neighbors", self.n_neighbors, cure="None joins all samples of a class.")
        relevance = check_relevance(self.relevance)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(y)
        codes = np.unique(y, return_inverse=True)[1].astype(np.intp)
        weights = feature_weights(X, codes, relevance)
        scatter = scatter_of(X, codes, self.n_neighbors, weights)
        if scatter.deviations.size == 0:
            warnings.warn(NO_SCATTER, UserWarning, stacklevel=3)
        self._keep(scatter, weights)
        return self

    def _keep(self, scatter: WithinScatter, weights: Floats) -> None:
        self.axes_, self.deviations_ = scatter.axes, scatter.deviations
        self.factors_ = scatter.factors(float(self.shrinkage))
        self.weights_ = weights

    def transform(self, X: Any) -> NDArray[Any]:
        """Multiply samples by A.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, new or old.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            XA, dense, in the floating-point type of ``X``.
        """
        return self._multiplied(X, Contraction.__call__)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Undo `transform`, multiplying by A⁻¹.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Transformed samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            XA⁻¹, dense, in the floating-point type of ``X``.
        """
        return self._multiplied(X, Contraction.inverse)

    def has_axes_of(self, other: WithinMetric) -> bool:
        """Whether another metric differs from it in its shrinkage at most; both are fitted."""
        same = np.array_equal(self.weights_, other.weights_)
        return same and np.array_equal(self.axes_, other.axes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _multiplied(self, X: Any, multiply: Callable[[Contraction, Any], Any]) -> NDArray[Any]:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        product = multiply(contraction(self.axes_, self.factors_, self.weights_), X)
        return np.asarray(product.astype(X.dtype, copy=False))


def contraction_of(metric: WithinMetric | None) -> Contraction | None:
    """What a fitted metric does to samples; None, the Euclidean one, does nothing."""
    return None if metric is None else contraction(metric.axes_, metric.factors_, metric.weights_)


def contraction(axes: Floats, factors: Floats, weights: Floats) -> Contraction:
    """A without what it leaves as it is: weights of 1, and all axes where the shrinkage is infinite."""
    kept = weights if np.any(weights < 1.0) else None
    if np.all(factors == 1.0):
        axes, factors = axes[:, :0], factors[:0]
    return Contraction(axes, factors, kept)


def metric_from(
    scatter: WithinScatter, weights: Floats, shrinkage: float, n_neighbors: int | None, relevance: float
) -> WithinMetric:
    """A fitted metric; whoever makes it says how many features there are."""
    metric = WithinMetric(shrinkage, n_neighbors=n_neighbors, relevance=relevance)
    metric.n_features_in_ = scatter.n_features
    metric._keep(scatter, weights)
    return metric


def check_relevance(value: Any) -> float:
    """A number that is not negative."""
    return check_number("relevance", value, cure="0 weighs all features alike, 1 by what they tell.")


def check_shrinkage(value: Any) -> float:
    """A positive number or infinity."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not float(value) > 0:
        cure = "1.0 is a good start; inf gives the Euclidean metric."
        raise rule_error("shrinkage", "be a positive number or inf", value, cure)
    return float(value)
