"""How long a search takes beside a tuned SVM: the same splits, the same run.

    NSSE_DATA=<folder> python benchmarks/tuning_time.py

`GridSearchCV(SVC())` has 16 points, C × γ; both choose on the same splits and then fit to all samples.
Process time on one BLAS thread, the best of several; pictures of Yale where NSSE_DATA has them, digits,
and two tables that scikit-learn makes; of the first thousands of samples, too.
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
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit, train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import RESULTS, machine_facts, show, write_json
from nsse import SmoothEmbeddingCV
from nsse.datasets import load_dataset

SIZES = (100, 250, 400, 900)
MANY = 4000
TABLE = "table of 20 columns"


def ours(splits: Any) -> Any:
    return SmoothEmbeddingCV(cv=splits)


def theirs(splits: Any, X: np.ndarray) -> Any:
    gammas = np.array([0.1, 0.3, 1.0, 3.0]) / (X.shape[1] * X.var())
    return GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": gammas}, cv=splits)


def sets(n_samples: int) -> dict[str, tuple[Any, Any]]:
    """Samples by name; so many of the tables that are made."""
    found = {
        "digits": load_digits(return_X_y=True),
        TABLE: _table(20, 5, n_samples),
        "table of 60 columns": _table(60, 2, n_samples),
    }
    try:
        faces = load_dataset("yale", unit_norm=True)
    except FileNotFoundError:
        return found
    return {"yale": (faces.X, faces.y), **found}


def _table(n_features: int, n_classes: int, n_samples: int) -> tuple[Any, Any]:
    return make_classification(
        n_samples, n_features, n_informative=n_features // 2, n_classes=n_classes, random_state=0
    )


def row(name: str, X: Any, y: Any, size: int, repeats: int) -> dict[str, Any]:
    X, _, y, _ = train_test_split(X, y, train_size=size, stratify=y, random_state=0)
    held_out = max(size // 5, len(np.unique(y)))
    splits = list(StratifiedShuffleSplit(8, test_size=held_out, random_state=0).split(X, y))
    svm = best(lambda: theirs(splits, X).fit(X, y), repeats)
    search = best(lambda: ours(splits).fit(X, y), repeats)
    told = {"data": name, "n_samples": size, "n_features": X.shape[1]}
    return told | {"search": round(search, 2), "svm": round(svm, 2), "ratio": round(search / svm, 2)}


def best(act: Callable[[], Any], repeats: int) -> float:
    """Least process time of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--many", type=int, default=MANY, help="samples of the table that has many")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "tuning_time.json")
    options = parser.parse_args(argv)
    facts = machine_facts()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        rows = [
            row(name, *samples, size, options.repeats)
            for name, samples in sets(2000).items()
            for size in options.sizes
        ]
        if options.many:
            rows.append(row(TABLE, *sets(options.many + 500)[TABLE], options.many, 1))
    show(rows)
    record = {"rows": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
