"""Solve graph embedding problems of two quadratic forms on a space of functions (Yan et al. 2007).

    maximize tr(Y'BY)  subject to  Y'AY = I,     Y = f at the samples, f in a space of functions.

A method keeps A small, the form of the *intrinsic* graph, and B large, the form of the *penalty* graph
or of a constraint. L = D − W is the Laplacian of a graph W, R = I − W gives the residuals when every
sample is reconstructed from its neighbors, E are the indicators of the classes, and Y is centered. The
methods are

    ======  =====================================  =======================================  ==========
            A, intrinsic                           B, penalty                               functions
    ======  =====================================  =======================================  ==========
    LDE     L, neighbors of a class, Gaussian      L, neighbors of other classes, same      linear
    LFDA    L, pairs of a class, local scaling     L, all pairs less those                  linear
    MFA     L, neighbors of a class, 0/1           L, nearest pairs of other classes, 0/1   linear
    LPP     L, neighbors (of a class), Gaussian    D, the degrees                           linear
    NPE     R'R, neighbors                         I                                        linear
    NPPE    R'R, neighbors                         I                                        polynomial
    KDA     I − E(E'E)⁻¹E', within classes         E(E'E)⁻¹E', between classes              kernel
    ======  =====================================  =======================================  ==========

The solution is the generalized eigenproblem B v = λ A v in the coordinates of the space. A is singular
if there are fewer samples than features. Two steps follow, in this order:

1. The samples are projected on their leading principal axes in the space. Axes along which they do not
   vary are always left out, because they change no form.
2. A + ρI replaces A if A is still singular, or if a ridge is requested (`ridge_of`). Departs from the
   papers: if there are few samples, the estimators request a ridge on all axes by default.

A and B are positive semidefinite. Eigenvalues below zero are rounding and are set to zero.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from nsse._support.errors import Described, rule_error
from nsse._support.parameters import check_count, check_number
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.affine import Affine
from nsse.base import row_signs
from nsse.graphs import laplacian
from nsse.maps import LinearMap
from nsse.methods._method import LARGEST, SMALLEST, Check, Lengths, Method, checks, is_auto, unless
from nsse.scores import left_out_nearest

# A is singular if a direction has less than this share of the largest ratio of A to the total scatter.
# Units of features cancel in ratios of scatters. RIDGE is then added if no ridge is requested.
SINGULAR, RIDGE = 1e-10, 1e-3
# A ridge is used if the largest rank of A is not this many times the number of axes. With fewer samples,
# the weakest directions of A are noise long before A is singular.
RIDGE_OF_FEW = 0.3
PLENTY = 3
# The same where forms ignore labels.
RIDGE_WITHOUT_LABELS = 3.0
# Dimensions in numbers of classes. The first is the largest useful one of methods with many coordinates.
# Methods whose forms ignore labels choose from all of them and from n_classes − 1.
MULTIPLES = (0.5, 2, 4)
# Share of the eigenvectors from which on it is faster to compute all of them.
MANY = 0.25
# Two classes also need more than one coordinate if a class has several clusters.
FEWEST_COMPONENTS = 3


@dataclass(frozen=True)
class Forms:
    """Z'BZ and Z'AZ for the coordinates Z of the samples in the space, and the largest rank of A."""

    penalty: Floats
    intrinsic: Floats
    rank: int


@dataclass(frozen=True)
class Space:
    """Functions of samples along the principal axes of the training samples.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_axes)
        Z, the functions at the training samples, centered.
    map : callable
        Takes a matrix V of shape (n_axes, d) to the map whose coordinates are the combinations V of the
        functions.
    unit : float
        The factor that multiplied the samples. Kernels and powers have no unit.
    """

    scores: Floats
    map: Callable[[Floats], Any]
    unit: float = 1.0


def linear_space(metric: Affine, Z: Floats, keep: Any) -> Space:
    """Return the linear functions along the principal axes that the parameter `pca` keeps."""
    check_size(metric)
    unit = float(metric.scale[0])
    mean, axes, scores = principal_axes(Z, keep)
    shift = metric.shift + mean / unit
    return Space(scores, lambda V: LinearMap(Affine.linear(shift, unit * (axes.T @ V))), unit)


def _is_share(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) < 1


def check_pca(name: str, value: Any) -> None:
    """Check for None, a share of the variance between 0 and 1, or a whole number of axes."""
    is_count = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
    if not (value is None or _is_share(value) or is_count):
        rule = "be None, a whole number from 1 up or a share between 0 and 1"
        raise rule_error(name, rule, value, "None takes all axes along which the samples vary.")


check_ridge = partial(check_number, cure='Leave it "auto" to add a ridge where samples are few.')
check_dimension = partial(check_count, cure="None takes all there are.")
check_whole = unless(check_dimension)


def graph_checks(**own: Check) -> Mapping[str, Check]:
    """Return the `checks` of all graph embeddings together with the checks of a method's parameters."""
    shared = {"n_components": unless(check_dimension, "auto"), "reg": unless(check_ridge, "auto")}
    return checks(**{"pca": check_pca, **shared, **own})


