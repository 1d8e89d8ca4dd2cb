"""What `NSSECV.estimate_seconds` says beforehand, beside what a fit takes: quick searches and sweeps.

python benchmarks/selection_forecast.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

from common import RESULTS, machine_facts, text_table, write_json
from nsse import NSSECV

Samples = tuple[np.ndarray, np.ndarray]
HEADER = ("samples", "features", "classes", "search", "estimated s", "measured s", "ratio")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest sets only")
    parser.add_argument("--out", type=Path, default=RESULTS / "selection_forecast.json")
    options = parser.parse_args(arguments)
    facts = machine_facts()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # grids have points at the end of the range of sigma
        NSSECV(n_repeats=1).fit(*digits(50))  # the first fit of a process loads what it needs
        rows = [measured(*samples, **params) for samples, params in cases(options.quick)]
    print(text_table(HEADER, [tuple(row.values()) for row in rows]))
    record = {"machine": facts, "rows": rows}
    write_json(options.out, record)
    return record


def cases(quick: bool) -> list[tuple[Samples, dict[str, Any]]]:
    """Sets of samples, and the parameters of a search."""
    small = [(table(load_wine), {}), (digits(100), {}), (digits(60), {"search": "full", "n_repeats": 1})]
    if quick:
        return small
    return [
        *small,
        (table(load_breast_cancer), {}),
        (digits(400), {}),
        (digits(900), {}),
        (wide(250, 1000, 25), {}),
        (digits(1700), {}),
        (digits(150), {"search": "full", "n_repeats": 4}),
        (digits(400), {"search": "full", "n_repeats": 1}),
        (digits(300), {"search": "sequential", "n_repeats": 4}),
    ]


def measured(X: np.ndarray, y: np.ndarray, **params: Any) -> dict[str, Any]:
    """One search: what it said, and what it took."""
    n_classes = len(np.unique(y))
    search = NSSECV(**params)
    estimated = search.estimate_seconds(*X.shape, n_classes)
    start = time.perf_counter()
    search.fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "samples": len(y),
        "features": X.shape[1],
        "classes": n_classes,
        "search": " ".join([params.get("search", "quick"), *_splits(params)]),
        "estimated": round(estimated, 2),
        "measured": round(seconds, 2),
        "ratio": round(estimated / seconds, 2),
    }


def _splits(params: dict[str, Any]) -> list[str]:
    return [f"({params['n_repeats']} splits)"] if "n_repeats" in params else []


def table(load: Any) -> Samples:
    """Half of a table, its columns of spread 1."""
    X, y = load(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[::2], y[::2]


def digits(n_samples: int) -> Samples:
    """The first digits."""
    X, y = load_digits(return_X_y=True)
    return X[:n_samples], y[:n_samples]


def wide(n_samples: int, n_features: int, n_classes: int) -> Samples:
    """Clouds with more features than samples."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % n_classes
    return rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(n_samples, n_features)), y


if __name__ == "__main__":
    main()
