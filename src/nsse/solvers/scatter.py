"""Linear maps from two scatter matrices: maximise tr(V'BV) subject to V'AV = I.

The solution is the generalised eigenproblem B v = λ A v. A, a within-class scatter, is singular as soon
as there are fewer samples than features. The policy, in this order, and nothing else happens:

1. The samples are projected on their leading principal axes (`principal_coordinates`). Axes along which
   the samples do not vary are always left out: neither scatter sees them. Fisherfaces keep as many axes
   as A can have rank, N − M. Departs from that: with so many axes A is regular by a hair only and the
   map follows the noise of the last ones; where axes must go, we keep those that hold 95 % of the
   variance.
2. A + ρI takes the place of A where A is still singular, or wherever a ridge is asked for (`ridge_of`).
   Departs from the papers: by default the estimators ask for one, on all axes, where samples are few
   (`share_for_few`).

B and A are positive semidefinite. Eigenvalues below zero are rounding and are set to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from nsse._errors import rule_error
from nsse._threads import one_blas_thread

Floats = NDArray[np.float64]

# A is singular if a direction has less than this share of the largest ratio of A to the total scatter. A
# ratio of scatters, so that features in other units change no verdict.
SINGULAR = 1e-10
RIDGE = 1e-3
# The ridge where the rank that A can have is not this many times the number of axes: with fewer samples
# the weakest directions of A are noise long before it is singular.
RIDGE_OF_FEW = 0.3
PLENTY = 3
VARIANCE = 0.95
# Share of the eigenvectors from which on it is faster to compute all of them.
MANY = 0.25
# Share of the largest squared length from which on a squared length has correct digits.
CLEAR = 1e-10
# Samples beyond these magnitudes have squares that over- or underflow.
SMALLEST_SQUARED = 1e-100


@dataclass(frozen=True)
class Principal:
    """Samples on their leading principal axes: X = mean + scores @ axes + what was left out."""

    mean: Floats
    axes: Floats
    scores: Floats

    @property
    def total(self) -> Floats:
        """Scatter of all samples along every axis; there is none between two axes."""
        return np.asarray(np.einsum("ij,ij->j", self.scores, self.scores))


@dataclass(frozen=True)
class ScatterSolution:
    """Directions (in columns, by falling eigenvalue), eigenvalues, and the ridge ρ that was added."""

    directions: Floats
    eigenvalues: Floats
    ridge: float


@one_blas_thread()
def principal_coordinates(X: Floats, keep: str | int | float | None, within_rank: int) -> Principal:
    """The leading principal axes of the samples, and the samples on them.

    Parameters
    ----------
    X : ndarray of shape (N, n)
        Samples.
    keep : int, float below 1, None or "auto"
        Number of axes; or the share of the variance that the fewest axes must hold; or all of them;
        or all if these are not more than ``within_rank``, else the share `VARIANCE` of the variance on
        no more axes than that.
    within_rank : int
        Rank that the within-class scatter can have.
    """
    mean = X.mean(axis=0)
    centred = X - mean
    s, axes = _from_covariance(centred) or _from_singular_values(centred)
    axes = axes[: _n_axes(s, keep, within_rank)]
    return Principal(mean, axes, centred @ axes.T)


@one_blas_thread()
def solve_scatter(
    B: Floats, A: Floats, principal: Principal, n_directions: int, reg: float | None
) -> ScatterSolution:
    """The leading eigenvectors of B v = λ (A + ρI) v, with v'(A + ρI)v = 1.

    Parameters
    ----------
    B, A : ndarrays of shape (r, r)
        Scatters to be made large and small, symmetric and positive semidefinite.
    principal : Principal
        The coordinates in which they are taken.
    n_directions : int
        How many eigenvectors.
    reg : float or None
        See `ridge_of`.

    Returns
    -------
    ScatterSolution
        Directions of shape (r, n_directions), eigenvalues and ρ.
    """
    ridge = ridge_of(A, principal.total, reg)
    r = len(A)
    # LAPACK's routine for all eigenvectors is faster than the one for many.
    some = [r - n_directions, r - 1] if n_directions < MANY * r else None
    values, vectors = linalg.eigh(B, A + ridge * np.eye(r), subset_by_index=some)
    values, vectors = values[::-1][:n_directions], vectors[:, ::-1][:, :n_directions]
    return ScatterSolution(vectors, np.maximum(values, 0.0), ridge)


def ridge_of(A: Floats, total: Floats, reg: float | None) -> float:
    """ρ = reg · tr(A)/r; None means 0 where A is positive definite and `RIDGE` where it is singular."""
    mean = float(np.trace(A)) / len(A)
    if mean <= np.finfo(np.float64).eps * float(total.mean()):
        raise no_within_scatter()
    if reg is not None and reg > 0:
        return reg * mean
    if not _is_singular(A, total):
        return 0.0
    if reg is None:
        return RIDGE * mean
    raise rule_error(
        "reg",
        "be positive where the within-class scatter is singular, as it is here",
        reg,
        "Raise it, leave it None, or lower `pca`.",
    )


def share_for_few(n_axes: int, within_rank: int) -> float | None:
    """`RIDGE_OF_FEW` where axes are many beside the rank that A can have; else None (see `ridge_of`)."""
    return None if PLENTY * n_axes <= within_rank else RIDGE_OF_FEW


def no_within_scatter() -> ValueError:
    """The error where no two different samples of a class are joined: any direction would do."""
    return rule_error(
        "X",
        "vary within at least one class",
        "classes without any within-class scatter",
        "Some class must have two different samples that are neighbours: add samples, or neighbours.",
    )


def orthonormal(V: Floats) -> Floats:
    """Gram-Schmidt on the columns: the first j of them span what they did, for every j."""
    Q, _ = linalg.qr(V, mode="economic")
    return np.asarray(Q)


def _from_singular_values(X: Floats) -> tuple[Floats, Floats]:
    """Lengths along the principal axes of centred samples, descending, and the axes; no zeros."""
    _, s, axes = linalg.svd(X, full_matrices=False)
    rank = int(np.sum(s > _rounding(X, s[0])))
    return s[:rank], axes[:rank]


def _from_covariance(X: Floats) -> tuple[Floats, Floats] | None:
    """The same, several times faster; None where squared lengths do not tell axes from rounding.

    Squares below ``CLEAR`` of the largest may be rounding or not. The samples decide: if their lengths
    along all these axes are rounding, freed of what rounding mixed in of the others, there is nothing
    else to be found there; otherwise only singular values will do.
    """
    largest = np.abs(X).max()
    if X.shape[0] < X.shape[1] or not SMALLEST_SQUARED < largest < 1.0 / SMALLEST_SQUARED:
        return None
    varying = X.any(axis=0)
    Z = X if varying.all() else X[:, varying]
    squares, V = np.linalg.eigh(Z.T @ Z)
    squares, V = squares[::-1], V[:, ::-1]
    rank = int(np.sum(squares > CLEAR * squares[0]))
    V, null = V[:, :rank], V[:, rank:]
    if null.size:
        null = null - V @ ((V.T @ (Z.T @ (Z @ null))) / squares[:rank, np.newaxis])
        if np.linalg.norm(Z @ null) > _rounding(X, np.sqrt(squares[0])):
            return None
        V = V - null @ (null.T @ V)
    axes = np.zeros((rank, X.shape[1]))
    axes[:, varying] = V.T
    return np.sqrt(squares[:rank]), axes


def _rounding(X: Floats, largest: float) -> float:
    """What rounding leaves of a length that is zero, beside the largest one."""
    return max(X.shape) * float(np.finfo(np.float64).eps) * largest


def _n_axes(s: Floats, keep: str | int | float | None, within_rank: int) -> int:
    rank = len(s)
    if isinstance(keep, str):  # "auto"
        return rank if rank <= within_rank else min(_holding(s, VARIANCE), within_rank)
    if keep is None:
        return rank
    if isinstance(keep, float):
        return _holding(s, keep)
    if keep > rank:
        raise rule_error(
            "pca",
            f"not exceed the rank of the centred samples, {rank}",
            keep,
            "Lower it; None takes all axes along which the samples vary.",
        )
    return keep


def _holding(s: Floats, share: float) -> int:
    """The fewest leading axes that hold a share of the variance."""
    shares = np.cumsum(s**2) / np.sum(s**2)
    return min(int(np.searchsorted(shares, share)) + 1, len(s))


def _is_singular(A: Floats, total: Floats) -> bool:
    lengths = np.sqrt(total)
    ratios = A / np.outer(lengths, lengths)
    # Twice the bound or more, of a number no smaller than the largest eigenvalue: regular for sure.
    surely = ratios - 2.0 * SINGULAR * float(np.linalg.norm(ratios)) * np.eye(len(A))
    if linalg.lapack.dpotrf(surely)[1] == 0:
        return False
    values = linalg.eigvalsh(ratios)
    return bool(values[0] < SINGULAR * values[-1])
