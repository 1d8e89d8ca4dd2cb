"""Error of the untuned model beside that of version 0.2, on the reporting half of the sets.

    python benchmarks/untuned.py [--check N]

prints a table from the rows in ``results/untuned.jsonl``: 5 to 50 training samples per class, three
splits, columns standardised by the training samples. ``--check`` computes the
rows of N random cells again (needs NSSE_DATA). Defaults were chosen on the other half of the sets, on
other splits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from nsse import SmoothEmbedding
from nsse.datasets import per_class_split

ROWS = Path(__file__).parent / "results" / "untuned.jsonl"
MOST_TEST = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=int, default=0, metavar="N")
    options = parser.parse_args()
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    print(table(rows))
    if options.check:
        for row in np.random.default_rng().choice(np.array(rows, dtype=object), options.check):
            error = computed(row)
            print(row["set"], row["size"], row["seed"], f"stored {row['0.3']:.4f}, now {error:.4f}")


def table(rows: list[dict[str, Any]]) -> str:
    """Geometric means over sets of the error of 0.3 over that of 0.2, as a table in Markdown."""
    by_set: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cell in _cells(rows).values():
        old, new = (np.mean([_smoothed(row[v], row["test"]) for row in cell]) for v in ("0.2", "0.3"))
        by_set[cell[0]["family"], cell[0]["set"]].append(float(np.log(new / old)))
    ratios = {key: float(np.mean(values)) for key, values in by_set.items()}
    lines = ["| kind of data | sets | error beside 0.2 |", "|---|---:|---:|"]
    for family in sorted({family for family, _ in ratios}):
        own = [ratio for (kind, _), ratio in ratios.items() if kind == family]
        lines.append(f"| {family} | {len(own)} | {100 * np.expm1(np.mean(own)):+.1f} % |")
    whole = 100 * np.expm1(np.mean(list(ratios.values())))
    return "\n".join([*lines, f"| all | {len(ratios)} | {whole:+.1f} % |"])


def computed(row: dict[str, Any]) -> float:
    """The error of one row, computed again."""
    from reproduction.study import sets

    there, _ = sets.found(None, [row["set"]])
    X, y = sets.samples(there[row["set"]], row["set"])
    train, test = per_class_split(y, row["size"], row["seed"])
    test = np.sort(np.random.default_rng(row["seed"]).permutation(test)[:MOST_TEST])
    center, spread = X[train].mean(axis=0), X[train].std(axis=0)
    Z = (X - center) / np.where(spread > 0, spread, 1.0)
    model = SmoothEmbedding().fit(Z[train], y[train])
    return float(np.mean(model.predict(Z[test]) != y[test]))


def _cells(rows: list[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    cells: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["set"], row["size"]].append(row)
    return cells


def _smoothed(error: float, n_test: int) -> float:
    """Half a mistake more, so that no error is zero."""
    return (error * n_test + 0.5) / (n_test + 1)


if __name__ == "__main__":
    main()
