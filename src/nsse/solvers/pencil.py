"""The embedding for one σ: Eq. (12), as a pencil instead of an inverse.

Departs from the paper: it takes the smallest eigenvectors of A = L_w − μ1 L_b + μ2 Ψ⁻². With Y = KC,
K = Ψ, the same problem reads

    minimise tr(C'PC)  s.t.  C'BC = I,   B = K'K,   P = K'SK + μ2 I,

and no kernel matrix is inverted. Eigenvalues here are those of S + μ2 Ψ⁻², that is λ(A) + μ1 N; their
sum plus μ3/σ² is the *excess* objective. See ``docs/derivation.md``, sections 1 and 2; section 9 for
class means that are normalised in place of the samples: B = K'MK with M = GG' in place of I.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from nsse._errors import rule_message
from nsse._threads import in_parallel, one_blas_thread
from nsse.kernels import gaussian_log_derivative
from nsse.solvers.constraint import HeldKernel
from nsse.solvers.factors import Factor, factorize, stacked_qr
from nsse.solvers.krylov import GUARD, Pairs, leading_pairs, orthonormal
from nsse.solvers.problem import Problem
from nsse.solvers.sample_space import sample_space_pairs

Floats = NDArray[np.float64]

# Residual of the eigenpairs, relative to each eigenvalue. The objective is accurate to its square.
RESIDUAL = 1e-9
# Eigensolvers that stop at a residual.
ITERATED = ("block Krylov", "class indicators")
# Rows of dK held at a time.
ROWS = 256
# Share of a coordinate that may be rounding noise.
LARGEST_NOISE = 1e-2
# Angle between the coordinates found by Cholesky and the true ones, as far as their residual tells.
LARGEST_ANGLE = 1e-4


class RankError(ValueError):
    """The kernel matrix has fewer independent columns than the embedding coordinates."""

    def __init__(self, rank: int, n_components: int) -> None:
        self.rank = rank
        super().__init__(
            rule_message(
                "n_components",
                "not exceed the number of distinct samples (the rank of the kernel)",
                n_components,
                f"Only {rank} independent coordinates exist here. Lower `n_components` or `sigma`.",
            )
        )


@dataclass(frozen=True)
class Solution:
    """The minimiser of Eq. (12) at one σ.

    The ``embedding`` is that of the rows, times √w where they stand for more samples than they are.
    ``slope`` is d excess / d log σ at this σ, ``basis`` spans the embedding and some guard vectors
    (the start for the next σ), ``condition`` estimates cond(P). Of one that `is_rough` the eigenpairs
    were iterated for to fewer digits than usual.
    """

    sigma: float
    eigenvalues: Floats
    coef: Floats
    embedding: Floats
    basis: Floats
    excess: float
    slope: float
    condition: float
    factorization: str
    eigensolver: str
    is_rough: bool = False


def solve_pencil(
    problem: Problem, sigma: float, start: Floats | None = None, residual: float = RESIDUAL
) -> Solution:
    """Embed at one σ; ``start`` is the ``basis`` of a solution at a nearby σ.

    ``residual`` is that of the eigenpairs, relative to each eigenvalue, as far as they are iterated for.
    A larger one takes less time and leaves Y'Y = I as it is; its g is that of an embedding a little
    worse than the best one.
    """
    objective = problem.objective
    with one_blas_thread():
        kernel = problem.kernel(sigma)
        found, factor = _solved(problem, kernel, sigma, start, residual)
    if found.rank < objective.n_components:
        raise RankError(found.rank, objective.n_components)
    scale_term = objective.scale_term(sigma)
    return Solution(
        sigma=sigma,
        eigenvalues=found.eigenvalues,
        coef=found.C,
        embedding=found.Y,
        basis=found.basis,
        excess=float(found.eigenvalues.sum()) + scale_term,
        slope=float(found.slopes.sum()) - 2.0 * scale_term,
        condition=factor.condition,
        factorization=factor.method,
        eigensolver=found.eigensolver,
        is_rough=residual > RESIDUAL and found.eigensolver in ITERATED,
    )


def _solved(
    problem: Problem, kernel: HeldKernel, sigma: float, start: Floats | None, residual: float
) -> tuple[Coordinates, Factor]:
    """Coordinates with a factor of K itself where that is well-conditioned, else with one of P."""
    known = sample_space_pairs(problem, kernel, sigma, residual, start)
    if known is not None:
        return of_pairs(problem, kernel, known[0], sigma), known[1]
    factor = factorize(kernel, problem.graph, problem.objective.mu2, problem.gram_arrays())
    return trusted_coordinates(problem, kernel, factor, sigma, start, residual=residual)


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of an embedding at one σ that are more than rounding noise.

    ``eigenvalues`` ascend; ``slopes`` are dλ/d log σ; the first columns of ``C`` and ``Y`` = KC are
    the solution for any smaller number of components. There may be fewer than asked for: ``rank``.
    ``moved`` is SY − MYΛ, ``following`` the next eigenvalue, infinite where there is none.
    """

    eigenvalues: Floats
    slopes: Floats
    C: Floats
    Y: Floats
    moved: Floats
    basis: Floats
    eigensolver: str
    following: float

    @property
    def rank(self) -> int:
        """How many there are."""
        return len(self.eigenvalues)


