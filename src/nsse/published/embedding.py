"""Compute the embedding Y at one kernel scale σ, Eq. (12), without an inverse.

The columns of Y are the eigenvectors of Eq. (13), A = L_w − μ1 L_b + μ2 K⁻², to its d smallest
eigenvalues. Adding μ1 N to all eigenvalues changes no eigenvector and gives A = S + μ2 K⁻², which is
positive definite (`nsse.published.objective`).

Departs from the paper: K⁻² has the square of the condition number of K, so it is not formed. With
Y = KC, Eq. (12) is equivalent to

    minimize tr(C'PC)  subject to  C'K²C = I,     P = KAK = KSK + μ2 I = R'R,

and in U = RC this asks for the largest eigenvalues θ = 1/λ of M = R⁻ᵀK²R⁻¹.

1. R is the Cholesky factor of P. If P is too ill-conditioned for it, R is the QR factor of
   [F'K; √μ2 I] with FF' = S. This takes longer and does not square the condition number.
2. S vanishes on the M − 1 centered vectors that are constant on the classes. After M − 1 eigenvalues, θ
   drops by several orders of magnitude, so a subspace iteration that starts from the class indicators
   converges in a few steps. If there is no such gap (d ≥ M), all eigenvectors are computed.
3. A Rayleigh–Ritz step in the span of the found vectors gives λ, and makes Y'Y = I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, lapack, qr, solve_triangular, svd

from nsse._support.errors import rule_message
from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats
from nsse.published.objective import Problem

EPS = float(np.finfo(np.float64).eps)
# Above this cond(P), or this ratio of λ, a Cholesky solution would have fewer than four right digits.
LARGEST_CONDITION = 1e13
LARGEST_RATIO = 1e9
# Largest residual of the subspace iteration relative to the gap of θ, and the largest number of steps.
RESIDUAL = 1e-7
MOST_STEPS = 6
# Additional vectors of the iteration, which speed up the convergence of the last wanted one.
GUARD = 4
# Rows of P that are computed at a time.
PANEL = 128
# Largest share of rounding errors in a coordinate.
LARGEST_NOISE = 1e-2


class RankError(ValueError):
    """Signal that the kernel matrix has fewer independent columns than the embedding coordinates."""

    def __init__(self, rank: int, n_components: int) -> None:
        rule = "not exceed the number of distinct samples (the rank of the kernel)"
        cure = f"Only {rank} independent coordinates exist here. Lower `n_components` or `sigma`."
        super().__init__(rule_message("n_components", rule, n_components, cure))


@dataclass(frozen=True)
class Embedding:
    """The minimizer of Eq. (12) at one σ, with the value and the slope of g there.

    Attributes
    ----------
    sigma : float
        σ in units of length.
    eigenvalues : ndarray of shape (d,)
        λ_k of S + μ2 K⁻², ascending.
    coef, Y : ndarrays of shape (N, d)
        C, and Y = KC with Y'Y = I.
    excess, slope : float
        g(σ), and dg/d log σ.
    factorization : {"cholesky", "qr"}
        How P was factorized.
    condition : float
        Estimate of cond(P).
    """

    sigma: float
    eigenvalues: Floats
    coef: Floats
    Y: Floats
    excess: float
    slope: float
    factorization: str
    condition: float

    @cached_property
    def x(self) -> float:
        """The number log σ."""
        return math.log(self.sigma)

    @cached_property
    def value(self) -> float:
        """The number log g."""
        return math.log(self.excess)

    @cached_property
    def tilt(self) -> float:
        """The derivative d log g/d log σ."""
        return self.slope / self.excess


def embed(problem: Problem, sigma: float) -> Embedding:
    """Return the embedding at one σ."""
    with one_blas_thread():
        K = problem.kernel(sigma)
        factor = cholesky_factor(problem, K)
        if factor is not None and factor.condition <= LARGEST_CONDITION:
            found = solution(problem, sigma, K, factor)
            if found.eigenvalues[-1] <= LARGEST_RATIO * found.eigenvalues[0]:
                return found
        return solution(problem, sigma, K, qr_factor(problem, K))


@dataclass(frozen=True)
class Factor:
    """An upper triangular R with R'R = P."""

    R: Floats
    method: str
    norm: float

    @cached_property
    def condition(self) -> float:
        """Estimate of cond(P)."""
        return 1.0 / max(float(lapack.dpocon(self.R, self.norm)[0]), EPS**2)

    def solve(self, A: Floats) -> Floats:
        """Return R⁻¹A."""
        return np.asarray(solve_triangular(self.R, A, check_finite=False))

    def solve_transposed(self, A: Floats) -> Floats:
        """Return R⁻ᵀA."""
        return np.asarray(solve_triangular(self.R, A, trans="T", check_finite=False))


