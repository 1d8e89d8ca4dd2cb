"""Radial kernels k(u, v) = κ(‖u − v‖²/σ²), and the base class for your own.

A kernel is its profile κ, a function of t = r²/σ² with κ(0) = 1. Everything else follows from it::

    dk/du = 2 κ′(t) (u − v)/σ²,    |h(u) − h(v)| ≤ ‖h‖ √(2 − 2κ(t)) ≤ ‖h‖ √(−2κ′(0)) r/σ

for every function h in the space of the kernel. The second line is what certificates are made of. It
needs a positive definite kernel. A radial kernel is positive definite in every dimension if and only if
κ is completely monotone, (−1)ⁿ κ⁽ⁿ⁾ ≥ 0 for all n (Schoenberg 1938), and then κ is a mixture of
Gaussians, ∫ exp(−s t) dμ(s). A falling profile alone is not enough: exp(−t²), max(1 − t, 0) and
exp(−t^1.3) fall, but bounds that are computed from them are wrong. `Kernel.flaw` finds such profiles.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, clone

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.parameters import check_number
from nsse._support.threads import WORTH_A_THREAD, in_parallel
from nsse._support.types import Floats, Matrix
from nsse.affine import is_sparse
from nsse.distances import PANEL, squared_distances, squared_norms

__all__ = ["Exponential", "Gaussian", "Kernel", "Matern32"]

EPS = float(np.finfo(np.float64).eps)
PANEL_VALUES = 32_768  # values worked through at a time, 256 kB
# Profiles are never evaluated beyond these t, so that polynomials in t do not overflow.
FARTHEST = {"float64": 1e100, "float32": 1e9}
# Values of t at which profiles are checked, from 0 to values at which every kernel in use has faded.
CHECKED_AT = np.concatenate([[0.0], np.geomspace(1e-12, 1e4, 129)])
# t from which the slope at zero is checked, orders of divided differences, and steps of a bisection.
NEAR_ZERO = np.geomspace(1e-12, 1e2, 57)
ORDERS, HALVINGS = 6, 60
# By how much `rate` may differ from differences of `profile`, times 1/t, and the step of these, times t.
RATE_ERROR, STEP = 1e-7, 1e-5
# Numbers near t at which rounding is looked for, in units in the last place.
NEARBY = np.arange(-8192, 8193, 512)
# Centers among which a kernel matrix is checked, at most.
CHECKED_CENTERS = 2000
# Values at which slopes are checked, dense enough to find the largest one.
SLOPES_AT = np.geomspace(1e-8, 1e4, 4001)
# Methods that a kernel may replace by closed forms of its profile.
CLOSED_FORMS = (
    "__call__",
    "from_products",
    "gradient_weights",
    "bend",
    "log_profile",
    "fall",
    "change",
    "reach",
    "slope",
    "unit_slope",
    "relative_slope",
    "rounding",
    "accuracy",
    "has_local_bound",
    "local_bound",
)


class Kernel(ABC, BaseEstimator):
    """Base class of radial kernels, k(u, v) = κ(‖u − v‖²/σ²).

    A subclass defines the profile κ, its derivative and its curvature at zero. Fits, certificates,
    explanations, files, ONNX graphs and the page of the report then work with the kernel. A kernel may
    have parameters of its own. Like those of every scikit-learn estimator, they are the arguments of
    ``__init__`` and are stored under the same names, so that `sklearn.model_selection.GridSearchCV` can
    search them, for example as ``kernel__alpha``.

    The width σ is not a parameter of the kernel. An object such as ``Matern32()`` has the width 1. A fit
    computes the width from the data and from the parameter ``sigma`` of the estimator, and uses the
    copy that `at` returns.

    Three members must be defined:

    ``profile(t, xp)``
        κ(t) for an array of t ≥ 0. It must satisfy κ(0) = 1 and be completely monotone. The same method
        serves NumPy, other array libraries and ONNX graphs. It may therefore use only numbers, the
        operators ``+ - * / **``, and ``xp.exp``, ``xp.log``, ``xp.sqrt``, ``xp.minimum`` and
        ``xp.maximum``.
    ``rate(t)``
        κ′(t), for NumPy arrays.
    ``curvature``
        −κ′(0), as an attribute of the class or a property. It is infinite if the kernel is not smooth
        at zero.

    The other methods and attributes have defaults that follow from these three. A subclass may replace
    them by closed forms. A class that derives from another kernel and replaces its profile starts from
    the defaults again, because the closed forms of that kernel belong to another profile.

    Attributes
    ----------
    sigma : float
        The width σ, 1 until `at` returns a copy with another one.
    widths : tuple of float
        Values of the estimator's ``sigma`` that a search tries by default, in median distances.
    accuracy : float
        How far a computed value of `profile` may be from the exact one. Certificates add it to their
        bounds. The default is 64 units in the last place of 1. A profile that loses more digits must
        state a larger number, and `flaw` reports profiles that vary by more than they state.

    See Also
    --------
    nsse.SmoothEmbedding : Takes a kernel, or the name of one.
    Matern32 : A kernel that is written with this class.

    Examples
    --------
    A rational quadratic kernel, which mixes Gaussians of many widths:

    >>> import numpy as np
    >>> from nsse import SmoothEmbedding
    >>> from nsse.kernels import Kernel
    >>> class RationalQuadratic(Kernel):
    ...     def __init__(self, alpha=1.0):
    ...         self.alpha = alpha
    ...
    ...     curvature = 1.0
    ...
    ...     def profile(self, t, xp):
    ...         return (1.0 + t / self.alpha) ** -self.alpha
    ...
    ...     def rate(self, t):
    ...         return -((1.0 + t / self.alpha) ** (-self.alpha - 1.0))
    >>> RationalQuadratic(2.0).flaw() is None
    True
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding(kernel=RationalQuadratic(2.0)).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    sigma: float = 1.0
    widths: tuple[float, ...] = (0.5, 1.0, 4.0)
    accuracy: float = 64 * EPS
    # Whether `local_bound` returns a bound.
    has_local_bound: bool = False
    # At most t |κ′(t)|. A completely monotone κ is convex, so that t |κ′(t)| ≤ κ(0) − κ(t) ≤ 1.
    relative_slope: float = 1.0
    # Subclasses that have been defined so far, by module and name. Files look up kernels here.
    defined: ClassVar[dict[tuple[str, str], type[Kernel]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Kernel.defined[cls.__module__, cls.__qualname__] = cls
        if "profile" in vars(cls):
            for name in cls._forms_of_another_profile():
                setattr(cls, name, vars(Kernel)[name])

    @classmethod
    def _forms_of_another_profile(cls) -> set[str]:
        """Return the closed forms that the class inherits from a kernel whose profile it replaces."""
        inherited: set[str] = set()
        for base in cls.__mro__[1:]:
            if base is Kernel:
                break
            inherited |= set(CLOSED_FORMS).intersection(vars(base))
            if "profile" in vars(base):
                return inherited - set(vars(cls))
        return set()  # there is no such kernel

    @abstractmethod
    def profile(self, t: Any, xp: Any) -> Any:
        """Return κ(t) in the namespace ``xp``."""

    @abstractmethod
    def rate(self, t: Floats) -> Floats:
        """Return κ′(t)."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """−κ′(0)."""

    def bend(self, t: Floats) -> Floats:
        """Return κ″(t), by default from differences of `rate`.

        It is used to look for steep places and not in any bound.
        """
        step = STEP * np.maximum(t, STEP)
        return (self.rate(t + step) - self.rate(np.maximum(t - step, 0.0))) / (
            step + np.minimum(step, t)
        )

    def log_profile(self, t: Floats) -> Floats:
        """Return log κ(t), not below the logarithm of the smallest positive number."""
        kappa = np.asarray(self.profile(np.minimum(t, FARTHEST["float64"]), np))
        return np.asarray(np.log(np.maximum(kappa, np.finfo(np.float64).tiny)))

    def at(self, sigma: float) -> Self:
        """Return a copy of the kernel with the width ``sigma``."""
        kernel = clone(self)
        kernel.sigma = float(sigma)
        return kernel

    def __call__(self, D2: Floats) -> Floats:
        """Return κ(r²/σ²) for squared distances r², which are overwritten."""
        size = max(1, PANEL_VALUES // max(1, D2.size // max(1, len(D2))))

        def fill(start: int) -> None:
            part = D2[start : start + size]
            part *= 1.0 / self.sigma**2
            np.minimum(part, FARTHEST[part.dtype.name], out=part)
            part[...] = self.profile(part, np)

        in_parallel(fill, range(0, len(D2), size), D2.size)
        return D2

    def between(self, U: Matrix, V: Matrix, V_squares: Floats | None = None, out: Any = None) -> Floats:
        """Return the kernel matrix of the rows of ``U`` and ``V``, dense or sparse."""
        if U is V or V_squares is None or is_sparse(U) or is_sparse(V):
            return self(squared_distances(U, V, V_squares))
        K = np.empty((len(U), len(V))) if out is None else out
        if len(U) > PANEL:
            parts = [slice(start, start + PANEL) for start in range(0, len(U), PANEL)]
            in_parallel(lambda i: self.between(U[i], V, V_squares, K[i]), parts, K.size)
            return K
        with np.errstate(over="ignore", invalid="ignore"):
            return self.from_products(U, V, np.einsum("ij,ij->i", U, U), V_squares, K)

    def from_products(self, U: Floats, V: Floats, u2: Floats, v2: Floats, out: Any = None) -> Floats:
        """Return the kernel matrix of rows with the squared norms ``u2`` and ``v2``.

        Columns that are zero in V may be left out of both, because they count in ``u2`` alone. The
        result has the precision of V.
        """
        K = np.matmul(np.multiply(U, -2.0, dtype=V.dtype), V.T, out=out)
        u, v = u2.astype(V.dtype), v2.astype(V.dtype)
        K += u[:, np.newaxis]
        K += v
        np.maximum(K, 0.0, out=K)
        # If ‖u‖² overflows, the row is infinitely far from every center.
        K[~np.isfinite(u)] = np.inf
        return self(K)

    def gradient_weights(self, U: Matrix, V: Matrix, V_squares: Floats | None = None) -> Floats:
        """Return 2κ′(r²/σ²)/σ², the factor of u − v in the gradient of k(u, v) by u.

        If the curvature is infinite, k(·, v) has a kink at v and no gradient. It falls equally fast in
        all directions, so that its symmetric differences at v are 0, and 0 is used as the gradient. Rows
        count as equal if their distance is rounding.
        """
        t = squared_distances(U, V, V_squares)
        is_smooth = math.isfinite(self.curvature)
        if not is_smooth:
            squares = squared_norms(U)[:, np.newaxis] + squared_norms(V)
            t[t <= 4.0 * (U.shape[1] + 8) * EPS * squares] = 0.0
        t *= 1.0 / self.sigma**2
        np.minimum(t, FARTHEST["float64"], out=t)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.asarray(self.rate(t), dtype=np.float64) * (2.0 / self.sigma**2)
        return weights if is_smooth else np.where(t > 0.0, weights, 0.0)

    @property
    def unit_slope(self) -> float:
        """The largest slope of a function of unit norm in the space of the kernel, √(−2κ′(0))/σ."""
        return math.sqrt(2.0 * self.curvature) / self.sigma

    @property
    def slope(self) -> float:
        """A bound of the slope ``|dk/dr|``, by default `unit_slope`, because k(·, v) has unit norm."""
        return self.unit_slope

    def fall(self, t: Floats) -> Floats:
        """Return 1 − κ(t), or up to `accuracy` more, and never less than it is."""
        t = np.minimum(t, FARTHEST["float64"])
        by_value = 1.0 - np.asarray(self.profile(t, np)) + self.accuracy
        # Near zero 1 − κ has no digits left, but a convex κ lies above its tangent.
        with np.errstate(invalid="ignore"):
            by_slope = np.where(t > 0.0, self.curvature * t, 0.0)
        return np.minimum(by_value, by_slope)

    def change(self, r: Floats) -> Floats:
        """Return √(2 − 2κ(r²/σ²)), rounded up.

        No function of unit norm in the space of the kernel changes by more within the distance r.
        """
        return np.asarray(np.sqrt(2.0 * self.fall(np.square(np.asarray(r) / self.sigma))))

    def reach(self, change: Floats) -> Floats:
        """Return the distance within which no function of unit norm changes by more than ``change``.

        This is the inverse of `change`, by bisection, rounded down. It is infinite from √2 on.
        """
        half = np.square(np.asarray(change, dtype=np.float64)) / 2.0
        # Bisection of the logarithm of t, from where everything is rounding to `FARTHEST`.
        low, high = np.full(half.shape, -700.0), np.full(half.shape, math.log(FARTHEST["float64"]))
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            safe = self.fall(np.exp(middle)) <= half
            low, high = np.where(safe, middle, low), np.where(safe, high, middle)
            if np.all(high - low <= 1e-13):
                break
        found = np.where(low > -700.0, np.exp(low / 2.0) * (1.0 - 1e-12), 0.0)
        return np.where(half < 1.0, self.sigma * found, np.inf)

    def rounding(self, relative: float, absolute: float) -> float:
        """Return how far values can be wrong if t is wrong by at most ``relative`` · t + ``absolute``.

        A convex profile changes most at zero.
        """
        return relative * self.relative_slope + float(self.fall(np.array([absolute]))[0]) + self.accuracy

    def local_bound(self, t: Floats, line: Floats, rest: Floats) -> Floats:
        """Bound a function from below near a sample where its value and its gradient are known.

        The method is optional, and `has_local_bound` says whether a kernel has it. Certificates then
        take the larger one of this bound and of the one by norms. Let m be the value and g the gradient
        of h at u. The result must be at most h(v) for all v with ‖v − u‖² ≤ t σ².

        Parameters
        ----------
        t : ndarray
            Squared distances, divided by σ².
        line : ndarray
            Lower bounds of m + g'(v − u).
        rest : ndarray
            Upper bounds of the norm of the rest of h, √(‖h‖² − m² − σ²‖g‖²/(2γ)) with the curvature γ.
        """
        raise NotImplementedError(f"{type(self).__name__} has no local bound")

    @property
    def is_proved(self) -> bool:
        """Whether this is a kernel of nsse, whose properties are proved on paper."""
        return type(self) in PROVED

    def require_values(self) -> None:
        """Raise an error if `profile` or `rate` do not return one finite number for every t."""
        cure = f"Check {type(self).__name__}.profile and .rate, for example at t = 0 and at t = 1000."
        for name, t in (("profile", CHECKED_AT), ("rate", CHECKED_AT[1:])):
            values = np.asarray(self.profile(t.copy(), np) if name == "profile" else self.rate(t.copy()))
            if values.shape != t.shape or values.dtype.kind != "f" or not np.isfinite(values).all():
                got = Described(
                    f"{values.dtype} values of shape {values.shape} for {len(t)} values of t"
                )
                if values.shape == t.shape and values.dtype.kind == "f":
                    got = Described(
                        f"{values[~np.isfinite(values)][0]} at t = {t[~np.isfinite(values)][0]:.3g}"
                    )
                raise rule_error("kernel", f"have a finite {name} for every t ≥ 0", got, cure)
        if math.isnan(self.curvature) or self.curvature <= 0.0:
            cure = "It is −κ′(0), or infinite."
            raise rule_error("kernel", "have a positive curvature", self.curvature, cure)

    def flaw(self) -> str | None:
        """Return why bounds that are computed from the kernel would be wrong, or None.

        The values of the profile must be those of a completely monotone function, up to rounding, and
        `rate` and `curvature` must be its derivatives. The kernels of nsse are proved to be valid and
        are not checked.
        """
        if self.is_proved:
            return None
        kernel = clone(self)
        kappa = np.asarray(kernel.profile(CHECKED_AT.copy(), np), dtype=np.float64)
        found = (
            _not_completely_monotone(kernel, kappa),
            _wrong_rate(kernel),
            _varies(kernel),
            _wrong_curvature(kernel),
        )
        return "; ".join(flaw for flaw in found if flaw) or _wrong_closed_form(kernel, kappa)

    def flaw_among(self, centers: Matrix) -> str | None:
        """Return a message if the kernel matrix of some of these rows has a negative eigenvalue."""
        if self.is_proved:
            return None
        n = centers.shape[0]
        some = np.unique(np.linspace(0, n - 1, min(n, CHECKED_CENTERS)).astype(np.intp))
        Z = centers[some]
        K = self.between(Z, Z)
        terms = 2.0 * (Z.shape[1] + 8) * EPS
        spread = 4.0 * float(squared_norms(Z).max(initial=0.0)) / self.sigma**2
        # The norm of rounding errors of a matrix is at most its size times the error of its largest
        # entry.
        tolerance = len(K) * self.rounding(terms, terms * spread)
        least = float(linalg.eigvalsh(K, subset_by_index=[0, 0])[0])
        if least >= -tolerance:
            return None
        return f"its matrix of {len(K)} centers has the eigenvalue {least:.3g}"


class Gaussian(Kernel):
    """The Gaussian kernel, exp(−r²/σ²), which is the default.

    See Also
    --------
    Matern32 : A kernel whose functions may bend more sharply.
    Kernel : The base class, for your own kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.kernels import Gaussian
    >>> Gaussian().at(2.0)(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.368])
    """

    curvature = 1.0
    accuracy = 0.0  # one exponential, whose rounding the terms of `nsse.certificates.rounding` cover
    has_local_bound = True
    relative_slope = 0.5  # t e^(−t) ≤ 1/e

    def profile(self, t: Any, xp: Any) -> Any:
        """Return exp(−t) in the namespace ``xp``."""
        return xp.exp(-t)

    def rate(self, t: Floats) -> Floats:
        """Return −exp(−t)."""
        return -np.exp(-t)

    def bend(self, t: Floats) -> Floats:
        """Return exp(−t)."""
        return np.exp(-t)

    def log_profile(self, t: Floats) -> Floats:
        """Return −t."""
        return -t

    def __call__(self, D2: Floats) -> Floats:
        """Return exp(−r²/σ²) for squared distances r², which are overwritten."""
        if D2.size < WORTH_A_THREAD:
            D2 *= -1.0 / self.sigma**2
            return np.exp(D2, out=D2)

        def fill(start: int) -> None:
            part = D2[start : start + PANEL]
            part *= -1.0 / self.sigma**2
            np.exp(part, out=part)

        in_parallel(fill, range(0, len(D2), PANEL), D2.size)
        return D2

    def from_products(self, U: Floats, V: Floats, u2: Floats, v2: Floats, out: Any = None) -> Floats:
        """Return exp((2u'v − ‖u‖² − ‖v‖²)/σ²) of rows with these squared norms.

        The exponents are worked through in panels that stay in the cache of the processor.
        """
        factor = 1.0 / self.sigma**2
        K = np.matmul(np.multiply(U, 2.0 * factor, dtype=V.dtype), V.T, out=out)
        u, v = ((-factor * squares).astype(V.dtype) for squares in (u2[:, np.newaxis], v2))
        size = max(1, PANEL_VALUES // K.shape[1])
        for start in range(0, len(K), size):
            part = K[start : start + size]
            part += u[start : start + size]
            part += v
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
        # If ‖u‖² overflows, the row is infinitely far from every center.
        if not np.isfinite(u).all():
            K[~np.isfinite(u[:, 0])] = 0.0
        return K

    def gradient_weights(self, U: Matrix, V: Matrix, V_squares: Floats | None = None) -> Floats:
        """Return −2/σ² times the kernel matrix."""
        K = self.between(U, V, V_squares)
        K *= -2.0 / self.sigma**2
        return K

    def log_derivative(self, K: Floats, D2: Floats) -> Floats:
        """Return dK/d log σ = 2 (r²/σ²) K, elementwise."""
        dK = K * D2
        dK *= 2.0 / self.sigma**2
        return dK

    @property
    def slope(self) -> float:
        """The largest slope ``|dk/dr|``, √2 e^(−½)/σ (proof of Proposition 1)."""
        return math.sqrt(2.0) * math.exp(-0.5) / self.sigma

    def fall(self, t: Floats) -> Floats:
        """Return 1 − exp(−t)."""
        return np.asarray(-np.expm1(-t))

    def reach(self, change: Floats) -> Floats:
        """Return σ √(−log(1 − change²/2)), the inverse of `change`, which is infinite from √2 on."""
        half = np.square(change) / 2.0
        inside = np.minimum(half, 1.0 - 1e-16)
        return np.where(half < 1.0, self.sigma * np.sqrt(-np.log1p(-inside)), np.inf)

    def local_bound(self, t: Floats, line: Floats, rest: Floats) -> Floats:
        """Return exp(−t) (m + g'(v − u)) − rest · √(1 − exp(−2t)(1 + 2t)), and never more than h(v).

        In the space of the kernel h is m k_u, plus its part along the derivatives of k_u, of squared
        norm σ²‖g‖²/2, plus the rest, which is orthogonal to both. k_v has the parts exp(−t) and
        exp(−t) √(2t) along the first two.
        """
        k = np.exp(-t)
        # 1 − e^(−y)(1 + y) ≤ y²/2, where the left side has no digits left
        share = np.minimum(2.0 * t**2, -np.expm1(-2.0 * t) - 2.0 * t * k**2 + 8 * EPS)
        return np.asarray(np.minimum(k * line, line) - rest * np.sqrt(share))


class Exponential(Kernel):
    """The exponential kernel, exp(−r/σ), also called the Laplacian kernel.

    Its functions have kinks at the centers. They can change arbitrarily fast, so that there is no
    Lipschitz bound and certified radii are small.

    See Also
    --------
    Matern32 : The next smoother kernel of the same family, which has Lipschitz bounds.
    Kernel : The base class, for your own kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.kernels import Exponential
    >>> Exponential().at(2.0)(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.368])
    """

    curvature = math.inf

    def profile(self, t: Any, xp: Any) -> Any:
        """Return exp(−√t) in the namespace ``xp``."""
        return xp.exp(-xp.sqrt(t))

    def rate(self, t: Floats) -> Floats:
        """Return −exp(−√t)/(2√t)."""
        r = np.sqrt(t)
        return -np.exp(-r) / (2.0 * r)

    def fall(self, t: Floats) -> Floats:
        """Return 1 − exp(−√t)."""
        return np.asarray(-np.expm1(-np.sqrt(t)))

    def reach(self, change: Floats) -> Floats:
        """Return −σ log(1 − change²/2), the inverse of `change`, which is infinite from √2 on."""
        half = np.square(change) / 2.0
        inside = np.minimum(half, 1.0 - 1e-16)
        return np.where(half < 1.0, -self.sigma * np.log1p(-inside), np.inf)


class Matern32(Kernel):
    """The Matérn kernel with smoothness 3/2, (1 + √3 r/σ) exp(−√3 r/σ).

    Its functions have one derivative. They can bend more sharply than those of the Gaussian kernel.

    See Also
    --------
    Gaussian : The smoothest kernel of the same family, apart from the scale of σ.
    Exponential : The roughest.
    Kernel : The base class, for your own kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.kernels import Matern32
    >>> Matern32().at(2.0)(np.array([0.0, 4.0])).round(3)
    array([1.   , 0.483])
    """

    curvature = 1.5

    def profile(self, t: Any, xp: Any) -> Any:
        """Return (1 + √(3t)) exp(−√(3t)) in the namespace ``xp``."""
        r = xp.sqrt(3.0 * t)
        return (1.0 + r) * xp.exp(-r)

    def rate(self, t: Floats) -> Floats:
        """Return −3/2 exp(−√(3t))."""
        return -1.5 * np.exp(-np.sqrt(3.0 * t))

    @property
    def slope(self) -> float:
        """The largest slope ``|dk/dr|``, √3/(e σ)."""
        return math.sqrt(3.0) / (math.e * self.sigma)


# Subclasses of these are checked like any other kernel.
PROVED = (Gaussian, Exponential, Matern32)
NAMES: dict[str, type[Kernel]] = {"gaussian": Gaussian, "exponential": Exponential, "matern32": Matern32}


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


def as_kernel(kernel: Any) -> Kernel:
    """Return the kernel that a ``kernel`` parameter describes: one of `NAMES`, or an object."""
    names = ", ".join(repr(name) for name in NAMES)
    rule, cure = f"be one of {names}, or a Kernel object", "See nsse.kernels.Kernel for your own."
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(rule_message("kernel", rule, kernel, f"Pass an object, {kernel.__name__}()."))
    if isinstance(kernel, str) and kernel in NAMES:
        return NAMES[kernel]()
    if not isinstance(kernel, Kernel):
        raise rule_error("kernel", rule, kernel, cure)
    if not kernel.is_proved:
        if "sigma" in kernel.get_params(deep=False):
            cure = "The width is the parameter `sigma` of the estimator. Choose another name."
            raise rule_error("kernel", "have no parameter named sigma", kernel, cure)
        kernel.require_values()
        check_number(
            "kernel.accuracy", kernel.accuracy, cure="The default is 64 units in the last place."
        )
    return kernel


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
