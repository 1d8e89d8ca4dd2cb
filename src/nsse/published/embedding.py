"""The embedding for one σ: Eq. (12) without an inverse.

Departs from the paper: it takes the smallest eigenvectors of A = L_w − μ1 L_b + μ2 K⁻². With Y = KC the
same problem reads

    minimise tr(C'PC)  s.t.  C'K²C = I,   P = KSK + μ2 I = R'R,

and in U = RC it is the largest eigenpairs θ of R⁻ᵀK²R⁻¹, λ = 1/θ. After M − 1 of them there is a gap of
about 10⁶, and S vanishes on the centred class indicators: a block Krylov space from there converges in
one to three blocks. Where there is no gap (d ≥ M), or no room for blocks, all eigenpairs are computed.

P has the square of the condition number of K. Three factorisations, recorded as the one that was used:

- ``"kernel"``: K = R'R, where K is well-conditioned. In the space of Y, A = S + μ2 K⁻² is at least μ1
  n_c on what is orthogonal to the class indicators, so a Rayleigh–Ritz iteration from these, with
  residuals over μ1 n_c for new directions, converges fast as long as the *stiffness* μ2 ‖K⁻¹‖²/(μ1 n_c)
  is moderate. P is never formed, which saves three quarters of the work.
- ``"cholesky"`` of P: the rule.
- ``"qr"`` of [F'K; √μ2 I] with FF' = S: the same R without forming P, where Cholesky breaks down, or the
  coordinates that it gives do not solve the problem, as their residuals tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack, qr, svd
from scipy.linalg.blas import dsyrk, dtrmm, dtrsm

from nsse._support.errors import rule_message
from nsse._support.threads import in_parallel, one_blas_thread
from nsse._support.types import Floats
from nsse.published.objective import Problem

EPS = float(np.finfo(np.float64).eps)
# How far the leading eigenspace may be off, in radians: for all digits of g, and for five, in a scan.
# And the residual beyond which no step of the power method is trusted.
RESIDUAL, ROUGHLY, LARGEST_RESIDUAL = 1e-7, 3e-3, 0.1
# Vectors beyond those wanted: they carry the convergence of the last wanted one.
GUARD = 4
# Blocks of a Krylov space, at most and at least; with fewer than so many rows per column of the least,
# for all digits and for few, all eigenpairs take less time.
MOST_BLOCKS, ROWS_PER_COLUMN, ROWS_PER_ROUGH_COLUMN = 12, 10, 5
# Columns of K S K formed at a time.
COLUMNS = 128
# Share of a coordinate that may be rounding.
LARGEST_NOISE = 1e-2
# cond(P) up to which Cholesky needs no check, and beyond which it leaves less than about four digits;
# how far, in radians, the coordinates that it gives may be from the true ones; and the residual that is
# small whatever the gap.
HARMLESS, LARGEST_CONDITION, LARGEST_ANGLE, NEGLIGIBLE = 1e9, 1e13, 1e-4, 1e-9
# "kernel": with fewer rows P takes no longer. The stiffest K; times how much K will not do at half the σ
# either; most steps; the largest cond(K); √ of what is left to gain of an eigenvalue.
LEAST_ROWS, STIFFEST, HOPELESS, MOST_STEPS = 400, 60.0, 1e3, 8
LARGEST_KERNEL_CONDITION, ENERGY = 1e10, 1e-6


class RankError(ValueError):
    """The kernel matrix has fewer independent columns than the embedding coordinates."""

    def __init__(self, rank: int, n_components: int) -> None:
        rule = "not exceed the number of distinct samples (the rank of the kernel)"
        cure = f"Only {rank} independent coordinates exist here. Lower `n_components` or `sigma`."
        super().__init__(rule_message("n_components", rule, n_components, cure))


@dataclass(frozen=True)
class Embedding:
    """The minimiser of Eq. (12) at one σ, and g with its slope there.

    Attributes
    ----------
    sigma : float
        σ in units of length.
    eigenvalues : ndarray of shape (d,)
        λ_k of S + μ2 K⁻², ascending.
    coef, Y : ndarrays of shape (N, d)
        C, and Y = KC with Y'Y = I.
    basis : ndarray of shape (N, d or more)
        Spans Y and some more: the start for a σ nearby.
    excess, slope : float
        g(σ), and dg/d log σ.
    factorization : {"kernel", "cholesky", "qr"}
        How it was found.
    condition : float
        Estimate of cond(P), or of cond(K) with "kernel".
    is_rough : bool
        Whether the eigenpairs were iterated for to fewer digits than usual.
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
        """log σ."""
        return math.log(self.sigma)

    @cached_property
    def value(self) -> float:
        """log g."""
        return math.log(self.excess)

    @cached_property
    def tilt(self) -> float:
        """d log g/d log σ."""
        return self.slope / self.excess


