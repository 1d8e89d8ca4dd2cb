"""Errors with and without `standardize=True`, where `fit` warns about units and where it does not.

    python benchmarks/units.py                    # prints the tables of docs/research/measurements.md
    NSSE_DATA=<folder> python benchmarks/units.py --compute
    NSSE_DATA=<folder> python benchmarks/units.py --check 5

Sets have 20 training samples per class and two splits. ``--check`` computes some of the stored rows
again.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from nsse import SmoothEmbedding
from nsse.datasets import per_class_split
from reproduction.study import sets

ROWS = Path(__file__).parent / "results" / "units.jsonl"
SIZE, SEEDS, MOST_TEST = 20, {"choose": (0, 1), "report": (2, 3)}, 1000
HALVES = {"choose": "choosing", "report": "reporting"}
WARNING = "Distances depend almost only on"
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compute", action="store_true")
    parser.add_argument("--check", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if options.compute:
        compute()
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    print(tables(rows))
    for row in np.random.default_rng().choice(np.array(rows, dtype=object), options.check):
        is_same = computed(row["family"], row["set"]) == row
        print(row["set"], "same" if is_same else "other")


def compute() -> None:
    """Compute the rows of all sets."""
    there, missing = sets.found(None)
    print(*missing, sep="\n")
    rows = [computed(family, name) for name, family in there.items()]
    text = "".join(json.dumps(row) + "\n" for row in rows if row is not None)
    ROWS.write_text(text, encoding="utf-8")


def computed(family: str, name: str) -> Row | None:
    """Errors and effective columns of a set. None if a class has too few samples."""
    X, y = sets.samples(family, name)
    sets.samples.cache_clear()
    size = min(SIZE, np.unique(y, return_counts=True)[1].min() - 2)
    if size < 5:
        return None
    warned, errors, n_test = [], [], []
    for seed in SEEDS[sets.half_of(name)]:
        train, test = per_class_split(y, size, seed)
        test = np.sort(np.random.default_rng(seed).permutation(test)[:MOST_TEST])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            models = [
                SmoothEmbedding(standardize=given).fit(X[train], y[train]) for given in (False, True)
            ]
        warned.append(any(str(warning.message).startswith(WARNING) for warning in caught))
        errors.append([float(np.mean(model.predict(X[test]) != y[test])) for model in models])
        n_test.append(len(test))
    codes = np.unique(y, return_inverse=True)[1]
    means = np.array([X[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    variances = (X - means[codes]).var(axis=0)
    effective = float(variances.sum() ** 2 / np.square(variances).sum())
    cell = {"set": name, "family": family, "columns": int(np.count_nonzero(variances))}
    return {**cell, "effective": round(effective, 2), "warned": warned, "errors": errors, "test": n_test}


def tables(rows: list[Row]) -> str:
    """Sets by kind of data, and what standardization changes where `fit` warns and where it does not."""
    lines = [
        "| kind of data | sets | effective columns, least | sets with a warning |",
        "|---|---:|---:|---:|",
    ]
    by_kind = defaultdict[str, list[Row]](list)
    for row in rows:
        by_kind[sets.kind_of(row["set"])].append(row)
    for kind, own in sorted(by_kind.items()):
        least = min(row["effective"] for row in own)
        lines.append(f"| {kind} | {len(own)} | {least:.2f} | {sum(map(is_warned, own))} |")
    lines += [
        "",
        "| tables | sets | error with `standardize=True` | better | worse |",
        "|---|---:|---:|---:|---:|",
    ]
    for half in HALVES:
        for told in (True, False):
            own = [row for row in by_kind["tables"] if is_warned(row) == told]
            own = [row for row in own if sets.half_of(row["set"]) == half]
            change = np.array([log_ratio(row) for row in own])
            name = (
                f"{'with' if told else 'without'} a warning, {half.replace('choose', 'choos')}ing half"
            )
            cells = f"{100 * np.expm1(change.mean()):+.0f} %", (change < 0).sum(), (change > 0).sum()
            lines.append(f"| {name} | {len(own)} | {cells[0]} | {cells[1]} | {cells[2]} |")
    return "\n".join(lines)


def is_warned(row: Row) -> bool:
    """Return whether at least half of the fits warned."""
    return bool(np.mean(row["warned"]) >= 0.5)


def log_ratio(row: Row) -> float:
    """Logarithm of the error with standardization by the error without, with half a mistake more."""
    n, errors = np.array(row["test"])[:, np.newaxis], np.array(row["errors"])
    plain, standardized = np.log((errors * n + 0.5) / (n + 1)).mean(axis=0)
    return float(standardized - plain)


if __name__ == "__main__":
    main()
