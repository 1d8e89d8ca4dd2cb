"""Compare `SmoothEmbedding` with other kernels, each at its best width, on many data sets.

    python benchmarks/kernels.py                  # print the tables of docs/research/measurements.md
    NSSE_DATA=<folder> python benchmarks/kernels.py --compute

The width of every kernel is the one with the smallest geometric mean error on the choosing half of the
data sets. The tables show the reporting half. There are 10 and 30 training samples per class and two
splits, and columns are standardized by the training samples. `--compute` adds the missing rows of the
file, which contains one JSON line per data set, size and split.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from common import RESULTS, Row, log_errors, markdown_table, parser_of, resumed, stored_rows
from nsse import SmoothEmbedding
from nsse.certificates import certified_radius
from nsse.datasets import per_class_split
from nsse.kernels import Exponential, Gaussian, Kernel, Matern32
from reproduction.study import sets

ROWS = RESULTS / "kernels.jsonl"
KERNELS: dict[str, Kernel] = {
    "Gaussian": Gaussian(),
    "Matern32": Matern32(),
    "Exponential": Exponential(),
}
WIDTHS = (0.35, 0.5, 0.65, 1.0, 1.5, 2.5, 4.0, 8.0)
SIZES = (10, 30)
SEEDS = {"choose": (0, 1), "report": (2, 3)}
MOST_TEST = 500
RADII = 20
KEYS = ("set", "family", "size", "seed")


def cells() -> Iterator[tuple[str, str, int, int]]:
    """Yield the data set, its family, the size and the split of every row."""
    found, missing = sets.found(None)
    print(*missing, sep="\n")
    for name, family in found.items():
        smallest = np.unique(sets.samples(family, name)[1], return_counts=True)[1].min()
        for size in SIZES:
            if smallest >= size + 2:
                yield from ((name, family, size, seed) for seed in SEEDS[sets.half_of(name)])


def measured(name: str, family: str, size: int, seed: int) -> Row:
    """Return errors and median radii of every kernel and width."""
    X, y = sets.samples(family, name)
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
    return {"test": len(test), "errors": dict(errors), "radii": dict(radii)}


def tables(rows: Sequence[Row]) -> str:
    """Choose the widths on the choosing half, and return the tables of the reporting half."""
    halves: dict[str, list[Row]] = {"choose": [], "report": []}
    for row in rows:
        halves[sets.half_of(row["set"])].append(row)
    chosen, reported = halves["choose"], halves["report"]
    best = {kind: int(errors_by_set(chosen, kind).mean(axis=0).argmin()) for kind in KERNELS}

    def relative(own: Sequence[Row], kind: str, place: int) -> str:
        """Return the geometric mean of the error relative to the Gaussian kernel at its best width."""
        usual = errors_by_set(own, "Gaussian")[:, best["Gaussian"]]
        return f"{100 * np.expm1((errors_by_set(own, kind)[:, place] - usual).mean()):+.1f} %"

    default, *others = ("Gaussian", WIDTHS.index(SmoothEmbedding().sigma)), *best.items()
    lines = []
    for kind, place in (default, *others):
        radii = by_set(reported, lambda row, kind=kind: row["radii"][kind], np.median)
        radius = f"{np.median(radii[:, place]):.3f}"
        lines.append([kind, f"{WIDTHS[place]:g}", relative(reported, kind, place), radius])
    kinds = []
    for family in [*sorted({sets.kind_of(row["set"]) for row in reported}), "all"]:
        own = [row for row in reported if family in ("all", sets.kind_of(row["set"]))]
        names = {row["set"] for row in own}
        kinds.append([family, len(names), *(relative(own, *other) for other in others[1:])])
    first = markdown_table(["kernel", "`sigma`", "error", "median radius"], lines)
    head = ["kind of data", "sets", *(kind for kind, _ in others[1:])]
    return f"{first}\n\n{markdown_table(head, kinds)}"


def by_set(rows: Sequence[Row], values: Any, middle: Any) -> Any:
    """Return an array with a row for each data set and a column for each width."""
    groups = defaultdict[str, list[Any]](list)
    for row in rows:
        groups[row["set"]].append(values(row))
    return np.array([middle(groups[name], axis=0) for name in sorted(groups)])


def errors_by_set(rows: Sequence[Row], kind: str) -> Any:
    """Return the mean logarithms of errors of a kernel."""
    return by_set(rows, lambda row: log_errors(row["errors"][kind], row["test"]), np.mean)


def main(argv: Sequence[str] | None = None) -> None:
    """Compute the missing rows if requested, and print the tables."""
    parser = parser_of(__doc__, ROWS)
    parser.add_argument("--compute", action="store_true")
    options = parser.parse_args(argv)
    if options.compute:
        resumed(options.out, KEYS, cells(), measured)
    print(tables(stored_rows(options.out)))


if __name__ == "__main__":
    main()
