"""Find out why bounds that are computed from a kernel would be wrong.

A radial kernel is positive definite in every dimension if and only if its profile κ is completely
monotone, (−1)ⁿ κ⁽ⁿ⁾ ≥ 0 for all n (Schoenberg 1938), and then κ is a mixture of Gaussians,
∫ exp(−s t) dμ(s). A non-increasing profile alone is not enough: exp(−t²), max(1 − t, 0) and exp(−t^1.3)
are non-increasing, but bounds that are computed from them are wrong. The checks of this file find such
profiles. They also compare the derivatives and closed forms of a kernel with its profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from nsse._support.errors import Described, rule_error
from nsse._support.types import Floats, Matrix
from nsse.distances import squared_norms

if TYPE_CHECKING:
    from nsse.kernels.base import Kernel

EPS = float(np.finfo(np.float64).eps)
# Values of t at which profiles are checked, from 0 to values at which every kernel in use has faded.
CHECKED_AT = np.concatenate([[0.0], np.geomspace(1e-12, 1e4, 129)])
# Values of t from which the slope at zero is checked, and orders of divided differences.
NEAR_ZERO, ORDERS = np.geomspace(1e-12, 1e2, 57), 6
# By how much `rate` may differ from differences of `profile`, times 1/t, and the step of these, times t.
RATE_ERROR, STEP = 1e-7, 1e-5
# Numbers near t at which rounding is looked for, in units in the last place.
NEARBY = np.arange(-8192, 8193, 512)
# Centers among which a kernel matrix is checked, at most.
CHECKED_CENTERS = 2000
# Values at which slopes are checked, dense enough to find the largest one.
SLOPES_AT = np.geomspace(1e-8, 1e4, 4001)


def flaw_of(kernel: Kernel) -> str | None:
    """Return why bounds that are computed from a kernel of width 1 would be wrong, or None."""
    kappa = np.asarray(kernel.profile(CHECKED_AT.copy(), np), dtype=np.float64)
    found = (
        _not_completely_monotone(kernel, kappa),
        _wrong_rate(kernel),
        _varies(kernel),
        _wrong_curvature(kernel),
    )
    return "; ".join(flaw for flaw in found if flaw) or _wrong_closed_form(kernel, kappa)


def flaw_among(kernel: Kernel, centers: Matrix) -> str | None:
    """Return a message if the kernel matrix of some of these rows has a negative eigenvalue."""
    n = centers.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, CHECKED_CENTERS)).astype(np.intp))
    Z = centers[some]
    K = kernel.between(Z, Z)
    terms = 2.0 * (Z.shape[1] + 8) * EPS
    spread = 4.0 * float(squared_norms(Z).max(initial=0.0)) / kernel.sigma**2
    # The norm of rounding errors of a matrix is at most its size times the error of its largest
    # entry.
    tolerance = len(K) * kernel.rounding(terms, terms * spread)
    least = float(linalg.eigvalsh(K, subset_by_index=[0, 0])[0])
    if least >= -tolerance:
        return None
    return f"its matrix of {len(K)} centers has the eigenvalue {least:.3g}"


def check_values(kernel: Kernel) -> None:
    """Raise an error if `profile` or `rate` do not return one finite number for every t."""
    cure = f"Check {type(kernel).__name__}.profile and .rate, for example at t = 0 and at t = 1000."
    for name, t in (("profile", CHECKED_AT), ("rate", CHECKED_AT[1:])):
        values = np.asarray(kernel.profile(t.copy(), np) if name == "profile" else kernel.rate(t.copy()))
        if values.shape != t.shape or values.dtype.kind != "f" or not np.isfinite(values).all():
            got = Described(f"{values.dtype} values of shape {values.shape} for {len(t)} values of t")
            if values.shape == t.shape and values.dtype.kind == "f":
                got = Described(
                    f"{values[~np.isfinite(values)][0]} at t = {t[~np.isfinite(values)][0]:.3g}"
                )
            raise rule_error("kernel", f"have a finite {name} for every t ≥ 0", got, cure)
    if math.isnan(kernel.curvature) or kernel.curvature <= 0.0:
        cure = "It is −κ′(0), or infinite."
        raise rule_error("kernel", "have a positive curvature", kernel.curvature, cure)


@contextmanager
def solvable(kernel: Kernel, smoothness: float) -> Iterator[None]:
    """Name the parameter that is to blame if a factorization in the block fails.

    The matrix of a proved kernel is positive definite but for rounding, which a smoothness above it
    outweighs.
    """
    try:
        yield
    except np.linalg.LinAlgError as error:
        if kernel.is_proved:
            rule = "be large enough for the equations to be solvable in floating point"
            cure = "Raise it. 1e-10 suffices for most data."
            raise rule_error("smoothness", rule, smoothness, cure) from None
        rule = "be positive definite on the training samples"
        reason = f": {flaw}" if (flaw := kernel.flaw()) else ""
        cure = "Correct the kernel (see nsse.kernels.Kernel), or try a larger `smoothness`."
        raise rule_error(
            "kernel", rule, Described(f"a {type(kernel).__name__}{reason}"), cure
        ) from error


def _varies(kernel: Kernel) -> str | None:
    """Compare values at nearby numbers, less the decrease of the profile, which leaves rounding."""
    t = CHECKED_AT[1:, np.newaxis]
    nearby = t * (1.0 + EPS * NEARBY)
    kappa = np.asarray(kernel.profile(nearby, np)) - kernel.rate(t) * (nearby - t)
    spread = np.ptp(kappa, axis=1)
    worst = int(spread.argmax())
    if spread[worst] <= 2.0 * kernel.accuracy + 4 * EPS:
        return None
    return (
        f"its profile is wrong by about {spread[worst] / 2:.2g} at t = {CHECKED_AT[1 + worst]:.3g}, "
        f"but its `accuracy` is {kernel.accuracy:.2g}"
    )


def _not_completely_monotone(kernel: Kernel, kappa: Floats) -> str | None:
    """Check the signs of divided differences, and that the matrix of κ(t_i + t_j) has no negative one.

    A completely monotone function is ∫ exp(−s t) dμ(s). Its divided differences of order n have the
    sign (−1)ⁿ, and Σ c_i c_j κ(t_i + t_j) = ∫ (Σ c_i exp(−s t_i))² dμ(s) is never negative.
    """
    if abs(kappa[0] - 1.0) > kernel.accuracy + EPS:
        return f"its profile is {kappa[0]:.6g} at 0 and not 1"
    accuracy = 4 * (kernel.accuracy + EPS)  # `_varies` has seen some of the rounding only
    for stride in (1, 2, 4, 8):
        t = CHECKED_AT[::stride]
        for order in range(ORDERS + 1):
            nodes = np.lib.stride_tricks.sliding_window_view(t, order + 1)
            values = np.lib.stride_tricks.sliding_window_view(kappa[::stride], order + 1)
            gaps = nodes[:, :, np.newaxis] - nodes[:, np.newaxis, :]
            gaps[:, np.arange(order + 1), np.arange(order + 1)] = 1.0
            weights = (-1.0) ** order / gaps.prod(axis=2)
            differences = (weights * values).sum(axis=1)
            allowed = accuracy * np.abs(weights).sum(axis=1)
            wrong = np.flatnonzero(differences < -allowed)
            if len(wrong):
                low, high = nodes[wrong[0], [0, -1]]
                return (
                    f"its profile is not completely monotone: divided differences of order {order} "
                    f"have the wrong sign between t = {low:.3g} and t = {high:.3g}"
                )
    t = CHECKED_AT[::2]
    H = np.asarray(kernel.profile(t[:, np.newaxis] + t, np))
    least = float(linalg.eigvalsh((H + H.T) / 2)[0])
    if least < -len(t) * accuracy:
        return f"its profile is not completely monotone: κ(t_i + t_j) has the eigenvalue {least:.3g}"
    return None


def _wrong_rate(kernel: Kernel) -> str | None:
    """Compare `rate` with differences of `profile`."""
    t, h = CHECKED_AT[1:], STEP * CHECKED_AT[1:]
    differences = (np.asarray(kernel.profile(t + h, np)) - kernel.profile(t - h, np)) / (2.0 * h)
    allowed = RATE_ERROR / t + 4 * (kernel.accuracy + EPS) / h
    wrong = np.flatnonzero(np.abs(differences - kernel.rate(t)) > allowed)
    if len(wrong) == 0:
        return None
    i = wrong[0]
    return (
        f"its rate is {kernel.rate(t[i : i + 1])[0]:.6g} at t = {t[i]:.3g}, where its profile has "
        f"the derivative {differences[i]:.6g}"
    )


def _wrong_curvature(kernel: Kernel) -> str | None:
    """Compare a finite `curvature` with the fall of the profile and with `rate` at zero."""
    if not math.isfinite(kernel.curvature):
        return None
    t = NEAR_ZERO
    steepest = float(((1.0 - kernel.profile(t, np) - 4 * (kernel.accuracy + EPS)) / t).max())
    if steepest > kernel.curvature * (1.0 + 1e-9):
        return f"its curvature is {kernel.curvature:.6g}, but its profile falls by {steepest:.6g} t"
    start = float(kernel.rate(np.zeros(1))[0])
    if not abs(start + kernel.curvature) <= 1e-6 * kernel.curvature:
        return f"its curvature is {kernel.curvature:.6g}, but its rate at 0 is {start:.6g}"
    return None


def _wrong_closed_form(kernel: Kernel, kappa: Floats) -> str | None:
    """Compare what a subclass may have replaced with the profile."""
    t, accuracy = CHECKED_AT, 4 * (kernel.accuracy + 8 * EPS)
    values = kernel(t.copy())
    if np.abs(values - kappa).max() > accuracy:
        return "its values are not those of its profile"
    least = 1.0 - kappa - accuracy
    if np.any(kernel.fall(t.copy()) < least):
        return "its `fall` is less than 1 minus its profile"
    changes = np.geomspace(1e-3, 1.4, 50)
    with np.errstate(invalid="ignore"):
        if np.any(np.square(kernel.change(np.sqrt(t))) / 2.0 < least - 4 * EPS):
            return "its `change` is less than that of its profile"
        t = np.square(kernel.reach(changes))
    if np.any(1.0 - np.asarray(kernel.profile(t, np)) > np.square(changes) / 2.0 + accuracy):
        return "its `reach` is larger than the inverse of `change`"
    return _wrong_slope(kernel) or _wrong_local_bound(kernel)


def _wrong_slope(kernel: Kernel) -> str | None:
    """Compare stated bounds of slopes with the slopes of the profile."""
    t, nearly = SLOPES_AT, 1.0 - 1e-9
    rate = np.abs(kernel.rate(t))
    bounds = {
        "slope": (kernel.slope, 2.0 * np.sqrt(t) * rate),
        "unit_slope": (kernel.unit_slope, np.sqrt([2.0 * kernel.curvature])),
        "relative_slope": (kernel.relative_slope, t * rate),
    }
    for name, (stated, found) in bounds.items():
        largest = float(found.max())
        if stated < nearly * largest:
            return f"its `{name}` is {stated:.6g}, but its profile has {largest:.6g}"
    return None


def _wrong_local_bound(kernel: Kernel) -> str | None:
    """Compare `local_bound` with functions ±k(·, z) on a line, whose value and slope are known."""
    if not kernel.has_local_bound:
        return None
    z, v = np.linspace(0.0, 3.0, 31)[:, np.newaxis], np.linspace(-4.0, 4.0, 81)
    m, g = np.asarray(kernel.profile(z**2, np)), -2.0 * z * kernel.rate(z**2)
    rest = np.sqrt(np.maximum(1.0 - m**2 - g**2 / (2.0 * kernel.curvature), 0.0))
    exact = np.asarray(kernel.profile((v - z) ** 2, np))
    for sign in (1.0, -1.0):
        t, line, most = np.broadcast_arrays(v**2, sign * (m + g * v), rest)
        if np.any(kernel.local_bound(t, line, most) > sign * exact + 1e-7):
            return "its `local_bound` is larger than a function that it bounds"
    return None
