"""NSSECV beside scikit-learn's GridSearchCV: same grid, same splits, one process, one run.

    python benchmarks/selection_speed.py

COIL-20, 10 samples per class, where NSSE_DATA has it; digits, 20 per class, otherwise.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV, ParameterGrid
from threadpoolctl import threadpool_limits

from common import RESULTS, machine_facts, text_table, write_json
from nsse import NSSE, NSSECV
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.selection import default_param_grid
from nsse.selection.splits import BalancedSplits


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="random splits")
    parser.add_argument("--quick", action="store_true", help="a small part of the grid")
    options = parser.parse_args()
    facts = machine_facts()
    X, y, source = samples()
    grid = default_param_grid(len(np.unique(y)))
    if options.quick:
        grid = {name: values[:2] for name, values in grid.items()}
    splits = list(BalancedSplits(options.repeats, 0.15, 0).split(X, y))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # grids have points at the end of the range of sigma
        start = time.perf_counter()
        ours = NSSECV(grid, cv=splits, estimator=NSSE.as_published()).fit(X, y)
        seconds_ours = time.perf_counter() - start
        start = time.perf_counter()
        theirs = GridSearchCV(NSSE.as_published(), grid, cv=splits).fit(X, y)
        seconds_theirs = time.perf_counter() - start
    a, b = (search.cv_results_["mean_test_score"] for search in (ours, theirs))
    record = {
        "machine": facts,
        "samples": f"{len(y)} of {source}",
        "grid_points": len(ParameterGrid(grid)),
        "splits": len(splits),
        "seconds_nssecv": round(seconds_ours, 2),
        "seconds_gridsearchcv": round(seconds_theirs, 2),
        "ratio": round(seconds_theirs / seconds_ours, 1),
        "computed_by_nssecv": ours.counts_,
        "fits_of_gridsearchcv": len(splits) * len(ParameterGrid(grid)) + 1,
        "points_with_the_same_score": int(np.sum(np.isclose(a, b, atol=1e-12))),
        "largest_difference_of_scores": round(float(np.nanmax(np.abs(a - b))), 5),
        "best_score_nssecv": round(ours.best_score_, 5),
        "best_score_gridsearchcv": round(float(theirs.best_score_), 5),
    }
    print(text_table(("", ""), [(name, value) for name, value in record.items() if name != "machine"]))
    write_json(RESULTS / "selection_speed.json", record)


def samples() -> tuple[np.ndarray, np.ndarray, str]:
    """200 training samples."""
    try:
        data, n_per_class = load_dataset("coil20", unit_norm=True), 10
    except FileNotFoundError:
        data, n_per_class = load_dataset("digits"), 20
    train, _ = per_class_split(data.y, n_per_class, 0)
    return data.X[train], data.y[train], data.name


if __name__ == "__main__":
    main()
