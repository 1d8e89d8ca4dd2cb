"""How time and memory of a fit grow with the number of samples: the table of the README.

Every fit runs in a process of its own, on one BLAS thread where OPENBLAS_NUM_THREADS=1 says so. Memory
is the peak of the resident set, whole and without what the imports and the data took before the fit.

    OPENBLAS_NUM_THREADS=1 python benchmarks/growth.py
    python benchmarks/growth.py --sizes 500 1000 2000 4000 8000 --models 'NSSE()'
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from common import (
    GIB,
    RESULTS,
    draw_samples,
    in_fresh_process,
    machine_facts,
    markdown_table,
    measured_fit,
    write_json,
)
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV

SIZES = (1000, 2000, 5000)
NEW = 1000
MODELS: dict[str, Callable[[], Any]] = {
    "SmoothEmbedding()": SmoothEmbedding,
    "SmoothEmbedding(centers=1000)": lambda: SmoothEmbedding(centers=1000),
    "SVC(C=10)": lambda: SVC(C=10.0),
    "NSSE()": NSSE,
    "SmoothEmbeddingCV()": SmoothEmbeddingCV,
}
SHOWN = list(MODELS)[:3]  # the others take minutes for 5,000 samples


def store(folder: Path, n_samples: int) -> str:
    """Write samples for other processes: one that reads all of MNIST has had its peak before the fit."""
    samples = draw_samples(n_samples, NEW)
    arrays = {"X": samples.X_train, "y": samples.y_train, "X_new": samples.X_test}
    np.savez(folder / f"{n_samples}.npz", **arrays)
    return samples.source


def measure(name: str, path: Path) -> dict[str, Any]:
    """Seconds and bytes of a fit, and seconds of a prediction."""
    with np.load(path) as stored:
        X, y, X_new = stored["X"], stored["y"], stored["X_new"]
    model = MODELS[name]()
    row = {"model": name, "n_samples": len(y), **measured_fit(model, X, y)}
    start = time.process_time()
    model.predict(X_new)
    row["predict_seconds"] = round(time.process_time() - start, 3)
    row["bytes_per_n2"] = round(row["fit_gib"] * GIB / len(y) ** 2, 1)
    return row


def exponent(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    """p of N^p, by least squares over the three largest N."""
    largest = [row for row in rows if row[name] > 0][-3:]
    if len(largest) < 2:
        return None
    n, values = (np.log([row[key] for row in largest]) for key in ("n_samples", name))
    return round(float(np.polyfit(n, values, 1)[0]), 2)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A row for each model, a column for each N, and what `predict` takes at the last."""
    sizes = sorted({row["n_samples"] for row in rows})
    by = {(row["model"], row["n_samples"]): row for row in rows}
    header = ["seconds", *(f"N = {n}" for n in sizes), f"predict {NEW} at N = {sizes[-1]}"]
    cells = [
        [
            f"`{name}`",
            *(f"{by[name, n]['cpu_seconds']:.2g}" for n in sizes),
            f"{by[name, sizes[-1]]['predict_seconds']:.2g}",
        ]
        for name in dict.fromkeys(row["model"] for row in rows)
    ]
    return markdown_table(header, cells)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of samples")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=SHOWN)
    parser.add_argument("--out", type=Path, default=RESULTS / "growth.json")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure is not None:
        print(json.dumps(measure(options.measure[0], Path(options.measure[1]))))
        return {}
    facts, rows, exponents = machine_facts(), [], {}
    with tempfile.TemporaryDirectory() as folder:
        sources = {store(Path(folder), n) for n in options.sizes}
        files = [Path(folder) / f"{n}.npz" for n in options.sizes]
        for name in options.models:
            own = [in_fresh_process(__file__, "--measure", name, path) for path in files]
            exponents[name] = {key: exponent(own, key) for key in ("cpu_seconds", "fit_gib")}
            rows += own
    print(*sources)
    print(table(rows))
    for row in rows:
        told = f"{row['peak_gib']} GiB, {row['fit_gib']} of the fit, {row['bytes_per_n2']} N² bytes"
        print(f"{row['model']}, N = {row['n_samples']}: {told}")
    print(f"N to the power of: {exponents}")
    record = {"data": sorted(sources), "rows": rows, "exponents": exponents, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
