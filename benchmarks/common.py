"""What the benchmarks share: samples, facts about the machine, timing, tables and files."""

from __future__ import annotations

import csv
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

import nsse
from nsse.datasets import Dataset, load_dataset
from nsse.evaluation.splits import per_class_split

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Result = TypeVar("Result")

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
DOCS = HERE.parent / "docs"


@dataclass(frozen=True)
class Samples:
    """Training and test samples of ten classes, and where they are from."""

    X_train: Floats
    y_train: Labels
    X_test: Floats
    y_test: Labels
    source: str


def draw_samples(n_train: int, n_test: int, seed: int = 0) -> Samples:
    """MNIST if NSSE_DATA has it, generated digits otherwise; the same number of every class."""
    try:
        mnist = _mnist()
    except FileNotFoundError:
        return _generated_digits(n_train, n_test, seed)
    official = slice(mnist.n_train), slice(mnist.n_train, None)  # training part, test part
    (X, y), (X_test, y_test) = ((mnist.X[part], mnist.y[part]) for part in official)
    train, _ = per_class_split(y, n_train // 10, seed)
    test, _ = per_class_split(y_test, n_test // 10, seed)
    return Samples(X[train], y[train], X_test[test], y_test[test], "MNIST")


@cache
def _mnist() -> Dataset:
    return load_dataset("mnist")


def _generated_digits(n_train: int, n_test: int, seed: int) -> Samples:
    """Blends of two digits of a class, with noise; train and test come from different originals."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    first, second = per_class_split(y, 100, seed)
    X_train, y_train = _blend(X[first] / 16.0, y[first], n_train // 10, rng)
    X_test, y_test = _blend(X[second] / 16.0, y[second], n_test // 10, rng)
    return Samples(X_train, y_train, X_test, y_test, "generated from scikit-learn's digits")


def _blend(X: Floats, y: Labels, n_per_class: int, rng: np.random.Generator) -> tuple[Floats, Labels]:
    labels = np.repeat(np.unique(y), n_per_class)
    pairs = np.array([rng.choice(np.flatnonzero(y == label), 2, replace=False) for label in labels])
    share = rng.uniform(0.0, 0.4, size=(len(labels), 1))
    blends = (1.0 - share) * X[pairs[:, 0]] + share * X[pairs[:, 1]]
    return blends + rng.normal(scale=0.1, size=blends.shape), labels


def machine_facts() -> dict[str, Any]:
    """What a timing depends on, and nothing that names the machine."""
    blas = {
        f"{info['internal_api']} {info['version']} ({info.get('architecture')}), "
        f"{info['num_threads']} threads"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    return {
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "blas": sorted(blas),
        **versions(),
    }


def versions() -> dict[str, str]:
    """Versions of the libraries that the numbers depend on."""
    modules = {"nsse": nsse, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    return {name: module.__version__ for name, module in modules.items()}


def best_time(work: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """Shortest wall-clock seconds of several runs, and the result of the last one."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of plain text: the first to the left, the others to the right."""
    lines = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def padded(line: list[str]) -> str:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return "  ".join(cells)

    return "\n".join(padded(line) for line in lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The same as a table of Markdown."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [header, rule, *rows])


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write a record for machines, and say where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.name}")


def read_records(
    path: Path, kind: Callable[..., Result], types: Sequence[Callable[[str], Any]]
) -> list[Result]:
    """The rows of a CSV file, if there is one, each as a record of its kind."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [kind(*(read(text) for read, text in zip(types, line, strict=True))) for line in lines]


def append_records(path: Path, rows: Iterable[Sequence[Any]], names: Sequence[str]) -> None:
    """Rows of a case, written as it finishes; a new file begins with the names of its columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(names)
        writer.writerows(rows)
