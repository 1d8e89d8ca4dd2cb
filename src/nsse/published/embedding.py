"""The embedding for one σ: Eq. (12) without an inverse.

Departs from the paper: it takes the smallest eigenvectors of A = L_w − μ1 L_b + μ2 K⁻². With Y = KC the
same problem reads

    minimise tr(C'PC)  s.t.  C'K²C = I,   P = KSK + μ2 I = R'R,

and in U = RC it is the largest eigenpairs θ of R⁻ᵀK²R⁻¹, λ = 1/θ. After M − 1 of them there is a gap of
about 10⁶, and S vanishes on the centred class indicators: a block Krylov space from there converges in
two or three blocks. Where there is no gap (d ≥ M), or no room for blocks, all eigenpairs are computed.

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
from nsse.graphs import ShiftedGraph
from nsse.published.objective import Problem

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
# Residual of the eigenpairs, relative to each eigenvalue, and of those of a scan: g to about six digits.
RESIDUAL, ROUGHLY = 1e-9, 1e-3
# Vectors beyond those wanted: they carry the convergence of the last wanted one.
GUARD = 4
# Blocks of a Krylov space, at most and at least; with fewer than so many rows per column of the least,
# for all digits and for few, all eigenpairs take less time.
MOST_BLOCKS, ROWS_PER_COLUMN, ROWS_PER_ROUGH_COLUMN = 12, 10, 5
# Columns of K S K formed at a time.
COLUMNS = 128
# Share of a coordinate that may be rounding.
LARGEST_NOISE = 1e-2
# cond(P) up to which Cholesky needs no check; cond(P) beyond which Cholesky leaves less than about four digits; and how far, in radians, the
# coordinates that it gives may be from the true ones.
HARMLESS, LARGEST_CONDITION, LARGEST_ANGLE = 1e9, 1e13, 1e-4
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
        K = problem.kernel(sigma)
        found = _by_kernel(problem, K, sigma, start, residual)
        return _by_pencil(problem, K, sigma, start, residual) if found is None else found


@dataclass(frozen=True)
class _Factor:
    """Upper triangular R with R'R = P, or K."""

    R: NDArray[Any]
    method: str
    condition: float

    def solve(self, A: Floats) -> Floats:
        """R⁻¹A."""
        return np.asarray(dtrsm(1.0, self.R, A))

    def solve_transposed(self, A: Floats) -> Floats:
        """R⁻ᵀA."""
        return np.asarray(dtrsm(1.0, self.R, A, trans_a=1))


def _by_pencil(
    problem: Problem, K: Floats, sigma: float, start: Floats | None, residual: float
) -> Embedding:
    """By a factor of P: Cholesky if that gives coordinates with small residuals, else QR."""
    start = _class_start(problem) if start is None else start
    d = problem.weights.n_components
    factor = _cholesky(problem, K)
    if factor is not None and factor.condition <= LARGEST_CONDITION:
        C, iterated = _leading(K, factor, d, start, residual)
        found = _finished(problem, K, sigma, C, factor, iterated and residual > RESIDUAL)
        if (
            factor.condition <= HARMLESS
            or _angle(problem, K, factor, found, C[:, d : d + 1], residual) <= LARGEST_ANGLE
        ):
            return found
    factor = _stacked_qr(problem, K)
    C, iterated = _leading(K, factor, d, start, residual)
    return _finished(problem, K, sigma, C, factor, iterated and residual > RESIDUAL)


def _class_start(problem: Problem) -> Floats:
    """Class indicators, on which S nearly vanishes, and fixed pseudo-random guard vectors."""
    indicators = problem.S.indicators.toarray()[:, :-1]
    n_guard = max(problem.weights.n_components - indicators.shape[1], 0) + GUARD
    guard = np.random.default_rng(0).standard_normal((len(problem.codes), n_guard))
    return np.hstack([indicators, guard])


def _cholesky(problem: Problem, K: Floats) -> _Factor | None:
    """R with R'R = P = KSK + μ2 I, in the place of P; None if rounding made P indefinite."""
    P, S = problem.scratch, problem.S

    def fill(start: int) -> None:
        columns = slice(start, start + COLUMNS)
        # On and below the diagonal: the other half is its mirror image, and never read.
        np.matmul(K[start:], S(K[:, columns]), out=P[start:, columns])

    in_parallel(fill, range(0, len(P), COLUMNS), P.size)
    P[np.diag_indices(len(P))] += problem.weights.mu2
    norm = float(np.trace(P))  # bounds the norm of P, and is near it: one direction dominates
    # The lower half stored by rows is the upper half stored by columns that LAPACK takes as it is.
    R, failed = lapack.dpotrf(P.T, lower=0, clean=0, overwrite_a=1)
    return None if failed else _Factor(R, "cholesky", _condition(R, norm))


