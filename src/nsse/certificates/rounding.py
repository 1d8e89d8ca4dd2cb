"""Bound rounding errors, because certificates are about the numbers that a computer computes.

On the way from x to where a map measures, z = x through affine steps, every product of length k is
wrong by at most k ε times the sizes of its factors. That is taken as a further movement of the sample,
at x and at the moved point (`Front`). From there a map's own values are wrong by a bounded amount
everywhere, and the Gram matrix Q is raised by what it may be short of (`MapBounds`). Constants are
doubled to cover terms of second order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from nsse._support.errors import rule_error
from nsse._support.types import Floats, Matrix, SamplesLike
from nsse.affine import SAFE, Affine, frobenius_norm, is_sparse, largest_value
from nsse.maps import KernelMap, LinearMap, Member
from nsse.pipelines import affine_of_step, is_encoder
from nsse.scores import Scores

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
# Sizes of coefficients, weights and widths between which the bounds neither overflow nor underflow.
ORDINARY = 2.0**-200, 2.0**200
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
        The steps as one; None where there are none.
    stretch : float
        At least the product of norms of the steps.
    growth : float
        Rounding at the moved point, by the length of the move.
    error : ndarray of shape (n_samples,)
        Rounding at the samples.
    """

    Z: SamplesLike
    whole: Affine | None
    stretch: float
    growth: float
    error: Floats

    @classmethod
    def through(cls, steps: list[Any], X: SamplesLike) -> Front:
        """Send samples through fitted steps of a pipeline, after all steps were checked."""
        known = [affine_of_step(step, with_gaps=True) for step in steps]
        if steps and is_encoder(steps[0]):  # numbers pass it as they are, and dates become numbers
            X, steps, known = steps[0].transform(X), steps[1:], known[1:]
        X = X if hasattr(X, "dtype") or hasattr(X, "dtypes") else np.asarray(X)
        front = cls(X, None, 1.0, 0.0, np.zeros(1))
        for step, affine in zip(steps, known, strict=True):
            Z = step.transform(front.Z)
            front = front.behind(affine, _coarser(front.Z, Z), Z, is_ours=False)
        return front

    def behind(self, affine: Affine, eps: float, Z: SamplesLike, *, is_ours: bool = True) -> Front:
        """Add one more step, computed with a relative error of ``eps``."""
        gamma, size = relative_error(affine, eps), absolute_norm(affine)
        own = gamma * (size * _sizes(self.Z, affine, is_ours) + float(np.linalg.norm(affine.offset)))
        widest = size * float(np.abs(affine.scale).max())
        growth = affine.norm * self.growth + gamma * widest * (self.stretch + self.growth)
        whole = affine if self.whole is None else affine.after(self.whole)
        return Front(Z, whole, self.stretch * affine.norm, growth, affine.norm * self.error + own)

    def select(self, rows: Any) -> Front:
        """Return the same for some of the samples."""
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


def is_ordinary(member: Member) -> bool:
    """Return whether the numbers of a map and its scores are in the range for which the bounds hold.

    A fit always gives such numbers. A file could contain others, such as the same function with all
    coefficients divided by 1e300 and all weights multiplied by it, so that squares of the coefficients
    vanish. The weight of a member of an ensemble is not negative, because the bound of a member is a
    lower one.
    """
    f: Any = member.map
    sizes = [largest_value(member.scores.weights), float(member.weight)]
    if isinstance(f, LinearMap):
        if not SAFE[0] < largest_value(f.affine.dense()) < SAFE[1]:
            return False
    else:
        sizes += [largest_value(f.coef), float(f.kernel.sigma)]
    return all(size == 0.0 or ORDINARY[0] < size < ORDINARY[1] for size in sizes)


