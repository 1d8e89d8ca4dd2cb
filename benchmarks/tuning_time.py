"""How long `NSSECV()` takes beside a tuned SVM: the same splits, the same run.

    NSSE_DATA=<folder> python benchmarks/tuning_time.py

`GridSearchCV(SVC())` has 16 points, C × γ, and the splits that `NSSECV()` draws; both choose and then
fit to all samples. Process time on one BLAS thread, the best of several; pictures of Yale where
NSSE_DATA has them, digits, and two tables that scikit-learn makes; of a third one thousands of samples.
Three samples are timed too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import RESULTS, machine_facts, text_table, write_json
from nsse import NSSECV
from nsse.datasets import load_dataset
from nsse.selection.quick import HELD_OUT, n_splits_for
from nsse.selection.splits import BalancedSplits

SIZES = (100, 250, 400, 900)
MANY = 4000


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--many", type=int, default=MANY, help="samples of the table that has many")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "tuning_time.json")
    options = parser.parse_args(arguments)
    facts = machine_facts()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        rows = [row(name, size, options.repeats) for name in sets() for size in options.sizes]
        if options.many:
            rows.append(row("table of 20 columns", options.many, 1, n_samples=options.many))
        X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.2, 0.1]]), [0, 1, 1]
        three = best(lambda: NSSECV().fit(X, y), options.repeats)
    print(text_table(list(rows[0]), [list(one.values()) for one in rows]))
    print(f"three samples: {three:.2f} s")
    record = {"machine": facts, "rows": rows, "three_samples": round(three, 3)}
    write_json(options.out, record)
    return record


def sets(n_samples: int = 2000) -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Samples by name; so many of the tables that are made."""
    found: dict[str, Callable[[], tuple[Any, Any]]] = {
        "digits": lambda: load_digits(return_X_y=True),
        "table of 20 columns": lambda: table(20, 5, n_samples),
        "table of 60 columns": lambda: table(60, 2, n_samples),
    }
    try:
        faces = load_dataset("yale", unit_norm=True)
    except FileNotFoundError:
        return found
    return {"yale": lambda: (faces.X, faces.y), **found}


def table(n_features: int, n_classes: int, n_samples: int) -> tuple[Any, Any]:
    return make_classification(
        n_samples, n_features, n_informative=n_features // 2, n_classes=n_classes, random_state=0
    )


def row(name: str, size: int, repeats: int, n_samples: int = 2000) -> dict[str, Any]:
    X, y = sets(n_samples)[name]()
    order = np.random.default_rng(0).permutation(len(y))
    ranks = np.zeros(len(y), dtype=int)
    for label in np.unique(y):  # the first of every class first
        own = order[y[order] == label]
        ranks[own] = np.arange(len(own))
    chosen = order[np.argsort(ranks[order], kind="stable")][:size]
    X, y = np.asarray(X[chosen], dtype=float), y[chosen]
    splits = list(BalancedSplits(n_splits_for(size), HELD_OUT, 0).split(X, y))
    gammas = np.array([0.1, 0.3, 1.0, 3.0]) / (X.shape[1] * X.var())
    svm = GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": gammas}, cv=splits)
    theirs, ours = best(lambda: svm.fit(X, y), repeats), best(lambda: NSSECV().fit(X, y), repeats)
    told = {"data": name, "n_samples": size, "n_features": X.shape[1], "splits": len(splits)}
    return told | {"nssecv": round(ours, 2), "svm": round(theirs, 2), "ratio": round(ours / theirs, 2)}


def best(act: Callable[[], Any], repeats: int) -> float:
    """Least process time of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