class GraphEmbedding(Method):
    """Base class of methods that are defined by two forms.

    A method defines ``_forms(lengths, codes, Z)``. Its parameters are ``n_components``, ``pca``, ``reg``
    and the parameters of its graphs. If its functions are not linear, it also defines ``_space``.
    """

    n_components: Any
    pca: Any
    reg: Any
    length_unit: Any = "median"
    _checks: ClassVar[Mapping[str, Check]] = graph_checks()
    _is_wide: ClassVar[bool] = False  # whether more than n_classes − 1 coordinates are of use

    @property
    def _ignores_labels(self) -> bool:
        """Whether labels have no part in the forms."""
        return False

    def _learn(self, X: SamplesLike, codes: Ints) -> Any:
        lengths = Lengths.of(dense_rows(X), self.length_unit)
        space = self._space(lengths)
        return self._solved(space, self._forms(lengths, codes, space.scores), codes)

    @abstractmethod
    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        """Return the two forms for the coordinates Z of the samples."""

    def _space(self, lengths: Lengths) -> Space:
        """Return the functions whose combinations are the coordinates."""
        return linear_space(lengths.metric, lengths.Z, self.pca)

    def _solved(self, space: Space, forms: Forms, codes: Ints) -> Any:
        """Return the map of the leading directions."""
        Z = space.scores
        B, A = forms.penalty, forms.intrinsic
        d, r = self._n_components(len(A)), len(A)
        reg = self.reg
        if is_auto(reg):
            few = RIDGE_WITHOUT_LABELS if self._ignores_labels else RIDGE_OF_FEW
            reg = None if PLENTY * r <= forms.rank else few
        ridge = ridge_of(A, Z, reg)
        values, V = self._directions(B, A + ridge * np.eye(r), d)
        V = self._columns(V, values, space.unit)
        if is_auto(self.n_components) and self._ignores_labels:
            d = left_out_dimension(Z @ V, codes)
        V, values = V[:, :d], values[:d]
        self.eigenvalues_, self.n_pca_components_ = values, r
        self.reg_ = ridge / space.unit / space.unit
        return space.map(V * row_signs(Z @ V, codes))

    def _n_components(self, n_axes: int) -> int:
        """Return the dimension d, which is at most the number of directions."""
        available = min(n_axes, self._most_components() or n_axes)
        if is_auto(self.n_components):
            n_classes = len(self.classes_)
            most = MULTIPLES[-1] * n_classes if self._is_wide else n_classes - 1
            return min(max(int(most), FEWEST_COMPONENTS), available)
        d = available if self.n_components is None else int(self.n_components)
        if d > available:
            rule = f"not exceed the number of coordinates that there are, {available}"
            cure = f"Lower it, or change pca={self.pca!r}; None takes all {available}."
            raise rule_error("n_components", rule, d, cure)
        return d

    def _most_components(self) -> int | None:
        """Return how many coordinates B distinguishes. None means as many as there are axes."""
        return None

    def _directions(self, B: Floats, A: Floats, d: int) -> tuple[Floats, Floats]:
        """Return the d largest λ of B v = λ A v, descending, and directions V with V'AV = I."""
        # LAPACK's routine for all eigenvectors is faster than the one for many.
        some = (len(A) - d, len(A) - 1) if d < MANY * len(A) else None
        values, V = linalg.eigh(B, A, subset_by_index=some, check_finite=False)
        return np.maximum(values[::-1][:d], 0.0), V[:, ::-1][:, :d]

    def _columns(self, V: Floats, values: Floats, unit: float) -> Floats:
        """Return the columns of the map for directions with v'Av = 1 if samples are times ``unit``.

        Methods that ignore labels have the constraint v'Bv = 1. Classes are separated best by v'Av = 1.
        """
        return of_unit_penalty(V, values) if self._ignores_labels else V


class LinearMethod(GraphEmbedding):
    """A graph embedding with the map (x − mean_) @ components_.T."""

    def _solved(self, space: Space, forms: Forms, codes: Ints) -> LinearMap:
        found: LinearMap = super()._solved(space, forms, codes)
        self.mean_, self.components_ = found.affine.shift, found.affine.dense().T
        return found


def graph_scatter(W: Any, Z: Floats) -> Floats:
    """Return Z'LZ = ½ Σ_ij W_ij (z_i − z_j)(z_i − z_j)'."""
    return symmetric(Z.T @ (laplacian(W) @ Z))


def total_scatter(Z: Floats) -> Floats:
    """Return Z'Z."""
    return symmetric(Z.T @ Z)