@dataclass(frozen=True)
class MapBounds:
    """Q and the values of a map, with what they may be wrong by.

    Attributes
    ----------
    factor : ndarray of shape (d, d)
        F with FF' at least Q in the order of symmetric matrices: ‖F'a‖ is at least the norm of a'f.
    error : ndarray of shape (n_samples,) or (1,)
        How far computed values of f may be from the exact ones at the samples.
    size : ndarray of shape (n_samples,) or (1,)
        ‖f‖ is at most so large there.
    error_growth, size_growth : float
        How much larger both may be at a moved sample, per unit of the distance.
    gradient_error : float
        How far computed gradients of a'f behind the metric may be from the exact ones, ‖a‖ = 1.
    """

    factor: Floats
    error: Floats
    size: Floats
    error_growth: float = 0.0
    size_growth: float = 0.0
    gradient_error: float = np.inf

    @classmethod
    def of(cls, f: Any, Z: Matrix | None, F: Floats) -> MapBounds:
        """Bound the rounding of a map at samples ``Z`` in front of it, with values ``F``."""
        return _of_linear(f, Z, F) if isinstance(f, LinearMap) else _of_kernels(f)

    def of_functions(self, scores: Scores) -> Floats:
        """Return what a computed affine function of f may be wrong by at the samples."""
        rounding = 2.0 * (scores.weights.shape[1] + 8) * EPS
        return widest_weight(scores) * self.error + rounding * self.largest_function(scores)

    def growth_of_functions(self, scores: Scores) -> float:
        """Return how much larger that may be at a moved sample, per unit of the distance."""
        rounding = 2.0 * (scores.weights.shape[1] + 8) * EPS
        return widest_weight(scores) * (self.error_growth + rounding * self.size_growth)

    def largest_function(self, scores: Scores) -> Floats:
        """Return a bound of the sizes of all functions at the samples."""
        return widest_weight(scores) * self.size + float(np.abs(scores.offsets).max())


def widest_weight(scores: Scores) -> float:
    """Return the largest norm of the weights of a function."""
    return float(np.linalg.norm(scores.weights, axis=1).max())


def _of_kernels(f: KernelMap) -> MapBounds:
    """Return a bound that holds everywhere, because the kernel is flat far from the centers.

    With t = ‖u − z‖²/σ² and R = max ‖z‖, t is wrong by ε n (2t + 8R²/σ²) at most, and the kernel by what
    `Kernel.rounding` makes of that. No kernel value is above 1, so |C|'K|C| ≤ (Σ ‖c_j‖)².
    """
    require_valid(f)
    kernel, N, n = f.kernel, f.coef.shape[0], f.centers.shape[1] + 12.0
    rows = float(np.linalg.norm(f.coef, axis=1).sum())
    largest = float(f.center_squares.max())
    value = kernel.rounding(2.0 * EPS * n, 8.0 * EPS * n * largest / kernel.sigma**2)
    factor = raised_factor(f.gram, 2.0 * (value + 8 * N * EPS) * rows**2)
    error = 2.0 * rows * (value + N * EPS)
    size = np.linalg.norm(factor, 2) + error
    slope = np.inf
    if kernel.has_local_bound:
        # |κ′| ‖u − z‖ ≤ σ √curvature, and products of u and of z are subtracted: 2/σ² times 2R more.
        length = kernel.sigma * np.sqrt(kernel.curvature) + 2.0 * np.sqrt(largest)
        slope = 8.0 / kernel.sigma**2 * length * (error + 2.0 * EPS * rows * (n + N))
    return MapBounds(factor, np.array([error]), np.array([size]), gradient_error=float(slope))


def require_valid(f: KernelMap) -> None:
    """Raise an error if the kernel of a map is not valid, because its bounds would be wrong."""
    if f.flaw is None:
        return
    rule = "have a positive definite kernel to be certified"
    cure = "Correct the kernel (see nsse.kernels.Kernel), or use the model without certificates."
    raise rule_error("model", rule, f"a {type(f.kernel).__name__}: {f.flaw}", cure)


def _of_linear(f: LinearMap, Z: Matrix | None, F: Floats) -> MapBounds:
    """Return the error of products, which is proportional to the factors, for moved samples as well."""
    size, g = absolute_norm(f.affine), relative_error(f.affine, EPS)
    stretch, length = size * float(np.abs(f.affine.scale).max()), lengths(F)
    error = g * size * _sizes(Z, f.affine, True) + 8.0 * EPS * length
    growth = (g + 8.0 * EPS) * stretch
    factor = raised_factor(f.gram, g * float(np.trace(f.gram)))
    return MapBounds(factor, error, length + error, growth, stretch + growth)


def raised_factor(gram: Floats, raise_by: float) -> Floats:
    """Return F with FF' = Q + raise_by · I."""
    if not np.isfinite(gram).all():  # it has overflowed, so no norm is too large
        return np.full(gram.shape, np.inf)
    eigenvalues, vectors = np.linalg.eigh(gram)
    rounding = 8.0 * len(gram) * EPS * float(np.abs(eigenvalues).max())
    return np.asarray(vectors * np.sqrt(np.maximum(eigenvalues, 0.0) + raise_by + rounding))


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


def _sizes(X: SamplesLike, affine: Affine, is_ours: bool) -> Floats:
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
