"""What a search will cost, said in advance: its work is counted, and timed by one small eigenproblem.

Work is counted in units of one N³-th of the eigendecomposition of a large N × N matrix. What else there
is (products, values computed one by one, steps of Python) is weighed against it by constants: they hold
within a factor of two on the machines that we know, and a search ends within two or three of what is
said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from nsse._threads import one_blas_thread
from nsse.estimators._memory import NODES
from nsse.selection.quick import Round
from nsse.selection.quick_grid import QuickGrid

# Side of the matrix whose decomposition is timed, and how often: a few milliseconds each.
TIMED, TIMES = 200, 3
# Units of: a row of a matrix that is decomposed, squared; a multiplication in a product of matrices; a
# value computed alone (exp, sort, a pass over memory); a step of Python (an array made, a function).
SQUARE, PRODUCT, VALUE, STEP = 70.0, 0.2, 5.0, 1e6
# Steps of Python in a decomposition with its readers, in a split, in a fit, in a factorisation of a
# sweep, in the neighbours of a class.
STEPS_OF_A_KERNEL, STEPS_OF_A_ROUND, STEPS_OF_A_FIT, STEPS_OF_A_FACTOR = 1.5, 8.0, 25.0, 5.0
STEPS_OF_A_CLASS = 1.0
# Passes over the values: of a kernel, of distances in a metric with their median.
KERNEL_PASSES, METRIC_PASSES = 3.0, 8.0
# Cubes of products, and passes over the squares, of a fit at a given σ, and of a node of a sweep.
FIT_CUBES, FIT_PASSES = 1.2, 14.0
GRAM_CUBES, FACTOR_CUBES, NODE_PASSES = 1.0, 9.0, 10.0
# Products of a Krylov space: so often the square of its width, d and some more, with the matrix.
KRYLOV, SPARE = 7.0, 4


@dataclass(frozen=True)
class Sizes:
    """Of samples: how many train, how many are held out, features, classes, dimensions."""

    n_rows: int
    n_valid: int
    n_features: int
    n_classes: int
    n_components: int

    @property
    def n_axes(self) -> int:
        """Axes of the within-class metric, at most."""
        return min(max(self.n_rows - self.n_classes, 0), self.n_features)


@dataclass(frozen=True)
class Work:
    """Sides of eigenproblems, cubed; multiplications of products; values computed alone; steps."""

    cubes: float = 0.0
    products: float = 0.0
    values: float = 0.0
    steps: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.cubes + other.cubes,
            self.products + other.products,
            self.values + other.values,
            self.steps + other.steps,
        )

    def times(self, number: float) -> Work:
        """As often as that."""
        return Work(
            number * self.cubes, number * self.products, number * self.values, number * self.steps
        )

    @property
    def units(self) -> float:
        """All of it in units."""
        return self.cubes + PRODUCT * self.products + VALUE * self.values + STEP * self.steps

    @classmethod
    def eigenproblem(cls, n: int) -> Work:
        """Values and vectors of a symmetric n × n matrix."""
        return cls(cubes=n**3 + SQUARE * n**2)


def seconds_per_unit() -> float:
    """How long a unit of work takes here and now: the best of a few small decompositions."""
    A = np.random.default_rng(0).normal(size=(TIMED, TIMED))
    A = A + A.T
    seconds = []
    with one_blas_thread():
        for _ in range(TIMES):
            start = perf_counter()
            np.linalg.eigh(A)
            seconds.append(perf_counter() - start)
    return min(seconds) / Work.eigenproblem(TIMED).units


def quick_work(rounds: Sequence[Round], grid: QuickGrid, sizes: Sizes) -> Work:
    """Of the quick search: every round a split, a decomposition for every kernel."""
    return sum((_round(one, grid, sizes) for one in rounds), Work())


def _round(one: Round, grid: QuickGrid, sizes: Sizes) -> Work:
    sizes = Sizes(one.n_rows, sizes.n_valid, sizes.n_features, sizes.n_classes, sizes.n_components)
    N, v, r = sizes.n_rows, sizes.n_valid, sizes.n_axes
    n, n_weighted = sizes.n_features, min(len(grid.relevances), one.n_kernels)
    # Features with weights have distances of their own.
    n_reweighed = int(np.count_nonzero(grid.relevances[:n_weighted]))
    reweighed = Work(products=(N + v) * N * n).times(n_reweighed)
    n_metrics = min(n_weighted * sum(np.isfinite(grid.shrinkages)), one.n_kernels)
    # Distances along the axes, once and in every metric.
    measured = Work(products=(N + v) * N * r, values=METRIC_PASSES * (N + v) * N)
    return (
        _metric(sizes).times(n_weighted)
        + reweighed
        + measured.times(n_weighted + n_metrics)
        + _kernel(grid, sizes).times(one.n_kernels)
        + Work(steps=STEPS_OF_A_ROUND)
    )


def _kernel(grid: QuickGrid, sizes: Sizes) -> Work:
    """A kernel, its decomposition, and what both readers make of it for every weight."""
    N, v, M, k = sizes.n_rows, sizes.n_valid, sizes.n_classes, len(grid.nus)
    work = Work.eigenproblem(N) + Work(values=KERNEL_PASSES * (N + v) * N, steps=STEPS_OF_A_KERNEL)
    if "scores" in grid.readers:
        work += Work(products=v * N * (N + k * M))
    if "nearest" in grid.readers:
        work += Work(products=N * (v * N + k * M * (N + 2 * v)), values=3 * k * (v * N + M * (N + v)))
        work += Work.eigenproblem(M).times(k)
    return work


def _metric(sizes: Sizes) -> Work:
    """Differences of neighbours, their scatter and its axes."""
    N, n = sizes.n_rows, sizes.n_features
    least = min(N, n)
    joined = Work(values=3 * N * n, steps=STEPS_OF_A_CLASS * sizes.n_classes)
    return joined + Work(products=2 * N * n * least) + Work.eigenproblem(least)


def fit_work(sizes: Sizes, n_centers: int, *, in_metric: bool, searches: bool) -> Work:
    """Of a fit to all samples: exact where every sample is a centre; where σ is found, at many σ."""
    N, m, n = sizes.n_rows, n_centers, sizes.n_features
    steps = STEPS_OF_A_FIT + STEPS_OF_A_CLASS * sizes.n_classes
    distances = Work(products=N * m * n, values=FIT_PASSES * N * m, steps=steps)
    solved = Work(products=FIT_CUBES * N * m**2, values=NODE_PASSES * m**2)
    metric = _metric(sizes) if in_metric else Work()
    return distances + metric + solved.times(NODES if searches else 1)


def sweep_work(points: Sequence[dict[str, Any]], sizes: Sizes, n_centers: int) -> Work:
    """Of a split of the full search: kernels per σ, Gram matrices per graph, factors per weights."""
    swept = ("mu1", "mu2", "mu3", "n_components", "n_neighbors", "beta", "sigma")
    families: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        rest = {name: value for name, value in point.items() if name not in swept}
        families.setdefault(repr(sorted(rest.items(), key=str)), []).append(point)
    return sum((_family(members, sizes, n_centers) for members in families.values()), Work())


def _family(points: Sequence[dict[str, Any]], sizes: Sizes, m: int) -> Work:
    """Points that share a sweep over σ."""
    N, d = sizes.n_rows, sizes.n_components
    nodes = len({point["sigma"] for point in points if "sigma" in point}) or NODES
    graphs = _distinct(points, ("n_neighbors", "beta"))
    weights = _distinct(points, ("n_neighbors", "beta", "mu1", "mu2"))
    kernel = Work(values=NODE_PASSES * N * m)
    gram = Work(products=GRAM_CUBES * N * m**2, values=NODE_PASSES * N * m)
    krylov = KRYLOV * (d + SPARE) ** 2 * m**2
    factor = Work(products=FACTOR_CUBES * m**3 + krylov, steps=STEPS_OF_A_FACTOR)
    node = kernel + gram.times(graphs) + factor.times(weights)
    read = Work(products=2 * sizes.n_valid * N * d, values=sizes.n_valid * N, steps=STEPS_OF_A_KERNEL)
    return node.times(nodes) + read.times(len(points))


def _distinct(points: Sequence[dict[str, Any]], names: Sequence[str]) -> int:
    return len({tuple(repr(point.get(name)) for name in names) for point in points})
