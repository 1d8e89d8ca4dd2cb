"""Lipschitz constants of a map, proved and observed, side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse.certificates.function_space import FunctionSpace
from nsse.certificates.jacobians import steepest_near, steepness
from nsse.certificates.models import check_units, checked_samples, expansion_of
from nsse.kernels import as_dense, kernel_slope

Floats = NDArray[np.float64]

STARTS = 3  # steepest points from which to climb


@dataclass(frozen=True)
class LipschitzBounds:
    """Upper bounds of the Lipschitz constant of f, and a lower one.

    Attributes
    ----------
    proposition_1 : float
        √N L_φ ‖C‖_F with L_φ = √(2/e)/σ: Proposition 1 of the paper.
    row_sum : float
        L_φ Σ_i ‖c_i‖, never above `proposition_1`.
    rkhs : float
        (√2/σ) √λmax(C'KC).
    empirical : float
        Largest spectral norm of the Jacobian found: no Lipschitz constant is smaller.
    steepest : ndarray of shape (n_features,)
        The point where it was found.
    sigma : float
        The kernel scale.

    See Also
    --------
    nsse.certificates.lipschitz_bounds : Gives them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import lipschitz_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> bounds = lipschitz_bounds(model)
    >>> bounds.empirical <= bounds.best <= bounds.proposition_1
    True
    """

    proposition_1: float
    row_sum: float
    rkhs: float
    empirical: float
    steepest: Floats
    sigma: float

    @property
    def best(self) -> float:
        """The smallest constant that is proved."""
        return min(self.proposition_1, self.row_sum, self.rkhs)

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name, for a frame or a file."""
        return {name: value for name, value in asdict(self).items() if name != "steepest"}


def lipschitz_bounds(
    model: Any, X: Any = None, *, max_iter: int = 100, units: str = "samples"
) -> LipschitzBounds:
    """Bounds of ‖f(u) − f(v)‖/‖u − v‖, and the steepest place that was found.

    Parameters
    ----------
    model : estimator
        Fitted; its map must be a Gaussian expansion.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Where to look for steep places. None: at the centres of f, that is the training samples.
    max_iter : int, default=100
        Steps of the climb from each of the three steepest of these. 0 does not climb.
    units : {"samples", "metric"}, default="samples"
        Of a model in a metric A: how much f changes by a change of x, or of Ax. The latter is as large
        or larger, ‖A‖ being at most 1.

    Returns
    -------
    LipschitzBounds
        ``empirical <= L <= rkhs, row_sum <= proposition_1`` for the best constant L; of the two in the
        middle either may be smaller.

    See Also
    --------
    nsse.certificates.theorem_1 : What the bounds are for.
    nsse.certificates.certified_radius : The bound at a sample.

    Examples
    --------
    >>> from nsse.certificates import lipschitz_bounds
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> bounds = lipschitz_bounds(model)
    >>> bool(bounds.empirical <= min(bounds.rkhs, bounds.row_sum) <= bounds.proposition_1)
    True
    """
    if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or max_iter < 0:
        raise rule_error("max_iter", "be a whole number, 0 or more", max_iter, "0 does not climb.")
    check_units(units)
    expansion = expansion_of(model)
    metric = expansion.metric if units == "samples" else None
    centers = expansion.centers
    points = centers.points if X is None else expansion.moved(checked_samples(model, X))
    norms = steepness(expansion, points, metric)
    first = np.argsort(-norms, kind="stable")[:STARTS]
    starts = as_dense(points[first])
    ends = np.array([steepest_near(expansion, start, int(max_iter)) for start in starts])
    candidates = np.vstack([starts, ends])
    found = steepness(expansion, candidates, metric)
    top = int(found.argmax())
    shift = 0.0 if centers.shift is None else centers.shift
    steepest = candidates[top] + shift
    # ‖f(u) − f(v)‖ ≤ L ‖A(u − v)‖ ≤ L ‖A‖ ‖u − v‖.
    stretch = 1.0 if metric is None else metric.norm
    return LipschitzBounds(
        proposition_1=stretch * proposition_1(expansion.coef, expansion.sigma),
        row_sum=stretch * row_sum_bound(expansion.coef, expansion.sigma),
        rkhs=stretch * rkhs_bound(FunctionSpace.of(expansion)),
        empirical=float(found[top]),
        steepest=steepest if metric is None else metric.inverse(steepest[np.newaxis])[0],
        sigma=expansion.sigma,
    )


def proposition_1(coef: Floats, sigma: float) -> float:
    """√N L_φ ‖C‖_F."""
    return float(np.sqrt(len(coef)) * kernel_slope(sigma) * np.linalg.norm(coef))


def row_sum_bound(coef: Floats, sigma: float) -> float:
    """L_φ Σ ‖c_i‖: the triangle inequality over the centres, without Cauchy–Schwarz after it.

    Parameters
    ----------
    coef : ndarray of shape (n_centers, n_components)
        The c_i.
    sigma : float
        Kernel scale.

    Returns
    -------
    float
        An upper bound of the Lipschitz constant.

    See Also
    --------
    nsse.certificates.lipschitz_bounds : This and others of a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.certificates import row_sum_bound
    >>> round(row_sum_bound(np.array([[3.0, 4.0]]), sigma=1.0), 3)
    4.289
    """
    return kernel_slope(sigma) * float(np.linalg.norm(coef, axis=1).sum())


def rkhs_bound(space: FunctionSpace) -> float:
    """(√2/σ) √λmax(G), from √(2 − 2 exp(−r²/σ²)) ≤ √2 r/σ."""
    return float(np.sqrt(2.0) / space.sigma * space.largest_norm)