def embed(
    problem: Problem, sigma: float, start: Floats | None = None, residual: float = RESIDUAL
) -> Embedding:
    """Embed at one σ; ``start`` is the ``basis`` of an embedding at a nearby σ.

    With a larger ``residual`` it takes less time, Y'Y = I still holds, and g is the one of an embedding
    a little worse than the best.
    """
    with one_blas_thread():
        return _Pencil(problem, sigma, start, residual).solved()


@dataclass(frozen=True)
class _Factor:
    """Upper triangular R with R'R = P, or K, as its transpose, stored by columns."""

    L: NDArray[Any]
    method: str
    norm: float

    @cached_property
    def condition(self) -> float:
        """Estimate of the condition number of R'R."""
        return 1.0 / max(float(lapack.dpocon(self.L, self.norm, uplo="L")[0]), EPS**2)

    def solve(self, A: Floats) -> Floats:
        """R⁻¹A."""
        return np.asarray(dtrsm(1.0, self.L, A, lower=1, trans_a=1))

    def solve_transposed(self, A: Floats) -> Floats:
        """R⁻ᵀA."""
        return np.asarray(dtrsm(1.0, self.L, A, lower=1))

    def solve_both(self, A: Floats) -> Floats:
        """(R'R)⁻¹A."""
        return self.solve(self.solve_transposed(A))


