"""Measure time per row and peak memory of a fit with centers to a million samples on disk.

    python benchmarks/million.py
    python benchmarks/million.py --sizes 2000 6000 --centers 100

The samples are images of MNIST (enlarged digits of scikit-learn without NSSE_DATA), moved by up to two
pixels, brightened or darkened, and with noise. They have 784 bytes each in a file that is read as a
memory map. Each number of rows runs in a new process. Resident memory includes cached pages of the file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from common import (
    RESULTS,
    error_percent,
    in_fresh_process,
    machine_facts,
    measured_fit,
    parser_of,
    show,
    write_json,
)
from nsse import SmoothEmbedding
from nsse.datasets import load_dataset

SIDE = 28
CHUNK = 20_000  # rows written at a time
N_TEST = 10_000


def write_samples(folder: Path, n_rows: int) -> str:
    """Write deformed images as bytes, with different originals for training and test."""
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
    """Return images that are moved by up to two pixels, with another brightness and noise."""
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


def measure(folder: Path, n: int, n_centers: int) -> dict[str, Any]:
    X, y = np.load(folder / "train_X.npy", mmap_mode="r")[:n], np.load(folder / "train_y.npy")[:n]
    model = SmoothEmbedding(centers=n_centers)
    row = {"n_samples": n, **measured_fit(model, X, y)}
    row["microseconds_per_row"] = round(1e6 * row["seconds"] / n, 1)
    X_test, y_test = (np.load(folder / f"test_{part}.npy") for part in "Xy")
    return row | {"test_error_percent": error_percent(model, X_test, y_test)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store the measurements."""
    parser = parser_of(__doc__, RESULTS / "million.json")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--centers", type=int, default=2000)
    parser.add_argument("--scratch", type=Path, help="folder for temporary files")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure is not None:
        folder, n, n_centers = options.measure
        print(json.dumps(measure(Path(folder), int(n), int(n_centers))))
        return {}
    facts = machine_facts()
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        source = write_samples(Path(folder), max(options.sizes))
        rows = [
            in_fresh_process(__file__, "--measure", folder, n, options.centers) for n in options.sizes
        ]
    print(f"{source}, {options.centers} centers")
    show(rows)
    record = {"data": source, "centers": options.centers, "rows": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
