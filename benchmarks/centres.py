"""NSSE with landmarks on MNIST, beside scikit-learn's Nystroem + LinearSVC, in one run.

Each fit runs in a process of its own. Seconds are those of the fit, the choice of landmarks and of σ
included; memory is the peak of the resident set of the whole process, samples included.

    python benchmarks/centres.py            # needs NSSE_DATA; generated digits without
    python benchmarks/centres.py --quick
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from common import RESULTS, draw_samples, machine_facts, text_table, write_json
from growth import GIB, _peak_bytes
from nsse import NSSE
from nsse.datasets import load_dataset

NEIGHBORS = 15
PEER = "Nystroem + LinearSVC"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    if options.measure is not None:
        measured = _measure(options.measure, options.model, options.n)
        print(json.dumps(measured))
        return measured
    facts = machine_facts()
    models = [("NSSE", m) for m in options.landmarks] + [(PEER, options.components)]
    with tempfile.TemporaryDirectory() as folder:
        source = _store(Path(folder), options.quick)
        rows = [_in_fresh_process(Path(folder), *model) for model in models]
    record = {"data": source, "rows": rows, "ratios": _ratios(rows), "machine": facts}
    _show(record)
    write_json(options.out, record)
    return record


def _store(folder: Path, quick: bool) -> str:
    """Write the samples in single precision."""
    try:
        if quick:
            raise FileNotFoundError
        mnist = load_dataset("mnist")
        parts = slice(mnist.n_train), slice(mnist.n_train, None)
        (X, y), (X_test, y_test) = ((mnist.X[p], mnist.y[p]) for p in parts)
        source = "MNIST, the official parts"
    except FileNotFoundError:
        samples = draw_samples(4000 if quick else 20_000, 1000)
        X, y, X_test, y_test = samples.X_train, samples.y_train, samples.X_test, samples.y_test
        source = samples.source
    order = np.random.default_rng(0).permutation(len(y))
    arrays = {"X": X[order], "X_test": X_test}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array.astype(np.float32))
    np.save(folder / "y.npy", y[order])
    np.save(folder / "y_test.npy", y_test)
    return f"{source}: {len(y)} training samples, {len(y_test)} test samples, {X.shape[1]} features"


def _in_fresh_process(folder: Path, model: str, n: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", str(folder), "--model", model, "--n", str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def _measure(folder: Path, name: str, n: int) -> dict[str, Any]:
    X, y, X_test, y_test = (np.load(folder / f"{part}.npy") for part in ("X", "y", "X_test", "y_test"))
    before = _peak_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LinearSVC stops at its max_iter
        model = _model(name, n, X).fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    peak = _peak_bytes()
    row = {
        "model": f"{name}, {n}",
        "n": n,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "test_error_percent": round(100 * (1 - model.score(X_test, y_test)), 2),
        "peak_gib": round(peak / GIB, 3),
        "fit_gib": round((peak - before) / GIB, 3),
    }
    if isinstance(model, NSSE):
        row |= {
            "estimated_gib": round(model.estimate_memory(*X.shape) / GIB, 3),
            "sigma_in_medians": round(model.sigma_ / model.length_unit_, 3),
            "seconds_for_sigma": round(float(model.trace_.column("seconds")[:-1].sum()), 2),
        }
    return row


def _model(name: str, n: int, X: np.ndarray) -> Any:
    if name == "NSSE":
        return NSSE.as_published(n_landmarks=min(n, len(X)), classifier=KNeighborsClassifier(NEIGHBORS))
    # It has no rule for its width and is given one: 0.7 median distances.
    median = float(np.median(euclidean_distances(X[:1000])))
    gamma = 1.0 / (0.7 * median) ** 2
    return make_pipeline(
        Nystroem(gamma=gamma, n_components=n, random_state=0), LinearSVC(random_state=0)
    )


def _ratios(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Seconds of the peer over ours."""
    *ours, peer = rows
    return {
        row["model"]: {
            "wall": round(peer["seconds"] / row["seconds"], 2),
            "cpu": round(peer["cpu_seconds"] / row["cpu_seconds"], 2),
        }
        for row in ours
    }


def _show(record: dict[str, Any]) -> None:
    print(record["data"])
    header = ["model", "seconds", "CPU seconds", "test error %", "peak GiB", "of the fit", "estimated"]
    keys = [
        "model",
        "seconds",
        "cpu_seconds",
        "test_error_percent",
        "peak_gib",
        "fit_gib",
        "estimated_gib",
    ]
    print(text_table(header, [[row.get(key, "") for key in keys] for row in record["rows"]]))
    for name, ratio in record["ratios"].items():
        print(f"{name}: {ratio['wall']} times faster than {PEER} ({ratio['cpu']} in CPU time)")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--landmarks", type=int, nargs="+", help="numbers of landmarks")
    parser.add_argument("--components", type=int, help="components of Nystroem")
    parser.add_argument("--quick", action="store_true", help="few generated samples")
    parser.add_argument("--out", type=Path, default=RESULTS / "centres.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.landmarks = options.landmarks or ([200] if options.quick else [3000, 6000])
    options.components = options.components or (100 if options.quick else 1000)
    return options


if __name__ == "__main__":
    main()
