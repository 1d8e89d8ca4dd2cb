"""Bound the values of kernel maps and linear maps, with rounding.

Certificates are about the numbers that a computer computes. The computed values of a map have a bounded
error everywhere, and the Gram matrix Q is raised by its possible error. Constants are doubled to cover
terms of second order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse._support.types import Floats, Matrix
from nsse.affine import SAFE, largest_value
from nsse.certificates.front import EPS, absolute_norm, lengths, relative_error, scaled_lengths
from nsse.maps import KernelMap, LinearMap, Member
from nsse.scores import Scores

# Sizes of coefficients, weights and widths between which the bounds neither overflow nor underflow.
ORDINARY = 2.0**-200, 2.0**200


@dataclass(frozen=True)
class MapBounds:
    """Q and the values of a map, with bounds of their errors.

    Attributes
    ----------
    factor : ndarray of shape (d, d)
        F with FF' ≥ Q in the order of symmetric matrices, so ‖F'a‖ is at least the norm of a'f.
    error : ndarray of shape (n_samples,) or (1,)
        How far computed values of f may be from the exact ones at the samples.
    size : ndarray of shape (n_samples,) or (1,)
        An upper bound of ‖f‖ at the samples.
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

    def of_functions(self, scores: Scores) -> Floats:
        """Return a bound of the error of a computed affine function of f at the samples."""
        rounding = 2.0 * (scores.weights.shape[1] + 8) * EPS
        return widest_weight(scores) * self.error + rounding * self.largest_function(scores)

    def growth_of_functions(self, scores: Scores) -> float:
        """Return how much larger this bound is at a moved sample, per unit of the distance."""
        rounding = 2.0 * (scores.weights.shape[1] + 8) * EPS
        return widest_weight(scores) * (self.error_growth + rounding * self.size_growth)

    def largest_function(self, scores: Scores) -> Floats:
        """Return a bound of the sizes of all functions at the samples."""
        return widest_weight(scores) * self.size + float(np.abs(scores.offsets).max())


def widest_weight(scores: Scores) -> float:
    """Return the largest norm of the weights of a function."""
    return float(np.linalg.norm(scores.weights, axis=1).max())


def change(f: KernelMap | LinearMap, distance: Floats) -> Floats:
    """Return ρ, by which no function of norm 1 changes more within a distance behind the metric."""
    return f.change(distance * (1.0 + 8 * EPS)) * (1.0 + 8 * EPS)


def reach(f: KernelMap | LinearMap, change: Floats) -> Floats:
    """Return the distance behind the metric within which no function of norm 1 changes by ``change``."""
    return f.reach(change * (1.0 - 8 * EPS)) * (1.0 - 8 * EPS)


@singledispatch
def bounds_of(f: Any, Z: Matrix | None, F: Floats) -> MapBounds:
    """Bound the rounding of a map at samples ``Z`` in front of it, with values ``F``."""
    raise NotImplementedError(type(f).__name__)


@bounds_of.register(KernelMap)
def _of_kernels(f: KernelMap, Z: Matrix | None, F: Floats) -> MapBounds:
    """Return a bound that holds everywhere, because the kernel is flat far from the centers.

    With t = ‖u − z‖²/σ² and R = max ‖z‖, the error of t is at most ε n (2t + 8R²/σ²), and the error
    of the kernel is what `Kernel.rounding` makes of it. No kernel value is above 1, so |C|'K|C| is at
    most (Σ ‖c_j‖)².
    """
    require_valid(f)
    kernel = f.kernel
    N = f.coef.shape[0]
    n = f.centers.shape[1] + 12.0
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


@bounds_of.register(LinearMap)
def _of_linear(f: LinearMap, Z: Matrix | None, F: Floats) -> MapBounds:
    """Return the error of products, which is proportional to the factors, for moved samples as well."""
    size, g = absolute_norm(f.affine), relative_error(f.affine, EPS)
    stretch, length = size * float(np.abs(f.affine.scale).max()), lengths(F)
    error = g * size * scaled_lengths(Z, f.affine, True) + 8.0 * EPS * length
    growth = (g + 8.0 * EPS) * stretch
    factor = raised_factor(f.gram, g * float(np.trace(f.gram)))
    return MapBounds(factor, error, length + error, growth, stretch + growth)


def bounds_anywhere(f: KernelMap | LinearMap) -> MapBounds:
    """Return the bounds of a map that do not depend on a sample."""
    return bounds_of(f, np.zeros((1, f.affine.n_features)), np.zeros((1, f.n_components)))


def is_ordinary(member: Member) -> bool:
    """Return whether the numbers of a map and its scores are in the range for which the bounds hold.

    A fit always gives such numbers. A file could contain others, such as the same function with all
    coefficients divided by 1e300 and all weights multiplied by it, so that squares of the coefficients
    vanish. The weight of a member of an ensemble is not negative, because the bound of a member is a
    lower one.
    """
    sizes = [largest_value(member.scores.weights), float(member.weight)]
    return _are_ordinary(sizes) and has_ordinary_numbers(member.map)


@singledispatch
def has_ordinary_numbers(f: Any) -> bool:
    """Return whether the numbers of a map are in this range."""
    raise NotImplementedError(type(f).__name__)


@has_ordinary_numbers.register(KernelMap)
def _of_coefficients(f: KernelMap) -> bool:
    return _are_ordinary([largest_value(f.coef), float(f.kernel.sigma)])


@has_ordinary_numbers.register(LinearMap)
def _of_matrix(f: LinearMap) -> bool:
    return SAFE[0] < largest_value(f.affine.dense()) < SAFE[1]


def _are_ordinary(sizes: list[float]) -> bool:
    return all(size == 0.0 or ORDINARY[0] < size < ORDINARY[1] for size in sizes)


def require_valid(f: KernelMap | LinearMap) -> None:
    """Raise an error if the kernel of a map is not valid, because its bounds would be wrong."""
    if f.flaw is None:
        return
    rule = "have a positive definite kernel to be certified"
    cure = "Correct the kernel (see nsse.kernels.Kernel), or use the model without certificates."
    raise rule_error("model", rule, f"a {type(f.kernel).__name__}: {f.flaw}", cure)


def raised_factor(gram: Floats, raise_by: float) -> Floats:
    """Return F with FF' = Q + raise_by · I."""
    if not np.isfinite(gram).all():  # it has overflowed, so no norm is too large
        return np.full(gram.shape, np.inf)
    eigenvalues, vectors = np.linalg.eigh(gram)
    rounding = 8.0 * len(gram) * EPS * float(np.abs(eigenvalues).max())
    return np.asarray(vectors * np.sqrt(np.maximum(eigenvalues, 0.0) + raise_by + rounding))