def trusted_coordinates(
    problem: Problem,
    kernel: HeldKernel,
    factor: Factor,
    sigma: float,
    start: Floats | None,
    residual: float = RESIDUAL,
) -> tuple[Coordinates, Factor]:
    """Coordinates by Cholesky if their residuals are small, else by QR; with the factor used."""
    found = coordinates(problem, kernel, factor, sigma, start, residual)
    if (
        factor.method == "qr"
        or found.rank == 0
        or _angle(problem, kernel, factor, found, residual) <= LARGEST_ANGLE
    ):
        return found, factor
    factor = stacked_qr(kernel.K, problem.graph, problem.objective.mu2)
    return coordinates(problem, kernel, factor, sigma, start, residual), factor


def coordinates(
    problem: Problem,
    kernel: HeldKernel,
    factor: Factor,
    sigma: float,
    start: Floats | None,
    residual: float = RESIDUAL,
) -> Coordinates:
    """Up to d leading coordinates from the kernel matrix and the factor of P."""
    wanted = problem.objective.n_components
    first = class_start(problem) if start is None else start
    pairs = leading_pairs(problem.constraint(kernel), factor, wanted, first, residual)
    return of_pairs(problem, kernel, pairs, sigma)


def of_pairs(problem: Problem, kernel: HeldKernel, pairs: Pairs, sigma: float) -> Coordinates:
    """The same from the pairs: what is more than noise, its eigenvalues and their slopes."""
    wanted = problem.objective.n_components
    d = _rank(pairs, problem.frame(pairs.Y[:, :wanted]), kernel.K)
    eigenvalues, C, Y = _rayleigh_ritz(problem, pairs.C[:, :d], pairs.Y[:, :d])
    moved = problem.graph.apply(Y) - problem.constrained(Y) * eigenvalues
    slopes = _slopes(problem, kernel.K, sigma, C, moved)
    following = _quotient(problem, pairs.C[:, d : d + 1], pairs.Y[:, d : d + 1])
    return Coordinates(eigenvalues, slopes, C, Y, moved, pairs.Y, pairs.method, following)


def class_start(problem: Problem) -> Floats:
    """Class indicators, which S does not see, and fixed pseudo-random guard vectors."""
    graph = problem.graph
    indicators = graph.indicators[:, : graph.n_classes - 1]
    n_guard = max(problem.objective.n_components - indicators.shape[1], 0) + GUARD
    guard = np.random.default_rng(0).standard_normal((graph.n_rows, n_guard))
    return np.hstack([indicators, guard])