def _condition(R: NDArray[Any], norm: float) -> float:
    """Estimate of the condition number of R'R, which has this norm."""
    return 1.0 / max(float(lapack.dpocon(R, norm, uplo="U")[0]), EPS**2)


def _stacked_qr(problem: Problem, K: Floats) -> _Factor:
    """R of [F'K; √μ2 I]."""
    N = len(K)
    stacked = np.vstack([problem.S.root_times(K), math.sqrt(problem.weights.mu2) * np.eye(N)])
    (R,) = qr(stacked, mode="r", overwrite_a=True, check_finite=False)
    R = np.asfortranarray(R[:N])
    return _Factor(R, "qr", _condition(R, float((R**2).sum())))


def _leading(
    K: Floats, factor: _Factor, n_wanted: int, start: Floats, tol: float
) -> tuple[Floats, bool]:
    """Coefficients C = R⁻¹U of the leading eigenpairs and some more; whether they were iterated for."""
    per_column = ROWS_PER_ROUGH_COLUMN if tol >= ROUGHLY else ROWS_PER_COLUMN
    if len(K) >= per_column * start.shape[1]:
        C = _block_krylov(K, factor, n_wanted, start, tol)
        if C is not None:
            return C, True
    n_pairs = min(len(K), n_wanted + GUARD)
    G = factor.solve_transposed(K.T)  # R⁻ᵀK; K is symmetric, and its transpose stored by columns
    if factor.method == "qr":  # GG' would square what QR did not
        U = svd(G, full_matrices=False, check_finite=False)[0][:, :n_pairs]
    else:
        M = dsyrk(1.0, G, lower=1)
        last = (len(K) - n_pairs, len(K) - 1)
        U = eigh(M, overwrite_a=True, check_finite=False, subset_by_index=last)[1][:, ::-1]
    return factor.solve(U), False


def _block_krylov(K: Floats, factor: _Factor, n_wanted: int, start: Floats, tol: float) -> Floats | None:
    """The same from the space of the blocks (R⁻ᵀK²R⁻¹)^j R⁻ᵀK start; None where it does not converge."""
    N, width = start.shape
    most = min(MOST_BLOCKS, N // (2 * width))
    U, C, Y, V = (np.empty((N, most * width), order="F") for _ in range(4))
    fresh = factor.solve_transposed(K @ start)
    for done in range(0, most * width, width):
        block, upto = slice(done, done + width), slice(0, done + width)
        U[:, block] = _orthonormal(fresh, U[:, :done])
        C[:, block] = factor.solve(U[:, block])
        Y[:, block] = K @ C[:, block]
        V[:, block] = fresh = factor.solve_transposed(K @ Y[:, block])
        theta, Q = eigh(Y[:, upto].T @ Y[:, upto], check_finite=False, driver="evd")
        theta, Q = theta[: -width - 1 : -1], Q[:, : -width - 1 : -1]
        wanted, values = Q[:, :n_wanted], theta[:n_wanted]
        residual = V[:, upto] @ wanted - (U[:, upto] @ wanted) * values
        if np.all(np.linalg.norm(residual, axis=0) <= tol * values):
            return C[:, upto] @ Q
    return None


def _orthonormal(A: Floats, against: Floats) -> Floats:
    """An orthonormal basis of the columns of A, orthogonal to the columns of another one."""
    # Twice is enough: one pass of Gram-Schmidt loses orthogonality where A nearly lies in the space.
    for _ in range(2):
        A = A - against @ (against.T @ A)
        A = np.asarray(qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])
        if against.shape[1] == 0:
            break
    return A


def _finished(
    problem: Problem, K: Floats, sigma: float, C: Floats, factor: _Factor, is_rough: bool
) -> Embedding:
    """The embedding in the span of KC: Rayleigh and Ritz have the last word on λ and Y'Y = I."""
    d, weights, basis = problem.weights.n_components, problem.weights, K @ C
    C, Y = C[:, :d], basis[:, :d]
    # y = Kc carries an error of about ε‖K‖‖c‖. Where K has no d independent columns, the last
    # coordinates need coefficients so large that they consist of nothing else.
    noise = EPS * K.sum(axis=0).max() * np.linalg.norm(C, axis=0)
    clean = noise < LARGEST_NOISE * np.linalg.norm(Y, axis=0)
    if not clean.all():
        raise RankError(int(np.argmin(clean)), d)
    size = np.linalg.norm(Y, axis=0)
    C, Y = C / size, Y / size
    # C'PC = Y'SY + μ2 C'C from its terms, which has several digits more than 1/θ.
    values, Q = eigh(problem.S.quadratic(Y) + weights.mu2 * (C.T @ C), Y.T @ Y, check_finite=False)
    C, Y = C @ Q, Y @ Q
    slopes = problem.slopes(K, sigma, C, problem.S(Y) - Y * values)
    scale = weights.scale_term(sigma)
    excess, slope = float(values.sum()) + scale, float(slopes.sum()) - 2.0 * scale
    how = factor.method, factor.condition, is_rough
    return Embedding(sigma, values, C, Y, basis, excess, slope, *how)


