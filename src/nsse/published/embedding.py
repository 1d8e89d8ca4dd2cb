"""The embedding Y at one kernel scale σ: Eq. (12), solved without an inverse.

The columns of Y are the eigenvectors of Eq. (13), A = L_w − μ1 L_b + μ2 K⁻², to its d smallest
eigenvalues. Adding μ1 N to all eigenvalues changes no eigenvector and gives A = S + μ2 K⁻², which is
positive definite (`nsse.published.objective`).

Departs from the paper: K⁻² has the square of the condition number of K, so it is not formed if K is
ill-conditioned. With Y = KC, Eq. (12) is equivalent to

    minimize tr(C'PC)  subject to  C'K²C = I,     P = KAK = KSK + μ2 I = R'R,

and in U = RC this asks for the largest eigenvalues θ = 1/λ of R⁻ᵀK²R⁻¹. There are three ways. The one
that was used is reported as `factorization`.

- ``"kernel"`` solves the problem of the paper if K is well-conditioned, d < M and N is large. S vanishes
  on
  the centered class indicators and is at least μ1 n_c on everything orthogonal to them. A Rayleigh–Ritz
  iteration that starts from the indicators therefore converges fast, and only K is factorized.
- ``"cholesky"`` factorizes P and is the rule otherwise. θ has a gap of about 10⁶ after M − 1
  eigenvalues,
  so that a block Krylov space that starts from the class indicators converges in one to three blocks. If
  there is no gap (d ≥ M) or N is small, all eigenpairs are computed.
- ``"qr"`` computes the same R as the QR factor of [F'K; √μ2 I] with FF' = S. It is slower and is used if
  P
  is too ill-conditioned for Cholesky, or if the residuals of the coordinates are too large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh, svd
from scipy.linalg.blas import dsyrk

from nsse._support.errors import rule_message
from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats
from nsse.published.factors import EPS, Factor, cholesky_factor, orthonormal, qr_factor
from nsse.published.objective import Problem

# Largest angle between the found and the true leading eigenspace, in radians, for a final result and
# for the scan of σ.
RESIDUAL = 1e-7
ROUGHLY = 3e-3
# No step is accepted if its relative residual is larger.
LARGEST_RESIDUAL = 0.1
# Additional vectors, which speed up the convergence of the last wanted one.
GUARD = 4
# Largest number of blocks of a Krylov space.
MOST_BLOCKS = 12
# The least N per column of a block, for a final result and for the scan. With fewer samples, computing
# all eigenpairs is faster.
ROWS_PER_COLUMN = 10
ROWS_PER_ROUGH_COLUMN = 5
# Largest share of rounding errors in a coordinate.
LARGEST_NOISE = 1e-2
# Up to this cond(P), a Cholesky solution is not checked.
HARMLESS = 1e9
# Above this cond(P), fewer than four digits would be left.
LARGEST_CONDITION = 1e13
# The accepted angle in radians, and a residual below which every solution is accepted.
LARGEST_ANGLE = 1e-4
NEGLIGIBLE = 1e-9
# "kernel": the least N, and the largest cond(K).
LEAST_ROWS = 400
LARGEST_KERNEL_CONDITION = 1e10
# "kernel": the largest μ2 ‖K⁻¹‖²/(μ1 n_c), which governs the convergence, the largest number of steps,
# and the square root of the accepted gain of an eigenvalue.
STIFFEST = 60.0
MOST_STEPS = 8
ENERGY = 1e-6


class RankError(ValueError):
    """The kernel matrix has fewer independent columns than the embedding has coordinates."""

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
    basis : ndarray of shape (N, d or more)
        Spans Y and some more. It is the start for a σ nearby.
    excess, slope : float
        g(σ), and dg/d log σ.
    factorization : {"kernel", "cholesky", "qr"}
        How it was found.
    condition : float
        Estimate of cond(P), or of cond(K) with "kernel".
    is_rough : bool
        Whether the eigenpairs have fewer digits than usual.
    """

    sigma: float
    eigenvalues: Floats
    coef: Floats
    Y: Floats
    basis: Floats
    excess: float
    slope: float
    factorization: str
    condition: float
    is_rough: bool = False

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


def embed(
    problem: Problem, sigma: float, start: Floats | None = None, residual: float = RESIDUAL
) -> Embedding:
    """Return the embedding at one σ. ``start`` is the ``basis`` of an embedding at a nearby σ.

    A larger ``residual`` takes less time. Then Y'Y = I still holds, and g is a little above its minimum.
    """
    with one_blas_thread():
        return _EigenProblem(problem, sigma, start, residual).solved()


