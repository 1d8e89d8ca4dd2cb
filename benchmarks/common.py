"""What the benchmarks share: samples, facts about the machine, timing, tables and files."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_info

import nsse
from nsse.datasets import load_dataset

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


GIB = 2**30


@dataclass(frozen=True)
class Samples:
    """Training and test samples of ten classes, and where they are from."""

    X_train: Floats
    y_train: Labels
    X_test: Floats
    y_test: Labels
    source: str


def draw_samples(n_train: int, n_test: int, seed: int = 0) -> Samples:
    """MNIST if NSSE_DATA has it, generated digits otherwise; classes in their own shares."""
    try:
        mnist = load_dataset("mnist")
    except FileNotFoundError:
        return _generated_digits(n_train, n_test, seed)
    X, y = _some(mnist.X[: mnist.n_train], mnist.y[: mnist.n_train], n_train, seed)
    X_test, y_test = _some(mnist.X[mnist.n_train :], mnist.y[mnist.n_train :], n_test, seed)
    return Samples(X, y, X_test, y_test, "MNIST")


def _some(X: Floats, y: Labels, n_samples: int, seed: int) -> tuple[Floats, Labels]:
    """A stratified part of the samples, or all of them in a random order."""
    if n_samples >= len(y):
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]
    X, _, y, _ = train_test_split(X, y, train_size=n_samples, stratify=y, random_state=seed)
    return X, y


def _generated_digits(n_train: int, n_test: int, seed: int) -> Samples:
    """Blends of two digits of a class, with noise; train and test come from different originals."""
    X, y = load_digits(return_X_y=True)
    first, second, y_first, y_second = train_test_split(X / 16.0, y, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    train, test = _blend(first, y_first, n_train, rng), _blend(second, y_second, n_test, rng)
    return Samples(*train, *test, "generated from scikit-learn's digits")


def _blend(X: Floats, y: Labels, n_samples: int, rng: np.random.Generator) -> tuple[Floats, Labels]:
    labels = np.arange(n_samples) % 10
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


def in_fresh_process(script: str, *options: Any) -> dict[str, Any]:
    """What a script prints as JSON, run in a process of its own: nothing before it counts."""
    command = [sys.executable, script, *map(str, options)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def measured_fit(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Seconds of a fit, of the wall clock and of the processor, and the peak of memory."""
    before, wall, cpu = peak_bytes(), time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_bytes()
    return {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "peak_gib": round(peak / GIB, 3),
        "fit_gib": round((peak - before) / GIB, 3),
    }


def peak_bytes() -> int:
    """Peak resident set of this process.

    Linux counts the parent's memory in a child's ``ru_maxrss`` (the child borrows it until it becomes
    another program); VmHWM is the child's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def error_percent(model: Any, X: Any, y: Any) -> float:
    """Wrong labels, in per cent."""
    return round(100.0 * (1.0 - float(model.score(X, y))), 2)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print records of the same form as a table."""
    print(text_table(list(rows[0]), [list(row.values()) for row in rows]))


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of plain text: the first to the left, the others to the right."""
    lines = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def padded(line: list[str]) -> str:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return "  ".join(cells).rstrip()

    return "\n".join(padded(line) for line in lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The same as a table of Markdown."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [header, rule, *rows])


def write_json(path: Path, record: Any) -> None:
    """Write a record for machines, and say where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.name}")


def rows_by_seed(
    path: Path, seeds: Iterable[int], computed: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines, and first add those of seeds that it does not contain."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = [json.loads(line) for line in text.splitlines()]
    done = {row["seed"] for row in rows}
    with path.open("a", encoding="utf-8") as out:
        for seed in seeds:
            if seed not in done:
                rows.append(computed(seed))
                out.write(json.dumps(rows[-1]) + "\n")
                out.flush()
    return rows
