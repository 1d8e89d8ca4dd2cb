"""The search for counterexamples to "the joint solver finds the global minimum over σ".

Random problems of several kinds are solved, and g is computed on a grid of 400 σ, which uses neither
slopes nor warm starts nor anything else of the search. A problem counts as *above* where the search
ended more than 10⁻⁶ (relative, in the excess objective) above the least value of the grid, and as *lost*
where it ended above a point that it had evaluated itself.

    python benchmarks/global_minimum.py             # 2450 problems, about an hour
    python benchmarks/global_minimum.py --quick     # some of each kind, seconds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from common import RESULTS, text_table, versions, write_json
from nsse._threads import one_blas_thread
from nsse.graphs import gaussian_affinity
from nsse.kernels import median_distance, squared_distances
from nsse.landmarks import Neighbors
from nsse.landmarks.scale import pose_sample
from nsse.solvers import Objective, Problem, solve_joint, solve_pencil
from nsse.solvers.extrapolation import FAR_ABOVE
from nsse.solvers.joint import search_scale
from nsse.solvers.pencil import RankError
from nsse.solvers.recorder import Recorder

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Bounds = tuple[float, float]

GRID_POINTS = 400
LARGEST_EXCESS = 1e-6
DEFAULT_RANGE, WIDE_RANGE = (0.1, 10.0), (0.01, 100.0)
NEIGHBORS = 5
# The defaults of NSSE.
MU1, MU2, MU3_PER_MU2 = 1.0, 0.01, 5.0
TOL, MAX_ITER = 1e-8, 50


@dataclass(frozen=True)
class Case:
    """g as a function of σ, and the search for its minimum: the end, and all values seen."""

    g: Callable[[float], float]
    search: Callable[[], tuple[float, list[float]]]
    bounds: Bounds


@dataclass(frozen=True)
class Verdict:
    """How far the search ended above the grid, relatively; what it saw, and whether it lost it."""

    seed: int
    above: float
    lost: bool
    n_evaluations: int


def gaussians(seed: int) -> Case:
    """Thirteen samples on a line, of two classes that do not differ."""
    X = np.random.default_rng(seed).standard_normal((13, 1))
    return _exact(X, np.arange(13) % 2, _default_weights(1))


def blobs(seed: int) -> Case:
    """Clouds that mostly do not overlap."""
    X, y, n_classes = _blobs(seed)
    return _exact(X, y, _default_weights(n_classes - 1))


def weights(seed: int) -> Case:
    """Classes that overlap more or less, with random weights and dimensions."""
    X, y, drawn = _overlapping(seed, (10, 80))
    return _exact(X, y, drawn)


def wide(seed: int) -> Case:
    """Clouds and overlapping classes, over four decades of σ."""
    if seed % 2:
        X, y, drawn = _overlapping(seed, (10, 80))
        return _exact(X, y, drawn, WIDE_RANGE)
    X, y = make_blobs(60, 5, centers=4, random_state=seed)
    return _exact(X, y, _default_weights(3), WIDE_RANGE)


def larger(seed: int) -> Case:
    """As many samples as are looked at less closely."""
    X, y, drawn = _overlapping(seed, (100, 350))
    return _exact(X, y, drawn)


def landmarks(seed: int) -> Case:
    """Overlapping classes with fewer centres than samples."""
    X, y, drawn = _overlapping(seed, (20, 90))
    rng = np.random.default_rng(seed)
    n_centers = int(rng.integers(drawn["n_components"] + 2, len(y) - 1))
    return _with_centers(X, y, X[np.sort(rng.choice(len(y), n_centers, replace=False))], drawn)


# Of 2450 problems, and of the quick run.
KINDS: dict[str, tuple[Callable[[int], Case], int, int]] = {
    "gaussians": (gaussians, 800, 5),
    "blobs": (blobs, 250, 2),
    "weights": (weights, 450, 3),
    "wide": (wide, 250, 2),
    "larger": (larger, 500, 1),
    "landmarks": (landmarks, 200, 3),
}
# Problems that once ended above the grid.
HARD = {"gaussians": (993, 168), "wide": (248,)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    rows = []
    for kind in options.kinds:
        start = time.perf_counter()
        verdicts = list(_verdicts(kind, options.quick, options.share))
        rows.append(_row(kind, verdicts) | {"seconds": round(time.perf_counter() - start, 1)})
        print(text_table(list(rows[-1]), [list(rows[-1].values())]), flush=True)
    record = {
        "grid_points": GRID_POINTS,
        "rows": rows,
        "problems": sum(row["problems"] for row in rows),
        "above": sum(row["above"] for row in rows),
        "lost": sum(row["lost"] for row in rows),
        **versions(),
    }
    print(f"{record['above']} of {record['problems']} problems end above the grid")
    if options.out is not None:
        write_json(options.out, record)
    return record


def _verdicts(kind: str, quick: bool, share: float) -> Iterator[Verdict]:
    make, many, few = KINDS[kind]
    n_problems = few if quick else round(share * many)
    hard = [seed for seed in HARD.get(kind, ()) if seed >= n_problems]
    with one_blas_thread():
        for seed in [*range(n_problems), *hard]:
            yield judge(make(seed), seed)


def judge(case: Case, seed: int = 0) -> Verdict:
    """Search, and compare with the grid."""
    reached, seen = case.search()
    least = min(case.g(float(sigma)) for sigma in np.geomspace(*case.bounds, GRID_POINTS))
    return Verdict(seed, float(reached / least - 1.0), bool(reached > min(seen)), len(seen))


def _row(kind: str, verdicts: list[Verdict]) -> dict[str, Any]:
    worst = max(verdicts, key=lambda verdict: verdict.above)
    return {
        "kind": kind,
        "problems": len(verdicts),
        "above": sum(verdict.above > LARGEST_EXCESS for verdict in verdicts),
        "lost": sum(verdict.lost for verdict in verdicts),
        "worst": float(f"{worst.above:.1e}"),
        "worst_seed": worst.seed,
        "evaluations": round(float(np.mean([verdict.n_evaluations for verdict in verdicts])), 1),
    }


def _default_weights(n_components: int) -> dict[str, Any]:
    mu3 = MU3_PER_MU2 * MU2 * n_components
    return {"mu1": MU1, "mu2": MU2, "mu3": mu3, "n_components": n_components}


def _blobs(seed: int) -> tuple[Floats, Labels, int]:
    rng = np.random.default_rng(seed)
    n, n_features, n_classes = (int(rng.integers(*ends)) for ends in ((20, 100), (2, 7), (2, 6)))
    X, y = make_blobs(n, n_features, centers=n_classes, random_state=seed)
    return X, y, n_classes


def _overlapping(seed: int, sizes: tuple[int, int]) -> tuple[Floats, Labels, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    n, n_features, n_classes = (int(rng.integers(*ends)) for ends in (sizes, (1, 6), (2, 6)))
    X, y = rng.standard_normal((n, n_features)), np.arange(n) % n_classes
    X += rng.choice([0.0, 0.5, 1.0, 2.0]) * rng.standard_normal((n_classes, n_features))[y]
    d, mu2 = int(rng.integers(1, n_classes + 2)), float(10 ** rng.uniform(-4, 0))
    mu1, ratio = float(10 ** rng.uniform(-2, 2)), float(10 ** rng.uniform(-1, 1.5))
    return X, y, {"mu1": mu1, "mu2": mu2, "mu3": ratio * mu2 * d, "n_components": d}


def _exact(X: Floats, y: Labels, drawn: dict[str, Any], bounds: Bounds = DEFAULT_RANGE) -> Case:
    order = np.argsort(y, kind="stable")
    D2 = squared_distances(X[order])
    D2 /= median_distance(D2) ** 2
    problem = Problem.build(
        D2,
        y[order],
        lambda d2, codes, members: gaussian_affinity(d2, codes, NEIGHBORS),
        Objective(**drawn),
    )

    def search() -> tuple[float, list[float]]:
        rng = np.random.default_rng(0)
        outcome = solve_joint(problem, bounds, tol=TOL, max_iter=MAX_ITER, rng=rng)
        return outcome.solution.excess, list(outcome.trace.column("excess"))

    return Case(_value_of(problem), search, bounds)


def _with_centers(X: Floats, y: Labels, centers: Floats, drawn: dict[str, Any]) -> Case:
    objective = Objective(**drawn)
    unit = median_distance(squared_distances(X))
    counts, neighbors = np.bincount(y).astype(float), Neighbors(NEIGHBORS, None)
    problem = pose_sample(X, y.astype(np.intp), centers, counts, objective, neighbors, unit)

    def search() -> tuple[float, list[float]]:
        recorder = Recorder(objective, len(y))
        end = search_scale(
            problem,
            DEFAULT_RANGE,
            recorder,
            tol=TOL,
            max_iter=MAX_ITER,
            cheaper=None,
            far_above=FAR_ABOVE,
        )
        return end.solution.excess, list(recorder.trace().column("excess"))

    return Case(_value_of(problem), search, DEFAULT_RANGE)


def _value_of(problem: Problem) -> Callable[[float], float]:
    """g; infinite where the kernel cannot carry the coordinates: there is no minimum."""

    def g(sigma: float) -> float:
        try:
            return solve_pencil(problem, sigma).excess
        except RankError:
            return float("inf")

    return g


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="some problems of each kind")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--share", type=float, default=1.0, help="of the 2450 problems")
    parser.add_argument("--out", type=Path, default=None, help="where to write a record")
    options = parser.parse_args(argv)
    if options.out is None and not options.quick and options.share == 1.0:
        options.out = RESULTS / "global_minimum.json"
    return options


if __name__ == "__main__":
    main()