def cholesky_factor(problem: Problem, K: Floats) -> Factor | None:
    """Return the Cholesky factor of P = KSK + μ2 I, or None if rounding made P indefinite."""
    SK, P = problem.S(K), np.zeros_like(K)
    for start in range(0, len(K), PANEL):  # the upper half suffices
        P[start : start + PANEL, start:] = K[start : start + PANEL] @ SK[:, start:]
    P[np.diag_indices(len(P))] += problem.weights.mu2
    # The trace is near the norm, because one direction dominates.
    norm = float(np.trace(P))
    try:
        return Factor(cholesky(P, overwrite_a=True, check_finite=False), "cholesky", norm)
    except LinAlgError:
        return None


def qr_factor(problem: Problem, K: Floats) -> Factor:
    """Return R from the QR factorization of [F'K; √μ2 I], without forming P."""
    root_of_mu2 = math.sqrt(problem.weights.mu2) * np.eye(len(K))
    stacked = np.vstack([problem.S.root_times(K), root_of_mu2])
    (triangle,) = qr(stacked, mode="r", check_finite=False)
    R = np.asarray(triangle[: len(K)], dtype=np.float64)
    return Factor(R, "qr", float((R**2).sum()))


def solution(problem: Problem, sigma: float, K: Floats, factor: Factor) -> Embedding:
    """Return the embedding that belongs to a factor of P."""
    weights = problem.weights
    C = leading_coefficients(problem, K, factor)
    values, C, Y = rayleigh_ritz(C, K, problem)
    slopes = problem.slopes(K, sigma, C, problem.S(Y) - Y * values)
    scale = weights.scale_term(sigma)
    excess = float(values.sum()) + scale
    slope = float(slopes.sum()) - 2.0 * scale
    return Embedding(sigma, values, C, Y, excess, slope, factor.method, factor.condition)


def leading_coefficients(problem: Problem, K: Floats, factor: Factor) -> Floats:
    """Return C = R⁻¹U for the leading eigenvectors U of M = R⁻ᵀK²R⁻¹."""
    d = problem.weights.n_components
    U = subspace_iteration(problem, K, factor) if d < len(problem.S.sizes) else None
    if U is None:
        G = factor.solve_transposed(K)
        if factor.method == "qr":  # GG' would square the condition number again
            U = svd(G, full_matrices=False, check_finite=False)[0][:, :d]
        else:
            last = (len(K) - d, len(K) - 1)
            U = eigh(G @ G.T, subset_by_index=last, overwrite_a=True, check_finite=False)[1]
    return factor.solve(U)


def subspace_iteration(problem: Problem, K: Floats, factor: Factor) -> Floats | None:
    """Return the d leading eigenvectors of M, or None if the iteration does not converge."""
    d = problem.weights.n_components
    indicators = problem.S.indicators.toarray()[:, :-1]  # with the mean, they span the last one
    guard = np.random.default_rng(0).standard_normal((len(K), GUARD))
    U = factor.solve_transposed(K @ np.hstack([indicators, guard]))
    for _ in range(MOST_STEPS):
        U = np.linalg.qr(U).Q
        MU = factor.solve_transposed(K @ (K @ factor.solve(U)))
        theta, Q = np.linalg.eigh(U.T @ MU)
        theta, Q = theta[::-1], Q[:, ::-1]
        stepped = MU @ Q
        residuals = np.linalg.norm(stepped - (U @ Q) * theta, axis=0)
        # `stepped` is one step of the power method ahead of its residual.
        if np.all(residuals[:d] <= RESIDUAL * theta[:d] ** 2 / theta[d]):
            return stepped[:, :d]
        U = stepped
    return None


def rayleigh_ritz(C: Floats, K: Floats, problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Return λ, C and Y = KC with Y'Y = I and a diagonal C'PC, in the span of the given C."""
    Y = K @ C
    # y = Kc has an error of about ε‖K‖‖c‖. If K has fewer than d independent columns, the last
    # coordinates need such large coefficients that only this error is left.
    size = np.linalg.norm(Y, axis=0)
    is_clean = EPS * K.sum(axis=0).max() * np.linalg.norm(C, axis=0) < LARGEST_NOISE * size
    if not is_clean.all():
        raise RankError(int(is_clean.sum()), C.shape[1])
    C, Y = C / size, Y / size
    # C'PC = Y'SY + μ2 C'C. Its terms have several digits more than 1/θ.
    energy = problem.S.quadratic(Y) + problem.weights.mu2 * (C.T @ C)
    values, Q = eigh(energy, Y.T @ Y, check_finite=False)
    return values, C @ Q, Y @ Q
