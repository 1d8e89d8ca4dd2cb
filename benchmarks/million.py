"""A million samples from disk: time per row and peak memory of NSSE with landmarks, beside fewer rows.

The samples are MNIST images (scikit-learn's digits, enlarged, without NSSE_DATA), moved by up to two
pixels, brightened or darkened, and with noise: 784 bytes each in a file, read as a memory map. Every
number of rows runs in a process of its own. Resident memory counts the pages of the file that the system
keeps at hand.

    python benchmarks/million.py
    python benchmarks/million.py --quick
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from common import RESULTS, machine_facts, text_table, write_json
from growth import GIB, _peak_bytes
from nsse import NSSE
from nsse.datasets import load_dataset

SIDE = 28
CHUNK = 20_000  # rows written at a time
N_TEST = 10_000


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    if options.measure is not None:
        measured = _measure(options.measure, options.n, options.landmarks)
        print(json.dumps(measured))
        return measured
    facts = machine_facts()
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        source = write_samples(Path(folder), max(options.sizes))
        rows = [_in_fresh_process(Path(folder), n, options.landmarks) for n in options.sizes]
    record = {
        "data": source,
        "landmarks": options.landmarks,
        "rows": rows,
        "time_per_row_last_over_first": round(
            rows[-1]["microseconds_per_row"] / rows[0]["microseconds_per_row"], 3
        ),
        "cpu_per_row_last_over_first": round(
            rows[-1]["cpu_microseconds_per_row"] / rows[0]["cpu_microseconds_per_row"], 3
        ),
        "machine": facts,
    }
    _show(record)
    write_json(options.out, record)
    return record


def write_samples(folder: Path, n_rows: int) -> str:
    """Deformed images as bytes, training and test from different originals."""
    images, labels, n_train, source = _originals()
    for name, n, pool in (
        ("train", n_rows, np.arange(n_train)),
        ("test", min(N_TEST, n_rows), np.arange(n_train, len(labels))),
    ):
        rng = np.random.default_rng(len(name))
        X = np.lib.format.open_memmap(folder / f"{name}_X.npy", "w+", np.uint8, (n, SIDE * SIDE))
        y = np.empty(n, dtype=np.int64)
        for start in range(0, n, CHUNK):
            chosen = rng.choice(pool, min(CHUNK, n - start))
            X[start : start + len(chosen)] = deformed(images[chosen], rng).reshape(len(chosen), -1)
            y[start : start + len(chosen)] = labels[chosen]
        X.flush()
        np.save(folder / f"{name}_y.npy", y)
    return source


def deformed(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Move by up to two pixels, change the brightness, add noise."""
    moved = np.empty_like(images)
    moves = rng.integers(-2, 3, (len(images), 2))
    for move in np.unique(moves, axis=0):
        own = np.all(moves == move, axis=1)
        moved[own] = np.roll(images[own], tuple(move), axis=(1, 2))
    light = rng.uniform(0.7, 1.0, (len(images), 1, 1)).astype(np.float32)
    noise = rng.integers(0, 20, images.shape, dtype=np.uint8)
    return np.minimum(moved * light + noise, 255).astype(np.uint8)


def _originals() -> tuple[np.ndarray, np.ndarray, int, str]:
    try:
        mnist = load_dataset("mnist")
    except FileNotFoundError:
        X, y = load_digits(return_X_y=True)
        large = np.array([zoom(image, SIDE / 8, order=1) for image in X.reshape(-1, 8, 8)])
        images = np.clip(large * 255 / 16, 0, 255).astype(np.uint8)
        return images, y, 1400, "deformed digits of scikit-learn, enlarged"
    images = np.round(mnist.X * 255).astype(np.uint8).reshape(-1, SIDE, SIDE)
    return images, mnist.y, int(mnist.n_train), "deformed MNIST"


def _in_fresh_process(folder: Path, n: int, landmarks: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", str(folder), "--n", str(n)]
    done = subprocess.run(
        [*command, "--landmarks", str(landmarks)], check=True, stdout=subprocess.PIPE, text=True
    )
    return dict(json.loads(done.stdout))


def _measure(folder: Path, n: int, landmarks: int) -> dict[str, Any]:
    X, y = np.load(folder / "train_X.npy", mmap_mode="r")[:n], np.load(folder / "train_y.npy")[:n]
    model = NSSE.as_published(n_landmarks=landmarks, classifier=KNeighborsClassifier(15))
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    peak = _peak_bytes()
    X_test, y_test = (np.load(folder / f"test_{part}.npy") for part in "Xy")
    return {
        "n_samples": n,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "microseconds_per_row": round(1e6 * seconds / n, 1),
        "cpu_microseconds_per_row": round(1e6 * cpu_seconds / n, 1),
        "seconds_for_sigma": round(float(model.trace_.column("seconds")[:-1].sum()), 2),
        "peak_gib": round(peak / GIB, 3),
        "test_error_percent": round(100 * (1 - model.score(X_test, y_test)), 2),
    }


def _show(record: dict[str, Any]) -> None:
    print(f"{record['data']}, {record['landmarks']} landmarks")
    header = [
        "rows",
        "seconds",
        "CPU",
        "µs per row",
        "CPU µs per row",
        "σ, seconds",
        "peak GiB",
        "error %",
    ]
    print(text_table(header, [list(row.values()) for row in record["rows"]]))
    print(
        f"time per row, last over first: {record['time_per_row_last_over_first']} "
        f"({record['cpu_per_row_last_over_first']} in CPU time)"
    )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of rows")
    parser.add_argument("--landmarks", type=int, help="number of landmarks")
    parser.add_argument("--quick", action="store_true", help="a few thousand rows")
    parser.add_argument("--scratch", type=Path, help="folder for 784 bytes per row, for a while")
    parser.add_argument("--out", type=Path, default=RESULTS / "million.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.sizes = options.sizes or ([2000, 6000] if options.quick else [100_000, 1_000_000])
    options.landmarks = options.landmarks or (100 if options.quick else 2000)
    return options


if __name__ == "__main__":
    main()