def _angle(
    problem: Problem, K: Floats, factor: _Factor, found: Embedding, guard: Floats, tol: float
) -> float:
    """How far the span of the coordinates may be from the true one, as their residuals tell.

    The residual of the symmetric problem is R⁻ᵀ(K(S − λ)y + μ2 c), computed without P. Its part outside
    of the span, over the gap to the following eigenvalue, bounds the angle. A residual as small as the
    one asked for is enough, whatever the gap: where there is none, the coordinates are not determined.
    """
    mu2, C, Y, values = problem.weights.mu2, found.coef, found.Y, found.eigenvalues
    moved = factor.solve_transposed(K @ (problem.S(Y) - Y * values) + mu2 * C)
    U = _orthonormal(dtrmm(1.0, factor.R, C), np.empty((len(K), 0)))
    for _ in range(2):  # the part inside may be many times the one outside
        moved = moved - U @ (U.T @ moved)
    relative = np.linalg.norm(moved, axis=0) / np.sqrt(np.maximum(values, EPS**2))
    gaps = np.full_like(values, 1.0)
    if guard.size:
        after = K @ guard
        rise = float(problem.S.quadratic(after)[0, 0] + mu2 * np.vdot(guard, guard)) / np.vdot(
            after, after
        )
        gaps = np.maximum(1.0 - values / rise, EPS)
    small = relative <= tol * math.sqrt(len(values))
    return float(np.max(np.where(small, 0.0, relative / gaps)))


def _by_kernel(
    problem: Problem, K: Floats, sigma: float, start: Floats | None, residual: float
) -> Embedding | None:
    """By a factor of K, in the space of Y; None where K is too stiff, or the problem too small."""
    weights, S = problem.weights, problem.S
    wanted = len(K) >= LEAST_ROWS and weights.mu1 > 0 and weights.n_components < len(S.sizes)
    if not wanted or sigma >= problem.stiff_from:
        return None
    np.copyto(problem.scratch, K)
    R, failed = lapack.dpotrf(problem.scratch.T, lower=0, clean=0, overwrite_a=1)
    norm = float(K.sum(axis=0).max())
    condition = math.inf if failed else _condition(R, norm)
    stiffness = weights.mu2 * (condition / norm) ** 2 / (weights.mu1 * S.sizes.min())
    if condition > LARGEST_KERNEL_CONDITION or stiffness > STIFFEST:
        problem.stiff_from = sigma / 2 if stiffness > HOPELESS * STIFFEST else sigma
        return None
    factor = _Factor(R, "kernel", condition)
    C = _from_indicators(S, factor, weights.mu2, weights.n_components, max(residual, ENERGY), start)
    return None if C is None else _finished(problem, K, sigma, C, factor, residual > RESIDUAL)


def _from_indicators(
    S: ShiftedGraph, factor: _Factor, mu2: float, d: int, energy: float, start: Floats | None
) -> Floats | None:
    """C of the smallest eigenpairs of A = S + μ2 K⁻² and some more; None where it takes too many steps.

    What is left to gain of λ_k is about r'r/(μ1 n_c) or less, r being the residual of its Ritz vector.
    """
    mass = S.mu1 * S.sizes[S.codes][:, np.newaxis]
    fresh = S.indicators.toarray() / np.sqrt(S.sizes)
    if start is not None:  # what the indicators lack at a σ nearby: saves several steps
        fresh = np.hstack([fresh, _orthonormal(S.centred(start[:, :d]), fresh)])
    V, C, SV, AV = (np.empty((len(S.codes), 0)) for _ in range(4))
    for _ in range(MOST_STEPS):
        C_fresh = factor.solve(factor.solve_transposed(fresh))
        S_fresh = S(fresh)
        A_fresh = S_fresh + mu2 * factor.solve(factor.solve_transposed(C_fresh))
        V, C, SV, AV = (
            np.hstack(pair) for pair in ((V, fresh), (C, C_fresh), (SV, S_fresh), (AV, A_fresh))
        )
        H = V.T @ SV + mu2 * (C.T @ C)
        values, Q = eigh((H + H.T) / 2, check_finite=False)
        step = S.centred(AV @ Q[:, :d] - (V @ Q[:, :d]) * values[:d]) / mass
        if np.all((mass * step**2).sum(axis=0) <= energy**2 * values[:d]):
            return np.asarray(C @ Q[:, : d + GUARD])
        fresh = _orthonormal(step, V)
    return None
