"""Measure errors with and without `standardize=True` on data sets with and without a warning of `fit`.

    python benchmarks/units.py                    # print the tables of docs/research/measurements.md
    NSSE_DATA=<folder> python benchmarks/units.py --compute

There are 20 training samples per class and two splits. `--compute` adds the missing rows of the file,
which contains one JSON line per data set.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from common import RESULTS, Row, log_errors, markdown_table, parser_of, resumed, stored_rows
from nsse import SmoothEmbedding
from nsse.datasets import per_class_split
from reproduction.study import sets

ROWS = RESULTS / "units.jsonl"
SIZE = 20
LEAST_SIZE = 5
SEEDS = {"choose": (0, 1), "report": (2, 3)}
MOST_TEST = 1000
HALVES = {"choose": "choosing", "report": "reporting"}
WARNING = "Distances depend almost only on"


def size_of(y: Any) -> int:
    """Return the number of training samples per class."""
    return int(min(SIZE, np.unique(y, return_counts=True)[1].min() - 2))


def cells() -> Iterator[tuple[str, str]]:
    """Yield the data sets with enough samples, and their families."""
    found, missing = sets.found(None)
    print(*missing, sep="\n")
    for name, family in found.items():
        if size_of(sets.samples(family, name)[1]) >= LEAST_SIZE:
            yield name, family


def measured(name: str, family: str) -> Row:
    """Return the errors with and without standardization, and the effective number of columns."""
    X, y = sets.samples(family, name)
    size = size_of(y)
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
    return {
        "columns": int(np.count_nonzero(variances)),
        "effective": round(effective, 2),
        "warned": warned,
        "errors": errors,
        "test": n_test,
    }


def tables(rows: Sequence[Row]) -> str:
    """Return the table of kinds of data, and the table of errors."""
    by_kind = defaultdict[str, list[Row]](list)
    for row in rows:
        by_kind[sets.kind_of(row["set"])].append(row)
    kinds = [
        [kind, len(own), f"{min(row['effective'] for row in own):.2f}", sum(map(is_warned, own))]
        for kind, own in sorted(by_kind.items())
    ]
    changes = []
    for half, title in HALVES.items():
        for with_warning in (True, False):
            own = [row for row in by_kind["tables"] if is_warned(row) == with_warning]
            change = np.array([log_ratio(row) for row in own if sets.half_of(row["set"]) == half])
            name = f"{'with' if with_warning else 'without'} a warning, {title} half"
            mean = f"{100 * np.expm1(change.mean()):+.0f} %"
            changes.append([name, len(change), mean, (change < 0).sum(), (change > 0).sum()])
    head = ["kind of data", "sets", "effective columns, least", "sets with a warning"]
    first = markdown_table(head, kinds)
    head = ["tables", "sets", "error with `standardize=True`", "better", "worse"]
    return f"{first}\n\n{markdown_table(head, changes)}"


def is_warned(row: Row) -> bool:
    """Return whether at least half of the fits warned."""
    return bool(np.mean(row["warned"]) >= 0.5)


def log_ratio(row: Row) -> float:
    """Return the logarithm of the error with standardization relative to the error without."""
    n_test = np.array(row["test"])[:, np.newaxis]
    plain, standardized = log_errors(row["errors"], n_test).mean(axis=0)
    return float(standardized - plain)


def main(argv: Sequence[str] | None = None) -> None:
    """Compute the missing rows if requested, and print the tables."""
    parser = parser_of(__doc__, ROWS)
    parser.add_argument("--compute", action="store_true")
    options = parser.parse_args(argv)
    if options.compute:
        resumed(options.out, ("set", "family"), cells(), measured)
    print(tables(stored_rows(options.out)))


if __name__ == "__main__":
    main()
