"""Every method of the paper's Tables 1 to 3, our error beside the printed one.

As in the paper, parameters and dimension of a method are those with the smallest mean test error, here
over a small grid (``methods_grids.py``). Embeddings whose coordinates come in a fixed order are fitted
once and cut. Writes a CSV and the page ``docs/methods.md``.

    NSSE_DATA=<folder> python benchmarks/methods_table.py --splits 5
    python benchmarks/methods_table.py --page-only      # the page anew from the CSV
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from common import DOCS, RESULTS
from methods_fits import Task, data, test_errors
from methods_grids import GRIDS, MANY
from methods_page import Row, merged, page_text, read_rows, write_rows
from printed import METHODS, PRINTED


def main(argv: Sequence[str] | None = None) -> list[Row]:
    options = _parse(argv)
    start = time.perf_counter()
    rows = read_rows(options.csv) if options.csv.exists() else []
    for dataset, size in [] if options.page_only else _cases(options):
        tasks = list(_tasks(dataset, size, options))
        errors = Parallel(n_jobs=options.jobs, batch_size=1)(delayed(test_errors)(t) for t in tasks)
        rows = merged(rows, _best(tasks, errors))
        write_rows(options.csv, rows)  # after every case: what is done is kept
        print(f"{dataset} {size}: {time.perf_counter() - start:.0f} s", flush=True)
    options.markdown.parent.mkdir(parents=True, exist_ok=True)
    options.markdown.write_text(page_text(rows), encoding="utf-8")
    print(f"written: {options.markdown.name} ({time.perf_counter() - start:.0f} s)")
    return rows


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=list(PRINTED), default=list(PRINTED))
    parser.add_argument("--sizes", nargs="+", type=int, help="training samples per class (all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=5, help="random splits per training size")
    parser.add_argument("--jobs", type=int, default=2, help="processes, with one BLAS thread each")
    parser.add_argument("--quick", action="store_true", help="coarse grids, smallest training sets")
    parser.add_argument("--page-only", action="store_true", help="write the page from the CSV")
    parser.add_argument("--csv", type=Path, default=RESULTS / "methods_table.csv")
    parser.add_argument("--markdown", type=Path, default=DOCS / "methods.md")
    return parser.parse_args(argv)


def _cases(options: argparse.Namespace) -> list[tuple[str, int]]:
    """Data sets and training samples per class, the smallest first."""
    cases = [
        (name, size)
        for name in options.datasets
        for size in sorted(PRINTED[name])[: 1 if options.quick else None]
        if options.sizes is None or size in options.sizes
    ]
    return sorted(cases, key=lambda case: case[1] * _n_classes(case[0]))


def _tasks(dataset: str, size: int, options: argparse.Namespace) -> Iterator[Task]:
    """All fits of a case."""
    coarse = options.quick or size * _n_classes(dataset) > MANY
    for method in options.methods:
        for parameters in GRIDS[method].parameters(coarse):
            for seed in range(options.splits):
                yield Task(dataset, size, method, parameters, seed)


def _n_classes(dataset: str) -> int:
    return len(np.unique(data(dataset)[1]))


def _best(tasks: list[Task], errors: list[dict[str, float]]) -> list[Row]:
    """For every method and case the candidate with the smallest mean error."""
    scores: dict[Any, list[float]] = defaultdict(list)
    for task, by_dimension in zip(tasks, errors, strict=True):
        shown = ", ".join(f"{name}={value}" for name, value in task.parameters.items())
        for d, error in by_dimension.items():
            scores[task.dataset, task.n_per_class, task.method, shown, d].append(error)
    n_splits = max(map(len, scores.values()))
    best: dict[Any, Row] = {}
    for (dataset, size, method, shown, d), values in scores.items():
        # A dimension that some splits do not have is no candidate.
        if len(values) == n_splits:
            row = Row(
                dataset,
                size,
                method,
                float(np.mean(values)),
                _error_of_mean(values),
                n_splits,
                d if GRIDS[method].largest else "",
                shown,
            )
            case = dataset, size, method
            best[case] = min(row, best.get(case, row), key=lambda r: r.error)
    return list(best.values())


def _error_of_mean(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


if __name__ == "__main__":
    main()
