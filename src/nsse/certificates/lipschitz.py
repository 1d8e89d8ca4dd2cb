"""Lipschitz constants of a kernel map, proved and observed, side by side.

    ‖f(u) − f(v)‖ ≤ L ‖u − v‖:    √N L_φ ‖C‖_F  (Proposition 1 of the paper),
    L_φ Σ_j ‖c_j‖  (the triangle inequality alone),    √(2γ)/σ √λmax(Q)  (the space of the kernel).

L_φ is the slope of the kernel, √(2/e)/σ for the Gaussian, and γ = −κ′(0) its curvature. A metric in
front multiplies all of them by its norm. From below, L is at least the norm of any Jacobian

    J(u) = Σ_j w_j (u − z_j) c_j',  w_j = 2κ′(t_j)/σ²,
    ∇_u (p'J q) = Σ_j (c_j'q) [w_j p + (4κ″(t_j)/σ⁴) (u − z_j)'p (u − z_j)].
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error, rule_message
from nsse._support.parameters import check_count
from nsse._support.types import Floats, Matrix, SamplesLike
from nsse.affine import Affine, dense_array, is_sparse
from nsse.certificates.map_bounds import bounds_anywhere, require_valid
from nsse.certificates.radii import checked_samples
from nsse.maps import KernelMap, LinearMap, Member, summed_gradients

STARTS = 3  # steepest points from which to climb
LOOKED_AT = 300  # centers at most where steep places are looked for
BLOCK_VALUES = 4_000_000


@dataclass(frozen=True)
class LipschitzBounds:
    """Upper bounds of the Lipschitz constant of f, and a lower one, in the units of the samples.

    Attributes
    ----------
    proposition_1 : float
        √N L_φ ‖C‖_F with the slope L_φ of the kernel, from Proposition 1 of the paper.
    row_sum : float
        L_φ Σ_j ‖c_j‖, never above `proposition_1`.
    rkhs : float
        √(2γ)/σ √λmax(C'KC) with the curvature γ of the kernel.
    empirical : float
        The largest spectral norm of the Jacobian that was found. No Lipschitz constant is smaller.
    steepest : ndarray of shape (n_features,)
        The point at which it was found.

    See Also
    --------
    lipschitz_bounds : Computes them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import lipschitz_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> bounds = lipschitz_bounds(SmoothEmbedding().fit(X[::3], y[::3]))
    >>> bounds.empirical <= bounds.best <= bounds.proposition_1
    True
    """

    proposition_1: float
    row_sum: float
    rkhs: float
    empirical: float
    steepest: Floats

    @property
    def best(self) -> float:
        """The smallest constant that is proved."""
        return min(self.proposition_1, self.row_sum, self.rkhs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, for a frame or a file."""
        return {name: value for name, value in asdict(self).items() if name != "steepest"}


def lipschitz_bounds(model: Any, X: SamplesLike = None, *, max_iter: int = 100) -> LipschitzBounds:
    """Return bounds of ‖f(u) − f(v)‖/‖u − v‖, and the steepest point that was found.

    Parameters
    ----------
    model : estimator
        A fitted model with a kernel map. The curvature of the kernel must be finite.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Samples at which the search for steep places starts. None uses centers of f.
    max_iter : int, default=100
        Steps of the climb from each of the three steepest samples. With 0, there is no climb.

    Returns
    -------
    LipschitzBounds
        ``empirical <= L <= rkhs, row_sum <= proposition_1`` for the best constant L. Either ``rkhs`` or
        ``row_sum`` may be the smaller one.

    See Also
    --------
    theorem_1 : Uses the bounds.
    certified_radius : Returns the bound at each sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import lipschitz_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> bounds = lipschitz_bounds(SmoothEmbedding().fit(X[::3], y[::3]))
    >>> bool(bounds.empirical <= min(bounds.rkhs, bounds.row_sum) <= bounds.proposition_1)
    True
    """
    check_is_fitted(model)
    check_count("max_iter", max_iter, least=0, cure="0 does not climb.")
    f = getattr(model, "map_", model)
    if not isinstance(f, KernelMap):
        cure = "For a pipeline, pass model[-1]. The constant of a linear map is the norm of its matrix."
        raise TypeError(rule_message("model", "have a kernel map", type(f).__name__, cure))
    require_slope(f)
    every = -(-f.centers.shape[0] // LOOKED_AT)
    U = f.centers[::every] if X is None else f.metric(checked_samples(model, X))
    behind = KernelMap(Affine.identity(U.shape[1]), f.centers, f.kernel, f.coef)
    norms = steepness(behind, f.metric, U)
    starts = U[np.argsort(-norms, kind="stable")[:STARTS]]
    starts = starts.toarray() if is_sparse(starts) else starts
    candidates = np.vstack([starts, *[_climbed(behind, start, int(max_iter)) for start in starts]])
    found = steepness(behind, f.metric, candidates)
    top, stretch = int(found.argmax()), f.metric.norm
    return LipschitzBounds(
        proposition_1=stretch * proposition_1(f),
        row_sum=stretch * row_sum_bound(f),
        rkhs=stretch * rkhs_bound(f),
        empirical=float(found[top]),
        steepest=dense_array(f.metric.inverse(candidates[top : top + 1]))[0],
    )


def proposition_1(f: KernelMap) -> float:
    """Return √N L_φ ‖C‖_F."""
    return math.sqrt(len(f.coef)) * f.kernel.slope * float(np.linalg.norm(f.coef))


def row_sum_bound(f: KernelMap) -> float:
    """Return L_φ Σ ‖c_j‖, by the triangle inequality over the centers, without Cauchy–Schwarz."""
    return f.kernel.slope * float(np.linalg.norm(f.coef, axis=1).sum())


def rkhs_bound(f: KernelMap) -> float:
    """Return √(2γ)/σ √λmax(Q), from √(2 − 2κ(t)) ≤ √(2γ) r/σ. Q is raised by its rounding error."""
    factor = bounds_anywhere(f).factor
    return f.kernel.unit_slope * float(np.linalg.norm(factor, 2))


@singledispatch
def lipschitz_constant(f: Any) -> float:
    """Return the smallest constant that is proved for a map, in the units of the samples.

    This one is for ensembles, whose values are weighted sums.
    """
    total = sum(member.weight * slope_of_values(member) for member in f.members(None))
    return float(np.linalg.norm(f.rotation, 2)) * total


@lipschitz_constant.register(KernelMap)
def _of_kernels(f: KernelMap) -> float:
    require_slope(f)
    return f.metric.norm * min(rkhs_bound(f), row_sum_bound(f))


@lipschitz_constant.register(LinearMap)
def _of_matrix(f: LinearMap) -> float:
    return f.affine.norm


def slope_of_values(member: Member) -> float:
    """Return a Lipschitz constant of the values of the classes of a member, less their mean.

    The mean of all functions is subtracted, which changes all values by the same number. Each value is
    then a maximum of functions and changes no faster than the steepest of them.
    """
    f, scores, _ = member
    require_slope(f)
    images = (scores.weights - scores.weights.mean(axis=0)) @ bounds_anywhere(f).factor * f.unit_slope
    if scores.has_one_per_class:
        return float(np.linalg.norm(images, 2))
    lengths = np.linalg.norm(images, axis=1)
    steepest = [lengths[scores.codes == c].max() for c in range(len(scores.classes))]
    return float(np.linalg.norm(steepest))


def require_slope(f: Any) -> None:
    """Raise an error if the kernel is not valid, or has functions of unbounded slope."""
    require_valid(f)
    if not math.isfinite(f.unit_slope):
        rule = "have a kernel of finite curvature, because other kernels have no Lipschitz bound"
        cure = "Use Gaussian or Matern32. `certified_radius` takes all kernels."
        raise rule_error("model", rule, f.kernel, cure)


def steepness(behind: KernelMap, metric: Affine, U: Matrix) -> Floats:
    """Return the spectral norm of df/dx at points behind the metric, by the chain rule."""
    norms, size = np.empty(U.shape[0]), max(1, BLOCK_VALUES // (behind.coef.size + U.shape[1]))
    for start in range(0, len(norms), size):
        J = metric.pull_back(behind.jacobian(U[start : start + size]))
        small = J @ J.transpose(0, 2, 1)
        norms[start : start + size] = np.sqrt(np.maximum(np.linalg.eigvalsh(small)[:, -1], 0.0))
    return norms


def _climbed(behind: KernelMap, start: Floats, max_iter: int) -> Floats:
    """Return a point near ``start`` with a larger spectral norm of J."""
    if max_iter == 0:
        return start
    found = minimize(
        _negative_half_square, start, (behind,), "L-BFGS-B", True, options={"maxiter": max_iter}
    )
    return np.asarray(found.x)


def _negative_half_square(u: Floats, behind: KernelMap) -> tuple[float, Floats]:
    """Return −‖J‖²/2 and its gradient −‖J‖ ∇(p'Jq), with p and q the leading singular vectors."""
    row = u[np.newaxis]
    left, values, right = np.linalg.svd(behind.jacobian(row)[0].T, full_matrices=False)
    p, q = left[:, 0], right[0]
    along = behind.coef @ q
    first = along * behind.kernel.gradient_weights(row, behind.centers, behind.center_squares)[0]
    second = along * behind.bend_weights(row)[0] * (u @ p - behind.centers @ p)
    gradient = first.sum() * p + summed_gradients(second[np.newaxis], row, behind.centers)[0]
    return -0.5 * float(values[0]) ** 2, -values[0] * gradient
