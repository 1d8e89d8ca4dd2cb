"""The embedding for one σ in the space of Y: A = S + μ2 K⁻², where K itself is well-conditioned.

The pencil (``pencil``) factors P = K'SK + μ2 I, whose condition number is the square of that of K and
grows with μ1/μ2. Here one Cholesky factorisation of K is all there is, and weights far apart do no harm.

S nearly vanishes on the class indicators E, and is at least μ1 n_c on what is orthogonal to them. So
the search begins with E, which gives an upper bound of every λ at once, and goes on with residuals over
μ1 n_c (Rayleigh–Ritz on all blocks so far). What is left to gain of λ_k is about r'r/(μ1 n_c) or less,
r being the residual of its Ritz vector, which has no part in E.

How fast it converges is told by the *stiffness* μ2 ‖K⁻¹‖²/(μ1 n_c): where K is nearly singular, A on the
complement is far from μ1 n_c. Then None is returned, and the pencil has to do it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack
from scipy.linalg.blas import dtrsm

from nsse.graphs import ShiftedGraph
from nsse.solvers.constraint import HeldKernel
from nsse.solvers.factors import Factor
from nsse.solvers.krylov import GUARD, Pairs, orthonormal
from nsse.solvers.problem import Problem

Floats = NDArray[np.float64]

# With fewer rows the pencil takes no longer.
LEAST_ROWS = 400
# Beyond this the steps are too many.
STIFFEST, MOST_STEPS = 60.0, 8
# Times the stiffest: at half the σ it will not do either.
HOPELESS = 1000.0
# Solutions with K must keep some digits.
LARGEST_CONDITION = 1e10
# √ of what is left to gain of an eigenvalue, relatively; finer than that K⁻¹ is not known.
ENERGY = 1e-6


def sample_space_pairs(
    problem: Problem, kernel: HeldKernel, sigma: float, residual: float, start: Floats | None = None
) -> tuple[Pairs, Factor] | None:
    """Pairs of the pencil by the iteration above, and the factor of K; None where it is no use.

    ``start`` spans Y at a nearby σ, its leading coordinates first.
    """
    if not _is_for(problem) or sigma >= problem.workspace.stiff_from:
        return None
    factor = _factor(kernel.K, problem.gram_arrays()[1])
    stiffness = np.inf if factor is None else _stiffness(factor, kernel.K, problem)
    if factor is None or stiffness > STIFFEST:
        too_large = sigma if stiffness < HOPELESS * STIFFEST else sigma / 2
        problem.workspace.stiff_from = min(problem.workspace.stiff_from, too_large)
        return None
    pairs = _iterated(problem, kernel, factor, max(residual, ENERGY), start)
    return None if pairs is None else (pairs, factor)


def _is_for(problem: Problem) -> bool:
    """Exact problems of some size with no more coordinates than classes can be told apart by."""
    graph, objective = problem.graph, problem.objective
    return (
        problem.is_exact
        and isinstance(graph, ShiftedGraph)
        and graph.n_rows >= LEAST_ROWS
        and graph.sizes is None
        and graph.mu1 > 0
        and not objective.is_of_classes
        and objective.n_components < graph.n_classes
    )


def _factor(K: Floats, place: Floats) -> Factor | None:
    """R with R'R = K, written to ``place``; None where K is not positive definite, or hardly so."""
    np.copyto(place, K)
    R, failed = lapack.dpotrf(place.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        return None
    reciprocal, _ = lapack.dpocon(R, _norm(K), uplo="U")
    if reciprocal * LARGEST_CONDITION < 1.0:
        return None
    return Factor(R, "kernel", 1.0 / reciprocal)


def _norm(K: Floats) -> float:
    """The 1-norm of a kernel matrix, which has no negative values."""
    return float(K.sum(axis=0).max())


def _stiffness(factor: Factor, K: Floats, problem: Problem) -> float:
    """μ2 ‖K⁻¹‖²/(μ1 n_c) of the smallest class."""
    smallest = float(np.bincount(problem.graph.codes).min())
    inverse = factor.condition / _norm(K)
    return problem.objective.mu2 * inverse**2 / (problem.graph.mu1 * smallest)


@dataclass
class _Space:
    """Orthonormal V, C = K⁻¹V, SV and AV, block by block."""

    V: Floats
    C: Floats
    SV: Floats
    AV: Floats

    @classmethod
    def of(cls, V: Floats, graph: ShiftedGraph, factor: Factor, mu2: float) -> _Space:
        C, SV = _solved(factor, V), graph.apply(V)
        return cls(V, C, SV, SV + mu2 * _solved(factor, C))

    def joined(self, other: _Space) -> _Space:
        pairs = ((self.V, other.V), (self.C, other.C), (self.SV, other.SV), (self.AV, other.AV))
        return _Space(*(np.hstack(pair) for pair in pairs))

    def ritz(self, mu2: float) -> tuple[Floats, Floats]:
        """Eigenvalues of V'AV, ascending, from its terms, and eigenvectors."""
        H = self.V.T @ self.SV + mu2 * (self.C.T @ self.C)
        values, Q = eigh((H + H.T) / 2, check_finite=False)
        return values, Q


def _iterated(
    problem: Problem, kernel: HeldKernel, factor: Factor, energy: float, start: Floats | None
) -> Pairs | None:
    graph, d, mu2 = problem.graph, problem.objective.n_components, problem.objective.mu2
    assert isinstance(graph, ShiftedGraph)
    sizes = np.bincount(graph.codes)
    weights = graph.mu1 * sizes[graph.codes][:, np.newaxis]
    V = np.eye(len(sizes))[graph.codes] / np.sqrt(sizes)[graph.codes, None]
    if start is not None:  # what the indicators lack at a σ nearby: saves several steps
        V = np.hstack([V, orthonormal(graph.centred(start[:, :d]), V)])
    space = _Space.of(V, graph, factor, mu2)
    for _ in range(MOST_STEPS):
        values, Q = space.ritz(mu2)
        wanted = Q[:, :d]
        step = graph.centred(space.AV @ wanted - (space.V @ wanted) * values[:d]) / weights
        if np.all((weights * step**2).sum(axis=0) <= energy**2 * values[:d]):
            C = space.C @ Q[:, : d + GUARD]
            return Pairs(1.0 / values[: d + GUARD], C, kernel.image(C), "class indicators")
        space = space.joined(_Space.of(orthonormal(step, space.V), graph, factor, mu2))
    return None


def _solved(factor: Factor, A: Floats) -> Floats:
    """K⁻¹A."""
    return dtrsm(1.0, factor.R, factor.solve_transposed(A), overwrite_b=1)
