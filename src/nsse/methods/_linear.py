"""Linear maps from two scatter matrices: maximise tr(V'BV) subject to V'AV = I.

The solution is the generalised eigenproblem B v = λ A v. A, a within-class scatter, is singular as soon
as there are fewer samples than features. What is done about it, in this order, and nothing else:

1. The samples are projected on their leading principal axes. Axes along which the samples do not vary
are
   always left out: neither scatter sees them. Fisherfaces keep as many axes as A can have rank, N − M.
   Departs from that: with so many axes A is regular by a hair only and the map follows the noise of the
   last ones; where axes must go, we keep those that hold 95 % of the variance.
2. A + ρI takes the place of A where A is still singular, or wherever a ridge is requested (`ridge_of`).
   Departs from the papers: by default the estimators request one, on all axes, where samples are few.

B and A are positive semidefinite. Eigenvalues below zero are rounding and are set to zero.

A graph W on the rows z_i of Z has the scatter ½ Σ_ij W_ij (z_i − z_j)(z_i − z_j)' = Z'LZ, L = D − W.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg

from nsse._support.errors import rule_error
from nsse._support.parameters import check_number
from nsse.affine import Affine
from nsse.graphs import laplacian
from nsse.maps import LinearMap
from nsse.methods._method import LARGEST, SMALLEST, Floats, Ints, Method, is_auto
from nsse.signs import row_signs

# A is singular if a direction has less than this share of the largest ratio of A to the total scatter. A
# ratio of scatters, so that features in other units change nothing.
SINGULAR = 1e-10
RIDGE = 1e-3
# The ridge where the rank that A can have is not this many times the number of axes: with fewer samples
# the weakest directions of A are noise long before it is singular.
RIDGE_OF_FEW = 0.3
PLENTY = 3
VARIANCE = 0.95
# Share of the eigenvectors from which on it is faster to compute all of them.
MANY = 0.25


@dataclass(frozen=True)
class Principal:
    """Samples on their leading principal axes: Z = mean + scores @ axes + what was left out."""

    mean: Floats
    axes: Floats
    scores: Floats

    @classmethod
    def of(cls, Z: Floats, keep: Any, within_rank: int) -> Principal:
        """As many axes as the parameter `pca` says; ``within_rank`` is the rank that A can have."""
        mean = Z.mean(axis=0)
        Z = Z - mean
        if within_rank == 0 or not Z.any():
            raise no_within_scatter()
        _, s, axes = linalg.svd(Z, full_matrices=False, check_finite=False)
        s = s[s > max(Z.shape) * np.finfo(np.float64).eps * s[0]]
        axes = axes[: n_axes(s, keep, within_rank)]
        return cls(mean, axes, Z @ axes.T)


class LinearMethod(Method):
    """A method with the map (x − mean_) @ components_.T, made of two scatters.

    A subclass has the parameters ``n_components``, ``pca`` and ``reg``, and calls `_linear_map`.
    """

    n_components: Any
    pca: Any
    reg: Any

    def _check_parameters(self) -> None:
        check_pca(self.pca)
        if self.reg is not None and not is_auto(self.reg):
            check_number("reg", self.reg, cure='Leave it "auto" to add a ridge where samples are few.')

    def _n_components(self, available: int) -> int:
        """The dimension requested, not checked yet."""
        return available if self.n_components is None else int(self.n_components)

    def _linear_map(
        self,
        metric: Affine,
        principal: Principal,
        scatters: tuple[Floats, Floats],
        rank: int,
        codes: Ints,
    ) -> LinearMap:
        """The map of the leading directions of two scatters, B and A, in the principal coordinates."""
        B, A = scatters
        available = len(A)
        d = self._n_components(available)
        if d > available:
            rule = f"not exceed the number of principal axes in use, {available}"
            cure = f"Lower it, or change pca={self.pca!r}; None takes all {available}."
            raise rule_error("n_components", rule, d, cure)
        reg = self.reg
        if is_auto(reg):
            reg = None if PLENTY * available <= rank else RIDGE_OF_FEW
        ridge = ridge_of(A, principal.scores, reg)
        values, V = leading_directions(B, A + ridge * np.eye(available), d)
        scale = float(metric.scale[0])
        if not SMALLEST < scale < LARGEST:  # the map would have columns whose squares are no numbers
            rule = f"have values between {SMALLEST:.0e} and {LARGEST:.0e} in size for a linear map"
            raise rule_error("X", rule, f"values of the order of {1 / scale:.0e}", "Rescale X.")
        V = self._columns(V, values, scale)
        V = V * row_signs(principal.scores @ V, codes)
        T = scale * (principal.axes.T @ V)
        self.mean_ = metric.shift + principal.mean / scale
        self.components_, self.eigenvalues_ = T.T, values
        self.n_pca_components_, self.reg_ = available, ridge / scale / scale
        return LinearMap(Affine.linear(self.mean_, T))

    def _columns(self, V: Floats, values: Floats, scale: float) -> Floats:
        """The columns of the map, of directions with v'Av = 1 for samples that were scaled."""
        return V


