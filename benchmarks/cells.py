"""`NSSECV()` in the cells of the paper's tables, beside the best other method of the honest protocol.

    NSSE_DATA=<folder> python benchmarks/cells.py

The splits are those of the reproduction, so that its rows stand beside ours; everything is chosen on the
training samples of each realisation, the scaling of the images by the validation score where the
reproduction tried two. Every realisation is a row, written as it finishes; a run that is started again
goes on. ``--method plain`` measures `NSSE()`, nothing tuned; ``svm-within`` and ``nn-within`` what is
left of a lead when a support vector machine or the nearest neighbour gets the metric too, shrinkage and
their own parameters chosen on the splits of `NSSECV()`; ``full`` the sweep over a grid around the
paper's own method.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import HERE, RESULTS, append_records, read_records, text_table
from nsse import NSSE, NSSECV, WithinMetric
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.paper.printed import METHODS as METHODS_OF_THE_PAPER
from nsse.selection.quick import HELD_OUT, n_splits_for
from nsse.selection.quick_grid import QuickGrid
from nsse.selection.splits import BalancedSplits

CELLS = {"yale": (6, 10, 15, 20, 30), "orl": (2, 3, 5), "coil20": (7, 10, 15, 20, 30)}
TITLES = {"yale": "Yale", "orl": "ORL", "coil20": "COIL-20"}
# The scalings that the reproduction tried.
SCALINGS = {"yale": (True,), "orl": (True, False), "coil20": (True, False)}
TABLES = HERE.parent / "reproduction" / "tables.md"
COLUMNS = ("data", "per_class", "seed", "method", "error")


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure what is missing, print the cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=list(CELLS), default=list(CELLS))
    parser.add_argument("--realisations", type=int, default=20)
    parser.add_argument("--per-class", type=int, nargs="+", help="only cells of so many")
    parser.add_argument("--method", choices=list(METHODS), default="tuned")
    parser.add_argument("--rows", type=Path, default=RESULTS / "cells.csv")
    options = parser.parse_args(arguments)
    done = {tuple(row.values())[:4] for row in read(options.rows)}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for seed in range(options.realisations):
            for name in options.datasets:
                sizes = [size for size in CELLS[name] if size in (options.per_class or CELLS[name])]
                for size in sizes:
                    key = (name, str(size), str(seed), options.method)
                    if key not in done:
                        row = [*key, f"{error(name, size, seed, options.method):.4f}"]
                        append_records(options.rows, [row], COLUMNS)
    lines = cells(read(options.rows))
    print(text_table(list(lines[0]), [list(line.values()) for line in lines]))
    return lines


def error(name: str, size: int, seed: int, method: str) -> float:
    """Test error in per cent; of several scalings the one that validates best."""
    tried = []
    for unit_norm in SCALINGS[name][:1] if method == "plain" else SCALINGS[name]:
        X, y = loaded(name, unit_norm)
        train, test = per_class_split(y, size, seed)
        model = METHODS[method](y[train]).fit(X[train], y[train])
        wrong = 100.0 * (1.0 - model.score(X[test], y[test]))
        tried.append((-getattr(model, "best_score_", 0.0), len(tried), wrong))
    return min(tried)[-1]


class ScaledSVC(SVC):
    """A support vector machine whose γ is in units of what scikit-learn takes by itself."""

    def __init__(self, C: float = 1.0, factor: float = 1.0) -> None:
        super().__init__(C=C)
        self.factor = factor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScaledSVC:
        """As ever, with that γ."""
        self.gamma = self.factor / (X.shape[1] * X.var())
        super().fit(X, y, sample_weight)
        return self


def in_metric(classifier: Any, grid: dict[str, list[float]]) -> Callable[[Any], Any]:
    """A search that gives a classifier the metrics that the quick search has."""
    metrics = {"metric__shrinkage": list(QuickGrid().shrinkages)}
    own = {f"classifier__{name}": values for name, values in grid.items()}
    steps = [("metric", WithinMetric()), ("classifier", classifier)]

    def search(y: Any) -> Any:
        cv = BalancedSplits(n_splits_for(len(y)), HELD_OUT, 0)
        return GridSearchCV(Pipeline(steps), metrics | own, cv=cv)

    return search


METHODS: dict[str, Callable[[Any], Any]] = {
    "tuned": lambda y: NSSECV(),
    "plain": lambda y: NSSE(),
    "full": lambda y: NSSECV(search="full"),
    "svm-within": in_metric(ScaledSVC(), {"C": [10.0, 100.0], "factor": [0.3, 1.0, 3.0]}),
    "nn-within": in_metric(KNeighborsClassifier(1), {"n_neighbors": [1, 3]}),
}


@cache
def loaded(name: str, unit_norm: bool) -> tuple[Any, Any]:
    data = load_dataset(name, unit_norm=unit_norm)
    return data.X, data.y


def cells(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Mean and standard error of every cell and method, beside the best other method."""
    found: dict[tuple[str, int, str], list[float]] = {}
    for row in rows:
        key = row["data"], int(row["per_class"]), row["method"]
        found.setdefault(key, []).append(float(row["error"]))
    lines = []
    for (name, size, method), errors in sorted(found.items()):
        half = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
        other, theirs = best_other(name, size)
        line = {"data": name, "per_class": size, "method": method, "realisations": len(errors)}
        line |= {"error": f"{np.mean(errors):.2f} ± {half:.2f}", "best other": f"{other} {theirs:.2f}"}
        lines.append(line | {"ahead": "yes" if np.mean(errors) < theirs else "no"})
    return lines


def best_other(name: str, size: int) -> tuple[str, float]:
    """The smallest error of the paper's other methods by the honest protocol, from the reproduction."""
    text = TABLES.read_text(encoding="utf-8")
    block = text.split(f"## {TITLES[name]} (Table ")[1:]
    table = next(part for part in block if re.match(r"\d\), protocol honest\n", part))
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    place = next(k for k, head in enumerate(lines[0]) if head.strip() == f"{size} per class")
    found = {
        line[0]: float(line[place].strip("* ").split(" ")[0])
        for line in lines[2:]
        if line[0] in METHODS_OF_THE_PAPER and line[0] != "NSSE" and line[place].strip("* ")[0].isdigit()
    }
    best = min(found, key=found.__getitem__)
    return best, found[best]


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file, if there is one."""
    return read_records(path, lambda *row: dict(zip(COLUMNS, row, strict=True)), [str] * len(COLUMNS))


if __name__ == "__main__":
    main()
