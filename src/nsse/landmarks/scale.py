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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import one_blas_thread
from nsse.graphs import ShiftedGraph
from nsse.kernels import KernelRows
from nsse.landmarks.centers import stratified
from nsse.landmarks.neighborhoods import Neighbors, within_class_laplacians
from nsse.solvers import Objective, Problem, Solution, solve_pencil
from nsse.solvers.extrapolation import bottoms, seen_from_afar
from nsse.solvers.survey import Bounds
from nsse.solvers.valleys import Valley

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Rows from which the unit of length, the median distance, is taken.
UNIT_ROWS = 2000
# Rows and centres of the subsample. The minimum is flat: a σ some per cent off costs next to nothing.
ROWS = 4000
CENTERS = (300, 1000)
# Rows of the thinner one, and how many times fewer kernel values it must have to be worth its while.
THIN_ROWS = 1000
THINNER = 3


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
    codes: Ints,
    centers: Ints | None,
    n_centers: int,
    least: int,
    rng: np.random.Generator,
    most_rows: int = ROWS,
) -> Subsample:
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
class MeasuredRows:
    """Rows, sorted by class, that stand for classes of some ``sizes``, and their distances to centres.

    ``points`` are the rows in units of length. All in double precision.
    """

    D2: Floats
    codes: Ints
    sizes: Floats
    points: Any
    counts: Floats | None = None

    @classmethod
    def of(
        cls, rows: Any, codes: Ints, kernel: KernelRows, sizes: Floats, counts: Floats | None = None
    ) -> MeasuredRows:
        """Sort and measure; ``counts`` are how many times the rows count, beside each other."""
        order = np.argsort(codes, kind="stable")
        points = kernel.measured(rows[order])
        with one_blas_thread():
            own = None if counts is None else counts[order]
            return cls(kernel.squared_distances(points), codes[order], sizes, points, own)

    def graph(self, neighbors: Neighbors, mu1: float, centring: float) -> ShiftedGraph:
        """S of the rows."""
        with one_blas_thread():
            laplacians = within_class_laplacians(self.points, self.codes, neighbors, self.counts)
        return ShiftedGraph.from_blocks(laplacians, self.codes, mu1, self.sizes, centring, self.counts)


def pose_sample(
    rows: Any,
    codes: Ints,
    centers: Any,
    sizes: Floats,
    objective: Objective,
    neighbors: Neighbors,
    unit: float,
    counts: Floats | None = None,
) -> Problem:
    """The problem of all samples, seen through some rows and some centres."""
    measured = MeasuredRows.of(rows, codes, KernelRows.at(centers, unit, np.float64), sizes, counts)
    centring = objective.centring(sizes.sum(), len(sizes))
    graph = measured.graph(neighbors, objective.mu1, centring)
    return Problem(measured.D2, graph, objective, is_exact=False)


@dataclass(frozen=True)
class Thinner:
    """A smaller problem of the same kind, whose valleys are where those of the larger one begin."""

    problem: Problem

    def starts(self, bounds: Bounds, max_iter: int) -> tuple[list[Valley[Any]], Bounds]:
        """The bottoms of its valleys, and how far σ can go there."""
        scanned, reach = seen_from_afar(self._evaluate, self.problem.objective.scale_term, bounds)
        return bottoms(self._evaluate, scanned, reach, max_iter), reach

    def _evaluate(self, log_sigma: float, basis: Any) -> Solution:
        return solve_pencil(self.problem, float(np.exp(log_sigma)), basis)