class _EigenProblem:
    """Eq. (12) at one σ."""

    def __init__(self, problem: Problem, sigma: float, start: Floats | None, residual: float) -> None:
        self.problem = problem
        self.sigma = sigma
        self.start = start
        self.residual = residual
        self.weights = problem.weights
        self.S = problem.S
        self.d = problem.weights.n_components
        self.K = problem.kernel(sigma)

    def solved(self) -> Embedding:
        """Solve by the factor of K, by the Cholesky factor of P, or by the QR factor of P."""
        factor = self._factor_of_kernel()
        C = None if factor is None else self._from_indicators(factor)
        if factor is not None and C is not None:
            return self._finished(C, factor)
        factor = self._factor_of_P()
        if factor is not None and factor.condition <= LARGEST_CONDITION:
            C, is_exact = self._leading(factor)
            found = self._finished(C, factor, is_exact)
            if factor.condition <= HARMLESS or self._angle(found, C, factor) <= LARGEST_ANGLE:
                return found
        mu2, N = self.weights.mu2, len(self.K)
        factor = qr_factor(np.vstack([self.S.root_times(self.K), math.sqrt(mu2) * np.eye(N)]))
        C, is_exact = self._leading(factor)
        return self._finished(C, factor, is_exact)

    def _factor_of_P(self) -> Factor | None:  # noqa: N802 - as in the formulas
        """Return R with R'R = P = KSK + μ2 I, or None if rounding made P indefinite."""
        P = self.S(self.K).T @ self.K
        P[np.diag_indices(len(P))] += self.weights.mu2
        # The trace is near the norm, because one direction dominates.
        return cholesky_factor(P, "cholesky", float(np.trace(P)))

    def _leading(self, factor: Factor) -> tuple[Floats, bool]:
        """Return C = R⁻¹U of the leading eigenpairs and some more, and whether all digits are right."""
        N, start = len(self.K), self.start
        if start is None:  # class indicators, on which S nearly vanishes, and guard vectors
            indicators = self.S.indicators.toarray()[:, :-1]
            n_guard = max(self.d - indicators.shape[1], 0) + GUARD
            start = np.hstack([indicators, np.random.default_rng(0).standard_normal((N, n_guard))])
        is_rough = self.residual > RESIDUAL
        if (ROWS_PER_ROUGH_COLUMN if is_rough else ROWS_PER_COLUMN) * start.shape[1] <= N:
            C = self._block_krylov(factor, start)
            if C is not None:
                return C, not is_rough
        n_pairs = min(N, self.d + GUARD)
        G = factor.solve_transposed(self.K)
        if factor.method == "qr":  # GG' would square the condition number again
            U = svd(G, full_matrices=False, check_finite=False)[0][:, :n_pairs]
        else:
            M, last = dsyrk(1.0, G, lower=1), (N - n_pairs, N - 1)
            U = eigh(M, overwrite_a=True, check_finite=False, subset_by_index=last)[1][:, ::-1]
        return factor.solve(U), True

    def _block_krylov(self, factor: Factor, start: Floats) -> Floats | None:
        """Return C from the blocks M^j R⁻ᵀK start, M = R⁻ᵀK²R⁻¹, or None if they do not converge.

        The last product MU is one step of the power method. It reduces the part of all vectors outside
        of the leading eigenspace by the gap. The residuals can therefore be larger by the gap.
        """
        d = self.d
        K = self.K
        N, width = start.shape
        most = min(MOST_BLOCKS, N // (2 * width))
        U, Y, V = (np.empty((N, most * width), order="F") for _ in range(3))
        fresh = factor.solve_transposed(K @ start)
        for done in range(0, most * width, width):
            block, upto = slice(done, done + width), slice(0, done + width)
            U[:, block] = orthonormal(fresh, U[:, :done])
            Y[:, block] = K @ factor.solve(U[:, block])
            V[:, block] = fresh = factor.solve_transposed(K @ Y[:, block])
            theta, Q = np.linalg.eigh(Y[:, upto].T @ Y[:, upto])
            theta, Q = theta[: -width - 1 : -1], Q[:, : -width - 1 : -1]
            stepped, values = V[:, upto] @ Q, theta[:d]
            residual = stepped[:, :d] - (U[:, upto] @ Q[:, :d]) * values
            enough = np.minimum(self.residual * values / theta[d], LARGEST_RESIDUAL)
            if np.all(np.linalg.norm(residual, axis=0) <= enough * values):
                return factor.solve(stepped)
        return None

    def _finished(self, C: Floats, factor: Factor, is_exact: bool = True) -> Embedding:
        """Return the embedding in the span of KC. A Rayleigh–Ritz step gives λ and Y'Y = I."""
        K = self.K
        S = self.S
        weights = self.weights
        basis = self.K @ C
        C, Y = C[:, : self.d], basis[:, : self.d]
        # y = Kc has an error of about ε‖K‖‖c‖. If K has fewer than d independent columns, the last
        # coordinates need such large coefficients that only this error is left.
        size = np.linalg.norm(Y, axis=0)
        is_clean = EPS * K.sum(axis=0).max() * np.linalg.norm(C, axis=0) < LARGEST_NOISE * size
        if not is_clean.all():
            raise RankError(int(np.argmin(is_clean)), self.d)
        C, Y = C / size, Y / size
        # C'PC = Y'SY + μ2 C'C. Its terms have several digits more than 1/θ.
        values, Q = eigh(S.quadratic(Y) + weights.mu2 * (C.T @ C), Y.T @ Y, check_finite=False)
        C, Y = C @ Q, Y @ Q
        slopes = self.problem.slopes(K, self.sigma, C, S(Y) - Y * values)
        scale = weights.scale_term(self.sigma)
        excess, slope = float(values.sum()) + scale, float(slopes.sum()) - 2.0 * scale
        how = factor.method, factor.condition, not is_exact
        return Embedding(self.sigma, values, C, Y, basis, excess, slope, *how)

    def _angle(self, found: Embedding, C: Floats, factor: Factor) -> float:
        """Return a bound of the angle between the span of the coordinates and the true one.

        The residual of the symmetric problem is R⁻ᵀ(K(S − λ)y + μ2 c), computed without P. Its part
        outside of the span, divided by the gap to the next eigenvalue, bounds the angle. A negligible
        residual is accepted whatever the gap, because without a gap the coordinates are not unique. In a
        scan, the requested residual is accepted.
        """
        mu2 = self.weights.mu2
        Y = found.Y
        values = found.eigenvalues
        moved = factor.solve_transposed(self.K @ (self.S(Y) - Y * values) + mu2 * found.coef)
        U = orthonormal(factor.times(found.coef), np.empty((len(C), 0)))
        for _ in range(2):  # the part inside may be much larger than the part outside
            moved = moved - U @ (U.T @ moved)
        relative = np.linalg.norm(moved, axis=0) / np.sqrt(np.maximum(values, EPS**2))
        c, y = C[:, self.d : self.d + 1], found.basis[:, self.d : self.d + 1]
        following = np.trace(self.S.quadratic(y)) + mu2 * (c**2).sum() + EPS**2
        gaps = 1.0 - values * (y**2).sum() / following
        enough = NEGLIGIBLE if self.residual <= RESIDUAL else self.residual
        is_small = relative <= enough * math.sqrt(self.d)
        return float(np.max(np.where(is_small, 0.0, relative / np.maximum(gaps, EPS))))

    def _factor_of_kernel(self) -> Factor | None:
        """Return R with R'R = K, or None if the iteration by it would not converge or not pay."""
        weights, K = self.weights, self.K
        if len(K) < LEAST_ROWS or weights.mu1 == 0 or self.d >= len(self.S.sizes):
            return None
        norm = float(K.sum(axis=0).max())
        factor = cholesky_factor(K, "kernel", norm)
        if factor is None or factor.condition > LARGEST_KERNEL_CONDITION:
            return None
        stiffness = weights.mu2 * (factor.condition / norm) ** 2 / (weights.mu1 * self.S.sizes.min())
        return factor if stiffness <= STIFFEST else None

    def _from_indicators(self, factor: Factor) -> Floats | None:
        """Return C of the smallest eigenpairs of A = S + μ2 K⁻² and some more, or None.

        If r is the residual of a Ritz vector, its λ_k can still fall by about r'r/(μ1 n_c).
        """
        S = self.S
        d = self.d
        mass = self.S.mu1 * self.S.sizes[self.S.codes][:, np.newaxis]
        energy = max(self.residual, ENERGY) ** 2
        fresh = S.indicators.toarray() / np.sqrt(S.sizes)
        if self.start is not None:  # the part of a solution nearby that the indicators do not span
            fresh = np.hstack([fresh, orthonormal(S.centered(self.start[:, :d]), fresh)])
        V, C, AV = (np.empty((len(S.codes), 0)) for _ in range(3))
        for _ in range(MOST_STEPS):
            C_fresh = factor.solve_both(fresh)
            V, C = np.hstack([V, fresh]), np.hstack([C, C_fresh])
            AV = np.hstack([AV, S(fresh) + self.weights.mu2 * factor.solve_both(C_fresh)])
            values, Q = eigh(V.T @ AV, check_finite=False)
            step = S.centered(AV @ Q[:, :d] - (V @ Q[:, :d]) * values[:d]) / mass
            if np.all((mass * step**2).sum(axis=0) <= energy * values[:d]):
                return np.asarray(C @ Q[:, : d + GUARD])
            fresh = orthonormal(step, V)
        return None