class _Pencil:
    """Eq. (12) at one σ."""

    def __init__(self, problem: Problem, sigma: float, start: Floats | None, residual: float) -> None:
        self.problem, self.sigma, self.start, self.residual = problem, sigma, start, residual
        self.weights, self.S, self.d = problem.weights, problem.S, problem.weights.n_components
        self.K = problem.kernel(sigma)

    def solved(self) -> Embedding:
        """By the factor of K; by the Cholesky factor of P; by the QR of its stacked factors."""
        factor = self._factor_of_kernel()
        C = None if factor is None else self._from_indicators(factor)
        if factor is not None and C is not None:
            return self._finished(C, factor, self.residual > RESIDUAL)
        factor = self._cholesky()
        if factor is not None and factor.condition <= LARGEST_CONDITION:
            C, _, is_rough = self._leading(factor)
            found = self._finished(C, factor, is_rough)
            if factor.condition <= HARMLESS or self._angle(found, C, factor) <= LARGEST_ANGLE:
                return found
        return self._finished(*self._leading(self._stacked_qr()))

    def _cholesky(self) -> _Factor | None:
        """R with R'R = P = KSK + μ2 I, in the place of P; None if rounding made P indefinite."""
        P, S, K = self.problem.scratch, self.S, self.K

        def fill(start: int) -> None:
            columns = slice(start, start + COLUMNS)
            # On and above the diagonal: the other half is its mirror image, and never read.
            np.matmul(S(K[:, columns]).T, K[:, start:], out=P[columns, start:])

        in_parallel(fill, range(0, len(P), COLUMNS), P.size)
        P[np.diag_indices(len(P))] += self.weights.mu2
        norm = float(np.trace(P))  # bounds the norm of P, and is near it: one direction dominates
        return _cholesky_in_place(P, "cholesky", norm)

    def _stacked_qr(self) -> _Factor:
        """R of [F'K; √μ2 I]."""
        N = len(self.K)
        stacked = np.vstack([self.S.root_times(self.K), math.sqrt(self.weights.mu2) * np.eye(N)])
        (R,) = qr(stacked, mode="r", overwrite_a=True, check_finite=False)
        R = np.ascontiguousarray(R[:N])
        return _Factor(R.T, "qr", float((R**2).sum()))

    def _leading(self, factor: _Factor) -> tuple[Floats, _Factor, bool]:
        """C = R⁻¹U of the leading eigenpairs and some more; the factor; whether C is rough."""
        K, N, start = self.K, len(self.K), self.start
        if start is None:  # class indicators, on which S nearly vanishes, and guard vectors
            indicators = self.S.indicators.toarray()[:, :-1]
            n_guard = max(self.d - indicators.shape[1], 0) + GUARD
            start = np.hstack([indicators, np.random.default_rng(0).standard_normal((N, n_guard))])
        is_rough = self.residual > RESIDUAL
        if (ROWS_PER_ROUGH_COLUMN if is_rough else ROWS_PER_COLUMN) * start.shape[1] <= N:
            C = self._block_krylov(factor, start)
            if C is not None:
                return C, factor, is_rough
        n_pairs = min(N, self.d + GUARD)
        G = factor.solve_transposed(K.T)  # R⁻ᵀK; K is symmetric, its transpose stored by columns
        if factor.method == "qr":  # GG' would square what QR did not
            U = svd(G, full_matrices=False, check_finite=False)[0][:, :n_pairs]
        else:
            M, last = dsyrk(1.0, G, lower=1), (N - n_pairs, N - 1)
            U = eigh(M, overwrite_a=True, check_finite=False, subset_by_index=last)[1][:, ::-1]
        return factor.solve(U), factor, False

    def _block_krylov(self, factor: _Factor, start: Floats) -> Floats | None:
        """The same from the blocks M^j R⁻ᵀK start, M = R⁻ᵀK²R⁻¹; None where they do not converge.

        The last product MU is a step of the power method for all vectors found: what they have outside
        of the leading eigenspace gets smaller by the gap, which the residuals need not be.
        """
        d, (N, width) = self.d, start.shape
        most = min(MOST_BLOCKS, N // (2 * width))
        U, Y, V = (np.empty((N, most * width), order="F") for _ in range(3))
        fresh = factor.solve_transposed(self._carried(start))
        for done in range(0, most * width, width):
            block, upto = slice(done, done + width), slice(0, done + width)
            U[:, block] = _orthonormal(fresh, U[:, :done])
            Y[:, block] = self._carried(factor.solve(U[:, block]))
            V[:, block] = fresh = factor.solve_transposed(self._carried(Y[:, block]))
            theta, Q = np.linalg.eigh(Y[:, upto].T @ Y[:, upto])
            theta, Q = theta[: -width - 1 : -1], Q[:, : -width - 1 : -1]
            stepped, values = V[:, upto] @ Q, theta[:d]
            residual = stepped[:, :d] - (U[:, upto] @ Q[:, :d]) * values
            enough = np.minimum(self.residual * values / theta[d], LARGEST_RESIDUAL)
            if np.all(np.linalg.norm(residual, axis=0) <= enough * values):
                return factor.solve(stepped)
        return None

    def _carried(self, A: Floats) -> Floats:
        """KA; K is symmetric, and BLAS has it sooner from this side."""
        return np.asarray((A.T @ self.K).T)

    def _finished(self, C: Floats, factor: _Factor, is_rough: bool) -> Embedding:
        """The embedding in the span of KC: Rayleigh and Ritz have the last word on λ and Y'Y = I."""
        K, S, weights, basis = self.K, self.S, self.weights, self._carried(C)
        C, Y = C[:, : self.d], basis[:, : self.d]
        # y = Kc carries an error of about ε‖K‖‖c‖. Where K has no d independent columns, the last
        # coordinates need coefficients so large that they consist of nothing else.
        size = np.linalg.norm(Y, axis=0)
        clean = EPS * K.sum(axis=0).max() * np.linalg.norm(C, axis=0) < LARGEST_NOISE * size
        if not clean.all():
            raise RankError(int(np.argmin(clean)), self.d)
        C, Y = C / size, Y / size
        # C'PC = Y'SY + μ2 C'C from its terms, which has several digits more than 1/θ.
        values, Q = eigh(S.quadratic(Y) + weights.mu2 * (C.T @ C), Y.T @ Y, check_finite=False)
        C, Y = C @ Q, Y @ Q
        slopes = self.problem.slopes(K, self.sigma, C, S(Y) - Y * values)
        scale = weights.scale_term(self.sigma)
        excess, slope = float(values.sum()) + scale, float(slopes.sum()) - 2.0 * scale
        how = factor.method, factor.condition, is_rough
        return Embedding(self.sigma, values, C, Y, basis, excess, slope, *how)

    def _angle(self, found: Embedding, C: Floats, factor: _Factor) -> float:
        """How far the span of the coordinates may be from the true one, as their residuals tell.

        The residual of the symmetric problem is R⁻ᵀ(K(S − λ)y + μ2 c), computed without P. Its part
        outside of the span, over the gap to the following eigenvalue, bounds the angle. A negligible
        residual, or in a scan the one asked for, is enough whatever the gap: without one the coordinates
        are not determined.
        """
        mu2, Y, values = self.weights.mu2, found.Y, found.eigenvalues
        moved = self._carried(self.S(Y) - Y * values) + mu2 * found.coef
        moved = factor.solve_transposed(moved)
        U = _orthonormal(dtrmm(1.0, factor.L, found.coef, lower=1, trans_a=1), np.empty((len(C), 0)))
        for _ in range(2):  # the part inside may be many times the one outside
            moved = moved - U @ (U.T @ moved)
        relative = np.linalg.norm(moved, axis=0) / np.sqrt(np.maximum(values, EPS**2))
        c, y = C[:, self.d : self.d + 1], found.basis[:, self.d : self.d + 1]
        gaps = 1.0 - values * (y**2).sum() / (
            np.trace(self.S.quadratic(y)) + mu2 * (c**2).sum() + EPS**2
        )
        enough = NEGLIGIBLE if self.residual <= RESIDUAL else self.residual
        small = relative <= enough * math.sqrt(self.d)
        return float(np.max(np.where(small, 0.0, relative / np.maximum(gaps, EPS))))

    def _factor_of_kernel(self) -> _Factor | None:
        """R with R'R = K; None where K is too stiff, or the problem too small, for it to pay."""
        problem, weights, K = self.problem, self.weights, self.K
        fits = len(K) >= LEAST_ROWS and weights.mu1 > 0 and self.d < len(self.S.sizes)
        if not fits or self.sigma >= problem.stiff_from:
            return None
        np.copyto(problem.scratch, K)
        norm = float(K.sum(axis=0).max())
        factor = _cholesky_in_place(problem.scratch, "kernel", norm)
        condition = math.inf if factor is None else factor.condition
        stiffness = weights.mu2 * (condition / norm) ** 2 / (weights.mu1 * self.S.sizes.min())
        if condition <= LARGEST_KERNEL_CONDITION and stiffness <= STIFFEST:
            return factor
        problem.stiff_from = self.sigma / (2 if stiffness > HOPELESS * STIFFEST else 1)
        return None

    def _from_indicators(self, factor: _Factor) -> Floats | None:
        """C of the smallest eigenpairs of A = S + μ2 K⁻² and some more; None after too many steps.

        What is left to gain of λ_k is about r'r/(μ1 n_c) or less, r the residual of its Ritz vector.
        """
        S, d, mass = self.S, self.d, self.S.mu1 * self.S.sizes[self.S.codes][:, np.newaxis]
        energy = max(self.residual, ENERGY) ** 2
        fresh = S.indicators.toarray() / np.sqrt(S.sizes)
        if self.start is not None:  # what the indicators lack at a σ nearby: saves several steps
            fresh = np.hstack([fresh, _orthonormal(S.centred(self.start[:, :d]), fresh)])
        V, C, AV = (np.empty((len(S.codes), 0)) for _ in range(3))
        for _ in range(MOST_STEPS):
            C_fresh = factor.solve_both(fresh)
            V, C = np.hstack([V, fresh]), np.hstack([C, C_fresh])
            AV = np.hstack([AV, S(fresh) + self.weights.mu2 * factor.solve_both(C_fresh)])
            values, Q = eigh(V.T @ AV, check_finite=False)
            step = S.centred(AV @ Q[:, :d] - (V @ Q[:, :d]) * values[:d]) / mass
            if np.all((mass * step**2).sum(axis=0) <= energy * values[:d]):
                return np.asarray(C @ Q[:, : d + GUARD])
            fresh = _orthonormal(step, V)
        return None


def _cholesky_in_place(A: Floats, method: str, norm: float) -> _Factor | None:
    """The factor of a matrix of which the upper half is given, in its place; None if it has none."""
    # An upper half stored by rows is the lower half stored by columns that LAPACK takes as it is.
    L, failed = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
    return None if failed else _Factor(L, method, norm)


def _orthonormal(A: Floats, against: Floats) -> Floats:
    """An orthonormal basis of the columns of A, orthogonal to the columns of another one."""
    # Twice is enough: one pass of Gram-Schmidt loses orthogonality where A nearly lies in the space.
    for _ in range(2 if against.shape[1] else 1):
        A = A - against @ (against.T @ A)
        A = np.asarray(qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])
    return A