def between_scatter(Z: Floats, codes: Ints) -> Floats:
    """Return Z'E(E'E)⁻¹E'Z = Σ_c n_c m_c m_c' for the class means m_c of centered Z."""
    means = class_means(Z, codes)
    return symmetric((means.T * np.bincount(codes)) @ means)


def symmetric(S: Any) -> Floats:
    """Make a matrix exactly symmetric."""
    return np.asarray((S + S.T) / 2)


def dense_rows(X: SamplesLike) -> Floats:
    """Return samples as a dense float64 array, because centering leaves no zeros of a sparse one."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def class_means(Z: Floats, codes: Ints) -> Floats:
    """Return the means of the rows of every class."""
    E = np.eye(int(codes.max()) + 1)[codes]
    return np.asarray((E.T @ Z) / E.sum(axis=0)[:, np.newaxis])


def within_classes(Z: Floats, codes: Ints) -> Floats:
    """Subtract the mean of its class from each row.

    Graphs that join samples of one class only have the same form of these rows, with more digits.
    """
    return np.asarray(Z - class_means(Z, codes)[codes])


def left_out_dimension(Y: Floats, codes: Ints) -> int:
    """Return how many leading coordinates let the nearest other sample predict the most labels."""
    n_classes = int(codes.max()) + 1
    tried = {n_classes - 1, *(round(multiple * n_classes) for multiple in MULTIPLES), Y.shape[1]}
    errors = {}
    for d in sorted(d for d in tried if 1 <= d <= Y.shape[1]):
        found = left_out_nearest(Y[:, :d], codes, n_classes).argmax(axis=1)
        errors[d] = int(np.sum(found != codes))
    return min(errors, key=errors.__getitem__)  # the smallest of equals


def of_unit_penalty(V: Floats, values: Floats) -> Floats:
    """Rescale directions from v'Av = 1 to v'Bv = 1, and set those that cannot be rescaled to 0."""
    roots = np.sqrt(values)
    exists = roots > np.finfo(np.float64).eps * roots[0]
    return np.divide(V, roots, out=np.zeros_like(V), where=exists)


def ridge_of(A: Floats, Z: Floats, reg: float | None) -> float:
    """Return ρ = reg · tr(A)/r. None means 0 if A is positive definite and `RIDGE` if it is singular."""
    mean, total = float(np.trace(A)) / len(A), np.einsum("ij,ij->j", Z, Z)
    if mean <= np.finfo(np.float64).eps * float(total.mean()):
        raise no_intrinsic_scatter()
    if reg is not None and reg > 0:
        return reg * mean
    lengths = np.sqrt(total)
    ratios = linalg.eigvalsh(A / np.outer(lengths, lengths))
    if ratios[0] >= SINGULAR * ratios[-1]:
        return 0.0
    if reg is None:
        return RIDGE * mean
    rule = "be positive if the within-class scatter is singular, as it is here"
    raise rule_error("reg", rule, reg, "Raise it, leave it None, or lower `pca`.")


def principal_axes(Z: Floats, keep: Any) -> tuple[Floats, Floats, Floats]:
    """Return the mean, the leading principal axes, and the coordinates of the rows along these."""
    mean = Z.mean(axis=0)
    Z = Z - mean
    if not Z.any():
        raise no_intrinsic_scatter()
    _, s, axes = linalg.svd(Z, full_matrices=False, check_finite=False)
    s = s[s > max(Z.shape) * np.finfo(np.float64).eps * s[0]]
    axes = axes[: n_axes(s, keep)]
    return mean, axes, Z @ axes.T


def n_axes(s: Floats, keep: Any) -> int:
    """Return how many principal axes, of lengths ``s``, the parameter `pca` keeps."""
    rank = len(s)
    if keep is None:
        return rank
    if _is_share(keep):
        shares = np.cumsum(s**2) / np.sum(s**2)
        return min(int(np.searchsorted(shares, float(keep))) + 1, rank)
    if keep > rank:
        cure = "Lower it. None uses all axes along which the samples vary."
        raise rule_error("pca", f"not exceed the rank of the centered samples, {rank}", keep, cure)
    return int(keep)


def check_size(metric: Affine) -> None:
    """Raise an error for samples whose linear map would have columns with infinite squares."""
    unit = float(metric.scale[0])
    if not SMALLEST < unit < LARGEST:
        rule = f"have values between {SMALLEST:.0e} and {LARGEST:.0e} in size for a linear map"
        raise rule_error("X", rule, Described(f"values of the order of {1 / unit:.0e}"), "Rescale X.")


def no_intrinsic_scatter() -> ValueError:
    """Return the error for graphs that join no two different samples, because any direction would do."""
    cure = "Some class must have two different samples that are neighbors. Add samples, or neighbors."
    got = "classes without any within-class scatter"
    return rule_error("X", "vary within at least one class", got, cure)
