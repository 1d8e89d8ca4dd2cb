"""Errors and radii of `SmoothEmbedding` with other kernels, each at its best width, on many data sets.

    python benchmarks/kernels.py                  # prints the tables of docs/research/measurements.md
    NSSE_DATA=<folder> python benchmarks/kernels.py --compute [--jobs N]
    NSSE_DATA=<folder> python benchmarks/kernels.py --check 5

The width of every kernel is the one with the smallest geometric mean error on the choosing half of the
sets. The tables show the reporting half. Sets have 10 and 30 training samples per class and two splits,
and columns are standardized by the training samples. ``--check`` computes some of the stored rows again.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1]))

from nsse import SmoothEmbedding
from nsse.certificates import certified_radius
from nsse.datasets import per_class_split
from nsse.kernels import Exponential, Gaussian, Kernel, Matern32
from reproduction.study import sets

ROWS = Path(__file__).parent / "results" / "kernels.jsonl"
KERNELS: dict[str, Kernel] = {
    "Gaussian": Gaussian(),
    "Matern32": Matern32(),
    "Exponential": Exponential(),
}
WIDTHS = (0.35, 0.5, 0.65, 1.0, 1.5, 2.5, 4.0, 8.0)
SIZES, SEEDS = (10, 30), {"choose": (0, 1), "report": (2, 3)}
MOST_TEST, RADII = 500, 20
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compute", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if options.compute:
        compute(options.jobs)
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    print(tables(rows))
    for row in np.random.default_rng().choice(np.array(rows, dtype=object), options.check):
        again = computed(row["family"], row["set"], row["size"], row["seed"])
        assert again is not None
        print(
            row["set"], row["size"], row["seed"], "same" if again["errors"] == row["errors"] else "other"
        )


def compute(jobs: int) -> None:
    """Compute the rows that are not stored yet."""
    done = set()
    if ROWS.exists():
        stored = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
        done = {(row["set"], row["size"], row["seed"]) for row in stored}
    there, missing = sets.found(None)
    print(*missing, sep="\n")
    cells = [cell for cell in cells_of(there) if cell[1:] not in done]
    tasks = (delayed(computed)(*cell) for cell in cells)
    with ROWS.open("a", encoding="utf-8") as file:
        for row in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
            if row is not None:
                file.write(json.dumps(row) + "\n")
                file.flush()


def cells_of(there: dict[str, str]) -> Iterator[tuple[str, str, int, int]]:
    """Family, set, size and seed of every row."""
    for name, family in there.items():
        for size in SIZES:
            for seed in SEEDS[sets.half_of(name)]:
                yield family, name, size, seed


def computed(family: str, name: str, size: int, seed: int) -> Row | None:
    """Errors and median radii of every kernel and width; None if a class has too few samples."""
    X, y = sets.samples(family, name)
    if np.unique(y, return_counts=True)[1].min() < size + 2:
        return None
    train, test = per_class_split(y, size, seed)
    test = np.sort(np.random.default_rng(seed).permutation(test)[:MOST_TEST])
    center, spread = X[train].mean(axis=0), X[train].std(axis=0)
    Z, Z_test = ((X[part] - center) / np.where(spread > 0, spread, 1.0) for part in (train, test))
    errors, radii = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, kernel in KERNELS.items():
            for width in WIDTHS:
                model = SmoothEmbedding(kernel=kernel, sigma=width).fit(Z, y[train])
                errors[kind].append(float(np.mean(model.predict(Z_test) != y[test])))
                radius = np.median(certified_radius(model, Z_test[:RADII])) / model._length_unit
                radii[kind].append(float(f"{radius:.4g}"))
    cell = {"set": name, "family": family, "size": size, "seed": seed, "test": len(test)}
    return {**cell, "errors": dict(errors), "radii": dict(radii)}


def tables(rows: list[Row]) -> str:
    """Widths by the choosing half, and means over the sets of the reporting half."""
    halves: dict[str, list[Row]] = {"choose": [], "report": []}
    for row in rows:
        halves[sets.half_of(row["set"])].append(row)
    best = {kind: int(log_errors(halves["choose"], kind).mean(axis=0).argmin()) for kind in KERNELS}
    settings = [("Gaussian", WIDTHS.index(SmoothEmbedding().sigma)), *best.items()]
    lines = ["| kernel | `sigma` | error | median radius |", "|---|---:|---:|---:|"]
    for kind, place in settings:
        error = relative(halves["report"], kind, place, best)
        radius = np.median(median_radii(halves["report"], kind)[:, place])
        lines.append(f"| {kind} | {WIDTHS[place]:g} | {error} | {radius:.3f} |")
    others = settings[2:]
    lines += [
        "",
        f"| kind of data | sets | {' | '.join(kind for kind, _ in others)} |",
        "|---|---:|---:|---:|",
    ]
    for family in [*sorted({sets.kind_of(row["set"]) for row in halves["report"]}), "all"]:
        own = [row for row in halves["report"] if family in ("all", sets.kind_of(row["set"]))]
        told = " | ".join(relative(own, kind, place, best) for kind, place in others)
        lines.append(f"| {family} | {len({row['set'] for row in own})} | {told} |")
    return "\n".join(lines)


def relative(rows: list[Row], kind: str, place: int, best: dict[str, int]) -> str:
    """Geometric mean over sets of the error divided by that of the Gaussian at its best width."""
    usual = log_errors(rows, "Gaussian")[:, best["Gaussian"]]
    return f"{100 * np.expm1((log_errors(rows, kind)[:, place] - usual).mean()):+.1f} %"


def log_errors(rows: list[Row], kind: str) -> Any:
    """Logarithms of errors, with half a mistake more: a row for each set, a column for each width."""
    by_set = defaultdict[str, list[Any]](list)
    for row in rows:
        n = row["test"]
        by_set[row["set"]].append(np.log((np.array(row["errors"][kind]) * n + 0.5) / (n + 1)))
    return np.array([np.mean(by_set[name], axis=0) for name in sorted(by_set)])


def median_radii(rows: list[Row], kind: str) -> Any:
    """Median radii in median distances: a row for each set, a column for each width."""
    by_set = defaultdict[str, list[Any]](list)
    for row in rows:
        by_set[row["set"]].append(row["radii"][kind])
    return np.array([np.median(by_set[name], axis=0) for name in sorted(by_set)])


if __name__ == "__main__":
    main()
