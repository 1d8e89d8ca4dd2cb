"""The kernel scale of a model with centres, found on a subsample that stands for all samples.

The objective with m centres has the same form as the exact one, g(σ) = Σ λ_k(σ) + μ3/σ², but another
minimum: classes of N > m samples cannot collapse, and the μ1 term takes over. The subsample must
therefore pose the problem of *all* samples with *centres*, in small:

- every row of class c stands for n_c/(rows of c) samples, in B, in P and in n_c itself;
- some of the centres, but the same share of the rows are centres themselves as in the whole: a sample
  that is its own centre is fitted too well, and too large or too small a share of them moves σ.

Without loss where the subsample is everything, which small problems are. The valleys of g are looked for
on a thinner subsample of the same kind, and their bottoms on the subsample itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import one_blas_thread
from nsse.kernels import KernelRows
from nsse.landmarks.centers import stratified
from nsse.landmarks.neighborhoods import Laplacian
from nsse.landmarks.weighted import RowProducts, WeightedRows, solve_rows
from nsse.solvers.descent import DescentEnd, descend
from nsse.solvers.gram_pencil import IndefiniteError
from nsse.solvers.joint import (
    FAR_ABOVE,
    NEARLY_AS_DEEP_EXTRAPOLATED,
    SUBSAMPLE_TOL,
    closest_look,
    from_guesses,
)
from nsse.solvers.pencil import RankError
from nsse.solvers.survey import Bounds, Look, deepest, log_grid, refine, scan
from nsse.solvers.valleys import Valley, valleys

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Rows and centres of the subsample. The minimum is flat: a σ some per cent off costs next to nothing.
ROWS = 4000
CENTERS = (300, 1000)
# Rows of the thinner one, and how many times fewer kernel values it must have to be worth its while.
THIN_ROWS = 1000
THINNER = 3


@dataclass(frozen=True)
class Objective:
    """The weights of Eq. (11) and the number of components."""

    mu1: float
    mu2: float
    mu3: float
    n_components: int
    n_neighbors: int | None
    beta: float | None

    def scale_term(self, sigma: float) -> float:
        """μ3/σ²."""
        return self.mu3 / sigma**2


@dataclass(frozen=True)
class Subsample:
    """Rows and centres by their index; the rows ascend. See `draw_subsample`."""

    rows: Ints
    centers: Ints
    is_everything: bool

    @property
    def size(self) -> int:
        """Of its kernel matrix."""
        return len(self.rows) * len(self.centers)


def draw_subsample(
    codes: Ints, centers: Ints | None, n_centers: int, least: int, rng: np.random.Generator,
    most_rows: int = ROWS,
) -> Subsample:  # fmt: skip
    """Draw rows among all samples and some of the centres, in the proportions said above.

    ``centers`` are indices into the samples, None where the centres are no samples; ``least`` is how
    many centres there must be. The result's ``centers`` index the centres.
    """
    N = len(codes)
    n_rows = min(N, most_rows)
    wanted = few_centers(n_centers, n_rows, N, least)
    some = np.arange(n_centers)
    if wanted < n_centers:
        some = np.sort(rng.choice(n_centers, wanted, replace=False))
    if n_rows == N:
        return Subsample(np.arange(N), some.astype(np.intp), len(some) == n_centers)
    if centers is None:
        return Subsample(stratified(codes, n_rows, rng), some.astype(np.intp), False)
    n_own = min(len(some), round(n_rows * n_centers / N))
    own = centers[rng.choice(some, n_own, replace=False)]
    others = np.setdiff1d(np.arange(N), centers)
    if len(others):
        others = others[_stratified_among(codes[others], n_rows - n_own, rng)]
    rows = _with_every_class(codes, np.union1d(own, others))
    return Subsample(rows.astype(np.intp), some.astype(np.intp), False)


def few_centers(n_centers: int, n_rows: int, n_samples: int, least: int) -> int:
    """How many centres for so many rows: their share of the whole, within limits."""
    few, many = max(CENTERS[0], least), max(CENTERS[1], least)
    return int(np.clip(round(n_centers * n_rows / n_samples), few, many))


def _with_every_class(codes: Ints, rows: Ints) -> Ints:
    """The rows and, of a class that is not among them (all of it are centres), its first two."""
    missing = np.setdiff1d(np.unique(codes), codes[rows])
    more = [np.flatnonzero(codes == c)[:2] for c in missing]
    return np.sort(np.concatenate([rows, *more]))


def _stratified_among(codes: Ints, n_rows: int, rng: np.random.Generator) -> Ints:
    """`stratified` where a class may be missing."""
    _, present = np.unique(codes, return_inverse=True)
    return stratified(present.astype(np.intp), n_rows, rng)


@dataclass(frozen=True)
class Evaluation:
    """One σ on the subsample: g, its slope d g/d log σ, and the solution."""

    sigma: float
    excess: float
    slope: float
    eigenvalues: Floats
    coef: Floats
    embedding: Floats
    within: float
    condition: float
    eigensolver: str
    basis: None = None  # every σ starts from the class sums


@dataclass(frozen=True)
class SampledProblem:
    """The problem of all samples, seen through weighted rows and some centres, in double precision."""

    rows: WeightedRows
    L: Laplacian
    objective: Objective

    @classmethod
    def of(
        cls, rows: Any, codes: Ints, centers: Any, counts: Floats, objective: Objective, unit: float
    ) -> SampledProblem:
        """Measure rows against centres."""
        kernel = KernelRows.at(centers, unit, np.float64)
        weighted, measured = WeightedRows.of(rows, codes, kernel, counts)
        L = weighted.laplacian(measured, objective.n_neighbors, objective.beta)
        return cls(weighted, L, objective)

    def evaluate(self, log_sigma: float) -> Evaluation:
        """Solve at one σ."""
        with one_blas_thread():
            return self._evaluate(float(np.exp(log_sigma)))

    def _evaluate(self, sigma: float) -> Evaluation:
        o, rows = self.objective, self.rows
        K = rows.kernel(sigma)
        products = RowProducts.of(rows, K)
        P = products.spread("P", o.mu1, self.L)
        found, within, slopes = solve_rows(products, self.L, P, sigma, o.mu1, o.mu2, o.n_components)
        slope = float(slopes.sum()) - 2.0 * o.scale_term(sigma)
        excess = float(found.eigenvalues.sum()) + o.scale_term(sigma)
        return Evaluation(
            sigma=sigma, excess=excess, slope=slope, eigenvalues=found.eigenvalues, coef=found.coef,
            embedding=K @ found.coef, within=within,
            condition=found.condition, eigensolver=found.eigensolver,
        )  # fmt: skip


Evaluate = Callable[[float], Evaluation]
UNSOLVABLE = (RankError, IndefiniteError)


def find_scale(
    evaluate: Evaluate,
    bounds: Bounds,
    *,
    tol: float,
    max_iter: int,
    thinner: Evaluate | None = None,
    floor: Callable[[float], float] = lambda sigma: 0.0,
    n_rows: int | None = None,
) -> DescentEnd[Evaluation]:
    """The least g on [σ_min, σ_max]: a search for valleys, and a descent into each.

    ``thinner`` is g of a smaller problem: its valleys are where those of ``evaluate`` are begun. If g
    itself cannot be solved there, or falls to the end of what the smaller one reaches, its own valleys
    are looked for after all. ``floor`` is a lower bound of g that falls with σ (μ3/σ²), and ``n_rows``
    says how many rows there are: a problem of few is looked at more closely.
    """
    if thinner is not None:
        with suppress(*UNSOLVABLE):
            starts, reach = _starts(thinner, bounds, floor, max_iter)
            end = from_guesses(_cold(evaluate), starts, reach, tol, max_iter)
            if not end.at_bound:
                return end
    look = Look(_cold(evaluate), floor, closest_look(n_rows), UNSOLVABLE, FAR_ABOVE)
    return deepest(look, _cold(evaluate), bounds, tol, max_iter)


def _starts(
    thinner: Evaluate, bounds: Bounds, floor: Callable[[float], float], max_iter: int
) -> tuple[list[Valley[Evaluation]], Bounds]:
    """The bottoms of the valleys of a thinner problem, and how far σ can go there."""
    evaluate = _cold(thinner)
    look = Look(evaluate, lambda sigma: floor(sigma) / FAR_ABOVE, np.inf, UNSOLVABLE, FAR_ABOVE)
    scanned, reach = scan(look, log_grid(bounds))
    seen = valleys(refine(look, scanned), NEARLY_AS_DEEP_EXTRAPOLATED)
    ends = [descend(evaluate, v.known, v.first, reach, SUBSAMPLE_TOL, max_iter) for v in seen]
    return [Valley([], float(np.log(end.solution.sigma)), end.curvature) for end in ends], reach


def _cold(evaluate: Evaluate) -> Callable[[float, Any], Evaluation]:
    """Every σ starts from the class sums, not from a basis."""
    return lambda log_sigma, basis: evaluate(log_sigma)
