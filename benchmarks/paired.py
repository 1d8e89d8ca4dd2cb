"""Compare two files of rows of the reproduction, paired by data set, size, method and split.

    python benchmarks/paired.py reproduction/rows.jsonl new/rows.jsonl
    python benchmarks/paired.py reproduction/study/unlabeled.jsonl new/unlabeled.jsonl --figure new

Each line belongs to one experiment, which is a data set at one size. It contains the mean errors of both
files in percent, the mean difference, its standard error over the splits, and the difference in standard
errors. The last line of a method is the mean of the differences over its experiments. The splits of
different experiments are independent, so its standard error is the root of the sum of squares, divided
by the number of experiments.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from common import text_table
from reproduction.rows import Row, RowFile

HEADER = ("method, experiment", "splits", "A", "B", "B − A", "s.e.", "in s.e.", "seconds A", "B")
Key = tuple[str, str, int]


def experiments(a: Path, b: Path, methods: Sequence[str]) -> dict[Key, list[tuple[Row, Row]]]:
    """Return pairs of rows of the same split, by method, data set and size."""
    tables = [
        {
            (row.task.method, row.task.dataset, row.task.n_train, row.task.seed): row
            for row in RowFile(path).rows()
            if not methods or row.task.method in methods
        }
        for path in (a, b)
    ]
    found: dict[Key, list[tuple[Row, Row]]] = defaultdict(list)
    for key in sorted(set(tables[0]) & set(tables[1])):
        found[key[:3]].append((tables[0][key], tables[1][key]))
    return dict(found)


def error_of(row: Row, figure: str) -> float:
    """Return the error in percent, or another share of wrong labels that the row contains."""
    return 100.0 * (row.error if figure == "error" else row.details[figure])


def line(name: str, a: Any, b: Any, mean: float, error: float, n_splits: str, seconds: Any) -> list[str]:
    """Return the line of one experiment, or of all experiments of a method."""
    ratio = f"{mean / error:+.1f}" if error > 0 else ""
    times = [f"{value:.1f}" for value in seconds]
    return [name, n_splits, f"{a:.2f}", f"{b:.2f}", f"{mean:+.3f}", f"{error:.3f}", ratio, *times]


def lines_of(method: str, pairs: dict[Key, list[tuple[Row, Row]]], figure: str) -> list[list[str]]:
    """Return the lines of all experiments of a method, and the line of their mean."""
    lines, means, errors, both, times = [], [], [], [], []
    for (_, dataset, size), own in pairs.items():
        a, b = (np.array([error_of(pair[place], figure) for pair in own]) for place in (0, 1))
        seconds = [np.mean([pair[place].fit_seconds for pair in own]) for place in (0, 1)]
        spread = (b - a).std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
        means.append((b - a).mean())
        errors.append(spread)
        both.append((a.mean(), b.mean()))
        times.append(seconds)
        name = f"{method}: {dataset}, {size}"
        lines.append(line(name, a.mean(), b.mean(), means[-1], spread, str(len(own)), seconds))
    pooled = float(np.sqrt(np.sum(np.square(errors))) / len(errors))
    mean = float(np.mean(means))
    return [
        *lines,
        line(f"{method}: all", *np.mean(both, axis=0), mean, pooled, "", np.mean(times, axis=0)),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--methods", nargs="*", default=(), help="only these")
    parser.add_argument("--figure", default="error", help='"error", or another share in the rows')
    options = parser.parse_args(argv)
    pairs = experiments(options.a, options.b, options.methods)
    if not pairs:
        raise SystemExit("The two files have no split in common.")
    lines = []
    for method in dict.fromkeys(key[0] for key in pairs):
        own = {key: rows for key, rows in pairs.items() if key[0] == method}
        lines += lines_of(method, own, options.figure)
    print(text_table(HEADER, lines))


if __name__ == "__main__":
    main()
