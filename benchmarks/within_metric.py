"""The within-class metric: what it does to the errors of NSSE, and what it costs beside its fit.

    python benchmarks/within_metric.py

Errors on unit-norm 25 × 25 images of Yale, ORL and COIL-20 where NSSE_DATA has them, on digits
elsewhere: `make_pipeline(WithinMetric(shrinkage), NSSE(mu2=1e-3))`, σ by the objective, nothing tuned.
Times on one BLAS thread, the best of several, as a ratio to NSSE().fit on the same samples.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from common import RESULTS, best_time, machine_facts, text_table, write_json
from nsse import NSSE, WithinMetric
from nsse.datasets import Dataset, load_dataset
from nsse.evaluation import per_class_split

SHRINKAGES = (np.inf, 3.0, 1.0, 0.3)
CELLS = (("yale", 10), ("orl", 3), ("coil20", 7))  # data set, training samples per class
WITHOUT_DATA = (("digits", 10),)
TIMED = (8, 13, 26, 52)  # samples per class; of Yale 304 to 1976 in all


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3, help="random splits")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best is kept")
    parser.add_argument("--timed", type=int, nargs="+", default=TIMED, help="samples per class")
    parser.add_argument("--out", type=Path, default=RESULTS / "within_metric.json")
    options = parser.parse_args(arguments)
    facts = machine_facts()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # the best σ may lie at the end of its range
        cells = CELLS if found("yale") else WITHOUT_DATA
        errors = [row for name, size in cells for row in error_rows(name, size, options.splits)]
        seconds = [time_row(cells[0][0], size, options.repeats) for size in options.timed]
    for rows in (errors, seconds):
        print(text_table(list(rows[0]), [list(row.values()) for row in rows]), end="\n\n")
    record = {"machine": facts, "splits": options.splits, "errors": errors, "seconds": seconds}
    write_json(options.out, record)
    return record


def found(name: str) -> bool:
    try:
        load_dataset(name)
    except FileNotFoundError:
        return False
    return True


def error_rows(name: str, n_per_class: int, n_splits: int) -> list[dict[str, Any]]:
    data = load_dataset(name, unit_norm=True)
    rows = []
    for shrinkage in SHRINKAGES:
        errors = [error(data, n_per_class, seed, shrinkage) for seed in range(n_splits)]
        cell = {"data": name, "per_class": n_per_class, "shrinkage": str(shrinkage)}
        rows.append(cell | {"error": round(float(np.mean(errors)), 2)})
    return rows


def error(data: Dataset, n_per_class: int, seed: int, shrinkage: float) -> float:
    train, test = per_class_split(data.y, n_per_class, seed)
    model = make_pipeline(WithinMetric(shrinkage), NSSE(mu2=1e-3))
    model.fit(data.X[train], data.y[train])
    return 100.0 * (1.0 - model.score(data.X[test], data.y[test]))


def time_row(name: str, n_per_class: int, repeats: int) -> dict[str, Any]:
    data = load_dataset(name, unit_norm=True)
    train, _ = per_class_split(data.y, n_per_class, 0)
    X, y = data.X[train], data.y[train]
    metric, _ = best_time(lambda: WithinMetric().fit(X, y), repeats)
    fit, _ = best_time(lambda: NSSE().fit(X, y), repeats)
    shape = {"n_samples": len(X), "n_features": X.shape[1]}
    times = {"seconds_metric": round(metric, 4), "seconds_nsse": round(fit, 3)}
    return shape | times | {"ratio": round(metric / fit, 3)}


if __name__ == "__main__":
    main()
