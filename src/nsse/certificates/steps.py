"""Steps before a model, z = xM + b: radii of the model in the units of the samples that they take.

A change δ of x is one of M'δ of what the model sees. No change of that with ‖A M'δ‖ below ρ changes the
label, A being the model's metric or the identity: an ellipsoid around x, and in it the ball of radius

    r = ρ / ‖MA‖,

the largest that it holds. Computers round: what the model sees of x and of the moved point are both off
by at most γ(|x||M| + |b|) and what the steps before passed on, with γ a few ε for a scaler and n ε for a
product of length n. That is taken from ρ, and ‖MA‖ is raised by its own share (`Passage`).

Only steps of which the affine form is known are taken, by exact type: a subclass may do something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from nsse._support.errors import rule_message
from nsse.certificates.function_space import EPS
from nsse.extensions import Contraction
from nsse.kernels import as_dense

Floats = NDArray[np.float64]

# Beyond so many features a norm is bounded, not computed: its decomposition would take seconds.
DECOMPOSED = 2048


class NotAffineError(ValueError):
    """A step of a pipeline through which no radius is carried."""


@dataclass(frozen=True)
class Affine:
    """z = xM + b.

    Attributes
    ----------
    factor : ndarray of shape (n_features,) or (n_features, n_outputs)
        M, or its diagonal where every feature is scaled by itself.
    offset : ndarray of shape (n_outputs,)
        b.
    size : ndarray of shape (n_outputs,)
        What is added on the way to b, in absolute value: rounding is in proportion to it.
    count : int
        How many steps it stands for.
    """

    factor: Floats
    offset: Floats
    size: Floats
    count: int = 1

    @classmethod
    def scaling(cls, factor: Floats, offset: Floats) -> Affine:
        """Feature by feature: z = x · factor + offset."""
        return cls(factor, offset, np.abs(offset))

    @classmethod
    def product(cls, matrix: Floats, mean: Floats | None = None) -> Affine:
        """z = (x − mean)M, however that is computed."""
        m = np.zeros(len(matrix)) if mean is None else np.asarray(mean, dtype=np.float64)
        return cls(matrix, -m @ matrix, np.abs(m) @ np.abs(matrix))

    @property
    def is_scaling(self) -> bool:
        """Whether every feature is scaled by itself."""
        return self.factor.ndim == 1

    @property
    def is_identity(self) -> bool:
        """Whether it leaves everything as it is."""
        return self.is_scaling and bool(np.all(self.factor == 1.0) and np.all(self.offset == 0.0))

    @cached_property
    def is_copy(self) -> bool:
        """Whether features pass as they are, all or some of them."""
        if self.is_scaling or self.offset.any():
            return self.is_identity
        return bool(np.isin(self.factor, (0.0, 1.0)).all() and (self.factor.sum(axis=0) == 1.0).all())

    @property
    def matrix(self) -> Floats:
        """M."""
        return np.diag(self.factor) if self.is_scaling else self.factor

    @cached_property
    def norm(self) -> float:
        """‖M‖."""
        return float(np.abs(self.factor).max()) if self.is_scaling else spectral_norm(self.factor)

    @property
    def absolute_norm(self) -> float:
        """No less than the norm of |M|, which is what rounding errors go through."""
        return self.norm if self.is_scaling else float(np.linalg.norm(self.factor))

    def then(self, other: Affine) -> Affine:
        """Both steps, this one first."""
        if other.is_scaling:
            factor, offset = self.factor * other.factor, self.offset * other.factor
            size = self.size * np.abs(other.factor)
        else:
            M = other.factor
            factor = self.factor[:, np.newaxis] * M if self.is_scaling else self.factor @ M
            offset, size = self.offset @ M, self.size @ np.abs(M)
        count = self.count + other.count
        return Affine(factor, offset + other.offset, size + other.size, count)

    def undone(self, Z: Any) -> Any:
        """The x of every row z of a scaling; a sparse Z that was not scaled stays sparse."""
        if self.is_identity:
            return Z
        return np.asarray((as_floats(Z) - self.offset) / self.factor)

    def gamma(self, dtype: Any) -> float:
        """What every |x||M| + |b| may be wrong by, in proportion; nothing where features are copied."""
        if self.is_copy:
            return 0.0
        terms = 8.0 if self.is_scaling else 2.0 * (self.factor.shape[0] + 8)
        return terms * self.count * float(np.finfo(dtype).eps)

    def rounding(self, X: Any, dtype: Any) -> Floats:
        """How far from xM + b the computed z may be, for every row x."""
        if self.is_scaling:
            size = row_norms(np.nan_to_num(np.abs(as_floats(X) * self.factor) + self.size))
        else:
            size = row_norms(np.nan_to_num(as_floats(X))) * self.absolute_norm
            size = size + float(np.linalg.norm(self.size))
        return np.asarray(self.gamma(dtype) * size)


@dataclass(frozen=True)
class Passage:
    """Samples on their way through affine steps.

    Attributes
    ----------
    Z : array or data frame
        What the model sees.
    whole : Affine
        All steps as one.
    doubt : ndarray of shape (n_samples,)
        What rounding may add, at x and at a moved point together, to how far z moves.
    growth : float
        The same by the length of the move.
    """

    Z: Any
    whole: Affine
    doubt: Floats
    growth: float

    @classmethod
    def of(cls, steps: list[Any], X: Any) -> Passage:
        """Send samples through fitted steps, each known to be affine."""
        known = [affine_of(step) for step in steps]  # all are refused or taken before any work
        doubt, dtypes = np.zeros(1), []
        for step, affine in zip(steps, known, strict=True):
            Z = step.transform(X)
            dtypes.append(_coarser(X, Z))
            doubt = affine.norm * doubt + 2.0 * affine.rounding(X, dtypes[-1])
            X = Z
        return cls(X, reduce(Affine.then, known), doubt, growth_of(known, dtypes))

    def in_units_of_samples(self, radius: Floats, metric: Contraction | None) -> Floats:
        """Radii of changes to x, from those of changes to Az."""
        widest = 1.0 if metric is None else metric.norm
        left = np.maximum(radius - widest * self.doubt, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = left / (stretch_of(self.whole, metric) + self.growth)
        # Where the steps see nothing of x, nothing can change; 0/0 is what is not certain either way.
        return np.where(np.isnan(found), 0.0, found * (1.0 - 8 * EPS))


def growth_of(known: list[Affine], dtypes: list[Any]) -> float:
    """How much the rounding of steps grows with the length of a move, and that of their product."""
    growth, stretch, absolute = 0.0, 1.0, 1.0
    for affine, dtype in zip(known, dtypes, strict=True):
        own = affine.gamma(dtype) * affine.absolute_norm
        growth = affine.norm * growth + own * (stretch + growth)
        stretch, absolute = stretch * affine.norm, absolute * affine.absolute_norm
    length = max(max(affine.factor.shape) for affine in known)
    return growth + 4.0 * len(known) * (length + 8) * EPS * absolute


def stretch_of(whole: Affine, metric: Contraction | None) -> float:
    """‖MA‖: by how much a change of x may grow until it reaches the kernel."""
    if metric is None:
        return whole.norm
    if min(whole.factor.shape) > DECOMPOSED:
        return whole.norm * metric.norm
    return spectral_norm(metric(whole.matrix))


def spectral_norm(M: Floats) -> float:
    """‖M‖, never less than it is; of matrices that are large both ways, a bound."""
    rows, columns = M.shape
    if min(rows, columns) > DECOMPOSED:
        size = np.abs(M)
        # ‖M‖² is at most the largest sum of a row times that of a column, and at most that of squares.
        bound = min(np.sqrt(size.sum(0).max() * size.sum(1).max()), np.linalg.norm(M))
        return float(bound * (1.0 + 4.0 * (max(rows, columns) + 8) * EPS))
    G = M.T @ M if columns <= rows else M @ M.T
    rounding = 4.0 * (max(rows, columns) + 8) * EPS * float(np.trace(G))
    return float(np.sqrt(max(np.linalg.eigvalsh(G)[-1], 0.0) + rounding))


def as_floats(X: Any) -> Floats:
    """A dense array of a dense or sparse matrix or a data frame."""
    return np.asarray(as_dense(X), dtype=np.float64)


def scaling_of(steps: list[Any], n_features: int) -> Affine | None:
    """Steps as one; None where one of them does more than scale features."""
    whole = Affine.scaling(np.ones(n_features), np.zeros(n_features))
    for step in steps:
        affine = _affine_or_none(step)
        if affine is None or not affine.is_scaling:
            return None
        whole = whole.then(affine)
    return whole


def affine_of(step: Any) -> Affine:
    """The affine form of a fitted step, which is refused by its name where there is none."""
    found = _affine_or_none(step)
    if found is None:
        rule = "have nothing but affine steps before its map, to be certified in the units of X"
        cure = (
            "Scalers without clipping, imputers, selections of features, PCA and other linear "
            'projections are; units="model" measures changes of what the last step takes.'
        )
        raise NotAffineError(rule_message("model", rule, step, cure))
    return found


def _affine_or_none(step: Any) -> Affine | None:
    home = type(step).__module__.partition(".")[0]
    if home not in ("sklearn", "nsse"):
        return None
    if any(base.__name__ == "SelectorMixin" for base in type(step).__mro__):
        kept = np.asarray(step.get_support(), dtype=bool)
        return Affine.product(np.eye(len(kept))[:, kept])
    found = _KNOWN.get(type(step).__name__)
    return None if found is None else found(step)


def _coarser(X: Any, Z: Any) -> Any:
    """The floating-point type that a step computes in, at worst."""
    single = np.dtype(np.float32)
    kinds = [
        np.asarray(A.dtypes) if hasattr(A, "dtypes") else [getattr(A, "dtype", None)] for A in (X, Z)
    ]
    return single if any(kind == single for kinds_of in kinds for kind in kinds_of) else np.dtype(float)


def _standard(step: Any) -> Affine:
    factor = 1.0 / step.scale_ if step.with_std else np.ones(step.n_features_in_)
    mean = step.mean_ if step.with_mean else 0.0  # without, it keeps a mean that it does not use
    return Affine.scaling(np.asarray(factor), np.asarray(-mean * factor))


def _robust(step: Any) -> Affine:
    factor = 1.0 / step.scale_ if step.with_scaling else np.ones(step.n_features_in_)
    center = step.center_ if step.with_centering else 0.0
    return Affine.scaling(np.asarray(factor), np.asarray(-center * factor))


def _min_max(step: Any) -> Affine | None:
    return None if step.clip else Affine.scaling(np.asarray(step.scale_), np.asarray(step.min_))


def _max_abs(step: Any) -> Affine | None:
    if getattr(step, "clip", False):
        return None
    return Affine.scaling(1.0 / step.scale_, np.zeros(len(step.scale_)))


def _pca(step: Any) -> Affine:
    matrix = np.asarray(step.components_, dtype=np.float64).T
    if step.whiten:
        least = np.finfo(step.explained_variance_.dtype).eps
        matrix = matrix / np.maximum(np.sqrt(step.explained_variance_), least)
    return Affine.product(matrix, step.mean_)


def _discriminant(step: Any) -> Affine:
    # The solver "lsqr" keeps no scalings, and has no `transform` either.
    matrix = np.asarray(step.scalings_, dtype=np.float64)[:, : len(step.get_feature_names_out())]
    return Affine.product(matrix, step.xbar_ if step.solver == "svd" else None)


def _projection(step: Any) -> Affine:
    return Affine.product(as_floats(step.components_).T)


def _linear_method(step: Any) -> Affine:
    return Affine.product(step.components_.T, step.mean_)


def _within_metric(step: Any) -> Affine:
    A = Contraction(step.axes_, step.factors_, step.weights_)
    return Affine.product(A(np.eye(step.n_features_in_)))


def _imputer(step: Any) -> Affine | None:
    """Numbers pass as they are, and what is missing is not changed; empty columns are left out."""
    if step.add_indicator or not (
        isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    ):
        return None
    try:
        empty = np.isnan(np.asarray(step.statistics_, dtype=np.float64))
    except (TypeError, ValueError):  # statistics of text
        return None
    kept = ~empty | step.keep_empty_features
    n = len(kept)
    return Affine.scaling(np.ones(n), np.zeros(n)) if kept.all() else Affine.product(np.eye(n)[:, kept])


_KNOWN: dict[str, Callable[[Any], Affine | None]] = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "SimpleImputer": _imputer,
    "PCA": _pca,
    "IncrementalPCA": _pca,
    "TruncatedSVD": _projection,
    "GaussianRandomProjection": _projection,
    "SparseRandomProjection": _projection,
    "NeighborhoodComponentsAnalysis": _projection,
    "LinearDiscriminantAnalysis": _discriminant,
    "WithinMetric": _within_metric,
    "LFDA": _linear_method,
    "LDE": _linear_method,
}
