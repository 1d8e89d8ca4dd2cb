"""Share samples, timing, tables, options and files of results between the benchmarks."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
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

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# The scripts use the study and models of the tests. They come last in the path, so that `PYTHONPATH` can
# name the study of another version.
sys.path += [str(ROOT), str(ROOT / "tests")]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Row = dict[str, Any]

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
    """Return samples of MNIST, or generated digits if NSSE_DATA does not contain MNIST."""
    try:
        mnist = load_dataset("mnist")
    except FileNotFoundError:
        return _generated_digits(n_train, n_test, seed)
    X, y = _some(mnist.X[: mnist.n_train], mnist.y[: mnist.n_train], n_train, seed)
    X_test, y_test = _some(mnist.X[mnist.n_train :], mnist.y[mnist.n_train :], n_test, seed)
    return Samples(X, y, X_test, y_test, "MNIST")


def _some(X: Floats, y: Labels, n_samples: int, seed: int) -> tuple[Floats, Labels]:
    """Return a stratified part of the samples, or all of them in a random order."""
    if n_samples >= len(y):
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]
    X, _, y, _ = train_test_split(X, y, train_size=n_samples, stratify=y, random_state=seed)
    return X, y


def _generated_digits(n_train: int, n_test: int, seed: int) -> Samples:
    """Return weighted means of two digits of a class, with noise, from different originals."""
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


def study_samples(name: str) -> tuple[Floats, NDArray[Any]]:
    """Return the samples of a data set of the study (`reproduction/study/sets.py`)."""
    from reproduction.study import sets

    there, missing = sets.found(None, [name])
    if name not in there:
        raise FileNotFoundError(" ".join(missing))
    X, y = sets.samples(there[name], name)
    return np.asarray(X, dtype=np.float64), y


def wide_arrays(name: str) -> tuple[Floats, NDArray[Any]]:
    """Return a data set of the folder `wide` of NSSE_DATA."""
    with np.load(Path(os.environ["NSSE_DATA"]) / "wide" / f"{name}.npz") as stored:
        return stored["X"].astype(np.float64), stored["y"]


@cache
def coded_samples(name: str) -> tuple[Floats, Labels]:
    """Return the samples of a data set, and the codes of their classes."""
    if "_" in name:
        X, y = wide_arrays(name)
    else:
        loaded = load_dataset(name)
        X, y = loaded.X, loaded.y
    return X, np.unique(y, return_inverse=True)[1]


def random_split(codes: Labels, per_class: int, seed: int) -> tuple[Labels, Labels]:
    """Return random positions of some samples of each class, and the positions of all others."""
    order = np.random.default_rng(seed).permutation(len(codes))
    train = np.concatenate([order[codes[order] == c][:per_class] for c in np.unique(codes)])
    return np.sort(train), np.setdiff1d(order, train)


def wide_samples(n_features: int) -> tuple[Floats, Labels]:
    """Return a hundred samples of four classes. A hundredth of the features depends on the class."""
    rng = np.random.default_rng(0)
    y = np.arange(100) % 4
    X = rng.normal(size=(100, n_features))
    X[:, : max(2, n_features // 100)] += 0.5 * y[:, np.newaxis]
    return X, y


def machine_facts() -> dict[str, Any]:
    """Return facts that a time depends on, without the name of the machine."""
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
    """Return the versions of the libraries that the numbers depend on."""
    modules = {"nsse": nsse, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    return {name: module.__version__ for name, module in modules.items()}


def in_fresh_process(script: str, *options: Any) -> dict[str, Any]:
    """Run a script in a new process, and return what it prints as JSON."""
    command = [sys.executable, script, *map(str, options)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def least_seconds(works: Sequence[Callable[[], Any]], turns: int) -> tuple[list[float], list[Any]]:
    """Run functions in turns. Return the least processor time of each, and their last results."""
    seconds: list[list[float]] = [[] for _ in works]
    results: list[Any] = [None] * len(works)
    for _ in range(turns):
        for place, work in enumerate(works):
            start = time.process_time()
            results[place] = work()
            seconds[place].append(time.process_time() - start)
    return [min(each) for each in seconds], results


def measured_fit(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Fit a model, and return the seconds of the clock and of the processor, and the peak of memory."""
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
    """Return the peak of the resident set of this process.

    On Linux, ``ru_maxrss`` of a child includes memory of its parent, and VmHWM does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def error_percent(model: Any, X: Any, y: Any) -> float:
    """Return the share of wrong labels in percent."""
    return round(100.0 * (1.0 - float(model.score(X, y))), 2)


def log_errors(shares: Any, n_test: Any) -> Any:
    """Return logarithms of error rates, with half a mistake added, so that no errors stay finite."""
    return np.log((np.asarray(shares) * n_test + 0.5) / (n_test + 1))


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for a single value."""
    values = np.asarray(values, dtype=np.float64)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print records of the same form as a table."""
    print(text_table(list(rows[0]), [list(row.values()) for row in rows]))


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of plain text, with the first column aligned to the left."""
    lines = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def padded(line: list[str]) -> str:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return "  ".join(cells).rstrip()

    return "\n".join(padded(line) for line in lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of Markdown, with the first column aligned to the left."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [header, rule, *rows])


def parser_of(description: str | None, out: Path | None = None) -> argparse.ArgumentParser:
    """Return a parser with the option `--out`, which is required if there is no default."""
    parser = argparse.ArgumentParser(description=(description or "\n").splitlines()[0])
    parser.add_argument("--out", type=Path, default=out, required=out is None, help="file of results")
    return parser


def write_json(path: Path, record: Any) -> None:
    """Write a record, and print the name of its file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"written: {path.name}")


def stored_rows(path: Path) -> list[Row]:
    """Return the rows of a file of JSON lines, without a last line that is not complete."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def resumed(
    path: Path, keys: Sequence[str], cells: Iterable[tuple[Any, ...]], measured: Callable[..., Row]
) -> list[Row]:
    """Return the rows of a file of JSON lines, and first add the cells that it does not contain.

    A cell contains the values of the keys of its row, and is passed to `measured`.
    """
    rows = stored_rows(path)
    done = {tuple(row[key] for key in keys) for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    # A line that is not complete is written again.
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with path.open("a", encoding="utf-8") as out:
        for cell in cells:
            if cell not in done:
                rows.append(dict(zip(keys, cell, strict=True)) | measured(*cell))
                out.write(json.dumps(rows[-1]) + "\n")
                out.flush()
    return rows