def _rank(pairs: Pairs, frame: Floats, K: Floats) -> int:
    """How many of the coordinates with this frame, the first ones, are more than rounding noise.

    y = Kc carries an error of about ε‖K‖‖c‖. Where K has no d independent columns, the last
    coordinates need coefficients so large that this error is all they consist of.
    """
    C = pairs.C[:, : frame.shape[1]]
    noise = np.finfo(float).eps * K.sum(axis=0).max() * np.linalg.norm(C, axis=0)
    clean = noise < LARGEST_NOISE * np.linalg.norm(frame, axis=0)
    return int(np.argmin(clean)) if not clean.all() else len(clean)


def _rayleigh_ritz(problem: Problem, C: Floats, Y: Floats) -> tuple[Floats, Floats, Floats]:
    """Eigenvalues from the terms of the objective themselves, and Y'MY = I to rounding.

    C'PC = Y'SY + μ2 C'C is computed without P: in ill-conditioned problems this has several digits
    more than 1/θ.
    """
    frame = problem.frame(Y)
    size = np.linalg.norm(frame, axis=0)
    C, Y, frame = C / size, Y / size, frame / size
    reduced = problem.graph.quadratic(Y) + problem.objective.mu2 * (C.T @ C)
    eigenvalues, Q = eigh((reduced + reduced.T) / 2, frame.T @ frame, check_finite=False)
    return eigenvalues, C @ Q, Y @ Q


def _quotient(problem: Problem, C: Floats, Y: Floats) -> float:
    """The eigenvalue of one more coordinate; infinite where there is none."""
    frame = problem.frame(Y)
    size = float(np.vdot(frame, frame))
    if size == 0.0:
        return np.inf
    return float(np.trace(problem.graph.quadratic(Y)) + problem.objective.mu2 * np.vdot(C, C)) / size


def _angle(
    problem: Problem, kernel: HeldKernel, factor: Factor, found: Coordinates, asked: float
) -> float:
    """How far the span of the coordinates may be from the true one, as their residuals tell.

    In u = Rc the pencil is the symmetric problem Mu = θu, and its residual is R⁻ᵀ times that of c,
    (P − λB)c = K(S − λM)y + μ2 c, computed without P. Only its part outside of the span counts; inside,
    Rayleigh and Ritz have the last word. Divided by the gap to the following eigenvalue it bounds the
    angle. A residual as small as the eigensolver is ``asked`` for is enough, whatever the gap: where
    there is none, the coordinates are not determined.
    """
    moved = factor.solve_transposed(kernel.pulled(found.moved) + problem.objective.mu2 * found.C)
    angle = _bound(moved, found, asked)
    if angle <= LARGEST_ANGLE:  # mostly: with the part inside, which only adds to it
        return angle
    U = orthonormal(factor.times(found.C), np.empty((kernel.n_centers, 0)))
    for _ in range(2):  # the part inside may be many times the one outside
        moved = moved - U @ (U.T @ moved)
    return _bound(moved, found, asked)


def _bound(residuals: Floats, found: Coordinates, asked: float) -> float:
    """Of the angle, from the residuals of the symmetric problem."""
    tiny = np.finfo(float).tiny
    relative = np.linalg.norm(residuals, axis=0) / np.sqrt(np.maximum(found.eigenvalues, tiny))
    asked *= np.sqrt(found.rank)  # of the columns before Rayleigh and Ritz mixed them
    gaps = np.maximum(1.0 - found.eigenvalues / found.following, np.finfo(float).eps)
    return float(np.max(np.where(relative <= asked, 0.0, relative / gaps), initial=0.0))


def _slopes(problem: Problem, K: Floats, sigma: float, C: Floats, moved: Floats) -> Floats:
    """d/d log σ of every λ_k; ``moved`` is (S − λM)y.

    For c'Bc = 1, dλ = c'(dP − λ dB)c = 2 z'Sy − 2λ z'My with z = dK c: first-order perturbation theory.
    """
    Z = np.empty_like(moved)

    def fill(start: int) -> None:
        rows = slice(start, start + ROWS)
        Z[rows] = gaussian_log_derivative(K[rows], problem.D2[rows], sigma) @ C

    in_parallel(fill, range(0, len(K), ROWS), K.size)  # dK itself is never held
    return 2.0 * np.einsum("ij,ij->j", Z, moved)
