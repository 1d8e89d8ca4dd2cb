"""Bound how far samples move behind the affine steps in front of a map, with rounding.

On the way from x to the point z at which a map measures distances, every product of length k is wrong by
at most k ε times the sizes of its factors. This counts as a further movement of the sample, at x and at
the moved sample. Constants are doubled to cover terms of second order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from nsse._support.types import Floats, SamplesLike
from nsse.affine import SAFE, Affine, frobenius_norm, is_sparse
from nsse.maps import KernelMap, LinearMap
from nsse.pipelines import affine_of_step, is_encoder

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
# With more features than this, the norm of a product of steps is bounded by the product of their norms.
DECOMPOSED = 512
# Norms of metrics and of products of steps are right up to rounding, which is far less than this.
PRODUCT_ROUNDING = 1e-8


@dataclass(frozen=True)
class Front:
    """Affine steps between samples and the kernel, with bounds of how far moved samples may move there.

    Attributes
    ----------
    Z : array or data frame
        The samples behind the steps.
    whole : Affine or None
        The steps as one map, or None if there are no steps.
    stretch : float
        An upper bound of the product of the norms of the steps.
    growth : float
        The rounding error at a moved sample, per unit of the distance.
    error : ndarray of shape (n_samples,)
        The rounding errors at the samples.
    """

    Z: SamplesLike
    whole: Affine | None
    stretch: float
    growth: float
    error: Floats

    @classmethod
    def through(cls, steps: list[Any], X: SamplesLike) -> Front:
        """Send samples through the fitted steps of a pipeline, after all steps are checked."""
        known = [affine_of_step(step, with_gaps=True) for step in steps]
        if steps and is_encoder(steps[0]):  # numbers pass it as they are, and dates become numbers
            X = steps[0].transform(X)
            steps = steps[1:]
            known = known[1:]
        X = X if hasattr(X, "dtype") or hasattr(X, "dtypes") else np.asarray(X)
        front = cls(X, None, 1.0, 0.0, np.zeros(1))
        for step, affine in zip(steps, known, strict=True):
            Z = step.transform(front.Z)
            front = front.behind(affine, _coarser(front.Z, Z), Z, is_ours=False)
        return front

    def behind(self, affine: Affine, eps: float, Z: SamplesLike, *, is_ours: bool = True) -> Front:
        """Add one more step, computed with a relative error of ``eps``."""
        gamma, size = relative_error(affine, eps), absolute_norm(affine)
        sizes = size * scaled_lengths(self.Z, affine, is_ours)
        own = gamma * (sizes + float(np.linalg.norm(affine.offset)))
        widest = size * float(np.abs(affine.scale).max())
        growth = affine.norm * self.growth + gamma * widest * (self.stretch + self.growth)
        whole = affine if self.whole is None else affine.after(self.whole)
        return Front(Z, whole, self.stretch * affine.norm, growth, affine.norm * self.error + own)

    def before(self, f: KernelMap | LinearMap) -> Front:
        """Add the metric of a map, behind which its distances are measured. A linear map has none."""
        return self if f.metric is None else self.behind(f.metric, EPS, None)

    def select(self, rows: Any) -> Front:
        """Return the front of some of the samples."""
        return replace(
            self, Z=self.Z[rows], error=self.error if len(self.error) == 1 else self.error[rows]
        )

    def moved(self, radius: Floats) -> Floats:
        """Return how far samples may move behind the steps if they move by ``radius`` at most."""
        return (self.norm + self.growth) * radius + 2.0 * self.error

    def radius(self, reach: Floats) -> Floats:
        """Return how far samples may move so that they move by less than ``reach`` behind the steps."""
        # If an error has overflowed, it is infinite or NaN, and the radius is 0.
        left = np.fmax(reach - 2.0 * self.error, 0.0)
        radius = left / (self.norm + self.growth) * (1.0 - 8 * EPS)
        return np.where(np.isinf(reach), np.inf, radius)

    @cached_property
    def norm(self) -> float:
        """The norm of all steps together, or a bound of it, never zero."""
        if self.whole is None:
            return 1.0
        is_small = min(self.whole.n_features, self.whole.n_outputs) <= DECOMPOSED
        norm = min(self.stretch, self.whole.norm) if is_small else self.stretch
        return norm * (1.0 + PRODUCT_ROUNDING) + TINY


def relative_error(affine: Affine, eps: float) -> float:
    """Return a bound of the relative error of |x||T|, which is zero if columns are not changed."""
    n = affine.n_features
    is_plain = not (affine.shift.any() or affine.offset.any()) and bool((affine.scale == 1.0).all())
    if affine.matrix is not None and affine.tail is not None:
        return 2.0 * (n + len(affine.tail) + 16) * eps
    if affine.matrix is not None:
        T: Any = affine.matrix
        ones = is_plain and np.isin(T, (0.0, 1.0)).all() and (T.sum(axis=0) == 1.0).all()
        return 0.0 if ones else 2.0 * (n + 8) * eps
    if affine.up is not None:
        return 2.0 * (n + len(affine.up) + 16) * eps
    return 0.0 if is_plain else 8.0 * eps


def absolute_norm(affine: Affine) -> float:
    """Return a bound of the norm of |T|, which multiplies rounding errors."""
    if affine.matrix is not None:
        tail = 1.0 if affine.tail is None else frobenius_norm(affine.tail)
        return frobenius_norm(affine.matrix) * tail
    if affine.down is None or affine.up is None:
        return 1.0
    return 1.0 + float(np.linalg.norm(affine.down) * np.linalg.norm(affine.up))


def scaled_lengths(X: SamplesLike, affine: Affine, is_ours: bool) -> Floats:
    """Return ‖(x − shift) scale‖ of every row.

    If the shift may be subtracted later, both cases are bounded.
    """
    moved = float(np.linalg.norm(affine.shift * affine.scale))
    if is_sparse(X):
        scaled = sparse.csr_array(X) @ sparse.diags_array(affine.scale)
        return lengths(scaled) + moved
    rows = np.nan_to_num(np.asarray(X, dtype=np.float64))
    if is_ours:
        return lengths((rows - affine.shift) * affine.scale)
    return lengths(rows * affine.scale) + moved


def lengths(rows: Any) -> Floats:
    """Return norms of rows, dense or sparse, also if squares are too small or too large for floats."""
    largest = np.asarray(
        abs(rows).max(axis=1).toarray() if is_sparse(rows) else np.abs(rows).max(axis=1)
    )
    is_usual = (SAFE[0] < largest) & (largest < SAFE[1])
    if is_usual.all():
        return np.asarray(row_norms(rows))
    units = np.where(is_usual | (largest == 0.0) | ~np.isfinite(largest), 1.0, largest)
    return units * np.asarray(row_norms(sparse.diags_array(1.0 / units) @ rows))


def _coarser(X: SamplesLike, Z: SamplesLike) -> float:
    """Return the largest ε of the floating-point types that a step may use."""
    kinds = [
        kind for A in (X, Z) for kind in np.atleast_1d(A.dtypes if hasattr(A, "dtypes") else A.dtype)
    ]
    return float(np.finfo(np.float32).eps) if np.dtype(np.float32) in kinds else EPS
