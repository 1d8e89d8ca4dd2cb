"""The base class of radial kernels k(u, v) = κ(‖u − v‖²/σ²).

A kernel is its profile κ, a function of t = r²/σ² with κ(0) = 1. Everything else follows from it::

    dk/du = 2 κ′(t) (u − v)/σ²,    |h(u) − h(v)| ≤ ‖h‖ √(2 − 2κ(t)) ≤ ‖h‖ √(−2κ′(0)) r/σ

for every function h in the space of the kernel. Certificates are computed from the second line. It needs
a positive definite kernel (`nsse.kernels.flaws`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from nsse._support.threads import in_parallel
from nsse._support.types import Floats, Matrix
from nsse.affine import is_sparse
from nsse.distances import PANEL, squared_distances, squared_norms
from nsse.kernels.flaws import flaw_among, flaw_of

EPS = float(np.finfo(np.float64).eps)
PANEL_VALUES = 32_768  # values worked through at a time, 256 kB
# Profiles are never evaluated beyond these t, so that polynomials in t do not overflow.
FARTHEST = {"float64": 1e100, "float32": 1e9}
# Steps of a bisection, and the step of differences of `rate` relative to t.
HALVINGS, STEP = 60, 1e-5
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
AnyKernel = TypeVar("AnyKernel", bound="Kernel")


class Kernel(ABC, BaseEstimator):
    """Base class of radial kernels, k(u, v) = κ(‖u − v‖²/σ²).

    A subclass defines the profile κ, its derivative and its curvature at zero. Fits, certificates,
    explanations, files, ONNX graphs and the page of the report then work with the kernel. A kernel may
    have parameters of its own. As in scikit-learn, they are arguments of ``__init__`` and are stored
    under the same names, so that `sklearn.model_selection.GridSearchCV` can
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
        Kernel.defined[cls.public_name()] = cls
        if "profile" in vars(cls):
            for name in cls._forms_of_another_profile():
                setattr(cls, name, vars(Kernel)[name])

    @classmethod
    def public_name(cls) -> tuple[str, str]:
        """Return the module from which the class is imported, and its name."""
        is_ours = cls.__module__.startswith("nsse.kernels.")
        return "nsse.kernels" if is_ours else cls.__module__, cls.__qualname__

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

    def flaw(self) -> str | None:
        """Return why bounds that are computed from the kernel would be wrong, or None.

        The profile must be completely monotone, up to rounding, and `rate` and `curvature` must be its
        derivatives. The kernels of nsse are proved to be valid and are not checked.
        """
        return None if self.is_proved else flaw_of(clone(self))

    def flaw_among(self, centers: Matrix) -> str | None:
        """Return a message if the kernel matrix of some of these rows has a negative eigenvalue."""
        return None if self.is_proved else flaw_among(self, centers)


# The kernels of nsse. Subclasses of these are checked like any other kernel.
PROVED: set[type[Kernel]] = set()


def proved(kind: type[AnyKernel]) -> type[AnyKernel]:
    """Mark a kernel of nsse, whose properties are proved on paper."""
    PROVED.add(kind)
    return kind