def dense_rows(X: Any) -> Floats:
    """Samples as a dense float64 array: centring leaves no zeros of a sparse one."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def class_means(Z: Floats, codes: Ints) -> Floats:
    """Means of the rows of every class."""
    E = np.eye(int(codes.max()) + 1)[codes]
    return np.asarray((E.T @ Z) / E.sum(axis=0)[:, np.newaxis])


def graph_scatter(W: Any, Z: Floats) -> Floats:
    """Z'LZ, symmetric to the bit."""
    S = Z.T @ (laplacian(W) @ Z)
    return np.asarray((S + S.T) / 2)


def leading_directions(B: Floats, A: Floats, d: int) -> tuple[Floats, Floats]:
    """The d largest eigenvalues of B v = λ A v, descending, and their vectors with v'Av = 1."""
    # LAPACK's routine for all eigenvectors is faster than the one for many.
    some = (len(A) - d, len(A) - 1) if d < MANY * len(A) else None
    values, V = linalg.eigh(B, A, subset_by_index=some, check_finite=False)
    return np.maximum(values[::-1][:d], 0.0), V[:, ::-1][:, :d]


def ridge_of(A: Floats, Z: Floats, reg: float | None) -> float:
    """ρ = reg · tr(A)/r; None means 0 where A is positive definite and `RIDGE` where it is singular."""
    mean, total = float(np.trace(A)) / len(A), np.einsum("ij,ij->j", Z, Z)
    if mean <= np.finfo(np.float64).eps * float(total.mean()):
        raise no_within_scatter()
    if reg is not None and reg > 0:
        return reg * mean
    lengths = np.sqrt(total)
    ratios = linalg.eigvalsh(A / np.outer(lengths, lengths))
    if ratios[0] >= SINGULAR * ratios[-1]:
        return 0.0
    if reg is None:
        return RIDGE * mean
    rule = "be positive where the within-class scatter is singular, as it is here"
    raise rule_error("reg", rule, reg, "Raise it, leave it None, or lower `pca`.")


def n_axes(s: Floats, keep: Any, within_rank: int) -> int:
    """How many principal axes, of lengths ``s``, the parameter `pca` keeps."""
    rank, shares = len(s), np.cumsum(s**2) / np.sum(s**2)

    def holding(share: float) -> int:
        return min(int(np.searchsorted(shares, share)) + 1, rank)

    if is_auto(keep):
        return rank if rank <= within_rank else min(holding(VARIANCE), within_rank)
    if keep is None:
        return rank
    if _is_share(keep):
        return holding(float(keep))
    if keep > rank:
        cure = "Lower it; None takes all axes along which the samples vary."
        raise rule_error("pca", f"not exceed the rank of the centred samples, {rank}", keep, cure)
    return int(keep)


def check_pca(value: Any) -> None:
    """None, "auto", a share of the variance between 0 and 1, or a whole number of axes."""
    is_count = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
    if not (value is None or is_auto(value) or _is_share(value) or is_count):
        rule = "be 'auto', None, a whole number from 1 up or a share between 0 and 1"
        raise rule_error("pca", rule, value, "None takes all axes along which the samples vary.")


def no_within_scatter() -> ValueError:
    """The error where no two different samples of a class are joined: any direction would do."""
    cure = "Some class must have two different samples that are neighbours: add samples, or neighbours."
    got = "classes without any within-class scatter"
    return rule_error("X", "vary within at least one class", got, cure)


def _is_share(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) < 1
